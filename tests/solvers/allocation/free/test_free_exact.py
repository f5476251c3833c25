"""Free allocation solved exactly."""

from __future__ import annotations

import gzip
import itertools
import json
import math
from functools import cache, partial
from pathlib import Path
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.allocation_cases import COSTS, allocations, optimum, random_allocation
from tests.timing import used
from transom.errors import SpecError, UnsupportedError
from transom.models import AUTHORS, PAPER, Allocation, FatTree, HopCost
from transom.solvers.allocation.free.exact import FreeExact
from transom.solvers.allocation.free.states import Layers
from transom.solvers.allocation.free_bound import Prices
from transom.solvers.allocation.scas_dp import static_optimum
from transom.solvers.allocation.shape import shape
from transom.solving import check, solve
from transom.stop import Budget, Stop

SOLVER = FreeExact()


def plain_optimum(problem: Allocation) -> float:
    """The optimum by plain recursion over leaves, on what each job still needs, has in the pod and has saved."""
    h3, w1, w2, c, floored = problem.cost.weights.tolist()
    pods: dict[int, dict[int, int]] = {}
    for leaf, pod in zip(problem.leaf.tolist(), problem.pod.tolist(), strict=True):
        pods.setdefault(pod, {}).setdefault(leaf, 0)
        pods[pod][leaf] += 1
    caps = [(cap, i == len(leaves) - 1) for leaves in pods.values() for i, cap in enumerate(leaves.values())]
    room = [sum(cap for cap, _ in caps[s:]) for s in range(len(caps) + 1)]
    sizes = problem.sizes.tolist()

    def price(n: int, saved: int) -> float:
        hops = h3 * (n * (n - 1) // 2) - saved
        return max(c * hops // n, 1) if floored else c * hops / n

    @cache
    def best(s: int, need: tuple[int, ...], held: tuple[int, ...], saved: tuple[int, ...]) -> float:
        if not any(need):
            return sum(price(n, x) for n, x in zip(sizes, saved, strict=True))
        if sum(need) > room[s]:
            return math.inf
        cap, closing = caps[s]
        least = math.inf
        for taken in itertools.product(*(range(min(cap, n) + 1) for n in need)):
            if sum(taken) > cap:
                continue
            more = [
                x + w2 * (a * (a - 1) // 2) + w1 * (math.comb(b + a, 2) - math.comb(b, 2))
                for x, a, b in zip(saved, taken, held, strict=True)
            ]
            now = tuple(0 if closing else b + a for a, b in zip(taken, held, strict=True))
            least = min(least, best(s + 1, tuple(n - a for n, a in zip(need, taken, strict=True)), now, tuple(more)))
        return least

    zero = (0,) * len(sizes)
    return best(0, tuple(sizes), zero, zero)


def solved(problem: Allocation, solver: FreeExact = SOLVER, seconds: float = 10.0) -> float:
    result = solve(problem, solver, Stop(seconds=seconds))
    assert result.error is None
    assert result.status == "optimal"
    assert check(problem, result) == []
    for _, _, bound in result.curve:
        assert bound is None or bound <= result.value * (1 + 1e-9)
    return float(result.value)


@given(allocations("free"))
@settings(max_examples=120)
def test_enumeration_finds_nothing_better(problem: Allocation) -> None:
    assert solved(problem) == pytest.approx(optimum(problem), rel=1e-9)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3]))
@settings(max_examples=40)
def test_a_plain_recursion_finds_nothing_better(seed: int, jobs: int) -> None:
    problem = random_allocation(np.random.default_rng(seed), "free", 13, jobs, load=0.9)
    assert solved(problem) == pytest.approx(plain_optimum(problem), rel=1e-9)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_states_alone_are_exact(seed: int) -> None:
    # Whatever the prices: one pass without any limit of slack holds the optimum, and slack is what it lacks.
    problem = random_allocation(np.random.default_rng(seed), "free", 10, 3, load=1.0, cost=PAPER)
    prices = Prices(shape(problem))
    prices.set_target(prices.primal_heuristic()[0])
    prices.step(1 + seed % 7)
    layers = Layers(prices, 2**24)
    layers.begin(math.inf, 2**12)
    while not layers.advance():
        pass
    assert layers.dropped == math.inf
    best = layers.solutions()[0]
    assert problem.value(prices.shape.owners(best)) == pytest.approx(optimum(problem), rel=1e-9)
    assert prices.shape.base - layers.most + layers.least == pytest.approx(optimum(problem), rel=1e-9)
    assert layers.least >= -1e-6


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_the_order_among_like_pods_loses_nothing(seed: int) -> None:
    # Pods of three kinds, several of each, and jobs of one size among others; with a limit of slack and without.
    rng = np.random.default_rng(seed)
    leaf: list[int] = []
    pod: list[int] = []
    for p, kind in enumerate(rng.choice(3, 4 + seed % 2, p=(0.5, 0.4, 0.1)).tolist()):
        for s, cap in enumerate(((1, 2), (2, 2), (3,))[kind]):
            leaf += [2 * p + s] * cap
            pod += [p] * cap
    n = len(leaf)
    sizes = [[4, 4, 2], [5, 3, 2], [3, 3, 3], [4, 3, 3], [6, 4], [5, 5]][rng.integers(6)]
    if sum(sizes) > n:
        return
    problem = Allocation(FatTree(leaf, pod), np.arange(n), sizes, "free", True, COSTS[rng.integers(len(COSTS))])
    expected = plain_optimum(problem)
    assert solved(problem) == pytest.approx(expected, rel=1e-9)
    prices = Prices(shape(problem))
    prices.set_target(prices.primal_heuristic()[0])
    prices.step(1 + seed % 5)
    layers = Layers(prices, 2**24)
    layers.begin(math.inf, 2**12)
    while not layers.advance():
        pass
    assert layers.dropped == math.inf
    found = [prices.shape.owners(counts) for counts in layers.solutions()]
    best = min(problem.value(owner) for owner in found if not problem.violations(owner))
    assert best == pytest.approx(expected, rel=1e-9)


def window(seed: int, jobs: int, cost: object = AUTHORS) -> Allocation:
    rng = np.random.default_rng(seed)
    idle = np.sort(rng.choice(300, 110, replace=False))
    return Allocation(FatTree.uniform(300, 10, 50), idle, rng.integers(2, 100 // jobs + 1, jobs), "free", True, cost)


@pytest.mark.parametrize("cost", COSTS)
def test_names_of_nodes_inside_a_leaf_do_not_matter(cost: object) -> None:
    rng = np.random.default_rng(8)
    leaf = rng.permutation(np.repeat(np.arange(12), 5))
    problem = Allocation(FatTree(leaf, leaf // 4), np.arange(0, 60, 2), [9, 7, 6], "free", True, cost)
    counts = np.bincount(problem.leaf, minlength=12)
    ids = np.arange(60)
    renamed = np.sort(np.concatenate([rng.permutation(ids[problem.tree.leaf == s])[:k] for s, k in enumerate(counts)]))
    other = Allocation(problem.tree, renamed, problem.sizes, "free", True, problem.cost)
    assert solved(other) == pytest.approx(solved(problem), rel=1e-12)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_one_more_idle_node_never_hurts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_allocation(rng, "free", 24, 4)
    busy = np.setdiff1d(np.arange(problem.tree.num_nodes), problem.idle)
    if busy.size:
        more = np.sort(np.append(problem.idle, rng.choice(busy)))
        other = Allocation(problem.tree, more, problem.sizes, "free", True, problem.cost)
        assert solved(other) <= solved(problem) * (1 + 1e-9)


@pytest.mark.parametrize("cost", [PAPER, AUTHORS])
def test_never_above_the_best_contiguous_solution(cost: object) -> None:
    for seed in range(4):
        problem = window(seed, 4, cost)
        static = static_optimum(problem)
        assert static is not None
        result = solve(problem, FreeExact(steps=1, memory=1), Stop(seconds=0.5))
        assert result.value <= static[1] * (1 + 1e-12)


def test_ended_early_it_is_as_good_as_polishing() -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        idle = np.sort(rng.choice(400, 160, replace=False))
        problem = Allocation(FatTree.uniform(400, 10, 100), idle, [40, 35, 31, 28, 19], "free", True, AUTHORS)
        result = solve(problem, FreeExact(), Stop(iterations=26))
        polished = solve(problem.with_rule("dynamic"), "dp-polish", Stop())
        assert polished.value is not None
        assert result.value is not None
        assert result.value <= polished.value


def test_many_jobs_need_several_words() -> None:
    rng = np.random.default_rng(2)
    idle = np.sort(rng.choice(400, 200, replace=False))
    problem = Allocation(FatTree.uniform(400, 10, 100), idle, [6] * 10 + [7] * 10 + [5] * 10, "free", True, AUTHORS)
    layers = Layers(Prices(shape(problem)), 2**24)
    assert layers.words > 3
    result = solve(problem, SOLVER, Stop(seconds=0.5))
    assert result.error is None
    assert check(problem, result) == []
    assert result.value is not None
    assert result.bound is not None
    assert result.bound <= result.value <= result.bound * 1.4


@pytest.mark.parametrize(
    ("leaf", "sizes", "cost"),
    [
        ([0, 0, 1, 2, 3, 3, 3, 4, 4, 5], [4, 4, 2], HopCost(1, 3, 3, ordered=False, floored=True, unit=1)),
        ([0, 1, 2, 2, 2, 3, 3, 4, 5, 5], [3, 4, 2], HopCost(1, 2, 3, ordered=False, floored=True, unit=1)),
    ],
)
def test_a_cost_that_would_round_to_0_is_1(leaf: list[int], sizes: list[int], cost: HopCost) -> None:
    problem = Allocation(FatTree(leaf, leaf), np.arange(10), sizes, "free", True, cost)
    assert solved(problem) == optimum(problem)


@settings(max_examples=100)
@given(allocations("free", 9), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), st.integers(1, 3))
def test_costs_of_about_1(problem: Allocation, leaf: int, pod: int, core: int, unit: int) -> None:
    cost = HopCost(leaf, leaf + pod, leaf + pod + core, ordered=False, floored=True, unit=unit)
    problem = Allocation(problem.tree, problem.idle, problem.sizes, "free", True, cost)
    assert solved(problem) == optimum(problem)


def test_one_job_takes_all_idle_nodes() -> None:
    idle = np.sort(np.random.default_rng(4).choice(500, 137, replace=False))
    problem = Allocation(FatTree.uniform(500, 10, 50), idle, [137], "free", True, PAPER)
    assert solved(problem) == problem.value(np.zeros(137, int))


def test_jobs_of_one_size_on_like_pods() -> None:
    # Everything ties: like nodes, like leaves, like pods, like jobs.
    problem = Allocation(FatTree.uniform(160, 10, 40), np.arange(160), [15] * 10, "free", True, AUTHORS)
    result = solve(problem, SOLVER, Stop(seconds=0.5))
    assert result.error is None
    assert check(problem, result) == []


@pytest.mark.parametrize("seconds", [0.1, 0.2])
def test_budgets_are_kept(seconds: float) -> None:
    SOLVER.warm_up()
    rng = np.random.default_rng(6)
    idle = np.sort(rng.choice(400, 160, replace=False))
    problem = Allocation(FatTree.uniform(400, 10, 40), idle, [38, 31, 27, 22, 17, 12, 8], "free", True, AUTHORS)
    run = partial(solve, problem, FreeExact(), Stop(seconds=seconds), clock=process_time)
    assert used(run, 4 * seconds) < 4 * seconds
    result = run()
    assert result.value is not None
    assert result.bound is not None
    assert result.bound <= result.value


def test_iterations_decide_alone() -> None:
    problem = window(3, 6)
    results = [solve(problem, FreeExact(), Stop(iterations=60)) for _ in range(2)]
    assert results[0].value == results[1].value
    assert results[0].bound == results[1].bound
    assert (results[0].solution == results[1].solution).all()


def test_nothing_is_rounded_once_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    # On 20,000 nodes one rounding takes 30 ms, and a step of the descent may end when there is no time left.
    seconds, rounded = [0.0], []
    descend, round_ = Prices.step, Prices.primal_heuristic

    def late(prices: Prices, iterations: int) -> bool:
        seconds[0] = 2.0
        return descend(prices, iterations)

    def counted(prices: Prices, order: object = None, stop: object = None) -> object:
        rounded.append(seconds[0])
        return round_(prices, order, stop)

    monkeypatch.setattr(Prices, "step", late)
    monkeypatch.setattr(Prices, "primal_heuristic", counted)
    problem = window(1, 12)
    budget = Budget(Stop(seconds=1.0), problem, clock=lambda: seconds[0])
    SOLVER(problem, budget, np.random.default_rng(0))
    assert rounded == [0.0], "the one with which it begins"
    assert budget.solution is not None


def test_memory_is_kept_and_said() -> None:
    problem = Allocation(FatTree.uniform(160, 10, 40), np.arange(160), [15] * 10, "free", True, AUTHORS)
    result = solve(problem, FreeExact(memory=1), Stop(seconds=30))
    assert result.status == "feasible"
    assert result.reason == "finished"
    assert "outgrew" in result.parameters["states"]
    assert result.bound < result.value


def test_a_start_is_never_made_worse_and_trivial_problems_are_settled() -> None:
    problem = window(1, 3)
    best = solve(problem, SOLVER, Stop(seconds=10))
    again = solve(problem, SOLVER, Stop(iterations=1), start=best.solution)
    assert again.value == best.value
    tree = FatTree.uniform(10, 2, 4)
    for sizes, status in (([], "optimal"), ([3, 3], "infeasible")):
        small = Allocation(tree, np.arange(4), sizes, "free")
        budget = Stop().start(small)
        SOLVER(small, budget, np.random.default_rng(0))
        assert (budget.optimal, budget.infeasible) == (status == "optimal", status == "infeasible")


def test_what_it_refuses() -> None:
    with pytest.raises(UnsupportedError, match="any idle nodes"):
        solve(window(1, 3).with_rule("static"), SOLVER)
    for wrong in ({"steps": 0}, {"memory": 0}):
        with pytest.raises(SpecError):
            FreeExact(**wrong)


@pytest.mark.reference
@pytest.mark.parametrize("name", ["paper", "code"])
def test_windows_of_the_paper(shared: Path, name: str) -> None:
    with gzip.open(shared / "instances" / f"nsa_{name}_epochs_1-5.jsonl.gz") as lines:
        entries = [json.loads(line) for line in itertools.islice(lines, 0, None, 31)]
    for entry in entries:
        tree = FatTree.uniform(entry["nodes"], entry["leaf_nodes"], entry["pod_nodes"])
        problem = Allocation(tree, entry["idle"], [job["nodes"] for job in entry["jobs"]], "free", True, AUTHORS)
        if problem.trivial() is None:
            static = static_optimum(problem)
            assert static is not None
            assert solved(problem, FreeExact()) <= static[1]
