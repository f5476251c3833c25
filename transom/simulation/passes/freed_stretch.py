"""Time in which more became free, entered into the bounds of :mod:`~transom.simulation.passes.stretches`, compiled.

What became free joins what was free before and after it. From it on outwards the room becomes less, step by step; all
classes of requests that end at the same step have the same stretch, so that runs of classes are entered together.
"""

from __future__ import annotations

from transom._system.compiling import inlined, no_refcount
from transom.simulation.core.events import NEVER
from transom.simulation.passes.availability import Profile, block_of, step_of
from transom.simulation.passes.stretches import BELOW, TIME, Stretches, bound


@no_refcount
def enter_stretch(t: Stretches, p: Profile, begin: int, end: int, smallest: int) -> int:
    """More became free in ``[begin, end)``; nobody asks for less than ``smallest`` nodes.

    Returns the most nodes that are free in it.
    """
    low = _least_class(t, smallest)
    # Forward through the freed time: where each class has room first.
    b = block_of(p, begin)
    i = step_of(p, b, begin)
    c, k, time, top, head, peak = b, i, begin, low - 1, low - 1, 0
    while True:
        last_block, last_step = c, k
        level = p.levels[p.row[c], 0, k] + p.due[c, 0]
        if level > peak:
            peak = level
            above = _largest_class(t, level, top)
            if above > top:
                t.since[above, TIME], t.since[above, BELOW] = time, top
                top = above
        if time == begin:
            head = top
        k += 1
        if k == p.size[c]:
            c += 1
            k = 0
            if c == p.number[0]:
                break
        time = p.times[p.row[c], k]
        if time >= end:
            break
    if top < low:
        return peak
    _extend_back(t, p, b, i, low, head)
    _extend(t, p, last_block, last_step, low, top)
    _enter_all(t, low, top)
    return peak


@inlined
def _least_class(t: Stretches, nodes: int) -> int:
    """The first class that asks for so many nodes or more."""
    low, high = 0, len(t.floor)
    while low < high:
        middle = (low + high) // 2
        if t.floor[middle] >= nodes:
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def _largest_class(t: Stretches, nodes: int, low: int) -> int:
    """The last class that asks for so many nodes or fewer; ``low`` is known to be one, or the class before all."""
    high = len(t.floor)
    while high - low > 1:
        middle = (low + high) // 2
        if t.floor[middle] <= nodes:
            low = middle
        else:
            high = middle
    return low


@inlined
def _extend_back(t: Stretches, p: Profile, b: int, i: int, low: int, head: int) -> None:
    """Since when the classes up to ``head`` have the room that they have at step ``i`` of block ``b``."""
    row = p.row[b]
    while head >= low:
        # The steps of this block before step i that have room for the largest class.
        room = t.floor[head] - p.due[b, 0]
        while i > 0 and p.levels[row, 0, i - 1] >= room:
            i -= 1
        if i > 0:
            level = p.levels[row, 0, i - 1] + p.due[b, 0]
        elif b > 0:
            level = p.levels[p.row[b - 1], 0, p.size[b - 1] - 1] + p.due[b - 1, 0]
        else:
            level = -1
        if level >= t.floor[head]:  # on in the block before, of which all may have room
            b -= 1
            row, i = p.row[b], p.size[b]
            if p.low[b, 0] >= t.floor[head]:
                i = 0
            continue
        below = low - 1
        if level >= t.floor[low]:
            below = _largest_class(t, level, low)
        t.since[head, TIME], t.since[head, BELOW] = p.times[row, i], below
        head = below


@inlined
def _extend(t: Stretches, p: Profile, b: int, i: int, low: int, top: int) -> None:
    """Until when the classes up to ``top`` have room, the last of them somewhere before step ``i`` of block ``b``."""
    level, c, k = p.levels[p.row[b], 0, i] + p.due[b, 0], b, i
    tail = low - 1
    if level >= t.floor[low]:
        tail = min(top, _largest_class(t, level, low))
    reached = tail
    while reached < top:
        until = p.times[p.row[c], k]
        k -= 1
        if k < 0:
            c -= 1
            k = p.size[c] - 1
        level = p.levels[p.row[c], 0, k] + p.due[c, 0]
        if t.floor[reached + 1] <= level:
            above = min(top, _largest_class(t, level, reached + 1))
            t.until[above, TIME], t.until[above, BELOW] = until, reached
            reached = above
    i += 1
    while tail >= low:
        row, room = p.row[b], t.floor[tail] - p.due[b, 0]
        while i < p.size[b] and p.levels[row, 0, i] >= room:
            i += 1
        if i == p.size[b]:
            b += 1
            if b == p.number[0]:
                t.until[tail, TIME], t.until[tail, BELOW] = NEVER, low - 1
                break
            i = 0
            if p.low[b, 0] >= t.floor[tail]:
                i = p.size[b]
            continue
        level = p.levels[row, 0, i] + p.due[b, 0]
        below = low - 1
        if level >= t.floor[low]:
            below = _largest_class(t, level, low)
        t.until[tail, TIME], t.until[tail, BELOW] = p.times[row, i], below
        tail = below


@inlined
def _enter_all(t: Stretches, low: int, top: int) -> None:
    """Enter what ``since`` and ``until`` say of the classes from ``low`` to ``top``."""
    since, until = top, top
    while top >= low:
        begin, length = t.since[since, TIME], t.until[until, TIME] - t.since[since, TIME]
        below = max(t.since[since, BELOW], t.until[until, BELOW])
        if length >> t.least_from[below + 1] > 0:
            for c in range(below + 1, top + 1):
                if length >> t.least[c] > 0:
                    bound(t, c, begin, length)
                    t.version[c] += 1  # also where that says no more: bounds are loose for jobs that ask for more
        if t.since[since, BELOW] == below:
            since = below
        if t.until[until, BELOW] == below:
            until = below
        top = below
