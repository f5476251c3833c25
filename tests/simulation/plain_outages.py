"""A slow replay with outages that shares nothing with the engine: node by node over lists and sets, to compare with.

At one instant: ends, submissions, announcements, nodes that come back, nodes that go, windows that state a number;
then a pass. Known of the future are walltimes and announced maintenance, which ends the jobs on its nodes; a failed or
drained node comes back nobody knows when. A drained node is out as long as no job runs there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from transom.traces import TracedJob, Workload
from transom.traces.outages import Outage

Key = Callable[[TracedJob], tuple[float, ...]]
FOREVER = 10**9
CYCLE = 5
"""From one backfill cycle of Slurm to the next [s]."""


class Told(NamedTuple):
    """Last start, its end and its nodes by job id; every attempt that was ended: job id, start, end, nodes."""

    start: dict[int, int]
    end: dict[int, int]
    nodes: dict[int, list[int]]
    attempts: list[tuple[int, int, int, list[int]]]


class PlainReplay:
    """One replay; ``key`` orders the queue, ``backfilling`` is none, first-fit, easy, conservative, slurm or dras."""

    def __init__(
        self, workload: Workload, rows: list[Outage], key: Key, backfilling: str, requeue: bool = True
    ) -> None:
        self.jobs = [workload[i] for i in range(len(workload))]
        self.by_id = {t.job.id: t for t in self.jobs}
        self.capacity = workload.cluster.capacities
        self.all_nodes = range(workload.cluster.num_nodes)
        self.rows, self.key, self.backfilling, self.requeue = rows, key, backfilling, requeue
        self.now = -1
        self.running: dict[int, int] = {}  # id: start
        self.told = Told({}, {}, {}, [])
        self.down: list[Outage] = []  # failures and stated windows under way
        self.taken: dict[int, set[int]] = {}  # nodes of windows that state a number, by row
        self.plan: dict[int, int] = {}
        self.replan = True
        self.holder = -1
        self.before: dict[int, int] = {}

    # The machine.

    def busy(self) -> dict[int, int]:
        return {n: job for job in self.running for n in self.told.nodes.get(job, ())}

    def drained(self) -> set[int]:
        return {n for row in self.down if row.kind == "drain" for n in row.ids().tolist()}

    def out(self) -> set[int]:
        away = {n for row in self.down if row.kind != "drain" for n in row.ids().tolist()}
        return away | {n for held in self.taken.values() for n in held} | (self.drained() - self.busy().keys())

    def idle(self) -> list[int]:
        return [n for n in self.all_nodes if n not in self.busy() and n not in self.out()]

    def known(self) -> list[tuple[int, Outage]]:
        return [
            (k, row)
            for k, row in enumerate(self.rows)
            if row.kind == "maintenance" and (row.announced is None or row.announced <= self.now) and row.end > self.now
        ]

    def service_at(self, time: int) -> int:
        """Nodes in service then, as far as it is known now."""
        away = {n for row in self.down if row.kind == "failure" for n in row.ids().tolist()}
        busy = self.busy()
        away |= {n for n in self.drained() if n not in busy or self.expected(busy[n]) <= time}
        number = 0
        for k, row in self.known():
            if not (row.begin <= time < row.end):
                continue
            if row.ranges:
                away |= set(row.ids().tolist())
            elif k in self.taken:
                away |= self.taken[k]
                number += row.number - len(self.taken[k])
            else:
                number += row.number
        return max(0, len(self.all_nodes) - len(away) - number)

    def expected(self, job: int) -> int:
        ends = [self.leaves(node) for node in self.told.nodes.get(job, ())]
        return max(min([self.running[job] + self.by_id[job].job.walltime, *ends]), self.now + 1)

    def nodes_at(self, time: int, reserved: dict[int, int] | None = None) -> int:
        """Free nodes then, by walltimes."""
        used = sum(self.by_id[j].job.nodes for j in self.running if self.expected(j) > time)
        for j, begin in (reserved or {}).items():
            if begin <= time < begin + self.by_id[j].job.walltime:
                used += self.by_id[j].job.nodes
        return self.service_at(time) - used

    def fits_at(self, t: TracedJob, time: int, reserved: dict[int, int] | None = None) -> bool:
        """Whether nodes and further resources suffice for a job at one instant."""
        if t.job.nodes > self.nodes_at(time, reserved):
            return False
        for r, capacity in enumerate(self.capacity):
            used = sum(self.by_id[j].job.demand[r] for j in self.running if self.expected(j) > time)
            for j, begin in (reserved or {}).items():
                if begin <= time < begin + self.by_id[j].job.walltime:
                    used += self.by_id[j].job.demand[r]
            if used + t.job.demand[r] > capacity:
                return False
        return True

    def steps(self, reserved: dict[int, int] | None = None) -> list[int]:
        """All instants from now on at which what is free may change."""
        found = {self.now, *map(self.expected, self.running)}
        found |= {time for _, row in self.known() for time in (row.begin, row.end)}
        for j, begin in (reserved or {}).items():
            found |= {begin, begin + self.by_id[j].job.walltime}
        return sorted(time for time in found if time >= self.now)

    def fits_from(self, t: TracedJob, begin: int, reserved: dict[int, int] | None = None) -> bool:
        """Whether a job fits for its whole walltime."""
        inside = [s for s in self.steps(reserved) if begin < s < begin + t.job.walltime]
        return all(self.fits_at(t, s, reserved) for s in [begin, *inside])

    def earliest(self, t: TracedJob, reserved: dict[int, int] | None = None, after: int = -1) -> int:
        for begin in self.steps(reserved):
            if begin >= after and self.fits_from(t, begin, reserved):
                return begin
        return FOREVER

    def leaves(self, node: int) -> int:
        """When a node leaves service next, as far as it is known."""
        return min(
            (row.begin for _, row in self.known() if row.begin > self.now and node in row.ids().tolist()),
            default=FOREVER,
        )

    def lasting(self, t: TracedJob) -> list[int]:
        """Idle nodes that stay for the walltime of a job that starts now, those first that leave first."""
        found = [n for n in self.idle() if self.leaves(n) >= self.now + t.job.walltime]
        return sorted(found, key=lambda n: (self.leaves(n), n))

    def may_start(self, t: TracedJob) -> bool:
        return self.fits_from(t, self.now) and len(self.lasting(t)) >= t.job.nodes

    def start(self, t: TracedJob) -> None:
        assert self.may_start(t)
        self.told.nodes[t.job.id] = sorted(self.lasting(t)[: t.job.nodes])
        self.running[t.job.id] = self.told.start[t.job.id] = self.now

    # Events.

    def replay(self) -> Told:
        while any(t.job.id not in self.told.end for t in self.jobs):
            times = [start + self.by_id[j].runtime for j, start in self.running.items()]
            times += [t.job.submit for t in self.jobs] + list(self.plan.values())
            times += [time for row in self.rows for time in (row.begin, row.end, row.announced or 0)]
            if self.backfilling == "slurm" and any(self.waits(t) for t in self.jobs):
                times.append((self.now // CYCLE + 1) * CYCLE)
            coming = [time for time in times if self.now < time < FOREVER]
            assert coming, "somebody waits for ever"
            self.now = min(coming)
            self.early = False
            for job, start in list(self.running.items()):
                if start + self.by_id[job].runtime == self.now:
                    self.early |= self.by_id[job].runtime < self.by_id[job].job.walltime
                    self.told.end[job] = self.now
                    del self.running[job]
            self.change_service()
            queue = [t for t in self.jobs if self.waits(t)]
            queue.sort(key=lambda t: (*self.key(t), t.job.submit, t.job.id))
            passes = {
                "none": self._plain,
                "first-fit": self._first_fit,
                "easy": self._easy,
                "conservative": self._conservative,
                "slurm": self._slurm,
                "dras": self._dras,
            }
            passes[self.backfilling](queue)
        return self.told

    def waits(self, t: TracedJob) -> bool:
        return (
            t.job.id not in self.told.end
            and t.job.id not in self.running
            and t.job.submit <= self.now
            and all(p in self.told.end for p in t.job.depends_on)
        )

    def change_service(self) -> None:
        self.down = [row for row in self.down if row.end > self.now]
        for row in self.rows:
            if row.ranges and row.begin == self.now:
                for job in sorted(self.running) if row.kind != "drain" else ():
                    if set(row.ids().tolist()) & set(self.told.nodes[job]):
                        self.interrupt(job)
                self.down.append(row)
        self.taken = {k: held for k, held in self.taken.items() if self.rows[k].end > self.now}
        for k, row in enumerate(self.rows):
            if not row.ranges and row.begin == self.now:
                self.taken[k] = set()
        for k in sorted(self.taken):
            while len(self.taken[k]) < self.rows[k].number:
                if idle := self.idle():
                    self.taken[k].add(idle[-1])
                    continue
                holders = {n: job for n, job in self.busy().items() if n not in self.drained()}
                if not holders:
                    break
                self.interrupt(holders[max(holders)])
        borders = {time for row in self.rows for time in (row.begin, row.end) if time >= self.now} | {self.now}
        borders |= {time for time in self.before if time >= self.now}
        borders |= {self.expected(job) for n, job in self.busy().items() if n in self.drained()}
        known = {time: self.service_at(time) for time in borders}
        for time, level in known.items():
            last = max((t for t in self.before if t <= time), default=None)
            if last is None or self.before[last] != level:
                self.replan = True
        self.before = known

    def interrupt(self, job: int) -> None:
        self.told.attempts.append((job, self.running[job], self.now, self.told.nodes[job]))
        del self.running[job]
        if self.requeue:
            del self.told.nodes[job]
        self.replan = True
        if not self.requeue:
            self.told.end[job] = self.now

    # Passes.

    def _plain(self, queue: list[TracedJob]) -> None:
        while queue and self.may_start(queue[0]):
            self.start(queue.pop(0))

    def _first_fit(self, queue: list[TracedJob]) -> None:
        """A policy that knows of no maintenance: of what it offers, the replay drops what would run into it."""
        left, offered = [len(self.idle()), *self.capacity], []
        for r in range(len(self.capacity)):
            left[1 + r] -= sum(self.by_id[j].job.demand[r] for j in self.running)
        for t in queue:
            asks = [t.job.nodes, *t.job.demand]
            if all(a <= b for a, b in zip(asks, left, strict=True)):
                left = [b - a for a, b in zip(asks, left, strict=True)]
                offered.append(t)
        for t in offered:
            if self.may_start(t):
                self.start(t)

    def shadow(self, head: TracedJob) -> int:
        return self.earliest(head, after=self.now + 1)

    def delays(self, t: TracedJob, head: TracedJob, shadow: int) -> bool:
        """Whether a job that starts now would keep another one from starting at its shadow time."""
        self.running[t.job.id] = self.now
        late = shadow < FOREVER and not self.fits_from(head, shadow)
        del self.running[t.job.id]
        return late

    def _easy(self, queue: list[TracedJob]) -> None:
        self._plain(queue)
        if not queue:
            return
        head = queue.pop(0)
        shadow = self.shadow(head)
        for t in queue:
            if self.may_start(t) and not self.delays(t, head, shadow):
                self.start(t)

    def _conservative(self, queue: list[TracedJob]) -> None:
        if not queue:
            return
        if self.replan:
            self.plan = {}
        elif self.early:
            moving = True
            while moving:
                moving = False
                for t in queue:
                    if t.job.id in self.plan:
                        rest = {j: b for j, b in self.plan.items() if j != t.job.id}
                        moved = self.earliest(t, rest)
                        assert moved <= self.plan[t.job.id]
                        moving |= moved < self.plan[t.job.id]
                        self.plan[t.job.id] = moved
        self.replan = False
        for t in queue:
            if t.job.id not in self.plan:
                begin = self.earliest(t, self.plan)
                if begin == self.now and len(self.lasting(t)) < t.job.nodes:
                    begin = self.earliest(t, self.plan, self.release())
                self.plan[t.job.id] = begin
        for t in queue:
            if self.plan[t.job.id] == self.now:
                del self.plan[t.job.id]
                if len(self.lasting(t)) >= t.job.nodes:
                    self.start(t)
                else:
                    self.replan = True

    def release(self) -> int:
        """When other nodes may be free than now."""
        return min(s for s in self.steps() if s > self.now)

    def _slurm(self, queue: list[TracedJob]) -> None:
        """The main scheduler and, at the multiples of :data:`CYCLE`, a cycle with reservations of all jobs."""
        self._plain(queue)
        if self.now % CYCLE:
            return
        reserved: dict[int, int] = {}
        for t in queue:
            begin = self.earliest(t, reserved)
            if begin == self.now and not self.may_start(t):
                begin = self.earliest(t, reserved, self.release())
            if begin == self.now:
                self.start(t)
            elif begin < FOREVER:
                reserved[t.job.id] = begin

    def _dras(self, queue: list[TracedJob], window: int = 3) -> None:
        """The decision process with a reservation that is kept; of the candidates the one with the least ``choice``."""
        head = next((t for t in queue if t.job.id == self.holder), None)
        self.holder = -1
        if head is not None:
            queue.remove(head)
            if self.may_start(head):
                self.start(head)
                head = None
        while head is None and queue:
            chosen = min(queue[:window], key=choice)
            if not self.may_start(chosen):
                chosen = queue[0]
            queue.remove(chosen)
            if self.may_start(chosen):
                self.start(chosen)
            else:
                head = chosen
        if head is None:
            return
        self.holder = head.job.id
        shadow = self.shadow(head)
        while True:
            able = [t for t in queue if self.may_start(t) and not self.delays(t, head, shadow)]
            if not able:
                return
            chosen = min(able[:window], key=choice)
            queue.remove(chosen)
            self.start(chosen)


def choice(t: TracedJob) -> tuple[int, int]:
    """What decides among candidates in place of a network."""
    return (7 * t.job.id) % 5, t.job.id
