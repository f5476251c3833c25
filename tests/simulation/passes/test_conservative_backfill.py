"""Conservative backfilling decides what brute force over a plain list of steps decides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.simulation import plain_conservative
from transom.errors import SpecError
from transom.models import Cluster, JobTable, Window
from transom.models.arrays import IntArray
from transom.simulation.core import events
from transom.simulation.core.decision import Reservation
from transom.simulation.core.replay import Replay
from transom.simulation.engine import simulate
from transom.simulation.output.verification import check_schedule
from transom.simulation.passes.conservative_backfill import conservative_pass
from transom.simulation.passes.conservative_plan import new_plan
from transom.simulation.policies.by_name import RulePolicy, make_policy
from transom.traces import Workload, read_swf

RULES = ("fcfs", "fcfs", "sjf", "largest", "saf", "wfp3")


def random_workload(rng: np.random.Generator, most: int) -> Workload:
    """Up to ``most`` jobs: some all at once, some with further resources, few ways of asking, or walltimes outrun."""
    count, nodes = int(rng.integers(1, most + 1)), int(rng.integers(2, 65))
    submit = np.sort(rng.integers(0, int(rng.choice([1, 5, 30])) * count, count))
    size = np.minimum(nodes, rng.geometric(rng.choice([0.05, 0.2, 0.6]), count))
    walltime = rng.integers(1, 500, count) if rng.random() < 0.5 else rng.choice([10, 60, 300], count)
    runtime = np.maximum(1, (walltime * rng.random(count) ** rng.choice([0.3, 1, 3])).astype(np.int64))
    if rng.random() < 0.1:
        runtime = np.where(rng.random(count) < 0.2, walltime + rng.integers(1, 50, count), runtime)
    capacities = rng.integers(1, 40, int(rng.integers(1, 3)) if rng.random() < 0.3 else 0).tolist()
    unknown = np.full(count, -1)
    columns = [np.arange(1, count + 1), submit, size, walltime, unknown, unknown]
    columns += [rng.integers(0, capacity + 1, count) for capacity in capacities]
    cluster = Cluster(nodes, tuple(f"r{i}" for i in range(len(capacities))), tuple(capacities))
    return Workload("random", cluster, JobTable(np.column_stack(columns)), runtime)


def bursts(rng: np.random.Generator, most: int) -> Workload:
    """Up to ``most`` jobs in bursts of like ones, most of which end early: one early end lets whole queues slide."""
    count, nodes = int(rng.integers(20, most + 1)), int(rng.choice([8, 16, 64, 300]))
    asked = (
        rng.choice([1, 1, 2, 4, 8, nodes], (count, 1)) if rng.random() < 0.8 else rng.integers(1, nodes + 1, (count, 1))
    )
    walltime = rng.choice([1, 2, 10, 60, 60, 300], (count, 1))
    kind = np.sort(rng.integers(0, max(1, count // int(rng.choice([5, 20, 60]))), count))
    size, walltime = np.minimum(asked[kind, 0], nodes), walltime[kind, 0]
    runtime = np.maximum(1, (walltime * rng.choice([0, 0.1, 0.5, 1], count)).astype(np.int64))
    submit = np.sort(rng.integers(0, int(rng.choice([1, 3, 10])) * (kind.max() + 1), kind.max() + 1))[kind]
    unknown, capacities = np.full(count, -1), (20,) if rng.random() < 0.2 else ()
    columns = [np.arange(1, count + 1), submit, size, walltime, unknown, unknown]
    columns += [np.where(rng.random(count) < 0.2, rng.integers(0, 21, count), 0) for _ in capacities]
    cluster = Cluster(nodes, ("r0",)[: len(capacities)], capacities)
    return Workload("bursts", cluster, JobTable(np.column_stack(columns)), runtime)


def replay(workload: Workload, rule: str, depth: int | None) -> tuple[IntArray, IntArray, plain_conservative.Passes]:
    """As :func:`plain_conservative.replay`, pass by pass over the profile of the package."""
    made = Replay(workload, rule)
    s = made.state
    plan = new_plan(s, depth=depth)
    picks, modes = np.empty(len(s.jobs), np.int64), np.empty(len(s.jobs), np.int64)
    passes: plain_conservative.Passes = []
    while made.advance():
        count = conservative_pass(s, plan, picks, modes)[0]
        events.launch(s.jobs, s.queue, s.ends, s.at, made.runtime, picks, modes, count)
        queue = s.queue[: s.at[events.QUEUED]]
        passes.append(
            (int(s.at[events.NOW]), dict(zip(made.ids[queue].tolist(), plan.begin[queue].tolist(), strict=True)))
        )
    return s.jobs[:, events.START].copy(), s.jobs[:, events.MODE].copy(), passes


def compare(seed: int, count: int, most: int, make: Callable[[np.random.Generator, int], Workload]) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        workload, rule = make(rng, most), str(rng.choice(RULES))
        depth = int(rng.integers(1, 20)) if rng.random() < 0.3 else None
        starts, modes, passes = plain_conservative.replay(workload, rule, depth)
        new_starts, new_modes, new_passes = replay(workload, rule, depth)
        assert np.array_equal(starts, new_starts)
        assert np.array_equal(modes, new_modes)
        assert passes == new_passes, "every promise after every pass"


@pytest.mark.parametrize("make", [random_workload, bursts])
def test_starts_and_promises_equal_those_of_the_plain_profile(make: Callable[..., Workload]) -> None:
    compare(1, 20, 120, make)


@pytest.mark.slow
@pytest.mark.parametrize("make", [random_workload, bursts])
@pytest.mark.parametrize(
    ("seed", "count"), [(2, 10), *(pytest.param(seed, 60, marks=pytest.mark.long) for seed in (3, 4, 5))]
)
def test_starts_and_promises_equal_in_queues_of_up_to_400(seed: int, count: int, make: Callable[..., Workload]) -> None:
    compare(seed, count, 400, make)


@pytest.mark.reference
@pytest.mark.parametrize(
    "name",
    [
        "theta_2022",
        "KTH-SP2-1996-2.1-cln",
        pytest.param("SDSC-SP2-1998-4.2-cln", marks=pytest.mark.long),
        pytest.param("HPC2N-2002-2.2-cln", marks=pytest.mark.long),
    ],
)
def test_starts_on_real_traces_equal_those_of_the_plain_profile(name: str, shared: Path) -> None:
    workload = read_swf(shared / "traces" / f"{name}.swf.gz")
    schedule = simulate(workload, "fcfs-conservative")
    assert check_schedule(workload, schedule) == []
    starts, modes, _ = plain_conservative.replay(workload, promises=False)
    assert np.array_equal(schedule.start, starts)
    assert np.array_equal(schedule.mode, modes)


def test_a_thousand_like_jobs_at_once_fill_the_machine_in_order() -> None:
    # 10 nodes, jobs of one node for 10 s that all run for 10 s: ten at a time, in the order of the queue.
    count = 1000
    unknown = np.full(count, -1)
    ones = np.ones(count, np.int64)
    table = JobTable(np.column_stack((np.arange(1, count + 1), 0 * ones, ones, 10 * ones, unknown, unknown)))
    schedule = simulate(Workload("equal", Cluster(10), table, 10 * ones), "fcfs-conservative")
    assert schedule.start.tolist() == [10 * (i // 10) for i in range(count)]


def test_reservations_move_until_none_can() -> None:
    # Five jobs on eight nodes: job 32 moves only after job 46 was looked at, which then can start at 67.
    rows = [(17, 0, 7, 87, 14), (46, 3, 8, 10, 10), (31, 6, 1, 34, 22), (32, 6, 7, 39, 39), (33, 6, 1, 39, 39)]
    job, submit, nodes, walltime, runtime = np.array(sorted(rows, key=lambda row: (row[1], row[0]))).T
    unknown = np.full(len(rows), -1)
    table = JobTable(np.column_stack((job, submit, nodes, walltime, unknown, unknown)))
    schedule = simulate(Workload("five", Cluster(8), table, runtime), "fcfs-conservative")
    starts = dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))
    assert starts == {17: 0, 46: 67, 31: 6, 32: 14, 33: 28}


@pytest.mark.parametrize("rule", sorted(set(RULES)))
@pytest.mark.parametrize("make", [random_workload, bursts])
def test_with_one_reservation_it_is_easy_backfilling(rule: str, make: Callable[..., Workload]) -> None:
    rng = np.random.default_rng(6)
    for _ in range(8):
        workload = make(rng, 150)
        if (workload.runtime > workload.jobs.walltime).any():
            continue  # what is guessed of a job past its walltime is looked at again at other instants
        one, easy = simulate(workload, f"{rule}-conservative:depth=1"), simulate(workload, f"{rule}-easy")
        assert np.array_equal(one.start, easy.start)
        assert np.array_equal(one.mode, easy.mode)


def test_a_depth_goes_with_conservative_backfilling_alone() -> None:
    policy = make_policy("f4-conservative:clock=sequence,depth=12")
    assert isinstance(policy, RulePolicy)
    assert (policy.rule, policy.depth) == ("f4:clock=sequence", 12)
    assert policy.name == "f4-conservative:clock=sequence,depth=12"
    for spec, said in (
        ("fcfs-easy:depth=2", "depth is of conservative backfilling"),
        ("fcfs:depth=2", "depth is of conservative backfilling"),
        ("fcfs-conservative:depth=0", "at least 1"),
        ("fcfs-conservative:depth=all", "a number of jobs"),
    ):
        with pytest.raises(SpecError, match=said) as caught:
            make_policy(spec)
        assert "\n" not in str(caught.value)


def test_one_pass_over_a_window_reserves_for_as_many_jobs_as_stated() -> None:
    # 4 nodes, 3 of them used until 100: job 2 waits for all, job 3 ends by then, job 4 would not.
    rows = [(2, 0, 4, 50, -1, -1), (4, 1, 1, 200, -1, -1), (3, 2, 1, 98, -1, -1)]
    running = JobTable(np.array([(1, 0, 3, 100, -1, -1)]))
    window = Window(2, Cluster(4), JobTable(np.array(rows)), running, np.array([100]), np.array([1]))
    decision = make_policy("fcfs-conservative:depth=1").decide(window)
    assert decision == make_policy("fcfs-easy").decide(window)
    assert decision.backfill == (3,)
    assert decision.reserve == (Reservation(2, 100),)
