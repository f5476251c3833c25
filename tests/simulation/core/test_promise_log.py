"""Every promise of a replay is taken down: what stands after each pass is what a slower way says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tests.simulation import plain_conservative
from tests.simulation.passes.test_conservative_backfill import random_workload
from transom.models import Cluster, Job, JobTable, Window
from transom.simulation import simulate
from transom.simulation.core import drive, promise_log
from transom.simulation.core.decision import Decision
from transom.simulation.core.noted_promises import ENOUGH
from transom.simulation.core.promise_log import Changes, PromiseLog, promises_in_force
from transom.simulation.core.schedule import Schedule
from transom.simulation.output.verification import check_promises
from transom.simulation.policies.by_name import make_policy
from transom.traces import Workload


def standing(log: PromiseLog) -> Iterator[dict[int, int]]:
    """The promises after one pass after another."""
    held: dict[int, int] = {}
    for each in log.pieces():
        for begin, end in zip(each.offsets[:-1], each.offsets[1:], strict=True):
            jobs, starts = each.jobs[begin:end].tolist(), each.starts[begin:end].tolist()
            assert len(set(jobs)) == len(jobs), "a pass names a job once"
            for job, start in zip(jobs, starts, strict=True):
                assert held.get(job, -1) != start, "what did not change is not told"
                held[job] = start
            held = {job: start for job, start in held.items() if start >= 0}
            yield dict(held)


def logged(workload: Workload, policy: object) -> tuple[Schedule, PromiseLog]:
    log = PromiseLog()
    return simulate(workload, policy, promises=log), log


@pytest.mark.parametrize("rule", ["fcfs", "sjf", "wfp3"])
def test_conservative_promises_are_those_of_a_plain_list_of_steps(rule: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(15):
        workload = random_workload(rng, 60)
        schedule, log = logged(workload, f"{rule}-conservative")
        _, _, passes = plain_conservative.replay(workload, rule)
        found = list(standing(log))
        assert found == [promises for _, promises in passes]
        assert found[-1] == {}
        assert simulate(workload, f"{rule}-conservative").decisions.keys() == schedule.decisions.keys()


def test_promises_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    workload = random_workload(rng, 60)
    while len(workload) < 40:
        workload = random_workload(rng, 60)
    whole = list(standing(logged(workload, "fcfs-conservative")[1]))
    monkeypatch.setattr(drive, "PAGE", 3)
    monkeypatch.setattr(promise_log, "PIECE", 5)
    log = logged(workload, "fcfs-conservative")[1]
    assert len(list(log.pieces())) > 5
    assert list(standing(log)) == whole


class EveryReservation:
    """A policy that writes down what it promises."""

    def __init__(self, spec: str) -> None:
        self.policy = make_policy(spec)
        self.order = getattr(self.policy, "order", "fcfs")
        self.promised: list[dict[int, int]] = []

    def reset(self, rng: np.random.Generator) -> None:
        reset = getattr(self.policy, "reset", None)
        if reset is not None:
            reset(rng)

    def decide(self, window: Window, /) -> Decision:
        decision = self.policy.decide(window)
        self.promised.append({each.job: each.start for each in decision.reserve})
        return decision


@pytest.mark.parametrize("spec", ["fcfs-easy", "wfp3-easy", "window:solver=dp,size=5"])
def test_one_promise_a_pass_is_read_off_the_decisions(spec: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(10):
        workload = random_workload(rng, 40)
        if workload.cluster.resources:
            continue
        schedule, log = logged(workload, spec)
        jobs, starts = schedule.decisions["reserved_job"].tolist(), schedule.decisions["reserved_start"].tolist()
        assert list(standing(log)) == [{} if job < 0 else {job: at} for job, at in zip(jobs, starts, strict=True)]
        asked = EveryReservation(spec)
        assert list(standing(logged(workload, asked)[1])) == asked.promised


def test_several_promises_of_a_policy_are_all_there() -> None:
    rng = np.random.default_rng(7)
    most = 0
    for _ in range(10):
        workload = random_workload(rng, 40)
        asked = EveryReservation("selection:size=4,bound=2,solver=dot-product")
        assert list(standing(logged(workload, asked)[1])) == asked.promised
        most = max(most, *map(len, asked.promised))
    assert most > 2


def test_promises_in_force_are_put_together() -> None:
    first = Changes(0, np.array([0, 2, 2]), np.array([7, 8]), np.array([50, 60]))
    second = Changes(2, np.array([0, 2, 4]), np.array([8, 9, 7, 8]), np.array([55, 90, -1, 54]))
    found = [promises_in_force((first, second), row) for row in range(4)]
    assert found == [{7: 50, 8: 60}, {7: 50, 8: 60}, {7: 50, 8: 55, 9: 90}, {8: 54, 9: 90}]


def test_each_row_of_a_replay_can_be_asked_for() -> None:
    log = logged(random_workload(np.random.default_rng(9), 30), "sjf-conservative")[1]
    for row, promises in enumerate(standing(log)):
        assert promises_in_force(log.pieces(), row) == promises


def random_schedule(policy: str, seed: int, rules: str = "textbook") -> tuple[Schedule, PromiseLog]:
    rng = np.random.default_rng(seed)
    workload = random_workload(rng, 60)
    while len(workload) < 40 or workload.cluster.resources or (workload.runtime > workload.jobs.walltime).any():
        workload = random_workload(rng, 60)
    log = PromiseLog()
    return simulate(workload, policy, rules=rules, promises=log), log


@pytest.mark.parametrize(
    ("policy", "rules"),
    [
        ("fcfs", "textbook"),
        ("sjf-easy", "textbook"),
        ("wfp3-conservative", "textbook"),
        ("selection:size=4,bound=2,solver=dot-product", "textbook"),
        ("wfp3-easy", "cqsim"),
        ("sjf", "rlscheduler"),
        ("sjf-easy", "rlscheduler"),
    ],
)
def test_promises_of_all_kinds_of_replays_stand(policy: str, rules: str) -> None:
    for seed in range(5):
        schedule, log = random_schedule(policy, seed, rules)
        assert check_promises(schedule, log.pieces()) == []


def test_more_promises_than_are_noted_at_once() -> None:
    jobs = 3 * int(ENOUGH**0.5)
    columns = np.ones((jobs, 6), np.int64)
    columns[:, 0], columns[:, 1], columns[:, 3] = np.arange(1, jobs + 1), 0, 1000
    workload = Workload("at once", Cluster(2), JobTable(columns), np.full(jobs, 7))
    schedule, log = logged(workload, "fcfs-conservative")
    assert len(log) > ENOUGH
    assert check_promises(schedule, log.pieces()) == []


def test_broken_promises_are_named() -> None:
    schedule, log = random_schedule("fcfs-conservative", 1)
    (changes,) = log.pieces()
    job, start = int(changes.jobs[0]), int(changes.starts[0])
    assert start >= 0
    last = max(k for k, each in enumerate(changes.jobs.tolist()) if each == job)
    time = schedule.decisions["time"]
    for k, said, says in [
        (last, 10**9, "is promised a start, but does not wait"),
        (0, int(time[0]) - 1, "is promised a start in the past"),
        (0, -1, f"job {job} loses a promise that it does not hold"),
        (0, start + 1, f"job {job} is not promised the start that the decision states"),
    ]:
        starts = changes.starts.copy()
        starts[k] = said
        assert says in check_promises(schedule, [changes._replace(starts=starts)])[0]
    jobs = changes.jobs.copy()
    jobs[0] = 10**6
    assert "there is no such job" in check_promises(schedule, [changes._replace(jobs=jobs)])[0]
    assert check_promises(schedule, []) == [f"promises of 0 passes are recorded, there are {len(time)}"]


def test_who_starts_after_the_promise_is_named() -> None:
    jobs = JobTable.of([Job(1, 0, 2, 10), Job(2, 0, 2, 10)])
    rows = {"time": [0, 10], "queued": [2, 1], "reserved_job": [2, -1], "reserved_start": [9, -1]}
    columns = {name: np.array(row) for name, row in rows.items()}
    schedule = Schedule("p", "w", Cluster(2), jobs, [0, 10], [10, 20], [0, 0], [0, 1], columns)
    changes = Changes(0, np.array([0, 1, 2]), np.array([2, 2]), np.array([9, -1]))
    assert check_promises(schedule, [changes]) == ["at 10 s: job 2 starts later than it was promised"]
    outran = replace(schedule, end=[11, 20])
    assert check_promises(outran, [changes]) == []
    for starts, says in [([9, 8], "at 10 s: job 2 is promised a start, but does not wait"), ([9], "holds a promise")]:
        offsets = np.array([0, 1, len(starts)])
        odd = changes._replace(offsets=offsets, jobs=np.full(len(starts), 2), starts=np.array(starts))
        assert says in check_promises(schedule, [odd])[0]
