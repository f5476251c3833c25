from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.plain_periods import replay_periods
from tests.simulation.workloads import workloads
from transom.errors import PolicyError, SpecError
from transom.models import Cluster, Job, JobTable, Window
from transom.simulation import Decision, make_policy, simulate
from transom.simulation.output.verification import check_schedule
from transom.simulation.policies.period import PeriodPolicy
from transom.traces import TracedJob, Workload

pytestmark = pytest.mark.fast


@settings(max_examples=200)
@given(
    st.one_of(workloads(max_jobs=20), workloads(resources=2), workloads(dependencies=True)),
    st.integers(1, 9),
    st.sampled_from([("paper", None), ("paper", 2), ("code", None), ("code", 1), ("code", 3)]),
    st.integers(0, 40),
)
def test_the_rule_of_periods_equals_plain_python(
    workload: Workload, period: int, rule: tuple[str, int | None], shift: int
) -> None:
    # Moved as a whole against the grid, which is that of the trace's clock and not of its first submission.
    data = workload.jobs.data.copy()
    data[:, 1] += shift
    workload = replace(workload, jobs=JobTable(data, workload.jobs.depends_on))
    window, limit = rule
    policy = PeriodPolicy(period, window, limit)
    schedule = simulate(workload, policy)
    assert check_schedule(workload, schedule) == []
    expected = replay_periods(workload, period, window, 5 if (window, limit) == ("code", None) else limit)
    assert dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True)) == expected
    times, queued = schedule.decisions["time"], schedule.decisions["queued"]
    assert (times % period == 0).all()
    assert (np.diff(times) > 0).all()
    assert (queued > 0).all(), "ticks at which nobody waits are skipped"
    assert np.array_equal(simulate(workload, policy).start, schedule.start), "a replay begins anew"


def hand() -> Workload:
    rows = [(1, 1, 3, 100), (2, 2, 4, 10), (3, 3, 1, 5), (4, 7, 1, 5)]
    return Workload.of([TracedJob(Job(i, at, nodes, long), long) for i, at, nodes, long in rows], Cluster(6))


def test_by_hand() -> None:
    # At 10: jobs 3, 4 (one node each), then 1; job 2 does not fit any more and is first from then on.
    schedule = simulate(hand(), "nwp:period=10")
    assert schedule.start.tolist() == [10, 110, 10, 10]
    assert schedule.order.tolist() == [2, 3, 0, 1]
    assert schedule.decisions["time"].tolist() == [10, *range(20, 120, 10)]
    assert schedule.decisions["longest_nwp"].tolist() == [*range(11)]


def test_a_window_of_the_code_ends_at_the_first_job_that_does_not_fit() -> None:
    rows = [(1, 0, 5, 9), (2, 1, 4, 9), (3, 1, 1, 9), (4, 11, 1, 9)]
    jobs = [TracedJob(Job(i, at, nodes, long), long) for i, at, nodes, long in rows]
    workload = Workload.of([*jobs, TracedJob(Job(5, 5, 3, 30), 30)], Cluster(6))
    # At 10 jobs 3, 5 (and 2 does not fit); at 20 job 2 waits longest and does not fit: job 4 waits behind it.
    assert simulate(workload, "nwp:period=10,window=code").start.tolist() == [0, 40, 10, 10, 40]
    assert simulate(workload, "nwp:period=10").start.tolist() == [0, 40, 10, 10, 20]


def test_decides_on_a_window_of_its_own() -> None:
    queue = JobTable.of([Job(1, 0, 4, 10), Job(2, 0, 3, 10), Job(3, 0, 1, 10)])
    window = Window(0, Cluster(5), queue, JobTable([]), [], [5])
    policy = PeriodPolicy()
    assert policy.decide(window).start == (3, 2)
    # Jobs 1 is before them now, having waited for a period.
    again = replace(window, queue=queue.take([0, 2]))
    assert policy.decide(again).start == (1, 3)
    policy.reset(np.random.default_rng(0))
    assert policy.decide(again).start == (3, 1)


class Sleepy:
    """Starts the head of the queue, if it fits, from a certain time on; asked by period."""

    def __init__(self, period: object, since: int = 0) -> None:
        self.period = period
        self.since = since
        self.asked: list[int] = []

    def decide(self, window: Window, /) -> Decision:
        self.asked.append(window.now)
        head = window.queue[0]
        return Decision(start=(head.id,) if window.now >= self.since and head.nodes <= window.free_nodes else ())


def test_any_policy_may_have_a_period() -> None:
    policy = Sleepy(4, since=8)
    schedule = simulate(hand(), policy)
    assert policy.asked[:6] == [4, 8, 12, 16, 20, 24]
    assert schedule.start.tolist() == [8, 108, 112, 116], "one job a tick"


def test_a_policy_that_never_starts_a_job_is_not_asked_for_ever() -> None:
    with pytest.raises(PolicyError, match="never starts job 1"):
        simulate(hand(), Sleepy(4, since=10**6))


@pytest.mark.parametrize("period", [0, -1, 1.5, "60", 10**10])
def test_a_period_is_a_time(period: object) -> None:
    with pytest.raises(PolicyError, match="period must be whole seconds"):
        simulate(hand(), Sleepy(period))


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("nwp:period=0", "period must be from 1"),
        ("nwp:period=10000000000", "period must be from 1"),
        ("nwp:limit=0", "limit must be > 0"),
        ("nwp:window=both", "expected paper|code"),
        ("nwp:tau=10", "has no parameter 'tau'"),
    ],
)
def test_bad_options(spec: str, says: str) -> None:
    with pytest.raises(SpecError) as raised:
        make_policy(spec)
    assert says in str(raised.value)


def test_late_traces_need_no_walk_through_all_ticks_before() -> None:
    late = Workload.of([TracedJob(Job(1, 2**61, 1, 5), 5), TracedJob(Job(2, 2**61 + 3, 8, 5), 5)], Cluster(8))
    schedule = simulate(late, "nwp:period=7")
    assert (schedule.start % 7 == 0).all()
    assert (schedule.start - schedule.jobs.submit < 14).all()
