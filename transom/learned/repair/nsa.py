"""Neural simulated annealing: removed jobs come back where a trained network says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from transom.heuristics.allocation.annealing_loop import OnWhatIsLeft
from transom.learned.checkpoints import Checkpoint
from transom.learned.repair.first_nodes import Choice, Encoding, anneal_learned
from transom.learned.repair.forward import Network, prepare, room
from transom.learned.repair.process import SCHEMAS, scale_of
from transom.learned.repair.trained_annealing import TrainedAnnealing
from transom.models.allocation import Allocation
from transom.models.arrays import IntArray

_PASS = 60_000  # entries that could be looked at while the network looks once


@dataclass(frozen=True, slots=True)
class Nsa(TrainedAnnealing):
    """Simulated annealing whose repair is learned: a network chooses the first node of each job that comes back.

    It sees the first 100 of the idle nodes that are left: their leaf switches and pods, how many nodes the job
    asks for, and how many the others that are out; one of these 100 becomes the first node, and consecutive ones
    follow. All else is ``sa``: its steps, temperatures, runs and iterations, and what becomes of a job that no order
    of placing reaches.

    The weights are read before the clock starts; the result states the seconds that this took.

    Parameters
    ----------
    acceptance, tmax, tmin, steps, remove, order, restarts : as in ``sa``.
    nested : as in ``sa``.
    model : the name of a checkpoint that comes with the package, or the path of a ``.safetensors`` file.
    choose : ``sample`` draws the first node by the chances that the network gives; ``best`` takes the likeliest,
        so that one job out of one state always comes back at one place.
    anywhere : whether the network may be used on a cluster that it was not trained for.

    Raises
    ------
    SpecError : a condition of ``sa`` does not hold.

    References
    ----------
    Lan et al. (2023), section V and table II. ``acceptance=walk,order=window`` is what the authors' code does.
    """

    name: ClassVar[str] = "nsa"
    schemas: ClassVar[tuple[str, ...]] = tuple(SCHEMAS)

    model: str = "nsa"
    choose: Literal["sample", "best"] = "sample"

    @staticmethod
    def network(checkpoint: Checkpoint, /) -> tuple[Network, int, int]:
        """The network, the rows of its observations, and the nodes of the largest job."""
        card, rows = checkpoint.card, SCHEMAS[checkpoint.card.schema]
        return prepare(checkpoint.weights, card.network, rows), rows, card.settings["largest"]

    def walk(self, problem: Allocation, owner: IntArray, network: tuple[Network, int, int], /) -> OnWhatIsLeft:
        """The search from a solution on."""
        made, rows, largest = network
        encoding = Encoding(problem.leaf, problem.pod, scale_of(problem.tree, largest), rows)
        more = encoding, Choice(made, room(made), self.choose == "best")
        work = 8 * len(owner) + _PASS
        return OnWhatIsLeft(problem, owner, self.moves(problem, self.nested), anneal_learned, more, work)
