"""Compiled greedy selections to begin a front with."""

from __future__ import annotations

import numpy as np

from transom.compiling import compiled
from transom.models._arrays import FloatArray, IntArray
from transom.solvers._pareto_archive import beaten, insert
from transom.solvers._pareto_lists import BITS


def greedy_orders(
    demands: IntArray, room: IntArray, objectives: IntArray, weights: FloatArray, prices: FloatArray
) -> IntArray:
    """Jobs by falling worth per demand, for several weights of the objectives and prices of the resources.

    Parameters
    ----------
    demands, room, objectives : shapes ``(jobs, resources)``, ``(resources,)`` and ``(jobs, objectives)``.
    weights, prices : >= 0, shapes ``(orders, objectives)`` and ``(orders, resources)``.

    Returns
    -------
    Shape ``(orders, jobs)``.
    """
    worth = objectives / np.maximum(1, objectives.sum(axis=0))
    asked = demands / np.maximum(1, room)
    order: IntArray = np.argsort(-(weights @ worth.T) / (prices @ asked.T + 1e-9), axis=1, kind="stable")
    return order


@compiled
def fill(orders, begin, demands, room, objectives, parents, rows, nodes, last, work):  # type: ignore[no-untyped-def]
    """Fill the room in each order from ``begin`` on and put what is new into an archive.

    Returns the next order and whether the archive has to be spread before it.
    """
    jobs, resources = demands.shape
    terms = objectives.shape[1]
    point = np.empty(rows.shape[1], np.int64)
    left = np.empty(resources, np.int64)
    taken = np.empty(jobs, np.bool_)
    while begin < len(orders) and work > 0:
        point[:] = 0
        left[:] = room
        taken[:] = False
        more = True
        while more:
            more = False
            for job in orders[begin]:
                work -= 1
                fine = not taken[job]
                for r in range(resources):
                    fine &= demands[job, r] <= left[r]
                if not fine:
                    continue
                for other in range(jobs):
                    fine &= taken[other] or not parents[job, other]
                if not fine:
                    continue
                taken[job] = more = True
                for r in range(resources):
                    left[r] -= demands[job, r]
                for k in range(terms):
                    point[k] += objectives[job, k]
                point[terms + job // BITS] |= 1 << job % BITS
        begin += 1
        if not beaten(point, terms, rows, nodes, last) and insert(point, terms, rows, nodes):
            return begin, True
    return begin, False
