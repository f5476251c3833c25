"""Metrics of a schedule that everyone can check by hand, and their properties."""

from __future__ import annotations

import csv
import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.errors import ModelError
from transom.models import Cluster, Job, JobTable
from transom.simulation.core.schedule import BACKFILLED, READY, RESERVED, Schedule
from transom.simulation.output import metrics
from transom.simulation.output.metrics import METRICS, Trim, aggregate, summary

pytestmark = pytest.mark.fast


def by_hand() -> Schedule:
    """Four nodes: job 1 takes two for 100 s, job 2 waits for all four, job 3 is backfilled for 5 s."""
    jobs = JobTable.of([Job(1, 0, 2, 100), Job(2, 10, 4, 200), Job(3, 20, 2, 80), Job(4, 300, 1, 10)])
    return Schedule(
        policy="fcfs-easy",
        workload="by hand",
        cluster=Cluster(4),
        jobs=jobs,
        start=np.array([0, 100, 20, 300]),
        end=np.array([100, 300, 25, 310]),
        mode=np.array([READY, RESERVED, BACKFILLED, READY]),
        order=np.array([0, 2, 1, 3]),
    )


def test_times_of_each_job() -> None:
    schedule = by_hand()
    assert metrics.wait(schedule).tolist() == [0, 90, 0, 0]
    assert metrics.response(schedule).tolist() == [100, 290, 5, 10]
    assert metrics.slowdown(schedule).tolist() == [1, 1.45, 1, 1]
    assert metrics.node_seconds(schedule).tolist() == [200, 800, 10, 10]
    assert metrics.makespan(schedule) == 310


def test_bounded_slowdowns() -> None:
    schedule = by_hand()
    assert metrics.bounded_slowdown(schedule).tolist() == [1, 1.45, 1, 1]
    assert metrics.bounded_slowdown(schedule, tau=250).tolist() == [1, 290 / 250, 1, 1]
    late = Schedule("p", "w", Cluster(4), JobTable.of([Job(1, 0, 2, 9)]), np.array([100]), np.array([105]), [0], [0])
    assert metrics.slowdown(late).tolist() == [21]
    assert metrics.bounded_slowdown(late).tolist() == [10.5]  # 5 s count as 10 s
    assert metrics.per_processor_slowdown(late).tolist() == [5.25]
    assert metrics.per_processor_slowdown(late, tau=1000).tolist() == [1]
    with pytest.raises(ModelError, match="tau must be > 0 s and finite, got 0"):
        metrics.bounded_slowdown(late, tau=0)


def test_utilisation_over_stated_spans() -> None:
    schedule = by_hand()
    assert metrics.utilisation(schedule) == 1020 / (4 * 310)
    assert metrics.utilisation(schedule, 0, 100) == 210 / 400
    assert metrics.utilisation(schedule, 100, 300) == 1
    assert metrics.utilisation(schedule, 90, 110) == (20 + 40) / 80
    assert metrics.utilisation(schedule, -100, 0) == 0
    assert math.isnan(metrics.utilisation(schedule, 5, 5))


def test_a_summary_has_the_utilisation_of_each_further_resource() -> None:
    jobs = JobTable.of([Job(1, 0, 1, 50, (6, 0)), Job(2, 50, 1, 50, (3, 2))])
    schedule = Schedule("p", "w", Cluster(4, ("bb", "gpu"), (12, 2)), jobs, [0, 50], [50, 100], [0, 0], [0, 1])
    told = summary(schedule)
    added = ("utilisation_bb", "utilisation_gpu", "utilisation_submitting_bb", "utilisation_submitting_gpu")
    assert tuple(told) == (*METRICS, *added)
    assert [told[name] for name in added] == [0.375, 0.5, 0.5, 0]
    assert summary(schedule, trim=Trim(head_seconds=10))["utilisation_bb"] == 0.25  # of the second job's time


def test_utilisation_of_a_further_resource() -> None:
    jobs = JobTable.of([Job(1, 0, 1, 50, (6,)), Job(2, 0, 1, 50, (0,))])
    schedule = Schedule("p", "w", Cluster(4, ("bb",), (12,)), jobs, [0, 0], [50, 100], [0, 0], [0, 1])
    assert metrics.utilisation(schedule, resource="bb") == 0.25
    with pytest.raises(ModelError, match=r"no resource 'gpu'. Known: bb"):
        metrics.utilisation(schedule, resource="gpu")


def test_summary_by_hand() -> None:
    told = summary(by_hand())
    assert tuple(told) == tuple(METRICS)
    assert all(type(figure) is float for figure in told.values())
    assert told["jobs"] == 4
    assert told["mean_wait"] == 22.5
    assert told["median_wait"] == 0
    assert told["p95_wait"] == pytest.approx(np.quantile([0, 0, 0, 90], 0.95))
    assert told["max_wait"] == 90
    assert told["mean_response"] == 405 / 4
    assert told["utilisation"] == 1020 / 1240
    assert told["utilisation_submitting"] == 1010 / 1200
    assert told["throughput"] == pytest.approx(4 * 3600 / 310)
    assert (told["job_share_ready"], told["job_share_reserved"], told["job_share_backfilled"]) == (0.5, 0.25, 0.25)
    assert told["node_hour_share_reserved"] == 800 / 1020
    assert (told["mean_wait_ready"], told["mean_wait_reserved"], told["mean_wait_backfilled"]) == (0, 90, 0)


def test_trimming_leaves_jobs_out_but_not_their_load() -> None:
    schedule = by_hand()
    assert Trim(head_seconds=10).kept(schedule).tolist() == [False, True, True, True]
    assert Trim(tail_seconds=1).kept(schedule).tolist() == [True, True, True, False]
    assert Trim(head_fraction=0.25, tail_fraction=0.25).kept(schedule).tolist() == [False, True, True, False]
    assert Trim(head_fraction=0.2).kept(schedule).all()
    told = summary(schedule, trim=Trim(head_seconds=10, tail_seconds=10))
    assert told["jobs"] == 2
    assert told["mean_wait"] == 45
    assert told["makespan"] == 290
    assert told["utilisation"] == (2 * 90 + 800 + 10) / (4 * 290)  # job 1 still held its nodes


@pytest.mark.parametrize(
    ("field", "value"), [("head_seconds", -1), ("tail_fraction", float("nan")), ("head_fraction", 1)]
)
def test_trims_out_of_range_are_named(field: str, value: float) -> None:
    with pytest.raises(ModelError, match="trim: "):
        Trim(**{field: value})


def test_summary_of_nothing_is_unknown() -> None:
    empty = Schedule("p", "w", Cluster(4), JobTable(np.empty((0, 6))), [], [], [], [])
    told = summary(empty)
    assert told["jobs"] == 0
    assert all(math.isnan(told[name]) for name in ("mean_wait", "max_wait", "utilisation", "job_share_ready"))
    everything = summary(by_hand(), trim=Trim(head_seconds=1000))
    assert everything["jobs"] == 0
    assert math.isnan(everything["mean_wait"])


def test_aggregate_means_and_deviations() -> None:
    nan = float("nan")
    told = aggregate([{"a": 1.0, "b": nan, "c": nan}, {"a": 3.0, "b": 5.0, "c": nan}])
    assert told["a"] == (2.0, math.sqrt(2.0))
    assert told["b"].mean == 5.0
    assert math.isnan(told["b"].deviation)
    assert math.isnan(told["c"].mean)
    assert math.isnan(aggregate([{"a": 1.0}])["a"].deviation)
    with pytest.raises(ModelError, match="there is no summary"):
        aggregate([])
    with pytest.raises(ModelError, match="different figures"):
        aggregate([{"a": 1.0}, {"b": 1.0}])


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """Any starts after submission: metrics do not ask whether the jobs fit."""
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, 10**6), st.integers(1, 64), st.integers(0, 10**6), st.integers(1, 10**6)),
            min_size=1,
            max_size=20,
        )
    )
    rows.sort()
    submit, nodes, waits, runtime = np.array(rows).T
    ids = np.arange(1, len(rows) + 1)
    unknown = np.full(len(rows), -1)
    jobs = JobTable(np.column_stack((ids, submit, nodes, runtime, unknown, unknown)))
    start = submit + waits
    mode = draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    return Schedule("p", "w", Cluster(64), jobs, start, start + runtime, mode, np.argsort(np.argsort(start)))


@given(schedules(), st.floats(1, 1e6))
def test_properties_of_slowdowns_and_shares(schedule: Schedule, tau: float) -> None:
    plain, bounded = metrics.slowdown(schedule), metrics.bounded_slowdown(schedule, tau)
    per_processor = metrics.per_processor_slowdown(schedule, tau)
    assert (bounded <= plain).all()
    assert (per_processor <= bounded).all()
    assert (per_processor >= 1).all()
    told = summary(schedule, tau)
    for share in ("job_share", "node_hour_share"):
        assert sum(told[f"{share}_{mode}"] for mode in ("ready", "reserved", "backfilled")) == pytest.approx(1)
    capacity = schedule.cluster.num_nodes * metrics.makespan(schedule)
    assert told["utilisation"] * capacity == pytest.approx(metrics.node_seconds(schedule).sum())


@given(schedules(), st.lists(st.integers(0, 3 * 10**6), min_size=3, max_size=3, unique=True))
def test_utilisation_is_additive_over_spans(schedule: Schedule, instants: list[int]) -> None:
    a, b, c = sorted(instants)
    parts = metrics.utilisation(schedule, a, b) * (b - a) + metrics.utilisation(schedule, b, c) * (c - b)
    assert metrics.utilisation(schedule, a, c) * (c - a) == pytest.approx(parts)


@pytest.mark.reference
def test_known_means_of_a_year_of_theta(shared: Path) -> None:
    with gzip.open(shared / "reference" / "easy_theta_2022.csv.gz", "rt") as file:
        rows = np.array([[int(cell) for cell in row] for row in list(csv.reader(file))[1:]])
    ids, submit, start, end, nodes = rows[np.lexsort((rows[:, 0], rows[:, 1]))].T
    unknown = np.full(len(ids), -1)
    jobs = JobTable(np.column_stack((ids, submit, nodes, end - start, unknown, unknown)))
    order = np.argsort(np.lexsort((ids, start)))
    told = summary(Schedule("fcfs-easy", "theta", Cluster(4360), jobs, start, end, np.zeros(len(ids)), order))
    assert told["jobs"] == 23_911
    assert round(told["mean_wait"]) == 43_818
    assert round(told["mean_bounded_slowdown"]) == 116
    assert round(told["utilisation"], 2) == 0.75
