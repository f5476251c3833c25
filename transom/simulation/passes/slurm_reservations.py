"""Nodes that Slurm reserves for certain jobs, compiled: which may use what, and what will be free when.

Beside the nodes for all jobs and the further resources, the profile of a pass has amounts for each reservation: its
nodes while it lasts, else none, and of these those of each partition whose nodes are counted. A job within a
reservation takes of these amounts alone until the reservation ends, instead of nodes and those of partitions. All other
nodes are those for all, less what is reserved at an instant. Nodes are counted: jobs that end in time are taken
to run on the nodes that are reserved next. Where jobs share nodes, it is known which ones are reserved, and a job
starts now only on nodes that nobody else has reserved before its end.
"""

from __future__ import annotations

from typing import NamedTuple

from transom._system.compiling import no_refcount
from transom.models.arrays import BoolArray, IntArray
from transom.simulation.core.events import DEMAND, NEVER, NOW, RUNNING, WALLTIME, State
from transom.simulation.passes.availability import FREED, Profile, add, clear, earliest
from transom.simulation.passes.service_plan import enter_known, next_instant
from transom.simulation.passes.shared_nodes import SharedNodes, fits_on_nodes

ORDINARY, NONE = -1, -2
"""Instead of the number of a reservation: the nodes for all jobs, and no choice at all."""


class Reserved(NamedTuple):
    """``K`` reservations, ``n`` jobs, and ``P`` amounts that count nodes: those of the machine, then of partitions.

    ``counts`` ``(P,)``: which amounts these are. ``changes`` ``(C, 1 + P + K * P)``, ascending: an instant [s], by how
    much the nodes for all change then, and those of each reservation, each by the amounts that count them. ``end``
    ``(K,)``: of each [s]. ``choices`` ``(n, W)``: what a job may use, in the order in which it is tried: numbers of
    reservations, :data:`ORDINARY`, :data:`NONE` behind the last. ``last`` ``(n,)``: before this instant [s] a job uses
    no other nodes than those of its reservations. ``within`` ``(n,)``: what a running job uses. ``base``
    ``(A + K * P,)``: what is free now, of ``A`` amounts. ``begin`` ``(K,)``: of each reservation [s]; ``nodes``
    ``(K, M)``: which of the nodes that jobs share it has; ``before`` ``(K, K)``: whether jobs of the second keep off
    the nodes of the first.
    """

    counts: IntArray
    changes: IntArray
    end: IntArray
    choices: IntArray
    last: IntArray
    within: IntArray
    base: IntArray
    begin: IntArray
    nodes: BoolArray
    before: BoolArray


@no_refcount
def enter_running(s: State, q: Reserved, profile: Profile, asked: IntArray) -> None:
    """Let the profile know of running jobs, of reservations and of maintenance alone.

    A job past its walltime ends the next second.
    """
    now, width = s.at[NOW], len(q.counts)
    amounts = len(q.base) - len(q.end) * width
    if len(q.end) == 0:
        enter_known(s, profile, asked)
        return
    for r in range(amounts):
        q.base[r] = s.free[r]
    for r in range(amounts, len(q.base)):
        q.base[r] = 0
    coming = 0
    while coming < len(q.changes) and q.changes[coming, 0] <= now:
        _change(q, amounts, asked, coming)
        for r in range(len(q.base)):
            q.base[r] += asked[0, DEMAND + r]
        coming += 1
    for i in range(s.at[RUNNING]):
        job = s.expected[i, 1]
        k = _used(s, q, job)
        if k >= 0:
            for w in range(width):
                q.base[q.counts[w]] += s.jobs[job, DEMAND + q.counts[w]]
                q.base[amounts + k * width + w] -= s.jobs[job, DEMAND + q.counts[w]]
    clear(profile, now, q.base)
    for c in range(coming, len(q.changes)):
        _change(q, amounts, asked, c)
        add(profile, asked, 0, q.changes[c, 0], NEVER, FREED)
    for i in range(s.at[RUNNING]):
        job = s.expected[i, 1]
        k = _used(s, q, job)
        ask(s, q, asked, job, k)
        add(profile, asked, 0, until(q, k, max(s.expected[i, 0], now + 1)), NEVER, FREED)


@no_refcount
def _change(q: Reserved, amounts: int, asked: IntArray, c: int) -> None:
    """Fill ``asked`` with a change of what is reserved."""
    for r in range(amounts):
        asked[0, DEMAND + r] = 0
    width = len(q.counts)
    for w in range(width):
        asked[0, DEMAND + q.counts[w]] = q.changes[c, 1 + w]
    for k in range(len(q.end) * width):
        asked[0, DEMAND + amounts + k] = q.changes[c, 1 + width + k]


@no_refcount
def _used(s: State, q: Reserved, job: int) -> int:
    """The reservation in which a running job is, as long as it lasts."""
    k: int = q.within[job]
    return k if k >= 0 and q.end[k] > s.at[NOW] else ORDINARY


@no_refcount
def until(q: Reserved, k: int, end: int) -> int:
    """Until when a job that ends then holds what it uses: Slurm ends jobs with their reservation."""
    return min(end, q.end[k]) if k >= 0 else end


@no_refcount
def ask(s: State, q: Reserved, asked: IntArray, job: int, k: int) -> None:
    """Fill ``asked`` with what a job takes of the amounts of a profile, if it uses reservation ``k``."""
    amounts, width = len(s.free), len(q.counts)
    asked[0, WALLTIME] = s.jobs[job, WALLTIME]
    for r in range(amounts):
        asked[0, DEMAND + r] = s.jobs[job, DEMAND + r]
    for other in range(len(q.end) * width):
        asked[0, DEMAND + amounts + other] = 0
    if k >= 0:
        for w in range(width):
            asked[0, DEMAND + amounts + k * width + w] = asked[0, DEMAND + q.counts[w]]
            asked[0, DEMAND + q.counts[w]] = 0


@no_refcount
def earliest_of(
    s: State, q: Reserved, profile: Profile, asked: IntArray, shared: SharedNodes, job: int
) -> tuple[int, int]:
    """What a job uses where it starts first, and when that is [s]; ``asked`` and the open nodes are filled for it."""
    now, best, begin = s.at[NOW], ORDINARY, NEVER
    for c in range(q.choices.shape[1]):
        k = q.choices[job, c]
        if k == NONE:
            break
        ask(s, q, asked, job, k)
        if k >= 0 and q.end[k] <= now:
            continue
        start = _earliest_in(q, profile, asked, job, k, now)
        if start == now:
            _open_nodes(s, q, shared, job, k)
            if not fits_on_nodes(shared, job):  # until one ends, or a reservation begins or ends
                start = _earliest_in(
                    q, profile, asked, job, k, min(next_instant(s.expected, s.at, 0, 0), next_change(s, q))
                )
        if start < begin and (k == ORDINARY or start < q.end[k]):
            best, begin = k, start
    ask(s, q, asked, job, best)
    _open_nodes(s, q, shared, job, best)
    return best, begin


@no_refcount
def _earliest_in(q: Reserved, profile: Profile, asked: IntArray, job: int, k: int, now: int) -> int:
    """When a job fits first by numbers if it uses reservation ``k`` [s]."""
    for r in range(len(q.base)):
        if asked[0, DEMAND + r] == 0:
            asked[0, DEMAND + r] = -NEVER  # of this, jobs that outlasted their reservations may hold more than there is
    start = NEVER
    if k == ORDINARY:
        start = earliest(profile, asked, 0, max(now, q.last[job]), NEVER, NEVER)
    else:
        start = earliest(profile, asked, 0, now, q.end[k], q.end[k])
    for r in range(len(q.base)):
        if asked[0, DEMAND + r] == -NEVER:
            asked[0, DEMAND + r] = 0
    return start


@no_refcount
def _open_nodes(s: State, q: Reserved, shared: SharedNodes, job: int, k: int) -> None:
    """Find the nodes on which a job may start now if it uses reservation ``k``."""
    now = s.at[NOW]
    end = until(q, k, now + s.jobs[job, WALLTIME])
    for node in range(len(shared.open)):
        shared.open[node] = k < 0 or q.nodes[k, node]
    if len(shared.open) == 0:
        return
    for other in range(len(q.end)):
        if other != k and q.begin[other] < end and q.end[other] > now and (k < 0 or q.before[other, k]):
            for node in range(len(shared.open)):
                if q.nodes[other, node]:
                    shared.open[node] = False


@no_refcount
def line_of(s: State, q: Reserved, job: int, group: int, groups: int) -> int:
    """Behind whom a job stands: those of its reservation, before that ends, else those of its group."""
    if s.at[NOW] < q.last[job]:
        for c in range(q.choices.shape[1]):
            k: int = q.choices[job, c]
            if k >= 0 and q.end[k] > s.at[NOW]:
                return groups + k
    return group


@no_refcount
def next_change(s: State, q: Reserved) -> int:
    """When a reservation begins or ends next [s], :data:`NEVER` if none does."""
    for c in range(len(q.changes)):
        if q.changes[c, 0] > s.at[NOW]:
            time: int = q.changes[c, 0]
            return time
    return NEVER
