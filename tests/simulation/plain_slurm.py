"""A second, slow replay of Slurm's main scheduler and backfill, with its limits, over lists; shares nothing with ours.

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


def plain_slurm(
    jobs: Sequence[PlainJob], nodes: int, interval: int, lets: Callable[[PlainJob, Sequence[PlainJob]], bool]
) -> dict[int, int]:
    """When each job starts [s], in the order of submission, then id."""
    start: dict[int, int] = {}
    jobs = sorted(jobs, key=lambda job: (job.submit, job.id))
    now, wake = -1, None
    while len(start) < len(jobs):
        ends = {start[job.id] + job.runtime for job in jobs if job.id in start}
        coming = {*ends, *(job.submit for job in jobs), *([] if wake is None else [wake])}
        now = min(time for time in coming if time > now)
        running = [job for job in jobs if job.id in start and start[job.id] + job.runtime > now]
        queue = [job for job in jobs if job.id not in start and job.submit <= now]

        def launch(job: PlainJob, now: int = now, running: list[PlainJob] = running) -> None:
            start[job.id] = now
            running.append(job)

        for job in queue:  # the main scheduler
            if lets(job, running):
                if job.nodes > nodes - sum(each.nodes for each in running):
                    break
                launch(job)
        if now % interval == 0:
            taken = [(now, start[each.id] + each.walltime, each.nodes) for each in running]
            for job in queue:
                if job.id in start or not lets(job, running):
                    continue
                times = sorted({now, *(end for _, end, _ in taken)})

                def free(time: int, taken: list[tuple[int, int, int]] = taken) -> int:
                    return nodes - sum(size for begin, end, size in taken if begin <= time < end)

                steps = sorted({*times, *(begin for begin, _, _ in taken)})
                begin = now
                while any(
                    free(t) < job.nodes for t in [begin, *(s for s in steps if begin < s < begin + job.walltime)]
                ):
                    begin = next(time for time in times if time > begin)
                taken.append((begin, begin + job.walltime, job.nodes))
                if begin == now:
                    launch(job)
        waiting = any(job.id not in start for job in queue)
        wake = (now // interval + 1) * interval if waiting and running else None
    return start
