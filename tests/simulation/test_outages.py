"""Replays with outages against a brute force over nodes, and what the pieces promise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.amounts import numbers
from tests.simulation.plain_outages import CYCLE, PlainReplay, choice
from transom.errors import PolicyError, SpecError
from transom.learned.dras.process.process import AgentConfig, begin, candidates_of, finish, take
from transom.learned.dras.process.state_from_window import new_decision_state
from transom.models import PAPER, Cluster, FatTree, Job, Window
from transom.simulation import Schedule, simulate
from transom.simulation.core.decision import Decision
from transom.simulation.core.outage_log import DRAIN, FAILURE, OUTAGE_COLUMNS
from transom.simulation.core.schedule import COLUMNS
from transom.simulation.nodes.allocator import Allocator
from transom.simulation.output.outage_verification import check_outages
from transom.simulation.output.verification import check_nodes, check_schedule, check_spread
from transom.traces import TracedJob, Workload, cut, read_swf
from transom.traces.outages import OnFailure, Outage, Outages, failures

KEYS = {"fcfs": lambda t: (), "sjf": lambda t: (t.job.walltime,), "largest": lambda t: (-t.job.nodes,)}


def drawn_workload(rng: np.random.Generator, overrun: bool, longest: int = 12) -> Workload:
    """A small workload on 8 nodes, with many ties in every column."""
    capacities = tuple(int(rng.integers(1, 6)) for _ in range(rng.integers(0, 2)))
    dependent = rng.random() < 0.5
    jobs = []
    for i in range(rng.integers(1, 13)):
        walltime = int(rng.integers(1, longest + 1))
        parents = {int(job) for job in rng.integers(1, i + 1, rng.integers(0, 3))} if dependent and i else ()
        job = Job(
            id=i + 1,
            submit=int(rng.integers(0, 21)) if i else 0,
            nodes=int(rng.integers(1, 9)),
            walltime=walltime,
            demand=tuple(int(rng.integers(0, c + 1)) for c in capacities),
            depends_on=tuple(parents),
        )
        jobs.append(TracedJob(job, int(rng.integers(1, (2 * walltime if overrun else walltime) + 1))))
    return Workload.of(jobs, Cluster(8, tuple(f"r{i}" for i in range(len(capacities))), capacities), "random")


def drawn_outages(rng: np.random.Generator) -> list[Outage]:
    """A few failures, drains and windows of 8 nodes, with many ties."""
    rows = []
    for _ in range(rng.integers(1, 6)):
        begin = int(rng.integers(0, 41))
        end, low = begin + int(rng.integers(1, 16)), int(rng.integers(0, 8))
        ranges = ((low, int(rng.integers(low, 8))),)
        number = ranges[0][1] - low + 1
        if rng.random() < 0.5:
            rows.append(Outage("failure", begin, end, number, ranges))
            continue
        announced = None if rng.random() < 0.5 else int(rng.integers(0, begin + 1))
        rows.append(Outage("maintenance", begin, end, number, ranges if rng.random() < 0.5 else (), announced))
    for _ in range(rng.integers(0, 4)):
        begin, low = int(rng.integers(0, 41)), int(rng.integers(0, 8))
        high = int(rng.integers(low, 8))
        drain = Outage("drain", begin, begin + int(rng.integers(1, 16)), high - low + 1, ((low, high),))
        rows.insert(int(rng.integers(0, len(rows) + 1)), drain)
    return rows


def drawn_windows(rng: np.random.Generator) -> list[Outage]:
    """A few windows of 8 nodes that are announced while jobs run, and now and then a failure or a drain."""
    rows = []
    for _ in range(rng.integers(1, 5)):
        announced, low = int(rng.integers(0, 25)), int(rng.integers(0, 8))
        begin, high = announced + int(rng.integers(0, 20)), int(rng.integers(low, 8))
        ranges = ((low, high),) if rng.random() < 0.8 else ()
        rows.append(Outage("maintenance", begin, begin + int(rng.integers(1, 12)), high - low + 1, ranges, announced))
    if rng.random() < 0.3:
        begin, low = int(rng.integers(0, 30)), int(rng.integers(0, 8))
        kind = ("failure", "drain")[rng.integers(2)]
        rows.append(Outage(kind, begin, begin + int(rng.integers(1, 12)), 1, ((low, low),)))
    return rows


class FirstFit:
    """A policy that offers what fits now, and knows of no maintenance."""

    def __init__(self, order: str) -> None:
        self.order = order

    def decide(self, window: Window, /) -> Decision:
        left, start = window.available.copy(), []
        for job in window.queue:
            asks = np.array([job.nodes, *job.demand])
            if (asks <= left).all():
                left -= asks
                start.append(job.id)
        return Decision(start=tuple(start))


class ByChoice:
    """The decision process of DRAS with a plain choice among the candidates, as a policy of whole traces."""

    order = "fcfs"
    scheme = AgentConfig(levels=2, window=3, head=1, keep=1)

    def __init__(self, workload: Workload) -> None:
        self.workload = workload

    def decide(self, window: Any, /) -> Any:
        raise AssertionError("whole replays alone")

    def run(self, replay: Any, report: Any) -> dict[str, Any]:
        s = replay.state
        course = new_decision_state(s, self.scheme, replay.cluster.num_nodes)
        while replay.advance():
            begin(s, course, self.scheme)
            while count := candidates_of(s, course, self.scheme):
                keys = [choice(self.workload[int(s.queue[course.candidates[k]])]) for k in range(count)]
                take(s, course, self.scheme, keys.index(min(keys)))
            finish(s, course, replay.runtime)
        return {name: np.empty(0, np.int64) for name in COLUMNS}


def same(workload: Workload, schedule: Schedule, plain: PlainReplay) -> None:
    told = plain.replay()
    ids = workload.jobs.id.tolist()
    assert dict(zip(ids, schedule.start.tolist(), strict=True)) == told.start
    assert dict(zip(ids, schedule.end.tolist(), strict=True)) == told.end
    assert schedule.runs is not None
    assert schedule.outages is not None
    log = schedule.outages
    for j, job in enumerate(ids):
        assert nodes(schedule.runs, j) == told.nodes[job]
    told_of = zip(log.job.tolist(), log.start.tolist(), log.stop.tolist(), strict=True)
    attempts = [(ids[job], start, stop, nodes(log.runs, k)) for k, (job, start, stop) in enumerate(told_of)]
    assert sorted(attempts) == sorted(told.attempts)


def nodes(runs: Any, j: int) -> list[int]:
    pairs = zip(runs.first[runs.offsets[j] : runs.offsets[j + 1]], runs.last[runs.offsets[j] :], strict=False)
    return [n for first, last in pairs for n in range(first, last + 1)]


@numbers(100, 400)
@pytest.mark.parametrize("backfilling", ["none", "easy", "conservative", "slurm", "dras"])
def test_equals_a_brute_force(backfilling: str, numbers: range) -> None:
    hit = gone_on = 0
    for seed in numbers:
        rng = np.random.default_rng(seed)
        workload = drawn_workload(rng, backfilling != "conservative" and rng.random() < 0.5)
        rows, lose = drawn_outages(rng), rng.random() < 0.3
        rule = "fcfs" if backfilling == "dras" else sorted(KEYS)[rng.integers(3)]
        policy: Any = rule if backfilling == "none" else f"{rule}-{backfilling}"
        if backfilling == "slurm":
            policy = f"slurm-backfill:order={rule},interval={CYCLE},resolution=1"
        outages = Outages(tuple(rows), on_failure="lose" if lose else "requeue")
        schedule = simulate(workload, ByChoice(workload) if backfilling == "dras" else policy, outages=outages)
        same(workload, schedule, PlainReplay(workload, rows, KEYS[rule], backfilling, not lose))
        assert check_schedule(workload, schedule) == []
        assert schedule.runs is not None
        assert check_nodes(schedule, schedule.runs) == []
        assert check_outages(workload, schedule, schedule.runs, outages, 0) == []
        assert schedule.outages is not None
        hit += len(schedule.outages.job)
        log = schedule.outages
        gone_on += sum(log.begin[i] > rows[log.row[i]].begin for i in np.flatnonzero(log.kind == DRAIN))
    assert hit > len(numbers) // 4
    assert gone_on > len(numbers) // 4  # nodes that were drained under a job, and left with its end


@numbers(60, 600)
@pytest.mark.parametrize("backfilling", ["none", "first-fit", "easy", "conservative", "slurm", "dras"])
def test_jobs_under_which_maintenance_is_announced_end_with_its_begin(backfilling: str, numbers: range) -> None:
    """They need none of the nodes that remain: these are free for others, for as long as they like."""
    across = 0
    for seed in numbers:
        rng = np.random.default_rng(seed)
        workload, rows = drawn_workload(rng, False, longest=40), drawn_windows(rng)
        rule = "fcfs" if backfilling == "dras" else sorted(KEYS)[rng.integers(3)]
        policy: Any = rule if backfilling == "none" else f"{rule}-{backfilling}"
        if backfilling == "slurm":
            policy = f"slurm-backfill:order={rule},interval={CYCLE},resolution=1"
        elif backfilling == "first-fit":
            policy = FirstFit(rule)
        elif backfilling == "dras":
            policy = ByChoice(workload)
        outages = Outages(tuple(rows))
        schedule = simulate(workload, policy, outages=outages)
        same(workload, schedule, PlainReplay(workload, rows, KEYS[rule], backfilling))
        assert schedule.runs is not None
        assert check_outages(workload, schedule, schedule.runs, outages, 0) == []
        assert schedule.outages is not None
        across += len(schedule.outages.job)
    assert across > len(numbers) // 3


POLICIES = [
    "fcfs",
    "fcfs-easy",
    "sjf-conservative",
    "wfp3-easy",
    "window:solver=dp",
    "window:solver=greedy,iterations=1000",
    "selection:solver=dot-product",
    "random",
    "nwp:period=600",
    "slurm-backfill",
    "slurm-backfill:order=wfp3,user_nodes=200",
]


@pytest.fixture(scope="module")
def lublin() -> Workload:
    return cut(read_swf("instances/workloads/lublin_5000.swf.gz"), 0, 150)


def stated(workload: Workload, on_failure: OnFailure = "requeue") -> Outages:
    end = int(workload.jobs.submit[-1])
    rows = (
        Outage("maintenance", end // 4, end // 4 + 20_000, 300, (), end // 8),
        Outage("maintenance", end // 2, end // 2 + 20_000, 256, ((0, 255),)),
        Outage("failure", end // 3, end // 3 + 5_000, 40),
        Outage("drain", end // 5, end // 5 + 30_000, 200),
        Outage("drain", 2 * end // 3, 2 * end // 3 + 10_000, 128, ((256, 383),)),
    )
    return Outages(rows, 2e8, 3600, on_failure)


@pytest.mark.parametrize("policy", POLICIES)
def test_no_way_of_deciding_keeps_nodes_free_for_a_job_on_nodes_of_a_window(policy: str) -> None:
    """Job 1 runs on nodes 0 to 49, which leave at 3000: the others run across that instant on those that stay."""
    jobs = [TracedJob(Job(1, 0, 50, 100_000), 100_000)]
    jobs += [TracedJob(Job(2 + i, 202, 1, 5000), 500) for i in range(10)]
    workload = Workload.of(jobs, Cluster(100), "by hand")
    outages = Outages((Outage("maintenance", 3000, 4000, 50, ((0, 49),), 100),))
    schedule = simulate(workload, policy, outages=outages)
    first = 600 if "period" in policy else 202
    assert schedule.start[1:].tolist() == [first] * 10
    assert schedule.outages is not None
    assert schedule.outages.job.tolist() == [0]


@pytest.mark.parametrize("policy", POLICIES)
def test_every_way_of_deciding_keeps_off_nodes_that_are_out(lublin: Workload, policy: str) -> None:
    outages = stated(lublin)
    schedule = simulate(lublin, policy, seed=3, outages=outages)
    assert schedule.runs is not None
    assert check_schedule(lublin, schedule) == []
    assert check_nodes(schedule, schedule.runs) == []
    assert check_outages(lublin, schedule, schedule.runs, outages, 3) == []
    assert simulate(lublin, policy, seed=3, outages=outages).outages == schedule.outages


@pytest.mark.parametrize(
    "allocator",
    [None, *(Allocator(spec) for spec in ("best-fit", "scas-dp", "sa:steps=20")), Allocator("best-fit", per_job=True)],
)
def test_nodes_of_a_tree_go_out_too(lublin: Workload, allocator: Allocator | None) -> None:
    cluster = replace(lublin.cluster, topology=FatTree.uniform(512, 16, 64))
    workload, outages = replace(lublin, cluster=cluster), stated(lublin)
    schedule = simulate(workload, "fcfs-easy", outages=outages, allocator=allocator)
    assert schedule.runs is not None
    assert check_nodes(schedule, schedule.runs) == []
    assert check_outages(workload, schedule, schedule.runs, outages, 0) == []
    assert check_spread(schedule, schedule.runs, PAPER) == []
    assert np.array_equal(schedule.start, simulate(lublin, "fcfs-easy", outages=outages).start) or allocator


def test_without_an_outage_nothing_changes(lublin: Workload) -> None:
    for policy in ("fcfs", "fcfs-easy", "sjf-conservative", "nwp:period=600"):
        assert simulate(lublin, policy, outages=Outages()) == simulate(lublin, policy)


def test_the_judge_sees_what_is_wrong(lublin: Workload) -> None:
    outages = stated(lublin)
    schedule = simulate(lublin, "fcfs-easy", outages=outages)
    log, runs = schedule.outages, schedule.runs
    assert log is not None
    assert runs is not None

    def wrong(**changes: Any) -> str:
        changed = replace(schedule, outages=replace(log, **changes))
        return " ".join(check_outages(lublin, changed, runs, outages, 0))

    assert "was not stated" in wrong(end=np.where((log.row == 0) | (log.kind == DRAIN), log.end, log.end + 1))
    one = np.arange(len(log.row)) == np.flatnonzero(log.row == 2)[0]
    assert "is not recorded" in wrong(**{name: getattr(log, name)[~one] for name in OUTAGE_COLUMNS})
    assert "none of its nodes" in wrong(stop=log.stop - 1)
    assert "is lost, but jobs are requeued" in wrong(lost=log.job[:1])
    assert wrong() == ""
    window = int(np.flatnonzero(log.row == 1)[0])  # no job can have held these nodes all along
    moved = np.maximum(schedule.start, log.begin[window])
    there = replace(schedule, start=moved, end=moved + lublin.runtime)
    assert "runs while its nodes" in " ".join(check_outages(lublin, there, runs, outages, 0))
    assert "recording has none" in check_outages(lublin, replace(schedule, outages=None), runs, outages, 0)[0]


def test_jobs_on_drained_nodes_go_on_and_none_starts_there() -> None:
    """Jobs 1 and 2 run on nodes 0 to 2 when 0 to 3 are drained; job 3 takes the only node that is left, job 4 waits."""
    told = [(1, 0, 2, 10, 10), (2, 0, 1, 30, 30), (3, 6, 1, 99, 9), (4, 7, 2, 5, 5), (5, 26, 3, 5, 5)]
    jobs = [TracedJob(Job(id_, submit, nodes, walltime), runtime) for id_, submit, nodes, walltime, runtime in told]
    workload = Workload.of(jobs, Cluster(5), "by hand")
    outages = Outages((Outage("drain", 5, 25, 4, ((0, 3),)), Outage("failure", 28, 29, 1, ((2, 2),))))
    schedule = simulate(workload, "fcfs-easy", outages=outages)
    log, runs = schedule.outages, schedule.runs
    assert log is not None
    assert runs is not None
    # Job 2 is not touched by the drain, and comes back after a failure of its node; jobs 4 and 5 wait for its end.
    assert dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True)) == {
        1: 0,
        2: 28,
        3: 6,
        4: 25,
        5: 30,
    }
    assert [nodes(runs, k) for k in range(5)] == [[0, 1], [3], [4], [0, 1], [0, 1, 2]]
    rows = list(zip(*(getattr(log, name).tolist() for name in OUTAGE_COLUMNS), strict=True))
    # Node 2 was held until after the drain: it was never out of service for it.
    assert rows == [(DRAIN, 0, 5, 25, 3, 3), (DRAIN, 0, 10, 25, 0, 1), (FAILURE, 1, 28, 29, 2, 2)]
    assert log.node_seconds(0, 100) == 20 + 2 * 15 + 1

    def wrong(**changes: Any) -> str:
        changed = replace(schedule, outages=replace(log, **changes))
        return " ".join(check_outages(workload, changed, runs, outages, 0))

    assert wrong() == ""
    assert "drains node 0: it is out of service from 9 s on, expected 10 s" in wrong(begin=np.array([5, 9, 28]))
    assert "drains node 0: it is out of service from 12 s on, expected 10 s" in wrong(begin=np.array([5, 12, 28]))
    assert "twice or not until its end" in wrong(end=np.array([25, 24, 29]))
    assert "drains node 2: it is out of service from 10 s on, expected never" in wrong(last=np.array([3, 2, 2]))
    keep = {name: getattr(log, name)[1:] for name in OUTAGE_COLUMNS}
    assert "drains node 3: it is never out of service, expected 5 s" in wrong(**keep)
    # Started on a drained node, as if nobody knew.
    early = replace(schedule, start=np.where(schedule.jobs.id == 4, 12, schedule.start))
    early = replace(early, end=early.start + workload.runtime)
    assert "job 4: runs while its nodes" in " ".join(check_outages(workload, early, runs, outages, 0))
    # A drain ends no job: an attempt that ended with one is an error.
    ended = replace(log, kind=np.array([DRAIN, DRAIN, DRAIN]), row=np.array([0, 0, 0]))
    assert "none of its nodes" in " ".join(check_outages(workload, replace(schedule, outages=ended), runs, outages, 0))


def test_the_law_draws_exponential_times_from_the_seed() -> None:
    outages = Outages(mtbf=86_400.0, mttr=7200.0)
    rows = np.concatenate([rows for _, (_, rows) in zip(range(40), failures(outages, 200, 100, 1), strict=False)])
    again = np.concatenate([rows for _, (_, rows) in zip(range(40), failures(outages, 200, 100, 1), strict=False)])
    assert np.array_equal(rows, again)
    begin, end, node = rows.T
    assert abs((end - begin).mean() / 7200 - 1) < 0.05
    expected = 200 * 40 * 86_400 / (86_400 + 7200)
    assert abs(len(rows) / expected - 1) < 0.05
    for each in range(200):
        mine = node == each
        assert (begin[mine][1:] >= end[mine][:-1]).all()
    other = next(failures(outages, 200, 100, 2))[1]
    assert not np.array_equal(other, next(failures(outages, 200, 100, 1))[1])


def test_a_job_that_could_never_end_is_an_error(lublin: Workload) -> None:
    with pytest.raises(PolicyError, match="interrupted 1000 times and would never end"):
        simulate(lublin, "fcfs-easy", outages=Outages(mtbf=3e5, mttr=60))


def test_other_event_rules_refuse_outages(lublin: Workload) -> None:
    with pytest.raises(SpecError, match="cqsim rules know no outages of nodes"):
        simulate(lublin, "fcfs", rules="cqsim", outages=Outages())
