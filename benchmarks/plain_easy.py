"""FCFS with EASY backfilling in good plain Python (heapq and bisect): the yardstick for the compiled replay.

It is also an independent second program: the tests compare its starts with the engine's.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from heapq import heappop, heappush

Row = tuple[int, int, int, int, int]


def replay(jobs: list[Row], num_nodes: int) -> dict[int, int]:
    """Start time [s] per job id.

    Parameters
    ----------
    jobs : (id, submit [s], nodes, walltime [s], runtime [s]), runtime <= walltime.
    num_nodes : nodes of the machine.
    """
    arrivals = sorted(jobs, key=lambda job: (job[1], job[0]))
    ends: list[tuple[int, int, int]] = []  # heap of (real end, id, nodes)
    expected: list[tuple[int, int, int]] = []  # sorted (start + walltime, id, nodes)
    queue: list[Row] = []
    start: dict[int, int] = {}
    free = num_nodes
    coming, count = 0, len(arrivals)
    limit = {job[0]: job[3] for job in jobs}
    while coming < count or ends:
        now = min(ends[0][0] if ends else 1 << 62, arrivals[coming][1] if coming < count else 1 << 62)
        while ends and ends[0][0] == now:
            _, job, nodes = heappop(ends)
            free += nodes
            entry = (start[job] + limit[job], job, nodes)
            del expected[bisect_left(expected, entry)]
        while coming < count and arrivals[coming][1] == now:
            queue.append(arrivals[coming])
            coming += 1
        if not queue:
            continue

        waiting: list[Row] = []
        head: Row | None = None
        shadow = extra = 0
        for place, row in enumerate(queue):
            job, _, nodes, walltime, runtime = row
            if head is None and nodes > free:
                head = row
                available = free
                for end, _, released in expected:
                    if available >= nodes and end != shadow:
                        break
                    available += released
                    shadow = end
                extra = available - nodes
                waiting.append(row)
                continue
            if head is not None:
                if free == 0:
                    waiting.extend(queue[place:])
                    break
                if nodes > free:
                    waiting.append(row)
                    continue
                if now + walltime > shadow:
                    if nodes > extra:
                        waiting.append(row)
                        continue
                    extra -= nodes
            free -= nodes
            start[job] = now
            heappush(ends, (now + runtime, job, nodes))
            insort(expected, (now + walltime, job, nodes))
        queue = waiting
    return start
