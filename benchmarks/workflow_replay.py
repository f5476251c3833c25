"""How fast the replay of a large workflow is, side by side with plain Python in one run.

    python -m benchmarks.workflow_replay [--tasks 100000] [--width 64] [--nodes 16] [--policies fcfs,sjf]

For each family: seconds of CPU time to make jobs of the tasks, to replay and verify them first come, first served, and
to compute all figures. Beside it, a loop in plain Python with two heaps, which knows one rule and checks nothing, and
whose starts must be the same. With --policies: seconds of each policy, to replay and verify; ``wide`` is a single task
on which all others wait, so that these are submitted at once.
"""

from __future__ import annotations

import argparse
import heapq
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from transom.generate.instances.workflows import WORKFLOW_FAMILIES, random_workflow
from transom.models import Workflow
from transom.rng import stream
from transom.simulation.runs import Run, replay
from transom.simulation.workflows.figures import workflow_summary
from transom.simulation.workflows.stream import WorkflowStream, stream_of


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its CPU time [s]."""
    begin = time.process_time()
    result = action()
    return result, time.process_time() - begin


def first_come(flows: WorkflowStream) -> list[int]:
    """The start of each task [s] if the one that stands first among those ready starts next, or nothing does."""
    (flow,), runtimes, free = flows.workflows, flows.workload.runtime.tolist(), flows.workload.cluster.num_nodes
    nodes, (first, children) = flow.nodes.tolist(), flow.children
    first, children = first.tolist(), children.tolist()
    waits = np.diff(flow.parents.first).tolist()
    ready = [task for task, count in enumerate(waits) if not count]
    running: list[tuple[int, int]] = []
    starts, now = [0] * len(flow), 0
    while ready or running:
        while ready and nodes[ready[0]] <= free:
            task = heapq.heappop(ready)
            free, starts[task] = free - nodes[task], now
            heapq.heappush(running, (now + runtimes[task], task))
        now = running[0][0]
        while running and running[0][0] == now:
            ended = heapq.heappop(running)[1]
            free += nodes[ended]
            for child in children[first[ended] : first[ended + 1]]:
                waits[child] -= 1
                if not waits[child]:
                    heapq.heappush(ready, child)
    return starts


def main() -> None:
    """Print seconds by family."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--policies", default="")
    asked = parser.parse_args()

    def workflow(family: str, tasks: int) -> Workflow:
        if family == "wide":
            flow = random_workflow(stream(1, "benchmark", family), "chain", tasks)
            return replace(flow, edges=[(0, task) for task in range(1, tasks)])
        return random_workflow(stream(1, "benchmark", family), family, tasks, asked.width)

    if asked.policies:
        policies = asked.policies.split(",")
        print(f"{asked.tasks:,} tasks on {asked.nodes} nodes, CPU time [s]")
        print(f"{'family':12}" + "".join(f"{each:>14}" for each in policies))
        small = stream_of([workflow("wide", 100)], asked.nodes).workload
        for family in ("wide", *WORKFLOW_FAMILIES):
            work = stream_of([workflow(family, asked.tasks)], asked.nodes).workload
            print(f"{family:12}", end="", flush=True)
            for policy in policies:
                replay(small, Run(policy, policy))  # compiles
                taken = timed(lambda work=work, policy=policy: replay(work, Run(policy, policy)))[1]
                print(f"{taken:>14.2f}", end="", flush=True)
            print(flush=True)
        return

    replay(stream_of([workflow("chain", 10)], asked.nodes).workload, Run("fcfs", "fcfs"))  # compiles
    print(f"{asked.tasks:,} tasks on {asked.nodes} nodes, CPU time [s]")
    print(f"{'family':12}{'jobs':>8}{'replay':>8}{'figures':>9}{'together':>10}{'plain Python':>14}")
    for family in WORKFLOW_FAMILIES:
        flow = workflow(family, asked.tasks)
        flows, made = timed(lambda flow=flow: stream_of([flow], asked.nodes))
        (schedule, _), replayed = timed(lambda flows=flows: replay(flows.workload, Run("fcfs", "fcfs")))
        _, told = timed(lambda flows=flows, schedule=schedule: workflow_summary(flows, schedule))
        starts, plain = timed(lambda flows=flows: first_come(flows))
        assert schedule.start.tolist() == starts
        figures = f"{made:>8.2f}{replayed:>8.2f}{told:>9.2f}{made + replayed + told:>10.2f}"
        print(f"{family:12}{figures}{plain:>14.2f}", flush=True)


if __name__ == "__main__":
    main()
