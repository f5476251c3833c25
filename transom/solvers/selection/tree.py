"""A compiled branch and bound for the best selection under few constraints (:mod:`transom.solvers.selection.program`).

Depth first, relaxation by relaxation (:mod:`transom.solvers.selection.linear_program`). Bounds are floats that hold,
rounding included; solutions are checked and valued in integers. The search can be left after any node: all it knows is
in its arrays.
"""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom._system.sorting import put
from transom.models.arrays import BoolArray, IntArray, SmallArray
from transom.solvers.selection.branching import FINISHED, PAUSED, Branching, Order, Rows, Scaled
from transom.solvers.selection.enumeration import enumerate_few
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
    now, fixed, trail, branches, _ = branching
    bounds, values, scale = scaled.limits, scaled.weights, scaled.unit
    table = tableau.table
    m, n = program.exact.shape
    prices = np.zeros(m)
    reduced = np.zeros(n)
    spare = np.zeros(n)
    work = 0
    for _ in range(nodes):
        if now.best >= now.enough:
            return FINISHED
        if now.found or work > _WORK:
            return PAUSED
        now.nodes += 1
        if now.age > _ANEW:
            rebuild(tableau, scaled.rows, values[1])
            now.age = 0
        goal = (now.best + 1.0) / scale
        goal -= abs(goal) * 5e-16
        what, row, steps = relax(tableau, bounds, fixed, goal, _STEPS)
        now.age += steps
        dead = what == INFEASIBLE and cannot_be_met(tableau, scaled.rows, bounds, fixed, row, prices, spare)
        if not dead:
            for i in range(m):
                prices[i] = max(0.0, -table[m, n + i])
            bound = safe_bound(scaled.rows, bounds, values[0], prices, fixed, reduced)
            dead = bound < goal
            if now.depth == 0:
                now.root = min(now.root, int(np.floor(min(bound * scale, 4.6e18))))
        if not dead and (what in (OPTIMAL, GIVEN_UP) or now.decided == n):
            better = _round(branching, program, order, tableau)
            if better:
                goal = (now.best + 1.0) / scale
                goal -= abs(goal) * 5e-16
                dead = bound < goal
        if not dead:
            # What alone would take the bound below the goal is decided.
            for j in range(n):
                if fixed[j] < 0 and bound - abs(reduced[j]) < goal:
                    dead = not _fix(branching, order, j, 1 if reduced[j] > 0 else 0)
                    if dead:
                        break
        if not dead and n - now.decided <= now.few:
            work += enumerate_few(branching, program, order, reduced, bound, scale)
            dead = True
        if not dead:
            variable, value = _branch(fixed, order, tableau, bound - goal)
            if variable < 0:
                dead = True  # everything is fixed, and has been looked at
            else:
                depth = now.depth
                branches[depth, 0] = variable
                branches[depth, 1] = 1 - value
                branches[depth, 2] = now.decided
                now.depth += 1
                dead = not _fix(branching, order, variable, value)
        while dead:
            while now.depth > 0 and branches[now.depth - 1, 1] < 0:
                now.depth -= 1
            if now.depth == 0:
                return FINISHED
            depth = now.depth - 1
            for k in range(branches[depth, 2], now.decided):
                fixed[trail[k]] = -1
            now.decided = branches[depth, 2]
            value = branches[depth, 1]
            branches[depth, 1] = -1
            dead = not _fix(branching, order, branches[depth, 0], value)
    return PAUSED


@no_refcount
def _fix(branching: Branching, order: Order, variable: int, value: int) -> bool:
    """Fix a variable and what follows; whether that is possible."""
    now, fixed, trail = branching.now, branching.fixed, branching.trail
    if fixed[variable] >= 0:
        return bool(fixed[variable] == value)
    fixed[variable] = value
    trail[now.decided] = variable
    now.decided += 1
    if order.linked:
        for j in range(len(fixed)):
            if (value == 1 and order.order[variable, j]) or (value == 0 and order.order[j, variable]):
                if fixed[j] < 0:
                    fixed[j] = value
                    trail[now.decided] = j
                    now.decided += 1
                elif fixed[j] != value:
                    return False
    return True


@compiled
def _round(branching: Branching, program: Rows, order: Order, tableau: Tableau) -> bool:
    """Try roundings of the relaxation; whether one is better than the best."""
    now, fixed, best = branching.now, branching.fixed, branching.best
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
        if rounded <= now.best:
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
        now.best = rounded
        now.found = True
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
