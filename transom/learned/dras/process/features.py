"""What the compact network sees of a decision, compiled: a row per candidate, and what all have in common.

Everything lies within -1 to 1 and is made of what a scheduler knows: walltimes, never runtimes. Divisors are constants
of the machine, not of the trace: its nodes N and the walltime T of the scheme
(:class:`~transom.learned.dras.process.process. Scheme`). Further resources count where it is asked whether a job fits;
shares and areas are of nodes alone.
"""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom.learned.dras.process.process import (
    BEGIN,
    COUNT,
    HOLDER,
    LEVEL,
    PICKED,
    QUEUED_WORK,
    RUNNING_WORK,
    SUMMED,
    TWO,
    AgentConfig,
    DecisionState,
)
from transom.models.arrays import IntArray, SingleArray
from transom.simulation.core.events import DEMAND, NOW, QUEUED, RUNNING, SUBMIT, WALLTIME, State
from transom.simulation.passes.easy_backfill import fits

SCHEMA = "dras-compact/1"
"""Name and version of these observations; a change of what they hold needs another version."""

FEATURES = (
    "size",  # nodes n / N
    "log-size",  # log(1 + n) / log(1 + N)
    "walltime",  # walltime t / T, at most 1
    "log-walltime",  # log(1 + t) / log(1 + T), at most 1
    "log-area",  # log(1 + n t) / log(1 + N T), at most 1
    "log-wait",  # log(1 + wait w / 60 s) / log(1 + 30 days / 60 s), at most 1
    "relative-wait",  # w / (longest w of the candidates), 0 if nobody waited
    "slowdown",  # w / (w + t)
    "place",  # place in the queue from its front / jobs in the queue
    "fits",  # 1 if it fits now
    "share-of-free",  # n / free nodes, at most 1
    "left-free",  # (free nodes - n) / N, 0 if it does not fit
    "in-time",  # level 2: 1 if it ends by the shadow time
    "fits-extra",  # level 2: 1 if it fits beside the reserved job
    "share-of-extra",  # level 2: n / extra nodes, at most 1
    "slack",  # level 2: (shadow time - now - t) / T, within -1 and 1
    "shortest",  # (shortest t of the candidates) / t
    "smallest",  # (smallest n) / n
    "least-area",  # (least n t) / (n t)
    "rank-walltime",  # share of candidates with a shorter t
    "rank-size",  # share of candidates with a smaller n
    "rank-area",  # share of candidates with a smaller n t
    "long-wait",  # w / 14 days, at most 1: the logarithm hardly tells a wait of ten days from one of five
    "soonest",  # level 1: (earliest instant with n nodes free by expected ends - now) / T, at most 1; 0 if it fits
)
"""Features of a candidate, in order; units are stated beside them in the source, all are ratios."""

CONTEXT = (
    "free",  # free nodes / N
    "log-queue",  # log(1 + waiting jobs) / log(1 + 1000), at most 1
    "candidates",  # candidates / W
    "fitting",  # share of candidates that fit now
    "queued-work",  # x / (1 + x), x = node-seconds of the waiting jobs by walltime / (N T)
    "running-work",  # node-seconds that running jobs still have by walltime / (N T), at most 1
    "next-end",  # (next expected end - now) / T, at most 1; 1 on an empty machine
    "level-2",  # 1 at level 2
    "shadow",  # level 2: (shadow time - now) / T, at most 1
    "extra",  # level 2: extra nodes / N
    "reserved-size",  # level 2: nodes of the reserved job / N
    "longest-wait",  # log-wait of the candidate that has waited longest
    "oldest",  # long-wait of that candidate
)
"""What all candidates have in common, in order, all ratios."""

_LOG_WAIT = np.log1p(30 * 86_400 / 60)
_LONG_WAIT = 14 * 86_400.0
_LOG_QUEUE = np.log1p(1000.0)


@compiled
def known_of(jobs: IntArray, priority: IntArray, nodes: int, longest: int) -> SingleArray:
    """What never changes about a job, float32, shape ``(jobs, 6)``: its first five features, and 1 if it is urgent.

    That is a site's priority > 0, for the paper's state; unknown is not urgent.
    """
    known = np.empty((len(jobs), 6), np.float32)
    log_nodes, log_longest = np.log1p(np.float64(nodes)), np.log1p(np.float64(longest))
    log_area = np.log1p(np.float64(nodes) * longest)
    for job in range(len(jobs)):
        n, t = np.float64(jobs[job, DEMAND]), np.float64(jobs[job, WALLTIME])
        known[job, 0] = n / nodes
        known[job, 1] = np.log1p(n) / log_nodes
        known[job, 2] = min(t / longest, 1.0)
        known[job, 3] = min(np.log1p(t) / log_longest, 1.0)
        known[job, 4] = min(np.log1p(n * t) / log_area, 1.0)
        known[job, 5] = 1.0 if priority[job] > 0 else 0.0
    return known


@compiled
def observe(
    s: State, c: DecisionState, scheme: AgentConfig, nodes: int, features: SingleArray, context: SingleArray
) -> None:
    """Fill ``features[:count]`` and ``context`` for the candidates of a decision.

    Parameters
    ----------
    s, c : of the replay, and where the process stands.
    scheme, nodes : how the agent schedules, and the nodes of the machine.
    features : float32, shape ``(at least count, len(FEATURES))``.
    context : float32, shape ``(len(CONTEXT),)``.
    """
    jobs, queue, _, expected, _, free, _, at = s
    place, extra, candidates, _, _, known = c
    count, now, two = place[COUNT], at[NOW], place[LEVEL] == TWO
    machine, span, idle, spare = np.float64(nodes), np.float64(scheme.longest), np.float64(free[0]), 0.0
    if two:
        spare = np.float64(extra[0])
    least_n, least_t, least_area, most_wait = np.inf, np.inf, np.inf, 0.0
    sizes, times = np.empty(count, np.float64), np.empty(count, np.float64)
    for k in range(count):
        job = queue[candidates[k]]
        sizes[k], times[k] = jobs[job, DEMAND], jobs[job, WALLTIME]
        least_n, least_t = min(least_n, sizes[k]), min(least_t, times[k])
        least_area = min(least_area, sizes[k] * times[k])
        most_wait = max(most_wait, np.float64(now - jobs[job, SUBMIT]))
    running = 0 if two else at[RUNNING]
    free_then = np.empty(running, np.int64)  # by the expected ends, one after another
    total = free[0]
    for i in range(running):
        total += jobs[expected[i, 1], DEMAND]
        free_then[i] = total
    fitting = 0
    for k in range(count):
        job = queue[candidates[k]]
        n, t = sizes[k], times[k]
        wait = np.float64(now - jobs[job, SUBMIT])
        row = features[k]
        for f in range(5):
            row[f] = known[job, f]
        row[5] = min(np.log1p(wait / 60) / _LOG_WAIT, 1.0)
        row[6] = wait / most_wait if most_wait > 0 else 0.0
        row[7] = wait / (wait + t)
        row[8] = candidates[k] / at[QUEUED]
        if fits(jobs, job, free):
            fitting += 1
            row[9], row[10], row[11] = 1.0, n / idle, (idle - n) / machine
        else:
            row[9], row[11] = 0.0, 0.0
            row[10] = min(n / idle, 1.0) if idle > 0 else 1.0
        if two:
            row[12] = 1.0 if now + jobs[job, WALLTIME] <= place[BEGIN] else 0.0
            row[13] = 1.0 if fits(jobs, job, extra) else 0.0
            row[14] = min(n / spare, 1.0) if spare > 0 else 1.0
            row[15] = min(max((place[BEGIN] - now - t) / span, -1.0), 1.0)
        else:
            row[12], row[13], row[14], row[15] = 0.0, 0.0, 0.0, 0.0
        row[16], row[17], row[18] = least_t / t, least_n / n, least_area / (n * t)
        shorter, smaller, less = 0, 0, 0
        for i in range(count):
            shorter += times[i] < t
            smaller += sizes[i] < n
            less += sizes[i] * times[i] < n * t
        row[19], row[20], row[21] = shorter / count, smaller / count, less / count
        row[22], row[23] = min(wait / _LONG_WAIT, 1.0), 0.0
        if n > idle and running:
            ends = min(np.searchsorted(free_then, np.int64(n)), running - 1)
            row[23] = min(max(expected[ends, 0] - now, 1) / span, 1.0)
    _add_up(jobs, queue, expected, at, place)
    work = place[QUEUED_WORK] / (machine * span)
    context[0] = idle / machine
    context[1] = min(np.log1p(np.float64(at[QUEUED] - place[PICKED])) / _LOG_QUEUE, 1.0)
    context[2] = count / scheme.window
    context[3] = fitting / count
    context[4] = work / (1 + work)
    context[5] = min(place[RUNNING_WORK] / (machine * span), 1.0)
    context[6] = min(max(expected[0, 0] - now, 1) / span, 1.0) if at[RUNNING] else 1.0
    if two:
        context[7], context[8] = 1.0, min((place[BEGIN] - now) / span, 1.0)
        context[9], context[10] = spare / machine, jobs[place[HOLDER], DEMAND] / machine
    else:
        context[7], context[8], context[9], context[10] = 0.0, 0.0, 0.0, 0.0
    context[11] = min(np.log1p(most_wait / 60) / _LOG_WAIT, 1.0)
    context[12] = min(most_wait / _LONG_WAIT, 1.0)


@compiled
def _add_up(jobs: IntArray, queue: IntArray, expected: IntArray, at: IntArray, place: IntArray) -> None:
    # Once in an instant: what is selected afterwards is moved from one sum to the other.
    if place[SUMMED]:
        return
    queued, running = 0, 0
    for i in range(at[QUEUED]):
        if queue[i] >= 0:
            queued += jobs[queue[i], DEMAND] * jobs[queue[i], WALLTIME]
    for i in range(at[RUNNING]):
        running += jobs[expected[i, 1], DEMAND] * max(expected[i, 0] - at[NOW], 1)
    place[QUEUED_WORK], place[RUNNING_WORK], place[SUMMED] = queued, running, 1
