"""Schedules of ``auto`` side by side on clusters that no plan has: how they are chosen, and judged.

    python -m benchmarks.schedules dcas --seconds 0.1 --schedule dp-polish --schedule "dcas-exact@0.4, sa"
    python -m benchmarks.schedules scas --seconds 0.01 --nodes 6000-20000 --seed 2 --clusters 24

A schedule is solvers in turn, each with a share of the time that is left, as those of ``auto``; one without a share has
all the rest. ``auto`` and its solvers are always compared. Clusters are drawn: nodes log-uniform within ``--nodes``;
tree, idle nodes, fragments, jobs, their sizes and load at random. The same seed gives the same clusters. Budgets are of
CPU time.

Prints for each schedule the mean gap to the best value that any of them found [%] and the share proved, and how often
``auto`` is better and worse than it, with exact 95 % limits.
"""

from __future__ import annotations

import argparse
import math
import sys
from time import process_time
from typing import Any, ClassVar, NamedTuple

import numpy as np

from transom import Stop, registry, solve
from transom.bench.score.limits import share_limits
from transom.generate.instances.fragmented import Fragments, fragmented_allocation
from transom.models import Allocation
from transom.models.allocation import Rule
from transom.models.arrays import BoolArray, FloatArray
from transom.rng import stream
from transom.solvers.auto.auto import share_of
from transom.solvers.auto.schedules import solvers_for
from transom.solving import presolve, refusal, warm_up
from transom.stop import Budget

RULES: dict[str, Rule] = {"scas": "static", "dcas": "dynamic", "free": "free"}


class Schedule:
    """Solvers in turn.

    Parameters
    ----------
    words : as on the command line.
    """

    name: ClassVar[str] = "schedule"
    solves: ClassVar[type] = Allocation

    def __init__(self, words: str) -> None:
        self.steps: list[tuple[Any, float]] = []
        for step in words.split(", "):
            spec, _, share = step.partition("@")
            self.steps.append((registry.make(registry.SOLVERS, spec, Allocation), float(share or 1)))

    def supports(self, problem: Allocation, /) -> str | None:
        """What the last solver takes."""
        return refusal(self.steps[-1][0], problem)

    def warm_up_for(self, problem: type) -> None:
        """Import and compile what any of them needs."""
        for solver, _ in self.steps:
            warm_up(solver, problem)

    def __call__(self, problem: Allocation, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget):
            return
        for solver, share in self.steps:
            if refusal(solver, problem) is None:
                part = budget if share == 1 else share_of(budget, share)
                solver(problem, part, rng, start=budget.solution)
            if budget.done():
                return


class Measured(NamedTuple):
    """What came out, by cluster and schedule.

    Parameters
    ----------
    names : of the schedules.
    gaps : to the best value of a cluster [%], 100 without a solution, shape ``(clusters, schedules)``.
    proved : in the same shape.
    """

    names: list[str]
    gaps: FloatArray
    proved: BoolArray


def cluster(seed: int, number: int, rule: str, nodes: tuple[int, int]) -> Allocation:
    """One window, drawn anew until its jobs have five nodes each in the mean."""
    rng = stream(seed, "schedules", number)
    while True:
        leaf = int(rng.choice([8, 10, 12, 16, 20, 24, 32, 40]))
        pod = leaf * int(rng.integers(4, 33))
        count = int(math.exp(rng.uniform(math.log(nodes[0]), math.log(nodes[1] + 1))))
        idle, jobs = int(count * rng.uniform(0.15, 0.5)), int(math.exp(rng.uniform(math.log(5), math.log(70))))
        load, longest = rng.uniform(0.75, 1.0), int(math.exp(rng.uniform(math.log(4), math.log(min(512, count / 10)))))
        mean, cap = load * idle / jobs * rng.uniform(1.0, 1.5), int(rng.choice([256, 600]))
        spread, wrap = rng.uniform(0.3, 0.9), bool(rng.random() < 0.3)
        if mean >= 5:
            break
    system = Fragments(count, idle, jobs, mean, cap, spread, longest, leaf, pod, load)
    return fragmented_allocation(rng, system, RULES[rule], wrap)


def measure(words: list[str], clusters: list[Allocation], seconds: float) -> Measured:
    """Solve every cluster by every schedule."""
    solvers = [spec if spec == "auto" else Schedule(spec) for spec in words]
    for solver in solvers:
        for problem in clusters[:2]:  # what is imported or compiled at a first run
            if isinstance(solver, str) or refusal(solver, problem) is None:
                solve(problem, solver, Stop(seconds=seconds))
    values, proved = np.full((len(clusters), len(words)), np.inf), np.zeros((len(clusters), len(words)), np.bool_)
    for i, problem in enumerate(clusters):
        for j, solver in enumerate(solvers):
            if not isinstance(solver, str) and refusal(solver, problem) is not None:
                continue
            result = solve(problem, solver, Stop(seconds=seconds), clock=process_time)
            values[i, j] = math.inf if result.value is None else result.value
            proved[i, j] = result.status == "optimal"
    best = values.min(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        gaps = np.where(np.isfinite(values), 100 * (values - best) / np.maximum(values, 1), 100.0)
    return Measured(words, gaps, proved)


def rows(found: Measured) -> None:
    """Print a line for each schedule."""
    count = len(found.gaps)
    print(f"{'schedule':<58}{'gap [%]':>9}{'proved [%]':>11}   auto better, worse [%]")
    for j, words in enumerate(found.names):
        line = f"{words:<58}{found.gaps[:, j].mean():>9.3f}{100 * found.proved[:, j].mean():>11.1f}"
        if j:
            less = found.gaps[:, 0] - found.gaps[:, j]
            line += f"   {shares(int((less < -1e-9).sum()), count)}, {shares(int((less > 1e-9).sum()), count)}"
        print(line)


def shares(count: int, of: int) -> str:
    """A share with its limits."""
    limits = share_limits(count, of)
    assert limits is not None
    return f"{100 * count / of:.0f} ({100 * float(limits.low):.0f} to {100 * float(limits.high):.0f})"


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rule", choices=RULES)
    parser.add_argument("--seconds", type=float, action="append")
    parser.add_argument("--schedule", action="append", default=[], metavar="SOLVER@SHARE, ...")
    parser.add_argument("--nodes", default="500-24000", metavar="LEAST-MOST")
    parser.add_argument("--clusters", type=int, default=48)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    try:
        least, most = (int(each) for each in given.nodes.split("-"))
    except ValueError:
        parser.error("--nodes: expected two whole numbers, LEAST-MOST")
    if not 200 <= least <= most or given.clusters < 1 or given.seed < 0:
        parser.error("expected 200 <= LEAST <= MOST, --clusters > 0 and --seed >= 0")
    clusters = [cluster(given.seed, i, given.rule, (least, most)) for i in range(given.clusters)]
    for seconds in given.seconds or [0.01, 0.1]:
        words = list(dict.fromkeys(["auto", *solvers_for(given.rule), *given.schedule]))
        print(f"\n{given.rule}, {seconds:g} s, {len(clusters)} clusters of {least} to {most} nodes, seed {given.seed}")
        rows(measure(words, clusters, seconds))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
