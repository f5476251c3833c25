"""Jobs that take some types of nodes alone: how many nodes of each type every job gets, so that most can start."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from transom.models.arrays import BoolArray, IntArray


class Wants(NamedTuple):
    """What jobs that start at one instant ask for.

    ``sizes``: nodes of each; ``limits``: the most leaf switches, None where a job states none; ``types``: of all nodes
    of the cluster, shape ``(nodes,)``, and ``accepts``: whether a job takes each, shape ``(jobs, types)``; both None
    where all nodes are alike.
    """

    sizes: Sequence[int]
    limits: Sequence[int | None]
    types: IntArray | None = None
    accepts: BoolArray | None = None

    def takes(self, job: int, nodes: IntArray) -> BoolArray:
        """Whether a job takes each of some nodes."""
        if self.types is None or self.accepts is None:
            return np.ones(len(nodes), np.bool_)
        taken: BoolArray = self.accepts[job, self.types[nodes]]
        return taken


def shared_out(idle: IntArray, jobs: Wants, order: Iterable[int]) -> list[IntArray]:
    """The lowest idle nodes of its types for each job, one after another; none for a job that finds too few.

    A job gives way to no later one, but changes types where that one can have nodes only so: an augmenting path leads
    from a job to idle nodes of any type, by way of jobs that take two of the types on it.

    Parameters
    ----------
    idle : ids of the idle nodes, ascending.
    jobs : what they ask for.
    order : the jobs that get nodes, the first one first.

    Returns
    -------
    The ids of each job, ascending.
    """
    types = np.zeros(len(idle), np.int64) if jobs.types is None else jobs.types[idle]
    kinds = 1 if jobs.accepts is None else jobs.accepts.shape[1]
    left = np.bincount(types, minlength=kinds)
    held = np.zeros((len(jobs.sizes), kinds), np.int64)
    takes = np.ones((len(jobs.sizes), kinds), np.bool_) if jobs.accepts is None else jobs.accepts
    for job in order:
        before = left.copy(), held.copy()
        while (need := jobs.sizes[job] - int(held[job].sum())) > 0:
            if not _augment(job, need, left, held, takes):
                left, held = before
                break
    found: list[IntArray] = []
    waiting = [idle[types == kind] for kind in range(kinds)]
    for job in range(len(jobs.sizes)):
        parts = []
        for kind, count in enumerate(held[job].tolist()):
            parts.append(waiting[kind][:count])
            waiting[kind] = waiting[kind][count:]
        found.append(np.sort(np.concatenate([idle[:0], *parts])))
    return found


def _augment(job: int, need: int, left: IntArray, held: IntArray, takes: BoolArray) -> bool:
    """Give a job up to ``need`` more nodes along a shortest path to types with idle nodes; whether there is one."""
    came: dict[
        int, tuple[int, int]
    ] = {}  # the job that takes a type, and the type that it gives up for it, -1 at first
    ahead = [(int(kind), job, -1) for kind in np.flatnonzero(takes[job])]
    while ahead:
        following: list[tuple[int, int, int]] = []
        for kind, taker, given in ahead:
            if kind in came:
                continue
            came[kind] = taker, given
            if left[kind]:
                _move(kind, need, came, left, held)
                return True
            for other in np.flatnonzero(held[:, kind]).tolist():
                following += [(int(to), other, kind) for to in np.flatnonzero(takes[other]) if int(to) not in came]
        ahead = following
    return False


def _move(kind: int, need: int, came: dict[int, tuple[int, int]], left: IntArray, held: IntArray) -> None:
    """Move as many nodes along the path that ends at a type as all of it carries."""
    path = [(kind, *came[kind])]
    while path[-1][2] >= 0:
        path.append((path[-1][2], *came[path[-1][2]]))
    amount = min(need, int(left[kind]), *(int(held[job, given]) for _, job, given in path if given >= 0))
    left[kind] -= amount
    for to, job, given in path:
        held[job, to] += amount
        if given >= 0:
            held[job, given] -= amount
