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

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import inlined, no_refcount
from transom.models.arrays import IntArray
from transom.simulation.core.events import DEMAND, NEVER, RUNNING, WALLTIME, State

WINDOW = 30
"""Length of the first window [s], and the grid on which windows begin."""

WORD = 64
"""Nodes that a word of a set of nodes has a bit for."""

SAME = 2
"""Where ``made`` says until when nothing changes by time alone."""

START, END, SIZE, BEGIN = 0, 0, 1, 2
"""Columns of reservations: the start or the end [s], nodes, and the start in whole steps of the resolution [s]."""

Words = NDArray[np.uint64]

_ONE, _ALL = np.uint64(1), np.uint64(2**64 - 1)
_PAIRS, _FOURS, _BYTES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_TWO, _FOUR, _LAST, _EACH = np.uint64(2), np.uint64(4), np.uint64(56), np.uint64(0x0101010101010101)


class NodePlan(NamedTuple):
    """``M`` nodes on ``L`` leaves, ``n`` jobs, and room for ``D`` reservations; ``M`` is 0 where nodes are counted.

    Sets of nodes are words of 64 bits, of which there are ``W``.

    ``leaf`` ``(L + 1,)``: where the nodes of each leaf begin; ``first`` ``(n + 1,)``: where the nodes of each job begin
    in ``held``: those of a job that runs. ``idle``, ``usable``, ``freed`` ``(W,)``: nodes on which no job runs, that no
    reservation holds, and that have become free; ``chosen`` ``(M,)`` and ``picked`` ``(W,)``: the nodes that were
    chosen last, as numbers and as a set. ``room`` ``(L,)``: how many of some nodes are below each leaf, by which
    ``order`` ``(L,)`` lists them, the most first; ``places``: where in it those of each number begin. ``slot`` ``(n,)``
    is the row of a running job in ``runs`` ``(M, W)``, the sets of their nodes. ``begin``, ``end`` ``(D,)`` and
    ``taken`` ``(D, W)``: the reservations of a cycle, which ``opened`` ``(D, 3)`` lists by start, ``closed`` ``(D, 2)``
    by end. ``made`` ``(3,)``: how many reservations and running jobs there are, and until when further cycles would
    plan the same if nothing happens [s].
    """

    leaf: IntArray
    first: IntArray
    held: IntArray
    idle: Words
    usable: Words
    freed: Words
    chosen: IntArray
    picked: Words
    room: IntArray
    order: IntArray
    places: IntArray
    slot: IntArray
    runs: Words
    begin: IntArray
    end: IntArray
    taken: Words
    opened: IntArray
    closed: IntArray
    made: IntArray


@inlined
def _bit_of(node: int) -> np.uint64:
    return _ONE << np.uint64(node % WORD)


@inlined
def _ones(word: np.uint64) -> int:
    """How many bits of a word are set."""
    word = word - ((word >> _ONE) & _PAIRS)
    word = (word & _FOURS) + ((word >> _TWO) & _FOURS)
    word = (word + (word >> _FOUR)) & _BYTES
    return int((word * _EACH) >> _LAST)  # the compiler knows this form, and makes one instruction of it


@no_refcount
def begin_plan(s: State, p: NodePlan) -> None:
    """Before a pass, find the idle nodes and forget all reservations."""
    if len(p.idle) == 0:
        return
    nodes = p.leaf[len(p.leaf) - 1]
    for w in range(len(p.idle)):
        p.idle[w] = _part(w, 0, nodes)
    p.made[0], p.made[1], p.made[SAME] = 0, s.at[RUNNING], NEVER
    for i in range(s.at[RUNNING]):
        job = s.expected[i, 1]
        p.slot[job] = i
        p.runs[i] = 0
        for k in range(p.first[job], p.first[job + 1]):
            p.runs[i, p.held[k] // WORD] |= _bit_of(p.held[k])
        for w in range(len(p.idle)):
            p.idle[w] &= ~p.runs[i, w]


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
    p.slot[job] = p.made[1]
    for w in range(len(p.idle)):
        p.runs[p.made[1], w] = p.picked[w]
        p.idle[w] &= ~p.picked[w]
    p.made[1] += 1


@no_refcount
def earliest_on_nodes(s: State, p: NodePlan, job: int, now: int, resolution: int) -> int:
    """When a job can start beside the reservations of this cycle, on the nodes that are chosen; NEVER if not."""
    wanted, length, after = s.jobs[job, DEMAND], s.jobs[job, WALLTIME], now
    nodes, made = p.leaf[len(p.leaf) - 1], p.made[0]
    running, i = 0, s.at[RUNNING]  # nodes of the running jobs from place i on
    for k in range(i):
        running += s.jobs[s.expected[k, 1], DEMAND]
    i, begun, coming, ended, reserved = 0, 0, 0, 0, 0
    while True:
        while coming < made and p.opened[coming, BEGIN] <= after:
            coming += 1
        while begun < made and p.opened[begun, START] <= after:
            reserved += p.opened[begun, SIZE]
            begun += 1
        while ended < made and p.closed[ended, END] <= after:
            reserved -= p.closed[ended, SIZE]
            ended += 1
        later = min(
            p.opened[coming, BEGIN] if coming < made else NEVER, p.closed[ended, END] if ended < made else NEVER
        )
        while i < s.at[RUNNING] and s.expected[i, 0] <= later:
            running -= s.jobs[s.expected[i, 1], DEMAND]
            i += 1
        if after == now:
            p.made[SAME] = min(p.made[SAME], later)
        if wanted > nodes - running - reserved:  # no node is busy after the start of its reservation
            if later == NEVER:
                return NEVER
            after = later
            continue
        for w in range(len(p.usable)):
            p.usable[w] = _part(w, 0, nodes)
        for r in range(made):
            if p.begin[r] <= after + length:
                if p.end[r] > after:
                    for w in range(len(p.usable)):
                        p.usable[w] &= ~p.taken[r, w]
            elif after == now:
                p.made[SAME] = min(p.made[SAME], p.begin[r] - length)
        if _size(p.usable) >= wanted:
            start = max(_when_enough(s, p, wanted, now, later), after)
            if start <= later and start < NEVER:
                _choose(p, p.freed, wanted)
                if start <= now or not _overlaps(p, start, start + length, resolution):
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
    for w in range(len(p.picked)):
        p.taken[r, w] = p.picked[w]
    size, i, k = s.jobs[job, DEMAND], r, r
    while i > 0 and p.opened[i - 1, START] > start:
        for column in range(3):
            p.opened[i, column] = p.opened[i - 1, column]
        i -= 1
    p.opened[i, START], p.opened[i, SIZE], p.opened[i, BEGIN] = start, size, p.begin[r]
    while k > 0 and p.closed[k - 1, END] > p.end[r]:
        for column in range(2):
            p.closed[k, column] = p.closed[k - 1, column]
        k -= 1
    p.closed[k, END], p.closed[k, SIZE] = p.end[r], size
    p.made[0] += 1


@no_refcount
def _when_enough(s: State, p: NodePlan, wanted: int, now: int, latest: int) -> int:
    """When enough usable nodes are free, after the last end of a group of running jobs; NEVER if after ``latest``."""
    for w in range(len(p.idle)):
        p.freed[w] = p.idle[w] & p.usable[w]
    if _size(p.freed) >= wanted:
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
            if last > latest:
                return NEVER
            if i < running and s.expected[i, 0] > base + window:
                break
        if last < 0:
            break
        window *= 2
        while i < running and s.expected[i, 0] > base + window:
            window *= 2
        if _size(p.freed) >= wanted:
            start = max(last, now + 1)
            p.made[SAME] = min(p.made[SAME], start)
            return start
    return NEVER


@no_refcount
def _frees(p: NodePlan, job: int) -> bool:
    """Free the usable nodes of a running job; whether it has any."""
    any_ = np.uint64(0)
    for w in range(len(p.usable)):
        more = p.runs[p.slot[job], w] & p.usable[w]
        p.freed[w] |= more
        any_ |= more
    return bool(any_)


@no_refcount
def _size(nodes: Words) -> int:
    """How many nodes a set has."""
    size = 0
    for w in range(len(nodes)):
        size += _ones(nodes[w])
    return size


@inlined
def _part(w: int, low: int, high: int) -> np.uint64:
    """The bits of a word that stand for nodes from ``low`` to below ``high``, some of which it has."""
    bits = _ALL
    if low > w * WORD:
        bits &= _ALL << np.uint64(low % WORD)
    if high < (w + 1) * WORD:
        bits &= _ALL >> np.uint64((w + 1) * WORD - high)
    return bits


@no_refcount
def _choose(p: NodePlan, among: Words, wanted: int) -> bool:
    """Choose so many nodes of some: from the smallest leaf that has enough, else all of the largest, and again."""
    if _size(among) < wanted:
        return False
    count = 0
    for w in range(len(p.picked)):
        p.picked[w] = 0
    _order_leaves(p, among)
    for k in range(len(p.order)):
        best = p.order[k]
        if p.room[best] >= wanted - count:  # of those with enough, the last in the order have the least
            while k + 1 < len(p.order) and p.room[p.order[k + 1]] >= wanted - count:
                k += 1
                if p.room[p.order[k]] < p.room[best]:
                    best = p.order[k]
        low, high = p.leaf[best], p.leaf[best + 1]
        for w in range(low // WORD, (high - 1) // WORD + 1):
            left = among[w] & _part(w, low, high)
            while left != np.uint64(0) and count < wanted:
                bit = left & (~left + _ONE)
                left ^= bit
                p.picked[w] |= bit
                p.chosen[count] = w * WORD + _ones(bit - _ONE)
                count += 1
        if count == wanted:
            break
    return True


@no_refcount
def _order_leaves(p: NodePlan, among: Words) -> None:
    """Order leaves by how many nodes of a set each has, the most first."""
    for k in range(len(p.places)):
        p.places[k] = 0
    for leaf in range(len(p.room)):
        low, high = p.leaf[leaf], p.leaf[leaf + 1]
        p.room[leaf] = 0
        for w in range(low // WORD, (high - 1) // WORD + 1):
            p.room[leaf] += _ones(among[w] & _part(w, low, high))
        p.places[p.room[leaf]] += 1
    before = 0
    for k in range(len(p.places) - 1, -1, -1):
        before, p.places[k] = before + p.places[k], before
    for leaf in range(len(p.room)):
        p.order[p.places[p.room[leaf]]] = leaf
        p.places[p.room[leaf]] += 1


@no_refcount
def _overlaps(p: NodePlan, start: int, end: int, resolution: int) -> bool:
    """Whether a reservation holds a chosen node meanwhile."""
    begin, end = start // resolution * resolution, end // resolution * resolution
    for r in range(p.made[0]):
        if p.begin[r] < end and p.end[r] > begin:
            for w in range(len(p.picked)):
                if p.taken[r, w] & p.picked[w]:
                    return True
    return False
