from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.learned.dras.policies import Plain, Walking
from tests.learned.dras.scorers import drawn, prefers
from tests.simulation.workloads import workloads
from transom.errors import ModelError, SpecError
from transom.learned.dras.process.episodes import Episodes
from transom.learned.dras.process.process import AgentConfig
from transom.learned.dras.training.collect import Batch, collect, replay
from transom.learned.scorer import ScorerWeights
from transom.models import Cluster, Job
from transom.simulation import Schedule, simulate
from transom.simulation.core.schedule import BACKFILLED, READY, RESERVED
from transom.simulation.output.verification import check_schedule
from transom.traces import TracedJob, Workload, read_swf

FIRST = prefers("place", -1)
SHORTEST = prefers("log-walltime", -1)

schemes = st.builds(
    AgentConfig, st.sampled_from((1, 2)), st.sampled_from((1, 2, 50)), st.integers(0, 1), st.integers(0, 1), st.just(60)
)
any_workload = st.one_of(workloads(), workloads(resources=1, dependencies=True), workloads(overrun=True))


def same(one: Schedule, other: Schedule) -> bool:
    """Whether two schedules and all their decisions are the same, whoever made them."""
    columns = one.decisions.keys() == other.decisions.keys() and all(
        np.array_equal(column, other.decisions[name]) for name, column in one.decisions.items()
    )
    return columns and all(
        np.array_equal(getattr(one, n), getattr(other, n)) for n in ("start", "end", "mode", "order")
    )


@given(any_workload, schemes)
def test_it_is_what_plain_python_does(workload: Workload, scheme: AgentConfig) -> None:
    made = replay(workload, scheme, SHORTEST)
    assert same(made, simulate(workload, Plain(scheme, lambda job: job.walltime)))
    assert check_schedule(workload, made) == []


@given(any_workload, schemes, st.integers(0, 99), st.sampled_from((-1.0, 0.0)))
def test_a_policy_over_windows_decides_the_same(
    workload: Workload, scheme: AgentConfig, seed: int, epsilon: float
) -> None:
    weights = drawn(seed)
    policy = Walking(scheme, weights, np.random.default_rng(seed), epsilon)
    made = replay(workload, scheme, weights, np.random.default_rng(seed), sampled=epsilon < 0)
    assert same(made, simulate(workload, policy))
    assert check_schedule(workload, made) == []


@given(st.one_of(st.tuples(workloads(resources=1), st.just(1)), st.tuples(any_workload, st.just(0))))
def test_the_head_first_is_easy_backfilling(case: tuple[Workload, int]) -> None:
    # Where jobs appear that come before the head, EASY backfilling makes its reservation anew for them.
    workload, keep = case
    made = replay(workload, AgentConfig(window=len(workload), head=1, keep=keep), FIRST)
    assert same(made, simulate(workload, "fcfs-easy"))


@pytest.mark.reference
@pytest.mark.parametrize("trace", ["theta_2022", "SDSC-SP2-1998-4.2-cln"])
def test_on_a_trace_as_well(shared: Path, trace: str) -> None:
    workload = read_swf(shared / "traces" / f"{trace}.swf.gz")
    made = replay(workload, AgentConfig(window=1000, head=1, keep=1), FIRST)
    assert same(made, simulate(workload, "fcfs-easy"))


@given(workloads(max_jobs=20, resources=1, dependencies=True), st.integers(0, 99), st.integers(0, 1))
def test_a_kept_promise_is_never_broken(workload: Workload, seed: int, head: int) -> None:
    made = replay(workload, AgentConfig(head=head, keep=1, window=4), drawn(seed))
    promises: dict[int, int] = {}
    last = -1
    for job, begin in zip(
        made.decisions["reserved_job"].tolist(), made.decisions["reserved_start"].tolist(), strict=True
    ):
        if job >= 0:
            assert begin <= promises.get(job, begin)
            promises[job] = begin
            assert last in (job, -1) or made.start[place(workload, last)] <= made.start[place(workload, job)]
            last = job
    for job, begin in promises.items():
        assert made.start[place(workload, job)] <= begin
        assert made.mode[place(workload, job)] == RESERVED


@given(any_workload, schemes, st.integers(0, 99), st.data())
def test_nothing_depends_on_runtimes_that_lie_ahead(
    workload: Workload, scheme: AgentConfig, seed: int, data: st.DataObject
) -> None:
    # What has not ended by `now` runs longer: what is seen and decided until then stays as it was.
    weights = drawn(seed)
    made = replay(workload, scheme, weights)
    now = data.draw(st.integers(0, int(made.end.max())))
    longer = Workload("longer", workload.cluster, workload.jobs, workload.runtime + 7 * (made.end > now))
    other = replay(longer, scheme, weights)
    known = int((made.decisions["time"] <= now).sum())
    for name, column in made.decisions.items():
        assert (column[:known] == other.decisions[name][:known]).all()
    assert (other.decisions["time"][known:] > now).all()
    one, two = (recorded(each, scheme, weights) for each in (workload, longer))
    if one is not None and two is not None:
        for name in ("features", "context", "count", "action"):
            before, after = (getattr(batch, name)[batch.instant <= known] for batch in (one, two))
            assert np.array_equal(before, after), name


def recorded(workload: Workload, scheme: AgentConfig, weights: ScorerWeights) -> Batch | None:
    """What a training would see of one or more episodes; None if there is nothing to choose."""
    try:
        return collect(Episodes([workload]), scheme, weights, 30, np.random.default_rng(0), 0.0)
    except ModelError:
        return None


@given(any_workload, st.integers(0, 99))
def test_one_level_neither_reserves_nor_backfills(workload: Workload, seed: int) -> None:
    made = replay(workload, AgentConfig(levels=1, window=3), drawn(seed))
    assert (made.mode == READY).all()
    assert (made.decisions["reserved_job"] == -1).all()
    assert not made.decisions["backfilled"].any()


def test_by_hand() -> None:
    # 4 nodes; A runs with 3 until 10 s. Of B (4 nodes), C (2), D (1 node, 10 s), E (1 node, 30 s), the longest comes
    # first: E starts, then C does not fit. It is reserved itself, or B as the head of the queue is.
    def job(id: int, nodes: int, walltime: int, submit: int = 1) -> TracedJob:
        return TracedJob(Job(id=id, submit=submit, nodes=nodes, walltime=walltime), walltime)

    workload = Workload.of(
        [job(1, 3, 10, 0), job(2, 4, 5), job(3, 2, 20), job(4, 1, 9), job(5, 1, 30)], Cluster(4), "hand"
    )
    longest = prefers("walltime")
    selected = replay(workload, AgentConfig(head=0), longest)
    assert selected.start.tolist() == [0, 31, 10, 10, 1]
    assert reserved(selected, 1) == (3, 10)
    head = replay(workload, AgentConfig(head=1), longest)
    assert reserved(head, 1) == (2, 31)
    assert head.start.tolist() == [0, 31, 10, 10, 1]
    assert head.mode[[2, 3]].tolist() == [BACKFILLED, BACKFILLED]


def test_schemes_out_of_range_are_refused() -> None:
    # A window of none would start nobody, and say nothing.
    workload = Workload.of([TracedJob(Job(id=1, submit=0, nodes=1, walltime=1), 1)], Cluster(4), "one")
    for name, value in (("levels", 3), ("window", 0), ("keep", 2), ("longest", 0)):
        with pytest.raises(SpecError, match=f"scheme: {name} must be from"):
            replay(workload, AgentConfig()._replace(**{name: value}), FIRST)


def place(workload: Workload, job: int) -> int:
    """Row of a job."""
    return int(np.flatnonzero(workload.jobs.id == job)[0])


def reserved(schedule: Schedule, row: int) -> tuple[int, int]:
    """Job and shadow time of the reservation after a decision."""
    return int(schedule.decisions["reserved_job"][row]), int(schedule.decisions["reserved_start"][row])
