"""The rule ``bounded``: its order, and jobs that are overdue come first, among them first come, first served."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.amounts import numbers
from tests.simulation.passes.test_conservative_backfill import random_workload
from tests.simulation.plain_outages import CYCLE, PlainReplay
from tests.simulation.plain_replay import replay
from tests.simulation.test_outages import drawn_outages, drawn_workload, same
from tests.simulation.workloads import workloads
from transom.errors import SpecError
from transom.models import Window
from transom.simulation import Decision, RulePolicy, make_policy, simulate
from transom.simulation.core.due_times import due_in
from transom.simulation.core.promise_log import PromiseLog, promises_in_force
from transom.simulation.core.replay import Replay
from transom.simulation.output.verification import check_schedule
from transom.simulation.passes.continued import Continued
from transom.simulation.passes.rule_replay import run_rule
from transom.simulation.snapshots import snapshots
from transom.traces import TracedJob, Workload, cut, read_swf
from transom.traces.outages import Outages

LUBLIN = "instances/workloads/lublin_5000.swf.gz"
BACKFILLING = ("none", "easy", "conservative")


def starts(workload: Workload, policy: Any) -> dict[int, int]:
    schedule = simulate(workload, policy)
    assert check_schedule(workload, schedule) == []
    return dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))


class Due:
    """Due times by brute force, and the order that follows."""

    def __init__(self, backlogs: float, longest: int = 10**9) -> None:
        self.backlogs, self.longest = backlogs, longest
        self.due: dict[int, int] = {}
        self.late = 0

    def look(self, now: int, nodes: int, queue: list[TracedJob], running: list[tuple[TracedJob, int]]) -> None:
        work = sum(t.job.walltime * t.job.nodes for t in queue)
        work += sum(max(start + t.job.walltime - now, 0) * t.job.nodes for t, start in running)
        for t in queue:
            self.due.setdefault(t.job.id, now + int(self.backlogs * (work / nodes)) if nodes else 2**62)

    def key(self, t: TracedJob, now: int) -> tuple[float, ...]:
        if now > self.due[t.job.id] or now - t.job.submit > self.longest:
            self.late += 1
            return (0,)
        return 1, -((now - t.job.submit) / t.job.walltime + 2.0) / float(np.cbrt(t.job.nodes))


@pytest.mark.parametrize("backfilling", BACKFILLING)
@settings(max_examples=30)
@given(data=st.data())
def test_equals_the_brute_force_replay(backfilling: Any, data: st.DataObject) -> None:
    workload = data.draw(
        st.one_of(workloads(), workloads(resources=2), workloads(dependencies=True), workloads(max_jobs=20))
    )
    backlogs, longest = data.draw(st.sampled_from([0.1, 0.5, 1.5])), data.draw(st.sampled_from([5, 20, 10**9]))
    plain, nodes = Due(backlogs, longest), workload.cluster.num_nodes
    expected = replay(workload, plain.key, backfilling, lambda now, queue, runs: plain.look(now, nodes, queue, runs))
    assert starts(workload, RulePolicy(f"bounded:backlogs={backlogs},max_wait={longest}", backfilling)) == expected


@numbers(30, 200)
@pytest.mark.parametrize("backfilling", [*BACKFILLING, "slurm"])
def test_equals_a_brute_force_with_outages(backfilling: str, numbers: range) -> None:
    late = 0
    for seed in numbers:
        rng = np.random.default_rng(seed)
        workload = drawn_workload(rng, backfilling != "conservative" and rng.random() < 0.5)
        rows = drawn_outages(rng)
        rule = "bounded:backlogs=0.5"
        policy = make_policy(f"slurm-backfill:order=[{rule}],interval={CYCLE},resolution=1")
        schedule = simulate(
            workload, policy if backfilling == "slurm" else RulePolicy(rule, backfilling), outages=Outages(tuple(rows))
        )
        due, plain = Due(0.5), PlainReplay(workload, rows, lambda t: (), backfilling)
        seen = -1

        def key(t: TracedJob, due: Due = due, plain: PlainReplay = plain) -> tuple[float, ...]:
            nonlocal seen
            if seen != plain.now:
                seen = plain.now
                queue = [each for each in plain.jobs if plain.waits(each)]
                running = [(plain.by_id[job], start) for job, start in plain.running.items()]
                nodes = len(plain.all_nodes) - len(plain.out())
                work = sum(each.job.walltime * each.job.nodes for each in queue)
                work += sum((plain.expected(each.job.id) - plain.now) * each.job.nodes for each, _ in running)
                for each in queue:
                    at = plain.now + int(0.5 * (work / nodes)) if nodes else 2**62
                    due.due.setdefault(each.job.id, at)
            return due.key(t, plain.now)

        plain.key = key
        same(workload, schedule, plain)
        late += due.late
    assert late > 10


@pytest.mark.parametrize("backfilling", BACKFILLING)
def test_due_times_are_known_from_starts_and_ends(backfilling: Any) -> None:
    rng = np.random.default_rng(3)
    cases = [random_workload(rng, most) for most in (1, 20, 60, 120)] + [cut(read_swf(LUBLIN), 0, 600)]
    for workload in cases:
        going = Replay(workload, "bounded")
        run_rule(going, backfilling, lambda started: None)
        assert going.order is not None
        state = going.state.jobs
        schedule = going.schedule("bounded", {})
        assert (state[:, 3] >= 0).all()
        found = due_in(1.5, workload.jobs, schedule.start, schedule.end, workload.cluster.num_nodes)
        assert found.tolist() == going.order.due.due.tolist()
    late = (schedule.start > found).sum()
    assert late > 0


def test_jobs_with_parents_are_due_from_when_these_ended() -> None:
    rng = np.random.default_rng(5)
    for _ in range(30):
        workload = drawn_workload(rng, True)
        going = Replay(workload, "bounded")
        run_rule(going, "easy", lambda started: None)
        assert going.order is not None
        schedule = going.schedule("bounded", {})
        found = due_in(1.5, workload.jobs, schedule.start, schedule.end, workload.cluster.num_nodes)
        assert found.tolist() == going.order.due.due.tolist()


@pytest.mark.parametrize("tail", ["", "-easy", "-conservative"])
def test_a_continued_replay_is_the_whole_one(tail: str) -> None:
    workload = cut(read_swf(LUBLIN), 0, 600)
    made, log = make_policy(f"bounded{tail}:backlogs=0.2"), PromiseLog()
    assert isinstance(made, RulePolicy)
    schedule = simulate(workload, made, promises=log)
    due = due_in(0.2, workload.jobs, schedule.start, schedule.end, workload.cluster.num_nodes)
    assert (schedule.start > due).sum() > 20
    times = schedule.decisions["time"]
    for row in range(100, len(times), len(times) // 6):
        now, left = int(times[row]), np.flatnonzero(schedule.end >= times[row])
        part = workload.take(left)
        started = np.where(schedule.start[left] < now, schedule.start[left], -1)
        promised = promises_in_force(log.pieces(), row - 1)
        begins = np.array([promised.get(job, -1) for job in part.jobs.id.tolist()])
        known = np.where(part.jobs.submit < now, due[left], -(2**62))
        going = Continued(part, made.rule, made.backfilling, now, started, begins)
        going.know_due(known)
        found = going.starts(np.tile(part.runtime, (2, 1)), np.arange(len(part)))
        assert (found == schedule.start[left]).all()


class InPython:
    """EASY or no backfilling over the queue of each window."""

    def __init__(self, tail: str, period: int | None = None) -> None:
        self.order, self.period = "bounded:backlogs=0.5", period
        self._inner = make_policy(f"fcfs{tail}")

    def decide(self, window: Window, /) -> Decision:
        return self._inner.decide(window)


@pytest.mark.parametrize("tail", ["", "-easy"])
def test_windows_have_the_order_of_the_engine(tail: str) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        workload = random_workload(rng, 60)
        expected = simulate(workload, f"bounded{tail}:backlogs=0.5")
        assert simulate(workload, InPython(tail)).start.tolist() == expected.start.tolist()
        rows = Outages(tuple(drawn_outages(rng)))
        workload = drawn_workload(rng, False)
        expected = simulate(workload, f"bounded{tail}:backlogs=0.5", outages=rows)
        if not tail:  # EASY over a window knows less of outages, under any rule
            assert simulate(workload, InPython(tail), outages=rows).start.tolist() == expected.start.tolist()


@pytest.mark.parametrize("setting", ["", ",max_wait=3h"])
def test_snapshots_have_the_order_of_the_engine(setting: str) -> None:
    workload, rule = cut(read_swf(LUBLIN), 0, 600), f"bounded:backlogs=0.2{setting}"
    seen: dict[int, list[int]] = {}

    class Seen(InPython):
        def decide(self, window: Window, /) -> Decision:
            seen[window.now] = window.queue.id.tolist()
            return super().decide(window)

    policy = Seen("-easy")
    policy.order = rule
    schedule = simulate(workload, policy)
    cuts = list(snapshots(schedule, 3600, rule, workload=workload))
    assert len(cuts) > 50
    for window in cuts:
        assert window.queue.id.tolist() == seen[window.now]


def test_jobs_wait_less_for_the_bound() -> None:
    workload = read_swf(LUBLIN)
    longest = {
        policy: int(simulate(workload, policy).wait.max())
        for policy in ("saf-easy", "bounded-easy:backlogs=1000", "bounded-easy", "bounded-easy:backlogs=0.5")
    }
    saf, never, usual, soon = longest.values()
    assert saf > never > usual > soon


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        ("bounded-easy:backlogs=0", "backlogs must be > 0"),
        ("bounded:backlogs=nan", "backlogs must be > 0"),
        ("bounded:head_start=-1", "head_start must be from 0"),
        ("bounded:slack=2", "no parameter 'slack'"),
    ],
)
def test_settings_out_of_range_are_refused(policy: str, says: str) -> None:
    with pytest.raises(SpecError, match=says) as refused:
        make_policy(policy)
    assert "\n" not in str(refused.value)


def test_rules_of_other_programs_know_no_backlog() -> None:
    workload = cut(read_swf(LUBLIN), 0, 20)
    for rules in ("cqsim", "rlscheduler"):
        with pytest.raises(SpecError, match=f"{rules} rules know no backlog, not 'bounded-easy'"):
            simulate(workload, "bounded-easy", rules=rules)
