"""Compiled linear relaxations with few rows: a dual simplex over variables from 0 to 1.

.. math:: \\max w \\cdot x \\quad\\text{s.t.}\\quad A x \\le b,\\ 0 \\le x \\le 1

A tableau is only a guide: what prunes is :func:`safe_bound`, which holds for any prices, rounding included.
``fixed``, shape ``(n,)``, is 0 or 1 where a variable is fixed, else -1.
"""

from __future__ import annotations

from typing import NamedTuple

from transom._system.compiling import compiled, no_refcount
from transom.models.arrays import FloatArray, IntArray

OPTIMAL, INFEASIBLE, BELOW, GIVEN_UP = range(4)
"""What :func:`relax` says: solved; row ``beta[-1]`` cannot be met; the value fell below the goal; too many steps."""

_TINY = 1e-9  # what counts as zero, of numbers whose rows are scaled to at most 1
_UNIT = 2.5e-16  # more than the rounding error of one operation, twice


class Tableau(NamedTuple):
    """Where the simplex stands.

    Parameters
    ----------
    table : :math:`B^{-1} (A, I)` and, as the last row, the reduced costs, shape ``(m + 1, n + m)``.
    basis : the variable of each row, shape ``(m,)``.
    place : the row of each variable or -1, shape ``(n + m,)``.
    at : the value of each variable that is not basic, else 0, shape ``(n,)``.
    beta : values of the basic ones, shape ``(m,)``.
    """

    table: FloatArray
    basis: IntArray
    place: IntArray
    at: FloatArray
    beta: FloatArray


@compiled
def rebuild(tableau: Tableau, rows: FloatArray, weights: FloatArray) -> None:
    """Compute the tableau of a basis anew; of the basis of slacks where that one is singular or not dual feasible."""
    table, basis, place = tableau.table, tableau.basis, tableau.place
    m, n = rows.shape
    for attempt in range(2):
        for i in range(m):
            for j in range(n):
                table[i, j] = rows[i, j]
            for j in range(m):
                table[i, n + j] = 1.0 if i == j else 0.0
        for j in range(n):
            table[m, j] = weights[j]
        for j in range(m):
            table[m, n + j] = 0.0
        place[:] = -1
        if attempt == 1:
            for i in range(m):
                basis[i] = n + i
                place[n + i] = i
            return
        wanted = basis.copy()
        sound = True
        for i in range(m):
            basis[i] = -1
        for k in range(m):
            column, row, most = wanted[k], -1, 1e-7
            for i in range(m):
                if basis[i] < 0 and abs(table[i, column]) > most:
                    row, most = i, abs(table[i, column])
            if row < 0:
                sound = False
                break
            _pivot(table, row, column)
            basis[row] = column
            place[column] = row
        if sound:
            for i in range(m):
                if place[n + i] < 0 and table[m, n + i] > _TINY:
                    sound = False
        if sound:
            return


@no_refcount
def _pivot(table: FloatArray, row: int, column: int) -> None:
    rows, columns = table.shape
    factor = 1.0 / table[row, column]
    for j in range(columns):
        table[row, j] *= factor
    table[row, column] = 1.0
    for i in range(rows):
        if i != row:
            factor = table[i, column]
            if factor != 0.0:
                for j in range(columns):
                    table[i, j] -= factor * table[row, j]
                table[i, column] = 0.0


@no_refcount
def relax(tableau: Tableau, limits: FloatArray, fixed: IntArray, goal: float, most: int) -> tuple[int, int, int]:
    """Solve the relaxation from where the tableau stands.

    Parameters
    ----------
    goal : stop once the value is below it.
    most : stop after so many steps.

    Returns
    -------
    What came out, the row that cannot be met, and the number of steps.
    """
    table, basis, place, at, beta = tableau
    m, n = len(basis), len(fixed)
    value = _set_values(tableau, limits, fixed)
    for step in range(most):
        row, worst, below = _most_violated(basis, fixed, beta)
        if row < 0:
            return OPTIMAL, -1, step
        if value < goal:
            return BELOW, -1, step
        entering, best = _entering(tableau, fixed, row, -1.0 if below else 1.0)
        if entering < 0:
            return INFEASIBLE, row, step
        leaving = basis[row]
        bound = 0.0
        if leaving < n:
            if fixed[leaving] >= 0:
                bound = fixed[leaving]
            elif not below:
                bound = 1.0
        change = (beta[row] - bound) / table[row, entering]
        for i in range(m):
            beta[i] -= table[i, entering] * change
        beta[row] = change
        if entering < n:
            beta[row] += at[entering]
            at[entering] = 0.0
        if leaving < n:
            at[leaving] = bound
        value -= best * worst
        _pivot(table, row, entering)
        basis[row] = entering
        place[entering] = row
        place[leaving] = -1
    return GIVEN_UP, -1, most


@no_refcount
def _set_values(tableau: Tableau, limits: FloatArray, fixed: IntArray) -> float:
    """Set variables outside the basis to their better bounds and those in it accordingly; the value."""
    table, basis, place, at, beta = tableau
    m, n = len(basis), len(fixed)
    for j in range(n):
        if place[j] >= 0:
            at[j] = 0.0
        elif fixed[j] >= 0:
            at[j] = fixed[j]
        elif table[m, j] > 0.0:
            at[j] = 1.0
        elif table[m, j] < 0.0:
            at[j] = 0.0
    value = 0.0
    for k in range(m):
        value -= table[m, n + k] * limits[k]
    for j in range(n):
        value += table[m, j] * at[j]
    for i in range(m):
        total = 0.0
        for k in range(m):
            total += table[i, n + k] * limits[k]
        for j in range(n):
            total -= table[i, j] * at[j]
        beta[i] = total
    return float(value)


@no_refcount
def _most_violated(basis: IntArray, fixed: IntArray, beta: FloatArray) -> tuple[int, float, bool]:
    """The row whose variable is furthest outside its bounds (-1: none), by how much, and whether it is too small."""
    row, worst, below = -1, _TINY, False
    for i in range(len(basis)):
        variable = basis[i]
        low = high = 0.0
        if variable >= len(fixed):
            high = 1e300
        elif fixed[variable] >= 0:
            low = high = fixed[variable]
        else:
            high = 1.0
        if low - beta[i] > worst:
            row, worst, below = i, low - beta[i], True
        elif beta[i] - high > worst:
            row, worst, below = i, beta[i] - high, False
    return row, worst, below


@no_refcount
def _entering(tableau: Tableau, fixed: IntArray, row: int, sign: float) -> tuple[int, float]:
    """The variable that makes up for a row at the least loss (-1: none), and that loss for a unit of the row."""
    table, place, at = tableau.table, tableau.place, tableau.at
    m, n = len(tableau.basis), len(fixed)
    entering, best, size = -1, 1e300, 0.0
    for j in range(n + m):
        if place[j] >= 0 or (j < n and fixed[j] >= 0):
            continue
        slope = sign * table[row, j]
        if j < n and at[j] > 0.5:
            slope = -slope
        if slope > _TINY:
            ratio = abs(table[m, j]) / slope
            if ratio < best - 1e-12 or (ratio <= best + 1e-12 and slope > size):
                entering, best, size = j, ratio, slope
    return entering, best


@no_refcount
def safe_bound(
    rows: FloatArray, limits: FloatArray, weights: FloatArray, prices: FloatArray, fixed: IntArray, reduced: FloatArray
) -> float:
    r"""An upper bound of :math:`w \cdot x` that holds whatever the prices :math:`y \ge 0` are.

    .. math:: y \cdot b + \sum_{j \text{ at } 1} (w - y A)_j + \sum_{j \text{ free}} \max(0, (w - y A)_j)

    Parameters
    ----------
    rows, weights : in absolute value at most 1.
    reduced : gets :math:`w - y A`, shape ``(n,)``.

    Returns
    -------
    The bound, with more than its rounding error added.
    """
    m, n = rows.shape
    total, size, every = 0.0, 0.0, 1.0
    for j in range(n):
        reduced[j] = weights[j]
    for i in range(m):
        price = prices[i]
        if price > 0.0:
            total += price * limits[i]
            size += abs(price * limits[i])
            every += price
            for j in range(n):
                reduced[j] -= price * rows[i, j]
    for j in range(n):
        if fixed[j] > 0 or (fixed[j] < 0 and reduced[j] > 0.0):
            total += reduced[j]
    return float(total + _UNIT * (n + m + 8) * (size + n * every))


@no_refcount
def cannot_be_met(
    tableau: Tableau,
    rows: FloatArray,
    limits: FloatArray,
    fixed: IntArray,
    row: int,
    prices: FloatArray,
    reduced: FloatArray,
) -> bool:
    """Whether a row of the tableau proves that there is no solution at all, rounding included."""
    table, basis, beta = tableau.table, tableau.basis, tableau.beta
    m, n = rows.shape
    # The row says sum = beta; where its variable must grow and cannot, the row itself is the contradiction.
    sign = 1.0
    if beta[row] < 0.0 or (basis[row] < n and fixed[basis[row]] == 1 and beta[row] < 1.0):
        sign = 1.0
    else:
        sign = -1.0
    largest = 0.0
    for i in range(m):
        prices[i] = max(0.0, sign * table[row, n + i])
        largest = max(largest, prices[i])
    if largest == 0.0:
        return False
    for i in range(m):
        prices[i] /= largest
    # max 0 x, so that the bound is below 0 only if nothing fits.
    for j in range(n):
        reduced[j] = 0.0
    return safe_bound(rows, limits, reduced, prices, fixed, reduced) < 0.0
