"""Rules that place one instance after another: first fit, best fit, Tetris, dominant-resource fairness and others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom.errors import SpecError
from transom.heuristics.placement.filling import (
    Aligned,
    Filling,
    Users,
    empty,
    fill_aligned,
    fill_at_random,
    fill_by_room,
    fill_fairly,
    fill_first,
    shares,
)
from transom.models.arrays import FloatArray, IntArray
from transom.models.placement import Placement
from transom.solving import TakesAll, presolve
from transom.stop import Budget, Stop

_LOOKS = 1_000_000  # at pairs of task and machine, between two looks at the clock
_PER_PAIR = 5e-9  # what first fit and judging the answer take, for each pair of task and machine [s]

_PER_LISTED = 3e-8  # what a list of all pairs takes, for each [s]


class Rule(TakesAll):
    """A rule; its answer leaves out nothing that still fits. It counts no iterations.

    Where more than a thousand instances of a task fit on a machine, they go a thousandth at a time. ``tetris``, ``drf``
    and ``random`` leave what is not placed when the time is over to first fit.
    """

    name: ClassVar[str]
    solves: ClassVar[type] = Placement
    skip_presolve: ClassVar[bool] = True  # where everything fits, it still matters where it goes

    def warm_up(self) -> None:
        """Compile the kernels."""
        problem = Placement([[2, 2], [1, 1]], [[1, 1], [0, 1]], [2, 2])
        self.fill(problem, empty(problem), np.random.default_rng(0), Stop().start(problem))
        fill_first(empty(problem), np.arange(2))

    def fill(self, problem: Placement, now: Filling, rng: np.random.Generator, budget: Budget) -> None:
        """Place what fits; ``now`` is changed."""
        raise NotImplementedError

    def __call__(self, problem: Placement, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        now = empty(problem)
        self.fill(problem, now, rng, budget)
        now.placed.flags.writeable = False  # the budget need not copy it
        budget.found(now.placed)
        presolve(problem, budget)


def in_time(problem: Placement, now: Filling, budget: Budget, step: Callable[[], bool]) -> None:
    """Call a step until it says that nothing fits any more; what is left when the time is over goes by first fit."""
    while not budget.short(_PER_PAIR * now.placed.size):
        if step():
            return
    fill_first(now, np.arange(len(problem)))


def by_density(problem: Placement) -> IntArray:
    """Tasks by falling value per share of what is free of all machines together, of equal ones the first."""
    free = problem.free.astype(np.float64).sum(axis=0)
    size = (problem.demands / np.where(free > 0, free, 1.0)).sum(axis=1)
    density = np.divide(problem.values, size, out=np.full(len(size), np.inf), where=size > 0)
    return np.argsort(-density, kind="stable")


@dataclass(frozen=True, slots=True)
class FirstFit(Rule):
    """Tasks in the window's order, each instance on the first machine that it fits on."""

    name: ClassVar[str] = "first-fit"

    def fill(self, problem: Placement, now: Filling, rng: np.random.Generator, budget: Budget) -> None:
        fill_first(now, np.arange(len(problem)))


@dataclass(frozen=True, slots=True)
class BestFit(Rule):
    """Tasks in the window's order, each instance on the machine with the least room that it fits on.

    The room of a machine is the sum over the resources of what is left as a share of its capacity.
    """

    name: ClassVar[str] = "best-fit"

    def fill(self, problem: Placement, now: Filling, rng: np.random.Generator, budget: Budget) -> None:
        fill_by_room(now, np.arange(len(problem)), shares(problem), False)


@dataclass(frozen=True, slots=True)
class Greedy(Rule):
    """Tasks by falling value per share of what is free, each instance on the first machine that it fits on."""

    name: ClassVar[str] = "greedy"

    def fill(self, problem: Placement, now: Filling, rng: np.random.Generator, budget: Budget) -> None:
        fill_first(now, by_density(problem))


@dataclass(frozen=True, slots=True)
class LongestFirst(Rule):
    """Tasks by falling duration, each instance on the machine with the most room (:class:`BestFit` has the least)."""

    name: ClassVar[str] = "longest-first"

    def fill(self, problem: Placement, now: Filling, rng: np.random.Generator, budget: Budget) -> None:
        fill_by_room(now, np.argsort(-problem.durations, kind="stable"), shares(problem), True)


@dataclass(frozen=True, slots=True)
class ShortestFirst(Rule):
    """Tasks by rising duration, each instance on the machine with the most room."""

    name: ClassVar[str] = "shortest-first"

    def fill(self, problem: Placement, now: Filling, rng: np.random.Generator, budget: Budget) -> None:
        fill_by_room(now, np.argsort(problem.durations, kind="stable"), shares(problem), True)


@dataclass(frozen=True, slots=True)
class Tetris(Rule):
    r"""The pair of machine and task with the largest alignment, again and again.

    The alignment is :math:`\sum_r \frac{f_r w_r}{c_r} \frac{d_r w_r}{c_r}` of what is free on the machine, the
    demand of the task and the capacity of the machine.

    Parameters
    ----------
    weights : :math:`w_r`, numbers > 0 with slashes between, one for each resource; by default 1.

    Raises
    ------
    SpecError : a weight is no number > 0.

    References
    ----------
    Grandl et al., Multi-resource packing for cluster schedulers, SIGCOMM 2014, section 3.2 (without its preference for
    short jobs).
    """

    name: ClassVar[str] = "tetris"

    weights: str = ""

    def __post_init__(self) -> None:
        self._weights()

    def supports(self, problem: Placement, /) -> str | None:
        """None if there is a weight for each resource, or none at all."""
        stated, resources = len(self._weights()), problem.free.shape[1]
        return None if stated in (0, resources) else f"{stated} weights are stated, it has {resources} resources"

    def fill(self, problem: Placement, now: Filling, rng: np.random.Generator, budget: Budget) -> None:
        given = self._weights()
        weights = shares(problem) * given if len(given) == now.room.shape[1] else shares(problem)
        count = len(now.room)
        machines = Aligned(np.zeros(count), np.full(count, -1), np.ones(count, np.bool_))
        in_time(problem, now, budget, lambda: fill_aligned(now, weights**2, machines, _LOOKS))

    def _weights(self) -> FloatArray:
        try:
            found = np.array([float(each) for each in self.weights.split("/") if self.weights])
        except ValueError:
            found = np.zeros(1)
        if not (np.isfinite(found) & (found > 0)).all():
            raise SpecError(f"{self.name}: weights must be numbers > 0 with slashes between, got {self.weights!r}")
        return found


@dataclass(frozen=True, slots=True)
class TetrisAsCoded(Tetris):
    """Tetris in the units of CloudSimPy, cores and shares of memory: on its machines a share of CPU weighs 64 times.

    References
    ----------
    Li and Hu (2019) and its code.
    """

    name: ClassVar[str] = "tetris-as-coded"

    weights: str = "64/1"


@dataclass(frozen=True, slots=True)
class DominantResource(Rule):
    """Dominant-resource fairness: an instance of the task that has the least, again and again.

    What a task has is the largest share that its placed instances take of what all machines have of a resource; each
    task counts as a user. An instance goes on the first machine that it fits on.

    References
    ----------
    Ghodsi et al., Dominant resource fairness, NSDI 2011, algorithm 1.
    """

    name: ClassVar[str] = "drf"

    def fill(self, problem: Placement, now: Filling, rng: np.random.Generator, budget: Budget) -> None:
        totals = problem.capacities.astype(np.float64).sum(axis=0)
        share, first = 1 / np.where(totals > 0, totals, 1.0), np.zeros(len(problem), np.int64)
        users = Users(np.zeros(len(problem), np.int64), np.zeros(len(problem)))
        in_time(problem, now, budget, lambda: fill_fairly(now, share, first, users, _LOOKS))


@dataclass(frozen=True, slots=True)
class RandomPairs(Rule):
    """A pair of task and machine that fit, each as likely as any other, again and again."""

    name: ClassVar[str] = "random"

    def fill(self, problem: Placement, now: Filling, rng: np.random.Generator, budget: Budget) -> None:
        pairs = np.arange(0 if budget.short(_PER_LISTED * now.placed.size) else now.placed.size)
        if not len(pairs):
            fill_first(now, np.arange(len(problem)))
            return
        number = np.full(1, len(pairs))
        in_time(problem, now, budget, lambda: fill_at_random(now, rng, pairs, number, _LOOKS))
