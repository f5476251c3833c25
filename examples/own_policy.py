"""A policy of your own: start what ends soonest, but never let the oldest job wait for more than a day.

Run it: python examples/own_policy.py [TRACE.swf.gz]
"""

from __future__ import annotations

import sys

from transom import Decision, Window, read_swf, simulate

DAY = 86_400


class ShortestUnlessOld:
    """Shortest walltime first over the whole queue; once the oldest job has waited a day, nothing passes it."""

    order = "fcfs"  # window.queue is in this order

    def decide(self, window: Window, /) -> Decision:
        """Choose jobs that fit, in our own order."""
        order: list[int] = window.queue.walltime.argsort(kind="stable").tolist()
        if window.wait[0] > DAY:
            order = [0]
        free, started = window.free_nodes, []
        for position in order:
            if window.queue.nodes[position] <= free:
                free -= int(window.queue.nodes[position])
                started.append(int(window.queue.id[position]))
        return Decision(start=tuple(started))


if __name__ == "__main__":
    workload = read_swf(sys.argv[1] if len(sys.argv) > 1 else "instances/workloads/lublin_5000.swf.gz")
    for policy in ("fcfs-easy", "sjf-easy", ShortestUnlessOld()):
        schedule = simulate(workload, policy)
        figures = schedule.summary()
        mean, longest = figures["mean_wait"] / 3600, figures["max_wait"] / 3600
        print(f"{schedule.policy:<20} mean wait {mean:6.2f} h, max {longest:6.1f} h")
