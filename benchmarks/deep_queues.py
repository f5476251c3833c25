"""What deep queues and millions of jobs cost: CPU time on one core and peak memory, each row in a process of its own.

    python -m benchmarks.deep_queues                   # conservative, and a million jobs under EASY
    python -m benchmarks.deep_queues --large           # ten million jobs under EASY, too
    python -m benchmarks.deep_queues --only ricc --jobs 100000

Jobs at once are Lublin's on 1,024 nodes, whose walltimes are rounded; those of ``distinct`` have a walltime of their
own each, those of ``resource`` ask for a further resource, too. The like of RICC has 8,192 nodes: users submit some
dozens of like jobs, now and then thousands of small ones, most of which run for a small share of their walltime.
450,000 of them take 121 days; under EASY they use 0.85 of the machine, and 7,573 wait at the peak. Column ``used`` is
that share. The last two are how many promises were made, moved or ended, and the time for each [us]. Every schedule is
checked.
Kernels are compiled before the clock starts; a row that takes longer than ``--limit`` is given up.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

from transom.generate import generate_lublin
from transom.models import Cluster, JobTable
from transom.simulation import simulate
from transom.simulation.core.promise_log import PromiseLog
from transom.simulation.output.verification import check_schedule
from transom.traces import Workload

RICC_NODES = 8192
_SIZES = np.array([1, 1, 1, 1, 1, 4, 8, 8, 8, 16, 32, 64, 128, 256, 512, 1024])
_WALLTIMES = np.array([3600, 14400, 43200, 86400, 86400, 259200])


def at_once(jobs: int) -> Workload:
    """Lublin's jobs on 1,024 nodes, all submitted at one instant."""
    drawn = generate_lublin(jobs, 1024, np.random.default_rng(1))
    data = drawn.jobs.data.copy()
    data[:, 1] = 0
    return Workload("at once", drawn.cluster, JobTable(data), drawn.runtime)


def distinct(jobs: int) -> Workload:
    """The same with walltimes of which no two are equal."""
    same = at_once(jobs)
    data, order = same.jobs.data.copy(), np.argsort(same.jobs.walltime, kind="stable")
    data[order, 3] += np.arange(jobs)
    return Workload("distinct", same.cluster, JobTable(data), same.runtime)


def with_resource(jobs: int) -> Workload:
    """The same; each job asks for up to a tenth of a further resource, too."""
    same = at_once(jobs)
    data = np.column_stack((same.jobs.data, np.random.default_rng(2).integers(0, 101, jobs)))
    return Workload("resource", Cluster(1024, ("burst_buffer",), (1000,)), JobTable(data), same.runtime)


def like_ricc(jobs: int, load: float = 0.87) -> Workload:
    """Bursts of like jobs, one in a hundred of 500 to 5,000 small ones, at random instants."""
    rng = np.random.default_rng(1)
    bursts, drawn = [], 0
    while drawn < jobs:
        large = rng.random() >= 0.99
        nodes = rng.choice([1, 1, 1, 4, 8]) if large else rng.choice(_SIZES)
        mean = 60 if nodes <= 8 else 5
        count = min(jobs - drawn, int(rng.integers(500, 5000) if large else rng.geometric(1 / mean)))
        walltime = int(rng.choice(_WALLTIMES))
        share = rng.random() * rng.random(count) ** 3
        runtime = np.maximum(1, (walltime * share).astype(np.int64))
        bursts.append(np.column_stack((np.full(count, nodes), np.full(count, walltime), runtime)))
        drawn += count
    asked = np.concatenate(bursts)
    span = (asked[:, 0] * asked[:, 2]).sum() / RICC_NODES / load
    begin = np.repeat(np.sort(rng.random(len(bursts))) * span, [len(each) for each in bursts])
    submit = begin.astype(np.int64) + rng.integers(0, 60, jobs)
    order = np.argsort(submit, kind="stable")
    unknown = np.full(jobs, -1)
    columns = (np.arange(1, jobs + 1), submit[order], asked[order, 0], asked[order, 1], unknown, unknown)
    return Workload("like RICC", Cluster(RICC_NODES), JobTable(np.column_stack(columns)), asked[order, 2])


def lublin(jobs: int) -> Workload:
    """Lublin's jobs on 4,096 nodes at a load of 0.8: a million, and copies of it one after another."""
    copies = max(1, jobs // 1_000_000)
    one = generate_lublin(jobs // copies, 4096, np.random.default_rng(1), load=0.8)
    data, span = np.tile(one.jobs.data, (copies, 1)), int(one.jobs.submit[-1])
    data[:, 0] = np.arange(1, len(data) + 1)
    data[:, 1] += np.repeat(np.arange(copies), len(one)) * span
    return Workload("Lublin", one.cluster, JobTable(data), np.tile(one.runtime, copies))


ROWS = {
    "1000": (at_once, "fcfs-conservative", 1_000),
    "2000": (at_once, "fcfs-conservative", 2_000),
    "10000": (at_once, "fcfs-conservative", 10_000),
    "distinct": (distinct, "fcfs-conservative", 2_000),
    "resource": (with_resource, "fcfs-conservative", 2_000),
    "depth": (distinct, "fcfs-conservative:depth=200", 10_000),
    "ricc": (like_ricc, "fcfs-conservative", 450_000),
    "ricc-easy": (like_ricc, "fcfs-easy", 450_000),
    "million": (lublin, "fcfs-easy", 1_000_000),
    "ten-million": (lublin, "fcfs-easy", 10_000_000),
}


def row(name: str, jobs: int | None) -> None:
    """Measure a row in this process and print it."""
    make, policy, default = ROWS[name]
    simulate(at_once(50), policy)  # compiles
    workload = make(jobs or default)
    begun = time.process_time()
    schedule = simulate(workload, policy)
    took = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    wrong = check_schedule(workload, schedule)
    assert wrong == [], wrong
    deepest, median = int(schedule.decisions["queued"].max()), int(np.median(schedule.decisions["queued"]))
    used = (workload.jobs.nodes * workload.runtime).sum() / workload.cluster.num_nodes
    share = used / (schedule.end.max() - workload.jobs.submit[0])
    line = f"{workload.name:<12}{policy:<28}{len(workload):>12,}{deepest:>10,}{median:>10,}"
    line += f"{took:>10.2f}{peak:>10.2f}{share:>8.2f}"
    if "conservative" in policy:
        log = PromiseLog()
        simulate(workload, policy, promises=log)
        line += f"{len(log):>14,}{1e6 * took / len(log):>8.2f}"
    print(line, flush=True)


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=ROWS, help="one row alone")
    parser.add_argument("--jobs", type=int, help="another number of jobs, with --only")
    parser.add_argument("--large", action="store_true", help="ten million jobs, too")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds after which a row is given up")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        row(arguments.only, arguments.jobs)
        return
    print(
        f"{'jobs':<12}{'policy':<28}{'number':>12}{'queued':>10}{'median':>10}{'CPU s':>10}{'peak GiB':>10}{'used':>8}"
        f"{'promises':>14}{'us':>8}",
        flush=True,
    )
    for name in [arguments.only] if arguments.only else ROWS:
        if name == "ten-million" and not (arguments.large or arguments.only):
            continue
        command = [sys.executable, "-m", "benchmarks.deep_queues", "--here", "--only", name]
        command += ["--jobs", str(arguments.jobs)] if arguments.jobs else []
        try:
            subprocess.run(command, check=True, timeout=arguments.limit)
        except subprocess.TimeoutExpired:
            print(f"{name:<12}not done in {arguments.limit:.0f} s", flush=True)


if __name__ == "__main__":
    main()
