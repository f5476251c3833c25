"""Simulated annealing on allocations and on constrained paths: remove one or two jobs, place them again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from transom.errors import SpecError
from transom.heuristics.allocation import annealing
from transom.heuristics.allocation.annealing_loop import Annealing, Nested, OnWhatIsLeft, Walk
from transom.heuristics.allocation.arrays import best_known
from transom.heuristics.allocation.block_annealing import Line, anneal_blocks
from transom.heuristics.allocation.block_table import table_with_fines
from transom.heuristics.allocation.left_annealing import Blocks, anneal_left, blocks_of
from transom.models.allocation import Allocation
from transom.models.arrays import FloatArray, IntArray, frozen_ints
from transom.models.fat_tree import FatTree
from transom.models.shortest_path import ConstrainedPath
from transom.solving import TakesAll, presolve
from transom.stop import Budget, Stop


@dataclass(frozen=True, slots=True)
class _PlainRepair(Annealing):
    """Where a removed job comes back: at random, or where it is cheapest."""

    repair: Literal["random", "cheapest"] = "random"
    first: int | None = None

    def __post_init__(self) -> None:
        Annealing.__post_init__(self)
        if self.first is not None and self.first <= 0:
            raise SpecError(f"sa: first must be > 0 or none, got {self.first}")

    @staticmethod
    @cache
    def warm_up() -> None:
        """Compile the kernels."""
        rng = np.random.default_rng(0)
        for rule in ("static", "dynamic"):
            problem = Allocation(FatTree.k_ary(4), np.arange(10), np.array([4, 4]), rule)
            AllocationAnnealing(steps=20)(problem, Stop().start(problem), rng)
        path = ConstrainedPath.from_allocation(
            Allocation(FatTree.k_ary(4), np.arange(10), np.array([4, 4]), "static", False)
        )
        PathAnnealing(steps=20)(path, Stop().start(path), rng)

    def options(self, wrap: bool, nested: int = annealing.ANYTHING) -> annealing.Options:
        """Options of the kernels."""
        options = Annealing.options(self, wrap, nested)
        options.first = self.first or 0
        options.cheapest = self.repair == "cheapest"
        return options


@dataclass(frozen=True, slots=True)
class AllocationAnnealing(_PlainRepair):
    r"""Simulated annealing on jobs that are removed and placed again (algorithm 1 and table I).

    A step removes 1 to ``remove`` jobs and places them again one by one, each from a random first node among
    all idle nodes that are left, on consecutive ones. A change :math:`\Delta > 0` of the cost is accepted with
    probability :math:`e^{-\Delta/T}` at

    .. math:: T = T^{\max} e^{-\log(T^{\max} / T^{\min})\, t / t^{\max}}

    and undone otherwise. The search begins with the first fit in the window's order, or with a better start.

    Under the dynamic rule, a job that is taken away from the gap of another leaves a block that no order of
    placing reaches (in 15 % of the steps on windows of the paper's kind): ``nested`` says what
    then. Under the static rule blocks are consecutive in Q itself, and a step that finds no room is not
    taken. Under the free rule the moves are those of the dynamic one and every state is a solution.

    An iteration is a step. One run has ``steps`` steps, or as many as the budget has iterations if that is
    less; with ``restarts`` further runs follow, each from the best solution, while the budget lasts. Time
    only ever ends the search: the same seed and number of iterations give the same answer.

    What the authors' code does is ``sa:acceptance=walk,first=100,order=window`` (its ``tmax=25000`` is then
    without effect). As it never asks whether an order exists, its figures come out under the free rule;
    what can be reached of them costs about 1 % more.

    With limits on leaf switches or node types a search may begin at, and go by way of, places that jobs do not take:
    each switch too many and each node of another type costs more than all jobs do elsewhere. Only solutions are handed
    over; there may be none in the end, which is no proof.

    Parameters
    ----------
    acceptance : ``walk``: a rejected change is not undone. As the search then goes on from every change, the
        temperatures do not matter, and only the best solution met is kept.
    tmax, tmin : first and last temperature, in units of cost, tmax >= tmin > 0.
    steps : steps of one run, > 0.
    remove : most jobs removed in one step, > 0.
    order : removed jobs come back by falling size, or in the window's order.
    repair : where a job comes back: a random first node, or the cheapest (the lowest of equals).
    first : only so many of the idle nodes left, from the lowest on, may be a first node; all if None.
    restarts : whether to go on after a run.
    nested : ``remove`` the outer job too and place it again, so that every state is feasible; ``refuse`` such a
        step, which never removes more than ``remove`` jobs; ``pass``: go on from it, but hand over only what an
        order reaches. By default ``remove``, and ``pass`` with ``acceptance=walk``, as the authors' code does.

    Raises
    ------
    SpecError : a condition above does not hold.

    References
    ----------
    Lan et al. (2023), section V-A, algorithm 1 and table I.
    """

    name: ClassVar[str] = "sa"
    solves: ClassVar[type] = Allocation

    nested: Nested | None = None

    def supports(self, problem: Allocation, /) -> str | None:
        """Every allocation."""
        return None

    def __call__(self, problem: Allocation, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget):
            return
        owner = best_known(problem, budget, start)
        walk: Walk

        def solution(starts: IntArray) -> IntArray | None:
            found = problem.from_starts(starts)
            return None if problem.limited and problem.violations(found) else found

        if problem.rule == "static":
            walk = _OnQ(
                *table_with_fines(problem), problem.sizes, problem.starts(owner), self.options(problem.wrap), solution
            )
        else:
            walk = _OnBlocks(problem, owner, self.moves(problem, self.nested))
        self.anneal(walk, budget, rng)

    def go_on(self, problem: Allocation, costs: FloatArray, budget: Budget, rng: np.random.Generator) -> None:
        """Search on from the budget's best solution, for a solver that has the costs of all blocks.

        Parameters
        ----------
        problem : under the static rule, without limits on leaf switches and node types.
        costs : as :meth:`~transom.models.allocation.Allocation.block_costs` of the distinct sizes: of a large system
            they take a millisecond.
        """
        rows = np.searchsorted(np.unique(problem.sizes), problem.sizes)
        starts = problem.starts(budget.solution)
        self.anneal(
            _OnQ(costs, rows, problem.sizes, starts, self.options(problem.wrap), problem.from_starts), budget, rng
        )


@dataclass(frozen=True, slots=True)
class PathAnnealing(_PlainRepair, TakesAll):
    """Simulated annealing on a constrained path: operation arcs are removed and set elsewhere.

    The path is packed as the static allocation is that it stands for: a step removes 1 to ``remove`` arcs,
    and sets each again on entries that no other one spans. The search begins with the arcs end to end by
    rising size, or with a better start. Where arcs are missing, missing ones are walked over at a price
    above all others; then there may be no answer.

    Iterations, runs and the parameters are those of ``sa`` on allocations.

    Parameters
    ----------
    acceptance : ``walk``: a rejected change is not undone.
    tmax, tmin : first and last temperature, in units of cost, tmax >= tmin > 0.
    steps : steps of one run, > 0.
    remove : most arcs removed in one step, > 0.
    order : removed arcs come back by falling size, or in the order of the sizes.
    repair : where an arc comes back: at random, or where it is cheapest.
    first : only so many of the free entries, from the lowest on, may begin an arc; all if None.
    restarts : whether to go on after a run.

    Raises
    ------
    SpecError : a condition above does not hold.

    References
    ----------
    Lan et al. (2023), sections IV-B and V-A.
    """

    name: ClassVar[str] = "sa"
    solves: ClassVar[type] = ConstrainedPath

    def __call__(
        self, problem: ConstrainedPath, budget: Budget, rng: np.random.Generator, /, start: Any = None
    ) -> None:
        if presolve(problem, budget):
            return
        # Read-only as those of an allocation, for which the kernels are compiled.
        sizes = frozen_ints(np.repeat(problem.sizes, problem.counts), "path: sizes")
        rows = np.repeat(np.arange(len(problem.sizes)), problem.counts)
        starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        if start is not None:
            budget.found(start)
        if np.isfinite(problem.costs[rows, starts]).all():
            budget.found(np.column_stack((starts, sizes)))
        if budget.solution is not None:
            arcs = budget.solution
            starts = arcs[np.argsort(arcs[:, 1], kind="stable"), 0].astype(np.int64)

        def arcs_from(starts: IntArray) -> IntArray | None:
            if not np.isfinite(problem.costs[rows, starts]).all():
                return None
            order = np.argsort(starts)
            return np.column_stack((starts[order], sizes[order]))

        options = self.options(False)
        self.anneal(_OnQ(_priced(problem), rows, sizes, starts, options, arcs_from), budget, rng)


class _OnBlocks(OnWhatIsLeft):
    """Blocks on what is left of Q, with the entries of each."""

    def __init__(self, problem: Allocation, owner: IntArray, options: annealing.Options) -> None:
        asked, jobs = int(problem.sizes.sum()), len(problem)
        work = 8 * (jobs + len(owner) - asked + 2 * asked // jobs) + 64  # jobs, what is free, and two that move
        super().__init__(problem, owner, options, anneal_left, work=work)

    def restart(self) -> None:
        OnWhatIsLeft.restart(self)
        wrap = bool(self._options.wrap and self._options.nested == annealing.MEND)
        owner, costs, best, state = self._standing
        self._standing = Blocks(owner, costs, best, state, *blocks_of(best, self._problem.sizes, wrap))


class _OnQ:
    """Blocks on consecutive entries of Q itself."""

    def __init__(
        self,
        table: FloatArray,
        rows: IntArray,
        sizes: IntArray,
        starts: IntArray,
        options: annealing.Options,
        solution: Callable[[IntArray], IntArray | None],
    ) -> None:
        self._table, self._rows, self._sizes, self._options = table, rows.astype(np.int64), sizes, options
        self._best = starts.copy()
        self._state = np.array([table[rows, starts].sum()])
        self._solution = solution
        self.work = 8 * (len(sizes) + table.shape[1] - int(sizes.sum())) + 64  # blocks and what is free between them
        self.restart()

    def restart(self) -> None:
        self._starts = self._best.copy()

    def run(self, rng: np.random.Generator, temperatures: FloatArray, first: int, count: int, steps: int) -> int:
        line = Line(self._starts, self._best, self._state)
        schedule = annealing.Schedule(temperatures, first, first + count, steps)
        return anneal_blocks(rng, line, self._table, self._rows, self._sizes, self._options, schedule)

    def hand_over(self, budget: Budget) -> None:
        solution = self._solution(self._best)
        if solution is not None:
            budget.found(solution)


def _priced(problem: ConstrainedPath) -> FloatArray:
    """The costs, where an arc that is missing inside the path costs more than any path without one."""
    costs = problem.costs.copy()
    finite = np.where(np.isfinite(costs), costs, 0.0)
    spread = float((problem.counts * (finite.max(axis=1) - finite.min(axis=1))).sum())
    for row, size in enumerate(problem.sizes.tolist()):
        inside = costs[row, : problem.length - size + 1]
        inside[np.isinf(inside)] = finite[row].max() + spread + 1.0
    return costs
