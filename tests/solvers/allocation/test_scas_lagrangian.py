"""Prices, labels and moves: the same optima as label setting alone, bounds that hold, scale."""

from __future__ import annotations

import gzip
import itertools
import json
import math
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from tests.allocation_cases import allocations, figure_2, optimum, random_allocation
from tests.solvers.allocation.test_scas_dp import cheapest_path, random_path
from tests.timing import used
from transom import Stop, check, registry, solve
from transom.errors import SpecError
from transom.generate.instances.fragmented import Fragments, fragmented_allocation
from transom.models import AUTHORS, PAPER, Allocation, ConstrainedPath, FatTree, HopCost
from transom.reductions import packing
from transom.reductions.packing import Packing
from transom.solvers.allocation import scas_lagrangian
from transom.solvers.allocation.block_dp import Blocks
from transom.solvers.allocation.line_labels import Beam, Sweep
from transom.solvers.allocation.line_moves import Moves
from transom.solvers.allocation.line_prices import Prices, distances
from transom.solvers.allocation.price_pace import Pace
from transom.solvers.allocation.scas_dp import static_optimum
from transom.solvers.allocation.scas_lagrangian import CspLagrangian, ScasLagrangian


def blocks_of(pack: Packing) -> Blocks:
    return Blocks(pack.costs, pack.sizes, pack.counts)


def small(seed: int, wrap: bool = False, cost: HopCost = PAPER) -> Allocation:
    """A system of the scaled family that label setting alone still solves."""
    system = Fragments(2_000, 500, 9, 50.0, 120, leaf_nodes=16, pod_nodes=64)
    return fragmented_allocation(np.random.default_rng(seed), system, wrap=wrap, cost=cost)


@settings(max_examples=150)
@given(allocations("static"))
def test_it_finds_the_optimum_of_every_small_case(problem: Allocation) -> None:
    result = solve(problem, "scas-lagrangian", Stop(seconds=10))
    assert check(problem, result) == []
    assert result.status == "optimal"
    assert result.value == pytest.approx(optimum(problem), rel=1e-10)


def test_larger_cases_agree_with_label_setting_alone() -> None:
    rng = np.random.default_rng(5)
    for _ in range(150):
        problem = random_allocation(rng, "static", 70, 7)
        result = solve(problem, "scas-lagrangian", Stop(seconds=10))
        static = static_optimum(problem)
        assert static is not None
        assert result.status == "optimal"
        assert result.value == pytest.approx(static[1], rel=1e-10)


@pytest.mark.parametrize("cost", [PAPER, AUTHORS], ids=["paper", "authors"])
@pytest.mark.parametrize("wrap", [False, True])
def test_the_bound_never_passes_the_optimum(wrap: bool, cost: HopCost) -> None:
    for seed in range(3):
        problem = small(seed, wrap, cost)
        static = static_optimum(problem, 512)
        assert static is not None
        result = solve(problem, "scas-lagrangian", Stop(seconds=5))
        assert check(problem, result) == []
        for _, value, bound in result.curve:
            assert value is None or value >= static[1] * (1 - 1e-10)
            assert bound is None or bound <= static[1] * (1 + 1e-10)
        assert result.value == pytest.approx(static[1], rel=1e-4)


def test_the_dual_meets_the_linear_programme() -> None:
    # The path polytope with one count row per size, by another program.
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

    for seed in range(3):
        pack = packing.apply(small(seed))
        prices = Prices(pack.costs, pack.sizes, pack.counts, pack.costs.min(axis=1))
        prices.bundle_steps(2_000, 1e-6)
        row, start = np.nonzero(np.isfinite(pack.costs))
        tail = np.concatenate((np.arange(pack.length), start))
        head = np.concatenate((np.arange(pack.length) + 1, start + pack.sizes[row]))
        arcs = np.arange(len(tail))
        ones, blocks = np.ones(len(tail)), arcs[pack.length :]
        rows = np.concatenate((tail, head, pack.length + 1 + row))
        matrix = coo_matrix((np.concatenate((ones, -ones, ones[blocks])), (rows, np.concatenate((arcs, arcs, blocks)))))
        right = np.concatenate(([1], np.zeros(pack.length - 1), [-1], pack.counts))
        costs = np.concatenate((np.zeros(pack.length), pack.costs[row, start]))
        assert prices.bound == pytest.approx(linprog(costs, A_eq=matrix.tocsr(), b_eq=right).fun, rel=1e-6)


def test_a_sweep_finds_what_lies_within_its_limit_and_nothing_else() -> None:
    problem = small(1)
    pack = packing.apply(problem)
    static = static_optimum(problem, 512)
    assert static is not None
    prices = Prices(pack.costs, pack.sizes, pack.counts, pack.costs.min(axis=1))
    prices.bundle_steps(60, 1e-3)
    gap = static[1] - prices.bound
    assert gap > 0
    for limit, found in ((gap * 0.99, False), (gap * 1.01 + 1e-6, True)):
        sweep = Sweep(blocks_of(pack), prices.potentials(), Beam(limit, 50_000, 0.0, True), 2**27)
        while not sweep.go(1_000):
            pass
        assert sweep.complete
        blocks = sweep.best()
        assert (blocks is not None) == found
        if blocks is not None:
            assert pack.costs[blocks].sum() == pytest.approx(static[1])


@pytest.mark.parametrize("many", [3, 200])
def test_keys_of_several_words_and_pools_that_grow(many: int) -> None:
    # Sizes 2 to 4 in so many copies, or many sizes: keys longer than one word.
    sizes = np.repeat([2, 3, 4], many) if many == 200 else np.repeat(np.arange(2, 40), many)
    problem = Allocation(FatTree.uniform(4_000, 10, 100), np.arange(0, 4_000), sizes, "static", False)
    pack = packing.apply(problem)
    prices = Prices(pack.costs, pack.sizes, pack.counts, pack.costs.min(axis=1))
    prices.bundle_steps(20, 0.0)
    sweep = Sweep(blocks_of(pack), prices.potentials(), Beam(math.inf, 5, 1.0, False), 2**27)
    while not sweep.go(100_000):
        pass
    blocks = sweep.best()
    assert blocks is not None
    assert problem.violations(packing.invert(problem, *blocks)) == []


def test_memory_that_runs_out_ends_a_sweep() -> None:
    pack = packing.apply(small(0))
    prices = Prices(pack.costs, pack.sizes, pack.counts, pack.costs.min(axis=1))
    sweep = Sweep(blocks_of(pack), prices.potentials(), Beam(math.inf, 10**4, 0.0, False), 1)
    while not sweep.go(1_000):
        pass
    assert not sweep.complete
    assert sweep.best() is None


def test_moves_never_make_a_packing_worse() -> None:
    problem = small(2)
    pack = packing.apply(problem)
    blocks = packing.first_fit(pack)
    assert blocks is not None
    prices = Prices(pack.costs, pack.sizes, pack.counts, pack.costs.min(axis=1))
    prices.bundle_steps(50, 0.0)
    found, _, back = prices.potentials()
    moves = Moves(pack.costs, pack.sizes, *blocks, 0, pack.length, found, back)
    rng, costs = np.random.default_rng(0), [moves.cost]
    for _ in range(30):
        moves.go(5, 6, 10**6, rng)
        costs.append(moves.cost)
        owner = packing.invert(problem, moves.rows, moves.starts)
        assert problem.violations(owner) == []
        assert problem.value(owner) == pytest.approx(moves.cost)
    assert all(later <= earlier + 1e-6 for earlier, later in itertools.pairwise(costs))
    assert costs[-1] < costs[0]


def test_distances_from_an_entry_in_the_middle() -> None:
    pack = packing.apply(small(0))
    prices = pack.costs.min(axis=1) * 1.01
    inside = pack.costs[:, 40:].copy()
    assert np.allclose(distances(pack.costs, pack.sizes, prices, 40)[40:], distances(inside, pack.sizes, prices, 0))


def test_blocks_and_solutions_are_inverse() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        problem = random_allocation(rng, "static", 30, 5)
        static = static_optimum(problem)
        assert static is not None
        pack = packing.apply(problem)
        rows, starts = packing.blocks(problem, pack, static[0])
        assert pack.costs[rows, starts].sum() == pytest.approx(static[1])
        assert problem.value(packing.invert(problem, rows, starts)) == pytest.approx(static[1])


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.7, 1.0])
def test_paths_with_missing_arcs(missing: float) -> None:
    for seed in range(60):
        path = random_path(seed, missing)
        expected = cheapest_path(path)
        result = solve(path, "csp-lagrangian", Stop(seconds=10))
        assert result.error is None
        assert check(path, result) == []
        assert result.status == ("optimal" if math.isfinite(expected) else "infeasible")
        assert result.value == (expected if math.isfinite(expected) else None)


@pytest.mark.parametrize("spec", ["csp-lagrangian", "auto"])
def test_the_only_path_is_found_where_annealing_finds_none(spec: str) -> None:
    none = math.inf
    path = ConstrainedPath(6, [2, 3], [1, 1], [[9, none, 8, none, none, none], [6, none, none, 8, none, none]])
    result = solve(path, spec, Stop(seconds=10))
    assert (result.error, result.status, result.value) == (None, "optimal", 17)


def test_there_is_no_bound_on_what_no_path_costs() -> None:
    costs = np.full((2, 11), math.inf)
    costs[0, [0, 2, 5, 7, 8]] = [3, 1, 2, 6, 9]
    costs[1, 8] = 7
    path = ConstrainedPath(11, [2, 3], [2, 2], costs)
    for spec in ("csp-lagrangian", "csp-dp", "auto"):
        result = solve(path, spec, Stop(seconds=10))
        assert (result.status, result.bound) == ("infeasible", None)
        assert all(bound is None or bound < 50 for _, _, bound in result.curve)


def test_the_path_is_the_allocation_on_the_line() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        problem = random_allocation(rng, "static", 60, 6, wrap=False)
        result = solve(ConstrainedPath.from_allocation(problem), "csp-lagrangian", Stop(seconds=10))
        assert result.value == pytest.approx(solve(problem, "scas-lagrangian", Stop(seconds=10)).value, rel=1e-10)


def test_the_scaled_family_comes_close_to_its_bound() -> None:
    for family in (Fragments(), Fragments(jobs=24, mean=120.0, cap=600)):
        for seed in range(3):
            problem = fragmented_allocation(np.random.default_rng(seed), family)
            result = solve(problem, "scas-lagrangian", Stop(seconds=20, gap=1e-4))
            assert check(problem, result) == []
            assert result.reason in ("gap", "proof")


@pytest.mark.parametrize("wrap", [False, True])
def test_budgets_are_kept_with_an_answer_and_a_bound(wrap: bool) -> None:
    problem = fragmented_allocation(np.random.default_rng(0), Fragments(mean=100.0), wrap=wrap)
    ScasLagrangian().warm_up()
    for seconds in (0.05, 0.2):
        run = partial(solve, problem, "scas-lagrangian", Stop(seconds=seconds), clock=process_time)
        result = run()
        assert result.value is not None
        assert result.bound is not None
        assert used(run, 4 * seconds) <= 4 * seconds
        assert check(problem, result) == []
    for pieces in (0, 1, 5):
        assert solve(problem, "scas-lagrangian", Stop(iterations=pieces)).value is not None


def test_the_same_seed_gives_the_same_answer() -> None:
    problem = fragmented_allocation(np.random.default_rng(2), Fragments(8_000, 2_000, 20, 90.0, 256))
    a, b = (solve(problem, "scas-lagrangian", Stop(iterations=60), seed=1) for _ in range(2))
    assert np.array_equal(a.solution, b.solution)
    assert a.bound == b.bound


def test_a_start_is_never_made_worse() -> None:
    problem = small(0, wrap=True)
    static = static_optimum(problem, 512)
    assert static is not None
    result = solve(problem, "scas-lagrangian", Stop(iterations=0), start=static[0])
    assert result.value == pytest.approx(static[1])


def test_one_job_that_is_best_across_the_end() -> None:
    tree = FatTree(np.arange(7) % 2, np.arange(7) % 2)
    for cost in (HopCost(0, 1, 1), AUTHORS):
        problem = Allocation(tree, np.arange(7), [2], "static", True, cost)
        result = solve(problem, "scas-lagrangian", Stop(seconds=10))
        assert (result.error, result.status) == (None, "optimal")
        assert result.solution.tolist() == [0, -1, -1, -1, -1, -1, 0]


def test_what_a_wrapping_block_leaves_may_cost_nothing() -> None:
    for leaf_nodes, nodes, idle, sizes, cost in (
        (2, 10, [1, 3, 4, 5, 6], [2, 3], HopCost(0, 2, 3, ordered=False, unit=7)),
        (2, 18, [0, 2, 3, 5, 6, 8, 12, 13, 17], [7, 2], HopCost(0, 0, 2, ordered=False, unit=7)),
    ):
        problem = Allocation(FatTree.uniform(nodes, leaf_nodes, leaf_nodes), idle, sizes, "static", True, cost)
        result = solve(problem, "scas-lagrangian", Stop(seconds=10))
        assert result.status == "optimal"
        assert result.value == pytest.approx(optimum(problem))


def test_edges() -> None:
    tree = FatTree.uniform(12, 2, 4)
    for wrap in (False, True):
        for sizes in ([12], [4, 5, 3], [2], [2] * 6):
            problem = Allocation(tree, np.arange(12), sizes, "static", wrap)
            result = solve(problem, "scas-lagrangian")
            assert result.status == "optimal"
            assert result.value == pytest.approx(optimum(problem))
        for sizes, idle in (([], 12), ([], 0), ([13], 12), ([2], 0)):
            problem = Allocation(tree, np.arange(idle), sizes, "static", wrap)
            budget = Stop().start(problem)
            ScasLagrangian()(problem, budget, np.random.default_rng(0))
            assert budget.infeasible == bool(sizes)
            assert budget.optimal != bool(sizes)
    assert "free" in str(ScasLagrangian().supports(figure_2().with_rule("free")))
    for solver in (ScasLagrangian, CspLagrangian):
        with pytest.raises(SpecError, match="memory"):
            solver(memory=0)


@pytest.mark.reference
@pytest.mark.parametrize("name", ["nsa_paper_epochs_1-5", "nsa_code_epochs_1-5"])
def test_windows_of_the_paper(shared: Path, name: str) -> None:
    with gzip.open(shared / "instances" / f"{name}.jsonl.gz", "rt") as file:
        for line in [json.loads(line) for line in file][::10]:
            tree = FatTree.uniform(line["nodes"], line["leaf_nodes"], line["pod_nodes"])
            problem = Allocation(tree, line["idle"], [job["nodes"] for job in line["jobs"]], "static", True, AUTHORS)
            result = solve(problem, "scas-lagrangian", Stop(seconds=10))
            static = static_optimum(problem)
            assert static is not None
            assert (result.status, result.value) == ("optimal", static[1])


def test_an_answer_that_is_not_bad_comes_early() -> None:
    # Blocks placed one after another cost 14 % more than the optimum, and labels take long to find another packing.
    rng = np.random.default_rng(1)
    system = Fragments(nodes=6000, idle=1500, jobs=24, mean=100.0, cap=300, load=0.95)
    problem = fragmented_allocation(rng, system)
    result = solve(problem, "scas-lagrangian", Stop(iterations=6))
    assert result.value is not None
    assert result.bound is not None
    assert result.value <= 1.04 * result.bound


class Asked:
    """A clock that goes on by a millisecond whenever it is asked."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += 1e-3
        return self.seconds


def with_many_sizes() -> Allocation:
    """So many sizes that their prices take a hundred milliseconds."""
    return fragmented_allocation(np.random.default_rng(3), Fragments(20_000, 5_000, 60, 70.0, 600, spread=0.9))


@pytest.mark.parametrize(("seconds", "rest"), [(0.05, True), (5.0, False)])
def test_annealing_has_the_time_where_prices_would_not_converge(
    seconds: float, rest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares, anneal = [], scas_lagrangian._anneal

    def watched(*given: Any) -> None:
        shares.append(given[4])
        anneal(*given)

    monkeypatch.setattr(scas_lagrangian, "_anneal", watched)
    problem = with_many_sizes()
    first = packing.first_fit(packing.apply(problem))
    assert first is not None
    result = solve(problem, "scas-lagrangian", Stop(seconds=seconds), clock=Asked())
    assert check(problem, result) == []
    assert (1.0 in shares) == rest
    assert result.value is not None
    assert result.value < problem.value(packing.invert(problem, *first))
    assert result.bound is not None


def test_annealing_goes_on_from_the_best_and_asks_for_no_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = with_many_sizes()
    pack = packing.apply(problem)
    annealing = registry.make(registry.SOLVERS, "sa:repair=cheapest", Allocation)
    whole, rest = Stop(iterations=300).start(problem), Stop(iterations=300).start(problem)
    start = solve(problem, "sequential").solution
    annealing(problem, whole, np.random.default_rng(1), start)
    rest.found(start)
    monkeypatch.setattr(Allocation, "block_costs", None)
    annealing.go_on(problem, pack.costs, rest, np.random.default_rng(1))
    assert rest.value == whole.value


def test_the_pace_of_prices() -> None:
    pace = Pace(1.0, 30)
    assert pace.seconds_to_end(1e-2, 20, 1.2, False) == pytest.approx(0.01 * 40)
    # A tenth of the gain is left after a second: so two more until a thousandth of that.
    assert pace.seconds_to_end(1e-3, 50, 2.2, True) == pytest.approx(2.0)
    assert pace.seconds_to_end(1e-2, 50, 2.3, True) == math.inf
    assert pace.seconds_to_end(1e-5, 50, 2.4, True) == 0.0


def test_a_better_packing_is_followed_by_a_wider_proof() -> None:
    # 20,000 nodes at 94 % load: the proof takes a moment once moves have found the optimum.
    problem = fragmented_allocation(np.random.default_rng(2), Fragments(jobs=24, mean=260.0, cap=600, load=0.94))
    result = solve(problem, ScasLagrangian(), Stop(iterations=1000))
    assert result.status == "optimal"
    assert check(problem, result) == []
