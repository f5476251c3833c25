"""The availability profile, compiled: what will be free when, in blocks of steps.

A profile is a list of steps: from its time until that of the next one a step's amounts are free; the last one lasts
for ever. The steps stand in blocks of at most :data:`WIDTH`, found by bisection. A block knows the least and the most
that is free in it and what is still to be added to all its steps, so that changing a stretch and searching it touch
the steps of few blocks: all others are taken or left as a whole. Steps that are over or equal the one before them are
removed when a fifth of all may be such.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import inlined, no_refcount
from transom.models.arrays import IntArray
from transom.simulation.core.events import DEMAND, NEVER, WALLTIME

WIDTH = 64
"""Steps in a block at most."""

ROW, SIZE, FIRST, DUE, LOW, HIGH = range(6)
BLOCKS, STEPS, ENOUGH, SINCE = range(4)

TAKEN, FREED = np.array((-1, 1))
"""Signs of :func:`add`.

For each Python number that is handed over, the compiler makes code of its own.
"""


class Profile(NamedTuple):
    """Blocks in the order of time; ``A`` amounts: nodes, then further resources.

    The arrays are few, because a function is handed each of their numbers.

    ``steps`` ``(rows, 1 + A, WIDTH)``: in each row the times [s] of the steps of a block, then what is free of each
    amount. ``blocks`` ``(rows, 3 + 3 * A)``: of each block its row, how many steps it has and when the first one begins
    [s]; then, of each amount, what is to be added to its levels, and the least and the most of them with that. The rows
    that no block has stand behind the last one. ``at``: how many blocks and steps there are, with how many steps it is
    time to remove some, and before when [s] nobody asks any more.
    """

    steps: IntArray
    blocks: IntArray
    at: IntArray


def new_profile(free: IntArray, steps: int) -> Profile:
    """A profile of one step, with room for ``steps`` that differ; rows that are never used take no memory."""
    rows, amounts = steps // 16 + 16, len(free)  # twice as many steps, in blocks that are half full
    blocks = np.zeros((rows, 3 + 3 * amounts), np.int64)
    blocks[:, ROW] = np.arange(rows)
    made = Profile(np.empty((rows, 1 + amounts, WIDTH), np.int64), blocks, np.zeros(4, np.int64))
    clear(made, -NEVER, free)
    return made


@no_refcount
def clear(p: Profile, time: int, free: IntArray) -> None:
    """From ``time`` on ``free`` is free for ever."""
    row = p.blocks[0, ROW]
    p.steps[row, 0, 0] = time
    for r in range(p.steps.shape[1] - 1):
        p.steps[row, 1 + r, 0] = free[r]
    p.at[SINCE] = time
    _count(p, 1)


@no_refcount
def add(p: Profile, jobs: IntArray, job: int, begin: int, end: int, sign: int) -> None:
    """Add ``sign`` times what a job asks for on ``[begin, end)``."""
    if end <= begin:
        return
    if p.at[STEPS] >= p.at[ENOUGH]:
        compact(p)
    _cut(p, end)
    b = _cut(p, begin)
    c = block_of(p, end)
    i, k = step_of(p, b, begin), step_of(p, c, end)
    for r in range(p.steps.shape[1] - 1):
        amount = sign * jobs[job, DEMAND + r]
        if amount == 0:
            continue
        for other in range(b + 1, c):
            for column in range(DUE + 3 * r, DUE + 3 * r + 3):
                p.blocks[other, column] += amount
        row = p.blocks[b, ROW]
        for j in range(i, k if b == c else p.blocks[b, SIZE]):
            p.steps[row, 1 + r, j] += amount
        row = p.blocks[c, ROW]
        for j in range(0 if b == c else k):
            p.steps[row, 1 + r, j] += amount
    _measure(p, b)
    if b < c:
        _measure(p, c)


@no_refcount
def earliest(p: Profile, jobs: IntArray, job: int, after: int, limit: int, own: int) -> int:
    """The earliest start from ``after`` on, before ``limit``, at which a job fits for its time; ``limit`` if none.

    ``after`` must not lie before the profile. From ``own`` on the job has room already (:data:`NEVER` if it has not).
    """
    length = jobs[job, WALLTIME]
    b = block_of(p, after)
    i = step_of(p, b, after)
    begin = -1
    while b < p.at[BLOCKS]:
        row = p.blocks[b, ROW]
        time = max(p.steps[row, 0, i], after)
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
            for j in range(i, p.blocks[b, SIZE]):
                if fits_step(p, jobs, job, b, j):
                    if begin < 0:
                        begin = max(p.steps[row, 0, j], after)
                        if begin >= limit:
                            return limit
                elif begin >= 0:
                    time = p.steps[row, 0, j]
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
    for r in range(p.steps.shape[1] - 1):
        amount = jobs[job, DEMAND + r]
        if amount > p.blocks[b, HIGH + 3 * r]:
            return -1
        if amount > p.blocks[b, LOW + 3 * r]:
            always = 0
    return always


@inlined
def fits_step(p: Profile, jobs: IntArray, job: int, b: int, j: int) -> bool:
    """Whether a job fits at step ``j`` of block ``b``."""
    for r in range(p.steps.shape[1] - 1):  # noqa: SIM110  (a generator is slower when compiled)
        if jobs[job, DEMAND + r] > level(p, b, j, r):
            return False
    return True


@inlined
def level(p: Profile, b: int, j: int, r: int) -> int:
    """How much of an amount is free at step ``j`` of block ``b``."""
    return int(p.steps[p.blocks[b, ROW], 1 + r, j] + p.blocks[b, DUE + 3 * r])


@no_refcount
def level_at(p: Profile, time: int, r: int) -> int:
    """How much of an amount is free at an instant."""
    b = block_of(p, time)
    return level(p, b, step_of(p, b, time), r)


@no_refcount
def block_of(p: Profile, time: int) -> int:
    """The block that holds the step of an instant."""
    low, high = 0, p.at[BLOCKS]
    while high - low > 1:
        middle = (low + high) // 2
        if p.blocks[middle, FIRST] <= time:
            low = middle
        else:
            high = middle
    return low


@no_refcount
def step_of(p: Profile, b: int, time: int) -> int:
    """The last step of a block that begins at ``time`` or before."""
    row = p.blocks[b, ROW]
    low, high = 0, p.blocks[b, SIZE]
    while high - low > 1:
        middle = (low + high) // 2
        if p.steps[row, 0, middle] <= time:
            low = middle
        else:
            high = middle
    return low


@no_refcount
def compact(p: Profile) -> None:
    """Remove the steps that are over or equal the one before, and fill the blocks with the others."""
    kept = 0  # each stands at place ``kept % WIDTH`` of block ``kept // WIDTH``, where it has been or before that
    for b in range(p.at[BLOCKS]):
        row = p.blocks[b, ROW]
        for j in range(p.blocks[b, SIZE]):
            last, place = p.blocks[max(kept - 1, 0) // WIDTH, ROW], max(kept - 1, 0) % WIDTH
            same = kept > 0
            for r in range(p.steps.shape[1] - 1):
                same = same and p.steps[last, 1 + r, place] == level(p, b, j, r)
            if same:
                continue
            if kept > 0 and p.steps[row, 0, j] <= p.at[SINCE]:
                kept -= 1
            into, place = p.blocks[kept // WIDTH, ROW], kept % WIDTH
            p.steps[into, 0, place] = p.steps[row, 0, j]
            for r in range(p.steps.shape[1] - 1):
                p.steps[into, 1 + r, place] = level(p, b, j, r)
            kept += 1
    _count(p, kept)


@no_refcount
def _count(p: Profile, steps: int) -> None:
    """So many steps fill the first blocks, with nothing to be added to their levels."""
    p.at[BLOCKS], p.at[STEPS], p.at[ENOUGH] = (steps - 1) // WIDTH + 1, steps, steps + steps // 4 + 2 * WIDTH
    for b in range(p.at[BLOCKS]):
        p.blocks[b, SIZE], p.blocks[b, FIRST] = min(steps - b * WIDTH, WIDTH), p.steps[p.blocks[b, ROW], 0, 0]
        for r in range(p.steps.shape[1] - 1):
            p.blocks[b, DUE + 3 * r] = 0
        _measure(p, b)


@no_refcount
def _cut(p: Profile, time: int) -> int:
    """Have a step begin at ``time``; its block."""
    b = block_of(p, time)
    i = step_of(p, b, time)
    if p.steps[p.blocks[b, ROW], 0, i] == time:
        return b
    if p.blocks[b, SIZE] == WIDTH:
        _split(p, b)
        if i >= p.blocks[b, SIZE]:
            i -= p.blocks[b, SIZE]
            b += 1
    row = p.blocks[b, ROW]
    for k in range(p.steps.shape[1]):
        for j in range(p.blocks[b, SIZE], i, -1):
            p.steps[row, k, j] = p.steps[row, k, j - 1]
    p.steps[row, 0, i + 1] = time
    p.blocks[b, SIZE] += 1
    p.at[STEPS] += 1
    return b


@no_refcount
def _measure(p: Profile, b: int) -> None:
    """Bring the least and the most of a block up to date."""
    row = p.blocks[b, ROW]
    for r in range(p.steps.shape[1] - 1):
        low = high = p.steps[row, 1 + r, 0]
        for j in range(1, p.blocks[b, SIZE]):
            low = min(low, p.steps[row, 1 + r, j])
            high = max(high, p.steps[row, 1 + r, j])
        p.blocks[b, LOW + 3 * r], p.blocks[b, HIGH + 3 * r] = (
            low + p.blocks[b, DUE + 3 * r],
            high + p.blocks[b, DUE + 3 * r],
        )


@no_refcount
def _split(p: Profile, b: int) -> None:
    """Move half of the steps of a full block to a new one behind it."""
    row, new, half = p.blocks[b, ROW], p.blocks[p.at[BLOCKS], ROW], WIDTH // 2
    for other in range(p.at[BLOCKS], b, -1):
        for column in range(p.blocks.shape[1]):
            p.blocks[other, column] = p.blocks[other - 1, column]
    p.at[BLOCKS] += 1
    for k in range(p.steps.shape[1]):
        for j in range(half):
            p.steps[new, k, j] = p.steps[row, k, half + j]
    p.blocks[b + 1, ROW], p.blocks[b + 1, FIRST] = new, p.steps[new, 0, 0]
    p.blocks[b, SIZE] = p.blocks[b + 1, SIZE] = half
    _measure(p, b)
    _measure(p, b + 1)
