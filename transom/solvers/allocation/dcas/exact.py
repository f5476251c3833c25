"""The exact optimum of the dynamic rule: structures of nested blocks, then a subset program on top of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom import registry
from transom.errors import SpecError
from transom.models.allocation import Allocation
from transom.models.fat_tree import FatTree
from transom.models.hop_cost import AUTHORS
from transom.reductions import packing
from transom.reductions.packing import Packing
from transom.solvers.allocation import free_bound as free_bound
from transom.solvers.allocation.dcas.records import DONE, FULL
from transom.solvers.allocation.dcas.structures import Structures, table_bytes
from transom.solvers.allocation.dcas.trace import owners
from transom.solvers.allocation.scas_dp import ScasDp, static_optimum
from transom.solvers.allocation.scas_lagrangian import ScasLagrangian
from transom.solvers.allocation.shape import shape
from transom.solving import presolve, warm_up
from transom.stop import Budget, Stop

_CHUNK = 20_000  # labels between two looks at the clock: a few milliseconds
_PLAIN = 4_000  # labels until prices are worth their time
_STAGES: tuple[tuple[int, float, int | None], ...] = ((40, 0.4, 20_000), (160, 0.4, None), (160, 1.0, None))
"""In turn: steps of the prices, share of the distance from their bound to the best solution, labels at most."""
_QUICK = 0.005  # up to which the time of a single pricing does not matter [s]
_SMALL, _LARGE = 1 << 18, 1 << 22  # sets times entries: up to these the static optimum takes milliseconds, a second
_SETS = 1 << 12


@dataclass(frozen=True, slots=True)
class DcasExact:
    r"""Label setting over nested blocks, bounded by prices, from the static optimum down.

    Cut at its open gap, the one gap that may hold nodes that stay idle, the block of a job is an interval
    all of whose entries are taken: by the job, and in its gaps by blocks that are such intervals
    themselves. Let F[p][U] be the least cost at which the jobs U fill the interval from entry p, one *outer* job
    having its first and last entry, and G[p][U] the least cost of such *structures* side by side. For
    each p, from the last entry to the first, and each outer job, its nodes are placed one after the
    other; a label holds the set jumped so far, its cost, the nodes placed in the current leaf and pod, and
    the hops saved; each step jumps no gap or one that G fills and places a node. Labels of one set are
    at one entry, and one dominates another if it saves more by what differing counts can still be
    worth. Intervals across the end of the sequence come last, with the rest of the line known: they
    may come back to the leaf and pod that they began in, and keep the counts of these. Where switches
    alternate along the sequence, labels keep the counts of all switches (``dcas.alternating``). A
    subset program over the entries joins structures to a solution, at most one of them across the end.

    Where the search is not over at once, moves of single jobs and pairs (``dp-polish``) improve the static optimum
    first: the answer at the end of a short budget is as good as theirs, and there is less left to search.

    What keeps it short: a structure may cost no more above its jobs at their best, each alone on all
    idle nodes, than the static optimum does. If that is not enough, nodes get the prices of
    ``free_bound``, better ones where the search takes long, and it is for solutions within 40 % of the
    distance that is left first, for all of them then.

    On trees of more than three levels, and with limits on leaf switches or node types, there are no prices, and labels
    keep the counts of all switches. A label then dominates another one only if it spans at most as many leaf switches
    whatever follows; jobs that take different nodes, or may span different numbers of switches, are not alike.

    Beyond ``memory`` or 4096 sets of jobs (12 jobs of different sizes) the static optimum, or what is
    found of it, improved by such moves, and the bound of the free rule are the answer. An iteration is 20,000
    labels, all moves together, or one of the solver of the static rule.

    Parameters
    ----------
    memory : most memory for structures and labels [MiB], > 0.

    Raises
    ------
    SpecError : ``memory`` is not positive.

    References
    ----------
    Lan et al. (2023), sections III-B and V (which holds that no solver can do this).
    """

    name: ClassVar[str] = "dcas-exact"
    solves: ClassVar[type] = Allocation

    memory: int = 512

    def __post_init__(self) -> None:
        if self.memory <= 0:
            raise SpecError(f"dcas-exact: memory must be > 0 MiB, got {self.memory}")

    def supports(self, problem: Allocation, /) -> str | None:
        """The dynamic rule, whatever the numbering of the nodes and the depth of the tree."""
        if problem.rule != "dynamic":
            return f"it solves the dynamic rule, not {problem.rule}"
        return None

    @staticmethod
    @cache
    def warm_up() -> None:
        """Compile the kernels."""
        ScasDp().warm_up()
        ScasLagrangian().warm_up()
        for name in ("best-fit", "dp-polish"):
            warm_up(registry.make(registry.SOLVERS, name, Allocation))
        free_bound.warm_up()
        for tree in (FatTree.uniform(8, 2, 4), FatTree(np.arange(8) % 4, np.arange(8) % 2)):
            _warm_up_search(Allocation(tree, np.arange(8), np.array([4, 3]), "dynamic", True, AUTHORS))

    def __call__(self, problem: Allocation, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget):
            return
        pack = packing.apply(problem)
        _static(problem, pack, budget, rng)
        if budget.done():
            return
        fits = float(np.prod(pack.counts + 1.0)) <= _SETS and table_bytes(pack) <= self.memory * 2**20
        if not fits:
            budget.notes["search"] = "too many sets of jobs; static optimum, polished, and free bound only"
            _polish(problem, budget)
            if problem.not_plain:
                return
            if not budget.done() and _descend(free_bound.Prices(shape(problem)), budget, 400) and not budget.done():
                _polish(problem, budget, 1.0)
            return
        structures = Structures(problem, pack)
        _prove(budget, structures.lowest, pack.whole)
        if not budget.done() and not self._search(problem, structures, budget, 1.0, _PLAIN):
            _polish(problem, budget)
            if problem.not_plain and not budget.done():
                self._search(problem, structures, budget, 1.0, None)
            elif not budget.done():
                self._priced(problem, structures, budget)

    def _priced(self, problem: Allocation, structures: Structures, budget: Budget) -> None:
        """Search with prices on the nodes, better ones where it takes long, near the bound first."""
        counts = shape(problem)
        prices = free_bound.Prices(counts)
        covered = 0.0
        for steps, share, labels in _STAGES:
            if share <= covered:
                continue
            if not covered and prices.iterations < steps:
                if not _descend(prices, budget, steps):
                    return
                entries = np.empty(len(problem.idle))
                entries[counts.entries] = np.repeat(prices.best[counts.cls], counts.caps)
                _prove(budget, structures.charge(entries), structures.pack.whole)
            if budget.done():
                return
            if self._search(problem, structures, budget, share, labels):
                covered = share
            elif labels is None:
                return

    def _search(
        self, problem: Allocation, structures: Structures, budget: Budget, share: float, labels: int | None
    ) -> bool:
        """Whether the search came to its end: within ``labels``, the budget and the memory."""
        # With limits or types no solution need be known.
        value = problem.most_cost + 1.0 if budget.value is None else budget.value
        structures.prepare(value, share)
        state = structures.state
        while (why := structures.grow(state, _CHUNK if labels is None else min(labels, _CHUNK))) != DONE:
            if why == FULL:
                if not structures.make_room(self.memory * 2**20):
                    if labels is None:
                        budget.notes["search"] = f"out of memory={self.memory}"
                    return False
                continue
            if labels is not None and state.labels >= labels:
                return False
            budget.spend()
            if budget.done():
                return False
        best = structures.best(value, budget.done)
        if best is not None:
            budget.found(owners(structures, best, packing.rows_of(problem, structures.pack)))
        if budget.done():
            return False
        if budget.value is None:
            budget.prove_infeasible()
            return True
        _prove(budget, structures.proved, structures.pack.whole)
        return True


def _static(problem: Allocation, pack: Packing, budget: Budget, rng: np.random.Generator) -> None:
    """Hand over the optimum of the static rule, or what there is of it after half of the budget."""
    states = float(np.prod(pack.counts + 1.0)) * pack.length
    if states <= _SMALL:
        optimum = static_optimum(problem)
        if optimum is not None:
            budget.found(optimum[0])
            return
    blocks = packing.first_fit(pack)
    if blocks is not None:
        budget.found(packing.invert(problem, *blocks))
        _improve("best-fit", problem, budget, 0.5)
    static = problem.with_rule("static")
    seconds, steps = budget.seconds_left() / 2, budget.iterations_left()
    if seconds <= 0 or steps == 0:
        return
    stop = Stop(
        seconds=seconds if math.isfinite(seconds) else None, iterations=None if steps is None else (steps + 1) // 2
    )
    part = budget.nested(stop, static)
    solver: ScasDp | ScasLagrangian = ScasDp() if states <= _LARGE else ScasLagrangian()
    solver(static, part, rng)
    budget.spend(part.iterations)
    budget.found(part.solution)


def _polish(problem: Allocation, budget: Budget, share: float = 0.5) -> None:
    """Improve the solution by moves of single jobs and pairs, for so much of the time that is left at most."""
    _improve("dp-polish:begin=start", problem, budget, share)


def _improve(solver: str, problem: Allocation, budget: Budget, share: float) -> None:
    """What another solver makes of the solution, in a share of the time; counts as an iteration."""
    seconds = budget.seconds_left() * share
    if budget.done() or seconds <= 0:
        return
    part = budget.nested(Stop(seconds=seconds if math.isfinite(seconds) else None), problem)
    registry.make(registry.SOLVERS, solver, Allocation)(problem, part, np.random.default_rng(0), budget.solution)
    budget.spend()
    budget.found(part.solution)


def _descend(prices: free_bound.Prices, budget: Budget, steps: int) -> bool:
    """Improve the prices, up to so many steps in all; whether the budget allowed it."""
    assert budget.value is not None
    prices.set_target(prices.shape.base - budget.value)
    if prices.seconds > _QUICK and budget.short(prices.seconds):
        return False
    while prices.step(steps - prices.iterations):
        if budget.done() or (prices.seconds > _QUICK and budget.short(prices.seconds)):
            return False
    if prices.iterations:
        budget.prove(prices.bound)
    return True


def _prove(budget: Budget, bound: float, whole: bool) -> None:
    """Hand over a bound in floats; one that comes as near to the value as floats do closes the search."""
    slack = 1e-9 * (1.0 + abs(bound))
    if budget.value is not None and bound + slack >= budget.value:
        budget.prove(budget.value)
    else:
        budget.prove(math.ceil(bound - slack) if whole else bound - slack)


def _warm_up_search(problem: Allocation) -> None:
    budget = Stop().start(problem)
    structures = Structures(problem, pack := packing.apply(problem))
    _static(problem, pack, budget, np.random.default_rng(0))
    structures.charge(np.zeros(8))
    structures.prepare(1e6)  # as if nothing were known, so that all steps are taken
    structures.make_room(math.inf)
    while structures.grow(structures.state, _CHUNK) != DONE:
        pass
    best = structures.best(1e6, lambda: False)
    assert best is not None
    structures.across(7, 1e6, best.tail)
    owners(structures, best, packing.rows_of(problem, pack))
