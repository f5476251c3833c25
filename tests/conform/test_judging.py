"""The referee: seeded faults by their names."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conform.faulty_replay import Fault, replay
from tests.simulation import plain_replay
from tests.simulation.workloads import workloads
from transom.conform import judging, passes
from transom.conform.starts import aligned, read_starts
from transom.models import Cluster, Job
from transom.simulation import make_policy, simulate
from transom.traces import TracedJob, Workload

Rows = Sequence[tuple[object, ...]]


def made(seed: int = 1, jobs: int = 150, nodes: int = 32) -> Workload:
    """A busy machine, with runtimes well below walltimes and ties of all kinds."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, 30 * jobs, jobs)) // 30 * 30
    drawn = []
    for i in range(jobs):
        walltime = int(rng.choice([60, 120, 300, 600, 1200, 2400]))
        runtime = max(1, int(walltime * rng.choice([0.1, 0.3, 0.5, 1.0])))
        drawn.append(
            TracedJob(Job(i + 1, int(submit[i]), int(rng.choice([1, 2, 3, 4, 6, 8, 16, 24])), walltime), runtime)
        )
    return Workload.of(drawn, Cluster(nodes), "made")


def judged(
    workload: Workload, rows: Sequence[tuple[object, ...]], path: Path, policy: str = "fcfs-easy"
) -> judging.Verdict:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("job", "start", "end")[: len(rows[0])], *rows])
    return judging.judge(aligned(workload, read_starts(path)), make_policy(policy), policy)


FAULTS = {
    "the last submitted job first": (Fault(key=lambda t: (-t.job.submit, t.job.id)), passes.ORDER),
    "the smallest job first": (Fault(key=lambda t: (t.job.nodes, t.job.submit, t.job.id)), passes.ORDER),
    "the shortest job first": (Fault(key=lambda t: (t.job.walltime, t.job.submit, t.job.id)), passes.ORDER),
    "ties by the larger id": (Fault(key=lambda t: (t.job.submit, -t.job.id)), passes.ORDER),
    "ties by size": (Fault(key=lambda t: (t.job.submit, -t.job.nodes, t.job.id)), passes.ORDER),
    "candidates from the end of the queue": (Fault(behind=lambda t: -t.job.id), passes.ORDER),
    "the largest job first": (Fault(key=lambda t: (-t.job.nodes, t.job.submit, t.job.id)), passes.ORDER),
    "no reservation": (Fault(reserve=False), passes.RESERVATION),
    "extra nodes counted for each candidate": (Fault(again=True), passes.RESERVATION),
    "candidates may end a minute late": (Fault(late=60), passes.RESERVATION),
    "walltimes in half the seconds": (Fault(candidate=lambda t: t.job.walltime / 2), passes.RESERVATION),
    "all nodes extra": (Fault(extra=lambda nodes: 10**9), passes.RESERVATION),
    "running jobs counted with twice their walltime": (
        Fault(expected=lambda t: 2 * t.job.walltime),
        passes.RESERVATION,
    ),
    "nothing backfilled": (Fault(backfill=False), passes.HOLE),
    "candidates end before the shadow time": (Fault(late=-1), passes.HOLE),
    "extra nodes not used": (Fault(extra=lambda nodes: 0), passes.HOLE),
    "one candidate looked at": (Fault(depth=1), passes.HOLE),
    "no pass when jobs arrive": (Fault(arrivals=False), passes.HOLE),
    "candidates end five minutes before the shadow time": (Fault(late=-300), passes.HOLE),
    "a machine with two nodes more": (Fault(more=2), passes.CAPACITY),
    "nodes freed ten seconds early": (Fault(freed=10), passes.CAPACITY),
    "candidates by their runtime": (Fault(candidate=lambda t: t.runtime), passes.RUNTIME),
    "the shadow time by runtimes": (Fault(expected=lambda t: t.runtime), passes.RUNTIME),
    "candidates and shadow time by runtimes": (
        Fault(candidate=lambda t: t.runtime, expected=lambda t: t.runtime),
        passes.RUNTIME,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("seed", [1, pytest.param(3, marks=pytest.mark.long)])
def test_a_seeded_fault_is_named(name: str, seed: int, tmp_path: Path) -> None:
    fault, rule = FAULTS[name]
    workload = made(seed)
    started = replay(workload, fault)
    verdict = judged(workload, list(started.items()), tmp_path / "starts.csv")
    assert verdict.first is not None
    assert verdict.first.rule == rule, verdict.first.why


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_without_a_fault_nothing_differs(seed: int, tmp_path: Path) -> None:
    workload = made(seed)
    started = replay(workload, Fault())
    assert started == plain_replay.replay(workload, lambda t, now: (t.job.submit,), "easy")
    verdict = judged(workload, list(started.items()), tmp_path / "starts.csv")
    assert (verdict.differ, verdict.first) == (0, None)


def textbook(workload: Workload) -> dict[int, int]:
    return replay(workload, Fault())


def test_a_job_that_never_starts_is_named(tmp_path: Path) -> None:
    workload = made()
    rows = [(job, start) for job, start in textbook(workload).items() if job != 40]
    first = judged(workload, rows, tmp_path / "starts.csv").first
    assert first is not None
    assert (first.job, first.start, first.rule) == (40, None, passes.MISSING)
    written = [(job, start if job != 40 else -1) for job, start in textbook(workload).items()]
    assert judged(workload, written, tmp_path / "starts.csv").first == first


def test_a_job_that_is_restarted_is_named(tmp_path: Path) -> None:
    workload = made()
    started = textbook(workload)
    last = max(start + int(runtime) for start, runtime in zip(started.values(), workload.runtime, strict=True))
    rows = [*started.items(), (40, last + 5000)]
    verdict = judged(workload, rows, tmp_path / "starts.csv")
    assert verdict.first is not None
    assert (verdict.differ, verdict.first.job, verdict.first.rule) == (1, 40, passes.AGAIN)


def test_a_job_that_starts_before_its_submission_is_named(tmp_path: Path) -> None:
    workload = made()
    started = textbook(workload)
    started[40] = int(workload.jobs.submit[39]) - 7
    first = judged(workload, list(started.items()), tmp_path / "starts.csv").first
    assert first is not None
    assert (first.job, first.rule) == (40, passes.EARLY)


def test_a_job_that_does_not_wait_for_its_parent_is_named(tmp_path: Path) -> None:
    jobs = [TracedJob(Job(1, 0, 2, 50), 50), TracedJob(Job(2, 0, 2, 10, depends_on=(1,)), 10)]
    first = judged(Workload.of(jobs, Cluster(4)), [(1, 0), (2, 0)], tmp_path / "starts.csv").first
    assert first is not None
    assert (first.job, first.expected, first.rule) == (2, 50, passes.PARENT)


def test_what_a_program_made_of_its_own_runtimes_is_judged(tmp_path: Path) -> None:
    # Job 1 runs for 40 s there, not for 50: job 2 may start at 40.
    jobs = [TracedJob(Job(1, 0, 4, 60), 50), TracedJob(Job(2, 0, 4, 10), 10)]
    verdict = judged(Workload.of(jobs, Cluster(4)), [(1, 0, 40), (2, 40, 50)], tmp_path / "starts.csv")
    assert verdict.differ == 0


@pytest.mark.parametrize(("policy", "rule"), [("fcfs", passes.ORDER), ("fcfs-conservative", passes.RESERVATION)])
def test_other_policies_have_rules_of_their_own(policy: str, rule: str, tmp_path: Path) -> None:
    # Job 3 backfills beside job 2, and lasts beyond the time at which that should start.
    sizes = [(3, 20), (4, 10), (1, 50)]
    jobs = [TracedJob(Job(i + 1, i, nodes, walltime), walltime) for i, (nodes, walltime) in enumerate(sizes)]
    first = judged(Workload.of(jobs, Cluster(4)), [(1, 0), (2, 52), (3, 2)], tmp_path / "starts.csv", policy).first
    assert first is not None
    assert (first.job, first.rule) == (3, rule)


POLICIES = ("fcfs", "fcfs-easy", "fcfs-conservative", "sjf-easy:max_wait=5", "wfp3-easy", "slurm-backfill", "window")


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=15)
@given(data=st.data())
def test_whatever_a_program_did_is_judged(policy: str, tmp_path: Path, data: st.DataObject) -> None:
    cases = st.one_of(workloads(), workloads(resources=2), workloads(dependencies=True), workloads(overrun=True))
    workload = data.draw(cases)
    ids, right = workload.jobs.id.tolist(), simulate(workload, policy).start.tolist()
    moved = st.sampled_from([0, 0, 0, 0, 1, -3, 9])
    rows = [(job, start + data.draw(moved)) for job, start in zip(ids, right, strict=True)]
    rows += data.draw(st.lists(st.sampled_from(rows), max_size=1))
    rows = data.draw(st.sampled_from([rows, rows[:-1] or rows]))
    verdict = judged(workload, rows, tmp_path / "starts.csv", policy)
    started: dict[int, int] = {}
    for job, start in sorted(rows, key=lambda row: row[1]):
        if start >= 0:
            started.setdefault(job, start)
    runs = [job for job, start in rows if start >= 0]
    wrong = [job for job, start in zip(ids, right, strict=True) if started.get(job) != start or runs.count(job) > 1]
    assert verdict.differ == len(wrong)
    assert (verdict.first is None) == (not wrong)
    assert verdict.first is None or (verdict.first.job in wrong and "\n" not in verdict.first.why)
