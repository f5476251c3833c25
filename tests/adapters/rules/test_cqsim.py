"""CQSim's event rules: the reference starts, and a second, slow replay over lists."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.test_engine import KEYS
from tests.simulation.workloads import workloads
from transom.adapters.rules.cqsim import CqSim
from transom.errors import SpecError
from transom.models import Cluster, FatTree, Job
from transom.simulation import RulePolicy, make_policy, simulate
from transom.simulation.core.schedule import BACKFILLED, READY, RESERVED
from transom.simulation.event_rules import parse_rules, without_dependencies
from transom.simulation.nodes.allocator import Allocator
from transom.simulation.output.verification import check_schedule
from transom.traces import ReadingRules, TracedJob, Workload, read_swf


def plain_cqsim(workload: Workload, key: Callable[[TracedJob, int], tuple[float, ...]], easy: bool) -> dict[int, int]:
    """Start [s] per job id: one list of events, and a profile of free nodes second by second."""
    jobs = [workload[i] for i in range(len(workload))]
    nodes = workload.cluster.num_nodes
    # (time, ends before submissions, when it was announced, job): the order in which events are taken.
    events = [(t.job.submit, 1, i, t) for i, t in enumerate(jobs)]
    queue: list[TracedJob] = []
    running: list[tuple[int, TracedJob]] = []  # expected end, job
    start: dict[int, int] = {}
    while events:
        event = min(events, key=lambda e: e[:3])
        events.remove(event)
        now, kind, _, happened = event
        if kind == 1:
            queue.append(happened)
        else:
            running = [(end, t) for end, t in running if t is not happened]

        def launch(t: TracedJob, now: int = now, running: list[tuple[int, TracedJob]] = running) -> None:
            queue.remove(t)
            running.append((now + t.job.walltime, t))
            start[t.job.id] = now
            events.append((now + t.runtime, 0, len(start), t))

        queue.sort(key=lambda t: (*key(t, now), t.job.submit, t.job.id))
        free = nodes - sum(t.job.nodes for _, t in running)
        while queue and queue[0].job.nodes <= free:
            free -= queue[0].job.nodes
            launch(queue[0])
        if not (easy and queue):
            continue
        # What is idle now, and what is promised for each second from now on.
        horizon = now + 100
        idle = nodes - sum(t.job.nodes for _, t in running)
        promised = [nodes - sum(t.job.nodes for end, t in running if end > s) for s in range(now, horizon)]
        head = queue[0]
        begin = next(s for s in range(len(promised)) if promised[s] >= head.job.nodes)
        for s in range(begin, min(begin + head.runtime, len(promised))):
            promised[s] -= head.job.nodes
        for t in queue[1:]:
            inside = promised[: t.runtime]
            if t.job.nodes <= idle and min(inside) >= t.job.nodes:
                idle -= t.job.nodes
                for s in range(t.runtime):
                    promised[s] -= t.job.nodes
                launch(t)
    return start


def starts(workload: Workload, policy: RulePolicy) -> dict[int, int]:
    schedule = simulate(workload, policy, rules="cqsim")
    assert check_schedule(workload, schedule) == []
    assert schedule.rules == "cqsim"
    assert sorted(schedule.order.tolist()) == list(range(len(workload)))
    assert schedule.decisions["started"].sum() == len(workload)
    assert schedule.decisions["backfilled"].sum() == (schedule.mode == BACKFILLED).sum()
    return dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))


@pytest.mark.parametrize("backfilling", ["none", "easy"])
@pytest.mark.parametrize("rule", ["fcfs", "sjf", "largest", "wfp3", "f1"])
@settings(max_examples=60)
@given(data=st.data())
def test_every_rule_equals_the_plain_replay(rule: str, backfilling: str, data: st.DataObject) -> None:
    workload = data.draw(st.one_of(workloads(), workloads(max_jobs=25), workloads(exact=True)))
    policy = RulePolicy(rule, backfilling)
    assert starts(workload, policy) == plain_cqsim(workload, KEYS[rule], backfilling == "easy")


@settings(max_examples=60)
@given(workloads(max_jobs=20))
def test_jobs_that_outrun_their_walltime_keep_running(workload: Workload) -> None:
    longer = replace(workload, runtime=workload.runtime + np.arange(len(workload)) % 3 * 7)
    for backfilling in ("none", "easy"):
        starts(longer, RulePolicy("fcfs", backfilling))


@pytest.mark.reference
@pytest.mark.parametrize(("name", "count"), [("theta_2022", 23_911), ("lublin_2000", 2_000)])
def test_no_start_differs_from_the_reference(shared: Path, name: str, count: int) -> None:
    workload = read_swf(shared / "traces" / f"{name}.swf.gz", ReadingRules(walltime="requested"))
    with gzip.open(shared / "reference" / f"cqsim_{name}.csv.gz", "rt") as file:
        expected = {int(row["job_id"]): int(row["start"]) for row in csv.DictReader(file)}
    first = int(workload.jobs.submit[0])
    found = {job: start - first for job, start in starts(workload, RulePolicy("fcfs", "easy")).items()}
    assert len(found) == count
    assert found == expected


def test_candidates_are_tested_with_what_no_scheduler_knows() -> None:
    # Job 3 asks for 50 s and runs for 5: by its walltime it would delay job 2, by its runtime it does not.
    jobs = [
        TracedJob(Job(1, 0, 3, 20), 20),
        TracedJob(Job(2, 1, 4, 10), 10),
        TracedJob(Job(3, 2, 1, 50), 5),
    ]
    workload = Workload.of(jobs, Cluster(4))
    theirs, ours = (simulate(workload, "fcfs-easy", rules=rules) for rules in ("cqsim", "textbook"))
    assert theirs.start.tolist() == [0, 20, 2]
    assert theirs.mode.tolist() == [READY, RESERVED, BACKFILLED]
    assert ours.start.tolist() == [0, 20, 30]
    # A row per event at which somebody waits: both submissions, and the two ends before the last job starts.
    assert theirs.decisions["time"].tolist() == [0, 1, 2, 7, 20]
    assert theirs.decisions["reserved_job"].tolist() == [-1, 2, 2, 2, -1]
    assert theirs.decisions["reserved_start"].tolist() == [-1, 20, 20, 20, -1]


def test_each_event_of_an_instant_has_its_pass() -> None:
    # At 10 s jobs 1 and 2 end, job 1 first: its two nodes go to job 5, and job 4 waits for both halves no more.
    jobs = [
        TracedJob(Job(1, 0, 2, 10), 10),
        TracedJob(Job(2, 0, 2, 10), 10),
        TracedJob(Job(4, 1, 4, 10), 10),
        TracedJob(Job(5, 2, 2, 10), 10),
    ]
    workload = Workload.of(jobs, Cluster(4))
    assert simulate(workload, "fcfs", rules="cqsim").start.tolist() == [0, 0, 10, 20]
    assert simulate(workload, "smallest", rules="textbook").start.tolist() == [0, 0, 20, 10]
    schedule = simulate(workload, "fcfs-easy", rules="cqsim")
    # After the first end the head is promised this very instant, for the other end is still to come.
    assert schedule.decisions["time"].tolist() == [0, 0, 1, 2, 10, 10, 20]
    assert schedule.decisions["reserved_start"].tolist() == [-1, -1, 10, 10, 10, 20, -1]
    assert schedule.start.tolist() == [0, 0, 10, 20]


def test_what_cqsim_does_not_know_is_refused() -> None:
    job = TracedJob(Job(1, 0, 1, 5), 5)
    plain = Workload.of([job], Cluster(4))
    for policy in ("window", "fcfs-conservative", "random"):
        with pytest.raises(SpecError, match="cqsim rules take priority rules without or with -easy"):
            simulate(plain, make_policy(policy), rules="cqsim")
    with pytest.raises(SpecError, match="know nodes alone, not gpu"):
        simulate(Workload.of([TracedJob(Job(1, 0, 1, 5, (1,)), 5)], Cluster(4, ("gpu",), (2,))), "fcfs", rules="cqsim")
    tree = replace(plain, cluster=Cluster(4, topology=FatTree.uniform(4, 2, 4)))
    with pytest.raises(SpecError, match="no topology"):
        simulate(tree, "fcfs", rules="cqsim")
    with pytest.raises(SpecError, match="no nodes for an allocator"):
        simulate(tree, "fcfs", rules="cqsim", allocator=Allocator())
    after = Workload.of([job, TracedJob(Job(7, 0, 1, 5, depends_on=(1,)), 5)], Cluster(4))
    with pytest.raises(SpecError, match="no dependencies, but job 7 has one"):
        simulate(after, "fcfs", rules="cqsim")
    free = without_dependencies(CqSim(), after)
    assert free.repairs == {"dependency dropped: cqsim knows none": 1}
    assert simulate(free, "fcfs", rules="cqsim").start.tolist() == [0, 0]
    with pytest.raises(SpecError, match="unknown event rules 'cqsym'; did you mean 'cqsim'"):
        parse_rules("cqsym")
    with pytest.raises(SpecError, match="'cqsim' has no parameter 'sign'"):
        parse_rules("cqsim:sign=real")


def test_a_workload_without_jobs_has_an_empty_schedule() -> None:
    for rules in ("cqsim", "rlscheduler"):
        for policy in ("fcfs-easy", "wfp3"):
            schedule = simulate(Workload.of([], Cluster(4)), policy, rules=rules)
            assert len(schedule) == 0
            assert schedule.decisions["time"].size == 0
