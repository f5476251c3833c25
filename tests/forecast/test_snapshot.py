"""Queued jobs of a snapshot are answered as those of the trace that it was cut from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from transom.errors import SpecError
from transom.forecast.questions import ask
from transom.forecast.snapshot import History
from transom.models import Cluster, JobTable, Window
from transom.simulation import simulate
from transom.simulation.snapshots import window_at
from transom.traces import Workload


def deep(workload: Workload, policy: str) -> Window:
    schedule = simulate(workload, policy)
    row = int(np.argmax(schedule.decisions["queued"] * (schedule.decisions["time"] > workload.jobs.submit[250])))
    return window_at(schedule, int(schedule.decisions["time"][row]))


def unknown(workload: Workload) -> np.ndarray:
    return np.full(len(workload), -1)


@pytest.mark.parametrize("policy", ["fcfs-easy", "sjf-easy", "fcfs"])
def test_the_plan_is_that_of_the_trace(workload: Workload, policy: str) -> None:
    window = deep(workload, policy)
    told = History(workload, policy, unknown(workload)).ask(window)
    assert [each.job for each in told] == window.queue.id.tolist()
    assert len(told) > 10
    of_trace = ask(workload, policy, window.queue.id.tolist(), at=window.now)
    assert [each.plan for each in told] == [each.plan for each in of_trace]
    assert all(window.now <= each.p10 <= each.p50 <= each.p90 for each in told)
    assert any(each.p10 < each.p90 for each in told)


def test_reservations_are_made_anew_under_conservative_backfilling(workload: Workload) -> None:
    window = deep(workload, "fcfs-conservative")
    told = History(workload, "fcfs-conservative", unknown(workload)).ask(window)
    assert len(told) > 10
    assert all(each.plan >= window.now for each in told)


def test_later_lines_of_the_history_change_nothing(workload: Workload) -> None:
    window = deep(workload, "fcfs-easy")
    part = workload.take(np.flatnonzero(workload.jobs.submit < window.now))
    told = History(workload, "fcfs-easy", unknown(workload)).ask(window)
    assert History(part, "fcfs-easy", unknown(part)).ask(window) == told


def test_a_history_that_ended_weeks_before_counts_as_the_week_before(workload: Workload) -> None:
    window = deep(workload, "fcfs-easy")
    part = workload.take(np.flatnonzero(workload.jobs.submit < window.now))
    later = 50 * 7 * 86400
    moved = Window(
        window.now + later, window.cluster, _later(window.queue, later), _later(window.running, later),
        window.running_end + later, window.available,
    )  # fmt: skip
    told = History(part, "fcfs-easy", unknown(part)).ask(window)
    again = History(part, "fcfs-easy", unknown(part)).ask(moved)
    assert [each.plan + later for each in told] == [each.plan for each in again]
    assert any(each.p10 < each.p90 for each in again)


def test_nodes_out_of_service_stay_so(workload: Workload) -> None:
    window = deep(workload, "fcfs-easy")
    largest = int(window.running.nodes.argmax())
    others = np.delete(np.arange(len(window.running)), largest)
    small = np.flatnonzero(window.queue.nodes <= window.running.nodes[others].sum())
    ends, free = window.running_end[others], window.available + window.running.nodes[largest]
    whole = Window(window.now, window.cluster, window.queue.take(small), window.running.take(others), ends, free)
    drained, history = replace(whole, available=[0]), History(workload, "fcfs-easy", unknown(workload))
    with_all, without = history.ask(whole), history.ask(drained)
    assert sum(each.plan for each in without) > sum(each.plan for each in with_all)
    assert all(each.plan > window.now for each in without)


def _later(table: JobTable, seconds: int) -> JobTable:
    data = table.data.copy()
    data[:, 1] += seconds
    return JobTable(data)


def test_what_cannot_be_answered_is_said(workload: Workload) -> None:
    window, history = deep(workload, "fcfs-easy"), History(workload, "fcfs-easy", unknown(workload))
    with pytest.raises(SpecError, match="there is no queued job 77777"):
        history.ask(window, [77777])
    early = Window(0, window.cluster, window.queue.take([]), window.running.take([]), [], window.available)
    with pytest.raises(SpecError, match="no job of the history was submitted before"):
        history.ask(early)
    other = Cluster(window.cluster.num_nodes, ("gpus",), (8,))
    empty = Window(window.now, other, JobTable([]), JobTable([]), [], [4, 8])
    with pytest.raises(SpecError, match="its resources"):
        history.ask(empty)
