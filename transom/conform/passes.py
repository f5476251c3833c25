"""One pass of a scheduler over one instant of somebody's schedule, in plain Python, with the mistakes that are known.

What runs and what waits at an instant is taken from the schedule that is judged, so that what a program did before is
not held against it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from transom.models.arrays import IntArray
from transom.traces.workload import Workload

Amounts = tuple[int, ...]
Running = list[tuple[int, int, int]]
Order = Callable[[IntArray, int], Sequence[int]]
"""Positions of waiting jobs and the instant [s] -> the positions in the order of the queue."""


ORDER, RESERVATION, HOLE = "order broken", "reservation delayed", "a hole that was not used"
CAPACITY, RUNTIME, MISSING, AGAIN = "capacity exceeded", "real runtime looked at", "job never started", "restarted"
EARLY, PARENT, OTHER = "started before its submission", "started before a job it depends on ended", "another choice"
"""The rules that a start can break."""


class Instant(NamedTuple):
    """What a scheduler has before it: ``running`` are (expected end, real end, job), ``queue`` stands in order."""

    now: int
    free: Amounts
    running: Running
    queue: list[int]
    started: set[int]
    """What the schedule starts now."""


class Variant(NamedTuple):
    """EASY backfilling with one thing done in another way.

    ``rule``: what it breaks; ``backfill``: ``easy``, ``none`` or ``all`` (whatever fits, without a reservation);
    ``candidates``, ``ends``: whether candidates or running jobs count with their real runtime; ``strict``: candidates
    end before the shadow time, not at it; ``extra``: ``shared`` between candidates, ``none``, ``each`` candidate has
    all, or that of the ``first`` of several ends at the shadow time; ``key``: what the queue is ordered by, ``-`` for
    the largest first; ``more``: whether the machine is as large as the most that the schedule uses at once.
    """

    says: str
    rule: str = ""
    backfill: str = "easy"
    candidates: bool = False
    ends: bool = False
    strict: bool = False
    extra: str = "shared"
    key: str = ""
    more: bool = False


VARIANTS = (
    Variant("backfilled jobs are tested with their real runtimes", RUNTIME, candidates=True),
    Variant("backfilled jobs have to end before the shadow time, not at it", HOLE, strict=True),
    Variant("of several jobs that end at the shadow time only the first is counted", HOLE, extra="first"),
    Variant("nothing is backfilled", HOLE, backfill="none"),
    Variant("the extra nodes are not used", HOLE, extra="none"),
    Variant("the shadow time is that of real ends", RUNTIME, ends=True),
    Variant("real runtimes are used for backfilled jobs and for the shadow time", RUNTIME, candidates=True, ends=True),
    Variant("there is no reservation: whatever fits is started", RESERVATION, backfill="all"),
    Variant("the last submitted job goes first", ORDER, key="-submit"),
    Variant("the shortest job goes first", ORDER, key="walltime"),
    Variant("the longest job goes first", ORDER, key="-walltime"),
    Variant("the smallest job goes first", ORDER, key="nodes"),
    Variant("the largest job goes first", ORDER, key="-nodes"),
    Variant("jobs of one submission are ordered by falling id", ORDER, key="submit -id"),
    Variant("jobs of one submission are ordered by falling size", ORDER, key="submit -nodes"),
    Variant("jobs of one submission are ordered by size", ORDER, key="submit nodes"),
    Variant("jobs of one submission are ordered by walltime", ORDER, key="submit walltime"),
    Variant("the machine is as large as the most that is used at once", CAPACITY, more=True),
    Variant("the extra nodes are counted again for each backfilled job", RESERVATION, extra="each"),
)
"""What programs are known to do, in the order of preference where two explain as much."""


class Jobs:
    """The jobs of a workload as a pass reads them, and when they started in the schedule that is judged."""

    def __init__(self, workload: Workload, start: IntArray, order: Order) -> None:
        table = workload.jobs
        self.capacity: Amounts = (workload.cluster.num_nodes, *workload.cluster.capacities)
        self.asks = np.column_stack((table.nodes, table.demand)) if table.demand.size else table.nodes[:, None]
        self.submit, self.walltime, self.runtime = table.submit, table.walltime, workload.runtime
        self.start = np.where(start < 0, np.int64(2**62), start)
        self.end = np.where(start < 0, np.int64(2**62), start + workload.runtime)
        self.keys = {name: getattr(table, name) for name in ("id", "submit", "walltime", "nodes")}
        self.order = order
        ran = start >= 0
        self.most = most_at_once(table.nodes[ran], self.start[ran], self.end[ran])
        self._parents = {}
        if table.depends_on:
            place = {job: at for at, job in enumerate(table.id.tolist())}
            self._parents = {place[job]: [place[p] for p in of] for job, of in table.depends_on.items()}

    def instant(self, now: int, part: IntArray | None = None) -> Instant:
        """What a scheduler that has done all this has before it at ``now`` [s]; ``part`` holds all who matter then."""
        if part is None:
            part = np.arange(len(self.submit))
        start, end = self.start[part], self.end[part]
        running = part[(start < now) & (end > now)]
        expected = np.maximum(start[(start < now) & (end > now)] + self.walltime[running], now + 1)
        waiting = part[(start >= now) & (self.submit[part] <= now)]
        waiting = waiting[[not self.unready(job, now) for job in waiting.tolist()]] if self._parents else waiting
        used = self.asks[running].sum(axis=0)
        free = tuple(c - int(u) for c, u in zip(self.capacity, used, strict=True))
        ends = sorted(zip(expected.tolist(), self.end[running].tolist(), running.tolist(), strict=True))
        queue = [int(waiting[at]) for at in self.order(waiting, now)]
        return Instant(now, free, ends, queue, set(part[start == now].tolist()))

    def instants(self, first: int, work: int, most: int) -> Iterator[Instant]:
        """The instants from ``first`` [s] on at which something happened and jobs waited, up to an amount of work."""
        later = np.sort(self.submit[self.submit >= first])
        last = int(later[most]) if len(later) > most else 2**61
        near = np.flatnonzero((self.end > first) & (self.submit <= last))
        times = np.unique(np.concatenate((self.submit[near], self.start[near], self.end[near])))
        for now in times[(times >= first) & (times <= last)].tolist()[:most]:
            each = self.instant(now, near)
            work -= len(each.queue) + len(each.running)
            if each.queue:
                yield each
            if work < 0:
                return

    def unready(self, job: int, now: int) -> list[int]:
        """The jobs that a job depends on and that have not ended."""
        return [parent for parent in self._parents.get(job, ()) if self.end[parent] > now]

    def fits(self, job: int, free: Sequence[int]) -> bool:
        """Whether a job fits into what is free."""
        return all(a <= f for a, f in zip(self.asks[job].tolist(), free, strict=True))

    def shadow(self, head: int, free: Amounts, running: Running, way: Variant) -> tuple[int, Amounts]:
        """When the head of the queue fits by what ends until then [s], and what is then left beside it."""
        left, at, place = list(free), 0, 0
        ends = sorted((real if way.ends else expected, job) for expected, real, job in running)
        while place < len(ends) and (not self.fits(head, left) or (ends[place][0] == at and way.extra != "first")):
            at = ends[place][0]
            left = [a + b for a, b in zip(left, self.asks[ends[place][1]].tolist(), strict=True)]
            place += 1
        return at, tuple(a - b for a, b in zip(left, self.asks[head].tolist(), strict=True))

    def easy(self, at: Instant, way: Variant) -> tuple[list[int], int | None, int, Amounts]:
        """What a pass starts, the first job that waits, its shadow time [s], and what stays extra beside it."""
        free, running, started = list(at.free), list(at.running), []
        if way.more:
            free[0] += max(0, self.most - self.capacity[0])

        def launch(job: int) -> None:
            free[:] = [a - b for a, b in zip(free, self.asks[job].tolist(), strict=True)]
            runtime, walltime = int(self.runtime[job]), int(self.walltime[job])
            running.append((at.now + walltime, at.now + runtime, job))
            started.append(job)

        queue = iter(at.queue)
        if way.key:
            keys = [((-1 if name[0] == "-" else 1), self.keys[name.lstrip("-")]) for name in way.key.split()]
            queue = iter(sorted(at.queue, key=lambda job: [sign * int(values[job]) for sign, values in keys]))
        head = None
        for job in queue:
            if not self.fits(job, free):
                head = job
                break
            launch(job)
        if head is None or way.backfill == "none":
            return started, head, -1, ()
        when, extra = self.shadow(head, tuple(free), running, way)
        left = extra
        for job in queue:
            if not self.fits(job, free):
                continue
            end = at.now + int(self.runtime[job] if way.candidates else self.walltime[job])
            if way.backfill != "all" and (end >= when if way.strict else end > when):
                if way.extra == "none" or not self.fits(job, left):
                    continue
                if way.extra != "each":
                    left = tuple(a - b for a, b in zip(left, self.asks[job].tolist(), strict=True))
            launch(job)
        return started, head, when, left


def most_at_once(nodes: IntArray, start: IntArray, end: IntArray) -> int:
    """The most nodes that jobs use at once; at one instant ends come before starts."""
    order = np.lexsort((np.repeat([1, 0], len(nodes)), np.concatenate((start, end))))
    return int(np.concatenate((nodes, -nodes))[order].cumsum().max(initial=0))
