"""The decision maker of MARS: who decides at which size, and on what."""

from __future__ import annotations

import numpy as np
import pytest

from transom.errors import SpecError
from transom.generate import generate_lublin
from transom.models import Cluster, JobTable
from transom.simulation import make_policy, simulate
from transom.simulation.output.verification import check_schedule
from transom.simulation.policies.clocks import clock_of
from transom.testing import check_policy
from transom.traces import Workload

LATE = 10_000_000  # a trace that begins late, so that its clock matters


@pytest.fixture(scope="module")
def trace() -> Workload:
    made = generate_lublin(120, 32, np.random.default_rng(4), load=1.3)
    data = made.jobs.data.copy()
    data[:, 1] += LATE
    return Workload(made.name, made.cluster, JobTable(data), made.runtime, first_submission=LATE - 5000)


@pytest.mark.parametrize(
    ("numbers", "alone"),
    [
        ("min=1000,median=1000", "sjf-easy"),
        ("min=0,median=1000", "unicep-easy"),
        ("min=0,median=0", "f1-easy"),
        ("min=0,median=0,large=[f4-easy:clock=sequence]", "f4-easy:clock=sequence"),
        ("min=0,median=0,large=wfp3-conservative", "wfp3-conservative"),
        ("min=0,median=0,large=fcfs", "fcfs"),
    ],
)
def test_where_one_policy_always_decides_its_schedule_comes_out(trace: Workload, numbers: str, alone: str) -> None:
    if "conservative" in alone:  # by itself it keeps its plan from pass to pass; in turns it plans afresh
        schedule = simulate(trace, f"mars:{numbers}")
        assert check_schedule(trace, schedule) == []
        assert {*schedule.decisions["decided_by"].tolist()} == {2}
        return
    ours, theirs = simulate(trace, f"mars:{numbers}"), simulate(trace, alone)
    assert np.array_equal(ours.start, theirs.start)
    assert len({*ours.decisions["decided_by"].tolist()}) == 1


def test_the_number_of_waiting_jobs_says_who_decides(trace: Workload) -> None:
    decisions = simulate(trace, "mars:min=5,median=12").decisions
    queued = decisions["queued"]
    assert decisions["decided_by"].tolist() == np.where(queued < 5, 0, np.where(queued < 12, 1, 2)).tolist()
    assert {*decisions["decided_by"].tolist()} == {0, 1, 2}


def test_too_large_a_queue_is_cut_by_submission() -> None:
    # Ten jobs at once on one node, shortest last: of four parts of three the first is decided first.
    rows = [(i + 1, 0, 1, 100 - i, -1, -1) for i in range(10)]
    work = Workload("burst", Cluster(1), JobTable(rows), np.array([100 - i for i in range(10)]))
    whole = simulate(work, "mars:min=0,median=0,large=sjf")
    assert whole.order.tolist() == list(range(9, -1, -1))
    cut = simulate(work, "mars:min=0,median=0,max=3,large=sjf")
    # Of ten jobs three are seen, of nine three, of eight two ..., until three are left, which are seen at once.
    seen, left = [], list(range(10))
    while left:
        parts = 1
        while parts * 3 < len(left):
            parts *= 2
        seen.append(left.pop(-(-len(left) // parts) - 1))
    assert np.argsort(cut.order).tolist() == seen


def test_it_satisfies_what_every_policy_has_to() -> None:
    check_policy("mars:min=1,median=3,max=4,large=random")


def test_the_clock_is_that_of_its_rules() -> None:
    assert clock_of("mars") == "trace"
    assert clock_of("mars:large=saf-easy") is None
    assert clock_of("mars:large=[f1:clock=sequence]") == "sequence"
    assert clock_of("mars:large=[f1:clock=sequence],small=f4") == "trace and sequence"


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("mars:min=600", "min <= median"),
        ("mars:max=0,median=0,min=0", "max > 0"),
        ("mars:small=nothing", "unknown policy 'nothing'"),
        ("mars:large=[nwp:period=60]", "decides by period"),
    ],
)
def test_what_does_not_go(spec: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        make_policy(spec)
