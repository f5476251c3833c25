"""The learned priority of tasks against longest-first and first-fit, with durations known and known to a factor.

    transom train learned-priority TASKS.csv.gz --machines count=5,cpu=64,memory=1 --jobs 2000 --seed 0 --out out/seed-0
    (also seeds 1 and 2)
    python -m benchmarks.learned_priority TASKS.csv.gz --model out/seed-0 --model out/seed-1 --model out/seed-2

A table for each factor of the error: how far makespans lie above the lower bound, and on how many chunks they are
shorter, equal and longer than those of longest-first and of first-fit, with the two-sided sign test against
longest-first. What schedulers are told of a duration is log-normal around the truth: a factor of 2 is a standard
deviation of log 2. Then the speed of each policy.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from transom.models.arrays import IntArray
from transom.rng import stream
from transom.simulation.placement.bounds import makespan_bound
from transom.simulation.placement.replay import simulate_tasks
from transom.traces.tasks import TaskWorkload, parse_machines, read_tasks


def with_errors(chunk: TaskWorkload, factor: float, seed: int) -> TaskWorkload:
    """A workload of which schedulers know durations to a factor."""
    if factor == 1:
        return chunk
    errors = stream(seed, "errors").normal(0, math.log(factor), len(chunk))
    return replace(chunk, estimate=np.maximum(chunk.duration * np.exp(errors), 1e-3))


def table(chunks: Sequence[TaskWorkload], first: int, bounds: IntArray, policies: dict[str, str]) -> None:
    """A line for each policy."""
    print(f"{'policy':36}{'mean [s]':>10}{'above [%]':>11}{'median':>8}{'longest-first':>17}{'p':>10}{'first-fit':>16}")

    def makespans(spec: str) -> IntArray:
        return np.array([simulate_tasks(each, spec, seed=first + k).makespan for k, each in enumerate(chunks)])

    others = {name: makespans(name) for name in ("longest-first", "first-fit")}
    for name, spec in policies.items():
        found = others[name] if name in others else makespans(spec)
        above, counts, p = 100 * (found / bounds - 1), list[str](), 1.0
        for other, theirs in others.items():
            won, lost = int((found < theirs).sum()), int((found > theirs).sum())
            counts.append(f"{won} / {len(bounds) - won - lost} / {lost}")
            if other == "longest-first" and won + lost:
                p = binomtest(won, won + lost).pvalue
        print(
            f"{name:36}{found.mean():>10.1f}{above.mean():>11.2f}{np.median(above):>8.2f}"
            f"{counts[0]:>17}{p:>10.1g}{counts[1]:>16}",
            flush=True,
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--machines", action="append")
    parser.add_argument("--model", action="append", help="folder of a training or checkpoint")
    parser.add_argument("--chunks", type=int, default=10)
    parser.add_argument("--first", type=int, default=200)
    parser.add_argument("--last", type=int, default=519)
    parser.add_argument("--rollouts", default="0,32")
    parser.add_argument("--factors", default="1,1.5,2")
    asked = parser.parse_args()
    machines = parse_machines(asked.machines or ["count=5,cpu=64,memory=1"])
    chunks = list(read_tasks(asked.trace, machines).chunks(asked.chunks))[asked.first : asked.last + 1]
    bounds = np.array([makespan_bound(each) for each in chunks])
    policies = {"first-fit": "first-fit", "longest-first": "longest-first"}
    rollouts = [int(each) for each in asked.rollouts.split(",")]
    for number in rollouts:
        for model in asked.model or ["learned-priority"]:
            path = Path(model) / "learned-priority.safetensors" if Path(model).is_dir() else model
            policies[f"{model}, {number} rollouts"] = f"learned-priority:model=[{path}],rollouts={number}"
    for factor in map(float, asked.factors.split(",")):
        print(f"\nchunks {asked.first} to {asked.first + len(chunks) - 1}, durations known to a factor of {factor:g}")
        told = [with_errors(each, factor, asked.first + k) for k, each in enumerate(chunks)]
        table(told, asked.first, bounds, policies)
    print("\ninstances placed in a CPU second")
    total = sum(int(each.instances.sum()) for each in chunks[:100])
    for name, spec in policies.items():
        began = time.process_time()
        for each in chunks[:100]:
            simulate_tasks(each, spec)
        print(f"{name:36}{total / (time.process_time() - began):>12,.0f}", flush=True)


if __name__ == "__main__":
    main()
