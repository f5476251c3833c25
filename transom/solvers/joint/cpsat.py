"""CP-SAT on joint choices: which jobs start, and how many nodes each takes below each switch."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from transom import registry
from transom._system.collector import collector_paused
from transom.models.arrays import FloatArray, IntArray
from transom.models.fat_tree import FatTree
from transom.models.joint import Joint
from transom.solvers.backends.cpsat import Scale, scaled, search_cpsat
from transom.solvers.backends.native import defer_destructors, import_back_end, run_deferred
from transom.solvers.joint.bound import joint_bound
from transom.solvers.joint.prices import Losses, Prices
from transom.solvers.joint.tree import Tree
from transom.solving import TakesAll, presolve
from transom.stop import Budget, Stop

_AT_LEAST = 2e-6  # what a binary of the model takes to make [s]
_BUILD = 1e-5  # what a leaf switch of the tree takes [s]
_PRICES = 0.4  # share of the time for prices
_SEARCH = 0.4  # of what is left then for local search
_STEPS = 2000  # of it at most
_FURTHER = 0.7  # of what is left, where it is too short for the model
_MOST = 400  # price steps
_ROUND = 20  # price steps between two roundings
_TIES = 1e-9  # losses beyond the gap by less, in relative terms, may be rounding


@dataclass(frozen=True, slots=True)
class JointCpSat(TakesAll):
    r"""Binaries "job j starts" and "job j takes v nodes below switch u"; the value is linear in them.

    .. math:: a_{ju} = \sum_v v\, x_{juv}, \quad \sum_v x_{juv} \le s_j, \quad \sum_{u' \text{ below } u} a_{ju'} =
              a_{ju}, \quad \sum_{\text{leaves}} a_{ju} = n_j s_j, \quad \sum_j a_{ju} \le \text{idle}_u

    so that the pairs of nodes that share a switch, :math:`\binom{a_{ju}}{2}`, are linear. Idle nodes below one leaf
    switch are one number, never distinguished. A leaf limit bounds the sum of a job's binaries of leaf switches. Costs
    that are rounded down are modelled as such.

    Before that: the greedy answer, the bound by a fractional knapsack, prices on leaf switches
    (:class:`~transom.solvers.joint.prices.Prices`) and a short local search. Binaries with which no solution can be
    better than the best one known, by their reduced costs, are not made. Symmetry is broken among jobs that are alike
    (the first ones start and save more), and among switches that are (the largest job takes more nodes below the first
    ones). The best solution is the hint. An iteration is a conflict; ``stall`` does not apply. Where there is no time
    to build the model, prices and search go on.

    References
    ----------
    Perron and Didier, CP-SAT, in OR-Tools (2024).
    """

    name: ClassVar[str] = "joint-cpsat"
    solves: ClassVar[type] = Joint
    needs: ClassVar[tuple[str, ...]] = ("ortools",)

    def warm_up(self) -> None:
        """Import OR-Tools and compile the kernels of the greedy answer, the search and the prices."""
        import_back_end("ortools.sat.python.cp_model")
        for solver in ("joint-greedy", "joint-search"):
            registry.make(registry.SOLVERS, solver, Joint).warm_up()
        posed = Joint(FatTree.k_ary(4), np.arange(9), np.array([3, 3, 2]), np.array([9, 8, 7]), 1e-3,
                      leaf_limits=np.array([2, 3, 1]))  # fmt: skip
        prices = Prices(posed)
        prices.state.tolls[:] = 1.0
        prices.step(0.0, lambda: False)
        prices.rounded()
        prices.losses(lambda: False)
        run_deferred()

    def __call__(self, problem: Joint, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget):
            return
        if start is not None:
            budget.found(start)
        registry.make(registry.SOLVERS, "joint-greedy", Joint)(problem, budget, rng)
        bound, price = joint_bound(problem)
        _prove(budget, bound if len(problem.idle) else 0.0)
        if budget.done() or not len(problem.idle):
            return
        if budget.short(_BUILD * len(problem.idle)):
            _search(problem, budget, 1.0)
            return
        prices = Prices(problem)
        prices.begin(price)
        _descend(prices, budget, _PRICES)
        _search(problem, budget, _SEARCH)
        timely = prices.least < math.inf and not budget.done() and not budget.short(3 * prices.seconds)
        losses = prices.losses(budget.done) if timely else None
        if losses is None or budget.done():
            _search(problem, budget, 1.0)
            return
        with collector_paused():
            model = _Model(problem, prices.tree, losses, budget.value)
            if budget.short(model.binaries * _AT_LEAST):
                budget.notes["ended"] = f"a model of {model.binaries} binaries takes longer to build than there is time"
                _descend(prices, budget, _FURTHER)
                _search(problem, budget, 1.0)
                return
            built = model.build(budget, prices.leaf)
        if built is None or budget.done():
            _search(problem, budget, 1.0)
            return  # building the model counts
        proto, taken, scale = built

        def read(values: IntArray) -> IntArray:
            counts = np.zeros((len(problem), int(prices.leaf.max()) + 1), np.int64)
            np.add.at(counts, (taken.job, taken.leaf), taken.amount * values[taken.variable])
            return _owners(prices.leaf, counts)

        search_cpsat(proto, budget, int(rng.integers(2**31)), read, scale, probing=False)


def _prove(budget: Budget, bound: float) -> None:
    """Hand over a bound; rounding may take it below the value by a little."""
    budget.prove(bound if budget.value is None else max(bound, budget.value))


def _search(problem: Joint, budget: Budget, share: float) -> None:
    """A better answer, to aim at or where there is nothing else to do, in a share of the time."""
    if budget.done():
        return
    seconds = share * budget.seconds_left()
    limit = Stop(seconds=seconds if math.isfinite(seconds) else None, iterations=_STEPS if share < 1 else None)
    part = budget.nested(limit, problem)
    registry.make(registry.SOLVERS, "joint-search", Joint)(problem, part, np.random.default_rng(0), budget.solution)
    budget.found(part.solution)


def _descend(prices: Prices, budget: Budget, share: float) -> None:
    """Lower the dual value for a share of the time; now and then jobs take their choices one after another."""
    problem, left = prices.problem, budget.seconds_left()
    end = budget.seconds() + share * left if math.isfinite(left) else math.inf
    # Without a solution: less than any is worth.
    nothing = -float(np.abs(prices.kinds.weights).sum() + np.abs(prices.kinds.base).sum())
    for step in range(_MOST):
        # What follows the steps takes as long as some of them.
        if budget.done() or budget.seconds() > end or budget.short(3 * prices.seconds):
            return
        more = prices.step(nothing if budget.value is None else budget.value, budget.done)
        if prices.least < math.inf:
            _prove(budget, prices.bound)
        if step % _ROUND == 0 and prices.evaluated and not budget.done() and not budget.short(2 * prices.seconds):
            owner = _owners(prices.leaf, prices.rounded())
            if not problem.violations(owner):
                budget.found(owner)
        if not more:
            return


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
    """The model in the making: without what loses more than the gap between the best value known and the bound."""

    def __init__(self, problem: Joint, tree: Tree, losses: Losses, value: float | None) -> None:
        from ortools.sat.python import cp_model

        self.problem, self.tree = problem, tree
        self.cp, self.model = cp_model, cp_model.CpModel()
        gap = math.inf if value is None else losses.value - value
        self._gap = gap + _TIES * (1.0 + abs(losses.value) + float(np.abs(problem.weights).max()))
        self._losses = losses
        self._open = (losses.kind >= 0) & (losses.starts <= self._gap)
        self._leaves = _leaves(tree)
        self.binaries = sum(int(self._allowed(job)[:, 1:].sum()) for job in np.flatnonzero(self._open).tolist())
        self.taken: list[tuple[int, int, int, int]] = []
        self.starts: list[Any] = []
        self.amounts: list[dict[int, Any]] = []  # by job and switch
        self.takes: list[list[tuple[int, int, Any]]] = []  # switch, nodes and binary of each job
        self.saved: list[Any] = []
        defer_destructors(self.model, self.taken, self.starts, self.amounts, self.takes, self.saved)

    def _allowed(self, job: int) -> Any:
        """Whether a better solution may give the job so many nodes below each switch, shape ``(V, nodes + 1)``."""
        below: FloatArray = self._losses.below[int(self._losses.kind[job])]
        return below + self._losses.starts[job] <= self._gap

    def build(self, budget: Budget, leaf: IntArray) -> tuple[Any, _Taken, Scale] | None:
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
        for v in np.flatnonzero(self.tree.leaf >= 0).tolist():
            used = [of[v] for of in self.amounts if v in of]
            model.add(self.cp.LinearExpr.sum(used) <= int(self.tree.room[v]))
        rows = list(
            map(tuple, np.column_stack((problem.sizes, problem.weights, problem.limits, problem.must)).tolist())
        )
        last: dict[tuple[int, ...], int] = {}
        for job, row in enumerate(rows):
            if row in last:
                model.add(self.starts[last[row]] >= self.starts[job])
                model.add(self.saved[last[row]] >= self.saved[job])
            last[row] = job
        largest = int(np.where(self._open, problem.sizes, 0).argmax())
        if self._open[largest]:
            for one, other in self._alike():
                model.add(self._amount(largest, one) >= self._amount(largest, other))
        if budget.solution is not None:
            self._hint(np.asarray(budget.solution), leaf, rows, largest)
        return model, _Taken(*np.array(self.taken, np.int64).reshape(-1, 4).T), self._objective()

    def _alike(self) -> list[tuple[int, int]]:
        """Switches that look alike below one parent, each with the next one."""
        groups: dict[tuple[int, int], list[int]] = {}
        for v, key in enumerate(zip(self.tree.parent.tolist(), self.tree.form.tolist(), strict=True)):
            groups.setdefault(key, []).append(v)
        return [pair for group in groups.values() for pair in pairwise(group)]

    def _amount(self, job: int, switch: int) -> Any:
        amounts = self.amounts[job]
        return self.cp.LinearExpr.sum([amounts[leaf] for leaf in self._leaves[switch] if leaf in amounts])

    def _add_job(self, job: int) -> None:
        size, model, tree = int(self.problem.sizes[job]), self.model, self.tree
        total = self.cp.LinearExpr.sum
        start = model.new_bool_var("")
        self.starts.append(start)
        amounts: dict[int, Any] = {}
        saves: list[Any] = []
        spans: list[Any] = []
        self.takes.append([])
        self.amounts.append(amounts)
        if self._losses.waits[job] > self._gap or self.problem.must[job]:
            model.add(start == 1)
        if not self._open[job]:
            model.add(start == 0)
            self.saved.append(total([]))
            return
        allowed = self._allowed(job)
        for v in range(len(tree.room)):
            is_leaf = tree.leaf[v] >= 0
            if not is_leaf and (size == 1 or not tree.saves[v]):
                continue
            counts = (1 + np.flatnonzero(allowed[v, 1 : int(tree.room[v]) + 1])).tolist()
            if not is_leaf or counts:
                takes = [model.new_bool_var("") for _ in counts]
                model.add(total(takes) <= start if allowed[v, 0] else total(takes) == start)
                amount = self.cp.LinearExpr.weighted_sum(takes, counts)
                saved = int(tree.saves[v])
                saves.append(self.cp.LinearExpr.weighted_sum(takes, [saved * (n * (n - 1) // 2) for n in counts]))
                self.takes[-1].extend((v, n, take) for n, take in zip(counts, takes, strict=True))
                if is_leaf:
                    amounts[v] = amount
                    spans += takes
                    at = int(tree.leaf[v])
                    self.taken.extend((take.index, job, at, n) for n, take in zip(counts, takes, strict=True))
                else:
                    model.add(self._amount(job, v) == amount)
            elif not allowed[v, 0]:
                model.add(start == 0)
        model.add(total(list(amounts.values())) == size * start)
        if self.problem.leaf_limits is not None:
            model.add(total(spans) <= int(self.problem.limits[job]))
        self.saved.append(total(saves))

    def _hint(self, owner: IntArray, leaf: IntArray, rows: list[tuple[int, ...]], largest: int) -> None:
        """Hint a solution after its jobs and switches that are alike have been put into the model's order."""
        tree, counts = self.tree, np.zeros((len(rows), int(leaf.max()) + 1), np.int64)
        np.add.at(counts, (owner[owner >= 0], leaf[owner >= 0]), 1)
        nodes = np.zeros((len(rows), len(tree.room)), np.int64)
        nodes[:, tree.leaf >= 0] = counts[:, tree.leaf[tree.leaf >= 0]]
        for v in range(len(tree.room) - 1):
            nodes[:, tree.parent[v]] += nodes[:, v]
        saved = (nodes * (nodes - 1) // 2) @ tree.saves
        order = sorted(range(len(rows)), key=lambda job: (rows[job], job))
        first = sorted(range(len(rows)), key=lambda job: (rows[job], nodes[job, -1] == 0, -saved[job], job))
        nodes[order] = nodes[first]
        came = self._came(nodes[largest])
        for job, takes in enumerate(self.takes):
            self.model.add_hint(self.starts[job], bool(nodes[job, -1]))
            for v, amount, take in takes:
                self.model.add_hint(take, bool(nodes[job, came[v]] == amount))

    def _came(self, nodes: IntArray) -> IntArray:
        """For each switch the one whose nodes it gets, so that of those that are alike the first ones have more."""
        came = np.arange(len(nodes))
        children: dict[int, list[int]] = {}
        for v, up in enumerate(self.tree.parent.tolist()):
            children.setdefault(up, []).append(v)
        for v in range(len(nodes) - 1, -1, -1):  # parents first: each is filled with the children of the one it gets
            groups: dict[int, tuple[list[int], list[int]]] = {}
            for side, up in enumerate((v, int(came[v]))):
                for child in children.get(up, []):
                    groups.setdefault(int(self.tree.form[child]), ([], []))[side].append(child)
            for mine, theirs in groups.values():
                came[mine] = sorted(theirs, key=lambda child: -int(nodes[child]))
        return came

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


def _leaves(tree: Tree) -> list[list[int]]:
    """The leaf switches below each switch."""
    below: list[list[int]] = [[v] if leaf >= 0 else [] for v, leaf in enumerate(tree.leaf.tolist())]
    for v, up in enumerate(tree.parent.tolist()):
        if up >= 0:
            below[up] += below[v]
    return below
