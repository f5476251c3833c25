"""A second, slow replay of Slurm's main scheduler and backfill, with limits and reservations; shares nothing with ours.

Reservations are not rounded, so that it is to be compared with ``resolution=1``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass
class PlainJob:
    """A job and what limits go by."""

    id: int
    submit: int
    nodes: int
    walltime: int
    runtime: int
    user: str = ""
    account: str = ""
    qos: str = ""
    amounts: dict[str, int] = field(default_factory=dict)
    reservation: str = ""
    partition: str = ""


@dataclass
class PlainReservation:
    """Nodes for the jobs that name it and, with ``MAGNETIC``, those of its users that name none."""

    name: str
    begin: int
    end: int
    nodes: set[int]
    users: set[str]
    flags: set[str]

    def holds(self, time: int) -> bool:
        """Whether it is in force."""
        return self.begin <= time < self.end


@dataclass
class PlainLimits:
    """Limits as dictionaries: by account, by (account, user) and by QOS; amounts by name, ``jobs`` among them."""

    parent: dict[str, str] = field(default_factory=dict)
    group: dict[str, dict[str, int]] = field(default_factory=dict)
    max_jobs: dict[tuple[str, str], int] = field(default_factory=dict)
    qos: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)  # by QOS, then group, user, account

    def above(self, account: str) -> list[str]:
        """An account and those above it."""
        found = []
        while account:
            found.append(account)
            account = self.parent.get(account, "")
        return found

    def lets(self, job: PlainJob, running: Sequence[PlainJob]) -> bool:
        """Whether a job may start beside those that run."""

        def within(limit: dict[str, int], among: list[PlainJob]) -> bool:
            return all(sum(each.amounts[name] for each in [*among, job]) <= most for name, most in limit.items())

        own = self.qos.get(job.qos, {})
        of_qos = [each for each in running if each.qos == job.qos]
        if not within(own.get("group", {}), of_qos):
            return False
        if not within(own.get("user", {}), [each for each in of_qos if each.user == job.user]):
            return False
        if not within(own.get("account", {}), [each for each in of_qos if each.account == job.account]):
            return False
        for account in self.above(job.account):
            left = {
                name: most for name, most in self.group.get(account, {}).items() if name not in own.get("group", {})
            }
            if not within(left, [each for each in running if account in self.above(each.account)]):
                return False
        if "jobs" in own.get("user", {}) or "jobs" in own.get("account", {}):
            return True
        most = next(
            (self.max_jobs[key] for key in [(job.account, job.user), *((a, "") for a in self.above(job.account))]
             if key in self.max_jobs), 10**9,
        )  # fmt: skip
        return sum((each.account, each.user) == (job.account, job.user) for each in running) < most


@dataclass
class PlainNodes:
    """Nodes that jobs share: what each has, and what a job takes on each of its nodes, by name."""

    count: int
    has: dict[str, int]

    def asks(self, job: PlainJob) -> dict[str, int]:
        """Cores, memory and GPUs, spread evenly."""
        amounts = {"cpu": job.nodes, **job.amounts}
        return {name: -(-amounts[name] // self.wide(job)) for name in self.has}

    def wide(self, job: PlainJob) -> int:
        """How many nodes a job has."""
        return max(job.amounts["node"], -(-job.nodes // self.has["cpu"]))

    def with_room(
        self, job: PlainJob, running: Sequence[PlainJob], on: dict[int, list[int]], among: set[int] | None = None
    ) -> list[int]:
        """The nodes with room for a job, of some or of all."""
        found = []
        for node in range(self.count) if among is None else sorted(among):
            there = [each for each in running if node in on[each.id]]
            used = {name: sum(self.asks(each)[name] for each in there) for name in self.has}
            if all(used[name] + amount <= self.has[name] for name, amount in self.asks(job).items()):
                found.append(node)
        return found


def plain_slurm(
    jobs: Sequence[PlainJob],
    nodes: int,
    interval: int,
    lets: Callable[[PlainJob, Sequence[PlainJob]], bool],
    reservations: Sequence[PlainReservation] = (),
    shared: PlainNodes | None = None,
    partitions: dict[str, set[int]] | None = None,
) -> dict[int, int]:
    """When each job starts [s], in the order of submission, then id; each keeps to the nodes of its partition."""
    start: dict[int, int] = {}
    on: dict[int, list[int]] = {}
    pool: dict[int, PlainReservation | None] = {}
    jobs = sorted(jobs, key=lambda job: (job.submit, job.id))
    told = any(job.reservation for job in jobs)
    changes = {time for each in reservations for time in (each.begin, each.end)}
    now, wake = -1, None
    while len(start) < len(jobs):
        ends = {start[job.id] + job.runtime for job in jobs if job.id in start}
        coming = {*ends, *(job.submit for job in jobs), *([] if wake is None else [wake])}
        now = min(time for time in coming if time > now)
        running = [job for job in jobs if job.id in start and start[job.id] + job.runtime > now]
        queue = [job for job in jobs if job.id not in start and job.submit <= now]

        def launch(
            job: PlainJob, of: PlainReservation | None, now: int = now, running: list[PlainJob] = running
        ) -> None:
            start[job.id], pool[job.id] = now, of
            if shared is not None:
                among = _unreserved(job, of, shared.count, now, reservations)
                on[job.id] = shared.with_room(job, running, on, among)[: shared.wide(job)]
            running.append(job)

        def has_room(
            job: PlainJob, of: PlainReservation | None, now: int = now, running: list[PlainJob] = running
        ) -> bool:
            if shared is not None:
                among = _unreserved(job, of, shared.count, now, reservations)
                if len(shared.with_room(job, running, on, among)) < shared.wide(job):
                    return False
            own = [each for each in running if each.partition == job.partition]
            if partitions is not None and job.nodes > len(partitions[job.partition]) - sum(each.nodes for each in own):
                return False
            return job.nodes <= nodes - sum(each.nodes for each in running)

        def next_release(now: int = now, running: list[PlainJob] = running) -> int:
            ends = [max(start[each.id] + each.walltime, now + 1) for each in running]
            return min([*ends, *(time for time in changes if time > now)])

        single = (has_room, next_release) if shared is not None and reservations else None
        per = 1 if shared is None else shared.has["cpu"]
        plan = _Plan(nodes, now, told, reservations, [(each, start[each.id], pool[each.id]) for each in running], per)
        plan.single, plan.partitions = single, partitions or {}
        blocked: set[str] = set()
        for job in queue:  # the main scheduler
            own = [each for each in reservations if each.name == job.reservation and each.end > now]
            line = job.reservation if own else f" {job.partition}"
            if line not in blocked and lets(job, running):
                of, begin = plan.earliest(job)
                if begin == now and has_room(job, of):
                    launch(job, of)
                    plan.take(job, now, of)
                else:
                    blocked.add(line)
        if now % interval == 0:
            plan = _Plan(
                nodes, now, told, reservations, [(each, start[each.id], pool[each.id]) for each in running], per
            )
            plan.single, plan.partitions = single, partitions or {}
            for job in queue:
                if job.id in start or not lets(job, running):
                    continue
                of, begin = plan.earliest(job)
                if begin == now and not has_room(job, of):
                    of, begin = plan.earliest(job, min(start[each.id] + each.walltime for each in running))
                plan.take(job, begin, of)
                if begin == now and has_room(job, of):
                    launch(job, of)
        waiting = any(job.id not in start for job in queue)
        change = min((time for time in changes if time > now), default=None)
        wake = None
        if waiting and (running or (change is not None and now % interval)):
            wake = (now // interval + 1) * interval
        elif waiting and change is not None:
            wake = -(-change // interval) * interval
    return start


def _unreserved(
    job: PlainJob, of: PlainReservation | None, count: int, now: int, reservations: Sequence[PlainReservation]
) -> set[int]:
    """The nodes of a pool that nobody else has reserved before the end of a job that starts now."""
    found = set(range(count)) if of is None else set(of.nodes)
    end = now + job.walltime if of is None else min(now + job.walltime, of.end)
    for each in reservations:
        if each is of or each.end <= now or each.begin >= end:
            continue
        if of is None or ("MAINT" not in of.flags and ("OVERLAP" not in of.flags or "MAINT" in each.flags)):
            found -= each.nodes
    return found


class _Plan:
    """Who holds how many nodes of which pool when, by walltimes; the pool None is that for all jobs."""

    def __init__(
        self,
        nodes: int,
        now: int,
        told: bool,
        reservations: Sequence[PlainReservation],
        running: Sequence[tuple[PlainJob, int, PlainReservation | None]],
        per: int = 1,
    ) -> None:
        self.nodes, self.now, self.told, self.reservations, self.per = nodes, now, told, reservations, per
        # Whether single nodes have room for a job, and when that may change.
        self.single: tuple[Callable[..., bool], Callable[[], int]] | None = None
        self.partitions: dict[str, set[int]] = {}
        self.taken: list[tuple[int, int, int, PlainReservation | None, str]] = []
        for job, start, of in running:
            self.take(job, start, of if of is not None and of.end > now else None)

    def take(self, job: PlainJob, begin: int, of: PlainReservation | None) -> None:
        """Let a job hold its nodes."""
        end = begin + job.walltime
        self.taken.append((begin, end if of is None else min(end, of.end), job.nodes, of, job.partition))

    def earliest(self, job: PlainJob, after: int = -1) -> tuple[PlainReservation | None, int]:
        """From which pool a job gets its nodes first, and when, those for all not before an instant."""
        named = [each for each in self.reservations if each.name == job.reservation]
        magnetic = [
            each for each in self.reservations
            if not job.reservation and job.user in each.users and (not self.told or "MAGNETIC" in each.flags)
        ]  # fmt: skip
        found: list[tuple[int, PlainReservation | None]] = []
        for of in (*named, *magnetic):
            begin = self._first(job, of, self.now, of.end) if of.end > self.now else None
            if begin == self.now and self.single is not None and not self.single[0](job, of):
                begin = self._first(job, of, self.single[1](), of.end)
            if begin is not None:
                found.append((begin, of))
        least = max([self.now, after, *(each.end for each in named)])
        last = self._first(job, None, least, None)
        if last == self.now and self.single is not None and not self.single[0](job, None):
            last = self._first(job, None, self.single[1](), None)
        assert last is not None
        found.append((last, None))
        begin, best = min(found, key=lambda each: each[0])
        return best, begin

    def _first(self, job: PlainJob, of: PlainReservation | None, after: int, limit: int | None) -> int | None:
        times = {after, *(time for begin, end, _, _, _ in self.taken for time in (begin, end))}
        times |= {time for each in self.reservations for time in (each.begin, each.end)}
        for begin in sorted(time for time in times if time >= after and (limit is None or time < limit)):
            end = begin + job.walltime if limit is None else min(begin + job.walltime, limit)
            steps = [begin, *(time for time in times if begin < time < end)]
            own = [None, *([job.partition] if self.partitions else [])]
            if all(self._free(of, time, name) >= job.nodes for time in steps for name in own):
                return begin
        return None

    def _free(self, of: PlainReservation | None, time: int, partition: str | None = None) -> int:
        nodes = set(range(self.nodes)) if partition is None else self.partitions[partition]
        taken = sum(
            size for begin, end, size, pool, where in self.taken
            if pool is of and begin <= time < end and partition in (None, where)
        )  # fmt: skip
        active = [each for each in self.reservations if each.holds(time)]
        if of is None:
            return len(nodes) - self.per * len(nodes & set[int]().union(*(each.nodes for each in active))) - taken
        if not of.holds(time):
            return -taken
        others = set[int]()
        for each in active:
            if each is not of and "MAINT" not in of.flags and ("OVERLAP" not in of.flags or "MAINT" in each.flags):
                others |= each.nodes
        return self.per * len(nodes & (of.nodes - others)) - taken
