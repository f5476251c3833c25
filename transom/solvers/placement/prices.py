r"""Prices of rooms, and the bound that follows from them.

For any prices :math:`\lambda_{mr} \ge 0`, no placement is worth more than :math:`\sum_{mr} \lambda_{mr} c_{mr} +
\sum_t n_t \mu_t` with :math:`\mu_t = \max(0, \max_m v_t - \sum_r \lambda_{mr} d_{tr})` (Lagrangian duality).
What a placement is worth less it *loses*: :math:`\mu_t` for each waiting instance that is not placed,
:math:`\mu_t + \lambda_m d_t - v_t` for each that is placed on machine m, :math:`\lambda_{mr}` for each unit of room
that stays free.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from transom.models.arrays import FloatArray
from transom.solvers.placement.reduced import Reduced

_ROUNDING = 2.0**-45
"""More than what sums of some thousand products lose in double precision, of the sum of their absolute values."""

_SHARE = 0.8  # of the time that is left, for the linear relaxation: it looks at the clock now and then


class Prices(NamedTuple):
    """Prices of rooms, and what follows.

    Parameters
    ----------
    room : :math:`\\lambda`, shape ``(M, R)``.
    unsold : :math:`\\mu`, shape ``(T,)``.
    cost : what an instance loses that is placed, 0 where it does not fit, shape ``(T, M)``.
    bound : no placement is worth more, rounding included.
    """

    room: FloatArray
    unsold: FloatArray
    cost: FloatArray
    bound: float


def priced(problem: Reduced, room: FloatArray) -> Prices:
    """What follows from prices of rooms, shape ``(M, R)``, >= 0."""
    fits, demands = problem.fits > 0, problem.demands.astype(np.float64)
    paid = demands @ room.T
    gain = np.where(fits, problem.values[:, None] - paid, -np.inf)
    unsold = np.maximum(0.0, gain.max(axis=1, initial=0.0))
    cost = np.where(fits, np.maximum(0.0, unsold[:, None] - np.where(fits, gain, 0.0)), 0.0)
    rooms = float((room * problem.free).sum())
    sums = rooms + float(problem.waiting @ (problem.values + np.where(fits, paid, 0.0).max(axis=1, initial=0.0)))
    bound = rooms + float(problem.waiting @ unsold) + _ROUNDING * sums
    return Prices(room, unsold, cost, bound)


def one_resource(problem: Reduced) -> FloatArray:
    """Prices from the resource that is the scarcest if all machines were one: quick, and mostly rough."""
    best, prices = math.inf, np.zeros(problem.free.shape)
    total = problem.free.astype(np.float64).sum(axis=0)
    for r in range(problem.free.shape[1]):
        needed = problem.demands[:, r].astype(np.float64)
        efficiency = np.divide(problem.values, needed, out=np.full(len(needed), np.inf), where=needed > 0)
        order = np.argsort(-efficiency, kind="stable")
        over = np.flatnonzero(np.cumsum(needed[order] * problem.waiting[order]) > total[r])
        room = np.zeros(problem.free.shape)
        room[:, r] = efficiency[order[over[0]]] if len(over) else 0.0
        bound = priced(problem, room).bound
        if bound < best:
            best, prices = bound, room
    return prices


def linear_prices(problem: Reduced, seconds: float) -> FloatArray | None:
    """Prices of the linear relaxation, or None if it is not solved within some seconds."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    # Identical machines are as good as one with the room of all: they have the same prices.
    free, first, kind, number = np.unique(
        problem.free, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    tasks, kinds = np.nonzero(problem.fits[:, first])
    count, resources = len(problem.values), free.shape[1]
    rows, columns, entries = [tasks], [np.arange(len(tasks))], [np.ones(len(tasks))]
    for r in range(resources):
        asked = np.flatnonzero(problem.demands[tasks, r] > 0)
        rows.append(count + kinds[asked] * resources + r)
        columns.append(asked)
        entries.append(problem.demands[tasks[asked], r] / free[kinds[asked], r])  # the room of a machine is 1
    matrix = coo_array(
        (np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))),
        shape=(count + len(free) * resources, len(tasks)),
    )
    limits = np.concatenate((problem.waiting, np.repeat(number, resources))).astype(np.float64)
    unit = float(problem.values.max())
    options = {} if seconds == math.inf else {"time_limit": max(_SHARE * seconds, 1e-3)}
    solved = linprog(-problem.values[tasks] / unit, A_ub=matrix.tocsr(), b_ub=limits, method="highs", options=options)
    if solved.status != 0:
        return None
    shares = np.maximum(0.0, -solved.ineqlin.marginals[count:].reshape(free.shape)) * unit
    prices: FloatArray = np.where(free > 0, shares / np.maximum(free, 1), 0.0)[kind.ravel()]
    return prices
