"""Neural simulated annealing: removed jobs come back where a trained network says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from transom.heuristics.allocation.annealing_loop import Annealing, Nested, OnWhatIsLeft
from transom.heuristics.allocation.arrays import best_known
from transom.learned import checkpoints
from transom.learned.checkpoints import card_digest
from transom.learned.repair.cards import read_card, unsuited
from transom.learned.repair.first_nodes import Choice, View, anneal_learned
from transom.learned.repair.forward import Network, prepare, room
from transom.learned.repair.process import SCHEMAS, scale_of
from transom.models.allocation import Allocation
from transom.models.arrays import IntArray
from transom.models.fat_tree import FatTree
from transom.solving import presolve
from transom.stop import Budget, Stop

_PASS = 60_000  # entries that could be looked at while the network looks once


@dataclass(frozen=True, slots=True)
class Nsa(Annealing):
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
    solves: ClassVar[type] = Allocation

    nested: Nested | None = None
    model: str = "nsa"
    choose: Literal["sample", "best"] = "sample"
    anywhere: bool = False

    @property
    def digest(self) -> str:
        """Of the weights: what a specification that names a file does not tell."""
        return read_card(self.model, SCHEMAS).weights

    def supports(self, problem: Allocation, /) -> str | None:
        """The dynamic and the free rule, on the cluster of the checkpoint.

        Raises
        ------
        SpecError : there is no checkpoint of that name.
        DocumentError : its card cannot be read, or it is none of a network that chooses first nodes.
        """
        return unsuited(problem, self.model, SCHEMAS, self.anywhere)

    def warm_up(self) -> None:
        """Read the weights and compile the kernels."""
        problem = Allocation(FatTree.k_ary(4), np.arange(12), np.array([4, 4, 3]), "dynamic")
        walk = _walk(problem, best_known(problem, Stop().start(problem), None), self, self.loaded())
        walk.run(np.random.default_rng(0), np.array([self.tmax, self.tmin]), 0, 3, 3)

    def __call__(self, problem: Allocation, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget):
            return
        loaded = self.loaded()
        budget.notes["load_seconds"] = loaded.seconds
        self.anneal(_walk(problem, best_known(problem, budget, start), self, loaded), budget, rng)

    def loaded(self) -> _Loaded:
        """The checkpoint.

        Raises
        ------
        SpecError : there is none of that name.
        DocumentError : it cannot be read, or is none of a network that chooses first nodes.
        """
        return _load(self.model, card_digest(read_card(self.model, SCHEMAS)))


class _Loaded(NamedTuple):
    """A checkpoint as the kernel wants it, and the seconds that reading it took."""

    network: Network
    rows: int
    largest: int
    seconds: float


@lru_cache(maxsize=16)
def _load(model: str, digest: str) -> _Loaded:
    """Read a checkpoint, once in a process unless it changes."""
    began = perf_counter()
    checkpoint = checkpoints.load(model, "repair", read_card(model, SCHEMAS).schema)
    rows, largest = SCHEMAS[checkpoint.card.schema], checkpoint.card.settings["largest"]
    return _Loaded(prepare(checkpoint.weights, rows), rows, largest, perf_counter() - began)


def _walk(problem: Allocation, owner: IntArray, settings: Nsa, loaded: _Loaded) -> OnWhatIsLeft:
    view = View(problem.leaf, problem.pod, scale_of(problem.tree, loaded.largest), loaded.rows)
    more = view, Choice(loaded.network, room(loaded.network), settings.choose == "best")
    work = 8 * len(owner) + _PASS
    return OnWhatIsLeft(problem, owner, settings.moves(problem, settings.nested), anneal_learned, more, work)
