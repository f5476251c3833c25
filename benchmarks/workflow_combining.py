"""What combining tasks costs: makespans of replays with combined tasks beside those with the tasks themselves.

    python -m benchmarks.workflow_combining WORKFLOW... [--nodes 4,16,64] [--loss 0.02]

A line for each workflow and machine: tasks before and after, and the change of the makespan under each policy, in
percent. Runtimes are replayed to the millisecond. Combined tasks run as long as the longest of them.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from transom.io import read_workflows
from transom.models import Workflow
from transom.reductions.combining import combine
from transom.simulation import simulate
from transom.simulation.output.metrics import makespan
from transom.simulation.workflows.stream import stream_of

POLICIES = ("fcfs", "fcfs-easy")


def replayed(workflow: Workflow, nodes: int, policy: str) -> int:
    """The makespan [ms] of a replay."""
    in_ms = replace(
        workflow, runtimes=1000 * workflow.runtimes, walltimes=1000 * workflow.walltimes, submit=0, machine=None
    )
    return makespan(simulate(stream_of([in_ms], nodes).workload, policy))


def main() -> None:
    """Print changes of makespans."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workflows", nargs="+")
    parser.add_argument("--nodes", default="4,16,64")
    parser.add_argument("--loss", type=float, default=0.02)
    asked = parser.parse_args()
    print(f"{'workflow':36}{'nodes':>6}{'tasks':>7}{'combined':>10}" + "".join(f"{p + ' [%]':>16}" for p in POLICIES))
    for path in asked.workflows:
        for flow in read_workflows(path):
            for nodes in map(int, asked.nodes.split(",")):
                made = combine(flow, nodes, asked.loss).workflow
                ratios = [replayed(made, nodes, p) / replayed(flow, nodes, p) - 1 for p in POLICIES]
                cells = "".join(f"{100 * each:>16.2f}" for each in ratios)
                print(f"{flow.name[:34]:36}{nodes:>6}{len(flow):>7}{len(made):>10}{cells}", flush=True)


if __name__ == "__main__":
    main()
