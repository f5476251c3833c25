"""Kernels of simulated annealing on allocations: jobs are removed and placed again."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom._system.sorting import put, sum_of
from transom.heuristics.allocation.arrays import reachable
from transom.models.allocation_kernels import placing_order
from transom.models.arrays import BoolArray, FloatArray, IntArray


class Standing(NamedTuple):
    """Where a search stands and the best it met; changed in place.

    Parameters
    ----------
    owner, costs : who holds each entry of Q, and what each job costs.
    best : the owners of the best solution.
    state : cost of the best solution, shape ``(1,)``.
    """

    owner: IntArray
    costs: FloatArray
    best: IntArray
    state: FloatArray


class Schedule(NamedTuple):
    """Steps from ``first`` up to ``end`` of a run of ``steps``, which cools from the first temperature to the last."""

    temperatures: FloatArray
    first: int
    end: int
    steps: int


ANYTHING, MEND, REFUSE, PASS = range(4)
"""What to do where a job is taken away from the gap of another, so that no order need lead there."""


class Options:
    """How a run goes.

    Blocks may ``wrap`` around; a step removes up to ``remove`` jobs, which come back ``by_size`` or in the window's
    order, among the ``first`` so many entries (0: all), where they are ``cheapest`` or at random; a ``walk`` undoes
    nothing; ``nested`` is one of the above.
    """

    wrap: bool
    remove: int
    by_size: bool
    first: int
    cheapest: bool
    walk: bool
    nested: int


@compiled
def take_out(
    rng: np.random.Generator,
    owner: IntArray,
    out: IntArray,
    removed: BoolArray,
    sizes: IntArray,
    options: Options,
) -> int:
    """Take the jobs of a step out of ``owner``, write them into ``out`` as they come back, and return how many.

    ``removed`` is false before and after.
    """
    moved = draw(rng, out, removed, sizes, options)
    _clear(owner, removed)
    if options.nested == MEND:
        more = _stranded(owner, sizes, options, out, moved, removed)
        if more > moved:
            _clear(owner, removed)
            moved = more
    for k in range(moved):
        removed[out[k]] = False
    return moved


@no_refcount
def first_nodes(m: int, size: int, options: Options) -> int:
    """How many of the ``m`` entries that are left, from the lowest on, may be the first node of a job."""
    last = m if options.wrap else m - size + 1
    return min(last, options.first) if options.first > 0 else last


@compiled
def accept_or_undo(
    rng: np.random.Generator,
    standing: Standing,
    before: IntArray,
    paid: FloatArray,
    sizes: IntArray,
    options: Options,
    schedule: Schedule,
    step: int,
) -> bool:
    """Accept what a step has made, or undo it; whether it is the best solution so far, which is then kept.

    Parameters
    ----------
    before, paid : owners and costs before the step.

    The others are those of a step of :func:`transom.heuristics.allocation.left_annealing.anneal_left`.
    """
    owner, costs, best, state = standing
    after = sum_of(costs)
    accepted = options.walk or metropolis(rng, after - sum_of(paid), schedule.temperatures, step, schedule.steps)
    better = accepted and after < state[0] - 1e-12 * abs(state[0])
    ask = (options.nested == REFUSE and accepted) or (options.nested == PASS and better)
    if ask and not reachable(owner, sizes, options.wrap):
        accepted, better = options.nested == PASS, False
    if not accepted:
        put(owner, before)
        put(costs, paid)
    elif better:
        put(best, owner)
        state[0] = after
    return better


@no_refcount
def _clear(owner: IntArray, removed: BoolArray) -> None:
    for i in range(len(owner)):
        if owner[i] >= 0 and removed[owner[i]]:
            owner[i] = -1


@compiled
def _stranded(owner: IntArray, sizes: IntArray, options: Options, out: IntArray, moved: int, removed: BoolArray) -> int:
    """Remove the jobs too that no order reaches any more, and return how many are removed now."""
    rank = placing_order(owner, sizes, options.wrap, False)
    for job in range(len(sizes)):
        if rank[job] < 0 and not removed[job]:
            insert(out, moved, job, sizes, options.by_size)
            removed[job] = True
            moved += 1
    return moved


@no_refcount
def metropolis(rng: np.random.Generator, loss: float, temperatures: FloatArray, step: int, steps: int) -> bool:
    """Whether a loss is accepted at a step of a run (algorithm 1, steps 5 to 9)."""
    if loss <= 0:
        return True
    return rng.random() < math.exp(-loss / temperature_at(temperatures, step, steps))


@no_refcount
def temperature_at(temperatures: FloatArray, step: int, steps: int) -> float:
    """The temperature at a step of a run, from the first to the last (algorithm 1, steps 1 and 11)."""
    return float(temperatures[0] * math.exp(-math.log(temperatures[0] / temperatures[1]) * step / steps))


@no_refcount
def draw(rng: np.random.Generator, out: IntArray, removed: BoolArray, sizes: IntArray, options: Options) -> int:
    """Draw the jobs that a step removes, in the order in which they come back, and return how many."""
    jobs = len(sizes)
    moved = 1 + int(rng.random() * min(options.remove, jobs))
    for k in range(moved):
        job = int(rng.random() * jobs)
        while removed[job]:
            job = int(rng.random() * jobs)
        removed[job] = True
        insert(out, k, job, sizes, options.by_size)
    return moved


@no_refcount
def insert(out: IntArray, count: int, job: int, sizes: IntArray, by_size: bool) -> None:
    """Put a job where it belongs among the first ``count`` ones: by falling size, or in the window's order."""
    place = count
    while place > 0 and _later(out[place - 1], job, sizes, by_size):
        out[place] = out[place - 1]
        place -= 1
    out[place] = job


@no_refcount
def _later(a: int, b: int, sizes: IntArray, by_size: bool) -> bool:
    if by_size and sizes[a] != sizes[b]:
        return bool(sizes[a] < sizes[b])
    return a > b
