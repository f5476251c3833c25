"""How fast the replay is, side by side with plain Python in one run.

    python -m benchmarks.replay TRACE.swf.gz       # the compiled replay against plain Python; policies in Python
    python -m benchmarks.replay --large            # 300,000 generated jobs on 90,000 nodes: time and peak memory

Times are of this machine at this moment; the ratios are what carries over.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.plain_easy import replay as plain_easy
from transom.generate import generate_lublin
from transom.models import Window
from transom.simulation import Decision, simulate
from transom.simulation.output.verification import check_schedule
from transom.traces import Workload, read_swf, write_swf


class HeadWhileItFits:
    """Plain FCFS as a policy in Python, with the whole window at hand; counts its decisions."""

    def __init__(self) -> None:
        self.decisions = 0

    def decide(self, window: Window, /) -> Decision:
        """Start the queue's head while it fits."""
        self.decisions += 1
        free, started = window.free_nodes, []
        for job, nodes in zip(window.queue.id.tolist(), window.queue.nodes.tolist(), strict=True):
            if nodes > free:
                break
            free -= nodes
            started.append(job)
        return Decision(start=tuple(started))


def seconds(action: Callable[[], object]) -> float:
    """Wall-clock time of one call [s]."""
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def compare(workload: Workload, rounds: int) -> None:
    """Plain Python and the compiled replay in turn, then a policy in Python."""
    jobs = workload.jobs
    columns = (jobs.id, jobs.submit, jobs.nodes, jobs.walltime, workload.runtime)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    schedule = simulate(workload, "fcfs-easy")  # compiles
    assert check_schedule(workload, schedule) == []
    expected = plain_easy(rows, workload.cluster.num_nodes)
    assert expected == dict(zip(jobs.id.tolist(), schedule.start.tolist(), strict=True))
    plain, compiled, calls = [], [], []
    for _ in range(rounds):
        plain.append(seconds(lambda: plain_easy(rows, workload.cluster.num_nodes)))
        compiled.append(seconds(lambda: simulate(workload, "fcfs-easy")))
        calls.append(decisions_per_second(workload))
    n = len(workload)
    ratios = [a / b for a, b in zip(plain, compiled, strict=True)]
    print(f"{workload.name}: {n} jobs on {workload.cluster.num_nodes} nodes, {rounds} rounds, medians")
    print(f"plain Python EASY   {n / statistics.median(plain):>12,.0f} jobs/s")
    print(f"transom fcfs-easy   {n / statistics.median(compiled):>12,.0f} jobs/s")
    print(f"ratio               {statistics.median(ratios):>12.1f}  (min {min(ratios):.1f}, max {max(ratios):.1f})")
    print(f"policy in Python    {statistics.median(calls):>12,.0f} decisions/s  (min {min(calls):,.0f})")


def decisions_per_second(workload: Workload) -> float:
    """How often a policy in Python decides in a second of replay."""
    policy = HeadWhileItFits()
    took = seconds(lambda: simulate(workload, policy))
    return policy.decisions / took


def large(jobs: int, nodes: int) -> None:
    """Generate, write, read and replay a large trace; peak memory of the whole process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.swf.gz"
        workload = generate_lublin(jobs, nodes, np.random.default_rng(1), load=0.8)
        write_swf(workload, path)
        small = workload.take(np.arange(100))
        for policy in ("fcfs-easy", "fcfs-conservative", "wfp3-easy"):
            simulate(small, policy)  # compiles
        del workload
        loading = seconds(lambda: read_swf(path))
        workload = read_swf(path)
        print(f"{len(workload)} jobs on {nodes} nodes: read in {loading:.1f} s")
        for policy in ("fcfs-easy", "sjf-easy", "wfp3-easy", "fcfs-conservative"):
            took = seconds(lambda policy=policy: simulate(workload, policy))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{policy:<18} {took:>8.1f} s, peak memory so far {peak:,.0f} MiB", flush=True)


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--jobs", type=int, default=300_000)
    parser.add_argument("--nodes", type=int, default=90_000)
    arguments = parser.parse_args()
    if arguments.trace:
        compare(read_swf(arguments.trace), arguments.rounds)
    if arguments.large:
        large(arguments.jobs, arguments.nodes)
    if not (arguments.trace or arguments.large):
        parser.print_usage(sys.stderr)
        raise SystemExit(2)


if __name__ == "__main__":
    main()
