"""Jobs that share nodes, compiled: whether single nodes have room for a job now, and which ones it takes.

What will be free when is counted over the whole machine, as for jobs on whole nodes. A job starts only if, beside that,
as many nodes as it asks for have room for its share of each amount, and are not reserved for others meanwhile: it
takes those with the lowest ids.
"""

from __future__ import annotations

from typing import NamedTuple

from transom._system.compiling import no_refcount
from transom.models.arrays import BoolArray, IntArray
from transom.simulation.core.events import RUNNING, State


class SharedNodes(NamedTuple):
    """``M`` nodes, ``R`` amounts that each has, and ``n`` jobs; ``M`` is 0 where jobs share no nodes.

    ``room`` ``(R,)``: what a node has; ``free`` ``(M, R)``: what is free of each; ``asks`` ``(n, R)``: what a job takes
    on each of its nodes; ``first`` ``(n + 1,)``: where the nodes of each job begin in ``held``: those of a job that
    runs; ``open`` ``(M,)``: whether a node is for the job that is looked at.
    """

    room: IntArray
    free: IntArray
    asks: IntArray
    first: IntArray
    held: IntArray
    open: BoolArray


@no_refcount
def count_taken(s: State, q: SharedNodes) -> None:
    """Before a pass, count what is free on each node."""
    if len(q.free) == 0:
        return
    for node in range(len(q.free)):
        for r in range(len(q.room)):
            q.free[node, r] = q.room[r]
    for i in range(s.at[RUNNING]):
        job = s.expected[i, 1]
        for k in range(q.first[job], q.first[job + 1]):
            for r in range(len(q.room)):
                q.free[q.held[k], r] -= q.asks[job, r]


@no_refcount
def fits_on_nodes(q: SharedNodes, job: int) -> bool:
    """Whether as many nodes as a job asks for have room for it now."""
    if len(q.free) == 0:
        return True
    missing = q.first[job + 1] - q.first[job]
    for node in range(len(q.free)):
        if _has_room(q, job, node):
            missing -= 1
            if missing == 0:
                return True
    return False


@no_refcount
def take_nodes(q: SharedNodes, job: int) -> None:
    """Give a job that fits its nodes."""
    if len(q.free) == 0:
        return
    k = q.first[job]
    for node in range(len(q.free)):
        if k == q.first[job + 1]:
            return
        if _has_room(q, job, node):
            q.held[k] = node
            k += 1
            for r in range(len(q.room)):
                q.free[node, r] -= q.asks[job, r]


@no_refcount
def _has_room(q: SharedNodes, job: int, node: int) -> bool:
    if not q.open[node]:
        return False
    for r in range(len(q.room)):  # noqa: SIM110  (the compiler knows no generators)
        if q.asks[job, r] > q.free[node, r]:
            return False
    return True
