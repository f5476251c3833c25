"""CP-SAT on joint choices: which jobs start, and how many nodes each takes below each switch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from transom import registry
from transom._system.collector import collector_paused
from transom.models.arrays import IntArray
from transom.models.joint import Joint
from transom.solvers.backends.cpsat import Scale, scaled, search_cpsat
from transom.solvers.backends.native import defer_destructors, import_back_end, run_deferred
from transom.solvers.joint.bound import joint_bound
from transom.solving import presolve
from transom.stop import Budget

_AT_LEAST = 2e-6  # what a binary of the model takes to make [s]


@dataclass(frozen=True, slots=True)
class JointCpSat:
    r"""Binaries "job j starts" and "job j takes v nodes below switch u"; the value is linear in them.

    .. math:: a_{ju} = \sum_v v\, x_{juv}, \quad \sum_v x_{juv} \le s_j, \quad \sum_{u' \text{ below } u} a_{ju'} =
              a_{ju}, \quad \sum_{\text{leaves}} a_{ju} = n_j s_j, \quad \sum_j a_{ju} \le \text{idle}_u

    so that the pairs of nodes that share a switch, :math:`\binom{a_{ju}}{2}`, are linear. Idle nodes below one leaf
    switch are one number, never told apart. A leaf limit bounds the sum of a job's binaries of leaf switches. Costs
    that are rounded down are modelled as such. Of jobs that are alike the first ones start.

    The greedy answer comes first and is the hint, a bound by a fractional knapsack before the model's. An iteration is
    a conflict; ``stall`` does not apply. Where there is no time to build the model, answer and bound are these two.

    References
    ----------
    Perron and Didier, CP-SAT, in OR-Tools (2024).
    """

    name: ClassVar[str] = "joint-cpsat"
    solves: ClassVar[type] = Joint
    needs: ClassVar[tuple[str, ...]] = ("ortools",)

    def supports(self, problem: Joint, /) -> str | None:
        """Every joint choice."""
        return None

    def warm_up(self) -> None:
        """Import OR-Tools and compile the kernels of the greedy answer."""
        import_back_end("ortools.sat.python.cp_model")
        registry.make(registry.SOLVERS, "joint-greedy", Joint).warm_up()
        run_deferred()

    def __call__(self, problem: Joint, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget):
            return
        if start is not None:
            budget.found(start)
        registry.make(registry.SOLVERS, "joint-greedy", Joint)(problem, budget, rng)
        bound = joint_bound(problem)
        budget.prove(bound if budget.value is None else max(bound, budget.value))
        if budget.done():
            return
        _, first, leaf = np.unique(problem.levels[0], return_index=True, return_inverse=True)
        idle = np.bincount(leaf)
        binaries = int(np.minimum.outer(problem.sizes, idle).sum()) * len(problem.levels)
        if budget.short(binaries * _AT_LEAST):
            budget.notes["ended"] = f"a model of {binaries} binaries takes longer to build than there is time"
            return
        with collector_paused():
            model = _Model(problem, problem.levels[:, first], idle)
            built = model.build(budget)
        if built is None or budget.done():
            return  # building the model counts
        proto, taken, scale = built

        def read(values: IntArray) -> IntArray:
            counts = np.zeros((len(problem), len(idle)), np.int64)
            np.add.at(counts, (taken.job, taken.leaf), taken.amount * values[taken.variable])
            return _owners(leaf, counts)

        search_cpsat(proto, budget, int(rng.integers(2**31)), read, scale, probing=False)


class _Taken(NamedTuple):
    """The binaries of leaf switches."""

    variable: IntArray
    job: IntArray
    leaf: IntArray
    amount: IntArray


def _owners(leaf: IntArray, counts: IntArray) -> IntArray:
    """The solution with these counts by job and leaf switch."""
    owner = np.full(len(leaf), -1)
    order = np.argsort(leaf, kind="stable")
    begin = 0
    for at, idle in enumerate(np.bincount(leaf).tolist()):
        taken = np.repeat(np.arange(len(counts)), counts[:, at])
        owner[order[begin : begin + len(taken)]] = taken
        begin += idle
    return owner


class _Model:
    """The model in the making."""

    def __init__(self, problem: Joint, levels: IntArray, idle: IntArray) -> None:
        from ortools.sat.python import cp_model

        self.problem, self.idle = problem, idle
        self.levels = np.array([np.unique(level, return_inverse=True)[1] for level in levels])
        self.cp, self.model = cp_model, cp_model.CpModel()
        self.taken: list[tuple[int, int, int, int]] = []
        self.starts: list[Any] = []
        self.amounts: list[list[Any]] = []  # by job and leaf switch
        self.saved: list[Any] = []
        defer_destructors(self.model, self.taken, self.starts, self.amounts, self.saved)

    def build(self, budget: Budget) -> tuple[Any, _Taken, Scale] | None:
        """The model, what its variables mean, and its objective's; None when there is too little time for it."""
        began, problem, model = budget.seconds(), self.problem, self.model
        for job in range(len(problem)):
            self._add_job(job)
            if budget.done():
                return None
        if budget.short(budget.seconds() - began):
            # What remains takes nearly as long again, in a few calls that do not look at the clock.
            budget.notes["ended"] = "the model takes longer to build than there is time"
            return None
        for at, free in enumerate(self.idle.tolist()):
            model.add(self.cp.LinearExpr.sum([of[at] for of in self.amounts]) <= free)
        for job in problem.mandatory.tolist():
            model.add(self.starts[job] == 1)
        rows = np.column_stack((problem.sizes, problem.weights, problem.limits, problem.must)).tolist()
        last: dict[tuple[int, ...], int] = {}
        for job, row in enumerate(rows):
            if tuple(row) in last:
                model.add(self.starts[last[tuple(row)]] >= self.starts[job])
            last[tuple(row)] = job
        if budget.solution is not None:
            self._hint(np.asarray(budget.solution), rows)
        return model, _Taken(*np.array(self.taken, np.int64).reshape(-1, 4).T), self._objective()

    def _add_job(self, job: int) -> None:
        size, model = int(self.problem.sizes[job]), self.model
        total = self.cp.LinearExpr.sum
        start = model.new_bool_var("")
        self.starts.append(start)
        saves: list[Any] = []
        leaves: list[list[Any]] = []
        below: list[Any] = []
        for number, (level, worth) in enumerate(zip(self.levels, self.problem.savings.tolist(), strict=True)):
            if number and (size == 1 or not worth):
                continue
            idle = np.bincount(level, self.idle).astype(np.int64).tolist()
            for switch, free in enumerate(idle):
                takes = [model.new_bool_var("") for _ in range(min(size, free))]
                model.add(total(takes) <= start)
                counts = list(range(1, len(takes) + 1))
                amount = self.cp.LinearExpr.weighted_sum(takes, counts)
                saves.append(self.cp.LinearExpr.weighted_sum(takes, [worth * (v * (v - 1) // 2) for v in counts]))
                if number:
                    model.add(total([below[leaf] for leaf in np.flatnonzero(level == switch).tolist()]) == amount)
                else:
                    below.append(amount)
                    leaves.append(takes)
                    self.taken.extend((take.index, job, switch, v) for v, take in enumerate(takes, 1))
        model.add(total(below) == size * start)
        if self.problem.leaf_limits is not None:
            model.add(total([take for takes in leaves for take in takes]) <= int(self.problem.limits[job]))
        self.amounts.append(below)
        self.saved.append(total(saves))

    def _hint(self, owner: IntArray, rows: list[list[int]]) -> None:
        """Hint which jobs start, of jobs that are alike the first ones."""
        started = np.isin(np.arange(len(rows)), owner)
        order = sorted(range(len(rows)), key=lambda job: (rows[job], job))
        first = sorted(range(len(rows)), key=lambda job: (rows[job], not started[job], job))
        for job, like in zip(order, first, strict=True):
            self.model.add_hint(self.starts[job], bool(started[like]))

    def _objective(self) -> Scale:
        """Minimise weighted costs less weights, in whole numbers."""
        problem = self.problem
        other, _, _, c, floored = problem.hop_weights.tolist()
        sizes = problem.sizes.tolist()
        hops = [other * (size * (size - 1) // 2) for size in sizes]
        terms: list[Any] = []
        for start, size, most, saved in zip(self.starts, sizes, hops, self.saved, strict=True):
            if not floored or size < 2 or not problem.cost_weight:
                terms.append(most * start - saved)
                continue
            cost = self.model.new_int_var(0, max(1, c * most // size), "")
            self.model.add(size * cost + c * saved >= (c * most - size + 1) * start)
            self.model.add(cost >= start)
            terms.append(cost)
        most = [max(1, c * all_ // size) if floored else all_ for all_, size in zip(hops, sizes, strict=True)]
        each = [problem.cost_weight * (1 if floored else c / size) * (size > 1) for size in sizes]
        # A decimal weight is a fraction of few digits: with its denominator coefficients become whole.
        fine = Fraction(repr(problem.cost_weight)).denominator
        fine = fine if fine <= 10**6 else 1
        table = fine * np.array([*each, *(-problem.weights).tolist()], float)[:, None]
        pieces = np.array([*most, *([1] * len(sizes))], np.int64)
        whole, scale = scaled(table, pieces, problem.sizes, problem.whole)
        factors = whole[:, 0].tolist()
        self.model.minimize(
            self.cp.LinearExpr.sum([f * term for f, term in zip(factors, [*terms, *self.starts], strict=True)])
        )
        return replace(scale, unit=scale.unit / fine, error=scale.error / fine, negated=True)
