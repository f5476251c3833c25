"""Replays of millions of jobs stand before the judge."""

from __future__ import annotations

import pytest

from benchmarks.deep_queues import at_once, like_ricc, lublin
from transom.simulation import simulate
from transom.simulation.output.verification import check_schedule


@pytest.mark.parametrize("jobs", [20_000, pytest.param(10_000_000, marks=pytest.mark.long)])
def test_no_instant_of_a_long_replay_uses_more_than_there_is(jobs: int) -> None:
    workload = lublin(jobs)
    assert len(workload) == jobs
    assert check_schedule(workload, simulate(workload, "fcfs-easy")) == []


def test_a_deep_queue_under_conservative_backfilling_stands() -> None:
    for workload, deepest in ((like_ricc(8_000), 200), (at_once(1_500), 1_000)):
        schedule = simulate(workload, "fcfs-conservative")
        assert check_schedule(workload, schedule) == []
        assert schedule.decisions["queued"].max() > deepest
