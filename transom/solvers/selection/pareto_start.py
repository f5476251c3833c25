"""Compiled greedy selections and exchanges of jobs, for a first approximation of a front."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom._system.sorting import put
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.solvers.selection.front_archive import ArchiveTree, beaten, insert
from transom.solvers.selection.pareto_lists import BITS


class Jobs(NamedTuple):
    """The undecided jobs: what they ask for, what there is, what they are worth, and which requires which.

    Shapes ``(jobs, resources)``, ``(resources,)``, ``(jobs, objectives)`` and ``(jobs, jobs)``.
    """

    demands: IntArray
    room: IntArray
    objectives: IntArray
    parents: BoolArray


class Next:
    """Which exchange of jobs comes next."""

    point: int  # of those that are known
    out: int  # the job to leave out
    into: int  # the job to come instead
    order: int  # in which the rest is filled up


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
    shares = objectives / np.maximum(1, objectives.sum(axis=0))
    asked = demands / np.maximum(1, room)
    # Not as matrix products: their threads wait for each other longer than this takes.
    score = np.einsum("sk,jk->sj", weights, shares) / (np.einsum("sr,jr->sj", prices, asked) + 1e-9)
    order: IntArray = np.argsort(-score, axis=1, kind="stable")
    return order


@compiled
def fill(orders: IntArray, begin: int, given: Jobs, known: ArchiveTree, work: int) -> tuple[int, bool]:
    """Fill the room in each order from ``begin`` on and put what is new into an archive.

    Returns the next order and whether the archive needs room before it.
    """
    demands, room, objectives, parents = given
    jobs, resources = demands.shape
    terms = objectives.shape[1]
    point = np.empty(known.rows.shape[1], np.int64)
    left = np.empty(resources, np.int64)
    taken = np.empty(jobs, np.bool_)
    while begin < len(orders) and work > 0:
        point[:] = 0
        put(left, room)
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
        if not beaten(point, terms, known) and insert(point, terms, known):
            return begin, True
    return begin, False


@compiled
def exchange(points: IntArray, following: Next, orders: IntArray, given: Jobs, known: ArchiveTree, work: int) -> bool:
    """Put what comes of known selections by one job less, another one instead, and filling up, into an archive.

    ``points`` are rows of an archive; ``following`` is changed in place.
    Returns whether the archive needs room before the next call.
    """
    demands, room, objectives, parents = given
    jobs, resources = demands.shape
    terms = objectives.shape[1]
    point = np.empty(known.rows.shape[1], np.int64)
    base, left = np.empty(resources, np.int64), np.empty(resources, np.int64)
    taken, inside = np.empty(jobs, np.bool_), np.empty(jobs, np.bool_)
    while following.point < len(points) and work > 0:
        at, out, first = following.point, following.out, following.into
        following.into = 0
        following.out += 1
        if following.out == jobs:
            following.point, following.out = at + 1, 0
        work -= 1
        if not points[at, terms + out // BITS] >> (out % BITS) & 1:
            continue
        put(base, room)
        for job in range(jobs):
            taken[job] = points[at, terms + job // BITS] >> (job % BITS) & 1
            if taken[job] and job != out:
                for r in range(resources):
                    base[r] -= demands[job, r]
        work -= jobs
        needed = False
        for job in range(jobs):
            needed |= taken[job] and parents[job, out]
        if needed:
            continue
        taken[out] = False
        full = False
        for into in range(first, jobs):
            if work <= 0 and into > first and not full:
                following.point, following.out, following.into = at, out, into
                return False
            if full or taken[into] or into == out or not _may_come(into, taken, base, given):
                continue
            put(point, points[at])
            point[terms + out // BITS] &= ~(1 << out % BITS)
            for k in range(terms):
                point[k] -= objectives[out, k]
            put(left, base)
            put(inside, taken)
            order = orders[following.order % len(orders)]
            following.order += 1
            work -= 2 * jobs
            for turn in range(-1, jobs):
                job = into if turn < 0 else order[turn]
                if inside[job] or job == out or not _may_come(job, inside, left, given):
                    continue
                work -= jobs
                inside[job] = True
                for r in range(resources):
                    left[r] -= demands[job, r]
                for k in range(terms):
                    point[k] += objectives[job, k]
                point[terms + job // BITS] |= 1 << job % BITS
            if not beaten(point, terms, known):
                full = insert(point, terms, known)
        if full:
            return True
    return False


@no_refcount
def _may_come(job: int, inside: BoolArray, left: IntArray, given: Jobs) -> bool:
    """Whether a job fits into what is left, and all that it requires is inside."""
    for r in range(len(left)):
        if given.demands[job, r] > left[r]:
            return False
    complete = True
    for other in range(len(inside)):
        complete &= inside[other] or not given.parents[job, other]
    return complete
