"""A replay beside the log: errors of starts, order of pairs, waits, partitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from transom.errors import ModelError
from transom.models import Cluster, Job
from transom.models.arrays import IntArray
from transom.simulation import simulate
from transom.simulation.output.calibration import (
    ALL,
    agreement,
    agreement_of_those_that_met,
    calibration,
    missed_wait,
    start_after_end,
)
from transom.traces import TracedJob, Workload
from transom.traces.origin import Origin


def by_pairs(logged: IntArray, replayed: IntArray, pairs: list[tuple[int, int]]) -> float:
    signs = [(np.sign(logged[b] - logged[a]), np.sign(replayed[b] - replayed[a])) for a, b in pairs]
    apart = [(1 + x * y) / 2 for x, y in signs if x]
    return sum(apart) / len(apart) if apart else math.nan


def test_the_order_of_pairs_is_that_of_a_count_one_by_one() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        n = int(rng.integers(1, 12))
        submit = np.sort(rng.integers(0, 20, n))
        logged, replayed = submit + rng.integers(0, 8, n), submit + rng.integers(0, 8, n)
        every = list(itertools.combinations(range(n), 2))
        met = [(a, b) for a, b in every if submit[b] < logged[a] and submit[b] < logged[b]]
        assert agreement(logged, replayed) == pytest.approx(by_pairs(logged, replayed, every), nan_ok=True)
        expected = by_pairs(logged, replayed, met)
        assert agreement_of_those_that_met(submit, logged, replayed) == pytest.approx(expected, nan_ok=True)


def logged_workload(
    started: list[int], partition: list[int] | None = None, names: dict[int, str] | None = None
) -> Workload:
    jobs = [TracedJob(Job(i, 10 * i, 4, 100), 100) for i in range(1, len(started) + 1)]
    made = Workload.of(jobs, Cluster(4), "made")
    of = None if partition is None else np.array(partition)
    origin = Origin(started=np.array(started), partition=of, names=names or {2: "gpu"})
    return Workload(made.name, made.cluster, made.jobs, made.runtime, origin=origin)


def test_a_replay_is_compared_job_by_job_where_the_log_tells_its_start() -> None:
    # The replay starts jobs at 10, 110, 210 s; the log tells 10, 115 s, and not when the third job started.
    workload = logged_workload([10, 115, -1])
    found = calibration(workload, simulate(workload, "fcfs"))
    assert list(found) == [ALL]
    one = found[ALL]
    assert (one.jobs, one.error_median, one.error_mean) == (2, 2.5, 2.5)
    assert (one.logged_wait, one.replayed_wait) == (47.5, 45.0)
    assert one.wait_ratio == pytest.approx(45 / 47.5)
    assert one.order_agreement == 1.0
    assert math.isnan(one.order_agreement_queued)  # the first job did not wait
    assert one.wait_distance == 0.5


def test_partitions_are_compared_one_by_one() -> None:
    workload = logged_workload([10, 110, 230], [1, 2, 2])
    found = calibration(workload, simulate(workload, "fcfs"))
    assert {name: (one.jobs, one.error_mean) for name, one in found.items()} == {
        ALL: (3, pytest.approx(20 / 3)),
        "partition 1": (1, 0.0),
        "gpu": (2, 10.0),
    }


def test_errors_of_different_days_and_partitions_do_not_cancel() -> None:
    submit, error = np.array([0, 10, 20, 90_000]), np.array([30, -10, -20, -40])
    assert missed_wait(submit, error, np.zeros(4, np.int64)) == (0 + 40) / 4
    assert missed_wait(submit, error, np.array([1, 1, 2, 1])) == (20 + 20 + 40) / 4
    workload = logged_workload([10, 90, 230], [1, 1, 2])  # the replay: 10, 110, 210 s
    found = calibration(workload, simulate(workload, "fcfs"))
    assert {name: one.missed for name, one in found.items()} == {ALL: 40 / 3, "partition 1": 10, "gpu": 20}
    assert found[ALL].wait_ratio == 1
    assert found[ALL].wait_error == pytest.approx(40 / 270)


def test_a_partition_called_all_and_two_of_one_name_have_lines_of_their_own() -> None:
    workload = logged_workload([10, 110, 210], [1, 2, 3], {1: "all", 2: "gpu", 3: "gpu"})
    found = calibration(workload, simulate(workload, "fcfs"))
    assert {name: each.jobs for name, each in found.items()} == {ALL: 3, "partition all": 1, "gpu_2": 1, "gpu_3": 1}


def test_the_log_tells_how_long_after_an_end_others_start() -> None:
    # Ends at 110, 212, 316 s; the second job starts 2 s after the first end, the third 4, the fourth 9 s.
    assert start_after_end(logged_workload([10, 112, 216, 325])) == 5
    # Of ten jobs the longest time does not count.
    assert start_after_end(logged_workload([10, *(10 + 102 * i for i in range(1, 10)), 2000])) == 2
    # Jobs that waited while nobody ended, or did not wait, say nothing; nor do those whose start is unknown.
    assert start_after_end(logged_workload([10, 25, -1, 40])) is None
    assert start_after_end(Workload.of([], Cluster(1), "made")) is None


def test_a_trace_without_logged_starts_is_refused() -> None:
    for workload in (logged_workload([-1, -1]), Workload.of([], Cluster(1), "made")):
        with pytest.raises(ModelError, match="made: the trace does not say when jobs started"):
            calibration(workload, simulate(workload, "fcfs"))
