"""A policy of your own: short jobs first, waiting jobs move up, EASY backfilling around the first that does not fit.

Run it: python examples/own_policy.py [TRACE.swf.gz]
"""

from __future__ import annotations

import sys

import numpy as np

from transom import Decision, Reservation, Window, read_swf, simulate


class ShortestAged:
    """Order by walltime / (waiting time + 1 h); the first job that does not fit holds a reservation."""

    def decide(self, window: Window, /) -> Decision:
        """Start jobs in that order; behind the reservation, start what does not delay it."""
        jobs, free = window.queue, window.free_nodes
        order = np.argsort(jobs.walltime / (window.wait + 3600), kind="stable")
        started, backfilled, reserved = [], [], None
        for i in order:
            job, nodes = int(jobs.id[i]), int(jobs.nodes[i])
            end = window.now + int(jobs.walltime[i])
            if reserved is None and nodes <= free:
                started.append(job)
                free -= nodes
            elif reserved is None:  # it starts at the shadow time, when enough nodes are free
                now = order[: len(started)]
                ends = np.append(window.running_end, window.now + jobs.walltime[now])
                released = np.append(window.running.nodes, jobs.nodes[now])
                by_end = np.argsort(ends)
                enough = free + np.cumsum(released[by_end]) >= nodes
                shadow = int(ends[by_end][np.argmax(enough)])
                reserved = Reservation(job, shadow)
                extra = free + int(released[ends <= shadow].sum()) - nodes
            elif nodes <= free and (end <= shadow or nodes <= extra):
                backfilled.append(job)
                free -= nodes
                extra -= nodes if end > shadow else 0
        reservations = () if reserved is None else (reserved,)
        return Decision(tuple(started), tuple(backfilled), reservations)


if __name__ == "__main__":
    workload = read_swf(sys.argv[1] if len(sys.argv) > 1 else "instances/workloads/lublin_5000.swf.gz")
    for policy in ("fcfs-easy", "sjf-easy", "saf-easy", ShortestAged()):
        schedule = simulate(workload, policy)
        figures = schedule.summary()
        mean, longest = figures["mean_wait"] / 3600, figures["max_wait"] / 3600
        print(f"{schedule.policy:<12} mean wait {mean:5.2f} h, longest {longest:7.1f} h")
