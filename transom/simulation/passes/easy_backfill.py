"""One pass without or with EASY backfilling, compiled; it sees walltimes, never runtimes."""

from __future__ import annotations

from typing import NamedTuple

from transom._system.compiling import no_refcount
from transom.models.arrays import IntArray
from transom.simulation.core.events import (
    CHANGES,
    DEMAND,
    HELD,
    NEVER,
    NOW,
    PASSED,
    QUEUED,
    RUNNING,
    SHADOW,
    SMALLEST,
    WALLTIME,
    occupy,
)
from transom.simulation.core.schedule import BACKFILLED, READY, RESERVED
from transom.simulation.passes.service_plan import shadow_beside_maintenance


class Starts(NamedTuple):
    """What a pass fills in: queue positions of the jobs that start, and how they start, ``(n,)`` each."""

    picks: IntArray
    modes: IntArray


@no_refcount
def plain_pass(
    jobs: IntArray, queue: IntArray, expected: IntArray, free: IntArray, at: IntArray, picks: IntArray, modes: IntArray
) -> int:
    """Start jobs in queue order until one does not fit; returns how many."""
    count = 0
    for i in range(at[QUEUED]):
        job = queue[i]
        if not fits(jobs, job, free):
            break
        occupy(jobs, expected, free, at, job)
        picks[count] = i
        modes[count] = RESERVED if jobs[job, HELD] else READY
        count += 1
    return count


@no_refcount
def easy_pass(
    jobs: IntArray,
    queue: IntArray,
    expected: IntArray,
    free: IntArray,
    at: IntArray,
    starts: Starts,
    extra: IntArray,
    service: bool | None,
) -> tuple[int, int, int, int]:
    """Start the queue's head while it fits; then backfill around a reservation for it.

    The head's reservation is the shadow time, the earliest instant at which it fits by the expected
    ends of the running jobs. The others start in queue order if they fit now and either end by
    the shadow time or fit into the extra nodes (and further resources) that are left beside the
    head at that instant (Mu'alem and Feitelson, TPDS 2001, section 2).

    Parameters
    ----------
    jobs, queue, expected, free, at : of the state; the jobs that start are placed in it.
    starts : filled.
    extra : what is left beside the head at its shadow time, kept from pass to pass,
        shape ``(1 + resources,)``.
    service : as of :func:`shadow_time`.

    Returns
    -------
    (number of starts, number of backfilled among them, the job that holds the reservation or -1,
    its shadow time or -1)
    """
    # What the last pass left cannot start now if no job ended since: no more is free, shadow time
    # and extra are as they were, and it is later. Jobs past their walltime move both.
    if at[RUNNING] and expected[0, 0] <= at[NOW]:
        at[PASSED] = 0
    picks, modes = starts.picks, starts.modes
    count = 0
    if at[PASSED] == 0:
        count = plain_pass(jobs, queue, expected, free, at, picks, modes)
        if count == at[QUEUED]:
            return count, 0, -1, -1
        jobs[queue[count], HELD] = 1
        at[SHADOW] = shadow_time(jobs, expected, free, at, queue[count], extra, service)
    head = queue[count]
    shadow = at[SHADOW]
    heads = count
    for i in range(max(heads + 1, at[PASSED]), at[QUEUED]):
        if free[0] < at[SMALLEST]:
            break
        job = queue[i]
        if not fits(jobs, job, free):
            continue
        if at[NOW] + jobs[job, WALLTIME] > shadow:
            if not fits(jobs, job, extra):
                continue
            for r in range(len(extra)):
                extra[r] -= jobs[job, DEMAND + r]
        occupy(jobs, expected, free, at, job)
        picks[count] = i
        modes[count] = BACKFILLED
        count += 1
    at[PASSED] = at[QUEUED] - count
    return count, count - heads, head, shadow


@no_refcount
def shadow_time(
    jobs: IntArray,
    expected: IntArray,
    free: IntArray,
    at: IntArray,
    head: int,
    extra: IntArray,
    service: bool | None,
) -> int:
    """The earliest instant at which ``head`` fits by expected ends; ``extra`` is filled with the rest.

    A job that outran its walltime is expected to end the next second. Where nodes are out of service, so that the
    head does not fit even when all have ended, that is never. ``service`` is None where no node ever goes out of
    service: what plans around that is not compiled then.
    """
    if service is not None:  # noqa: SIM102  (the compiler leaves out what follows by this line alone)
        if at[CHANGES] > 0:
            return shadow_beside_maintenance(jobs, expected, free, at, head, extra)
    for r in range(len(extra)):
        extra[r] = free[r]
    now = at[NOW]
    shadow = now
    i = 0
    while not fits(jobs, head, extra):
        if i == at[RUNNING]:
            shadow = NEVER
            break
        # All jobs that are expected to end at one instant count before the extra is taken.
        shadow = max(expected[i, 0], now + 1)
        while i < at[RUNNING] and max(expected[i, 0], now + 1) == shadow:
            for r in range(len(extra)):
                extra[r] += jobs[expected[i, 1], DEMAND + r]
            i += 1
    for r in range(len(extra)):
        extra[r] -= jobs[head, DEMAND + r]
    return int(shadow)


@no_refcount
def fits(jobs: IntArray, job: int, amount: IntArray) -> bool:
    """Whether a job's demand on nodes and every further resource is within ``amount``."""
    for r in range(len(amount)):  # noqa: SIM110  (a generator is slower when compiled)
        if jobs[job, DEMAND + r] > amount[r]:
            return False
    return True
