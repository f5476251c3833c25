"""Which nodes are idle during a replay, and which ones each job got."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from transom.errors import PolicyError
from transom.models.arrays import IntArray
from transom.simulation.core.node_runs import NodeRuns

_NONE = np.empty(0, np.int64)


class Occupancy:
    """The nodes of a cluster while jobs come and go; jobs are numbered by their place in the workload.

    ``busy`` ``(nodes,)`` says which nodes are not idle.
    """

    def __init__(self, nodes: int, jobs: int) -> None:
        self.busy = np.zeros(nodes, bool)
        self._first: list[IntArray] = [_NONE] * jobs
        self._last: list[IntArray] = [_NONE] * jobs

    def idle(self) -> IntArray:
        """Ids of the idle nodes, ascending, read-only."""
        idle = np.flatnonzero(~self.busy)
        idle.flags.writeable = False
        return idle

    def take(self, job: int, nodes: IntArray) -> None:
        """Give a job idle nodes, ascending and distinct."""
        self.busy[nodes] = True
        cut = np.flatnonzero(np.diff(nodes) != 1)
        self._first[job] = nodes[np.concatenate(([0], cut + 1))]
        self._last[job] = nodes[np.append(cut, len(nodes) - 1)]

    def note(self, job: int, first: IntArray, last: IntArray) -> None:
        """Note the runs of nodes that a job got; ``busy`` says already whether it holds them still."""
        self._first[job], self._last[job] = first, last

    def take_stated(self, job: int, nodes: ArrayLike, count: int, who: str) -> None:
        """Give a job the nodes that a policy states for it.

        Raises
        ------
        PolicyError : they are not ``count`` distinct idle nodes; the message begins with ``who``.
        """
        given = np.asarray(nodes)
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            raise PolicyError(f"{who} gets nodes {nodes!r}, expected a sequence of whole numbers")
        ids = np.sort(given.astype(np.int64))
        if len(ids) != count:
            raise PolicyError(f"{who} gets {len(ids)} nodes, it asks for {count}")
        outside = ids[(ids < 0) | (ids >= len(self.busy))]
        if outside.size:
            raise PolicyError(f"{who} gets node {outside[0]}, the machine has 0 to {len(self.busy) - 1}")
        twice = ids[1:][np.diff(ids) == 0]
        if twice.size:
            raise PolicyError(f"{who} gets node {twice[0]} twice")
        held = ids[self.busy[ids]]
        if held.size:
            raise PolicyError(f"{who} gets node {held[0]}, which is not idle")
        self.take(job, ids)

    def release(self, job: int) -> None:
        """Take back the nodes of a job."""
        for first, last in zip(self._first[job].tolist(), self._last[job].tolist(), strict=True):
            self.busy[first : last + 1] = False

    def mark(self, nodes: IntArray, busy: bool) -> None:
        """Say that nodes are not idle though no job holds them, or that they are again."""
        self.busy[nodes] = busy

    def runs_of(self, job: int) -> tuple[IntArray, IntArray]:
        """First and last ids of the runs of nodes that a job got last."""
        return self._first[job], self._last[job]

    def ids_of(self, job: int) -> IntArray:
        """Ids of the nodes that a job got last, ascending."""
        pairs = zip(*self.runs_of(job), strict=True)
        return np.concatenate([_NONE, *(np.arange(first, last + 1) for first, last in pairs)])

    def runs(self) -> NodeRuns:
        """All nodes that jobs got, whether they hold them still or not."""
        offsets = np.zeros(len(self._first) + 1, np.int64)
        np.cumsum([len(each) for each in self._first], out=offsets[1:])
        return NodeRuns(offsets, np.concatenate([_NONE, *self._first]), np.concatenate([_NONE, *self._last]))
