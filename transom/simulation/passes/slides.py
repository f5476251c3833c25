"""Moves of reservations that the free profile does not know yet, compiled.

Where one early end lets a queue slide, each job takes time up to its old begin and frees as much a walltime later; the
next job takes what follows, and so on. All of that together is a few stretches of time. They are kept here, nodes
alone, until somebody could see what was freed: a job whose begin lies behind the first instant of it, or one that
searches the profile. Jobs planned before it can neither slide nor jump into it: they would have to end by their begin.
Further resources are entered into the profile at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import inlined, no_refcount
from transom.models.arrays import IntArray
from transom.simulation.core.events import DEMAND, NEVER
from transom.simulation.passes.availability import FREED, TAKEN, Profile, add

STEPS = 48
"""Steps of what was taken or freed, at most."""

NODES, FURTHER = np.array((0, 1))
"""Rows of ``Slides.requests``."""


class Steps(NamedTuple):
    """``nodes[i]`` from ``time[i]`` [s] until ``time[i + 1]``, and none before and after; ``size[0]`` steps.

    Neighbours differ, and the last step has no nodes. Where there is no step, ``time[0]`` is :data:`NEVER`.
    """

    time: IntArray
    nodes: IntArray
    size: IntArray


class Slides(NamedTuple):
    """What moves took and what they freed; ``requests``: rows like a job's, for nodes and for further resources."""

    taken: Steps
    freed: Steps
    requests: IntArray


def new_slides(amounts: int) -> Slides:
    """Nothing moved; ``amounts``: how many: nodes and further resources."""
    taken, freed = (
        Steps(np.full(STEPS, NEVER), np.zeros(STEPS, np.int64), np.zeros(1, np.int64)) for _ in ("taken", "freed")
    )
    return Slides(taken, freed, np.zeros((2, DEMAND + amounts), np.int64))


@inlined
def has_room(s: Slides) -> bool:
    """Whether one more move can be kept."""
    return bool(max(s.taken.size[0], s.freed.size[0]) + 2 <= STEPS)


@no_refcount
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


@inlined
def copy_further(s: Slides, jobs: IntArray, job: int) -> bool:
    """Have ``requests`` ask for the further resources of a job; False if it has none."""
    further = False
    for r in range(DEMAND + 1, jobs.shape[1]):
        s.requests[FURTHER, r] = jobs[job, r]
        further = further or jobs[job, r] > 0
    return further


@no_refcount
def enter_steps(p: Profile, s: Slides) -> None:
    """Have the profile know of what was taken and freed."""
    for sign in (TAKEN, FREED):
        steps = s.taken if sign == TAKEN else s.freed
        for i in range(steps.size[0] - 1):
            if steps.nodes[i]:
                s.requests[NODES, DEMAND] = steps.nodes[i]
                add(p, s.requests, NODES, steps.time[i], steps.time[i + 1], sign)


@no_refcount
def clear_steps(s: Steps) -> None:
    """No steps."""
    s.size[0], s.time[0] = 0, NEVER
