"""The plain replay of tests/simulation/plain_replay.py, for FCFS with EASY backfilling, with mistakes that can be made.

Each mistake is a field of :class:`Fault`; without any, starts are those of the plain replay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from transom.traces import TracedJob, Workload


@dataclass(frozen=True)
class Fault:
    """What is done in another way than in the textbook.

    ``key``: the order of the queue; ``behind``: that of candidates; ``candidate``: how long a candidate is taken to
    run [s]; ``expected``: how long a running job; ``late``: candidates may end so much after the shadow time [s];
    ``extra``: what is made of the extra nodes; ``again``: they are counted anew for each candidate; ``reserve``,
    ``backfill``: whether there is any; ``depth``: candidates that are looked at; ``arrivals``: whether there is a pass
    when jobs arrive and none ends; ``more``: nodes beyond the machine's; ``freed``: ends are seen so much too early
    [s].
    """

    key: Callable[[TracedJob], tuple[float, ...]] = lambda t: (t.job.submit, t.job.id)
    behind: Callable[[TracedJob], float] | None = None
    candidate: Callable[[TracedJob], float] = lambda t: t.job.walltime
    expected: Callable[[TracedJob], float] = lambda t: t.job.walltime
    late: int = 0
    extra: Callable[[int], int] = lambda nodes: nodes
    again: bool = False
    reserve: bool = True
    backfill: bool = True
    depth: int = 10**9
    arrivals: bool = True
    more: int = 0
    freed: int = 0


def replay(workload: Workload, fault: Fault) -> dict[int, int]:
    """Start [s] per job id."""
    jobs = [workload[i] for i in range(len(workload))]
    nodes = workload.cluster.num_nodes + fault.more
    start: dict[int, int] = {}

    def end(t: TracedJob) -> int:
        return start[t.job.id] + max(1, t.runtime - fault.freed)

    now = -1
    while len(start) < len(jobs):
        times = [end(t) for t in jobs if t.job.id in start] + [t.job.submit for t in jobs]
        now = min(time for time in times if time > now)
        running = [t for t in jobs if t.job.id in start and end(t) > now]
        ended = any(end(t) == now for t in jobs if t.job.id in start)
        queue = sorted((t for t in jobs if t.job.id not in start and t.job.submit <= now), key=fault.key)
        if not fault.arrivals and not ended and running:
            continue

        def free(now: int = now) -> int:
            return nodes - sum(t.job.nodes for t in jobs if t.job.id in start and end(t) > now)

        def launch(t: TracedJob, now: int = now, running: list[TracedJob] = running) -> None:
            start[t.job.id] = now
            running.append(t)

        while queue and queue[0].job.nodes <= free():
            launch(queue.pop(0))
        if not queue or not fault.backfill:
            continue
        head, left, shadow = queue[0], free(), now

        def promised(t: TracedJob, now: int = now) -> float:
            return max(start[t.job.id] + fault.expected(t), now + 1)

        ends = sorted((promised(t), t.job.nodes) for t in running)
        while left < head.job.nodes:
            shadow = ends[0][0]
            while ends and ends[0][0] == shadow:
                left += ends.pop(0)[1]
        extra = fault.extra(left - head.job.nodes)
        candidates = queue[1 : 1 + fault.depth]
        if fault.behind is not None:
            candidates.sort(key=fault.behind)
        for t in candidates:
            if t.job.nodes > free():
                continue
            if fault.reserve and now + fault.candidate(t) > shadow + fault.late:
                if t.job.nodes > extra:
                    continue
                extra -= 0 if fault.again else t.job.nodes
            launch(t)
    return start
