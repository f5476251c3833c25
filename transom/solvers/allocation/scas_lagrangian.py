"""Static allocation and the constrained path on large systems, by prices of the counts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom import registry
from transom.errors import SpecError
from transom.models.allocation import Allocation
from transom.models.arrays import FloatArray, IntArray
from transom.models.fat_tree import FatTree
from transom.models.shortest_path import ConstrainedPath
from transom.reductions import packing
from transom.reductions.packing import Packing
from transom.solvers.allocation.line import Best, Line
from transom.solvers.allocation.line_moves import Moves
from transom.solvers.allocation.line_prices import distances
from transom.solvers.allocation.packing_search import on_paths, refused_rule
from transom.solvers.allocation.price_pace import Pace
from transom.solving import presolve, warm_up
from transom.stop import Budget, Stop

_MEMORY = 512  # [MiB]
_PASSES = 400  # shortest paths of a line, at most
_COARSE, _FINE = 1e-7, 1e-10  # what prices may still gain, as a share of the cost
_BLOCKS = 8  # of a move, at first
_MOVES = 2_000  # that may fail in a row before something else is tried
_STEPS = 2_000_000  # of moves between two looks at the clock: 2-4 ms
_NEAR = 1e-4  # of the cost: a gap that wider beams may close
_ANNEALING = "sa:repair=cheapest,restarts=yes,remove={}"
_REMOVED, _MANY, _MORE_REMOVED = 4, 21, 8  # jobs at most in a step of it, and with so many sizes or more
_PATIENT, _FAR = 4, 0.01  # iterations after which the gap is still so wide that annealing helps
_EARLY = 0.3  # of the time, after which it helps too
_SHARE, _ANNEALED = 0.4, 2_000  # of the time that is left, and steps of annealing at most
_WIDTH, _WIDEST = 1_000, 16_000  # labels of an entry in a proof


@dataclass(frozen=True, slots=True)
class ScasLagrangian:
    r"""Prices for the counts, shortest paths on the line, and label setting on what they leave.

    The rows that say how many blocks of each size are wanted are dualised; what is left is a shortest
    path over the idle nodes. A proximal bundle method finds the prices, and with them the bound of
    the path polytope, in about as many passes as there are sizes. Distances from both ends give each
    block's reduced cost: only those blocks are kept with which a packing can still be better than the
    best known. Label setting on them, narrow at first and steered by the same distances, finds packings
    close to the bound, and proves the optimum where the labels within the gap are not too many. Moves
    that pack eight blocks anew do the rest. Where the best packing is far from the bound after a few milliseconds,
    annealing (``sa:repair=cheapest``) has a short turn: short budgets then end with an answer that is not
    bad. It has all the time that is left where prices would not converge within it: they take at least two shortest
    paths per size, and what they may still gain falls by about the same factor in the same time.

    At most one job wraps around. Each (size, split) has a bound of its own from the distances between
    its two ends; those that could be better are searched as lines of their own, the lowest bound
    first, and the bound of the circle is the least of all.

    It returns to look at the clock every few milliseconds; that is an iteration. Without a limit it
    ends when the optimum is proved or ``memory`` and widths are exhausted.

    Parameters
    ----------
    memory : most memory for labels [MiB], > 0.

    Raises
    ------
    SpecError : ``memory`` is not positive.

    References
    ----------
    Lan et al. (2023), section IV-B. Held and Karp (1971) for the dual; Kiwiel, Proximity control in bundle methods,
    Mathematical Programming 46 (1990); Handler and Zang, A dual algorithm for the constrained shortest
    path problem, Networks 10 (1980).
    """

    name: ClassVar[str] = "scas-lagrangian"
    solves: ClassVar[type] = Allocation

    memory: int = _MEMORY

    def __post_init__(self) -> None:
        if self.memory <= 0:
            raise SpecError(f"{self.name}: memory must be > 0 MiB, got {self.memory}")

    def supports(self, problem: Allocation | ConstrainedPath, /) -> str | None:
        """Every static allocation without limits on leaf switches."""
        refused = refused_rule(problem)
        return problem.limited if refused is None and isinstance(problem, Allocation) else refused

    @staticmethod
    @cache
    def warm_up() -> None:
        """Compile the kernels."""
        rng = np.random.default_rng(0)
        tree = FatTree.uniform(60, 4, 12)
        idle = np.flatnonzero(rng.random(60) < 0.8)
        for wrap in (False, True):
            problem = Allocation(tree, idle, np.array([9, 7, 6, 5, 5, 3]), "static", wrap)
            ScasLagrangian()(problem, Stop().start(problem), rng)
        for allocation in (True, False):
            warm_up(_annealing(allocation, False))
        # Every kernel, whether that search needed it or not.
        pack = packing.apply(problem)
        blocks = packing.first_fit(pack)
        if blocks is not None:
            moves = Moves(
                pack.costs, pack.sizes, *blocks, 0, pack.length, np.zeros(len(pack.sizes)), np.zeros(len(idle) + 1)
            )
            moves.go(1, 2, 1, rng)
        path = ConstrainedPath(
            9, np.array([2, 3]), np.array([2, 1]), np.where(np.arange(9) < [[8], [7]], 1.0, math.inf)
        )
        ScasLagrangian()(path, Stop().start(path), rng)

    def __call__(
        self, problem: Allocation | ConstrainedPath, budget: Budget, rng: np.random.Generator, /, start: Any = None
    ) -> None:
        if presolve(problem, budget):
            return
        pack = packing.apply(problem)

        def report(rows: IntArray, starts: IntArray) -> None:
            budget.found(packing.invert(problem, rows, starts))

        best = Best(pack, report)
        for blocks in (packing.first_fit(pack), None if start is None else packing.blocks(problem, pack, start)):
            if blocks is not None:
                best.offer(*blocks)
        if budget.done():
            return
        search, seconds, annealed = Search(pack, best, rng, self.memory * 2**20), budget.seconds_left(), False
        pace = Pace(budget.seconds(), len(pack.sizes))
        for number, bound in enumerate(search.pieces()):
            budget.spend()
            late = budget.seconds_left() < (1 - _EARLY) * seconds
            slow = pace.seconds_to_end(search.gain, search.passes, budget.seconds(), late) > budget.seconds_left()
            if slow and bound < best.cost < math.inf:
                _anneal(problem, budget, rng, best, 1.0, None)
            elif not annealed and (late or number >= _PATIENT) and best.cost - bound > _FAR * abs(bound):
                annealed = True
                _anneal(problem, budget, rng, best, _SHARE, _ANNEALED)
            if bound < best.cost:
                budget.prove(pack.safe(bound))
            elif best.blocks is None:
                budget.prove_infeasible()
            elif budget.value is not None:
                budget.prove(budget.value)
            if budget.done():
                return


CspLagrangian = on_paths(
    ScasLagrangian, "The method of ``scas-lagrangian`` on any constrained path, missing arcs and negative costs too."
)


def _anneal(
    problem: Allocation | ConstrainedPath,
    budget: Budget,
    rng: np.random.Generator,
    best: Best,
    share: float,
    steps: int | None,
) -> None:
    """Search for a packing that is not bad, in a share of the time that is left and so many steps at most."""
    seconds = budget.seconds_left() * share
    if budget.done() or seconds <= 0:
        return
    part = budget.nested(Stop(seconds=seconds if seconds < math.inf else None, iterations=steps), problem)
    annealing = _annealing(isinstance(problem, Allocation), len(best.pack.sizes) >= _MANY)
    if isinstance(problem, Allocation) and budget.solution is not None:
        part.found(budget.solution)
        annealing.go_on(problem, best.pack.costs, part, rng)
    else:
        annealing(problem, part, rng, budget.solution)
    budget.found(part.solution)
    if budget.value is not None and budget.value < best.cost:
        best.offer(*packing.blocks(problem, best.pack, budget.solution))


@cache
def _annealing(allocation: bool, many: bool) -> Any:
    spec = _ANNEALING.format(_MORE_REMOVED if many else _REMOVED)
    return registry.make(registry.SOLVERS, spec, Allocation if allocation else ConstrainedPath)


class Search:
    """All lines of a packing: the one without a block that wraps and one for each block that may.

    Parameters
    ----------
    pack : blocks that fit into the entries, as far as their number goes.
    best : the best packing so far.
    rng : where moves come from.
    memory : most memory for labels [bytes].
    """

    def __init__(self, pack: Packing, best: Best, rng: np.random.Generator, memory: int) -> None:
        self._pack, self._best, self._rng, self._memory = pack, best, rng, memory
        self._root = Line(pack, best, memory)
        # Bounds of the lines that are open, by (size row, entries at the head) of the block that wraps.
        self._open: dict[tuple[int, int] | None, float] = {None: self._root.bound}
        self._prices: FloatArray | None = None
        self._gain = math.inf
        self._floor = float(pack.counts @ pack.costs.min(axis=1, initial=math.inf))
        self._bounded = not pack.wrap  # whether the blocks that wrap have bounds of their own

    @property
    def gain(self) -> float:
        """What the prices of the whole line may still gain at most, as a share of the cost; 0 once they are done."""
        return self._gain

    @property
    def passes(self) -> int:
        """Shortest paths of the whole line so far."""
        return self._root.passes

    @property
    def bound(self) -> float:
        """No packing costs less than this, or less than the best one if that is less."""
        return max(self._floor, min(self._open.values(), default=math.inf)) if self._bounded else self._floor

    def pieces(self) -> Iterator[float]:
        """Search; yields the bound every few milliseconds."""
        root = self._root
        for _ in root.approach(_PASSES, _COARSE):
            self._open[None], self._gain = root.bound, root.dual.gap / root.scale
            yield self.bound
        self._gain = 0.0
        for _ in root.beams():
            self._open[None] = root.bound
            yield self.bound
        self._open[None] = root.bound
        if self._pack.wrap:
            for _ in self._bound_wraps():
                yield self.bound
        yield self.bound
        width, blocks, nodes = _WIDTH, _BLOCKS, int(self._pack.sizes @ self._pack.counts)
        while True:
            for key in sorted(self._open, key=lambda key: self._open[key]):
                if self._open[key] >= self._best.cost:
                    break
                for _ in self._close(key, width):
                    yield self.bound
            self._open = {key: bound for key, bound in self._open.items() if bound < self._best.cost}
            if not self._open:
                self._floor = math.inf
            yield self.bound
            if not self._open or width > _WIDEST:
                return
            for _ in self._move(blocks):
                yield self.bound
            limit = self._best.cost - root.bound
            if None in self._open and limit <= _NEAR * root.scale:
                for _ in root.approach(_PASSES, _FINE):
                    self._open[None] = root.bound
                    yield self.bound
                for _ in root.sweep(limit, width // 4, 0.1 * limit / nodes, False):
                    yield self.bound
            width, blocks = 4 * width, blocks + 2

    def _close(self, key: tuple[int, int] | None, width: int) -> Iterator[None]:
        line = self._root
        if key is not None:
            line = Line(self._pack, self._best, self._memory, key, self._prices)
            line.bound = max(line.bound, self._open[key])
            for _ in line.approach(_PASSES, _COARSE):
                yield
        for _ in line.close(width):
            self._open[key] = max(self._open[key], line.bound)
            yield
        self._open[key] = max(self._open[key], line.bound)

    def _bound_wraps(self) -> Iterator[None]:
        """Open a line for every block that wraps and may be part of a better packing."""
        pack, root = self._pack, self._root
        if self._prices is None:
            self._prices, ahead, back = root.dual.potentials()
        sizes, costs, prices, length = pack.sizes, pack.costs, self._prices, pack.length
        paid = float(prices @ pack.counts)
        work = 0
        for head in range(1, int(sizes.max())):
            rows = np.flatnonzero(sizes > head)
            ends = length - (sizes[rows] - head)
            own = paid + costs[rows, ends] - prices[rows]
            # Between its ends no path is shorter than with one of the ends taken too.
            least = own + np.maximum(ahead[ends], back[head])
            keep = least < self._best.cost
            if not keep.any():
                continue
            rows, ends, own = rows[keep], ends[keep], own[keep]
            least = own + distances(costs, sizes, prices, head)[ends]
            for row, bound in zip(rows.tolist(), least.tolist(), strict=True):
                if bound < self._best.cost:
                    self._open[row, head] = bound
            work += length * len(sizes)
            if work > _STEPS:
                work = 0
                yield
        self._bounded = True

    def _move(self, blocks: int) -> Iterator[None]:
        """Improve the best packing by moves of so many blocks until many fail in a row."""
        if self._best.blocks is None:
            return
        prices, _, back = self._root.dual.potentials()
        rows, starts = self._best.blocks
        sizes, length = self._pack.sizes, self._pack.length
        wraps = starts + sizes[rows] > length
        low, high = 0, length
        if wraps.any():
            high = int(starts[wraps][0])
            low = high + int(sizes[rows[wraps][0]]) - length
        moves = Moves(self._pack.costs, sizes, rows[~wraps], starts[~wraps], low, high, prices, back)
        failed = 0
        while failed < _MOVES and len(moves.rows):
            before = moves.cost
            tried = moves.go(100, blocks, _STEPS, self._rng)
            failed = 0 if moves.cost < before - 1e-11 * self._root.scale else failed + tried
            self._best.offer(np.concatenate((rows[wraps], moves.rows)), np.concatenate((starts[wraps], moves.starts)))
            yield
