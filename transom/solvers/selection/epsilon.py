"""The front of a selection with up to three objectives, by the epsilon-constraint method over search zones."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from transom.models.arrays import BoolArray, IntArray
from transom.models.selection import Selection
from transom.models.selection_reduction import ReducedSelection, reduce_selection
from transom.solvers.backends.native import import_back_end, run_deferred
from transom.solvers.selection.cpsat import maximise_cpsat
from transom.solvers.selection.judging_time import too_short
from transom.solvers.selection.program import Best, Program, maximise, relations
from transom.solvers.selection.zones import Zones
from transom.solving import presolve
from transom.stop import Budget, Stop

_OBJECTIVES = 3
_DIRECTIONS = {1: 0, 2: 16, 3: 6}  # weighted sums on each side of the simplex of weights to begin with
_BRIEF = 64  # nodes for each of them
_LEARNT = 0.1  # how much the last programme counts in how near the best usually is to the relaxation
_GROWTH = 0.2  # share of new points after which they are handed over


@dataclass(frozen=True, slots=True)
class Epsilon:
    r"""Maximise one objective with floors on the others, until the floors leave nothing out.

    What is not known yet lies in zones :math:`\{f : f > u\}`, one for each local lower bound :math:`u` of the points
    known. In one of them after the other, largest first,

    .. math:: \max f_1(x) \quad\text{s.t.}\quad f_k(x) \ge u_k + 1\ (k > 1),\ f_1(x) \ge u_1 + 1

    is solved to a proof: either it finds a point, which splits the zones that hold it, or the zone is empty. The front
    is complete when no zone is left; with three objectives of n points that takes 3 n programmes at most. Weighted
    sums in a few directions, solved by halves, are there before, so that an early answer is spread over the front.

    Parameters
    ----------
    by : what solves a programme: ``core``, a compiled branch and bound over relaxations with few rows, which begins
        where the last zone ended and leaves out jobs that reduced costs decide; or ``cpsat``. Both are exact. An
        iteration is a node or, of CP-SAT, a conflict.

    References
    ----------
    Haimes, Lasdon, Wismer, IEEE Transactions on Systems, Man, and Cybernetics 1 (1971). Klamroth, Lacour,
    Vanderpooten, On the representation of the search region in multi-objective optimization, European Journal of
    Operational Research 245 (2015), section 3. Dächert, Klamroth, A linear bound on the number of scalarizations
    needed to solve discrete tricriteria optimization problems, Journal of Global Optimization 61 (2015).
    """

    name: ClassVar[str] = "epsilon"
    solves: ClassVar[type] = Selection
    needs: ClassVar[tuple[str, ...]] = ("ortools", "moocore")

    by: Literal["core", "cpsat"] = "core"

    def supports(self, problem: Selection, /) -> str | None:
        """None if there are three objectives at most."""
        if (objectives := len(problem.terms)) > _OBJECTIVES:
            return f"it has {objectives} objectives, the epsilon-constraint method takes {_OBJECTIVES} at most"
        return None

    def warm_up(self) -> None:
        """Compile the kernels, import CP-SAT."""
        if self.by == "cpsat":
            import_back_end("ortools.sat.python.cp_model")
        _warm_up(self)
        run_deferred()

    def __call__(self, problem: Selection, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget) or too_short(problem, budget):
            return
        reduced = reduce_selection(problem)
        if reduced is None:
            budget.prove_infeasible()
            return
        sweep = _Sweep(problem, reduced, budget, self.by, int(rng.integers(2**31)))
        complete = not len(reduced.jobs) or (sweep.begin() and sweep.finish())
        sweep.hand_over()
        budget.notes["front"] = "complete" if complete else "not complete"
        budget.notes["programmes"] = sweep.programmes
        if complete and budget.value is not None:
            budget.prove(budget.value)
        else:
            budget.short(2 * sweep.reserve)


class _Sweep:
    """One run: the zones, and the points that have not been handed over."""

    def __init__(self, problem: Selection, reduced: ReducedSelection, budget: Budget, by: str, seed: int) -> None:
        self.programmes = 0
        self._problem, self._reduced, self._budget, self._by, self._seed = problem, reduced, budget, by, seed
        self._relations = relations(reduced.parents, reduced.demands, reduced.objectives)
        self._zones = Zones(problem.ceiling)
        self._waiting: list[BoolArray] = []
        self._known = 0
        self.reserve = 0.005
        if budget.solution is not None:
            for value in budget.solution.values:
                if budget.done():
                    break  # zones that are larger than need be are zones all the same
                self._zones.add(value)
        self._point(problem.greedy_complete(reduced.taken[None, :])[0])

    def begin(self) -> bool:
        """Points in a few directions; whether there is time left."""
        objectives = self._reduced.objectives
        limits, rows = self._reduced.room, np.ascontiguousarray(self._reduced.demands.T)
        for weights in _directions(objectives.shape[1], _DIRECTIONS[objectives.shape[1]]):
            # Weighted by what all jobs are worth, as whole numbers.
            totals = np.maximum(objectives.sum(axis=0), 1)
            unit = weights * (2.0**40 / totals)
            summed = np.rint(objectives @ unit).astype(np.int64)
            part = self._part(_BRIEF)
            best = maximise(Program(summed, rows, limits, self._relations), part)
            self._budget.spend(part.iterations)
            self._take(best)
            if self._over():
                return False
        self.hand_over()
        return not self._over()

    def finish(self) -> bool:
        """Empty the zones; whether that was possible."""
        reduced, zones = self._reduced, self._zones
        rows = np.ascontiguousarray(np.vstack((reduced.demands.T, -reduced.objectives[:, 1:].T)))
        first = np.ascontiguousarray(reduced.objectives[:, 0])
        basis: IntArray | None = None
        near: float | None = None
        while (zone := zones.largest()) is not None:
            if self._over():
                return False
            floors = zone.bound + 1 - reduced.base
            program = Program(first, rows, np.append(reduced.room, -floors[1:]), self._relations)
            part = self._part()
            above, enough = int(floors[0]) - 1, zone.most - int(reduced.base[0])
            if self._by == "core":
                best = maximise(program, part, above, enough, basis, None if near is None else math.ceil(near))
                basis = best.basis
                gap = best.root - best.bound
                near = gap if near is None else near + _LEARNT * (gap - near)
            else:
                best = maximise_cpsat(program, part, above, enough, self._seed)
            self.programmes += 1
            self._budget.spend(part.iterations)
            points = self._take(best)
            if not best.proved:
                return False
            zones.close(zone.bound, int(points[-1][0]) if points else int(zone.bound[0]))
        return True

    def hand_over(self) -> None:
        """Give the budget the points that it does not have."""
        if self._waiting:
            since = self._budget.seconds()
            self._budget.found(self._problem.front(np.array(self._waiting)))
            self._known += len(self._waiting)
            self._waiting = []
            self.reserve = max(self.reserve, 0.005 + 3 * (self._budget.seconds() - since))

    def _part(self, nodes: int | None = None) -> Budget:
        left, allowed = self._budget.seconds_left(), self._budget.iterations_left()
        stop = Stop(
            seconds=None if left == math.inf else max(1e-6, left - self.reserve),
            iterations=min((limit for limit in (nodes, allowed) if limit is not None), default=None),
        )
        return self._budget.nested(stop, self._problem)

    def _take(self, best: Best) -> list[IntArray]:
        return [self._point(self._reduced.selections(chosen[None, :])[0]) for chosen in best.found]

    def _point(self, selection: BoolArray) -> IntArray:
        chosen = self._problem.greedy_complete(selection[None, :])
        value: IntArray = self._problem.evaluate(chosen)[0]
        self._zones.add(value)
        self._waiting.append(chosen[0])
        if len(self._waiting) > 8 + _GROWTH * self._known:
            self.hand_over()
        return value

    def _over(self) -> bool:
        return self._budget.done() or self._budget.short(self.reserve)


def _directions(objectives: int, steps: int) -> list[IntArray]:
    """Weights on a grid over the simplex, each of shape ``(objectives,)``, corners first."""
    if objectives == 1 or steps == 0:
        return []
    grid = np.array([w for w in np.ndindex(*(steps + 1,) * objectives) if sum(w) == steps])
    return list(grid[np.argsort(-grid.max(axis=1), kind="stable")])


@cache
def _warm_up(solver: Epsilon) -> None:
    demands = np.array([[5, 3, 1], [4, 4, 2], [3, 6, 3], [2, 1, 5], [3, 6, 3]])
    for objectives in (2, 3):
        problem = Selection(demands, np.array([9, 9, 9]), demands[:, :objectives])
        solver(problem, Stop().start(problem), np.random.default_rng(0))
    plain = replace(problem, requires=((0, 1),))
    solver(plain, Stop().start(plain), np.random.default_rng(0))
