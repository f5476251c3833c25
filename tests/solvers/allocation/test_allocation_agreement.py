"""The exact solvers of allocations and paths against each other, on larger instances than enumeration takes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.allocation_cases import figure_2, optimum, random_allocation
from transom import Stop, check, registry, solve
from transom.models import AUTHORS, PAPER, Allocation, ConstrainedPath, FatTree
from transom.models.allocation import Rule
from transom.models.hop_cost import HopCost

STATIC = ("scas-dp", "scas-flow", "scas-cpsat", "scas-scip", "scas-lagrangian")
PATH = ("csp-dp", "csp-flow", "csp-cpsat", "csp-scip", "csp-networkx", "csp-lagrangian")
FREE = ("free-exact", "free-cpsat")
NATIVE = (
    *(spec for spec in (*STATIC, *PATH) if spec.partition(":")[0].partition("-")[2] not in ("dp", "lagrangian")),
    "free-cpsat",
)
ENDLESS = Stop(seconds=600)


def large(rule: Rule = "static", wrap: bool = True, cost: HopCost = PAPER) -> Allocation:
    """5,000 idle of 20,000 nodes, in the fragments that runs of up to 512 busy nodes leave, and 50 jobs."""
    rng = np.random.default_rng(1)
    idle = np.ones(20_000, bool)
    while idle.sum() > 5000:
        at = int(rng.integers(20_000))
        idle[at : at + min(int(rng.integers(1, 513)), int(idle.sum()) - 5000)] = False
    sizes = np.clip(np.rint(rng.lognormal(np.log(50), 0.8, 50)), 2, 256).astype(np.int64)
    kept = np.cumsum(sizes) <= 0.95 * 5000
    return Allocation(FatTree.uniform(20_000, 32, 1024), np.flatnonzero(idle), sizes[kept], rule, wrap, cost)


def agree(problem: Any, specs: tuple[str, ...]) -> float | None:
    """The optimum that all of them prove."""
    results = {spec: solve(problem, spec, ENDLESS) for spec in specs}
    for spec, result in results.items():
        assert result.error is None, spec
        assert check(problem, result) == [], spec
    assert {spec: result.status for spec, result in results.items()} in (
        dict.fromkeys(specs, "optimal"),
        dict.fromkeys(specs, "infeasible"),
    )
    values = [result.value for result in results.values()]
    if values[0] is None:
        return None
    assert values == pytest.approx([values[0]] * len(values), rel=1e-9, abs=1e-9), results
    return values[0]


@pytest.mark.parametrize("seed", range(8))
def test_static(seed: int) -> None:
    rng = np.random.default_rng(seed)
    agree(random_allocation(rng, "static", 60, 6, wrap=bool(seed % 2), load=0.9), STATIC)


@pytest.mark.parametrize("seed", range(8))
def test_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    allocation = random_allocation(rng, "static", 60, 5, wrap=False, load=0.9)
    path = ConstrainedPath.from_allocation(allocation)
    value = agree(path, PATH)
    # The same path, some of its arcs missing and costs of both signs.
    costs = np.where(
        rng.random(path.costs.shape) < 0.3, np.inf, path.costs - 2 * path.costs.mean(where=path.costs < 1e9)
    )
    assert value is not None
    agree(ConstrainedPath(path.length, path.sizes, path.counts, costs), PATH)


@pytest.mark.parametrize("seed", range(8))
def test_free_is_never_above_dynamic_and_dynamic_never_above_static(seed: int) -> None:
    problem = random_allocation(np.random.default_rng(seed), "static", 24, 4, load=0.8)
    static = agree(problem, STATIC)
    free = agree(problem.with_rule("free"), FREE)
    assert static is not None
    assert free is not None
    assert free <= static * (1 + 1e-9)
    dynamic = solve(problem.with_rule("dynamic"), "dcas-exact", ENDLESS)
    assert dynamic.status == "optimal"
    assert dynamic.value is not None
    assert free * (1 - 1e-9) <= dynamic.value <= static * (1 + 1e-9)


def test_figure_2() -> None:
    assert agree(figure_2(), STATIC) == optimum(figure_2())
    assert agree(figure_2().with_rule("free"), FREE) == optimum(figure_2().with_rule("free"))
    line = Allocation(figure_2().tree, figure_2().idle, figure_2().sizes, "static", False)
    assert agree(ConstrainedPath.from_allocation(line), PATH) == optimum(line)


def test_missing_arcs_leave_no_path() -> None:
    costs = np.full((2, 9), np.inf)
    costs[0, [0, 1, 2]] = 1.0
    costs[1, [0, 1, 4]] = 2.0
    assert agree(ConstrainedPath(9, [3, 4], [1, 1], costs), PATH) == 3.0
    costs[1, 4] = np.inf
    assert agree(ConstrainedPath(9, [3, 4], [1, 1], costs), PATH) is None
    costs[1] = np.inf
    assert agree(ConstrainedPath(9, [3, 4], [1, 1], costs), PATH) is None


def test_a_graph_that_networkx_could_not_hold_is_refused() -> None:
    path = ConstrainedPath.from_allocation(large(wrap=False))
    assert "graph has" in (registry.make(registry.SOLVERS, "csp-networkx").supports(path) or "")


@pytest.mark.parametrize("spec", NATIVE)
def test_a_start_is_never_made_worse(spec: str) -> None:
    rule: Rule = "free" if spec.startswith("free") else "static"
    allocation = random_allocation(np.random.default_rng(3), rule, 40, 4, wrap=not spec.startswith("csp"), load=0.9)
    problem: Any = ConstrainedPath.from_allocation(allocation) if spec.startswith("csp") else allocation
    best = solve(problem, spec, ENDLESS)
    for stop in (Stop(seconds=1e-6), Stop(seconds=0.02), Stop(iterations=0), Stop(iterations=1)):
        result = solve(problem, spec, stop, start=best.solution)
        assert check(problem, result) == []
        assert result.value == best.value


@pytest.mark.reference
def test_flow_and_cpsat_agree_on_the_reference_windows(shared: Path) -> None:
    """Every 50th window: a tenth of every 5th."""
    compared = 0
    for name in ("paper", "code"):
        with gzip.open(shared / "instances" / f"nsa_{name}_epochs_1-5.jsonl.gz", "rt", encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        for window in lines[::50]:
            tree = FatTree.uniform(window["nodes"], window["leaf_nodes"], window["pod_nodes"])
            sizes = [job["nodes"] for job in window["jobs"]]
            problem = Allocation(tree, window["idle"], sizes, "static", True, AUTHORS)
            agree(problem, ("scas-dp", "scas-flow", "scas-cpsat"))
            compared += 1
    assert compared == 20
