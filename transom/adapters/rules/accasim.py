"""The event rules of AccaSim 1.1.3, for cross-checks with results that were made with it.

Its EASY backfilling reserves a time for the first job that does not fit: when it fits by what ends until then, by
walltimes. The time is not computed anew while it lasts, and before it the job is not tried, even where it fits.
Meanwhile whatever fits is started, in queue order, as the allocator is told that no nodes are reserved. All events of
an instant come before one pass; once there are no more events, time goes on second by second.

References
----------
AccaSim 1.1.3 (package index, 2020), ``EASYBackfilling``, ``FirstInFirstOut`` and ``EventManager.next_events``.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import ClassVar

import numpy as np

from transom.simulation.core.schedule import BACKFILLED, READY, RESERVED
from transom.simulation.core.site_order import clock_begins, load_rule, site_order
from transom.simulation.event_rules import Outcome, Report
from transom.simulation.policies.by_name import RulePolicy
from transom.traces.workload import Workload


@dataclass(frozen=True, slots=True)
class AccaSim:
    """A reservation that holds a time but no nodes."""

    name: ClassVar[str] = "accasim"
    stated: ClassVar[str] = name
    replayed: ClassVar[str] = name

    def replay(self, workload: Workload, policy: RulePolicy, report: Report) -> Outcome:
        """Replay a workload of jobs that ask for nodes alone."""
        table, rule, n = workload.jobs, load_rule(policy.rule), len(workload)
        origin, easy = clock_begins(rule, workload), policy.backfilling == "easy"
        submit, nodes, walltime, runtime = (
            column.tolist() for column in (table.submit, table.nodes, table.walltime, workload.runtime)
        )
        start, mode, order = np.full((3, n), -1)
        ends: list[tuple[int, int]] = []
        queue: list[int] = []
        log: list[tuple[int, ...]] = []
        running: dict[int, int] = {}  # job -> expected end [s]
        free, coming, started = workload.cluster.num_nodes, 0, 0
        blocked, reserved, now = -1, 0, 0
        while coming < n or queue or ends:
            times = ([submit[coming]] if coming < n else []) + ([ends[0][0]] if ends else [])
            now = min(times) if times else max(now + 1, reserved)
            while ends and ends[0][0] == now:
                job = heappop(ends)[1]
                free += nodes[job]
                del running[job]
            while coming < n and submit[coming] == now:
                queue.append(coming)
                coming += 1
            if not queue:
                continue
            queue = np.array(queue)[site_order(rule, table.take(queue), now, origin)].tolist()
            chosen: list[tuple[int, int]] = []
            before, row = free, len(queue)

            def launch(job: int, how: int, chosen: list[tuple[int, int]] = chosen, now: int = now) -> None:
                chosen.append((job, how))
                running[job] = now + walltime[job]
                heappush(ends, (now + runtime[job], job))

            place = 0
            if blocked >= 0 and reserved <= now and nodes[queue[0]] <= free:
                free -= nodes[queue[0]]
                launch(queue[0], RESERVED)
                blocked, place = -1, 1
            if blocked < 0:
                while place < len(queue) and nodes[queue[place]] <= free:
                    free -= nodes[queue[place]]
                    launch(queue[place], READY)
                    place += 1
                if easy and place < len(queue):
                    blocked, room = queue[place], free
                    for job, end in sorted(running.items(), key=lambda each: each[1]):
                        room, reserved = room + nodes[job], end
                        if room >= nodes[blocked]:
                            break
            if easy:
                for job in queue[place + 1 :]:
                    if nodes[job] <= free:
                        free -= nodes[job]
                        launch(job, BACKFILLED)
            for job, how in chosen:
                start[job], mode[job], order[job] = now, how, started
                started += 1
            gone = {job for job, _ in chosen}
            queue = [job for job in queue if job not in gone]
            backfilled = sum(how == BACKFILLED for _, how in chosen)
            held = (int(table.id[blocked]), reserved) if blocked >= 0 else (-1, -1)
            log.append((now, row, before, len(chosen), backfilled, *held))
            report(started)
        return Outcome(start, mode, order, np.array(log, np.int64).reshape(-1, 7).T.copy())
