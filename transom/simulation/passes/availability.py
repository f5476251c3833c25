"""The availability profile of deep queues, compiled: what will be free when, in blocks of steps.

A profile is a list of steps: from its time until that of the next one a step's amounts are free; the last one lasts
for ever, and neighbours differ. The steps stand in blocks of at most :data:`WIDTH`, found by bisection. A block
knows the least and the most that is free in it and what is still to be added to all its steps, so that changing a
stretch and searching it touch the steps of few blocks: all others are taken or left as a whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import inlined, no_refcount
from transom.models.arrays import IntArray
from transom.simulation.core.events import DEMAND, NEVER, WALLTIME

WIDTH = 64
"""Steps in a block at most."""

TAKEN, FREED = np.array((-1, 1))
"""Signs of :func:`add`.

For each Python number that is handed over, the compiler makes code of its own.
"""

_FIRST, _ONE = np.array((0, 1))
"""The first block or step, and one of them, likewise."""


class Profile(NamedTuple):
    """Blocks in the order of time; ``A`` amounts: nodes, then further resources.

    ``row[b]``: where the steps of block ``b`` are stored; ``size``, ``first``: how many they are and when the first
    one begins [s]; ``due``, ``low``, ``high``, shape ``(blocks, A)``: what is to be added to its levels, and
    the least and most of them with that. ``times`` ``(rows, WIDTH)`` and ``levels`` ``(rows, A, WIDTH)`` are
    the steps. ``spare``: the rows that no block has; ``number``: how many blocks and spare rows there are.
    """

    times: IntArray
    levels: IntArray
    row: IntArray
    size: IntArray
    first: IntArray
    due: IntArray
    low: IntArray
    high: IntArray
    spare: IntArray
    number: IntArray


def new_profile(free: IntArray, steps: int) -> Profile:
    """A profile of one step, with room for ``steps``; rows that are never used take no memory."""
    # Two neighbours that would fill half a block are joined, so blocks are filled to a quarter in the mean.
    rows, amounts = 4 * steps // WIDTH + 4, len(free)
    made = Profile(
        times=np.empty((rows, WIDTH), np.int64),
        levels=np.empty((rows, amounts, WIDTH), np.int64),
        row=np.empty(rows, np.int64),
        size=np.empty(rows, np.int64),
        first=np.empty(rows, np.int64),
        due=np.empty((rows, amounts), np.int64),
        low=np.empty((rows, amounts), np.int64),
        high=np.empty((rows, amounts), np.int64),
        spare=np.arange(rows)[::-1].copy(),
        number=np.array([0, rows]),
    )
    clear(made, -NEVER, free)
    return made


@no_refcount
def clear(p: Profile, time: int, free: IntArray) -> None:
    """From ``time`` on ``free`` is free for ever."""
    for b in range(p.number[0]):
        p.spare[p.number[1]] = p.row[b]
        p.number[1] += 1
    p.number[1] -= 1
    p.number[0] = 1
    row = p.spare[p.number[1]]
    p.row[0], p.size[0], p.first[0], p.times[row, 0] = row, 1, time, time
    for r in range(len(free)):
        p.levels[row, r, 0] = p.low[0, r] = p.high[0, r] = free[r]
        p.due[0, r] = 0


@no_refcount
def trim(p: Profile, now: int) -> None:
    """Forget all that lies before ``now``."""
    b = block_of(p, now)
    if b > 0:
        for c in range(b):
            p.spare[p.number[1]] = p.row[c]
            p.number[1] += 1
        _move_blocks(p, b, _FIRST)
    i = step_of(p, _FIRST, now)
    if i > 0:
        _remove_steps(p, _FIRST, _FIRST, i)
        _measure(p, _FIRST)
    p.times[p.row[0], 0] = p.first[0] = now


@no_refcount
def add(p: Profile, jobs: IntArray, job: int, begin: int, end: int, sign: int) -> None:
    """Add ``sign`` times what a job asks for on ``[begin, end)``."""
    if end <= begin:
        return
    _cut(p, end)
    _cut(p, begin)
    b = block_of(p, begin)
    c = b if b + 1 == p.number[0] or p.first[b + 1] > end else block_of(p, end)
    i, k = step_of(p, b, begin), step_of(p, c, end)
    for r in range(p.low.shape[1]):
        amount = sign * jobs[job, DEMAND + r]
        if amount == 0:
            continue
        row = p.row[b]
        for j in range(i, k if b == c else p.size[b]):
            p.levels[row, r, j] += amount
        if b < c:
            for other in range(b + 1, c):
                p.due[other, r] += amount
                p.low[other, r] += amount
                p.high[other, r] += amount
            row = p.row[c]
            for j in range(k):
                p.levels[row, r, j] += amount
    _measure(p, b)
    if b < c and k > 0:
        _measure(p, c)
    blocks = p.number[0]
    _join(p, c, k)
    if p.number[0] < blocks:
        b = block_of(p, begin)
        i = step_of(p, b, begin)
    _join(p, b, i)


@no_refcount
def earliest(p: Profile, jobs: IntArray, job: int, after: int, limit: int, own: int) -> int:
    """The earliest start from ``after`` on, before ``limit``, at which a job fits for its time; ``limit`` if none.

    ``after`` must not lie before the profile. From ``own`` on the job has room already (:data:`NEVER` if it has not).
    """
    length = jobs[job, WALLTIME]
    blocks = p.number[0]
    b = block_of(p, after)
    i = step_of(p, b, after)
    begin = -1
    while b < blocks:
        row = p.row[b]
        time = max(p.times[row, i], after)
        if begin >= 0 and (time - begin >= length or time >= own):
            return begin
        if begin < 0 and time >= limit:
            return limit
        fit = fit_of_block(p, jobs, job, b)
        if fit < 0:
            begin = -1
        elif fit > 0:
            if begin < 0:
                begin = time
        else:
            for j in range(i, p.size[b]):
                if fits_step(p, jobs, job, b, row, j):
                    if begin < 0:
                        begin = max(p.times[row, j], after)
                        if begin >= limit:
                            return limit
                elif begin >= 0:
                    time = p.times[row, j]
                    if time - begin >= length or time >= own:
                        return begin
                    begin = -1
        b += 1
        i = 0
    return begin if begin >= 0 else limit


@inlined
def fit_of_block(p: Profile, jobs: IntArray, job: int, b: int) -> int:
    """1 if a job fits at every step of a block, -1 if at none, 0 if that is not known."""
    always = 1
    for r in range(p.low.shape[1]):
        amount = jobs[job, DEMAND + r]
        if amount > p.high[b, r]:
            return -1
        if amount > p.low[b, r]:
            always = 0
    return always


@inlined
def fits_step(p: Profile, jobs: IntArray, job: int, b: int, row: int, j: int) -> bool:
    """Whether a job fits at step ``j`` of block ``b``, which is stored at ``row``."""
    for r in range(p.low.shape[1]):  # noqa: SIM110  (a generator is slower when compiled)
        if jobs[job, DEMAND + r] > p.levels[row, r, j] + p.due[b, r]:
            return False
    return True


@inlined
def block_of(p: Profile, time: int) -> int:
    """The block that holds the step of an instant."""
    low, high = 0, p.number[0]
    while high - low > 1:
        middle = (low + high) // 2
        if p.first[middle] <= time:
            low = middle
        else:
            high = middle
    return low


@inlined
def step_of(p: Profile, b: int, time: int) -> int:
    """The last step of a block that begins at ``time`` or before."""
    row = p.row[b]
    low, high = 0, p.size[b]
    while high - low > 1:
        middle = (low + high) // 2
        if p.times[row, middle] <= time:
            low = middle
        else:
            high = middle
    return low


@inlined
def _cut(p: Profile, time: int) -> None:
    """Have a step begin at ``time``."""
    b = block_of(p, time)
    i = step_of(p, b, time)
    if p.times[p.row[b], i] == time:
        return
    if p.size[b] == WIDTH:
        _split(p, b)
        if i >= p.size[b]:
            i -= p.size[b]
            b += 1
    row = p.row[b]
    for j in range(p.size[b], i + 1, -1):
        p.times[row, j] = p.times[row, j - 1]
    p.times[row, i + 1] = time
    for r in range(p.low.shape[1]):
        for j in range(p.size[b], i, -1):
            p.levels[row, r, j] = p.levels[row, r, j - 1]
    p.size[b] += 1


@inlined
def _join(p: Profile, b: int, i: int) -> None:
    """Remove step ``i`` of block ``b`` if it equals the one before."""
    if b == 0 and i == 0:
        return
    c, k = (b, i - 1) if i else (b - 1, p.size[b - 1] - 1)
    for r in range(p.low.shape[1]):
        if p.levels[p.row[b], r, i] + p.due[b, r] != p.levels[p.row[c], r, k] + p.due[c, r]:
            return
    _remove_steps(p, b, i, _ONE)
    if p.size[b] == 0:
        _free(p, b)
        return
    if i == 0:
        _measure(p, b)
    if 4 * p.size[b] < WIDTH:
        if b + 1 < p.number[0] and 2 * (p.size[b] + p.size[b + 1]) <= WIDTH:
            _merge(p, b)
        elif b and 2 * (p.size[b - 1] + p.size[b]) <= WIDTH:
            _merge(p, b - 1)


@inlined
def _remove_steps(p: Profile, b: int, i: int, count: int) -> None:
    row, size = p.row[b], p.size[b] - count
    for j in range(i, size):
        p.times[row, j] = p.times[row, j + count]
    for r in range(p.low.shape[1]):
        for j in range(i, size):
            p.levels[row, r, j] = p.levels[row, r, j + count]
    p.size[b] = size
    p.first[b] = p.times[row, 0]


@no_refcount
def _measure(p: Profile, b: int) -> None:
    """Bring the least and the most of a block up to date."""
    row = p.row[b]
    for r in range(p.low.shape[1]):
        low = high = p.levels[row, r, 0]
        for j in range(1, p.size[b]):
            low = min(low, p.levels[row, r, j])
            high = max(high, p.levels[row, r, j])
        p.low[b, r], p.high[b, r] = low + p.due[b, r], high + p.due[b, r]


@no_refcount
def _split(p: Profile, b: int) -> None:
    _move_blocks(p, b + 1, b + 2)
    p.number[1] -= 1
    new, row, half = p.spare[p.number[1]], p.row[b], p.size[b] // 2
    p.row[b + 1], p.size[b + 1] = new, p.size[b] - half
    for j in range(p.size[b + 1]):
        p.times[new, j] = p.times[row, half + j]
    for r in range(p.low.shape[1]):
        p.due[b + 1, r] = p.due[b, r]
        for j in range(p.size[b + 1]):
            p.levels[new, r, j] = p.levels[row, r, half + j]
    p.size[b] = half
    p.first[b + 1] = p.times[new, 0]
    _measure(p, b)
    _measure(p, b + 1)


@no_refcount
def _merge(p: Profile, b: int) -> None:
    """Append the steps of block ``b + 1`` to block ``b``."""
    row, other, size = p.row[b], p.row[b + 1], p.size[b]
    for j in range(p.size[b + 1]):
        p.times[row, size + j] = p.times[other, j]
    for r in range(p.low.shape[1]):
        more = p.due[b + 1, r] - p.due[b, r]
        for j in range(p.size[b + 1]):
            p.levels[row, r, size + j] = p.levels[other, r, j] + more
        p.low[b, r] = min(p.low[b, r], p.low[b + 1, r])
        p.high[b, r] = max(p.high[b, r], p.high[b + 1, r])
    p.size[b] += p.size[b + 1]
    _free(p, b + 1)


@no_refcount
def _free(p: Profile, b: int) -> None:
    p.spare[p.number[1]] = p.row[b]
    p.number[1] += 1
    _move_blocks(p, b + 1, b)


@no_refcount
def _move_blocks(p: Profile, source: int, target: int) -> None:
    """Have the blocks from ``source`` on stand from ``target`` on."""
    count = p.number[0] - source
    for k in range(count):
        # Upwards the last one goes first, so that none is written over.
        j = k if target < source else count - 1 - k
        a, b = source + j, target + j
        p.row[b], p.size[b], p.first[b] = p.row[a], p.size[a], p.first[a]
        for r in range(p.low.shape[1]):
            p.due[b, r], p.low[b, r], p.high[b, r] = p.due[a, r], p.low[a, r], p.high[a, r]
    p.number[0] = target + count
