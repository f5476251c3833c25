"""The rule of periods in plain Python, instant by instant over lists: a second replay to compare with."""

from __future__ import annotations

from transom.traces import Workload


def replay_periods(workload: Workload, period: int, window: str, limit: int | None) -> dict[int, int]:
    """Start [s] per job id under windows of that period (Lan et al. 2023, section III-C)."""
    jobs = [workload[i] for i in range(len(workload))]
    runtime = {t.job.id: t.runtime for t in jobs}
    capacity = [workload.cluster.num_nodes, *workload.cluster.capacities]
    waited = {t.job.id: 0 for t in jobs}
    start: dict[int, int] = {}
    now = 0
    while len(start) < len(jobs):
        ended = {job for job, begin in start.items() if begin + runtime[job] <= now}
        free = list(capacity)
        for t in jobs:
            if t.job.id in start and t.job.id not in ended:
                free = [f - a for f, a in zip(free, (t.job.nodes, *t.job.demand), strict=True)]
        queue = [
            t.job for t in jobs if t.job.id not in start and t.job.submit <= now and ended.issuperset(t.job.depends_on)
        ]
        queue.sort(key=lambda job: (-waited[job.id], job.nodes, job.submit, job.id))
        multi = 0
        for job in queue:
            asks = (job.nodes, *job.demand)
            fits = all(a <= f for a, f in zip(asks, free, strict=True))
            full = job.nodes > 1 and limit is not None and multi == limit
            if fits and not full:
                start[job.id] = now
                multi += job.nodes > 1
                free = [f - a for f, a in zip(free, asks, strict=True)]
            elif window == "code":
                break
        for job in queue:
            waited[job.id] += job.id not in start
        now += period
    return start
