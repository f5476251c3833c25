from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.workloads import workloads
from transom.errors import SpecError
from transom.models import Cluster, Job, Knapsack
from transom.simulation import make_policy, simulate
from transom.simulation.output.verification import check_schedule
from transom.simulation.policies.window import WindowPolicy, optimization
from transom.traces import TracedJob, Workload

pytestmark = pytest.mark.fast


def jobs(*rows: tuple[int, int, int, int, int]) -> Workload:
    """A workload on 8 nodes from (id, submit, nodes, walltime, runtime)."""
    return Workload.of((TracedJob(Job(*row[:4]), row[4]) for row in rows), Cluster(8))


class Recording(WindowPolicy):
    """Keeps every window with its decision."""

    def decide(self, window, /):
        decision = WindowPolicy.decide(self, window)
        self.seen.append((window, decision))
        return decision

    def __init__(self, **settings: object) -> None:
        WindowPolicy.__init__(self, **settings)
        self.seen: list[tuple] = []


@settings(max_examples=60)
@given(workloads(max_jobs=15), st.integers(1, 6), st.sampled_from(["nodes", "wait", "dras-capability"]))
def test_the_window_is_solved_to_the_optimum(workload: Workload, size: int, objective: str) -> None:
    policy = Recording(size=size, objective=objective, solver="dp", seconds=None, easy=False)
    schedule = simulate(workload, policy)
    assert check_schedule(workload, schedule) == []
    for window, decision in policy.seen:
        problem = Knapsack.from_window(window, policy._objective, np.arange(min(size, len(window.queue))))
        best = max(
            problem.value(np.array(list(np.binary_repr(k, len(problem))), int))
            for k in range(2 ** len(problem))
            if not problem.violations(np.array(list(np.binary_repr(k, len(problem))), int))
        )
        chosen = np.isin(window.queue.id[: len(problem)], decision.start)
        assert set(decision.start) <= set(window.queue.id[: len(problem)].tolist())
        assert problem.value(chosen) == best
    assert set(schedule.decisions) >= {"window", "status", "value", "bound", "seconds", "cut"}
    assert (schedule.decisions["status"] == "optimal").all()


@settings(max_examples=80)
@given(workloads(exact=True, max_jobs=15), st.integers(1, 6))
def test_a_kept_reservation_is_honoured(workload: Workload, size: int) -> None:
    schedule = simulate(workload, WindowPolicy(size=size, solver="dp", seconds=None))
    assert check_schedule(workload, schedule) == []
    start = dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))
    held, promise = -1, -1
    rows = zip(
        schedule.decisions["time"].tolist(),
        schedule.decisions["reserved_job"].tolist(),
        schedule.decisions["reserved_start"].tolist(),
        strict=True,
    )
    for now, job, begin in rows:
        if held >= 0 and start[held] > now:
            assert job == held, "the reservation was given up before its job started"
            assert begin <= promise, "with exact walltimes a reservation never moves back"
        held, promise = job, begin
        if job >= 0:
            assert start[job] <= begin


def test_a_choice_that_would_delay_the_reserved_job_is_cut_and_counted() -> None:
    # At 0 jobs 1 and 2 start. Job 3 waits for both, reserved at 10. At 1 job 4 comes, and at 5, when
    # job 2's nodes are free, the knapsack wants it; it would run until 25, beside nothing of job 3.
    workload = jobs((1, 0, 4, 10, 10), (2, 0, 4, 10, 5), (3, 1, 8, 5, 5), (4, 2, 4, 20, 20))
    schedule = simulate(workload, "window:solver=dp,size=5")
    assert schedule.start.tolist() == [0, 0, 10, 15]
    assert schedule.decisions["cut"].sum() == 1
    free = simulate(workload, "window:solver=dp,size=5,easy=false")
    assert free.start.tolist() == [0, 0, 25, 5]


def test_the_window_may_be_a_share_of_the_queue() -> None:
    workload = jobs(*((i, 0, 1, 5, 5) for i in range(1, 11)))
    half = simulate(workload, "window:solver=dp,k=0.45,easy=false")
    assert half.decisions["window"].tolist()[0] == 5  # ceil(0.45 * 10)


def test_optimization_neither_reserves_nor_backfills() -> None:
    policy = make_policy("optimization:size=20,objective=dras-capacity")
    assert isinstance(policy, WindowPolicy)
    assert (policy.easy, policy.size, policy.solver, policy.seconds) == (False, 20, "dp", None)
    schedule = simulate(jobs((1, 0, 6, 9, 9), (2, 0, 6, 1, 1), (3, 0, 2, 2, 2)), optimization())
    assert (schedule.mode == 0).all()
    assert (schedule.decisions["reserved_job"] == -1).all()


def test_the_same_seed_gives_the_same_schedule_with_a_random_solver() -> None:
    rng = np.random.default_rng(1)
    workload = jobs(*((i, int(rng.integers(60)), int(rng.integers(1, 9)), 9, 9) for i in range(1, 60)))
    spec = "window:solver=[sa:steps=50],seconds=none,iterations=50"
    one, two = simulate(workload, spec, seed=3), simulate(workload, spec, seed=3)
    assert np.array_equal(one.start, two.start)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("window:size=0", "size must be > 0"),
        ("window:k=1.5", r"k must be in \(0, 1\]"),
        ("window:solver=gurobi", "unknown solver 'gurobi'"),
        ("window:objective=profit", "unknown objective 'profit'"),
        ("window:order=lifo", "unknown priority rule 'lifo'"),
        ("window:width=3", "no parameter 'width'"),
        ("window:seconds=-1", "seconds must be > 0"),
    ],
)
def test_bad_settings_are_refused(spec: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        simulate(jobs((1, 0, 1, 1, 1)), spec)
    assert issubclass(SpecError, ValueError)
