"""Replays of tasks: every compiled rule starts what a plain replay starts, where and when."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike

from tests.amounts import numbers
from tests.simulation.placement.plain_tasks import RULES, PlainCloudSimPy, PlainReplay, aligned, last_machine, uniform
from tests.simulation.placement.workloads import small_workload
from transom.errors import PolicyError, SpecError
from transom.rng import stream
from transom.simulation.event_rules import parse_rules
from transom.simulation.placement.replay import simulate_tasks
from transom.simulation.placement.schedule import TaskSchedule
from transom.simulation.placement.window import TaskWindow
from transom.traces.tasks import TaskWorkload


def starts(schedule: TaskSchedule) -> list[tuple[int, ...]]:
    """Task, machine, start and end of every instance, in the order in which they started."""
    rows = np.repeat(schedule.batches[:, :4], schedule.batches[:, 4], axis=0)
    return [tuple(row) for row in rows.tolist()]


@numbers(100, 500)
@pytest.mark.parametrize("policy", RULES)
def test_a_rule_starts_what_a_plain_replay_starts(policy: str, numbers: range) -> None:
    for seed in numbers:
        work = small_workload(seed)
        plain = PlainReplay(work).run(RULES[policy])
        # A pass of some rules goes machine by machine or task by task: the same starts in another order.
        assert sorted(starts(simulate_tasks(work, policy))) == sorted(plain.starts), work


@pytest.mark.parametrize("policy", ["first-fit", "longest-first", "tetris", "drf"])
def test_long_queues_are_replayed_as_short_ones(policy: str) -> None:
    # A few jobs of many tasks: what needs least starts early or late, and machines are full long before the queue ends.
    rng = np.random.default_rng(4)
    for _ in range(3):
        tasks = 160
        work = TaskWorkload(
            name="long",
            resources=("cpu", "memory"),
            units=(1, 1),
            machines=[[10, 100], [14, 60]],
            job_ids=[1, 2, 3],
            submit=[0, 3, 50],
            job=np.repeat([0, 1, 2], [60, 60, 40]),
            task_ids=np.arange(tasks),
            instances=rng.integers(1, 4, tasks),
            demands=np.column_stack((rng.integers(3, 9, tasks), rng.choice([2, 20, 50], tasks))),
            duration=rng.integers(1, 9, tasks).astype(float),
        )
        plain = PlainReplay(work).run(RULES[policy])
        assert sorted(starts(simulate_tasks(work, policy))) == sorted(plain.starts)


@numbers(100, 500)
def test_random_draws_any_pair_with_equal_chance(numbers: range) -> None:
    for seed in numbers:
        work = small_workload(seed)
        draws = stream(seed, "tasks").random(int(work.instances.sum())).tolist()
        plain = PlainReplay(work).run(uniform(draws))
        assert starts(simulate_tasks(work, "random", seed=seed)) == plain.starts, work


@numbers(140, 700)
@pytest.mark.parametrize(
    ("policy", "choose"),
    [("first-fit", last_machine), ("tetris", aligned(lambda *_: 1.0)), ("tetris:as-coded=no", None)],
)
def test_cloudsimpy_rules_are_those_of_a_queue_of_events(policy: str, choose: object, numbers: range) -> None:
    for seed in numbers:
        work = small_workload(seed).take(0, 9)  # the program's clock begins with the first submission
        chosen = choose or aligned(lambda r, m, k: (int(r.work.machines[m, k]) / r.work.units[k]) ** -2.0)
        plain = PlainCloudSimPy(work)
        makespan = plain.makespan(chosen)
        schedule = simulate_tasks(work, policy, rules="cloudsimpy")
        assert schedule.makespan == makespan, work
        assert sorted(row[:3] for row in starts(schedule)) == sorted(row[:3] for row in plain.starts)


def test_a_policy_in_python_decides_over_windows() -> None:
    class FirstFit:
        def decide(self, window: TaskWindow, /) -> ArrayLike:
            placed = np.zeros((len(window.waiting), len(window.free)), np.int64)
            for task, demand in enumerate(window.demands):
                for machine in range(len(window.free)):
                    while placed[task].sum() < window.waiting[task] and (demand <= window.free[machine]).all():
                        placed[task, machine] += 1
                        window.free[machine] -= demand
            return placed

    for seed in range(100):
        work = small_workload(seed)
        assert starts(simulate_tasks(work, FirstFit())) == starts(simulate_tasks(work, "first-fit"))


def test_a_solver_of_placements_decides_over_windows() -> None:
    for seed in range(12):
        work = small_workload(seed)
        schedule = simulate_tasks(work, "window:solver=cpsat,objective=count")
        assert np.bincount(schedule.batches[:, 0], schedule.batches[:, 4]).tolist() == work.instances.tolist()
        # At second 0 no rule starts more instances.
        first = schedule.passes[0]
        assert all(first[2] >= simulate_tasks(work, policy).passes[0, 2] for policy in RULES if first[0] == 0)


def test_what_a_policy_may_not_do_is_said() -> None:
    work = small_workload(3)

    class Wrong:
        def __init__(self, fill: int, wide: int = 0) -> None:
            self.fill, self.wide = fill, wide

        def decide(self, window: TaskWindow, /) -> ArrayLike:
            return np.full((len(window.waiting), len(window.free) + self.wide), self.fill)

    with pytest.raises(PolicyError, match=r"leaves job .* task .* waiting"):
        simulate_tasks(work, Wrong(0))
    with pytest.raises(PolicyError, match="instances wait, but more are placed"):
        simulate_tasks(work, Wrong(50))
    with pytest.raises(PolicyError, match="shape"):  # a machine that is not there
        simulate_tasks(work, Wrong(1, wide=1))
    with pytest.raises(SpecError, match="take policies that are rules"):
        simulate_tasks(work, Wrong(0), rules="cloudsimpy")
    with pytest.raises(SpecError, match="unknown policy for tasks 'longest'; did you mean 'longest-first'"):
        simulate_tasks(work, "longest")
    with pytest.raises(SpecError, match="cqsim rules are for jobs on nodes"):
        simulate_tasks(work, "first-fit", rules="cqsim")
    with pytest.raises(SpecError, match="cloudsimpy rules are for tasks on machines"):
        parse_rules("cloudsimpy")
    with pytest.raises(SpecError, match="does not solve placements"):
        simulate_tasks(work, "window:solver=dp")


def test_figures_count_from_submission() -> None:
    work = small_workload(
        0, resources=["cpu"], units=[2], machines=[[4]], job_ids=[7, 8], submit=[10, 11], job=[0, 1], task_ids=[1, 1],
        instances=[3, 1], demands=[[2], [4]], duration=[5.0, 1.5],
    )  # fmt: skip
    schedule = simulate_tasks(work, "first-fit")
    assert schedule.batches.tolist() == [[0, 0, 10, 15, 2], [0, 0, 15, 20, 1], [1, 0, 20, 22, 1]]
    assert schedule.passes.tolist() == [[10, 3, 2], [11, 2, 0], [15, 2, 1], [20, 1, 1]]
    assert schedule.completion.tolist() == [10, 11]
    assert schedule.summary() == {
        "makespan": 12.0, "mean_completion": 10.5, "median_completion": 10.5, "max_completion": 11.0, "mean_wait": 4.5,
        "utilisation_cpu": (3 * 5 * 2 + 2 * 4) / (4 * 12),
    }  # fmt: skip


def test_a_chunk_begins_at_second_0() -> None:
    work = small_workload(5)
    chunks = list(work.chunks(2))
    assert sum(len(each) for each in chunks) == len(work)
    assert all(each.submit[0] == 0 for each in chunks)
    assert [job for each in chunks for job in each.job_ids] == work.job_ids.tolist()
