"""Slurm's plan by single nodes, compiled: which nodes a job gets now, and which ones a cycle reserves for when.

Below leaf switches a job gets its nodes as topology/tree chooses them: the smallest leaf with enough of them, else all
of the largest and so on. When a job that does not fit can start is looked for as select/cons_tres does: running jobs
end by their limits, in groups whose windows of time double with each look.

References
----------
Slurm's documentation, Topology Guide; slurm.conf, SchedulerParameters, ``bf_window_linear``.
"""

from __future__ import annotations

from typing import NamedTuple

from transom._system.compiling import inlined, no_refcount
from transom.models.arrays import IntArray
from transom.simulation.core.events import DEMAND, NEVER, RUNNING, WALLTIME, State

WINDOW = 30
"""Length of the first window [s], and the grid on which windows begin."""


class NodePlan(NamedTuple):
    """``M`` nodes on ``L`` leaves, ``n`` jobs, and room for ``D`` reservations; ``M`` is 0 where nodes are counted.

    ``leaf`` ``(L + 1,)``: where the nodes of each leaf begin; ``first`` ``(n + 1,)``: where the nodes of each job begin
    in ``held``: those of a job that runs. ``idle``, ``usable``, ``freed`` ``(M,)``: 1 for nodes on which no job runs,
    that no reservation holds, and that have become free; ``chosen`` ``(M,)``: the nodes that were chosen last;
    ``room`` ``(L,)``. ``begin``, ``end`` ``(D,)`` and ``taken`` ``(D, M)``: the reservations of a cycle, of which there
    are ``made`` ``(1,)``.
    """

    leaf: IntArray
    first: IntArray
    held: IntArray
    idle: IntArray
    usable: IntArray
    freed: IntArray
    chosen: IntArray
    room: IntArray
    begin: IntArray
    end: IntArray
    taken: IntArray
    made: IntArray


@no_refcount
def begin_plan(s: State, p: NodePlan) -> None:
    """Before a pass, find the idle nodes and forget all reservations."""
    if len(p.idle) == 0:
        return
    p.idle[:] = 1
    p.made[0] = 0
    for i in range(s.at[RUNNING]):
        job = s.expected[i, 1]
        for k in range(p.first[job], p.first[job + 1]):
            p.idle[p.held[k]] = 0


@no_refcount
def choose_idle(s: State, p: NodePlan, job: int) -> bool:
    """Choose idle nodes for a job; whether there are enough."""
    return len(p.idle) == 0 or _choose(p, p.idle, s.jobs[job, DEMAND])


@no_refcount
def take_chosen(s: State, p: NodePlan, job: int) -> None:
    """Give a job the nodes that were chosen for it."""
    if len(p.idle) == 0:
        return
    for k in range(s.jobs[job, DEMAND]):
        p.held[p.first[job] + k] = p.chosen[k]
        p.idle[p.chosen[k]] = 0


@no_refcount
def earliest_on_nodes(s: State, p: NodePlan, job: int, now: int, resolution: int) -> int:
    """When a job can start beside the reservations of this cycle, on the nodes that are chosen; NEVER if not."""
    wanted, length, after = s.jobs[job, DEMAND], s.jobs[job, WALLTIME], now
    while True:
        later, usable = NEVER, 0
        p.usable[:] = 1
        for r in range(p.made[0]):
            if p.begin[r] <= after + length and p.end[r] > after:
                for node in range(len(p.usable)):
                    if p.taken[r, node]:
                        p.usable[node] = 0
            for edge in (p.begin[r], p.end[r]):
                if edge > after:
                    later = min(later, edge)
        for node in range(len(p.usable)):
            usable += p.usable[node]
        start = NEVER
        if usable >= wanted:
            start = max(_when_enough(s, p, wanted, now), after)
            if start <= now:
                return now
        if start <= later and start < NEVER and not _overlaps(p, wanted, start, start + length, resolution):
            return start
        if later == NEVER:
            return NEVER
        after = later


@no_refcount
def reserve(s: State, p: NodePlan, job: int, start: int, resolution: int) -> None:
    """Reserve the chosen nodes for a job, in whole steps of the resolution."""
    r = p.made[0]
    p.begin[r] = start // resolution * resolution
    p.end[r] = (start + s.jobs[job, WALLTIME]) // resolution * resolution
    p.taken[r] = 0
    for k in range(s.jobs[job, DEMAND]):
        p.taken[r, p.chosen[k]] = 1
    p.made[0] += 1


@no_refcount
def _when_enough(s: State, p: NodePlan, wanted: int, now: int) -> int:
    """When enough usable nodes are free, which are chosen: after the last end of a group of running jobs."""
    for node in range(len(p.idle)):
        p.freed[node] = p.idle[node] & p.usable[node]
    if _choose(p, p.freed, wanted):
        return now
    i, running, base, window = 0, s.at[RUNNING], -1, WINDOW
    while i < running:
        last = -1
        while i < running:
            end, job = s.expected[i, 0], s.expected[i, 1]
            i += 1
            if not _frees(p, job):
                continue
            if base < 0:
                base = (end // WINDOW + 1) * WINDOW
            last = end
            if i < running and s.expected[i, 0] > base + window:
                break
        if last < 0:
            break
        window *= 2
        while i < running and s.expected[i, 0] > base + window:
            window *= 2
        if _choose(p, p.freed, wanted):
            return max(last, now + 1)
    return NEVER


@no_refcount
def _frees(p: NodePlan, job: int) -> bool:
    """Free the usable nodes of a running job; whether it has any."""
    any_ = False
    for k in range(p.first[job], p.first[job + 1]):
        if p.usable[p.held[k]]:
            p.freed[p.held[k]] = 1
            any_ = True
    return any_


@no_refcount
def _choose(p: NodePlan, among: IntArray, wanted: int) -> bool:
    """Choose so many nodes of some: from the smallest leaf that has enough, else all of the largest, and again."""
    leaves, total = len(p.room), 0
    for leaf in range(leaves):
        p.room[leaf] = 0
        for node in range(p.leaf[leaf], p.leaf[leaf + 1]):
            p.room[leaf] += among[node]
        total += p.room[leaf]
    if total < wanted:
        return False
    count = 0
    while count < wanted:
        best = 0
        for leaf in range(1, leaves):
            if _better(p.room[leaf], p.room[best], wanted - count):
                best = leaf
        p.room[best] = 0
        for node in range(p.leaf[best], p.leaf[best + 1]):
            if among[node] and count < wanted:
                p.chosen[count] = node
                count += 1
    return True


@inlined
def _better(room: int, best: int, wanted: int) -> bool:
    """Whether a leaf with so much room is a better choice than the best so far."""
    if room >= wanted:
        return best < wanted or room < best
    return best < wanted and room > best


@no_refcount
def _overlaps(p: NodePlan, wanted: int, start: int, end: int, resolution: int) -> bool:
    """Whether a reservation holds a chosen node meanwhile."""
    begin, end = start // resolution * resolution, end // resolution * resolution
    for r in range(p.made[0]):
        if p.begin[r] < end and p.end[r] > begin:
            for k in range(wanted):
                if p.taken[r, p.chosen[k]]:
                    return True
    return False
