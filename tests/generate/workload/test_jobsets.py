"""Jobsets for training: rates, rhythm and distributions of what they imitate, and months by the calendar."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from transom.errors import ModelError, SpecError
from transom.generate import by_months, generate_lublin, jobsets, real_weeks, sampled, synthetic
from transom.generate.workload.jobsets import COUNTS
from transom.models import Cluster, JobTable
from transom.traces import Workload

pytestmark = pytest.mark.fast

DAY, WEEK = 86_400, 7 * 86_400


@pytest.fixture(scope="module")
def trace() -> Workload:
    return generate_lublin(8000, 128, np.random.default_rng(0), load=0.8)


def at(submit: list[int]) -> Workload:
    n = len(submit)
    one = np.ones(n, np.int64)
    return Workload(
        "at", Cluster(4), JobTable(np.column_stack((np.arange(1, n + 1), submit, one, one, -one, -one))), one
    )


def whole_jobs(workload: Workload) -> set[tuple[int, int, int]]:
    return set(
        zip(workload.jobs.nodes.tolist(), workload.jobs.walltime.tolist(), workload.runtime.tolist(), strict=True)
    )


def mean_gap(workload: Workload) -> float:
    submit = workload.jobs.submit
    return float(submit[-1] - submit[0]) / (len(submit) - 1)


def test_sampled_jobs_arrive_in_a_poisson_process_of_the_mean_rate(trace: Workload) -> None:
    made = sampled(trace, 30_000, np.random.default_rng(1))
    gaps = np.diff(made.jobs.submit)
    assert gaps.mean() == pytest.approx(mean_gap(trace), rel=0.03)
    assert stats.kstest(gaps / mean_gap(trace), "expon").statistic < 0.01
    hourly = np.bincount(made.jobs.submit // 3600 % 24, minlength=24)
    assert hourly.max() / hourly.min() < 1.25  # no rhythm, unlike the trace
    assert np.ptp(np.bincount(trace.jobs.submit // 3600 % 24, minlength=24)) / hourly.mean() > 0.1
    assert whole_jobs(made) <= whole_jobs(trace)
    assert stats.ks_2samp(made.jobs.nodes * made.runtime, trace.jobs.nodes * trace.runtime).statistic < 0.02
    doubled = sampled(trace, 30_000, np.random.default_rng(1), rate=2)
    assert mean_gap(doubled) == pytest.approx(mean_gap(made) / 2, rel=0.01)


def test_synthetic_jobs_keep_rhythm_and_distributions(trace: Workload) -> None:
    made = synthetic(trace, 30_000, np.random.default_rng(2))
    hours = [np.bincount(w.jobs.submit // 3600 % 24, minlength=24) / len(w) for w in (trace, made)]
    assert np.abs(hours[0] - hours[1]).max() < 0.01
    assert whole_jobs(made) <= whole_jobs(trace)
    assert mean_gap(made) == pytest.approx(mean_gap(trace), rel=0.05)


def test_independent_draws_keep_each_distribution_and_no_more(trace: Workload) -> None:
    made = synthetic(trace, 30_000, np.random.default_rng(3), draw="independent")
    assert stats.ks_2samp(made.jobs.nodes, trace.jobs.nodes).statistic < 0.02
    assert stats.ks_2samp(made.jobs.walltime, trace.jobs.walltime).statistic < 0.02
    used = [w.runtime / w.jobs.walltime for w in (made, trace)]
    assert stats.ks_2samp(*used).statistic < 0.02
    assert (made.runtime <= made.jobs.walltime).all()
    related = [abs(stats.spearmanr(w.jobs.nodes, w.jobs.walltime).statistic) for w in (made, trace)]
    assert related[0] < 0.02 < 0.1 < related[1]
    assert (np.diff(made.jobs.submit) >= 0).all()


def test_weeks_hold_every_job_once(trace: Workload) -> None:
    weeks = real_weeks(trace)
    assert np.concatenate([week.jobs.id for week in weeks]).tolist() == trace.jobs.id.tolist()
    assert all(week.jobs.submit[-1] - week.jobs.submit[0] < WEEK for week in weeks)
    assert all(b.jobs.submit[0] - trace.jobs.submit[0] >= WEEK * k for k, (_, b) in enumerate(pairwise(weeks), 1))
    assert len(real_weeks(at([5, 5 + WEEK - 1, 5 + WEEK, 5 + 9 * WEEK]))) == 3
    assert real_weeks(at([])) == []


def test_phases_give_so_many_sets_and_more_of_them_change_none(trace: Workload) -> None:
    few = list(jobsets(trace, "sampled", np.random.default_rng(4), count=2, jobs=50))
    more = list(jobsets(trace, "sampled", np.random.default_rng(4), jobs=50))
    assert few == more[:2]
    assert len(more) == COUNTS["sampled"]
    assert len({made.name for made in more}) == len(more)
    assert more[0].jobs.submit.tolist() != more[1].jobs.submit.tolist()
    assert len(list(jobsets(trace, "synthetic", np.random.default_rng(4), count=3, jobs=20, draw="independent"))) == 3
    weeks = real_weeks(trace)
    assert list(jobsets(trace, "real", np.random.default_rng(4))) == weeks
    around = list(jobsets(trace, "real", np.random.default_rng(4), count=len(weeks) + 1))
    assert around[-1] == weeks[0]


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)),
    st.lists(st.integers(0, 400 * DAY), max_size=30),
    st.integers(0, 10**9),
)
def test_months_by_the_calendar_are_a_partition(begin: datetime, later: list[int], epoch: int) -> None:
    start = int(begin.replace(tzinfo=UTC).timestamp())
    workload = at(sorted(start - min(start, epoch) + seconds for seconds in [0, *later]))
    epoch = min(start, epoch)
    assert by_months(workload, 1, 20, epoch).jobs == workload.jobs
    parts = []
    for month in range(1, 16):
        try:
            parts.append(by_months(workload, month, month, epoch).jobs.id)
        except ModelError:
            continue
        for submit in by_months(workload, month, month, epoch).jobs.submit + epoch:
            moment = datetime.fromtimestamp(int(submit), UTC)
            passed = (moment.year - begin.year) * 12 + moment.month - begin.month
            # Where the day of the month is reached the month has passed; shorter months end with their last day.
            last_day = (datetime.fromtimestamp(int(submit) + DAY, UTC)).day == 1
            passed -= moment.day < begin.day and not last_day
            assert month == passed + 1
    assert np.concatenate(parts).tolist() == workload.jobs.id.tolist()


def test_months_of_a_trace_that_begins_on_the_last_of_january() -> None:
    first = int(datetime(2022, 1, 31, 7, tzinfo=UTC).timestamp())
    feb28, mar31 = (int(datetime(2022, *day, tzinfo=UTC).timestamp()) for day in ((2, 28), (3, 31)))
    workload = at([first, feb28 - 1, feb28, mar31 - 1, mar31])
    assert by_months(workload, 1, 1).jobs.id.tolist() == [1, 2]
    assert by_months(workload, 2, 2).jobs.id.tolist() == [3, 4]
    assert by_months(workload, 3, 9).jobs.id.tolist() == [5]


def test_what_cannot_be(trace: Workload) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(SpecError, match="unknown phase 'unreal'\\. Known: sampled, real, synthetic"):
        next(jobsets(trace, "unreal", rng))
    with pytest.raises(SpecError, match="count must be > 0, got 0"):
        next(jobsets(trace, "real", rng, count=0))
    with pytest.raises(SpecError, match="unknown draw 'both'"):
        synthetic(trace, 5, rng, draw="both")
    with pytest.raises(ModelError, match="workload at has no two submission times"):
        sampled(at([3, 3]), 5, rng)
    with pytest.raises(ModelError, match="no job was submitted in months 30 to 31"):
        by_months(at([0, 5]), 30, 31)
    with pytest.raises(ModelError, match="months must ascend from 1, got 3 to 2"):
        by_months(at([0, 5]), 3, 2)
