"""Slides that the free profile does not know yet, compiled.

Where one early end lets a queue slide, each job takes time up to its old begin and frees as much a walltime later; the
next job takes what follows, and so on. All of that together is a few stretches of time. They are kept here, nodes
alone, until somebody could see what was freed: a job whose begin lies behind the first instant of it, or one that
searches the profile. Jobs planned before it can neither slide nor jump into it: they would have to end by their begin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import borrowing, inlined
from transom.models.arrays import IntArray
from transom.simulation.core.events import DEMAND, NEVER
from transom.simulation.passes.availability import Profile, add

STEPS = 48
"""Steps of what was taken or freed, at most."""


class Steps(NamedTuple):
    """``nodes[i]`` from ``time[i]`` [s] until ``time[i + 1]``, and none before and after; ``size[0]`` steps.

    Neighbours differ, and the last step has no nodes. Where there is no step, ``time[0]`` is :data:`NEVER`.
    """

    time: IntArray
    nodes: IntArray
    size: IntArray


class Slides(NamedTuple):
    """What slides took, and what they freed, all of it later; ``request``: a row like a job's that asks for nodes."""

    taken: Steps
    freed: Steps
    request: IntArray


def new_slides(amounts: int) -> Slides:
    """Nothing slid; ``amounts``: nodes and further resources."""
    taken, freed = (
        Steps(np.full(STEPS, NEVER), np.zeros(STEPS, np.int64), np.zeros(1, np.int64)) for _ in ("taken", "freed")
    )
    return Slides(taken, freed, np.zeros((1, DEMAND + amounts), np.int64))


@inlined
def has_room(s: Slides) -> bool:
    """Whether one more slide can be kept."""
    return bool(max(s.taken.size[0], s.freed.size[0]) + 2 <= STEPS)


@borrowing
def raise_steps(s: Steps, begin: int, end: int, nodes: int) -> None:
    """So many nodes more on ``[begin, end)``."""
    i, j = _cut(s, begin), _cut(s, end)
    for k in range(i, j):
        s.nodes[k] += nodes
    _join(s, j)
    _join(s, i)


@inlined
def _cut(s: Steps, time: int) -> int:
    """The step that begins at ``time``, made if need be; most begin near the last one."""
    i: int = s.size[0]
    while i > 0 and s.time[i - 1] > time:
        i -= 1
    if i > 0 and s.time[i - 1] == time:
        return i - 1
    for k in range(s.size[0], i, -1):
        s.time[k], s.nodes[k] = s.time[k - 1], s.nodes[k - 1]
    s.time[i], s.nodes[i] = time, s.nodes[i - 1] if i else 0
    s.size[0] += 1
    return i


@inlined
def _join(s: Steps, i: int) -> None:
    """Remove a step that equals the one before."""
    if i > 0 and s.nodes[i] == s.nodes[i - 1]:
        s.size[0] -= 1
        for k in range(i, s.size[0]):
            s.time[k], s.nodes[k] = s.time[k + 1], s.nodes[k + 1]


@borrowing
def enter_steps(p: Profile, s: Steps, request: IntArray, sign: int) -> None:
    """Have the profile know the steps."""
    for i in range(s.size[0] - 1):
        request[0, DEMAND] = s.nodes[i]
        if s.nodes[i]:
            add(p, request, 0, s.time[i], s.time[i + 1], sign)


@borrowing
def clear_steps(s: Steps) -> None:
    """No steps."""
    s.size[0], s.time[0] = 0, NEVER
