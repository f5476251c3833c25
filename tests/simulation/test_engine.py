from __future__ import annotations

import csv
import gzip
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.plain_easy import replay as plain_easy
from tests.simulation.plain_replay import replay
from tests.simulation.workloads import workloads
from transom.errors import PolicyError, SpecError
from transom.models import Cluster, Job, JobTable, Window
from transom.simulation import MODES, Decision, RulePolicy, make_policy, simulate
from transom.simulation.core.schedule import BACKFILLED, READY, RESERVED
from transom.simulation.output.verification import check_schedule
from transom.traces import TracedJob, Workload, read_swf


def _log_s(traced: TracedJob) -> float:
    return math.log10(traced.job.submit + 1)  # the strategies below begin every workload at 0


KEYS = {
    "fcfs": lambda t, now: (),
    "sjf": lambda t, now: (t.job.walltime,),
    "ljf": lambda t, now: (-t.job.walltime,),
    "smallest": lambda t, now: (t.job.nodes,),
    "largest": lambda t, now: (-t.job.nodes,),
    "saf": lambda t, now: (t.job.walltime * t.job.nodes,),
    "wfp3": lambda t, now: (-(((now - t.job.submit) / t.job.walltime) ** 3) * t.job.nodes,),
    "f1": lambda t, now: (math.log10(t.job.walltime) * t.job.nodes + 870 * _log_s(t),),
    "f2": lambda t, now: (math.sqrt(t.job.walltime) * t.job.nodes + 25600 * _log_s(t),),
    "f3": lambda t, now: (t.job.walltime * t.job.nodes + 6.86e6 * _log_s(t),),
    "f4": lambda t, now: (t.job.walltime * math.sqrt(t.job.nodes) + 5.3e5 * _log_s(t),),
    "unicep": lambda t, now: (-(now - t.job.submit + 1e-15) / (np.log2(t.job.nodes + 1e-15) * t.job.walltime),),
}


def starts(workload: Workload, policy: object) -> dict[int, int]:
    schedule = simulate(workload, policy)
    assert check_schedule(workload, schedule) == []
    return dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))


@pytest.mark.parametrize("backfilling", ["none", "easy", "conservative"])
@pytest.mark.parametrize("rule", KEYS)
@settings(max_examples=40)
@given(data=st.data())
def test_every_rule_equals_the_brute_force_replay(rule: str, backfilling: str, data: st.DataObject) -> None:
    workload = data.draw(
        st.one_of(workloads(), workloads(resources=2), workloads(dependencies=True), workloads(max_jobs=20))
    )
    assert starts(workload, RulePolicy(rule, backfilling)) == replay(workload, KEYS[rule], backfilling)


@settings(max_examples=100)
@given(workloads(max_jobs=20))
def test_jobs_that_outrun_their_walltime_keep_running(workload: Workload) -> None:
    longer = replace(workload, runtime=workload.runtime + np.arange(len(workload)) % 3 * 7)
    for backfilling in ("none", "easy"):
        assert starts(longer, RulePolicy("fcfs", backfilling)) == replay(longer, KEYS["fcfs"], backfilling)
    starts(longer, "fcfs-conservative")
    starts(longer, "sjf-conservative")


@settings(max_examples=100)
@given(workloads(max_jobs=20))
def test_plain_python_easy_agrees(workload: Workload) -> None:
    jobs = workload.jobs
    rows = list(
        zip(*(c.tolist() for c in (jobs.id, jobs.submit, jobs.nodes, jobs.walltime, workload.runtime)), strict=True)
    )
    assert starts(workload, "fcfs-easy") == plain_easy(rows, workload.cluster.num_nodes)


@settings(max_examples=100)
@given(workloads(max_jobs=15), st.sampled_from(["fcfs", "sjf", "wfp3", "f1"]), st.sampled_from(["none", "easy"]))
def test_deciding_window_by_window_equals_the_compiled_replay(workload: Workload, rule: str, backfilling: str) -> None:
    policy = RulePolicy(rule, backfilling)

    class ByWindow:
        order = rule

        def decide(self, window):
            return policy.decide(window)

    fused, single = simulate(workload, policy), simulate(workload, ByWindow())
    assert np.array_equal(fused.start, single.start)
    assert np.array_equal(fused.mode, single.mode)
    assert all(np.array_equal(fused.decisions[name], single.decisions[name]) for name in single.decisions)


@settings(max_examples=100)
@given(workloads(exact=True, max_jobs=20))
def test_with_exact_walltimes_the_fcfs_head_starts_no_later_than_first_promised(workload: Workload) -> None:
    schedule = simulate(workload, "fcfs-easy")
    start = dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))
    promised: dict[int, int] = {}
    rows = zip(schedule.decisions["reserved_job"].tolist(), schedule.decisions["reserved_start"].tolist(), strict=True)
    for job, begin in rows:
        if job >= 0:
            promised.setdefault(job, begin)
    assert all(start[job] <= begin for job, begin in promised.items())


@settings(max_examples=60)
@given(workloads(max_jobs=15), st.sampled_from(["sjf", "fcfs", "largest"]))
def test_conservative_promises_are_kept(workload: Workload, rule: str) -> None:
    # The first job that keeps waiting and its promise are on record at every decision.
    schedule = simulate(workload, f"{rule}-conservative")
    start = dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))
    rows = zip(schedule.decisions["reserved_job"].tolist(), schedule.decisions["reserved_start"].tolist(), strict=True)
    assert all(start[job] <= begin for job, begin in rows if job >= 0)


@settings(max_examples=50)
@given(workloads(max_jobs=15), st.randoms())
def test_the_order_of_the_file_changes_nothing(workload: Workload, random: object) -> None:
    order = list(range(len(workload)))
    random.shuffle(order)
    shuffled = Workload(workload.name, workload.cluster, workload.jobs.take(order), workload.runtime[order])
    for policy in ("fcfs-easy", "unicep-easy", "saf-conservative", "random", "window:solver=dp"):
        assert starts(workload, policy) == starts(shuffled, policy)


@settings(max_examples=50)
@given(workloads(max_jobs=10), workloads(max_jobs=10), st.sampled_from(["fcfs", "fcfs-easy", "fcfs-conservative"]))
def test_a_trace_cut_at_an_empty_instant_replays_as_its_parts(one: Workload, two: Workload, policy: str) -> None:
    first = starts(one, policy)
    gap = max(first[t.job.id] + t.runtime for t in map(one.__getitem__, range(len(one))))
    data = two.jobs.data.copy()
    data[:, 0] += 100
    data[:, 1] += gap
    later = Workload("later", two.cluster, JobTable(data), two.runtime)
    both = Workload(
        "both",
        one.cluster,
        JobTable(np.concatenate((one.jobs.data, later.jobs.data))),
        np.concatenate((one.runtime, later.runtime)),
    )
    assert starts(both, policy) == first | starts(later, policy)


def test_modes_by_hand() -> None:
    # 4 nodes: 1 runs at once; 2 must wait (reserved at 10); 3 slips in ahead of it (backfilled).
    jobs = [
        TracedJob(Job(1, 0, 3, 10), 10),
        TracedJob(Job(2, 1, 4, 5), 5),
        TracedJob(Job(3, 2, 1, 8), 8),
    ]
    schedule = simulate(Workload.of(jobs, Cluster(4)), "fcfs-easy")
    assert schedule.start.tolist() == [0, 10, 2]
    assert schedule.mode.tolist() == [READY, RESERVED, BACKFILLED]
    assert [MODES[m] for m in schedule.mode] == ["ready", "reserved", "backfilled"]
    assert schedule.order.tolist() == [0, 2, 1]
    assert schedule.decisions["reserved_start"].tolist() == [-1, 10, 10, -1]


def test_a_job_waits_for_its_parents() -> None:
    jobs = [
        TracedJob(Job(1, 0, 1, 10), 7),
        TracedJob(Job(2, 0, 1, 3, depends_on=(1,)), 3),
        TracedJob(Job(3, 9, 1, 3, depends_on=(1, 2)), 3),
    ]
    for policy in ("fcfs", "fcfs-easy", "fcfs-conservative", "largest-first", "window:solver=greedy"):
        assert simulate(Workload.of(jobs, Cluster(4)), policy).start.tolist() == [0, 7, 10]


def test_a_policy_that_starts_what_does_not_fit_is_an_error() -> None:
    workload = Workload.of([TracedJob(Job(1, 0, 3, 10), 10), TracedJob(Job(2, 0, 3, 10), 10)], Cluster(4))

    class Greedy:
        def decide(self, window):
            return Decision(start=tuple(window.queue.id.tolist()))

    class Ghost:
        def decide(self, window):
            return Decision(start=(7,))

    class Idle:
        def decide(self, window):
            return Decision()

    with pytest.raises(PolicyError, match="job 2 is started but does not fit"):
        simulate(workload, Greedy())
    with pytest.raises(PolicyError, match="job 7 is started but does not wait"):
        simulate(workload, Ghost())
    with pytest.raises(PolicyError, match="never starts job 1"):
        simulate(workload, Idle())


def test_an_empty_workload_has_an_empty_schedule() -> None:
    empty = Workload("none", Cluster(4), JobTable([]), [])
    for policy in ("fcfs-easy", "wfp3-conservative", "random"):
        assert len(simulate(empty, policy)) == 0


@pytest.mark.parametrize(
    ("policy", "rules"),
    [("fcfs-easy", "textbook"), ("window:solver=dp", "textbook"), ("random", "textbook"), ("fcfs-easy", "cqsim")],
)
def test_a_schedule_says_what_nobody_may_overlook(policy: str, rules: str) -> None:
    workload = Workload.of((TracedJob(Job(i, i, 1, 10), 10) for i in range(1, 5)), Cluster(2))
    [remark] = simulate(workload, policy, rules=rules).diagnostics
    assert remark.short == "PERFECT ESTIMATES"
    assert simulate(replace(workload, runtime=workload.runtime - 1), policy, rules=rules).diagnostics == ()


def test_unknown_policies_are_named() -> None:
    workload = Workload.of([TracedJob(Job(1, 0, 3, 10), 10)], Cluster(4))
    with pytest.raises(SpecError, match="did you mean 'fcfs-easy'"):
        simulate(workload, "fcfs-eazy")
    with pytest.raises(SpecError, match="no parameter 'k'"):
        simulate(workload, "fcfs-easy:k=3")


@pytest.mark.reference
@pytest.mark.parametrize("name", ["theta_2022", "lublin_2000"])
def test_fcfs_easy_equals_the_reference_second_for_second(name: str, shared: Path) -> None:
    workload = read_swf(shared / "traces" / f"{name}.swf.gz")
    schedule = simulate(workload, "fcfs-easy")
    assert check_schedule(workload, schedule) == []
    origin = int(workload.jobs.submit[0])
    with gzip.open(shared / "reference" / f"easy_{name}.csv.gz", "rt") as file:
        expected = {int(row["job_id"]): (int(row["start"]), int(row["end"])) for row in csv.DictReader(file)}
    rows = zip(schedule.jobs.id, schedule.start - origin, schedule.end - origin, strict=True)
    assert {int(job): (int(start), int(end)) for job, start, end in rows} == expected


@pytest.mark.reference
@pytest.mark.parametrize("name", ["KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln", "NASA-iPSC-1993-3.1-cln"])
def test_fcfs_easy_equals_plain_python_on_other_traces(name: str, shared: Path) -> None:
    workload = read_swf(shared / "traces" / f"{name}.swf.gz")
    jobs = workload.jobs
    rows = list(
        zip(*(c.tolist() for c in (jobs.id, jobs.submit, jobs.nodes, jobs.walltime, workload.runtime)), strict=True)
    )
    assert starts(workload, "fcfs-easy") == plain_easy(rows, workload.cluster.num_nodes)


@pytest.mark.parametrize("policy", ["fcfs-easy", "fcfs-conservative"])
def test_a_job_that_no_nodes_in_service_can_hold_is_no_obstacle(policy: str) -> None:
    queue = JobTable.of([Job(id=1, submit=0, nodes=8, walltime=9), Job(id=3, submit=0, nodes=2, walltime=9)])
    window = Window(1, Cluster(8), queue, JobTable.of([Job(id=2, submit=0, nodes=4, walltime=9)]), [9], [3])
    assert make_policy(policy).decide(window).backfill == (3,)
