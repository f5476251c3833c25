"""Allocation windows under all three rules: proofs, times, agreement, and what contiguity costs.

    python -m benchmarks.allocation WINDOWS.jsonl.gz ... [--cost-model authors] [--references 5 15]

Each file is read as windows of a topology-aware stream. Every window is solved by ``scas-dp``, ``dcas-exact`` and
``free-exact``, and by ``sa`` and ``dp-polish``; ``scas-flow`` solves it again, ``scas-cpsat`` every 5th one and
``scas-scip`` (30 s) every 15th. The exit status is 1 where two proofs differ, an answer is not what it claims to be,
or a rule that allows more costs more.

Times of our own solvers are processor time of the calling thread, after warm-up: of the call alone, and through
``solve``, which counts verification and bookkeeping too. On a machine with nothing else to do that is wall-clock time;
on a shared one it is what can be compared. Those of the other solvers, which have threads and processes of their own,
are wall-clock.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

from transom import Stop, check, registry, solve
from transom.io.instances import ReadOptions, read_instances
from transom.models import Allocation
from transom.models.allocation import Rule
from transom.rng import stream

RULES: tuple[tuple[Rule, str, float], ...] = (
    ("static", "scas-dp", 30.0),
    ("dynamic", "dcas-exact", 30.0),
    ("free", "free-exact", 5.0),
)


def call(solver: Any, problem: Allocation, seconds: float | None, seed: int = 0) -> tuple[float, Any]:
    """One call of a solver without the bookkeeping of ``solve``: its processor time [s], and its budget."""
    budget = Stop(seconds=seconds).start(problem)
    rng = stream(seed, solver.name)
    began = thread_time()
    answer = solver(problem, budget, rng)
    took = thread_time() - began
    if answer is not None:
        budget.found(answer)
    return took, budget


def quantiles(took: Sequence[float]) -> str:
    """Median, 90th and 99th percentile and maximum [ms]."""
    cuts = (np.median(took), np.quantile(took, 0.9), np.quantile(took, 0.99), max(took))
    return "".join(f"{1000 * cut:>10.3f}" for cut in cuts)


def run_rules(problems: Sequence[Allocation]) -> tuple[dict[str, list[Any]], list[str]]:
    """Solve all windows under each rule and print times and proofs; values by rule, and what is wrong."""
    values: dict[str, list[Any]] = {}
    wrong: list[str] = []
    print(f"{'solver':<14}{'proved':>16}{'median':>10}{'90 %':>10}{'99 %':>10}{'max':>10}  ms of processor time")
    for rule, name, seconds in RULES:
        solver = registry.make(registry.SOLVERS, name, Allocation)
        solver.warm_up()
        took, proved = [], 0
        values[rule] = []
        for number, window in enumerate(problems, 1):
            problem = window.with_rule(rule)
            if problem.trivial() is not None:
                values[rule].append(None)
                continue
            seconds_of_call, budget = call(solver, problem, seconds)
            took.append(seconds_of_call)
            proved += budget.optimal
            values[rule].append(budget.value)
            if budget.value is None:
                wrong.append(f"window {number}: {name} has no answer")
        print(f"{name:<14}{f'{proved} of {len(took)}':>16}{quantiles(took)}")
        through = []
        for number, window in enumerate(problems, 1):
            problem = window.with_rule(rule)
            began = thread_time()
            result = solve(problem, solver, Stop(seconds=seconds))
            through.append(thread_time() - began)
            wrong += [f"window {number}: {name}: {fault}" for fault in check(problem, result)]
        print(f"{'':<14}{'through solve':>16}{quantiles(through)}")
    return values, wrong


def compare(problems: Sequence[Allocation], static: Sequence[Any], every: tuple[int, int]) -> list[str]:
    """Solve the static windows with the other exact solvers; what does not agree."""
    wrong = []
    for name, step, seconds in (("scas-flow", 1, 30.0), ("scas-cpsat", every[0], 30.0), ("scas-scip", every[1], 30.0)):
        solver = registry.make(registry.SOLVERS, name, Allocation)
        solver.warm_up()
        proved, equal, took = 0, 0, []
        chosen = [i for i in range(0, len(problems), step) if static[i] is not None]
        for i in chosen:
            result = solve(problems[i], solver, Stop(seconds=seconds))
            took.append(result.seconds)
            proved += result.status == "optimal"
            same = result.value is not None and abs(result.value - static[i]) <= 1e-9 * abs(static[i])
            equal += result.status == "optimal" and same
            if result.status == "optimal" and not same:
                wrong.append(f"window {i + 1}: {name} proves {result.value}, scas-dp {static[i]}")
            elif result.bound is not None and result.bound > static[i] * (1 + 1e-9):
                wrong.append(f"window {i + 1}: {name} has the bound {result.bound} above {static[i]}")
        told = f"{proved} of {len(chosen)} proved, {equal} equal to scas-dp"
        print(f"{name:<14}{'':>16}{quantiles(took)}   every {step}: {told}")
    return wrong


def heuristics(problems: Sequence[Allocation], static: Sequence[Any]) -> list[str]:
    """Time ``sa`` and ``dp-polish`` and compare them with the static optimum; where the latter costs more."""
    wrong = []
    for spec in ("sa:steps=500", "dp-polish"):
        solver = registry.make(registry.SOLVERS, spec, Allocation)
        solver.warm_up()
        took, ratios = [], []
        for number, (window, optimum) in enumerate(zip(problems, static, strict=True), 1):
            if optimum is None:
                continue
            seconds, budget = call(solver, window.with_rule("dynamic"), 30.0)
            took.append(seconds)
            ratios.append(budget.value / optimum)
            if spec == "dp-polish" and budget.value > optimum * (1 + 1e-9):
                wrong.append(f"window {number}: {spec} costs {budget.value}, scas-dp {optimum}")
        told = f"mean cost {100 * (np.mean(ratios) - 1):+.2f} % of the static optimum"
        print(f"{spec:<14}{'':>16}{quantiles(took)}   {told}")
    return wrong


def contiguity(values: dict[str, list[Any]]) -> list[str]:
    """Print what contiguity costs; where a rule that allows more costs more."""
    static, dynamic, free = (np.array([v for v in values[rule] if v is not None], float) for rule, _, _ in RULES)
    wrong = [
        f"{rule}: {int((less > more * (1 + 1e-9)).sum())} windows cost more than under the narrower rule"
        for rule, less, more in (("dynamic", dynamic, static), ("free", free, dynamic))
        if (less > more * (1 + 1e-9)).any()
    ]
    print(f"\n{'rule':<10}{'mean cost':>14}{'of static':>12}{'mean ratio':>12}{'better in':>12}")
    for rule, cost in (("static", static), ("dynamic", dynamic), ("free", free)):
        share = f"{100 * (cost < static * (1 - 1e-12)).mean():.1f} %"
        ratio = f"{100 * ((cost / static).mean() - 1):+.2f} %"
        print(f"{rule:<10}{cost.mean():>14,.0f}{100 * (cost.sum() / static.sum() - 1):>+10.2f} %{ratio:>12}{share:>12}")
    print(f"free against dynamic, mean ratio: {100 * ((free / dynamic).mean() - 1):+.2f} %")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--cost-model", default="authors")
    parser.add_argument("--references", nargs=2, type=int, default=(5, 15), metavar=("CPSAT", "SCIP"))
    parser.add_argument("--no-references", action="store_true", help="leave flow, CP-SAT and SCIP out")
    options = parser.parse_args()
    wrong = []
    for path in options.files:
        reading = ReadOptions("scas", cost_model=options.cost_model)
        problems = [problem for _, problem in read_instances([path], reading)]
        print(f"\n{path.name}: {len(problems)} windows, cost model {options.cost_model}")
        values, faults = run_rules(problems)
        wrong += faults
        wrong += heuristics(problems, values["static"])
        if not options.no_references:
            wrong += compare(problems, values["static"], tuple(options.references))
        wrong += contiguity(values)
    for fault in wrong:
        print(f"WRONG: {fault}")
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
