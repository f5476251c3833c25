"""Static allocation and the constrained path, exactly, by label setting over the blocks placed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import reordered, stable_order
from transom.errors import SpecError
from transom.models.allocation import Allocation
from transom.models.arrays import IntArray
from transom.models.fat_tree import FatTree
from transom.models.hop_cost import slide_costs
from transom.models.shortest_path import ConstrainedPath
from transom.reductions import packing
from transom.reductions.packing import Packing, block_owners, distinct_sizes
from transom.solvers.allocation import block_dp
from transom.solvers.allocation.packing_search import on_paths, refused_rule
from transom.solving import presolve
from transom.stop import Budget, Stop

CHUNK = 4_000_000  # steps between two looks at the clock: 2-4 ms
_MEMORY = 512  # [MiB]


@dataclass(frozen=True, slots=True)
class ScasDp:
    r"""Label setting over (entries of Q, blocks placed of each size), wrap-around included.

    Jobs of one size are alike, so that :math:`\prod_r (\epsilon_r + 1)` states describe which jobs
    have been placed, at most 32 for five jobs. One pass over the entries that may be skipped gives
    the optimum on the line. On the circle at most one job wraps: the bounds of ``block_dp`` leave
    few of the (size, split) pairs, and each of these is another line between its two ends, the best
    bound first.

    The search returns to look at the clock every few milliseconds; out of time, the first-fit packing
    or the best of the searched lines remains. An iteration is a row of a table, one state.

    Parameters
    ----------
    memory : most memory for the tables [MiB], > 0; larger ones are refused.

    Raises
    ------
    SpecError : ``memory`` is not positive.

    References
    ----------
    Lan et al. (2023), section IV-A (the problem) and IV-B (its form as a constrained shortest path).
    """

    name: ClassVar[str] = "scas-dp"
    solves: ClassVar[type] = Allocation

    memory: int = _MEMORY

    def __post_init__(self) -> None:
        if self.memory <= 0:
            raise SpecError(f"{self.name}: memory must be > 0 MiB, got {self.memory}")

    def supports(self, problem: Allocation | ConstrainedPath, /) -> str | None:
        """None for a static allocation or a path whose tables fit into ``memory``."""
        refused = refused_rule(problem)
        if refused is None and not _surely_fits(problem, self.memory):
            refused = _too_large(*packing.shape(problem), self.memory)
        return refused

    @staticmethod
    @cache
    def warm_up() -> None:
        """Compile the kernels."""
        tree = FatTree.uniform(8, 2, 4)
        rng = np.random.default_rng(0)
        line, circle = (Allocation(tree, np.arange(8), np.array([3, 2]), "static", wrap) for wrap in (False, True))
        for problem in (line, circle):
            ScasDp()(problem, Stop().start(problem), rng)
            ScasDp()(problem, Stop(iterations=100).start(problem), rng)
        path = ConstrainedPath.from_allocation(line)
        ScasDp()(path, Stop().start(path), rng)

    def __call__(
        self, problem: Allocation | ConstrainedPath, budget: Budget, rng: np.random.Generator, /, start: Any = None
    ) -> None:
        if isinstance(problem, Allocation) and budget.stop.iterations is None and budget.stop.stall is None:
            solved, owner, _ = _at_once(problem, CHUNK)
            if solved:
                if owner is None:
                    budget.prove_infeasible()
                else:
                    _prove(budget, owner)
                return
        _search(problem, budget)


CspDp = on_paths(ScasDp, "Label setting over (nodes of the path, arcs taken of each size); any costs, missing arcs.")


def static_optimum(problem: Allocation, memory: int = 64) -> tuple[IntArray, float] | None:
    """The optimum of an allocation under the static rule, whatever its own rule is, searched to the end.

    Parameters
    ----------
    problem : any allocation; its wrap-around counts, its rule does not.
    memory : most memory for the tables [MiB].

    Returns
    -------
    The owner of each entry of Q and the total cost, rounded sums of floats; None if there is no
    solution or if the tables would be too large.
    """
    if problem.trivial() is not None:
        return None if len(problem) else (np.full(len(problem.idle), -1), 0.0)
    if _too_large(*packing.shape(problem), memory):
        return None
    _, owner, value = _at_once(problem, 2**62)
    return None if owner is None else (owner, value)


def table_bytes(sizes: IntArray, counts: IntArray, length: int, wrap: bool) -> int:
    """Memory of the tables of a packing that fits into its ``length`` entries [bytes]."""
    states = math.prod(int(count) + 1 for count in counts)
    slack = max(0, length - int(sizes @ counts))
    largest = int(sizes.max(initial=0))
    return 8 * states * (2 * (slack + largest) + slack + 1 if wrap else slack + 1)


def _surely_fits(problem: Allocation | ConstrainedPath, memory: int) -> bool:
    """Whether the table fits even if each job has a size of its own: asked first, since it needs no compiled code."""
    return (
        isinstance(problem, Allocation)
        and len(problem) < 30
        and 8 * 2 ** len(problem) * (3 * len(problem.idle) + 1) <= memory * 2**20
    )


def _too_large(sizes: IntArray, counts: IntArray, length: int, wrap: bool, memory: int) -> str | None:
    needed = table_bytes(sizes, counts, length, wrap)
    if needed <= memory * 2**20:
        return None
    return (
        f"the table of {math.prod(int(count) + 1 for count in counts):,} states (jobs placed of each of {len(sizes)} "
        f"sizes) needs {-(-needed // 2**20):,} MiB, more than memory={memory}"
    )


def _at_once(problem: Allocation, work: int) -> tuple[bool, IntArray | None, float]:
    """Search without a look at the clock; whether it came to the end, the owners (None: infeasible), the value."""
    if problem.trivial() is not None:
        return True, None if len(problem) else np.full(len(problem.idle), -1), 0.0
    tree = problem.tree
    if tree.above is not None or problem.limited:
        return _in_one_go(problem, work)
    solved, value, owner = solve_small(
        tree.leaf, tree.pod, problem.idle, problem.sizes, problem.cost.weights, problem.wrap, work
    )
    return solved, owner if value < math.inf else None, value


def _in_one_go(problem: Allocation, work: int) -> tuple[bool, IntArray | None, float]:
    """The same on a tree of any depth, by way of the table of block costs."""
    pack = packing.apply(problem)
    search = Search(pack)
    search.advance(work)
    if not search.finished:
        return False, None, math.inf
    return True, packing.invert(problem, *search.blocks) if search.value < math.inf else None, search.value


def _prove(budget: Budget, solution: IntArray) -> None:
    budget.found(solution)
    if budget.value is not None:
        budget.prove(budget.value)


def _search(problem: Allocation | ConstrainedPath, budget: Budget) -> None:
    """Search in chunks, with a packing in hand from the beginning."""
    if presolve(problem, budget):
        return
    pack = packing.apply(problem)
    blocks = packing.first_fit(pack)
    if blocks is not None:
        budget.found(packing.invert(problem, *blocks))
    search = Search(pack)
    while not budget.done():
        before = search.value
        left = budget.iterations_left()
        budget.spend(search.advance(CHUNK, left))
        if search.value < before:
            budget.found(packing.invert(problem, *search.blocks))
        if search.finished:
            if search.value == math.inf:
                budget.prove_infeasible()
            elif budget.value is not None:
                budget.prove(budget.value)
            return
        budget.prove(pack.safe(search.bound))


class Search:
    """The search of one packing, in pieces.

    Parameters
    ----------
    pack : blocks that fit into the entries, as far as their number goes.
    """

    def __init__(self, pack: Packing) -> None:
        self._pack = pack
        self._state = block_dp.begin(pack.sizes, pack.counts, pack.length, pack.wrap)
        self._blocks = block_dp.Blocks(pack.costs, pack.sizes, pack.counts)
        self._mirror = block_dp.mirrored(self._blocks) if pack.wrap else self._blocks
        self._bounds = np.empty((0, 3))
        # Each block costs at least the cheapest of its size.
        self._cheapest = float(pack.counts @ pack.costs.min(axis=1, initial=math.inf)) if len(pack.sizes) else 0.0

    @property
    def value(self) -> float:
        """The least cost so far; infinite before."""
        return float(self._state.best[0])

    @property
    def bound(self) -> float:
        """No packing costs less."""
        return max(self._cheapest, min(self.value, float(self._state.best[1])))

    @property
    def finished(self) -> bool:
        """Whether nothing is left to search."""
        return bool(self._state.at[block_dp.PHASE] == block_dp.FINISHED)

    @property
    def blocks(self) -> tuple[IntArray, IntArray]:
        """Rows and starts of the blocks of the best packing."""
        return self._state.rows.copy(), self._state.starts.copy()

    def advance(self, work: int, rows: int | None = None) -> int:
        """Go on for about ``work`` steps, or ``rows`` rows of a table; returns the rows filled."""
        before = int(self._state.at[block_dp.ROWS])
        # One row is no more steps than this; a few rows too many are a few steps too many.
        limit = work if rows is None else min(work, rows * 8)
        self._bounds = block_dp.advance(self._state, self._bounds, self._blocks, self._mirror, limit)
        return int(self._state.at[block_dp.ROWS]) - before


@compiled
def solve_small(
    tree_leaf: IntArray,
    tree_pod: IntArray,
    idle: IntArray,
    sizes: IntArray,
    weights: IntArray,
    wrap: bool,
    work: int,
) -> tuple[bool, float, IntArray]:
    """All of a small search in one call: costs, tables, wrapping blocks, owners."""
    length = len(idle)
    slack, asked = length, np.empty(len(sizes), np.int64)
    for i in range(len(sizes)):  # a copy: for an array that is read-only the compiler makes functions of its own
        asked[i] = sizes[i]
        slack -= sizes[i]
    distinct, counts = distinct_sizes(asked)
    leaf, pod = np.empty(length, np.int64), np.empty(length, np.int64)
    for i in range(length):
        leaf[i], pod[i] = tree_leaf[idle[i]], tree_pod[idle[i]]
    states = 1
    for count in counts:
        states *= count + 1
        if states * (slack + 1) > work:
            return False, np.inf, np.empty(0, np.int64)
    blocks = block_dp.Blocks(slide_costs(leaf, pod, distinct, weights, wrap), distinct, counts)
    state = block_dp.begin(distinct, counts, length, wrap)
    mirror = block_dp.mirrored(blocks) if wrap else blocks
    block_dp.advance(state, np.empty((0, 3)), blocks, mirror, work)
    if state.at[block_dp.PHASE] != block_dp.FINISHED:
        return False, np.inf, np.empty(0, np.int64)
    order = stable_order(state.starts)
    rows, starts = reordered(state.rows, order), reordered(state.starts, order)
    return True, state.best[0], block_owners(asked, length, rows, starts)
