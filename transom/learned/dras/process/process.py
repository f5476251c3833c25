"""The hierarchical decision process of DRAS on the state of a replay, compiled.

At level 1 one job after another is selected from the window at the front of the queue. It starts if it fits; the first
that does not fit is given a reservation at its shadow time, and level 2 begins: jobs are selected that fit now and
delay the reservation by no means, judged by walltimes, until none is left. Then the instant is over.

A caller walks through an instant with :func:`begin`, then :func:`candidates_of` and :func:`take` until there is no
candidate, then :func:`finish`. Where there is one candidate alone there is nothing to decide.

References
----------
Fan et al., DRAS, section III-B.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import no_refcount
from transom.errors import SpecError
from transom.models.arrays import IntArray
from transom.simulation.core.events import (
    DEMAND,
    HELD,
    NEVER,
    NOW,
    PASSED,
    QUEUED,
    RUNNING,
    SMALLEST,
    WALLTIME,
    State,
    launch,
    occupy,
)
from transom.simulation.core.schedule import BACKFILLED, READY, RESERVED
from transom.simulation.passes.easy_backfill import fits, shadow_time

OVER, ONE, TWO = range(3)
"""Where an instant stands: over, at level 1, at level 2."""

# Places in DecisionState.at: where the instant stands, how many candidates there are, where the search for further ones
# goes on in the queue and how many waiting jobs it has seen, how many jobs were selected to start, how many of them
# ahead of a reservation, the job that holds the reservation (-1: none) and its shadow time (-1), the running number of
# the instant, whether the sums behind it are those of this instant, node-seconds queued and still to run.
COUNTERS = 12
LEVEL, COUNT, SCANNED, SEEN, PICKED, AHEAD, HOLDER, BEGIN, INSTANT, SUMMED, QUEUED_WORK, RUNNING_WORK = range(COUNTERS)


class AgentConfig(NamedTuple):
    """The configuration of an agent; plain numbers, so that kernels take it.

    Parameters
    ----------
    levels : 2: selection, reservation and backfilling; 1: selects among jobs of the window that fit now, without
        reservation and backfilling (Decima-PG in the paper's comparison).
    window : how many candidates there are at most, W.
    head : 1: the reservation goes to the first job of the queue, which starts if it fits after all; 0: to the selected
        job, as the paper says.
    keep : 1: a reservation is kept until its job starts; 0: it is made anew at every instant.
    longest : walltime by which times are divided in observations [s], such as the longest that a site allows.
    """

    levels: int = 2
    window: int = 50
    head: int = 1
    keep: int = 1
    longest: int = 86_400


RANGES = {"levels": (1, 2), "window": (1, 1000), "head": (0, 1), "keep": (0, 1), "longest": (1, 10**9)}
"""What the numbers of a scheme may be, from least to largest; what a decision takes grows with the square of W."""


class DecisionState(NamedTuple):
    """Where the process stands within an instant; ``n`` jobs.

    ``at`` ``(COUNTERS,)``; ``extra`` ``(1 + R,)``: what is left beside the reserved job at its shadow time;
    ``candidates`` ``(W,)``: places in the queue; ``picks``, ``modes`` ``(n,)``: places of the jobs to start, in
    order, and how they start; ``known`` ``(n, 6)``: of each job what observations take from it
    (:func:`~transom.learned.dras.process.features.known_of`).

    A job that was selected to start stands in the queue as -1 minus its number until the instant is over.
    """

    at: IntArray
    extra: IntArray
    candidates: IntArray
    picks: IntArray
    modes: IntArray
    known: NDArray[np.float32]


def check_config(scheme: AgentConfig) -> None:
    """Refuse numbers that are out of range.

    Raises
    ------
    SpecError : a number of the scheme is.
    """
    for name, (least, most) in RANGES.items():
        if not least <= getattr(scheme, name) <= most:
            raise SpecError(f"scheme: {name} must be from {least} to {most}, got {getattr(scheme, name)}")


@no_refcount
def begin(s: State, c: DecisionState, scheme: AgentConfig) -> None:
    """Open an instant: a kept reservation comes before everything else."""
    place = c.at
    place[PICKED] = place[AHEAD] = place[COUNT] = place[SCANNED] = place[SEEN] = place[SUMMED] = 0
    place[INSTANT] += 1
    holder, promised = place[HOLDER], place[BEGIN]
    place[HOLDER] = place[BEGIN] = -1
    place[LEVEL] = ONE
    if holder < 0 or scheme.keep == 0:
        return
    if fits(s.jobs, holder, s.free):
        i = 0
        while s.queue[i] != holder:
            i += 1
        _pick(s, c, i, RESERVED)
        return
    # If no job ended since the last instant, what it left cannot start now: no more is free, shadow time and extra
    # are as they were, and it is later. Jobs past their walltime move both.
    if s.at[PASSED] == 0 or (s.at[RUNNING] and s.expected[0, 0] <= s.at[NOW]):
        _reserve(s, c, holder)
    else:
        place[HOLDER], place[BEGIN], place[LEVEL], place[SCANNED] = holder, promised, TWO, s.at[PASSED]


@no_refcount
def candidates_of(s: State, c: DecisionState, scheme: AgentConfig) -> int:
    """Fill ``c.candidates`` in queue order; returns how many there are. With none the instant is over.

    What is free only shrinks within an instant, so a job that is out stays out: the search goes on where it stopped.
    """
    place, candidates, queue = c.at, c.candidates, s.queue
    two = place[LEVEL] == TWO
    free_choice = not two and scheme.levels == 2
    count = place[COUNT]
    if not free_choice:
        count = 0
        for i in range(place[COUNT]):
            if _may_start(s, c, queue[candidates[i]]):
                candidates[count] = candidates[i]
                count += 1
    scanned, seen, queued = place[SCANNED], place[SEEN], s.at[QUEUED]
    # With one level the window holds jobs that do not fit, too.
    most = scheme.window if scheme.levels == 1 else NEVER
    if s.free[0] < s.at[SMALLEST] and not free_choice:
        count, queued = 0, scanned
    while count < scheme.window and scanned < queued and seen < most:
        job = queue[scanned]
        if job >= 0:
            seen += 1
            if free_choice or _may_start(s, c, job):
                candidates[count] = scanned
                count += 1
        scanned += 1
    place[SCANNED], place[SEEN], place[COUNT] = scanned, seen, count
    if count == 0:
        place[LEVEL] = OVER
    return int(count)


@no_refcount
def take(s: State, c: DecisionState, scheme: AgentConfig, k: int) -> None:
    """Select the candidate ``k``: it starts, or is the reason for a reservation."""
    place, candidates = c.at, c.candidates
    job = s.queue[candidates[k]]
    if place[LEVEL] == TWO:
        if s.at[NOW] + s.jobs[job, WALLTIME] > place[BEGIN]:
            for r in range(len(c.extra)):
                c.extra[r] -= s.jobs[job, DEMAND + r]
        mode = BACKFILLED
        place[AHEAD] += 1
    else:
        if scheme.head and not fits(s.jobs, job, s.free):
            k = 0  # at level 1 the first candidate is the first of the queue
            job = s.queue[candidates[0]]
        if not fits(s.jobs, job, s.free):
            _reserve(s, c, job)
            place[COUNT] = place[SCANNED] = 0
            return
        mode = RESERVED if s.jobs[job, HELD] else READY
    _pick(s, c, candidates[k], mode)
    place[COUNT] -= 1
    for i in range(k, place[COUNT]):
        candidates[i] = candidates[i + 1]


@no_refcount
def close(queue: IntArray, c: DecisionState) -> None:
    """Make the queue what it was before the instant, with those who start still in it."""
    for k in range(c.at[PICKED]):
        queue[c.picks[k]] = -1 - queue[c.picks[k]]
    c.at[LEVEL] = OVER


@no_refcount
def finish(s: State, c: DecisionState, runtime: IntArray) -> None:
    """Start the selected jobs of an instant that is over."""
    close(s.queue, c)
    launch(s.jobs, s.queue, s.ends, s.at, runtime, c.picks, c.modes, c.at[PICKED])
    s.at[PASSED] = s.at[QUEUED]


@no_refcount
def _may_start(s: State, c: DecisionState, job: int) -> bool:
    if not fits(s.jobs, job, s.free):
        return False
    two, end = c.at[LEVEL] == TWO, s.at[NOW] + s.jobs[job, WALLTIME]
    return not two or end <= c.at[BEGIN] or fits(s.jobs, job, c.extra)


@no_refcount
def _pick(s: State, c: DecisionState, i: int, mode: int) -> None:
    job, place = s.queue[i], c.at
    occupy(s.jobs, s.expected, s.free, s.at, job)
    if place[SUMMED]:
        area = s.jobs[job, DEMAND] * s.jobs[job, WALLTIME]
        place[QUEUED_WORK] -= area
        place[RUNNING_WORK] += area
    c.picks[place[PICKED]] = i
    c.modes[place[PICKED]] = mode
    place[PICKED] += 1
    place[SEEN] -= 1
    s.queue[i] = -1 - job


@no_refcount
def _reserve(s: State, c: DecisionState, job: int) -> None:
    s.jobs[job, HELD] = 1
    c.at[HOLDER] = job
    c.at[BEGIN] = shadow_time(s.jobs, s.expected, s.free, s.at, job, c.extra, True)
    c.at[LEVEL] = TWO
