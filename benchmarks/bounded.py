"""The card of `bounded-easy`: what it costs on the workloads that it was chosen on, and on others.

    python -m benchmarks.bounded                     # all: about a minute of CPU time
    python -m benchmarks.bounded KTH-SP2 NASA        # some, by the beginning of their names

A line a workload: mean bounded slowdown and longest wait [h] under fcfs-easy, under the fixed rule with EASY
backfilling that is best there in hindsight, however long it makes anybody wait, and under bounded-easy; then the
slowdown of bounded-easy over that of the best rule, and its longest wait over that of fcfs-easy. A geometric mean ends
each group. Halves of the traces, and the 30,000 jobs in their middle, are replayed by themselves.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from transom.generate.workload.workload_recipe import WorkloadRecipe
from transom.simulation import simulate
from transom.simulation.output.metrics import bounded_slowdown
from transom.traces import Workload, cut, read_swf

TRACES = Path(__file__).parents[2] / "shared" / "traces"
RULES = ("fcfs", "sjf", "ljf", "smallest", "largest", "saf", "wfp3", "unicep", "f1", "f2", "f3", "f4")
Made = Callable[[], Workload]


def trace(name: str) -> Made:
    """A trace of the archive, as `transom simulate` reads it."""
    return lambda: read_swf(TRACES / f"{name}.swf.gz")


def part(name: str, begin: float, end: float, jobs: int | None = None) -> Made:
    """A part of a trace, from a share of its jobs to another, or so many jobs around its middle."""

    def made() -> Workload:
        whole = read_swf(TRACES / f"{name}.swf.gz")
        first, last = int(begin * len(whole)), int(end * len(whole))
        if jobs is not None:
            first, last = max(len(whole) // 2 - jobs // 2, 0), min(len(whole) // 2 + jobs // 2, len(whole))
        return cut(whole, first, last - first)

    return made


def generated(seed: int, like: str | None = None, **settings: Any) -> Made:
    """12,000 jobs of a model."""
    if like is not None:
        settings |= {"model": "weekly", "like": str(TRACES / f"{like}.swf.gz")}
    return lambda: WorkloadRecipe(jobs=12_000, **settings).workload(seed, 1)


FIVE = ("theta_2022", "KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln", "SDSC-BLUE-2000-4.2-cln", "HPC2N-2002-2.2-cln")
GROUPS: dict[str, dict[str, Made]] = {
    "chosen on: whole traces": {name: trace(name) for name in FIVE},
    "chosen on: first halves": {f"{name}, first": part(name, 0.0, 0.5) for name in FIVE},
    "chosen on: second halves": {f"{name}, second": part(name, 0.5, 1.0) for name in FIVE},
    "chosen on: 30,000 jobs in the middle": {f"{name}, middle": part(name, 0, 1, 30_000) for name in FIVE},
    "chosen on: generated": {
        "lublin, 512 nodes, load 0.85": generated(11, nodes=512, load=0.85),
        "lublin, 256 nodes, load 0.97": generated(12, nodes=256, load=0.97),
        "lublin, 1,024 nodes, load 1.1": generated(13, nodes=1024, load=1.1),
        "weekly, KTH-SP2, rate 1.15": generated(14, FIVE[1], rate=1.15),
        "weekly, theta_2022, rate 0.9": generated(15, FIVE[0], rate=0.9),
    },
    "unseen": {
        "NASA-iPSC-1993-3.1-cln": trace("NASA-iPSC-1993-3.1-cln"),
        "lublin_256": trace("lublin_256"),
        "lublin_2000": trace("lublin_2000"),
        "lublin, exact walltimes": generated(21, nodes=128, load=0.9, walltimes="exact"),
        "weekly, NASA, rate 2.5": generated(22, "NASA-iPSC-1993-3.1-cln", rate=2.5),
    },
}


def measure(name: str, workload: Workload) -> tuple[float, float]:
    """Print a line; the slowdown over that of the best rule, and the longest wait over that of fcfs-easy."""

    def figures(policy: str) -> tuple[float, float]:
        schedule = simulate(workload, policy)
        return float(bounded_slowdown(schedule).mean()), float(schedule.wait.max()) / 3600

    (today, waits), (ours, longest) = figures("fcfs-easy"), figures("bounded-easy")
    best, best_wait, rule = min((*figures(f"{rule}-easy"), rule) for rule in RULES)
    ratios = ours / best, longest / waits
    print(
        f"{name:<32}{today:>8.1f}{waits:>7.0f}{best:>8.1f}{best_wait:>8.0f} {rule:<9}{ours:>7.1f}{longest:>7.0f}"
        f"{ratios[0]:>7.2f}{ratios[1]:>6.2f}",
        flush=True,
    )
    return ratios


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", nargs="*", help="the beginnings of names, by default all")
    given = parser.parse_args(arguments)
    begins = tuple(given.workload) or ""
    print(f"{'':<32}{'fcfs-easy':>15}{'best fixed rule':>25}{'bounded-easy':>14}{'/best':>7}{'/wait':>6}")
    for group, workloads in GROUPS.items():
        chosen = {name: made for name, made in workloads.items() if name.startswith(begins)}
        if not chosen:
            continue
        print(group)
        found = np.array([measure(name, made()) for name, made in chosen.items()])
        slowdown, wait = np.exp(np.log(found).mean(axis=0))
        print(f"{'  geometric means':<32}{slowdown:>84.3f}{wait:>6.2f}; longest wait at most {found[:, 1].max():.2f}")


if __name__ == "__main__":
    main()
