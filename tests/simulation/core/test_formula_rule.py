"""Rules by formula: the rules that the documentation states as texts, and what formulas know of a replay."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.amounts import numbers
from tests.simulation.passes.test_conservative_backfill import random_workload
from tests.simulation.plain_outages import PlainReplay
from tests.simulation.test_outages import drawn_outages, drawn_workload, same
from transom import registry
from transom.errors import SpecError
from transom.models import Cluster, Job, JobTable, Window
from transom.models.job import PRIORITY, USER
from transom.simulation import Decision, RulePolicy, make_policy, simulate
from transom.simulation.core.events import END, NOW, QUEUED, START
from transom.simulation.core.formula_rule import Formula
from transom.simulation.core.formula_scores import USER_NODES, USER_USE
from transom.simulation.core.replay import Replay
from transom.simulation.core.schedule import COLUMNS
from transom.simulation.core.site_order import load_rule
from transom.simulation.output.verification import check_schedule
from transom.simulation.passes.continued import Continued
from transom.simulation.passes.rule_replay import run_rule
from transom.simulation.policies.clocks import clock_of
from transom.traces import TracedJob, Workload, cut, read_swf
from transom.traces.outages import Outages

PAGE = (Path(__file__).parents[3] / "docs/replay.md").read_text()
TEXTS: dict[str, str] = {
    name: text
    for name, text in re.findall(r"^\| `([a-z0-9-]+)` \| `([^`]+)` \|$", PAGE, re.MULTILINE)
    if name in registry.names(registry.PRIORITY_RULES)
}


def test_every_named_rule_has_a_text() -> None:
    assert {*TEXTS, "formula", "bounded"} == {*registry.names(registry.PRIORITY_RULES)}


@numbers(6, 200)
@pytest.mark.parametrize("name", TEXTS)
def test_each_text_is_its_rule(name: str, numbers: range) -> None:
    for seed in numbers:
        workload = random_workload(np.random.default_rng(seed), 120)
        backfilling: Any = ("none", "easy", "conservative")[seed % 3]
        rule, formula = (simulate(workload, RulePolicy(of, backfilling)) for of in (name, Formula(TEXTS[name])))
        assert formula.start.tolist() == rule.start.tolist()
        assert formula.mode.tolist() == rule.mode.tolist()


@pytest.mark.reference
@pytest.mark.parametrize("trace", ["theta_2022", "KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln"])
@pytest.mark.parametrize("name", ["saf", "wfp3", "unicep", "f1"])
def test_texts_are_their_rules_on_traces(shared: Path, trace: str, name: str) -> None:
    workload = read_swf(shared / "traces" / f"{trace}.swf.gz")
    formula = simulate(workload, f"formula-easy:score=[{TEXTS[name]}]")
    assert formula.start.tolist() == simulate(workload, f"{name}-easy").start.tolist()


def with_users(workload: Workload, rng: np.random.Generator) -> Workload:
    data = workload.jobs.data.copy()
    data[:, USER] = rng.integers(0, 3, len(data))
    return Workload("users", workload.cluster, JobTable(data, workload.jobs.depends_on), workload.runtime)


OF_NOW: dict[str, Callable[[Any, PlainReplay], float]] = {
    "user_nodes - nodes / 16": lambda t, now: (
        sum(now.by_id[j].job.nodes for j in now.running if now.by_id[j].job.user == t.job.user) - t.job.nodes / 16
    ),
    "nodes * free_nodes - 3 * walltime": lambda t, now: t.job.nodes * len(now.idle()) - 3 * t.job.walltime,
    "nodes * queue_length - 3 * walltime": lambda t, now: (
        t.job.nodes * sum(map(now.waits, now.jobs)) - 3 * t.job.walltime
    ),
    "max(wait, 5) * nodes - walltime": lambda t, now: max(now.now - t.job.submit, 5) * t.job.nodes - t.job.walltime,
}


@numbers(20, 200)
@pytest.mark.parametrize("text", OF_NOW)
@pytest.mark.parametrize("backfilling", ["none", "easy", "conservative"])
def test_what_is_known_of_now_is_what_a_brute_force_sees(text: str, backfilling: Any, numbers: range) -> None:
    for seed in numbers:
        rng = np.random.default_rng(seed)
        workload = with_users(drawn_workload(rng, False), rng)
        rows = drawn_outages(rng) if seed % 2 else []
        longest = int(rng.integers(5, 20))
        rule = f"formula:score=[{text}]" + f",max_wait={longest}" * (seed % 3 == 0)
        schedule = simulate(workload, RulePolicy(rule, backfilling), outages=Outages(tuple(rows)))
        assert check_schedule(workload, schedule) == []
        plain = PlainReplay(workload, rows, lambda t: (), backfilling)

        def key(t: Any, plain: PlainReplay = plain, longest: int = longest, bounded: bool = seed % 3 == 0) -> Any:
            if bounded and plain.now - t.job.submit > longest:
                return (0,)
            return (1, OF_NOW[text](t, plain))

        plain.key = key
        same(workload, schedule, plain)
        if not rows:
            compiled = simulate(workload, RulePolicy(rule, backfilling))
            assert compiled.start.tolist() == schedule.start.tolist()


def test_long_queues_tell_users_of_like_jobs_apart() -> None:
    rng, n = np.random.default_rng(4), 320  # more than the queue from which on jobs that are alike count as one kind
    jobs = [Job(1 + i, 0, int(size), 40, user=int(user)) for i, (size, user) in enumerate(rng.integers(1, 4, (n, 2)))]
    workload = Workload("long", Cluster(8), JobTable.of(jobs), rng.integers(5, 40, n))
    schedule = simulate(workload, "formula:score=[user_nodes * 100 + nodes]")
    plain = PlainReplay(workload, [], lambda t: (), "none")

    def key(t: Any) -> Any:
        of_user = sum(plain.by_id[j].job.nodes for j in plain.running if plain.by_id[j].job.user == t.job.user)
        return (100 * of_user + t.job.nodes,)

    plain.key = key
    starts = plain.replay().start
    assert schedule.start.tolist() == [starts[job] for job in workload.jobs.id.tolist()]


@pytest.mark.parametrize("outages", [False, True])
def test_use_decays_as_it_should(outages: bool) -> None:
    compared, half_life = 0, 25.0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        workload = with_users(drawn_workload(rng, False, longest=40), rng)
        seen = Seen(f"formula:score=[user_use + 0 * user_nodes],half_life={half_life}")
        simulate(workload, seen, outages=Outages(tuple(drawn_outages(rng))) if outages else None)
        attempts: list[tuple[int, int, int]] = []  # job, start and end, -1 as long as it runs
        for at in seen.passes:
            for k, (job, start, end) in enumerate(attempts):
                if end < 0 and at.starts[job] != start:
                    attempts[k] = job, start, at.now  # a node failed, and it waits again
                elif end < 0 and at.ends[job] >= 0:
                    attempts[k] = job, start, at.ends[job]
            for user in range(len(at.use)):
                own = [each for each in attempts if workload.jobs.user[each[0]] == seen.users[user]]
                wanted = 0.0
                for job, start, end in own:
                    times = np.arange(start, at.now if end < 0 else end, 1 / 64) + 1 / 128
                    wanted += float(workload.jobs.nodes[job] * (0.5 ** ((at.now - times) / half_life)).sum() / 64)
                assert at.use[user] == pytest.approx(wanted, rel=1e-4, abs=1e-9)
                assert at.nodes[user] == sum(workload.jobs.nodes[job] for job, _, end in own if end < 0)
                compared += wanted > 0
            attempts += [(job, at.now, -1) for job in at.started]
    assert compared > 100


class Pass(NamedTuple):
    """A pass: starts and ends of jobs before it, which it starts, and what the formula knows of each user."""

    now: int
    starts: list[int]
    ends: list[int]
    started: list[int]
    use: list[float]
    nodes: list[float]


class Seen:
    """Starts the queue in order while it fits, and takes down what the formula knows."""

    def __init__(self, order: str) -> None:
        self.order = order
        self.passes: list[Pass] = []
        self.users: list[int] = []

    def decide(self, window: Window, /) -> Decision:
        raise AssertionError("whole replays alone")

    def run(self, replay: Replay, report: Any) -> dict[str, Any]:
        log, plain = np.empty(len(COLUMNS), np.int64), make_policy("fcfs")
        self.users = np.unique(replay.jobs.user).tolist()
        while replay.advance():
            assert replay.order is not None
            program, s = replay.order.program, replay.state
            assert program is not None
            assert program.shared.tolist() == [s.at[QUEUED], s.free[0]]
            now, starts, ends = int(s.at[NOW]), s.jobs[:, START].tolist(), s.jobs[:, END].tolist()
            use, nodes = program.of_user[USER_USE].tolist(), program.of_user[USER_NODES].tolist()
            replay.apply(plain.decide(replay.window()), log)
            started = np.flatnonzero((s.jobs[:, START] == now) & (np.array(starts) < 0)).tolist()
            self.passes.append(Pass(now, starts, ends, started, use, nodes))
        return {name: np.empty(0, np.int64) for name in COLUMNS}


def by_hand(submits: list[int], **stated: list[int]) -> Workload:
    rows = np.full((len(submits), 6), -1)
    rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3] = range(1, len(submits) + 1), submits, 1, 10
    for name, column in {"nodes": 2, "walltime": 3, "user": USER, "priority": PRIORITY}.items():
        rows[:, column] = stated.get(name, rows[:, column].tolist())
    return Workload("by hand", Cluster(4), JobTable(rows), rows[:, 3])


def order_of(workload: Workload, score: str) -> list[int]:
    """The order in which jobs start on a machine of four nodes, of which each job asks for all."""
    return workload.jobs.id[np.argsort(simulate(workload, f"formula:score=[{score}]").order)].tolist()


def test_the_hour_and_the_day_are_those_of_the_trace() -> None:
    day = 86_400
    workload = by_hand([5 * 3600, day + 3 * 3600, 7 * day + 4 * 3600, 8 * day - 1], nodes=[4] * 4)
    rule = Formula("hour")
    assert rule(workload.jobs, 0, 0).tolist() == [5, 3, 4, 23]
    assert Formula("weekday")(workload.jobs, 0, 0).tolist() == [0, 1, 0, 0]
    assert rule.timeless


def test_jobs_without_a_score_come_last_and_are_counted() -> None:
    workload = by_hand([0] * 5, nodes=[4] * 5, walltime=[50, 40, 30, 20, 10])
    assert order_of(workload, "walltime") == [5, 4, 3, 2, 1]
    schedule = simulate(workload, "formula:score=[walltime / (walltime - 30) + log(walltime - 15)]")
    assert schedule.start[[2, 4]].tolist() == [110, 140]
    assert [each.text for each in schedule.diagnostics[len(workload.diagnostics) :]] == [
        "2 jobs without a finite score by the formula, the first is job 3: they come last"
    ]
    timed = simulate(workload, "formula-easy:score=[log(120 - wait - walltime) - wait]")
    assert [each.short for each in timed.diagnostics[len(workload.diagnostics) :]] == ["2 jobs without a finite score"]
    assert simulate(workload, "formula:score=[walltime]").diagnostics == workload.diagnostics


def test_what_the_workload_states_can_be_named() -> None:
    jobs = [TracedJob(Job(k, 0, 4, 10, (6 - k, k % 2), priority=k % 3), 10) for k in range(1, 6)]
    workload = Workload.of(jobs, Cluster(4, ("bb", "gpu:a100"), (9, 9)), "by hand")
    assert order_of(workload, "bb") == [5, 4, 3, 2, 1]
    assert order_of(workload, "gpu_a100 * 10 - bb") == [2, 4, 1, 3, 5]
    assert order_of(workload, "-priority") == [2, 5, 1, 4, 3]


def test_what_a_file_states_can_be_named(tmp_path: Path) -> None:
    lines = [f"{k} 0 0 10 4 -1 -1 4 10 -1 1 {k % 2} 1 -1 {5 - k} {k % 3} -1 -1" for k in range(1, 5)]
    (tmp_path / "t.swf").write_text("; MaxNodes: 4\n; MaxProcs: 4\n" + "\n".join(lines) + "\n")
    workload = read_swf(tmp_path / "t.swf")
    assert order_of(workload, "queue") == [4, 3, 2, 1]
    assert order_of(workload, "partition") == [3, 1, 4, 2]
    part = cut(workload, 0, 3)
    assert order_of(part, "queue - 0 * wait") == [3, 2, 1]


@pytest.mark.parametrize(
    ("score", "says"),
    [
        ("wall_time", r"unknown name in a formula 'wall_time'; did you mean 'walltime'\?"),
        ("bb", "unknown name in a formula 'bb'"),
        ("user_use", "formula: user_use: the trace states no users"),
        ("wait + user_nodes", "formula: user_nodes: the trace states no users"),
        ("cores", "formula: cores: the trace states none"),
        ("priority", "formula: priority: the trace states none"),
        ("queue", "formula: queue: the trace states none"),
        ("partition", "formula: partition: the trace states none"),
        ("runtime", "unknown name in a formula 'runtime'"),
    ],
)
def test_what_the_workload_does_not_state_is_refused(score: str, says: str) -> None:
    with pytest.raises(SpecError, match=says) as refused:
        simulate(by_hand([0, 1, 2]), f"formula-easy:score=[{score}]")
    assert "\n" not in str(refused.value)


def test_settings_of_a_formula() -> None:
    made = load_rule("formula:score=[user_use],half_life=1.5h,clock=sequence")
    assert made == Formula("user_use", 5400.0, "sequence")
    assert load_rule("formula:score=nodes") == Formula("nodes")
    policy = make_policy("formula-conservative:score=[min(nodes, 2) + submit],max_wait=60,depth=3")
    assert isinstance(policy, RulePolicy)
    assert make_policy(policy.name) == policy
    assert clock_of(policy) == "trace"
    assert clock_of("formula:score=[nodes]") is None
    with pytest.raises(SpecError, match="half_life must be > 0 s"):
        Formula("nodes", 0.0)
    with pytest.raises(SpecError, match="cqsim rules know no formula"):
        simulate(by_hand([0]), "formula:score=[nodes]", rules="cqsim")


def test_a_formula_orders_windows_and_cycles_of_slurm_too() -> None:
    workload = cut(read_swf("instances/workloads/lublin_5000.swf.gz"), 0, 300)
    for rule in ("saf", "wfp3"):
        for policy in (
            "slurm-backfill:order=[{}]",
            "window:solver=dp,order=[{}]",
            "window:solver=greedy,order=[{}]",
        ):
            ours = simulate(workload, policy.format(f"formula:score=[{TEXTS[rule]}]"))
            assert ours.start.tolist() == simulate(workload, policy.format(rule)).start.tolist()
    with pytest.raises(SpecError, match="formula: free_nodes is known in replays alone"):
        Formula("free_nodes")(workload.jobs, 0, 0)


@pytest.mark.parametrize("score", ["-(wait / walltime)**3 * nodes", "user_nodes + nodes - wait / 600", "nodes"])
@pytest.mark.parametrize("backfilling", ["none", "easy", "conservative"])
def test_a_continued_replay_is_the_whole_one(score: str, backfilling: Any) -> None:
    whole = cut(read_swf("instances/workloads/lublin_5000.swf.gz"), 0, 400)
    workload = with_users(whole, np.random.default_rng(3))
    rule = f"formula:score=[{score}]"
    schedule = simulate(workload, RulePolicy(rule, backfilling))
    times = schedule.decisions["time"]
    for row in range(60, len(times), len(times) // 6) if backfilling != "conservative" else [len(times) // 2]:
        now, left = int(times[row]), np.flatnonzero(schedule.end >= times[row])
        part = workload.take(left)
        started = np.where(schedule.start[left] < now, schedule.start[left], -1)
        going = Continued(part, rule, backfilling, now, started, None, int(workload.jobs.submit[0]))
        found = going.starts(np.tile(part.runtime, (2, 1)), np.arange(len(part)))
        assert (found[0] == found[1]).all()
        if backfilling != "conservative":
            assert (found == schedule.start[left]).all()
    for rule, unknown in (("formula:score=[user_use]", "user_use"), ("f4-predicted", "predicted")):
        with pytest.raises(SpecError) as refused:
            Continued(part, rule, backfilling, now, started, None, 0)
        assert str(refused.value) == f"{rule}: {unknown} is not known in a replay from the middle"


def test_programs_of_the_same_rule_do_not_share_what_they_saw() -> None:
    workload = with_users(cut(read_swf("instances/workloads/lublin_5000.swf.gz"), 0, 300), np.random.default_rng(3))
    policy = RulePolicy(Formula("user_use + walltime * nodes / 100 - wait"), "easy")
    first, second = simulate(workload, policy), simulate(workload, policy)
    assert first == second
    assert not math.isnan(first.wait.mean())
    replay = Replay(workload, policy.rule)
    assert run_rule(replay, "easy", lambda started: None)["time"].tolist() == first.decisions["time"].tolist()
