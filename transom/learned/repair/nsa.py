"""Neural simulated annealing: removed jobs come back where a trained network says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from transom.errors import DocumentError
from transom.heuristics._allocation import best_known
from transom.heuristics.annealing_loop import Annealing, Nested, OnWhatIsLeft
from transom.learned import checkpoints
from transom.learned.checkpoints import EXTRA, Card
from transom.learned.repair.first_nodes import anneal_learned
from transom.learned.repair.forward import Network, prepare, room
from transom.learned.repair.process import SCHEMAS, scale_of
from transom.models.allocation import Allocation
from transom.models.fat_tree import FatTree
from transom.solving import settled
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
    papers/nsa, section V and table II. ``acceptance=walk,order=window`` is what the authors' code does.
    """

    name: ClassVar[str] = "nsa"
    solves: ClassVar[type] = Allocation
    needs: ClassVar[tuple[str, ...]] = ("safetensors",)
    extra: ClassVar[str] = EXTRA

    nested: Nested | None = None
    model: str = "nsa"
    choose: Literal["sample", "best"] = "sample"
    anywhere: bool = False

    def supports(self, problem: Allocation, /) -> str | None:
        """The dynamic and the free rule, on the cluster of the checkpoint.

        Raises
        ------
        SpecError : there is no checkpoint of that name.
        DocumentError : its card cannot be read, or it is none of a network that chooses first nodes.
        """
        if problem.rule == "static":
            return "its repair puts jobs on what is left of the idle nodes, which is the dynamic rule"
        card = read_card(self.model)
        return None if self.anywhere else misfit(card, problem.tree)

    def warm_up(self) -> None:
        """Read the weights and compile the kernels."""
        loaded = load(self.model)
        # Enough nodes for more than one column to be hidden.
        problem = Allocation(FatTree.k_ary(8), np.arange(120), np.array([4, 4, 3]), "dynamic")
        walk = _walk(problem, best_known(problem, Stop().start(problem), None), self, loaded)
        walk.run(np.random.default_rng(0), np.array([self.tmax, self.tmin]), 0, 3, 3)

    def __call__(self, problem: Allocation, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if settled(problem, budget):
            return
        loaded = load(self.model)
        budget.notes["load_seconds"] = loaded.seconds
        owner = best_known(problem, budget, start)
        self.anneal(_walk(problem, owner, self, loaded), budget, rng)


class Loaded(NamedTuple):
    """A checkpoint as the kernel wants it, the nodes of the largest job that it knows, and the seconds of reading."""

    network: Network
    rows: int
    largest: int
    seconds: float


def read_card(model: str) -> Card:
    """The card of a checkpoint that chooses first nodes.

    Raises
    ------
    SpecError : there is no checkpoint of that name.
    DocumentError : the card cannot be read, or says something else.
    """
    path = checkpoints.find(model)
    card = checkpoints.read_card(path)
    if card.component != "repair" or card.schema not in SCHEMAS:
        raise DocumentError(
            f"{path}: is of {card.component!r} for observations {card.schema!r}; wanted is 'repair' for one of "
            f"{', '.join(map(repr, SCHEMAS))}"
        )
    return card


def load(model: str) -> Loaded:
    """Read a checkpoint, once in a process unless it changes.

    Raises
    ------
    SpecError : there is no checkpoint of that name, or the extra ``learned`` is not installed.
    DocumentError : it cannot be read, or is none of a network that chooses first nodes.
    """
    path = checkpoints.find(model)
    card = read_card(model)
    return _load(model, card.weights)


@lru_cache(maxsize=16)
def _load(model: str, digest: str) -> Loaded:
    began = perf_counter()
    card = read_card(model)
    weights = checkpoints.load(model, "repair", card.schema).weights
    rows = SCHEMAS[card.schema]
    largest = card.settings.get("largest")
    if not isinstance(largest, int) or largest <= 0:
        raise DocumentError(f"{checkpoints.find(model)}: its card does not state the nodes of the largest job")
    return Loaded(prepare(weights, rows), rows, largest, perf_counter() - began)


def misfit(card: Card, tree: FatTree) -> str | None:
    """Why a checkpoint is not for this cluster, None if it is."""
    leaf_nodes, pod_nodes = tree.regular or (0, 0)
    here = {"nodes": tree.num_nodes, "leaf_nodes": leaf_nodes, "pod_nodes": pod_nodes}
    wrong = [
        f"{name} = {value}, not {here.get(name)}" for name, value in card.cluster.items() if value != here.get(name)
    ]
    if not wrong:
        return None
    return f"checkpoint {card.name!r} was trained for {'; '.join(wrong)} (anywhere=yes uses it nevertheless)"


def _walk(problem: Allocation, owner: Any, settings: Nsa, loaded: Loaded) -> OnWhatIsLeft:
    more = (
        problem.leaf, problem.pod, scale_of(problem.tree, loaded.largest), loaded.rows,
        loaded.network, room(loaded.network), settings.choose == "best",
    )  # fmt: skip
    work = 8 * len(owner) + _PASS
    return OnWhatIsLeft(problem, owner, settings.moves(problem, settings.nested), anneal_learned, more, work)
