"""The events of a replay, compiled: job ends, then submissions, all of an instant before one pass.

The state of a replay is a few arrays over jobs in the order of (submission, id); a job is its
position in that order. What a scheduler may know lives in :class:`State`; real runtimes are
handed to :func:`launch` alone, so that no pass can read them.

One matrix row per job, rather than one array per fact: a job's facts share a cache line, and
handing few arrays to a compiled function is what makes calling it cheap.
"""

from __future__ import annotations

from typing import NamedTuple

from transom._system.compiling import no_refcount
from transom.models.arrays import IntArray
from transom.simulation.core.schedule import READY, RESERVED
from transom.simulation.core.timed_jobs import place_of, pop, push

NEVER = 2**62
"""A time that does not come [s]."""

# Columns of State.jobs. Fixed: submission [s], walltime [s], place in the site's order. Changing:
# start and end [s] (-1 before), how and as which the job started, whether it has held a reservation,
# how many of its parents have not ended. Then where its children begin and end, and its demand.
SUBMIT, WALLTIME, RANK, START, END, MODE, ORDER, HELD, PARENTS, CHILDREN, CHILDREN_END, DEMAND = range(12)

# Places in State.at: now, next submission, lengths of queue, running and ends, jobs started so far,
# jobs ended since a pass took note, when the last pass asked to be woken, a number of nodes that no waiting
# job undercuts, how many jobs at the front of the queue the last pass left and nothing helped since,
# and the shadow time of the first of them. Where nodes go out of service: how many changes of what is in service
# are known, how many limits on jobs that run beyond an instant, how many columns of the demand stand for such a
# limit, and whether what was planned does not hold any more. The wait after which a job goes to the head of the queue
# [s], 0 for none, and how many jobs, the first ones, have been submitted so long ago; and the instant from which on
# events are not taken in here [s], 0 for none. Behind the counters stand the changes, as pairs of instant [s] and
# nodes, then the limits, as pairs of instant and nodes (see passes/service_plan.py).
COUNTERS = 18
NOW, NEXT, QUEUED, RUNNING, ENDING, STARTED, ENDED, WAKE, SMALLEST, PASSED, SHADOW = range(11)
CHANGES, LIMITS, LIMITED, REPLAN, MAX_WAIT, DUE, STOP = range(11, COUNTERS)

_MOVES = 32  # of jobs in the queue per job of it, from which on sorting takes less than inserting


class State(NamedTuple):
    """A replay in arrays; ``n`` jobs, ``R`` further resources, all int64.

    ``jobs`` ``(n, DEMAND + 1 + R)``: a row per job, with the demand on nodes and further resources
    at its end; ``queue`` ``(n,)``: the waiting jobs in the site's order; ``ends`` ``(n, 2)``: a binary
    heap of (real end, job); ``expected`` ``(n, 2)``: (start + walltime, job) of the running jobs,
    ascending; ``ended`` ``(n,)``: the jobs that ended since a pass took note; ``free`` ``(1 + R,)``: what is
    free now; ``children``: the jobs that wait for another's end; ``at``: counters, and what is known of nodes that
    will go out of service. Limits that follow from that stand beside the resources, as if they were further ones.
    """

    jobs: IntArray
    queue: IntArray
    ends: IntArray
    expected: IntArray
    ended: IntArray
    free: IntArray
    children: IntArray
    at: IntArray


@no_refcount
def advance(
    jobs: IntArray,
    queue: IntArray,
    ends: IntArray,
    expected: IntArray,
    ended: IntArray,
    free: IntArray,
    children: IntArray,
    at: IntArray,
) -> bool:
    """Take in all events of the next instants until somebody waits; False at the end of the trace, or at ``STOP``."""
    n = len(jobs)
    while True:
        now = NEVER
        if at[ENDING]:
            now = ends[0, 0]
        if at[NEXT] < n:
            now = min(now, jobs[at[NEXT], SUBMIT])
        if at[QUEUED]:
            now = min(now, at[WAKE])
        if now == NEVER or (at[STOP] != 0 and now >= at[STOP]):
            return False
        at[NOW] = now
        at[WAKE] = NEVER
        overtake(jobs, queue, at)
        waited = int(at[QUEUED])
        while at[ENDING] and ends[0, 0] == now:
            job = pop(ends, at[ENDING])
            at[ENDING] -= 1
            _finish(jobs, queue, expected, ended, free, children, at, job)
        while at[NEXT] < n and jobs[at[NEXT], SUBMIT] == now:
            job = at[NEXT]
            at[NEXT] += 1
            if jobs[job, PARENTS] == 0:
                _append(queue, at, job)
        _sort_queue(jobs, queue, at, waited)
        if at[QUEUED]:
            return True


@no_refcount
def advance_to_tick(s: State, period: int, tick: int) -> bool:
    """Take in all events up to the next tick at which somebody waits; False at the end of the trace.

    Ticks are the multiples of ``period`` [s] on the trace's clock; the next one is ``tick`` or, while nobody
    waits, a later one. Where nothing is to come, a tick at which jobs were left waiting was the last.
    """
    jobs, queue, ends, expected, ended, free, children, at = s
    n = len(jobs)
    if at[QUEUED] and at[ENDING] == 0 and at[NEXT] == n:
        return False
    while True:
        coming = NEVER
        if at[ENDING]:
            coming = ends[0, 0]
        if at[NEXT] < n:
            coming = min(coming, jobs[at[NEXT], SUBMIT])
        if at[QUEUED] and coming > tick:
            at[NOW] = tick
            return True
        if not advance(jobs, queue, ends, expected, ended, free, children, at):
            return False
        tick = max(tick, -(-at[NOW] // period) * period)


@no_refcount
def occupy(jobs: IntArray, expected: IntArray, free: IntArray, at: IntArray, job: int) -> None:
    """Give a job its nodes and resources and list it as running until its expected end."""
    for r in range(len(free)):
        free[r] -= jobs[job, DEMAND + r]
    end = at[NOW] + jobs[job, WALLTIME]
    low = place_of(expected, at[RUNNING], end, job)
    for i in range(at[RUNNING], low, -1):
        expected[i, 0] = expected[i - 1, 0]
        expected[i, 1] = expected[i - 1, 1]
    expected[low, 0] = end
    expected[low, 1] = job
    at[RUNNING] += 1


@no_refcount
def launch(
    jobs: IntArray,
    queue: IntArray,
    ends: IntArray,
    at: IntArray,
    runtime: IntArray,
    picks: IntArray,
    modes: IntArray,
    count: int,
) -> None:
    """Start jobs that :func:`occupy` has placed.

    ``picks[:count]`` are their positions in the queue in order of start, ``modes`` how they start.
    """
    if count == 0:
        return
    first = picks[0]
    for k in range(count):
        job = queue[picks[k]]
        queue[picks[k]] = -1
        jobs[job, START] = at[NOW]
        jobs[job, MODE] = modes[k]
        jobs[job, ORDER] = at[STARTED]
        at[STARTED] += 1
        push(ends, at[ENDING], at[NOW] + runtime[job], job)
        at[ENDING] += 1
        first = min(first, picks[k])
    kept = first
    for i in range(first, at[QUEUED]):
        job = queue[i]
        if job >= 0:
            queue[kept] = job
            kept += 1
    at[QUEUED] = kept


@no_refcount
def place(s: State, ids: IntArray, chosen: IntArray, picks: IntArray, modes: IntArray) -> int:
    """Carry out a policy's choice of ids: occupy them, fill ``picks``, and complete ``modes``.

    Returns -1, or the place in ``chosen`` of the first job that is not waiting, or -2 minus the
    place of the first that does not fit.
    """
    jobs, queue, expected, free, at = s.jobs, s.queue, s.expected, s.free, s.at
    for k in range(len(chosen)):
        where = -1
        for i in range(at[QUEUED]):
            if ids[queue[i]] == chosen[k]:
                where = i
                break
        if where < 0:
            return k
        for earlier in range(k):
            if picks[earlier] == where:
                return k
        job = queue[where]
        for r in range(len(free)):
            if jobs[job, DEMAND + r] > free[r]:
                return -2 - k
        picks[k] = where
        if modes[k] == READY and jobs[job, HELD]:
            modes[k] = RESERVED
        occupy(jobs, expected, free, at, job)
    return -1


@no_refcount
def _finish(
    jobs: IntArray,
    queue: IntArray,
    expected: IntArray,
    ended: IntArray,
    free: IntArray,
    children: IntArray,
    at: IntArray,
    job: int,
) -> None:
    jobs[job, END] = at[NOW]
    ended[at[ENDED]] = job
    at[PASSED] = 0
    at[ENDED] += 1
    for r in range(len(free)):
        free[r] += jobs[job, DEMAND + r]
    low = place_of(expected, at[RUNNING], jobs[job, START] + jobs[job, WALLTIME], job)
    at[RUNNING] -= 1
    for i in range(low, at[RUNNING]):
        expected[i, 0] = expected[i + 1, 0]
        expected[i, 1] = expected[i + 1, 1]
    for i in range(jobs[job, CHILDREN], jobs[job, CHILDREN_END]):
        child = children[i]
        jobs[child, PARENTS] -= 1
        # Submissions of this very instant are still to come and will find no parents left.
        if jobs[child, PARENTS] == 0 and child < at[NEXT]:
            _append(queue, at, child)


@no_refcount
def overtake(jobs: IntArray, queue: IntArray, at: IntArray) -> None:
    """Rank the jobs that have waited longer than the bound before all others, first come, first served.

    Negative ranks are theirs. They stand at the head of the queue under a rule whose order changes with time, too.
    """
    if at[MAX_WAIT] == 0:
        return
    n, first, due, moved = len(jobs), at[DUE], at[DUE], 0
    while due < at[NEXT] and at[NOW] - jobs[due, SUBMIT] > at[MAX_WAIT]:
        jobs[due, RANK] = due - n
        moved += jobs[due, START] < 0 and jobs[due, PARENTS] == 0
        due += 1
    at[DUE] = due
    if moved == 0:
        return
    place, found = at[QUEUED], 0
    while place > 0 and jobs[queue[place - 1], RANK] >= first - n:
        place -= 1
        if jobs[queue[place], RANK] < due - n:  # others at the head are due for another reason
            found += 1
        else:
            queue[place + found] = queue[place]
    at[PASSED] = min(at[PASSED], place)
    for job in range(first, due):
        if jobs[job, START] < 0 and jobs[job, PARENTS] == 0:
            queue[place] = job
            place += 1


@no_refcount
def _append(queue: IntArray, at: IntArray, job: int) -> None:
    """Add a job at the end of the queue; :func:`_sort_queue` puts it where it belongs."""
    queue[at[QUEUED]] = job
    at[QUEUED] += 1


@no_refcount
def _sort_queue(jobs: IntArray, queue: IntArray, at: IntArray, sorted_: int) -> None:
    """Bring the queue, of which the first ``sorted_`` jobs are in the site's order, into that order.

    Few jobs are inserted one after another. Where that moves too many, as many jobs of one instant would, the rest is
    sorted as a whole.
    """
    length = int(at[QUEUED])
    if length == sorted_:
        return
    least = NEVER
    for i in range(sorted_, length):
        nodes = jobs[queue[i], DEMAND]
        at[SMALLEST] = min(at[SMALLEST], nodes) if i else nodes
        least = min(least, jobs[queue[i], RANK])
    begin, end = 0, sorted_  # where the first of the new jobs belongs
    while begin < end:
        middle = (begin + end) // 2
        if jobs[queue[middle], RANK] < least:
            begin = middle + 1
        else:
            end = middle
    at[PASSED] = min(at[PASSED], begin)
    moves = _MOVES * (length - begin)
    for new in range(sorted_, length):
        job = queue[new]
        rank = jobs[job, RANK]
        i = new
        while i > begin and jobs[queue[i - 1], RANK] > rank:
            queue[i] = queue[i - 1]
            i -= 1
        queue[i] = job
        moves -= new - i
        if moves < 0:
            _sort(jobs, queue, begin, length)
            return


@no_refcount
def _sort(jobs: IntArray, queue: IntArray, begin: int, end: int) -> None:
    """Sort a part of the queue into the site's order (heapsort)."""
    for top in range(begin + (end - begin) // 2 - 1, begin - 1, -1):
        _sift(jobs, queue, begin, top, end)
    for last in range(end - 1, begin, -1):
        queue[begin], queue[last] = queue[last], queue[begin]
        _sift(jobs, queue, begin, begin, last)


@no_refcount
def _sift(jobs: IntArray, queue: IntArray, begin: int, top: int, end: int) -> None:
    """Let a job sink in a heap of the last one on top, which lies from ``begin`` to before ``end``."""
    job = queue[top]
    while True:
        child = 2 * top - begin + 1
        if child >= end:
            break
        if child + 1 < end and jobs[queue[child + 1], RANK] > jobs[queue[child], RANK]:
            child += 1
        if jobs[queue[child], RANK] < jobs[job, RANK]:
            break
        queue[top] = queue[child]
        top = child
    queue[top] = job


@no_refcount
def reset(s: State, origin: State, runtime: IntArray) -> None:
    """Bring a state back to ``origin``, in which running jobs end as ``runtime`` [s] says, but not before its now.

    ``ends`` of the origin is not read.
    """
    for job in range(len(s.jobs)):
        for k in range(s.jobs.shape[1]):
            s.jobs[job, k] = origin.jobs[job, k]
    for k in range(len(s.at)):
        s.at[k] = origin.at[k]
    for r in range(len(s.free)):
        s.free[r] = origin.free[r]
    for i in range(s.at[QUEUED]):
        s.queue[i] = origin.queue[i]
    for i in range(s.at[RUNNING]):
        job = origin.expected[i, 1]
        s.expected[i, 0], s.expected[i, 1] = origin.expected[i, 0], job
        push(s.ends, i, max(s.jobs[job, START] + runtime[job], s.at[NOW]), job)
    s.at[ENDING] = s.at[RUNNING]


@no_refcount
def end_jobs(s: State) -> None:
    """Take in the ends of an instant."""
    waited = int(s.at[QUEUED])
    while s.at[ENDING] and s.ends[0, 0] == s.at[NOW]:
        job = pop(s.ends, s.at[ENDING])
        s.at[ENDING] -= 1
        _finish(s.jobs, s.queue, s.expected, s.ended, s.free, s.children, s.at, job)
    _sort_queue(s.jobs, s.queue, s.at, waited)


@no_refcount
def submit_jobs(s: State) -> None:
    """Take in the submissions of an instant."""
    overtake(s.jobs, s.queue, s.at)
    waited = int(s.at[QUEUED])
    while s.at[NEXT] < len(s.jobs) and s.jobs[s.at[NEXT], SUBMIT] == s.at[NOW]:
        job = s.at[NEXT]
        s.at[NEXT] += 1
        if s.jobs[job, PARENTS] == 0:
            _append(s.queue, s.at, job)
    _sort_queue(s.jobs, s.queue, s.at, waited)


@no_refcount
def interrupt(s: State, job: int, requeue: bool) -> None:
    """End a running job before its time; with ``requeue`` it waits again, as if it had never started."""
    i, waited = 0, int(s.at[QUEUED])
    while s.ends[i, 1] != job:
        i += 1
    while i > 0:  # to the top of the heap
        s.ends[i, 0], s.ends[i, 1] = s.ends[(i - 1) // 2, 0], s.ends[(i - 1) // 2, 1]
        i = (i - 1) // 2
    s.ends[0, 0], s.ends[0, 1] = -1, job
    pop(s.ends, s.at[ENDING])
    s.at[ENDING] -= 1
    if not requeue:
        _finish(s.jobs, s.queue, s.expected, s.ended, s.free, s.children, s.at, job)
        _sort_queue(s.jobs, s.queue, s.at, waited)
        return
    for r in range(len(s.free)):
        s.free[r] += s.jobs[job, DEMAND + r]
    low = place_of(s.expected, s.at[RUNNING], s.jobs[job, START] + s.jobs[job, WALLTIME], job)
    s.at[RUNNING] -= 1
    for k in range(low, s.at[RUNNING]):
        s.expected[k, 0], s.expected[k, 1] = s.expected[k + 1, 0], s.expected[k + 1, 1]
    s.jobs[job, START] = s.jobs[job, END] = s.jobs[job, ORDER] = -1
    s.jobs[job, HELD] = s.jobs[job, MODE] = 0
    s.at[PASSED] = 0
    _append(s.queue, s.at, job)
    _sort_queue(s.jobs, s.queue, s.at, waited)
