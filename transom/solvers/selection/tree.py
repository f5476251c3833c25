"""A compiled branch and bound for the best selection under few constraints (:mod:`transom.solvers.selection.program`).

Depth first, relaxation by relaxation (:mod:`transom.solvers.selection.linear_program`). Bounds are floats that hold,
rounding included; solutions are checked and valued in integers. The search can be left after any node: all it knows is
in its arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom._system.sorting import put
from transom.models.arrays import BoolArray, FloatArray, IntArray, SmallArray
from transom.solvers.selection.linear_program import (
    GIVEN_UP,
    INFEASIBLE,
    OPTIMAL,
    Tableau,
    cannot_be_met,
    rebuild,
    relax,
    safe_bound,
)


class Rows(NamedTuple):
    """The program: most ``weights @ x`` where ``exact @ x <= limits``, int64, shapes ``(n,)``, ``(m, n)``, ``(m,)``."""

    exact: IntArray
    limits: IntArray
    weights: IntArray


class Scaled(NamedTuple):
    """The same for relaxations, rows, limits and weights scaled to at most 1.

    Parameters
    ----------
    rows, limits : shapes ``(m, n)`` and ``(m,)``.
    weights : the weights, and what relaxations maximise instead, shape ``(2, n)``.
    unit : what the weights were divided by.
    """

    rows: FloatArray
    limits: FloatArray
    weights: FloatArray
    unit: float


class Order(NamedTuple):
    """Which variable is at most which other, closed, bool, shape ``(n, n)``.

    Parameters
    ----------
    needs : in any solution.
    order : the same with what only excludes equal solutions.
    linked : whether there is any.
    """

    needs: BoolArray
    order: BoolArray
    linked: bool


class Branching(NamedTuple):
    """Where the search stands; changed in place.

    Parameters
    ----------
    state : the fields below.
    fixed : 0 or 1 where a variable is fixed, else -1, shape ``(n,)``.
    trail : what is fixed in which order, shape ``(n,)``.
    branches : variable, other value or -1 and start in the trail of each depth, shape ``(n + 1, 3)``.
    best : the best solution found, shape ``(n,)``.
    """

    state: IntArray
    fixed: IntArray
    trail: IntArray
    branches: IntArray
    best: SmallArray


DEPTH, TRAIL, NODES, BEST, FOUND, AGE, ENOUGH, ROOT, FEW = range(9)
"""Fields of ``state``: depth; fixed variables; nodes so far; value to beat; whether ``best`` is new; steps since the
tableau was computed anew; a value that is known to be the most; the bound at the root;
from how many free variables on all choices are gone through."""
FIELDS = 9

PAUSED, FINISHED = range(2)
"""Why :func:`search` returned: its nodes are spent, or nothing better than ``best`` is left."""

_STEPS = 400  # of the dual simplex at a node
_ANEW = 300  # steps after which the tableau is computed anew
_WHOLE = 1e-6  # how near to 0 or 1 a variable counts as such
_WORK = 200_000  # steps through such choices after which to look at the clock
_ROUNDED = 4  # most fractional variables of which all roundings are tried


@compiled
def search(branching: Branching, tableau: Tableau, program: Rows, scaled: Scaled, order: Order, nodes: int) -> int:
    """Search on, for so many nodes at most.

    Parameters
    ----------
    branching, tableau : where the search stands; changed in place.
    program, scaled, order : what is searched.

    Returns
    -------
    Why it returned; it pauses after each better solution and after much work too.
    """
    state, fixed, trail, branches, _ = branching
    bounds, values, scale = scaled.limits, scaled.weights, scaled.unit
    table = tableau.table
    m, n = program.exact.shape
    prices = np.zeros(m)
    reduced = np.zeros(n)
    spare = np.zeros(n)
    work = 0
    for _ in range(nodes):
        if state[BEST] >= state[ENOUGH]:
            return FINISHED
        if state[FOUND] or work > _WORK:
            return PAUSED
        state[NODES] += 1
        if state[AGE] > _ANEW:
            rebuild(tableau, scaled.rows, values[1])
            state[AGE] = 0
        goal = (state[BEST] + 1.0) / scale
        goal -= abs(goal) * 5e-16
        what, row, steps = relax(tableau, bounds, fixed, goal, _STEPS)
        state[AGE] += steps
        dead = what == INFEASIBLE and cannot_be_met(tableau, scaled.rows, bounds, fixed, row, prices, spare)
        if not dead:
            for i in range(m):
                prices[i] = max(0.0, -table[m, n + i])
            bound = safe_bound(scaled.rows, bounds, values[0], prices, fixed, reduced)
            dead = bound < goal
            if state[DEPTH] == 0:
                state[ROOT] = min(state[ROOT], np.int64(np.floor(min(bound * scale, 4.6e18))))
        if not dead and (what in (OPTIMAL, GIVEN_UP) or state[TRAIL] == n):
            better = _round(branching, program, order, tableau)
            if better:
                goal = (state[BEST] + 1.0) / scale
                goal -= abs(goal) * 5e-16
                dead = bound < goal
        if not dead:
            # What alone would take the bound below the goal is decided.
            for j in range(n):
                if fixed[j] < 0 and bound - abs(reduced[j]) < goal:
                    dead = not _fix(branching, order, j, 1 if reduced[j] > 0 else 0)
                    if dead:
                        break
        if not dead and n - state[TRAIL] <= state[FEW]:
            work += enumerate_few(branching, program, order, reduced, bound, scale)
            dead = True
        if not dead:
            variable, value = _branch(fixed, order, tableau, bound - goal)
            if variable < 0:
                dead = True  # everything is fixed, and has been looked at
            else:
                depth = state[DEPTH]
                branches[depth, 0] = variable
                branches[depth, 1] = 1 - value
                branches[depth, 2] = state[TRAIL]
                state[DEPTH] += 1
                dead = not _fix(branching, order, variable, value)
        while dead:
            while state[DEPTH] > 0 and branches[state[DEPTH] - 1, 1] < 0:
                state[DEPTH] -= 1
            if state[DEPTH] == 0:
                return FINISHED
            depth = state[DEPTH] - 1
            for k in range(branches[depth, 2], state[TRAIL]):
                fixed[trail[k]] = -1
            state[TRAIL] = branches[depth, 2]
            value = branches[depth, 1]
            branches[depth, 1] = -1
            dead = not _fix(branching, order, branches[depth, 0], value)
    return PAUSED


@no_refcount
def _fix(branching: Branching, order: Order, variable: int, value: int) -> bool:
    """Fix a variable and what follows; whether that is possible."""
    state, fixed, trail = branching.state, branching.fixed, branching.trail
    if fixed[variable] >= 0:
        return bool(fixed[variable] == value)
    fixed[variable] = value
    trail[state[TRAIL]] = variable
    state[TRAIL] += 1
    if order.linked:
        for j in range(len(fixed)):
            if (value == 1 and order.order[variable, j]) or (value == 0 and order.order[j, variable]):
                if fixed[j] < 0:
                    fixed[j] = value
                    trail[state[TRAIL]] = j
                    state[TRAIL] += 1
                elif fixed[j] != value:
                    return False
    return True


@compiled
def _round(branching: Branching, program: Rows, order: Order, tableau: Tableau) -> bool:
    """Try roundings of the relaxation; whether one is better than the best."""
    state, fixed, best = branching.state, branching.fixed, branching.best
    exact, limits, weights = program
    place, at, beta = tableau.place, tableau.at, tableau.beta
    m, n = exact.shape
    loose = np.empty(_ROUNDED, np.int64)
    count = 0
    value = 0
    wholes = np.zeros(m, np.int64)
    chosen = np.zeros(n, np.int8)
    for j in range(n):
        taken = at[j] > 0.5
        if fixed[j] >= 0:
            taken = fixed[j] == 1
        elif place[j] >= 0:
            part = beta[place[j]]
            taken = part > 1 - _WHOLE
            if not taken and part > _WHOLE and count < _ROUNDED:
                loose[count] = j
                count += 1
        if taken:
            chosen[j] = 1
            value += weights[j]
    for i in range(m):
        total = 0
        for j in range(n):
            if chosen[j]:
                total += exact[i, j]
        wholes[i] = total
    better = False
    for mask in range((1 << count) - 1, -1, -1):
        rounded = value
        for k in range(count):
            if mask >> k & 1:
                rounded += weights[loose[k]]
        if rounded <= state[BEST]:
            continue
        fits = True
        for i in range(m):
            total = wholes[i]
            for k in range(count):
                if mask >> k & 1:
                    total += exact[i, loose[k]]
            if total > limits[i]:
                fits = False
                break
        if not fits:
            continue
        for k in range(count):
            chosen[loose[k]] = mask >> k & 1
        if order.linked and not _allowed(chosen, order.needs):
            continue
        put(best, chosen)
        state[BEST] = rounded
        state[FOUND] = 1
        better = True
    return better


@no_refcount
def _allowed(chosen: SmallArray, needs: BoolArray) -> bool:
    n = len(chosen)
    for j in range(n):
        if chosen[j]:
            for i in range(n):
                if needs[j, i] and not chosen[i]:
                    return False
    return True


@no_refcount
def _branch(fixed: IntArray, order: Order, tableau: Tableau, gap: float) -> tuple[int, int]:
    """Which variable to branch on, and which value first: the one that costs the bound most on both sides."""
    table, basis, place, at, beta = tableau
    m, n = len(basis), len(fixed)
    chosen, first, score = -1, 0, -1.0
    for r in range(m):
        variable = basis[r]
        if variable >= n or fixed[variable] >= 0:
            continue
        part = beta[r]
        if part < _WHOLE or part > 1 - _WHOLE:
            continue
        down, up = 1e300, 1e300
        for j in range(n + m):
            if place[j] >= 0 or (j < n and fixed[j] >= 0):
                continue
            slope = table[r, j]
            if j < n and at[j] > 0.5:
                slope = -slope
            if slope > 1e-9:
                down = min(down, abs(table[m, j]) / slope)
            elif slope < -1e-9:
                up = min(up, -abs(table[m, j]) / slope)
        down = min(down * part, gap)
        up = min(up * (1 - part), gap)
        found = (down + 1e-6 * gap + 1e-12) * (up + 1e-6 * gap + 1e-12)
        if found > score:
            chosen, score = variable, found
            first = 1 if up < down else 0
    if chosen >= 0:
        return chosen, first
    if order.linked:
        # The relaxation does not know which variable needs which.
        for j in range(n):
            if fixed[j] < 0:
                mine = beta[place[j]] if place[j] >= 0 else at[j]
                if mine > 0.5:
                    for i in range(n):
                        if order.needs[j, i]:
                            other = beta[place[i]] if place[i] >= 0 else at[i]
                            if other < 0.5:
                                return j, 1
    for j in range(n):
        if fixed[j] < 0:
            return j, 1
    return -1, 0


@compiled
def enumerate_few(
    branching: Branching, program: Rows, order: Order, reduced: FloatArray, bound: float, scale: float
) -> int:
    """Go through all choices of the free variables, cut off by what can still be met, and keep the best.

    Each variable that is not where the prices want it takes its reduced cost off the bound. Returns the steps taken.
    """
    state, fixed, best = branching.state, branching.fixed, branching.best
    exact, limits, weights = program
    m, n = exact.shape
    free = np.empty(n - state[TRAIL], np.int64)
    used = np.zeros(m, np.int64)
    value, count = 0, 0
    for j in range(n):
        if fixed[j] < 0:
            # Those that cost most when they change sides come first, then large ones.
            at = count
            while at > 0 and (
                abs(reduced[free[at - 1]]) < abs(reduced[j]) - 1e-12
                or (abs(reduced[free[at - 1]]) <= abs(reduced[j]) + 1e-12 and weights[free[at - 1]] < weights[j])
            ):
                free[at] = free[at - 1]
                at -= 1
            free[at] = j
            count += 1
        elif fixed[j] == 1:
            value += weights[j]
            for i in range(m):
                used[i] += exact[i, j]
    # What the variables from a position on can still add, and take off a row.
    more = np.zeros(count + 1, np.int64)
    less = np.zeros((count + 1, m), np.int64)
    for k in range(count - 1, -1, -1):
        more[k] = more[k + 1] + weights[free[k]]
        for i in range(m):
            less[k, i] = less[k + 1, i] + min(0, exact[i, free[k]])
    side = np.full(n, -1, np.int8)
    tried = np.zeros(count + 1, np.int8)
    bounds = np.empty(count + 1)
    bounds[0] = bound
    goal = (state[BEST] + 1.0) / scale
    goal -= abs(goal) * 5e-16
    k = 0
    if value + more[0] <= state[BEST]:
        return 0
    for i in range(m):
        if used[i] + less[0, i] > limits[i]:
            return 0
    steps = 0
    while k >= 0:
        steps += 1
        if k == count:
            # Everything has been checked on the way.
            for j in range(n):
                best[j] = fixed[j] if fixed[j] >= 0 else side[j]
            state[BEST] = value
            state[FOUND] = 1
            goal = (value + 1.0) / scale
            goal -= abs(goal) * 5e-16
            k -= 1
            continue
        j = free[k]
        if side[j] == 1:
            value -= weights[j]
            for i in range(m):
                used[i] -= exact[i, j]
        side[j] = -1
        if tried[k] == 2:
            tried[k] = 0
            k -= 1
            continue
        wanted = 1 if reduced[j] >= 0.0 else 0
        taken = wanted if tried[k] == 0 else 1 - wanted
        bounds[k + 1] = bounds[k] if tried[k] == 0 else bounds[k] - abs(reduced[j])
        tried[k] += 1
        if bounds[k + 1] < goal:
            continue
        if taken == 0 and value + more[k + 1] <= state[BEST]:
            continue
        fits = True
        for i in range(m):
            if used[i] + taken * exact[i, j] + less[k + 1, i] > limits[i]:
                fits = False
                break
        if not fits or (order.linked and not _follows(order.order, side, free, k, taken)):
            continue
        side[j] = taken
        if taken == 1:
            value += weights[j]
            for i in range(m):
                used[i] += exact[i, j]
        k += 1
    return steps


@no_refcount
def _follows(order: BoolArray, side: SmallArray, free: IntArray, k: int, taken: int) -> bool:
    """Whether a variable may take this value beside those before it."""
    for at in range(k):
        if taken == 1 and side[free[at]] == 0 and order[free[k], free[at]]:
            return False
        if taken == 0 and side[free[at]] == 1 and order[free[at], free[k]]:
            return False
    return True
