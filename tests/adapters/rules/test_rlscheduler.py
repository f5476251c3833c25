"""RLScheduler's locked environment: reference starts and means, and a second, slow replay over lists."""

from __future__ import annotations

import csv
import gzip
import math
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.workloads import workloads
from transom.adapters.rules.locked_reading import LockedTrace, read_locked
from transom.adapters.rules.rlscheduler import RLScheduler
from transom.errors import PolicyError, SpecError
from transom.generate import generate_lublin
from transom.models import Cluster, Job, Window
from transom.simulation import Decision, Reservation, Schedule, simulate
from transom.simulation.core.schedule import BACKFILLED, READY, RESERVED
from transom.simulation.core.site_order import load_rule
from transom.simulation.event_rules import parse_rules
from transom.simulation.output.metrics import bounded_slowdown
from transom.simulation.output.verification import check_schedule
from transom.traces import TracedJob, Workload

STARTS = [1981, 2756, 4299, 8850, 3316, 2714, 5228, 7762, 4022, 7085]

# What the authors print: FCFS, WFP3, UNICEP, SJF, F1.
PUBLISHED = {
    ("lublin_256", ""): (7273.77, 19753.53, 22274.74, 277.35, 258.37),
    ("lublin_256", "-easy"): (235.82, 133.87, 307.23, 73.31, 75.07),
    ("SDSC-SP2", ""): (1727.54, 3000.88, 1848.45, 2680.55, 1232.06),
    ("SDSC-SP2", "-easy"): (1595.12, 1083.12, 548.01, 2167.84, 1098.22),
}

Score = Callable[[TracedJob, float, int], float]  # job, request [s], waiting time [s]


def _log(value: float) -> float:
    return math.log10(value if value > 0 else 0.1)


SCORES: dict[str, Score] = {
    "fcfs": lambda t, r, w: t.job.submit,
    "sjf": lambda t, r, w: r,
    "smallest": lambda t, r, w: t.job.nodes,
    "wfp3": lambda t, r, w: -((w / r) ** 3) * t.job.nodes,
    "unicep": lambda t, r, w: -(w + 1e-15) / (np.log2(t.job.nodes + 1e-15) * r),
    "f1": lambda t, r, w: _log(r) * t.job.nodes + 870 * _log(t.job.submit),
    "f2": lambda t, r, w: (math.sqrt(r) if r > 0 else math.nan) * t.job.nodes + 25600 * _log(t.job.submit),
    "f4": lambda t, r, w: r * math.sqrt(t.job.nodes) + 5.3e5 * _log(t.job.submit),
}


def plain_locked(workload: Workload, score: Score, easy: bool, published: bool, unasked: set[int]) -> dict[int, int]:
    """Start [s] per job id, with Python's lists and their stable sort."""
    coming = sorted((workload[i] for i in range(len(workload))), key=lambda t: t.job.id)
    request = {t.job.id: -1 if t.job.id in unasked else t.job.walltime for t in coming}
    start: dict[int, int] = {}
    running: list[TracedJob] = []
    queue = [coming.pop(0)]
    now, free = queue[0].job.submit, workload.cluster.num_nodes

    def step() -> None:
        nonlocal now, free
        running.sort(key=lambda t: start[t.job.id] + t.runtime)
        end = start[running[0].job.id] + running[0].runtime if running else math.inf
        if coming and coming[0].job.submit <= end:
            now = max(now, coming[0].job.submit)
            queue.append(coming.pop(0))
        else:
            now = max(now, int(end))
            free += running.pop(0).job.nodes

    def launch(t: TracedJob) -> None:
        nonlocal free
        queue.remove(t)
        running.append(t)
        start[t.job.id] = now
        free -= t.job.nodes

    while True:
        queue.sort(key=lambda t: score(t, request[t.job.id], (-1 if published else now) - t.job.submit))
        locked = queue[0]
        if easy and locked.job.nodes > free:
            running.sort(key=lambda t: start[t.job.id] + request[t.job.id])
            room, shadow = free, now
            for t in running:
                room += t.job.nodes
                shadow = start[t.job.id] + request[t.job.id]
                if room >= locked.job.nodes:
                    break
        while locked.job.nodes > free:
            if easy:
                queue.sort(key=lambda t: t.job.submit)
                for t in list(queue):
                    if now + request[t.job.id] < shadow and t.job.nodes <= free:
                        launch(t)
            step()
        launch(locked)
        while not queue:
            if not coming:
                return start
            step()


@st.composite
def locked_workloads(draw: st.DrawFn) -> tuple[Workload, set[int]]:
    """Small workloads with ids in any order, runtimes above walltimes, and the ids of jobs that ask for no time."""
    drawn = draw(workloads(max_jobs=20))
    ids = draw(st.permutations(range(1, len(drawn) + 1)))
    shift = draw(st.sampled_from([0, 1, 1000]))
    jobs = [
        TracedJob(Job(job, t.job.submit + shift, t.job.nodes, t.job.walltime), draw(st.integers(1, 15)))
        for job, t in zip(ids, drawn, strict=True)
    ]
    unasked = set(draw(st.lists(st.sampled_from(ids), max_size=2)))
    return Workload.of(jobs, drawn.cluster), unasked


def replayed(workload: Workload, policy: str, sign: str = "real", unasked: set[int] | None = None) -> Schedule:
    rules = RLScheduler(sign=sign, unasked="/".join(map(str, sorted(unasked or ()))))
    schedule = simulate(workload, policy, rules=rules)
    assert check_schedule(workload, schedule) == []
    assert sorted(schedule.order.tolist()) == list(range(len(workload)))
    assert schedule.decisions["started"].sum() == len(workload)
    assert schedule.decisions["backfilled"].sum() == (schedule.mode == BACKFILLED).sum()
    return schedule


@pytest.mark.parametrize("backfilling", ["", "-easy"])
@pytest.mark.parametrize("rule", SCORES)
@settings(max_examples=60)
@given(data=st.data())
def test_every_rule_equals_the_plain_replay(rule: str, backfilling: str, data: st.DataObject) -> None:
    workload, unasked = data.draw(locked_workloads())
    for sign in ("real", "published"):
        schedule = replayed(workload, rule + backfilling, sign, unasked)
        found = dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))
        assert found == plain_locked(workload, SCORES[rule], bool(backfilling), sign == "published", unasked)


@pytest.fixture(scope="module")
def traces(shared: Path) -> dict[str, LockedTrace]:
    """The two traces of the references."""
    files = {"lublin_256": "lublin_256", "SDSC-SP2": "SDSC-SP2-1998-4.2-cln"}
    return {name: read_locked(shared / "traces" / f"{file}.swf.gz") for name, file in files.items()}


def sequences(trace: LockedTrace, policy: str, published: bool, length: int = 1024) -> dict[int, Schedule]:
    unasked = "/".join(map(str, trace.unasked))
    rules = RLScheduler(sign="published" if published else "real", length=length, unasked=unasked)
    by_id = np.argsort(trace.workload.jobs.id)
    return {
        start: simulate(trace.workload.take(by_id[start : start + length]), policy, rules=rules)
        for start in rules.starts(len(trace.workload))
    }


@pytest.mark.reference
def test_every_mean_is_that_of_the_reference(shared: Path, traces: dict[str, LockedTrace]) -> None:
    expected: dict[tuple[str, str, str, int], dict[int, list[float]]] = defaultdict(dict)
    with open(shared / "reference" / "rlscheduler_means.csv", newline="") as file:
        for row in csv.DictReader(file):
            key = row["trace"], row["policy"], "-easy" if row["backfill"] == "1" else "", int(row["seq_len"])
            figures = [float(row[name]) for name in ("mean_bsld", "mean_wait", "makespan", "max_wait")]
            expected[key][int(row["start_index"])] = figures
    assert len(expected) == 60
    for (trace, policy, tail, length), rows in expected.items():
        rule, published = policy.removesuffix("_fixed").lower(), not policy.endswith("_fixed")
        found = {
            start: [
                bounded_slowdown(schedule).mean(),
                schedule.wait.mean(),
                schedule.end.max() - schedule.jobs.submit.min(),
                schedule.wait.max(),
            ]
            for start, schedule in sequences(traces[trace], rule + tail, published, length).items()
        }
        assert list(found) == list(rows)
        np.testing.assert_allclose(list(found.values()), list(rows.values()), rtol=1e-12, err_msg=f"{trace} {policy}")


@pytest.mark.reference
@pytest.mark.parametrize(("trace", "tail"), PUBLISHED)
def test_the_published_means_to_two_decimals(traces: dict[str, LockedTrace], trace: str, tail: str) -> None:
    for rule, figure in zip(("fcfs", "wfp3", "unicep", "sjf", "f1"), PUBLISHED[trace, tail], strict=True):
        schedules = sequences(traces[trace], rule + tail, published=True).values()
        assert round(float(np.mean([bounded_slowdown(each).mean() for each in schedules])), 2) == figure


@pytest.mark.reference
def test_no_start_differs_from_the_reference(shared: Path, traces: dict[str, LockedTrace]) -> None:
    expected: dict[tuple[str, str], dict[int, dict[int, tuple[int, int]]]] = defaultdict(lambda: defaultdict(dict))
    with gzip.open(shared / "reference" / "rlscheduler_jobs_SDSC-SP2.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            key = row["policy"], "-easy" if row["backfill"] == "1" else ""
            begun = int(row["start_time"]), int(row["sched_order"])
            expected[key][int(row["start_index"])][int(row["job_id"])] = begun
    assert sum(len(jobs) for each in expected.values() for jobs in each.values()) == 61_440
    for (policy, tail), by_start in expected.items():
        rule, published = policy.removesuffix("_fixed").lower(), not policy.endswith("_fixed")
        schedules = sequences(traces["SDSC-SP2"], rule + tail, published)
        for start, jobs in by_start.items():
            each = schedules[start]
            begun = zip(each.start.tolist(), each.order.tolist(), strict=True)
            assert dict(zip(each.jobs.id.tolist(), begun, strict=True)) == jobs, (policy, tail, start)


def test_sequences_begin_where_the_published_ones_do() -> None:
    assert parse_rules("rlscheduler").starts(10_000) == STARTS
    assert RLScheduler().starts(59_705) == STARTS, "only the first 10,000 jobs count"
    assert RLScheduler(length=256, sequences=3).starts(10_000) == [9405, 8400, 1988]
    other = RLScheduler(seed=2, sequences=200, length=10, first=100)
    assert other.starts(500) == other.starts(100)
    assert set(other.starts(100)) <= set(range(10, 89))
    assert {10, 88} <= set(other.starts(100))
    with pytest.raises(SpecError, match="sequences of 1024 need > 2049 jobs, got 2049"):
        RLScheduler().starts(2049)


def test_the_picked_job_is_locked() -> None:
    # Job 2 is picked at 1 s, alone; the short job 3 comes while it waits and has to wait with it.
    jobs = [TracedJob(Job(1, 0, 3, 20), 10), TracedJob(Job(2, 1, 4, 9), 9), TracedJob(Job(3, 2, 1, 5), 5)]
    workload = Workload.of(jobs, Cluster(4))
    locked, free = replayed(workload, "sjf"), simulate(workload, "sjf")
    assert locked.start.tolist() == [0, 10, 19]
    assert free.start.tolist() == [0, 10, 2]
    assert locked.mode.tolist() == [READY, READY, READY]
    filled = replayed(workload, "sjf-easy")
    assert filled.start.tolist() == [0, 10, 2]
    assert filled.mode.tolist() == [READY, RESERVED, BACKFILLED]
    # Every step of the locked job is a row: the arrival of job 3, and the two ends until it fits.
    assert filled.decisions["time"].tolist() == [0, 1, 2, 7, 10]
    assert filled.decisions["reserved_job"].tolist() == [-1, 2, 2, 2, -1]
    assert filled.decisions["reserved_start"].tolist() == [-1, 20, 20, 20, -1]
    # Strictly before the shadow time: at 2 s, 18 s would end at 20 s and not be backfilled.
    late = Workload.of([*jobs[:2], TracedJob(Job(3, 2, 1, 18), 5)], Cluster(4))
    assert replayed(late, "sjf-easy").start.tolist() == [0, 10, 19]


def test_one_arrival_is_admitted_before_the_next_pick() -> None:
    # Both arrive at 5 s at an empty queue: the first is picked and started before the other is seen.
    jobs = [TracedJob(Job(1, 5, 4, 100), 100), TracedJob(Job(2, 5, 4, 1), 1)]
    workload = Workload.of(jobs, Cluster(4))
    assert replayed(workload, "sjf").start.tolist() == [5, 105]
    assert simulate(workload, "sjf").start.tolist() == [6, 5]


def test_the_wrong_sign_ranks_the_other_way_round() -> None:
    # Jobs 1 and 2 run; jobs 3 and 4 wait alike, and the shorter one ought to go first.
    jobs = [TracedJob(Job(i, s, 4, r), r) for i, s, r in ((1, 1, 50), (2, 2, 50), (3, 30, 10), (4, 30, 20))]
    workload = Workload.of(jobs, Cluster(4))
    for rule in ("wfp3", "unicep"):
        assert replayed(workload, rule, "real").start.tolist() == [1, 51, 101, 111]
        assert replayed(workload, rule, "published").start.tolist() == [1, 51, 121, 101]
    assert simulate(workload, "wfp3", rules="rlscheduler:sign=published").rules == "rlscheduler:sign=published"
    assert simulate(workload, "wfp3", rules="rlscheduler").rules == "rlscheduler"


def test_traces_are_read_by_its_job_rules(tmp_path: Path) -> None:
    lines = ["; MaxProcs: 8"]
    # id submit wait run allocated cpu memory requested-size requested-time memory status user ... preceding, think
    for job, submit, run, allocated, size, time, parent in (
        (4, 10, 100, 2, 4, 50, -1),  # larger size, runs on above its request
        (2, 30, -1, 3, 1, 60, -1),  # unknown runtime, id before the others
        (5, 40, 7, -1, 1, -1, 4),  # request from the runtime; its parent does not count
        (6, 50, -1, 1, 1, -1, -1),  # neither
        (7, 60, 0, 1, 1, 9, -1),  # runtime 0
        (8, 70, 5, 9, 9, 9, -1),  # larger than the machine
    ):
        lines.append(f"{job} {submit} -1 {run} {allocated} -1 -1 {size} {time} -1 1 1 1 1 1 1 {parent} -1")
    path = tmp_path / "odd.swf"
    path.write_text("\n".join(lines) + "\n")
    workload, unasked = read_locked(path)
    assert workload.name == "odd"
    assert workload.cluster.num_nodes == 8
    assert workload.jobs.id.tolist() == [4, 2, 5, 6]
    assert workload.jobs.nodes.tolist() == [4, 3, 1, 1]
    assert workload.runtime.tolist() == [100, 10, 7, 10]
    assert workload.jobs.walltime.tolist() == [50, 60, 7, 10]
    assert not workload.jobs.depends_on
    assert unasked == (6,)
    assert workload.repairs == {
        "left out: runtime unknown or <= 0": 1,
        "left out: larger than the machine": 1,
        "runtime above the walltime, kept": 1,
        "runtime below 0, taken for 10 s": 2,
        "walltime taken from the runtime": 1,
        "neither requested time nor runtime": 1,
        "dependency dropped: rlscheduler knows none": 1,
    }
    # They arrive by id: job 2 first, although job 4 was submitted before it.
    assert replayed(workload, "fcfs", unasked={6}).order.tolist() == [1, 0, 2, 3]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rlscheduler:sign=wrong", "rlscheduler:sign: expected real|published, got 'wrong'"),
        ("rlscheduler:sequences=0", "sequences must be > 0, got 0"),
        ("rlscheduler:seed=-1", "seed must be >= 0, got -1"),
        ("rlscheduler:length=5000", "first must be > 10001, twice the length \\+ 1, got 10000"),
        ("rlscheduler:unasked=3/x", "unasked must be ids with slashes between, got '3/x'"),
        ("rlscheduler:size=3", "has no parameter 'size'"),
    ],
)
def test_bad_specifications_are_refused(text: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        parse_rules(text)


def test_policies_that_it_cannot_replay_are_refused() -> None:
    workload = Workload.of([TracedJob(Job(1, 0, 1, 5), 5)], Cluster(4))
    for policy in ("sjf-conservative", "nwp"):
        with pytest.raises(SpecError, match=f"take no policy by period or with -conservative, got '{policy}'"):
            simulate(workload, policy, rules="rlscheduler")


class Picking:
    """Picks the job of the highest id that it sees, and remembers what it was shown."""

    def __init__(self) -> None:
        self.windows: list[Window] = []

    def pick(self, window: Window) -> int:
        self.windows.append(window)
        return int(window.queue.id.max())

    def decide(self, window: Window, /) -> Decision:
        raise AssertionError("pick comes first")


def test_other_policies_pick_one_of_the_first_128_and_it_is_locked() -> None:
    # Job 1 holds the machine for 1,000 s; job 2 is locked next, while 298 others arrive.
    jobs = [TracedJob(Job(1, 0, 4, 1000), 1000)] + [TracedJob(Job(i, i, 4, 10), 10) for i in range(2, 301)]
    policy = Picking()
    schedule = simulate(Workload.of(jobs, Cluster(4)), policy, rules="rlscheduler")
    assert schedule.jobs.id[np.argsort(schedule.order)].tolist()[:4] == [1, 2, 130, 131]
    assert [len(each.queue) for each in policy.windows[:4]] == [1, 1, 128, 128]
    assert policy.windows[2].queue.id.tolist() == list(range(3, 131))
    assert schedule.order.max() == 299


@settings(max_examples=30)
@given(locked_workloads(), st.sampled_from(["fcfs", "sjf", "f1"]), st.booleans())
def test_a_policy_that_starts_the_first_of_a_rule_replays_as_the_rule(
    drawn: tuple[Workload, set[int]], rule: str, easy: bool
) -> None:
    class First:
        def decide(self, window: Window, /) -> Decision:
            scores = load_rule(rule)(window.queue, window.now, 0)
            return Decision(reserve=(Reservation(int(window.queue.id[scores.argmin()]), window.now + 1),))

    workload = drawn[0]
    own = simulate(workload, First(), rules=f"rlscheduler:backfill={'easy' if easy else 'none'}")
    start = replayed(workload, f"{rule}-easy" if easy else rule).start
    # Of equal scores the rule takes the first of an earlier sort, this policy the first by submission; and so does
    # backfilling of jobs that were submitted at one instant.
    keys = [load_rule(rule)(workload.jobs, 0, 0), *([workload.jobs.submit] if easy else [])]
    if all(len(set(key.tolist())) == len(workload) for key in keys):
        assert own.start.tolist() == start.tolist()


def test_a_policy_may_not_pick_what_it_does_not_see() -> None:
    class Wrong(Picking):
        def pick(self, window: Window) -> int:
            return 99

    workload = Workload.of([TracedJob(Job(1, 0, 1, 5), 5)], Cluster(4))
    with pytest.raises(PolicyError, match="picked job 99, which is not among the 1 that it was shown"):
        simulate(workload, Wrong(), rules="rlscheduler")


@pytest.mark.parametrize("policy", ["random", "window", "multisched", "largest-first", "dras-pg:anywhere=yes"])
def test_learned_and_optimising_policies_replay(policy: str) -> None:
    workload = generate_lublin(60, 32, np.random.default_rng(2), load=1.2)
    for backfill in ("none", "easy"):
        schedule = simulate(workload, policy, rules=f"rlscheduler:backfill={backfill}", seed=3)
        assert check_schedule(workload, schedule) == []
        assert (schedule.mode == BACKFILLED).any() == (backfill == "easy")
        assert schedule.rules == ("rlscheduler" if backfill == "none" else "rlscheduler:backfill=easy")


def test_sequences_that_begin_late() -> None:
    starts = RLScheduler(sequences=200, length=10, first=100, after=60).starts(500)
    assert set(starts) <= set(range(60, 89))
    assert {60, 88} <= set(starts)
    with pytest.raises(SpecError, match="sequences of 10 after 90 need > 101 jobs, got 100"):
        RLScheduler(length=10, first=100, after=90).starts(500)
