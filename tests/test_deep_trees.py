"""Allocation on trees of two to five levels: costs by the pair, every rule by enumeration, who refuses and how."""

from __future__ import annotations

import copy
import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.allocation_cases import every_solution, optimum, plain_value
from tests.deep_trees import deep_allocation, joined_at, random_switches
from transom import Stop, check, registry, simulate, solve
from transom.errors import ModelError
from transom.generate import generate_lublin
from transom.heuristics.allocation.arrays import allocation_arrays, block_cost, counting, slide
from transom.heuristics.allocation.reinsertion import least_costs
from transom.io import decode, encode
from transom.models import AUTHORS, Allocation, Cluster, FatTree, tree_of_switches
from transom.simulation.nodes.allocator import Allocator
from transom.simulation.output.recording import read_schedule, write_schedule

EXACT = {"static": ("scas-dp", "scas-lagrangian"), "dynamic": ("dcas-exact",), "free": ("free-cpsat", "free-exact")}
OTHERS = {
    "static": ("best-fit", "dp-polish", "sa", "sequential"),
    "dynamic": ("best-fit", "dp-polish", "sa", "sa:repair=cheapest", "sequential"),
    "free": (
        "count-search",
        "count-search:begin=best-fit,ruin=2",
        "best-fit",
        "best-fit:order=size",
        "sa",
        "sa:repair=cheapest",
        "sequential",
    ),
}


def test_the_level_that_joins_two_nodes_is_that_of_the_lowest_common_switch() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        leaf, above = random_switches(rng, int(rng.integers(1, 6)), int(rng.integers(2, 9)))
        tree = tree_of_switches(leaf, above)
        for a, b in itertools.combinations(range(len(leaf)), 2):
            assert tree.level(a, b) == joined_at(leaf, above, a, b)


def test_values_and_blocks_are_those_of_the_pairs() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        problem = deep_allocation(rng, "free")
        owner = np.full(len(problem.idle), -1)
        wanted = np.repeat(np.arange(len(problem)), problem.sizes)
        owner[rng.permutation(len(owner))[: len(wanted)]] = wanted
        assert problem.value(owner) == pytest.approx(plain_value(problem, tuple(owner)), rel=1e-12)
        costs = problem.block_costs()
        for job, start in zip(range(len(problem)), rng.integers(len(owner), size=len(problem)), strict=True):
            if np.isfinite(costs[job, start]):
                alone = replace_sizes(problem, [int(problem.sizes[job])])
                assert costs[job, start] == pytest.approx(plain_value(alone, tuple(alone.from_starts([start]))))
            else:
                assert not problem.wrap
                assert start + problem.sizes[job] > len(owner)


def replace_sizes(problem: Allocation, sizes: list[int]) -> Allocation:
    return Allocation(problem.tree, problem.idle, sizes, problem.rule, problem.wrap, problem.cost)


def proves(rule: str, seeds: range, max_idle: int) -> None:
    for seed in seeds:
        problem = deep_allocation(np.random.default_rng(seed), rule, max_idle)
        least = optimum(problem)
        for spec in EXACT[rule]:
            result = solve(problem, spec, Stop(iterations=10**6))
            assert check(problem, result) == []
            assert result.status == "optimal", (seed, spec, result)
            assert result.value == pytest.approx(least, rel=1e-9), (seed, spec)


@pytest.mark.parametrize(("rule", "count"), [("static", 1200), ("dynamic", 800), ("free", 60)])
def test_proved_values_are_those_of_enumeration(rule: str, count: int) -> None:
    proves(rule, range(count), 7)


@pytest.mark.parametrize("rule", EXACT)
def test_what_others_find_is_what_they_say(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    met = 0
    for seed in range(120):
        problem = deep_allocation(np.random.default_rng(20_000 + seed), rule, 7)
        least = optimum(problem)
        assert least is not None
        for spec in (*OTHERS[rule], *(("ga:population=10",) if seed < 10 else ())):
            result = solve(problem, spec, Stop(iterations=40), seed)
            assert result.error is None, (seed, spec, result.error)
            assert check(problem, result) == []
            assert result.value is not None
            assert result.value >= least * (1 - 1e-9), (seed, spec)
            met += result.value <= least * (1 + 1e-9)
    assert met > 360  # most of these windows are small


def test_costs_of_blocks_of_what_is_left_are_those_of_the_model() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        problem = deep_allocation(rng, "dynamic", 9)
        arrays = allocation_arrays(problem)
        switches, n = counting(arrays), len(problem.idle)
        left = np.sort(rng.choice(n, int(rng.integers(2, n + 1)), replace=False))
        size = int(rng.integers(1, len(left) + 1))
        slid = np.empty(len(left))
        slide(left, len(left), len(left), size, switches, slid)
        for start in range(len(left)):
            block = left[(start + np.arange(size)) % len(left)]
            alone = (
                Allocation(problem.tree, problem.idle[np.sort(block)], [size], "free", cost=problem.cost)
                if size > 1
                else None
            )
            cost = 0.0 if alone is None else plain_value(alone, (0,) * size)
            assert slid[start] == pytest.approx(cost)
            assert block_cost(left, len(left), start, size, switches) == pytest.approx(cost)
        assert not switches.in_leaf.any()
        assert not switches.in_pod.any()
        least = least_costs(arrays)
        for owner in itertools.islice(every_solution(problem), 50):
            assert (problem.job_costs(np.array(owner)) >= least - 1e-9 * least).all()


def test_best_fit_takes_the_lowest_switch_of_any_level() -> None:
    # Two racks of two rows each, rows of leaves of 2, 2 and 1 nodes.
    leaves = [leaf for row in range(4) for leaf in (3 * row, 3 * row, 3 * row + 1, 3 * row + 1, 3 * row + 2)]
    rows = [leaf // 3 for leaf in leaves]
    tree = FatTree(leaves, rows, [[row // 2 for row in rows], [row // 4 for row in rows]])
    for idle, size, nodes in (
        (range(20), 5, [0, 1, 2, 3, 4]),
        ([0, 1, 2, 5, 6, 7, 10, 11, 12, 13, 15], 5, [10, 11, 12, 13, 15]),  # six and five below the racks
        ([0, 1, 5, 7, 8, 10, 15], 5, [0, 1, 5, 7, 8]),
        ([0, 1, 5, 7, 8, 10, 11, 15], 6, [0, 1, 5, 7, 8, 15]),  # the fullest rack, then the smallest place for one
    ):
        problem = Allocation(tree, idle, [size], "free")
        assert problem.nodes(solve(problem, "best-fit", Stop()).solution) == [nodes]


DEEP = tree_of_switches([3, 3, 4, 5, 5, 6, 3, 2], [-1, 0, 0, 1, 1, 7, 7, 1])


def test_levels_above_pods_are_kept_unless_they_are_the_core() -> None:
    assert DEEP.num_levels == 4
    assert DEEP.upper.tolist() == [[0, 0, 0, 0, 0, 0, 0, 1]]
    assert [DEEP.level(0, node) for node in range(1, 8)] == [0, 2, 2, 2, 2, 0, 3]
    assert DEEP.regular is None
    assert not DEEP.contiguous
    flat = FatTree([0, 0, 1, 2], [0, 0, 0, 1])
    assert FatTree([0, 0, 1, 2], [0, 0, 0, 1], [[5, 5, 5, 5]]) == flat
    assert FatTree([0, 0, 1, 2], [0, 0, 0, 1], [[5, 5, 5, 5]]).digest() == flat.digest()
    assert FatTree([0, 0, 1, 2], [0, 0, 0, 1], [[5, 5, 5, 6]]) != flat
    with pytest.raises(ModelError, match=r"node 0 and another one hang on two switches of above\[0\]"):
        FatTree([0, 0, 1, 2], [0, 0, 0, 1], [[0, 0, 1, 1]])
    with pytest.raises(ModelError, match="switch 1 is above itself"):
        tree_of_switches([0, 0], [-1, 2, 1])


def test_documents_and_workers_keep_the_levels() -> None:
    problem = Allocation(DEEP, range(8), [3, 2], "dynamic", cost=AUTHORS)
    back = decode(encode(problem), "a")
    assert back == problem
    assert back.digest() == problem.digest()
    assert copy.deepcopy(problem) == problem


def test_methods_for_three_levels_say_so() -> None:
    for rule, refusing in {
        "dynamic": ("nsa:anywhere=yes", "nsa-cost:anywhere=yes"),
        "free": ("nsa:anywhere=yes", "nsa-cost:anywhere=yes"),
    }.items():
        problem = Allocation(DEEP, range(8), [3, 2], rule)
        for spec in refusing:
            reason = registry.make(registry.SOLVERS, spec, Allocation).supports(problem)
            assert reason == "it takes trees of up to three levels of switches, this one has 4", spec


@pytest.mark.parametrize("rule", EXACT)
def test_auto_and_first_fit_take_any_depth(rule: str) -> None:
    problem = Allocation(DEEP, range(8), [3, 2], rule)
    for spec, status in {"auto": "optimal", "sequential": "feasible"}.items():
        result = solve(problem, spec, Stop(seconds=20))
        assert check(problem, result) == []
        assert result.status == status
    assert solve(problem, "auto", Stop(seconds=20)).value == pytest.approx(optimum(problem))


@pytest.mark.parametrize("allocate", ["scas-dp", "dcas-exact", None])
def test_replays_state_what_nodes_cost(allocate: str | None, tmp_path: Path) -> None:
    leaf, above = random_switches(np.random.default_rng(5), 5, 24)
    tree = tree_of_switches(leaf, above)
    jobs = generate_lublin(30, 24, np.random.default_rng(1), load=0.9)
    workload = replace(jobs, cluster=Cluster(24, topology=tree))
    schedule = simulate(workload, "fcfs-easy", allocator=Allocator(allocate, cost=AUTHORS))
    assert schedule.runs is not None
    assert schedule.spread is not None
    for job in range(30):
        begin, end = schedule.runs.offsets[job : job + 2].tolist()
        held = zip(schedule.runs.first[begin:end].tolist(), schedule.runs.last[begin:end].tolist(), strict=True)
        nodes = [node for first, last in held for node in range(first, last + 1)]
        alone = Allocation(tree, nodes, [len(nodes)], "free", cost=AUTHORS) if len(nodes) > 1 else None
        expected = 0 if alone is None else plain_value(alone, (0,) * len(nodes))
        assert schedule.spread.hop_cost[job] == expected
    write_schedule(schedule, tmp_path, schedule.runs)
    assert read_schedule(tmp_path).cluster.topology == tree


@pytest.mark.long
@pytest.mark.parametrize(("rule", "count"), [("static", 10_000), ("dynamic", 10_000), ("free", 1000)])
def test_proved_values_are_those_of_enumeration_on_larger_ones(rule: str, count: int) -> None:
    proves(rule, range(10_000, 10_000 + count), 8)
