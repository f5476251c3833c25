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

Words = NDArray[np.uint64]

_ONE, _ALL = np.uint64(1), np.uint64(2**64 - 1)
_PAIRS, _FOURS, _BYTES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_TWO, _FOUR, _EIGHT, _SIXTEEN, _HALF = np.uint64(2), np.uint64(4), np.uint64(8), np.uint64(16), np.uint64(32)
_COUNT = np.uint64(127)


class NodePlan(NamedTuple):
    """``M`` nodes on ``L`` leaves, ``n`` jobs, and room for ``D`` reservations; ``M`` is 0 where nodes are counted.

    Sets of nodes are words of 64 bits, of which there are ``W``.

    ``leaf`` ``(L + 1,)``: where the nodes of each leaf begin; ``first`` ``(n + 1,)``: where the nodes of each job begin
    in ``held``: those of a job that runs. ``idle``, ``usable``, ``freed`` ``(W,)``: nodes on which no job runs, that no
    reservation holds, and that have become free; ``chosen`` ``(M,)`` and ``picked`` ``(W,)``: the nodes that were
    chosen last, as numbers and as a set; ``room`` ``(L,)``. ``slot`` ``(n,)``: the row of a running job in ``runs``
    ``(M, W)``, the sets of their nodes. ``begin``, ``end`` ``(D,)`` and ``taken`` ``(D, W)``: the reservations of a
    cycle. ``made`` ``(3,)``: how many reservations and running jobs there are, and until when further cycles would plan
    the same if nothing happens [s].
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
    slot: IntArray
    runs: Words
    begin: IntArray
    end: IntArray
    taken: Words
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
    word = word + (word >> _EIGHT)
    word = word + (word >> _SIXTEEN)
    return int((word + (word >> _HALF)) & _COUNT)


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
    nodes, least = p.leaf[len(p.leaf) - 1], _least(s, p, wanted, now)
    while True:
        later = NEVER
        for r in range(p.made[0]):
            if p.begin[r] > after:
                later = min(later, p.begin[r])
            if p.end[r] > after:
                later = min(later, p.end[r])
        if after == now:
            p.made[SAME] = min(p.made[SAME], later)
        if least > later:  # too few nodes are free before that, reserved or not
            after = later
            continue
        for w in range(len(p.usable)):
            p.usable[w] = _part(w, 0, nodes)
        for r in range(p.made[0]):
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
def _least(s: State, p: NodePlan, wanted: int, now: int) -> int:
    """When so many nodes are free at the earliest, reserved or not."""
    free = _size(p.idle)
    for i in range(s.at[RUNNING]):
        if free >= wanted:
            return now if i == 0 else max(s.expected[i - 1, 0], now)
        free += s.jobs[s.expected[i, 1], DEMAND]
    return now if s.at[RUNNING] == 0 else max(s.expected[s.at[RUNNING] - 1, 0], now)


@no_refcount
def reserve(s: State, p: NodePlan, job: int, start: int, resolution: int) -> None:
    """Reserve the chosen nodes for a job, in whole steps of the resolution."""
    r = p.made[0]
    p.begin[r] = start // resolution * resolution
    p.end[r] = (start + s.jobs[job, WALLTIME]) // resolution * resolution
    for w in range(len(p.picked)):
        p.taken[r, w] = p.picked[w]
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
    leaves, count = len(p.room), 0
    for leaf in range(leaves):
        low, high = p.leaf[leaf], p.leaf[leaf + 1]
        p.room[leaf] = 0
        for w in range(low // WORD, (high - 1) // WORD + 1):
            p.room[leaf] += _ones(among[w] & _part(w, low, high))
    for w in range(len(p.picked)):
        p.picked[w] = 0
    while count < wanted:
        best = 0
        for leaf in range(1, leaves):
            if _better(p.room[leaf], p.room[best], wanted - count):
                best = leaf
        p.room[best] = 0
        low, high = p.leaf[best], p.leaf[best + 1]
        for w in range(low // WORD, (high - 1) // WORD + 1):
            left = among[w] & _part(w, low, high)
            while left != np.uint64(0) and count < wanted:
                bit = left & (~left + _ONE)
                left ^= bit
                p.picked[w] |= bit
                p.chosen[count] = w * WORD + _ones(bit - _ONE)
                count += 1
    return True


@inlined
def _better(room: int, best: int, wanted: int) -> bool:
    """Whether a leaf with so much room is a better choice than the best so far."""
    if room >= wanted:
        return best < wanted or room < best
    return best < wanted and room > best


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
