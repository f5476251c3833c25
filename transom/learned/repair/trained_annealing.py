"""Annealing whose steps ask a checkpoint: read before the clock starts, refused where it was not trained for."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from transom.heuristics.allocation.annealing_loop import Annealing, Nested, OnWhatIsLeft
from transom.heuristics.allocation.arrays import best_known
from transom.learned.checkpoints import Card, Checkpoint, card_for, load, misfit
from transom.models.allocation import Allocation
from transom.models.arrays import IntArray
from transom.models.fat_tree import FatTree
from transom.solving import presolve
from transom.stop import Budget, Stop


@dataclass(frozen=True, slots=True)
class TrainedAnnealing(Annealing):
    """A search by a network; a class that is made of this one says which networks, and what a step does.

    Parameters
    ----------
    nested : as in ``sa``.
    model : the name of a checkpoint that comes with the package, or the path of a ``.safetensors`` file.
    anywhere : whether the network may be used on a cluster that it was not trained for.
    """

    solves: ClassVar[type] = Allocation
    schemas: ClassVar[tuple[str, ...]]
    """Schemas of the checkpoints that it takes."""

    nested: Nested | None = None
    model: str = ""
    anywhere: bool = False

    @property
    def card(self) -> Card:
        """Of the checkpoint."""
        return card_for(self.model, "repair", self.schemas)

    @property
    def digest(self) -> str:
        """Of the weights: what a specification that names a file does not say."""
        return self.card.weights

    def supports(self, problem: Allocation, /) -> str | None:
        """The dynamic and the free rule, on clusters that the card allows.

        Raises
        ------
        SpecError : there is no checkpoint of that name.
        DocumentError : its card cannot be read, or it is none of a network of these schemas.
        """
        if problem.rule == "static":
            return "it solves the dynamic and the free rule, not static"
        if problem.not_plain:
            return problem.not_plain
        leaf_nodes, pod_nodes = problem.tree.regular or (0, 0)
        machine = {"nodes": problem.tree.num_nodes, "leaf_nodes": leaf_nodes, "pod_nodes": pod_nodes}
        card = self.card
        if self.anywhere or (wrong := misfit(card, machine)) is None:
            return None
        return f"checkpoint {card.name!r} {wrong}; anywhere=yes uses it all the same"

    def warm_up(self) -> None:
        """Read the weights and compile the kernels."""
        problem = Allocation(FatTree.k_ary(4), np.arange(12), np.array([4, 4, 3]), "dynamic")
        walk = self.walk(problem, best_known(problem, Stop().start(problem), None), self.loaded()[0])
        walk.run(np.random.default_rng(0), np.array([self.tmax, self.tmin]), 0, 3, 3)

    def __call__(self, problem: Allocation, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget):
            return
        network, budget.notes["load_seconds"] = self.loaded()
        self.anneal(self.walk(problem, best_known(problem, budget, start), network), budget, rng)

    def loaded(self) -> tuple[Any, float]:
        """The checkpoint, as :meth:`network` gives it, and the seconds that reading it took.

        Raises
        ------
        SpecError : there is none of that name.
        DocumentError : it cannot be read, or is none of a network of these schemas.
        """
        return _read(type(self), self.model, str(self.card))  # type: ignore[arg-type]

    @staticmethod
    @abstractmethod
    def network(checkpoint: Checkpoint, /) -> Any:
        """What is in a checkpoint, as the kernel wants it."""

    @abstractmethod
    def walk(self, problem: Allocation, owner: IntArray, network: Any, /) -> OnWhatIsLeft:
        """The search from a solution on."""


@lru_cache(maxsize=16)
def _read(kind: type[TrainedAnnealing], model: str, card: str) -> tuple[Any, float]:
    """Read a checkpoint, once in a process unless its card changes."""
    began = perf_counter()
    network = kind.network(load(model, "repair", kind.schemas))
    return network, perf_counter() - began
