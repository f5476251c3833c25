"""How fast the replay of tasks is, side by side with plain Python in one run.

    python -m benchmarks.task_replay TASKS.csv.gz [--machines count=5,cpu=64,memory=1] [--chunks 10] [--plain 20]
        [--policy first-fit]

Every chunk is replayed compiled, the first ``--plain`` ones in plain Python, too, whose makespans must be the same.
Times are CPU time of this machine at this moment; the ratios are what carries over.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from benchmarks.plain_tasks import first_fit, longest_first
from transom.simulation.placement.replay import simulate_tasks
from transom.traces.tasks import TaskWorkload, parse_machines, read_tasks

PLAIN: dict[str, Callable[[TaskWorkload], int]] = {"first-fit": first_fit, "longest-first": longest_first}
OTHERS = ("best-fit", "tetris", "drf", "shortest-first", "random")


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its CPU time [s]."""
    begin = time.process_time()
    result = action()
    return result, time.process_time() - begin


def main() -> None:
    """Print instances a CPU second by policy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--machines", action="append")
    parser.add_argument("--chunks", type=int, default=10)
    parser.add_argument("--plain", type=int, default=20)
    parser.add_argument("--policy", action="append")
    asked = parser.parse_args()
    machines = parse_machines(asked.machines or ["count=5,cpu=64,memory=1"])
    chunks = list(read_tasks(asked.trace, machines).chunks(asked.chunks))
    total, few = (sum(int(each.instances.sum()) for each in part) for part in (chunks, chunks[: asked.plain]))
    print(f"{len(chunks)} chunks, {total:,} instances; in plain Python {asked.plain} chunks, {few:,} instances")
    print(f"{'policy':16}{'compiled [1/s]':>18}{'plain Python [1/s]':>22}{'ratio':>10}")
    for policy in asked.policy or (*PLAIN, *OTHERS):
        simulate_tasks(chunks[0], policy)  # compiles
        makespans, compiled = timed(lambda policy=policy: [simulate_tasks(each, policy).makespan for each in chunks])
        line = f"{policy:16}{total / compiled:>18,.0f}"
        if policy in PLAIN and asked.plain:
            expected, plain = timed(lambda policy=policy: [PLAIN[policy](each) for each in chunks[: asked.plain]])
            assert expected == makespans[: asked.plain]
            line += f"{few / plain:>22,.0f}{total / compiled / (few / plain):>10.0f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
