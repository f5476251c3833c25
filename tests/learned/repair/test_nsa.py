"""Annealing with learned repairs: what the kernels decide against plain Python, refusals, and the shared contract."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.allocation_cases import nodes_cost
from tests.learned.repair.made import fcn_weights, scorer_weights, window, write_nsa, write_nsa_cost
from transom import Stop, check, registry, solve
from transom.cli import run
from transom.errors import DocumentError, SpecError, UnsupportedError
from transom.heuristics.allocation import annealing_loop
from transom.heuristics.allocation.annealing import Schedule, Standing
from transom.heuristics.allocation.arrays import counting
from transom.io import write_documents
from transom.learned.repair import candidates as cheap
from transom.learned.repair import first_nodes
from transom.learned.repair.candidates import CONTEXT, FEATURES, anneal_candidates, empty_log
from transom.learned.repair.first_nodes import Encoding, anneal_learned
from transom.learned.repair.forward import forward, prepare, room
from transom.learned.repair.nsa import Nsa
from transom.learned.repair.nsa_cost import NsaCost
from transom.learned.repair.process import observe, scale_of
from transom.learned.scorer import scored
from transom.learned.scorer import scorer_weights as as_scorer
from transom.models import PAPER, Allocation, Cluster, FatTree, Job
from transom.simulation.nodes.allocator import Allocator
from transom.simulation.runs import Run, replay
from transom.traces import TracedJob, Workload


@pytest.fixture(params=["nsa", "nsa-cost"])
def spec(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A solver with a made checkpoint."""
    write = write_nsa if request.param == "nsa" else write_nsa_cost
    return f"{request.param}:model={write(tmp_path)}"


@pytest.mark.parametrize("rule", ["dynamic", "free"])
@pytest.mark.parametrize("wrap", [True, False])
def test_every_state_is_feasible_and_costs_are_kept(rule: Any, wrap: bool) -> None:
    problem = window(rule, wrap, PAPER)
    ground = annealing_loop.allocation_arrays(problem)
    scorer = as_scorer(scorer_weights(), len(FEATURES), len(CONTEXT))
    network = prepare(fcn_weights(), "fcn-1", 5)
    for solver, kernel, more in (
        (
            Nsa(),
            anneal_learned,
            (
                Encoding(problem.leaf, problem.pod, scale_of(problem.tree, 40), 5),
                first_nodes.Choice(network, room(network), False),
            ),
        ),
        (NsaCost(), anneal_candidates, (cheap.Choice(scorer, 16, 1.0), empty_log(0, 16, 0), np.zeros(1, np.int64))),
    ):
        rng = np.random.default_rng(2)
        owner = np.concatenate([np.repeat(np.arange(5), problem.sizes), np.full(90 - 64, -1)])
        costs, best = problem.job_costs(owner), owner.copy()
        state = np.array([costs.sum(), 0.0])
        for first in range(0, 200, 10):
            schedule = Schedule(np.array([2500.0, 2.5]), first, first + 10, 200)
            kernel(rng, Standing(owner, costs, best, state), ground, solver.moves(problem, None), schedule, *more)
            assert np.allclose(costs, problem.job_costs(owner))
            assert problem.violations(owner) == []
            assert problem.violations(best) == []
        assert problem.value(best) == pytest.approx(state[0])


def test_the_best_start_is_the_one_that_the_network_scores_highest() -> None:
    """One job, which a step takes out and puts back: what it says of the window is known beforehand."""
    tree = FatTree.uniform(200, 10, 40)
    problem = Allocation(tree, window().idle, [17], "dynamic", True)
    network = prepare(fcn_weights(5), "fcn-1", 5)
    seen = np.zeros((5, 100), np.float32)
    scale = scale_of(tree, 40)
    observe(np.arange(90), problem.leaf, problem.pod, np.zeros(1, np.int64), problem.sizes, scale, seen)
    expected = int(np.argmax(forward(network, seen, room(network))[:90]))
    owner = np.where(np.arange(90) < 17, 0, -1)
    standing = Standing(owner, problem.job_costs(owner), owner.copy(), np.array([np.inf, 0.0]))
    options, schedule = Nsa(acceptance="walk").moves(problem, None), Schedule(np.array([2500.0, 2.5]), 0, 1, 500)
    encoding, choice = Encoding(problem.leaf, problem.pod, scale, 5), first_nodes.Choice(network, room(network), True)
    ground = annealing_loop.allocation_arrays(problem)
    anneal_learned(np.random.default_rng(0), standing, ground, options, schedule, encoding, choice)
    assert expected > 0
    assert sorted(np.flatnonzero(owner == 0)) == sorted((expected + np.arange(17)) % 90)


def test_what_is_known_of_candidates_is_true() -> None:
    """Every feature of logged decisions of one-job steps, worked out again from costs of whole solutions."""
    problem = window(cost=PAPER)
    ground = annealing_loop.allocation_arrays(problem)
    log, logged = empty_log(400, 16, 100), np.zeros(1, np.int64)
    scorer = as_scorer(scorer_weights(3), len(FEATURES), len(CONTEXT))
    owner = np.concatenate([np.repeat(np.arange(5), problem.sizes), np.full(90 - 64, -1)])
    costs, best = problem.job_costs(owner), owner.copy()
    state = np.array([costs.sum(), 0.0])
    solver = NsaCost(remove=1, nested="pass", acceptance="walk")
    checked = 0
    for step in range(100):
        before, before_costs, at = owner.copy(), costs.copy(), int(logged[0])
        standing, options = Standing(owner, costs, best, state), solver.moves(problem, None)
        schedule = Schedule(np.array([2500.0, 2.5]), step, step + 1, 100)
        rng, choice = np.random.default_rng(step), cheap.Choice(scorer, 16, 1.0)
        anneal_candidates(rng, standing, ground, options, schedule, choice, log, logged)
        temperature = 2500 * (2.5 / 2500) ** (step / 100)
        moved = np.flatnonzero([not np.array_equal(before == job, owner == job) for job in range(5)])
        if logged[0] == at or len(moved) != 1:
            continue
        job = int(moved[0])
        expected = _described(problem, before, job, before_costs[job], temperature)
        found = int(log.number[at])
        assert found == min(16, len(expected))
        order = np.argsort([row[4] for row in expected], kind="stable")[:found]
        for place, start in enumerate(order):
            row = [*expected[start]]
            row[6] = place / found
            assert log.features[at, place] == pytest.approx(row, abs=2e-5)
        taken = int(order[log.action[at]])
        left = np.flatnonzero((before < 0) | (before == job))
        assert set(left[(taken + np.arange(problem.sizes[job])) % len(left)]) == set(np.flatnonzero(owner == job))
        chances = scored(scorer, log.features[at, :found], log.context[at])
        chances = np.exp(chances - chances.max()) / np.exp(chances - chances.max()).sum()
        assert log.log_chance[at] == pytest.approx(np.log(chances[log.action[at]]), abs=1e-3)
        checked += 1
    assert checked > 50


def _described(problem: Allocation, before: Any, job: int, paid: float, temperature: float) -> list[list[float]]:
    """The features of all starts of a job that is out alone; the place among the cheapest is left at 0."""
    left = np.flatnonzero((before < 0) | (before == job))
    size, m = int(problem.sizes[job]), len(left)
    worst = problem.cost.unit * 2 * problem.cost.other * (size - 1) / 2
    blocks = [left[(start + np.arange(size)) % m] for start in range(m)]
    costs = []
    for block in blocks:
        trial = np.full(len(before), -1)
        trial[block] = job
        costs.append(problem.job_costs(trial)[job])
    rows = []
    for start, (block, cost) in enumerate(zip(blocks, costs, strict=True)):
        ends = (block[0], 1), (block[-1], -1)
        idle = []
        for labels in (problem.leaf, problem.pod):
            for node, way in ends:
                inside = 0
                for other in block[::way]:
                    if labels[other] != labels[node]:
                        break
                    inside += 1
                of_label = int((labels[left] == labels[node]).sum())
                idle.append((of_label - inside) / of_label)
        above, gain = cost - min(costs), cost - paid
        rows.append(
            [
                min(above / temperature, 10) / 2.5,
                above / worst,
                float(np.clip(gain / temperature, -10, 10)) / 2.5,
                gain / worst,
                cost / worst,
                float(before[block[0]] == job and before[block[-1]] == job),
                0.0,
                *idle,
                ((idle[0] > 0) + (idle[1] > 0)) / 2,
                float(block[-1] - block[0] == size - 1),
                float(block[-1] < block[0]),
                start / m,
                min(above / temperature, 10) / 2.5,
                above / worst,
            ]
        )
    assert all(len(row) == len(FEATURES) for row in rows)
    return rows


@pytest.mark.parametrize("wrap", [True, False])
def test_the_next_job_is_reckoned_with(wrap: bool) -> None:
    problem = window(wrap=wrap, cost=PAPER)
    left = np.flatnonzero(np.arange(90) % 7 > 0)
    m, size, following = len(left), 11, 6
    starts = np.arange(m if wrap else m - size + 1)[::5].copy()
    slid = np.arange(m) * 10.0
    ahead = cheap.Ahead(np.empty(m, np.int64), np.empty(m), np.empty(len(starts)))
    switches = counting(annealing_loop.allocation_arrays(problem))
    options = NsaCost().options(wrap)
    cheap._look_ahead(left, switches, starts, slid, size, following, options, ahead)
    for start, got in zip(starts, ahead.total, strict=True):
        rest = np.delete(left, (start + np.arange(size)) % m)
        ends = range(len(rest) if wrap else len(rest) - following + 1)
        least = min(
            nodes_cost(problem.leaf[block], problem.pod[block], PAPER)
            for block in (rest[(end + np.arange(following)) % len(rest)] for end in ends)
        )
        assert got == pytest.approx(slid[start] + least)
    assert not switches.in_leaf.any()
    assert not switches.in_pod.any()


def test_cheapest_starts_are_in_order_and_none_is_missed() -> None:
    rng = np.random.default_rng(0)
    for count, room_for in ((50, 8), (5, 8), (8, 8), (200, 32)):
        costs = rng.integers(0, 9, count).astype(float)
        starts = np.empty(room_for, np.int64)
        found = cheap._cheapest(costs, count, starts)
        assert starts[:found].tolist() == np.argsort(costs, kind="stable")[:room_for].tolist()


def test_the_answer_does_not_depend_on_the_chunks(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = Stop(iterations=120)
    for problem in (window(), window("free")):
        expected = solve(problem, spec, stop, seed=5)
        assert expected.reason == "iterations"
        assert check(problem, expected) == []
        for work in (1, 10**9):
            monkeypatch.setattr(annealing_loop, "_WORK", work)
            assert np.array_equal(solve(problem, spec, stop, seed=5).solution, expected.solution)


def test_seeds_weights_and_choices_matter(spec: str, tmp_path: Path) -> None:
    write = write_nsa if spec.startswith("nsa:") else write_nsa_cost
    other = f"{spec.partition(':')[0]}:model={write(tmp_path, 1)}"
    certain = f"{spec},{'choose=best' if spec.startswith('nsa:') else 'heat=0'}"
    plain = solve(window(), f"{spec},steps=60", seed=1)
    curve = [value for _, value, _ in plain.curve]
    for changed, seed in ((spec, 2), (other, 1), (certain, 1), (f"{spec},remove=4", 1), (f"{spec},order=window", 1)):
        result = solve(window(), f"{changed},steps=60", seed=seed)
        assert [value for _, value, _ in result.curve] != curve, changed
    assert plain.parameters["load_seconds"] > 0


def test_what_they_do_not_take_is_refused_with_the_reason(spec: str) -> None:
    with pytest.raises(UnsupportedError, match="it solves the dynamic and the free rule, not static"):
        solve(window("static"), spec)


def test_other_clusters_are_refused_unless_asked_for(tmp_path: Path) -> None:
    path = write_nsa(tmp_path)
    elsewhere = Allocation(FatTree.k_ary(4), np.arange(10), [4, 4], "dynamic")
    scattered = Allocation(FatTree([0, 1, 0, 1], [0, 0, 0, 0]), np.arange(4), [3], "dynamic")
    for problem, says in (
        (elsewhere, "nodes = 200, leaf_nodes = 10, pod_nodes = 40, and this has 16, 2, 4"),
        (scattered, "leaf_nodes = 10, pod_nodes = 40, and this has 4, 0, 0"),
    ):
        with pytest.raises(UnsupportedError, match=says):
            solve(problem, f"nsa:model={path}")
        assert check(problem, solve(problem, f"nsa:model={path},anywhere=yes", Stop(iterations=50))) == []


def test_other_checkpoints_are_refused(tmp_path: Path) -> None:
    nsa, cost = write_nsa(tmp_path), write_nsa_cost(tmp_path)
    for spec, says in ((f"nsa:model={cost}", "repair-candidates/1"), (f"nsa-cost:model={nsa}", "repair-5x100/1")):
        with pytest.raises(DocumentError, match=says):
            solve(window(), spec)
    with pytest.raises(SpecError, match="unknown checkpoint 'nobody'"):
        solve(window(), "nsa:model=nobody")
    without = write_nsa(tmp_path, 7, settings={})
    with pytest.raises(DocumentError, match=r"card: settings.largest must be a whole number"):
        solve(window(), f"nsa:model={without}")
    wrong = write_nsa_cost(tmp_path, 8, schema="repair-4x100/1", network="fcn-1", settings={"largest": 4})
    with pytest.raises(DocumentError, match="network is 'fcn-1' with 4 rows, and the weights are of another one"):
        solve(window(), f"nsa:model={wrong},anywhere=yes")


@pytest.mark.parametrize("many", [10**12, 10**25, 1.5, True])
def test_numbers_of_a_card_that_nobody_could_mean_are_refused(tmp_path: Path, many: float) -> None:
    cost = write_nsa_cost(tmp_path, 9, settings={"candidates": many})
    with pytest.raises(DocumentError, match=f"{cost}: card: settings.candidates must be a whole number from 2 to"):
        solve(window(), f"nsa-cost:model={cost}")


@pytest.mark.parametrize(
    "settings", ["nsa:steps=0", "nsa:tmin=-1", "nsa-cost:remove=0", "nsa-cost:heat=inf", "nsa-cost:heat=1e-40"]
)
def test_wrong_parameters_are_errors_of_the_solver(settings: str) -> None:
    with pytest.raises(SpecError, match=settings.partition(":")[0]):
        registry.make(registry.SOLVERS, settings)


def test_names_and_numbers_of_what_is_seen() -> None:
    assert len(set(FEATURES)) == len(FEATURES) == 17
    assert len(set(CONTEXT)) == len(CONTEXT) == 9


def test_a_kept_result_is_not_that_of_other_weights(spec: str, tmp_path: Path) -> None:
    out, problem = tmp_path / "results.jsonl", tmp_path / "window.json"
    write_documents(problem, [window()])
    words = ["solve", str(problem), "--solver", f"{spec},steps=5", "--iterations", "5", "--out", str(out)]
    counts = []
    for seed in (0, 0, 1):
        overwrite(spec, tmp_path, seed)
        assert run(words) == 0
        counts.append(len(out.read_text().splitlines()))
    assert counts == [1, 1, 2]


def test_a_kept_replay_is_not_that_of_other_weights(spec: str, tmp_path: Path) -> None:
    jobs = [TracedJob(Job(id=i, submit=i, nodes=30, walltime=9), 9) for i in (1, 2, 3)]
    workload = Workload.of(jobs, Cluster(200, topology=FatTree.uniform(200, 10, 40)), "three")
    placed = Run("placed", "fcfs-easy", 0, Allocator(f"{spec},steps=1"))
    assert [replay(workload, placed, tmp_path / "out")[1] for _ in range(2)] == [False, True]
    overwrite(spec, tmp_path, 1)
    assert not replay(workload, placed, tmp_path / "out")[1]


def overwrite(spec: str, folder: Path, seed: int) -> None:
    """Put other weights where those of a specification lie."""
    written = Path(spec.partition("model=")[2])
    (folder / "other").mkdir(exist_ok=True)
    other = (write_nsa_cost if spec.startswith("nsa-cost") else write_nsa)(folder / "other", seed)
    for ending in (".safetensors", ".json"):
        Path(other).with_suffix(ending).replace(written.with_suffix(ending))
