"""Rules with ``max_wait``: jobs that have waited longer come first, among them first come, first served."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.amounts import numbers
from tests.simulation import plain_conservative
from tests.simulation.core.test_queue_order import Ageing, in_python, long_queue
from tests.simulation.passes.test_conservative_backfill import random_workload
from tests.simulation.plain_outages import CYCLE, PlainReplay
from tests.simulation.plain_replay import replay
from tests.simulation.test_engine import KEYS
from tests.simulation.test_outages import drawn_outages, drawn_workload, same
from tests.simulation.workloads import workloads
from transom.class_files import trust_files
from transom.errors import SpecError
from transom.heuristics.priority_rules import MaxWait, PriorityRule, Saf
from transom.models import JobTable, Window
from transom.models.arrays import FloatArray
from transom.simulation import Decision, RulePolicy, make_policy, simulate
from transom.simulation.core.promise_log import PromiseLog, promises_in_force
from transom.simulation.core.site_order import load_rule, site_order
from transom.simulation.output.verification import check_schedule
from transom.simulation.passes.continued import Continued
from transom.simulation.policies.clocks import clock_of
from transom.traces import Workload, cut, read_swf
from transom.traces.outages import Outages


class Odd:
    """A rule without a kernel, whose scores are infinite for some jobs: these do not pass for jobs that waited long."""

    timeless = True

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> FloatArray:
        return np.where(jobs.nodes % 2 == 1, -np.inf, jobs.walltime.astype(np.float64))


def starts(workload: Workload, policy: Any) -> dict[int, int]:
    schedule = simulate(workload, policy)
    assert check_schedule(workload, schedule) == []
    return dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))


@pytest.mark.parametrize("backfilling", ["none", "easy", "conservative"])
@pytest.mark.parametrize("rule", ["fcfs", "saf", "largest", "f1", "wfp3", "unicep", "odd", "ageing"])
@settings(max_examples=30)
@given(data=st.data())
def test_equals_the_brute_force_replay(rule: str, backfilling: Any, data: st.DataObject) -> None:
    workload = data.draw(
        st.one_of(workloads(), workloads(resources=2), workloads(dependencies=True), workloads(max_jobs=20))
    )
    longest = data.draw(st.integers(1, 30))
    keys = {
        **KEYS,
        "odd": lambda t, now: (-np.inf if t.job.nodes % 2 else t.job.walltime,),
        "ageing": lambda t, now: (t.job.nodes - (now - t.job.submit) // 60.0,),
    }

    def key(t: Any, now: int) -> tuple[float, ...]:
        return (0,) if now - t.job.submit > longest else (1, *keys[rule](t, now))

    own: dict[str, PriorityRule] = {"odd": Odd(), "ageing": Ageing()}
    made = MaxWait(own[rule], longest) if rule in own else f"{rule}:max_wait={longest}"
    assert starts(workload, RulePolicy(made, backfilling)) == replay(workload, key, backfilling)


@numbers(60, 400)
@pytest.mark.parametrize("backfilling", ["none", "easy", "conservative", "slurm"])
def test_equals_a_brute_force_with_outages(backfilling: str, numbers: range) -> None:
    for seed in numbers:
        rng = np.random.default_rng(seed)
        workload = drawn_workload(rng, backfilling != "conservative" and rng.random() < 0.5)
        rows, longest = drawn_outages(rng), int(rng.integers(1, 30))
        rule = f"saf:max_wait={longest}"
        policy = make_policy(f"slurm-backfill:order=[{rule}],interval={CYCLE},resolution=1")
        schedule = simulate(
            workload, policy if backfilling == "slurm" else RulePolicy(rule, backfilling), outages=Outages(tuple(rows))
        )
        plain = PlainReplay(workload, rows, lambda t: (), backfilling)

        def key(t: Any, plain: PlainReplay = plain, longest: int = longest) -> tuple[float, ...]:
            return (0,) if plain.now - t.job.submit > longest else (1, t.job.walltime * t.job.nodes)

        plain.key = key
        same(workload, schedule, plain)


@pytest.mark.parametrize("depth", [None, 1, 3])
def test_conservative_promises_are_those_of_brute_force(depth: int | None) -> None:
    rng = np.random.default_rng(4)
    for most in (20, 60, 120, 120):
        workload, log = random_workload(rng, most), PromiseLog()
        rule = f"saf:max_wait={rng.integers(1, 500)}"
        schedule = simulate(workload, RulePolicy(rule, "conservative", depth), promises=log)
        begin, modes, passes = plain_conservative.replay(workload, rule, depth)
        assert schedule.start.tolist() == begin.tolist()
        assert schedule.mode.tolist() == modes.tolist()
        for row, (_, held) in enumerate(passes):
            assert promises_in_force(log.pieces(), row) == {job: at for job, at in held.items() if at >= 0}


@pytest.mark.parametrize("policy", ["wfp3:max_wait=40", "unicep-easy:max_wait=300", "wfp3-conservative:max_wait=90"])
def test_an_order_that_changes_is_the_same_compiled_and_in_python(policy: str) -> None:
    rng = np.random.default_rng(14)
    for most in (1, 20, 60, 120, 200):
        workload = random_workload(rng, most)
        assert simulate(workload, policy) == in_python(workload, policy)
    for family in ("wide", "layered"):
        workload = long_queue(rng, family, 600, 4, 8)  # jobs of a kind are inserted without a look at the others
        assert simulate(workload, policy) == in_python(workload, policy)


class Seen:
    """Starts the queue in order while it fits, and takes down the queue that it sees."""

    def __init__(self, order: str, period: int | None) -> None:
        self.order, self.period = order, period
        self.overtaken = 0

    def decide(self, window: Window, /) -> Decision:
        plain = window.queue.take(np.lexsort((window.queue.id, window.queue.submit)))
        ranked = site_order(load_rule(self.order), plain, window.now, 0)
        assert window.queue.id.tolist() == plain.id[ranked].tolist()
        own = load_rule(self.order.partition(":")[0])
        self.overtaken += ranked.tolist() != site_order(own, plain, window.now, 0).tolist()
        return make_policy("fcfs").decide(window)


@pytest.mark.parametrize("period", [None, 7])
@pytest.mark.parametrize("rule", ["saf", "wfp3"])
@pytest.mark.parametrize("outages", [False, True])
def test_windows_have_the_order_at_ticks_and_beside_outages_too(rule: str, period: int | None, outages: bool) -> None:
    overtaken = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        workload = drawn_workload(rng, False)
        policy = Seen(f"{rule}:max_wait={rng.integers(1, 20)}", period)
        simulate(workload, policy, outages=Outages(tuple(drawn_outages(rng))) if outages else None)
        overtaken += policy.overtaken
    assert overtaken > 5


@pytest.mark.parametrize("policy", ["saf", "saf-easy", "wfp3-easy", "saf-conservative"])
def test_a_continued_replay_is_the_whole_one(policy: str) -> None:
    workload = cut(read_swf("instances/workloads/lublin_5000.swf.gz"), 0, 600)
    made, log = make_policy(f"{policy}:max_wait=7200"), PromiseLog()
    assert isinstance(made, RulePolicy)
    schedule = simulate(workload, made, promises=log)
    assert schedule.start.tolist() != simulate(workload, policy).start.tolist()
    times = schedule.decisions["time"]
    for row in range(100, len(times), len(times) // 6):
        now, left = int(times[row]), np.flatnonzero(schedule.end >= times[row])
        part = workload.take(left)
        started = np.where(schedule.start[left] < now, schedule.start[left], -1)
        promised = promises_in_force(log.pieces(), row - 1)
        begins = np.array([promised.get(job, -1) for job in part.jobs.id.tolist()])
        going = Continued(part, made.rule, made.backfilling, now, started, begins, int(workload.jobs.submit[0]))
        found = going.starts(np.tile(part.runtime, (2, 1)), np.arange(len(part)))
        assert (found == schedule.start[left]).all()


def test_no_job_that_fits_waits_for_ever() -> None:
    """A wide job behind narrow ones that keep coming: the bound lets it start, and others behind it come later."""
    workload = cut(read_swf("instances/workloads/lublin_5000.swf.gz"), 0, 5000)
    longest = [int(simulate(workload, policy).wait.max()) for policy in ("saf-easy", "saf-easy:max_wait=86400")]
    assert longest[1] < longest[0] / 2


def test_a_bound_that_nobody_reaches_changes_nothing() -> None:
    workload = cut(read_swf("instances/workloads/lublin_5000.swf.gz"), 0, 600)
    for policy in ("saf-easy", "wfp3-easy", "f4-conservative"):
        assert starts(workload, policy) == starts(workload, f"{policy}:max_wait=100000000")


def test_rules_in_files_take_it_as_well(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Saf:\n    timeless = True\n\n"
        "    def __init__(self, factor: float = 1.0):\n        self.factor = factor\n\n"
        "    def __call__(self, jobs, now, origin):\n        return jobs.walltime * jobs.nodes * self.factor\n"
    )
    trust_files(f"{tmp_path}/mine.py:Saf")
    workload = cut(read_swf("instances/workloads/lublin_5000.swf.gz"), 0, 600)
    for tail in ("", "-easy", "-conservative"):
        ours = make_policy(f"{tmp_path}/mine.py:Saf{tail}:factor=2,max_wait=7200")
        assert starts(workload, ours) == starts(workload, f"saf{tail}:max_wait=7200")


def test_the_name_and_the_clock_are_those_of_the_rule() -> None:
    assert load_rule("saf:max_wait=1.5h") == MaxWait(Saf(), 5400)
    policy = make_policy("f4-conservative:max_wait=60,depth=3,clock=sequence")
    assert isinstance(policy, RulePolicy)
    assert policy.name == "f4-conservative:max_wait=60,clock=sequence,depth=3"
    assert make_policy(policy.name) == policy
    assert clock_of(policy) == "sequence"
    assert clock_of("saf-easy:max_wait=60") is None
    workload = cut(read_swf("instances/workloads/lublin_5000.swf.gz"), 300, 300)
    assert simulate(workload, policy).policy == policy.name


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        ("saf-easy:max_wait=0", "max_wait"),
        ("saf:max_wait=-5", "max_wait"),
        ("saf:max_wait=soon", "saf:max_wait=soon: max_wait: expected whole seconds, or a number with a unit"),
        ("saf:max_wait=40y", "max_wait must be from 1 to 1000000000 s"),
        ("slurm-backfill:order=[saf:max_wait=x]", "max_wait"),
    ],
)
def test_what_is_no_bound_is_refused(policy: str, says: str) -> None:
    with pytest.raises(SpecError, match=says) as refused:
        make_policy(policy)
    assert "\n" not in str(refused.value)


def test_rules_of_other_programs_know_no_bound() -> None:
    workload = cut(read_swf("instances/workloads/lublin_5000.swf.gz"), 0, 20)
    for rules in ("cqsim", "rlscheduler"):
        with pytest.raises(SpecError, match=f"{rules} rules know no max_wait, not 'saf-easy:max_wait=60'"):
            simulate(workload, "saf-easy:max_wait=60", rules=rules)


def test_a_rule_that_gives_too_few_scores_is_told() -> None:
    class Few:
        timeless = False

        def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Any:
            return 1.0

    workload = cut(read_swf("instances/workloads/lublin_5000.swf.gz"), 0, 20)
    with pytest.raises(SpecError, match="expected a score for each of"):
        simulate(workload, MaxWait(Few(), 60))
