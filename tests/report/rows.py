"""Rows of a made-up comparison: no solver runs, all outcomes occur."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from transom.bench.plan.task import Row
from transom.stop import Stop

EVIL = "</script><script>document.title = 'broken'</script><img src=x onerror=alert(1)> & \"quoted\""
"""A cause that would run if it were not escaped."""

MACHINE = {"host": "node1", "processor": "some", "cores": 4, "usable": 4, "memory": 16_000, "system": "Linux"}
SPEED = {"exact": 0.02, "walk": 0.1, "greedy": 0.001}
"""Solvers, and when they find what they find, as a share of the budget."""


def solves(
    instances: int = 8, seeds: int = 2, budgets: tuple[float, ...] = (0.1, 1.0), problem: str = "knapsack", **facts: Any
) -> Iterator[Row]:
    """Runs of three solvers: ``exact`` proves, ``walk`` comes close, ``greedy`` is early and far."""
    rng = np.random.default_rng(5)
    for i in range(instances):
        best = 1000.0 + i
        for name in SPEED:
            for budget in budgets:
                for seed in range(seeds):
                    yield _solve(name, i, best, budget, seed, problem, float(rng.random()), facts)


def _solve(
    name: str, i: int, best: float, budget: float, seed: int, problem: str, luck: float, facts: dict[str, Any]
) -> Row:
    found = {"exact": best, "walk": best * (1 - 0.02 * luck), "greedy": best * (0.9 + 0.01 * luck)}[name]
    bound = best if name == "exact" else None
    when = SPEED[name] * budget * (0.5 + luck)
    curve: list[tuple[float, float | None, float | None]] = [(when / 2, 0.8 * best, None), (when, found, bound)]
    row = Row(
        key=f"{problem}-{i}-{name}-{budget}-{seed}",
        set=f"{problem}-{'ab'[i % 2]}",
        label=f"made up, number {i}",
        instance=f"{problem}{i}",
        problem=problem,
        name=name,
        spec=name if name != "walk" else "walk:steps=10",
        stop=Stop(seconds=budget),
        seed=seed,
        threads=1,
        sense="max",
        size=10 + i,
        outcome="ok",
        status="optimal" if name == "exact" else "feasible",
        reason="proof" if name == "exact" else "time",
        value=found,
        bound=bound,
        curve=tuple(curve),
        seconds=when if name == "exact" else budget,
        wall=(when if name == "exact" else budget + 0.001) + 0.002 * luck,
        overhead=0.004,
        memory=100 + 10 * luck,
        parameters={"steps": 10} if name == "walk" else {},
        begun=1.7e9 + i,
        machine=MACHINE,
        load=0.5,
        versions={"python": "3.11.7", "transom": "0.1.0"},
        code="0123456789abcdef",
    )
    return replaced(row, **facts)


def failed() -> Iterator[Row]:
    """A run of every outcome that is not ok."""
    outcomes = {
        "crash": EVIL,
        "timeout": "ended 5 s past its budget",
        "memory": "beyond 4096 MiB",
        "error": "ValueError: no",
        "wrong": "infeasible answer: too heavy",
        "refused": "it takes no such thing",
    }
    rows = solves(instances=len(outcomes), seeds=1, budgets=(1.0,))
    chosen = [row for row in rows if row.name == "greedy"]
    for row, (outcome, cause) in zip(chosen, outcomes.items(), strict=True):
        yield replaced(
            row, key=f"{row.key}-{outcome}", name="faulty", spec="faulty", outcome=outcome, cause=cause,
            status="unknown", reason=None, value=None, curve=(), seconds=None,
        )  # fmt: skip


def replays() -> Iterator[Row]:
    """A trace under two policies with three seeds."""
    for policy, slowdown in (("fcfs", 9.0), ("sjf-easy", 3.0)):
        for seed in range(3):
            row = next(solves(instances=1, seeds=1, budgets=(1.0,), problem="sequence"))
            yield replaced(
                row, key=f"{policy}-{seed}", what="replay", set="lublin", name=policy, spec=policy, stop=Stop(),
                seed=seed, sense="min", value=slowdown + seed, bound=None, curve=(), status="feasible",
                metrics={"mean_bounded_slowdown": slowdown + seed, "mean_wait": 100.0 * slowdown, "utilisation": 0.75,
                         "utilisation_gpu": 0.25},
            )  # fmt: skip


def replaced(row: Row, **facts: Any) -> Row:
    """A row with other facts."""
    from msgspec.structs import replace

    return replace(row, **facts)
