"""What outages did to a replay: which nodes were out of service when, and which attempts of jobs they ended."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transom.models.arrays import BoolArray, Frozen, IntArray, frozen_ints
from transom.simulation.core.node_runs import NodeRuns

FAILURE, MAINTENANCE, DRAIN = range(3)
OUTAGE_KINDS = ("failure", "maintenance", "drain")
"""``kind`` of an outage is a position in this tuple."""

OUTAGE_COLUMNS = ("kind", "row", "begin", "end", "first", "last")
ATTEMPT_COLUMNS = ("job", "start", "stop")


def levels_of(begin: IntArray, end: IntArray, first: IntArray, last: IntArray) -> tuple[IntArray, IntArray]:
    """Over time, how many nodes there are of which one of some rows says that they are out then.

    Parameters
    ----------
    begin, end : of each row [s]; nodes are out before ``end``.
    first, last : the nodes of each row, ids from first to last.

    Returns
    -------
    Instants, ascending, and how many nodes are out from each on; none are before the first.
    """
    if not len(begin):
        return np.zeros(1, np.int64), np.zeros(1, np.int64)
    # A node may be out for several reasons at once: what counts is the union. Nodes with the same
    # borders of rows are counted together.
    borders = np.unique(np.concatenate((first, last + 1)))
    low, high = np.searchsorted(borders, first), np.searchsorted(borders, last + 1)
    piece = np.concatenate([np.arange(a, b) for a, b in zip(low, high, strict=True)])
    which = np.repeat(np.arange(len(low)), high - low)
    order = np.lexsort((begin[which], piece))
    piece, begin, end = piece[order], begin[which][order], end[which][order]
    times, change = [], []
    reach = np.int64(-1)
    for k in range(len(piece)):
        size = int(borders[piece[k] + 1] - borders[piece[k]])
        if k == 0 or piece[k] != piece[k - 1] or begin[k] > reach:
            times += [int(begin[k]), int(end[k])]
            change += [size, -size]
            reach = end[k]
        elif end[k] > reach:
            times += [int(reach), int(end[k])]
            change += [size, -size]
            reach = end[k]
    instants, where = np.unique(times, return_inverse=True)
    sums = np.zeros(len(instants), np.int64)
    np.add.at(sums, where, change)
    return instants, np.cumsum(sums)


@dataclass(frozen=True, eq=False, slots=True)
class OutageLog(Frozen):
    """Nodes out of service, and attempts that ended before their time.

    Parameters
    ----------
    on_failure : what became of the jobs, ``requeue`` or ``lose``.
    kind : position in :data:`OUTAGE_KINDS`, shape ``(outages,)``.
    row : which stated row it belongs to, from 0; -1: a failure by the law, shape ``(outages,)``.
    begin, end : from when until before when [s], as stated or, where it states a number of nodes, as it came; a
        drained node is out of service from the end of the last job that runs there.
    first, last : the nodes, ids from first to last, shape ``(outages,)``.
    job : place in the workload of each attempt that was ended, in the order of their ends, shape ``(attempts,)``.
    start, stop : when the attempt started and was ended [s], shape ``(attempts,)``.
    runs : the nodes of each attempt.
    lost : places of the jobs that were lost: their ends are those of their attempts, ascending.
    """

    on_failure: str
    kind: IntArray
    row: IntArray
    begin: IntArray
    end: IntArray
    first: IntArray
    last: IntArray
    job: IntArray
    start: IntArray
    stop: IntArray
    runs: NodeRuns
    lost: IntArray

    def __post_init__(self) -> None:
        outages, attempts = len(self.kind), len(self.job)
        for name in OUTAGE_COLUMNS:
            object.__setattr__(self, name, frozen_ints(getattr(self, name), f"outages: {name}", (outages,)))
        for name in ATTEMPT_COLUMNS:
            object.__setattr__(self, name, frozen_ints(getattr(self, name), f"attempts: {name}", (attempts,)))
        object.__setattr__(self, "lost", frozen_ints(self.lost, "attempts: lost", (-1,)))

    def requeued(self) -> BoolArray:
        """Which attempts were followed by another one, shape ``(attempts,)``."""
        return ~np.isin(self.job, self.lost)

    def out_of_service(self) -> tuple[IntArray, IntArray]:
        """Nodes out of service over time: from ``times[i]`` on ``levels[i]``, before the first none."""
        return levels_of(self.begin, self.end, self.first, self.last)

    def node_seconds(self, begin: float, end: float) -> int:
        """Node-seconds out of service between two instants [s]."""
        times, levels = self.out_of_service()
        until = np.append(times[1:], times[-1])
        inside = np.maximum(np.minimum(until, end) - np.maximum(times, begin), 0)
        return int((levels * inside).sum())
