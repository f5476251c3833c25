"""Schedules of ``auto`` side by side on clusters that no plan has: how leaves are chosen by hand, and judged.

    python -m benchmarks.schedules dcas --seconds 0.1 --schedule dp-polish --schedule "dcas-exact@0.4, sa"
    python -m benchmarks.schedules scas --seconds 0.01 --nodes 6000-20000 --seed 2 --clusters 24

A schedule is solvers in turn, each with a share of the time that is left, as in the table of ``auto``; one without a
share has all the rest. ``auto`` and the solvers of its table are always compared. Clusters are drawn: nodes log-uniform
within ``--nodes``; tree, idle nodes, fragments, jobs, their sizes and load at random. The same seed gives the same
clusters. Budgets are of CPU time.

Prints for each schedule the mean gap to the best value that any of them found [%] and the share proved, and how often
``auto`` is better and worse than it, with exact 95 % limits. ``--questions`` adds, for each feature, the question whose
two answers, a schedule each, cost least together: gaps on a logarithmic scale from 1 % on, a quarter for a missing
proof. Then come the leaves of the table that ``auto`` reached, with their clusters, mean gap and share proved.
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
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.rng import stream
from transom.solvers.auto.features import features
from transom.solvers.auto.machine_speed import seconds_of_a_probe
from transom.solvers.auto.pipeline import solvers_for
from transom.solvers.auto.sub_budget import SubBudget
from transom.solvers.auto.table import leaf_of, leaves, packaged
from transom.solving import presolve, refusal, warm_up
from transom.stop import Budget

RULES: dict[str, Rule] = {"scas": "static", "dcas": "dynamic", "free": "free"}
LEAST = 10
"""Clusters that each answer of a question must have."""


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
                part = budget if share == 1 else SubBudget(problem, budget, share)
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
    facts : features of each cluster, by name.
    """

    names: list[str]
    gaps: FloatArray
    proved: BoolArray
    facts: dict[str, FloatArray]


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
    known = [features(problem) for problem in clusters]
    return Measured(words, gaps, proved, {name: np.array([each[name] for each in known]) for name in known[0]})


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


def reached(found: Measured, rule: str, seconds: float) -> None:
    """Print the leaves of the table that ``auto`` reached."""
    table, seconds = packaged(), seconds * packaged().made.probe / seconds_of_a_probe()
    by_leaf: dict[int, list[int]] = {}
    for i in range(len(found.gaps)):
        leaf = leaf_of(table.problems[rule], {name: float(each[i]) for name, each in found.facts.items()}, seconds)
        by_leaf.setdefault(id(leaf), []).append(i)
    print("\nleaves of auto")
    for leaf in leaves(table.problems[rule].timed):
        if of := by_leaf.get(id(leaf)):
            words = ", ".join(step.solver + (f"@{step.share:g}" if step.share < 1 else "") for step in leaf.steps)
            gap, proved = found.gaps[of, 0].mean(), 100 * found.proved[of, 0].mean()
            print(f"  {words:<56}{gap:>9.3f}{proved:>11.1f}   {len(of)} clusters")


def shares(count: int, of: int) -> str:
    """A share with its limits."""
    limits = share_limits(count, of)
    assert limits is not None
    return f"{100 * count / of:.0f} ({100 * float(limits.low):.0f} to {100 * float(limits.high):.0f})"


def questions(found: Measured) -> None:
    """Print the best question about each feature."""
    cost = np.minimum(found.gaps, 1) + np.log(np.maximum(found.gaps, 1)) + 0.25 * ~found.proved
    cost = cost[:, 1:]  # auto is what is to be made
    names, count = found.names[1:], len(cost)
    print(f"\nno question: {cost.mean(axis=0).min():.4f}, {names[int(cost.mean(axis=0).argmin())]}")
    best: list[tuple[float, str]] = []
    for name, facts in found.facts.items():
        options: list[tuple[float, str]] = []
        for at, after in zip(levels := np.unique(facts), levels[1:], strict=False):
            yes: BoolArray = facts <= at
            if min(yes.sum(), count - yes.sum()) < LEAST:
                continue
            both: list[IntArray] = [cost[side].sum(axis=0) for side in (yes, ~yes)]
            total = sum(float(each.min()) for each in both) / count
            chosen = [names[int(each.argmin())] for each in both]
            options.append((total, f"{name} <= {(at + after) / 2:.3f}: {chosen[0]}; else {chosen[1]}"))
        best += sorted(options)[:1]
    for total, words in sorted(best):
        print(f"{total:.4f}  {words}")


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rule", choices=RULES)
    parser.add_argument("--seconds", type=float, action="append")
    parser.add_argument("--schedule", action="append", default=[], metavar="SOLVER@SHARE, ...")
    parser.add_argument("--nodes", default="500-24000", metavar="LEAST-MOST")
    parser.add_argument("--clusters", type=int, default=48)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--questions", action="store_true")
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
        found = measure(words, clusters, seconds)
        rows(found)
        if given.questions:
            questions(found)
        reached(found, given.rule, seconds)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
