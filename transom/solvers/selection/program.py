"""The best selection for one objective under few constraints: data, exact, for any back end."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from transom._system.records import record
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.models.selection_reduction import among
from transom.solvers.selection import branching
from transom.solvers.selection.linear_program import Tableau, rebuild
from transom.solvers.selection.tree import search
from transom.stop import Budget

_SECONDS = 0.004  # between two looks at the clock
_ENTRIES = 100_000  # of tableaus before the first look at the clock
_DIVES = 8  # short searches after each stage of the long one, and by how much their objectives differ
_BENT = 0.2
_FLAT = 1e-7
_FEW = 18  # free variables from which on all choices are gone through: 2**18 take some milliseconds
_FIRST = 64  # nodes after which what is decided at the root leaves the problem


@dataclass(frozen=True, eq=False, slots=True)
class Relations:
    """Which variables are at most as large as which others.

    Parameters
    ----------
    needs : ``needs[j, i]`` says that a solution has :math:`x_j \\le x_i`; closed, bool, shape ``(n, n)``.
    order : the same, and of variables that are alike the earlier one comes first, so that only one of many equal
        solutions is looked for; closed, bool, shape ``(n, n)``.
    pairs : pairs ``(j, i)`` from which ``order`` follows, shape ``(any, 2)``.
    """

    needs: BoolArray
    order: BoolArray
    pairs: IntArray

    def among(self, kept: IntArray) -> Relations:
        """The relations of some variables, without the pairs."""
        return Relations(among(self.needs, kept), among(self.order, kept), np.empty((0, 2), np.int64))


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    r"""Choices :math:`x \in \{0, 1\}^n` with the largest :math:`w \cdot x` where :math:`A x \le b`.

    Parameters
    ----------
    weights : :math:`w`, int64, >= 0, with a sum below 2**62, shape ``(n,)``.
    rows : :math:`A`, int64, shape ``(m, n)``.
    limits : :math:`b`, int64, may be negative, shape ``(m,)``.
    relations : what else holds.
    """

    weights: IntArray
    rows: IntArray
    limits: IntArray
    relations: Relations


@dataclass(frozen=True, eq=False, slots=True)
class Best:
    """What is known about a program.

    Parameters
    ----------
    found : choices, each better than the one before, the best one last, bool, each of shape ``(n,)``; none where
        nothing above what was asked for is known.
    bound : no choice is worth more.
    proved : whether nothing better than the best (or than what was asked for) is left.
    basis : where the relaxation at the root ended, for a program that differs in its limits only.
    root : the bound at the root.
    """

    found: tuple[BoolArray, ...]
    bound: int
    proved: bool
    basis: IntArray | None = None
    root: int = 0


def relations(parents: BoolArray, *columns: IntArray) -> Relations:
    """Which job needs which, and which of jobs that are alike in everything is taken first: the earlier one.

    Parameters
    ----------
    parents : which job requires which, shape ``(n, n)``.
    columns : what the jobs are, each of shape ``(n, any)``.
    """
    needs = parents.copy()
    pairs: list[list[int]] = []
    alone: BoolArray = np.ones(len(parents), bool)
    while needs.any():
        more = needs | (needs.astype(np.float32) @ needs.astype(np.float32) > 0)
        if (more == needs).all():
            break
        needs = more
    if needs.any():
        alone = ~(np.any(needs, axis=0) | np.any(needs, axis=1))
        pairs = np.argwhere(parents).tolist()
    order = needs.copy()
    alike: dict[bytes, list[int]] = {}
    table = np.ascontiguousarray(np.hstack(columns))
    for job in np.flatnonzero(alone).tolist():
        earlier = alike.setdefault(table[job].tobytes(), [])
        if earlier:
            order[job, earlier] = True
            pairs.append([job, earlier[-1]])
        earlier.append(job)
    return Relations(needs, order, np.array(pairs, np.int64).reshape(-1, 2))


def maximise(
    program: Program,
    budget: Budget,
    above: int = -1,
    enough: int | None = None,
    basis: IntArray | None = None,
    near: int | None = None,
) -> Best:
    """Solve a program by branch and bound over relaxations with few rows; an iteration is a node.

    Parameters
    ----------
    above : only choices worth more are looked for.
    enough : no choice is worth more, as is known.
    basis : where a relaxation with the same weights and rows ended.
    near : how far below the bound at the root the best is likely to be. What is nearer is searched first, with all
        that is farther cut off; then twice as far, and so on. By default nothing is cut off.
    """
    most = int(program.weights.sum()) if enough is None else enough
    unit = max(1, int(np.gcd.reduce(program.weights)))
    best = _maximised(_divided(program, unit), budget, above // unit, most // unit, basis, near and near // unit)
    value = int(program.weights @ best.found[-1]) if best.found else above
    return replace(best, bound=max(value, best.bound * unit), root=best.root * unit)


def _divided(program: Program, unit: int) -> Program:
    """The same with what all numbers of a row have in common divided out; limits are rounded down."""
    common = np.maximum(np.gcd.reduce(program.rows, axis=1), 1)
    if unit == 1 and (common == 1).all():
        return program
    return replace(
        program, weights=program.weights // unit, rows=program.rows // common[:, None], limits=program.limits // common
    )


def _maximised(
    program: Program, budget: Budget, above: int, most: int, basis: IntArray | None, near: int | None
) -> Best:
    root = _Search(program, above, most, basis)
    finished = root.run(budget, 1)
    basis = root.basis.copy()
    gap = most if near is None else max(1, near)
    if finished or root.found or near is None or root.bound - gap <= above:
        return _searched(root, budget, above, most, finished, basis)
    top = root.bound
    while not budget.done():
        target = max(above, top - gap)
        best = _searched(_Search(program, target, most, basis), budget, target, most, False, basis)
        if best.found or not best.proved or target == above:
            return replace(best, root=top)
        most, gap = min(most, target), 2 * gap
    return Best((), most, False, basis, top)


def _searched(search: _Search, budget: Budget, above: int, most: int, finished: bool, basis: IntArray) -> Best:
    """Search to the end; a search begins again with what is left where a better solution decides more at the root.

    Where the prices say nothing about most of the variables, as where the objective is what a limit is on, a search
    in one order is easily lost: by turns there are short ones whose relaxations are led by other objectives.
    """
    program, top = search.program, search
    found = list(search.found)
    outer: list[_Search] = []
    nodes, dives, value = _FIRST, 0, above
    while not finished and not budget.done():
        known = len(search.found)
        finished = search.run(budget, nodes)
        for chosen in search.found[known:]:
            for wider in reversed(outer):
                chosen = wider.widened(chosen)
            found.append(chosen)
        better = len(search.found) > known
        for _ in range(_DIVES if search.flat and not finished else 0):
            dives += 1
            value = int(program.weights @ found[-1]) if found else above
            guide = 1 + _BENT * np.random.default_rng(dives).random(len(program.weights))
            dive = _Search(program, value, most, None, guide)
            finished = dive.run(budget, max(_FIRST // 4, nodes // _DIVES))
            found += dive.found
            if finished or budget.done():
                break
            if dive.found:
                top.raise_to(int(program.weights @ found[-1]))
                search, outer, better = top, [], True
        nodes *= 4
        if not finished and (better or not outer):
            outer.append(search)
            search = search.core()
    value = int(program.weights @ found[-1]) if found else above
    bound = value if finished else max(value, min(most, top.bound))
    return Best(tuple(found), bound, finished, basis, top.bound)


class _Search:
    """The arrays of one search (:func:`transom.solvers.selection.tree.search`)."""

    def __init__(
        self,
        program: Program,
        above: int,
        enough: int,
        basis: IntArray | None,
        guide: FloatArray | None = None,
    ) -> None:
        m, n = program.rows.shape
        self.program = program
        self.enough = enough
        self.found: list[BoolArray] = []
        shift = _shifts(np.abs(program.rows).max(axis=1, initial=0))
        unit = float(_shifts(program.weights.max(initial=0)[None])[0])
        scaled = program.weights / unit
        # What relaxations maximise beside it; bounds are always about the first.
        both = np.vstack((scaled, scaled if guide is None else scaled * guide))
        self._scaled = branching.Scaled(program.rows / shift[:, None], program.limits / shift, both, unit)
        self._rows = branching.Rows(program.rows, program.limits, program.weights)
        needs, order = program.relations.needs, program.relations.order
        self._order = branching.Order(needs, order, bool(order.any()))
        self.basis = np.arange(n, n + m) if basis is None else basis.copy()
        place = np.empty(n + m, np.int64)
        self._tableau = Tableau(np.empty((m + 1, n + m)), self.basis, place, np.zeros(n), np.zeros(m))
        self._now = record(branching.Progress)
        self._now.best, self._now.enough, self._now.root, self._now.few = above, enough, enough, _FEW
        trail, branches = np.zeros(n, np.int64), np.zeros((n + 1, 3), np.int64)
        self._branching = branching.Branching(
            self._now, np.full(n, -1, np.int64), trail, branches, np.zeros(n, np.int8)
        )
        self._nodes = min(16, max(1, _ENTRIES // self._tableau.table.size))
        rebuild(self._tableau, self._scaled.rows, both[1])

    def run(self, budget: Budget, nodes: int | None = None) -> bool:
        """Search until the end, until the budget is done or for so many nodes; whether it is at its end."""
        left = math.inf if nodes is None else nodes
        while True:
            allowed = budget.iterations_left()
            share = int(min(left, self._nodes, math.inf if allowed is None else allowed))
            before, since = int(self._now.nodes), budget.seconds()
            why = search(self._branching, self._tableau, self._rows, self._scaled, self._order, share)
            spent = int(self._now.nodes) - before
            budget.spend(spent)
            if self._now.found:
                self._now.found = False
                self.found.append(self._branching.best.astype(bool))
            if why == branching.FINISHED:
                return True
            left -= spent
            if left <= 0 or budget.done():
                return False
            if spent == self._nodes:
                took = max(budget.seconds() - since, 1e-6)
                self._nodes = int(min(max(1, self._nodes * _SECONDS / took), 4 * self._nodes, 20_000))

    @property
    def bound(self) -> int:
        """A bound that holds for everything, from the relaxation at the root."""
        return int(self._now.root)

    @property
    def flat(self) -> bool:
        """Whether the prices say nothing about most of the variables."""
        reduced = self._tableau.table[-1, : len(self._branching.best)]
        return int((np.abs(reduced) < _FLAT).sum()) > len(reduced) // 2

    def raise_to(self, value: int) -> None:
        """Look only for what is worth more."""
        self._now.best = max(value, int(self._now.best))

    def decided(self) -> int:
        """How many variables are fixed at the root."""
        return int(self._branching.branches[0, 2] if self._now.depth else self._now.decided)

    def core(self) -> _Search:
        """A search for something better, among what is not decided at the root."""
        fixed = np.full(len(self._branching.fixed), -1)
        known = self._branching.trail[: self.decided()]
        fixed[known] = self._branching.fixed[known]
        self._open = np.flatnonzero(fixed < 0)
        self._taken = fixed == 1
        program, base = self.program, int(self.program.weights[self._taken].sum())
        inner = Program(
            weights=np.ascontiguousarray(program.weights[self._open]),
            rows=np.ascontiguousarray(program.rows[:, self._open]),
            limits=program.limits - program.rows[:, self._taken].sum(axis=1),
            relations=program.relations.among(self._open),
        )
        return _Search(inner, int(self._now.best) - base, self.enough - base, None)

    def widened(self, chosen: BoolArray) -> BoolArray:
        """A choice of the core as one of all."""
        whole: BoolArray = self._taken.copy()
        whole[self._open] = chosen
        return whole


def _shifts(largest: IntArray) -> FloatArray:
    """Powers of two that are at least as large: division by them is exact."""
    return np.exp2(np.ceil(np.log2(np.maximum(largest, 1).astype(np.float64))))
