"""Limits on the leaf switches that a job may span: the judge, enumeration, who refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.allocation_cases import assert_proved, every_solution, plain_value, random_allocation
from tests.amounts import numbers_by_rule
from tests.deep_trees import deep_allocation
from transom import Stop, check, registry, solve
from transom.errors import ModelError
from transom.io import decode, encode
from transom.models import Allocation, ConstrainedPath, FatTree
from transom.models.allocation import RULES

EXACT = {
    "static": ("scas-dp",),
    "dynamic": ("dcas-exact",),
    "free": ("free-cpsat", "free-exact"),
}
TREE = FatTree.uniform(8, 2, 4)


def limited(rng: np.random.Generator, rule: str, alike: bool) -> Allocation:
    """A random allocation with limits, on three levels or more; ``alike``: jobs of one size have one."""
    made = random_allocation if rng.random() < 0.5 else deep_allocation
    problem = made(rng, rule, 7)
    limits = rng.integers(1, 4, len(problem))
    if alike:
        of_size = rng.integers(1, 4, 8)
        limits = of_size[problem.sizes]
    return replace(problem, leaf_limits=limits)


def within(problem: Allocation, owner: tuple[int, ...]) -> bool:
    spans = [
        {problem.tree.leaf[node] for node, who in zip(problem.idle, owner, strict=True) if who == job}
        for job in range(len(problem))
    ]
    assert problem.leaf_limits is not None
    return all(len(span) <= limit for span, limit in zip(spans, problem.leaf_limits, strict=True))


@numbers_by_rule(static=(400, 5400), dynamic=(300, 5300), free=(60, 560))
def test_proved_values_are_those_of_enumeration(rule: str, numbers: range) -> None:
    feasible = 0
    for seed in numbers:
        problem = limited(np.random.default_rng(seed), rule, seed % 2 == 0)
        solutions = every_solution(problem)
        for owner in list(solutions)[:5]:
            assert bool(problem.violations(owner)) == (not within(problem, owner))
        feasible += assert_proved(problem, EXACT[rule], [owner for owner in solutions if within(problem, owner)])
    assert 0 < feasible < len(numbers)


@pytest.mark.parametrize("spec", ["scas-flow", "scas-cpsat", "scas-scip"])
def test_native_solvers_keep_them(spec: str) -> None:
    for seed in range(6):
        problem = limited(np.random.default_rng(seed), "static", True)
        proved, other = (solve(problem, each, Stop(seconds=60)) for each in ("scas-dp", spec))
        assert other.error is None
        assert check(problem, other) == []
        assert other.status == proved.status
        assert other.value == pytest.approx(proved.value)


def test_what_the_judge_says() -> None:
    problem = Allocation(TREE, range(8), [2, 3], "free", leaf_limits=[1, 2])
    assert problem.violations([0, -1, 0, -1, 1, 1, 1, -1]) == ["job 0 spans 2 leaf switches, and may span 1"]
    assert problem.violations([0, 0, -1, -1, 1, 1, 1, -1]) == []
    for limits, says in (([0, 1], "job 0 may span 0 leaf switches, less than 1"), ([1], "expected shape")):
        with pytest.raises(ModelError, match=says):
            Allocation(TREE, range(8), [2, 3], leaf_limits=limits)


def test_they_stay_with_the_problem() -> None:
    plain = Allocation(TREE, range(8), [2, 3], "static", False)
    problem = replace(plain, leaf_limits=np.array([1, 2]))
    assert decode(encode(problem), "a") == problem
    assert problem.digest() != plain.digest()
    assert b"leaf_limits" not in encode(plain)
    moved = problem.with_rule("free").leaf_limits
    assert moved is not None
    assert moved.tolist() == [1, 2]
    assert solve(ConstrainedPath.from_allocation(problem), "csp-dp").value == solve(problem, "scas-dp").value


def test_others_refuse_them() -> None:
    refusing = {
        "static": ("scas-lagrangian", "sequential"),
        "dynamic": ("nsa:anywhere=yes", "sequential"),
        "free": ("best-fit", "count-search", "sequential"),
    }
    for rule, specs in refusing.items():
        problem = Allocation(TREE, range(8), [2, 3], rule, leaf_limits=[1, 2])
        for spec in specs:
            reason = registry.make(registry.SOLVERS, spec, Allocation).supports(problem)
            assert reason == "it takes no limits on leaf switches", spec


def test_jobs_of_one_size_may_differ() -> None:
    alike = Allocation(TREE, range(1, 8), [3, 3], leaf_limits=[2, 3])
    values = {
        solve(alike, spec, Stop(seconds=60)).value for spec in ("scas-dp", "scas-flow", "scas-cpsat", "scas-scip")
    }
    assert values == {min(plain_value(alike, owner) for owner in every_solution(alike) if within(alike, owner))}


def test_auto_takes_them() -> None:
    problem = Allocation(TREE, range(8), [2, 3], leaf_limits=[1, 2])
    for rule in RULES.values():
        assert solve(problem.with_rule(rule), "auto", Stop(seconds=20)).status == "optimal"


@pytest.mark.parametrize(
    ("rule", "spec", "share"),
    [
        *((rule, spec, 0.9) for rule in RULES.values() for spec in ("sa", "ga")),
        *(
            (rule, spec, share)
            for rule in ("static", "dynamic")
            for spec, share in (("best-fit", 0.6), ("dp-polish", 0.9))
        ),
    ],
)
def test_heuristics_keep_them(rule: str, spec: str, share: float) -> None:
    solvable, found = 0, 0
    for seed in range(6 if spec == "ga" else 40):
        problem = limited(np.random.default_rng(seed), rule, False)
        result = solve(problem, spec, Stop(iterations=30 if spec == "ga" else 1000), seed=seed)
        assert result.error is None, (seed, result.error)
        assert check(problem, result) == [], seed
        solutions = [owner for owner in every_solution(problem) if within(problem, owner)]
        assert solutions or result.value is None, seed
        solvable += bool(solutions)
        found += result.value is not None
    assert found >= share * solvable > 0
