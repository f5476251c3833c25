"""Which part of a trace is trained on, and which other part snapshots are compared on."""

from __future__ import annotations

import numpy as np
import pytest

from transom.errors import ModelError, SpecError
from transom.generate.workload.jobsets import by_months, count_months
from transom.learned.dras.training.split import split
from transom.models import Cluster, JobTable
from transom.traces import Workload

DAY = 86_400
START = 1_641_021_254  # the first submission, a Unix time on 1 January 2022


def monthly(months: int = 5, jobs: int = 4) -> Workload:
    """Jobs at the beginning of so many months."""
    data = [
        (month * jobs + k + 1, START + 31 * DAY * month + k, 1, 60, -1, -1)
        for month in range(months)
        for k in range(jobs)
    ]
    return Workload("made", Cluster(4), JobTable(data), np.full(months * jobs, 60))


def ids(workload: Workload) -> set[int]:
    return set(workload.jobs.id.tolist())


def test_months_are_counted() -> None:
    assert [count_months(monthly(number)) for number in (1, 2, 5)] == [1, 2, 5]
    assert count_months(monthly(1, 0)) == 0


@pytest.mark.parametrize(
    ("months", "validation", "trained", "compared"),
    [
        ("1-2", None, (1, 2), (3, 3)),
        ("3", None, (3, 3), (4, 4)),
        (None, "4-5", (1, 3), (4, 5)),
        ("1-2", "4", (1, 2), (4, 4)),
        ("3-4", "1-2", (3, 4), (1, 2)),
    ],
)
def test_parts_have_no_job_in_common(
    months: str | None, validation: str | None, trained: tuple[int, int], compared: tuple[int, int]
) -> None:
    for overlap in (False, True) if months and validation else (False,):
        found = split(monthly(), months, validation, overlap)
        assert found.training == by_months(monthly(), *trained)
        assert found.validation == by_months(monthly(), *compared)
        assert found.shared == ""
        assert not ids(found.training) & ids(found.validation)


def test_without_months_the_last_quarter_of_the_jobs_is_kept_for_validation() -> None:
    workload = monthly()
    found = split(workload, None, None, False)
    assert (len(found.training), len(found.validation), found.shared) == (15, 5, "")
    assert ids(found.training) | ids(found.validation) == ids(workload)
    assert found.training.jobs.submit.max() <= found.validation.jobs.submit.min()
    assert (found.training.name, found.validation.name) == ("made-jobs-1-15", "made-jobs-16-20")
    # The clock of rules goes on from the trace's first submission.
    assert found.validation.first_submission == START


@pytest.mark.parametrize(
    ("months", "validation", "shared"),
    [
        (None, None, "all jobs"),
        ("2", None, "month 2"),
        (None, "2-3", "months 2-3"),
        ("1-2", "1-3", "months 1-2"),
        ("2-4", "4-5", "month 4"),
    ],
)
def test_parts_overlap_on_demand_alone(months: str | None, validation: str | None, shared: str) -> None:
    found = split(monthly(), months, validation, True)
    assert found.shared == shared
    assert ids(found.training) & ids(found.validation)
    if months and validation:
        with pytest.raises(
            SpecError, match=f"would compare snapshots on {shared} of the training, .*overlap in --settings allows"
        ):
            split(monthly(), months, validation, False)
    else:
        assert not split(monthly(), months, validation, False).shared


@pytest.mark.parametrize(
    ("months", "validation", "message"),
    [
        ("x", None, "--months: expected months such as 1-2, got 'x'"),
        (None, "1-", "--validation: expected months such as 1-2, got '1-'"),
        (None, "1-2", "--validation 1-2: no month is left before it to train on; state --months"),
        ("4-5", None, "--months 4-5: made: no job was submitted in months 6 to 6, to compare snapshots on; state"),
    ],
)
def test_nothing_is_left_for_one_part(months: str | None, validation: str | None, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        split(monthly(), months, validation, False)
    assert str(caught.value).startswith(message)


def test_months_without_jobs_and_too_few_jobs() -> None:
    with pytest.raises(ModelError, match="no job was submitted in months 8 to 9"):
        split(monthly(), "1", "8-9", False)
    with pytest.raises(SpecError, match="made: 1 jobs are too few"):
        split(monthly(1, 1), None, None, False)
