"""Features of instances against the same numbers in plain Python."""

from __future__ import annotations

import math
import statistics
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.placement_cases import random_placement
from transom.generate.instances.knapsacks import CLASSES, generate_knapsack
from transom.generate.instances.paths import random_path
from transom.generate.instances.selections import FAMILIES, Marked, family_selection
from transom.models import Allocation, ConstrainedPath, FatTree, Knapsack, Placement, Selection, Workflow
from transom.models.reduction import reduce
from transom.solvers.auto import features as module
from transom.solvers.auto.features import features, names_for
from transom.solvers.knapsack.dynamic_programming import DynamicProgramming

pytestmark = pytest.mark.fast

seeds = st.integers(0, 2**32 - 1)


def correlation(a: list[float], b: list[float]) -> float:
    if statistics.pstdev(a) == 0 or statistics.pstdev(b) == 0:
        return 1.0
    return statistics.correlation(a, b)


@settings(max_examples=60, deadline=None)
@given(
    seed=seeds,
    klass=st.sampled_from(sorted(CLASSES)),
    items=st.integers(1, 40),
    ratio=st.floats(0.05, 1.0),
)
def test_knapsacks(seed: int, klass: str, items: int, ratio: float) -> None:
    problem = generate_knapsack(klass, items, 1000, np.random.default_rng(seed), ratio)
    reduced = reduce(problem)
    facts = features(problem)
    weights, values = reduced.weights.tolist(), reduced.values.tolist()
    if not weights:
        assert facts["items"] == 0
        return
    per_weight = [v / w for v, w in zip(values, weights, strict=True)]
    expected = {
        "items": math.log10(1 + len(weights)),
        "tightness": reduced.capacity / sum(weights),
        "weight": math.log10(sum(weights) / len(weights)),
        "spread": statistics.pstdev(weights) / statistics.mean(weights),
        "efficiencies": statistics.pstdev(per_weight) / statistics.mean(per_weight),
        "correlation": correlation(values, weights),
        "distinct": len(set(weights)) / len(weights),
    }
    assert {name: facts[name] for name in expected} == pytest.approx(expected, abs=1e-6)
    assert 10 ** facts["table"] == pytest.approx(
        8 * (reduced.capacity + 1) + 8 * len(weights) * math.ceil((reduced.capacity + 1) / 64)
    )
    assert (10 ** facts["table"] <= 512 * 2**20) == (DynamicProgramming().supports(problem) is None)


@settings(max_examples=60, deadline=None)
@given(
    seed=seeds,
    nodes=st.integers(4, 60),
    leaf_nodes=st.integers(1, 6),
    rule=st.sampled_from(["static", "dynamic", "free"]),
    wrap=st.booleans(),
)
def test_allocations(seed: int, nodes: int, leaf_nodes: int, rule: str, wrap: bool) -> None:
    rng = np.random.default_rng(seed)
    tree = FatTree.uniform(nodes, leaf_nodes, 3 * leaf_nodes)
    idle = np.flatnonzero(rng.random(nodes) < 0.6).tolist() or [0]
    sizes = rng.integers(2, 6, int(rng.integers(1, 6))).tolist()
    facts = features(Allocation(tree, idle, sizes, rule, wrap))
    counts = [sizes.count(size) for size in set(sizes)]
    leaves = len({node // leaf_nodes for node in idle})
    runs = 1 + sum(b != a + 1 for a, b in pairwise(idle))
    mean = sum(sizes) / len(sizes)
    expected = {
        "idle": math.log10(len(idle)),
        "jobs": math.log10(1 + len(sizes)),
        "sizes": math.log10(1 + len(counts)),
        "load": sum(sizes) / len(idle),
        "slack": math.log10(1 + max(0, len(idle) - sum(sizes))),
        "sets": math.log10(math.prod(count + 1 for count in counts)),
        "mean": math.log10(mean),
        "largest": max(sizes) / mean,
        "leaves": math.log10(leaves),
        "pods": math.log10(len({node // (3 * leaf_nodes) for node in idle})),
        "filling": math.log10(mean / (len(idle) / leaves)),
        "runs": runs / len(idle),
        "wrap": float(wrap),
    }
    assert {name: facts[name] for name in expected} == pytest.approx(expected)


@settings(max_examples=40, deadline=None)
@given(seed=seeds, sizes=st.integers(1, 4), density=st.sampled_from([0.0, 0.4, 1.0]))
def test_paths(seed: int, sizes: int, density: float) -> None:
    problem = random_path(np.random.default_rng(seed), 60, sizes, 5, 9, density=density)
    facts = features(problem)
    costs = [cost for row in problem.costs.tolist() for cost in row if math.isfinite(cost)]
    steps = [
        abs(b - a) for row in problem.costs.tolist() for a, b in pairwise(row) if math.isfinite(a) and math.isfinite(b)
    ]
    deviation = statistics.pstdev(costs)
    counts = problem.counts.tolist()
    expected = {
        "length": math.log10(60),
        "arcs": math.log10(1 + sum(counts)),
        "sizes": math.log10(1 + sizes),
        "load": sum(s * c for s, c in zip(problem.sizes.tolist(), counts, strict=True)) / 60,
        "sets": math.log10(math.prod(count + 1 for count in counts)),
        "density": len(costs) / (60 * sizes),
        "spread": deviation / statistics.mean(costs),
        "roughness": statistics.mean(steps) / deviation if steps and deviation > 0 else 0.0,
    }
    assert {name: facts[name] for name in expected} == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(
    seed=seeds,
    family=st.sampled_from(sorted(FAMILIES)),
    jobs=st.integers(1, 25),
    tightness=st.floats(0.1, 1.2),
    share=st.sampled_from([0.0, 0.2]),
)
def test_selections(seed: int, family: str, jobs: int, tightness: float, share: float) -> None:
    problem = family_selection(
        family, np.random.default_rng(seed), jobs, 3, 50, tightness, marked=Marked(share, share, share)
    )
    facts = features(problem)
    demands, objectives = problem.demands.tolist(), problem.objectives.tolist()
    must = [j for j in range(jobs) if problem.forced[j]]
    room = [int(problem.capacity[r]) - sum(demands[j][r] for j in must) for r in range(3)]
    open_ = [
        j
        for j in range(jobs)
        if j not in must and not problem.excluded[j] and all(demands[j][r] <= room[r] for r in range(3))
    ]
    asked = [sum(demands[j][r] for j in open_) for r in range(3)]
    binding = [r for r in range(3) if asked[r] > room[r]]
    if not open_ or not binding:
        assert (facts["jobs"], facts["resources"], facts["tightness"]) == (0, 0, 1)
        return
    least = min(room[r] / asked[r] for r in binding)
    columns = list(zip(*(objectives[j] for j in open_), strict=True))
    rows = {(*(demands[j][r] for r in binding), *objectives[j]) for j in open_}
    expected = {
        "jobs": math.log10(1 + len(open_)),
        "resources": len(binding),
        "objectives": 3,
        "tightness": least,
        "fitting": math.log10(1 + len(open_) * least),
        "magnitude": math.log10(1 + max(asked[r] for r in binding) / len(open_)),
        "correlation": statistics.mean(correlation(list(a), list(b)) for a, b in combinations(columns, 2)),
        "distinct": len(rows) / len(open_),
        "requires": len({job for job, _ in problem.requires}) / jobs,
    }
    assert {name: facts[name] for name in expected} == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "problem",
    [
        Knapsack([], [], 0),
        Knapsack([3, 4], [0, 0], 5),
        Allocation(FatTree.k_ary(4), [], []),
        Allocation(FatTree.k_ary(4), [3], [9], "free"),
        ConstrainedPath(0, [], [], np.empty((0, 0))),
        ConstrainedPath(4, [3], [2], [[1.0, np.inf, np.inf, np.inf]]),
        Selection(np.empty((0, 2), int), [3, 3]),
        Selection([[1, 1]], [5, 5]),
    ],
    ids=lambda problem: f"{problem.kind} of {len(problem)}",
)
def test_there_are_numbers_where_there_is_nothing_to_choose(problem: object) -> None:
    facts = features(problem)
    assert list(facts) == names_for(problem.kind)
    assert all(math.isfinite(number) for number in facts.values())


def test_they_do_not_depend_on_the_order_of_items() -> None:
    rng = np.random.default_rng(3)
    problem = generate_knapsack("circle", 50, 1000, rng)
    order = rng.permutation(50)
    other = Knapsack(problem.values[order], problem.weights[order], problem.capacity)
    assert features(problem) == pytest.approx(features(other))


def test_of_many_items_a_share_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    monkeypatch.setattr(module, "reduce", lambda problem: looked.append(len(problem)) or reduce(problem))
    for klass in CLASSES:
        problem = generate_knapsack(klass, 100_000, 1000, np.random.default_rng(1))
        sampled = features(problem)
        assert looked == []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_ITEMS", 10**6)
            exact = features(problem)
        assert looked.pop() == 100_000
        assert sampled == pytest.approx(exact, rel=0.15, abs=0.05), klass


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_placements(seed: int) -> None:
    problem = random_placement(np.random.default_rng(seed))
    facts = features(problem)
    free, demands, waiting = problem.free.tolist(), problem.demands.tolist(), problem.waiting.tolist()
    alone = [
        [min((have // need for have, need in zip(room, row, strict=True) if need), default=2**31) for room in free]
        for row in demands
    ]
    tasks = [t for t in range(len(problem)) if waiting[t] and max(alone[t])]
    if not tasks:
        assert set(facts.values()) == {0.0}
        return
    machines = [m for m in range(len(free)) if any(alone[t][m] for t in tasks)]
    kinds: dict[tuple[int, ...], int] = {}
    for t in tasks:
        key = (*demands[t], int(problem.values[t]))
        kinds[key] = kinds.get(key, 0) + waiting[t]
    fits = {key: [alone[t][m] for m in machines] for t in tasks for key in [(*demands[t], int(problem.values[t]))]}
    slots = [min(count, kinds[key]) for key, counts in fits.items() for count in counts]
    assert facts["tasks"] == pytest.approx(math.log10(1 + len(kinds)))
    assert facts["machines"] == pytest.approx(math.log10(1 + len(machines)))
    assert facts["kinds"] == pytest.approx(math.log10(1 + len({tuple(free[m]) for m in machines})))
    assert facts["fitting"] == pytest.approx(math.log10(1 + statistics.mean(slots)))
    assert facts["slots"] == pytest.approx(math.log10(1 + sum(slots)))
    assert facts["shortage"] == pytest.approx(statistics.mean(kinds[key] < sum(counts) for key, counts in fits.items()))


def test_a_placement_of_machines_that_are_too_small() -> None:
    assert set(features(Placement([[1]], [[2]], [3])).values()) == {0.0}


def test_workflows() -> None:
    flow = Workflow("w", list("abcd"), [2, 4, 4, 2], [[0, 1], [0, 2], [1, 3], [2, 3]], nodes=[1, 2, 1, 1])
    told = features(flow.on(4))
    assert told["tasks"] == pytest.approx(np.log10(5))
    assert told["edges"] == 1
    assert told["levels"] == pytest.approx(np.log10(4))
    assert told["load"] == pytest.approx(np.log10((2 + 8 + 4 + 2) / (4 * 8)))
    assert told["share"] == pytest.approx(5 / 16)
    assert set(features(flow).values()) == {0.0}
    assert set(features(Workflow("w", [], []).on(1)).values()) == {0.0}
