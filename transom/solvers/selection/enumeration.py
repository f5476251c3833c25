"""All choices of few free variables, at the leaves of a branch and bound."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom.models.arrays import BoolArray, FloatArray, IntArray, SmallArray
from transom.solvers.selection.branching import Branching, Order, Rows


@compiled
def enumerate_few(
    branching: Branching, program: Rows, order: Order, reduced: FloatArray, bound: float, scale: float
) -> int:
    """Go through all choices of the free variables, cut off by what can still be met, and keep the best.

    Each variable that is not where the prices want it takes its reduced cost off the bound. Returns the steps taken.
    """
    now, fixed, best = branching.now, branching.fixed, branching.best
    exact, limits, weights = program
    m, n = exact.shape
    free = np.empty(n - now.decided, np.int64)
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
    goal = (now.best + 1.0) / scale
    goal -= abs(goal) * 5e-16
    k = 0
    if value + more[0] <= now.best:
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
            now.best = value
            now.found = True
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
        if taken == 0 and value + more[k + 1] <= now.best:
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
