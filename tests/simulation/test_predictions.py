"""Order and backfilling by predicted runtimes, compared with a plain replay over lists."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.amounts import numbers
from tests.simulation.core.test_formula_rule import with_users
from tests.simulation.passes.test_conservative_backfill import random_workload
from tests.simulation.plain_outages import PlainReplay
from tests.simulation.test_outages import drawn_outages, drawn_workload, same
from transom.class_files import trust_files
from transom.errors import PolicyError, SpecError
from transom.heuristics.priority_rules import Fcfs, MaxWait
from transom.models import Cluster, JobTable, Window
from transom.models.job import USER
from transom.simulation import RulePolicy, make_policy, simulate
from transom.simulation.core.site_order import load_rule
from transom.simulation.output.verification import check_schedule
from transom.simulation.passes import predicted_backfill
from transom.simulation.policies.clocks import clock_of
from transom.simulation.policies.predicted import PredictedBackfill
from transom.traces import TracedJob, Workload, read_swf
from transom.traces.outages import Outage, Outages

Past = list[TracedJob]
"""Jobs that have ended, in that order."""


def recent(t: TracedJob, past: Past) -> float:
    """What the predictor of this name says, in another way."""
    own = [each.runtime for each in past if each.job.user == t.job.user][-2:]
    return sum(own) / len(own) if own else math.inf


def shrunk(t: TracedJob, past: Past) -> float:
    """The same."""

    def mean(among: Past, prior: float) -> float:
        weights = [0.8**k for k in range(len(among))][::-1]
        logs = [math.log(max(each.runtime, 10.0) / each.job.walltime) for each in among]
        return (sum(w * x for w, x in zip(weights, logs, strict=True)) + prior) / (sum(weights) + 1.0)

    own = [each for each in past if each.job.user == t.job.user]
    return t.job.walltime * math.exp(mean([e for e in own if e.job.walltime == t.job.walltime], mean(own, 0.0)))


PLAIN: dict[str, Callable[[TracedJob, Past], float]] = {"recent": recent, "shrunk": shrunk}


class Predicting(PlainReplay):
    """A replay that predicts; with ``backfills`` it does so for backfilling, and for reservations with ``reserve``."""

    def __init__(
        self,
        workload: Workload,
        rows: list[Outage],
        backfilling: str,
        predictor: str,
        key: Callable[[Predicting, TracedJob], tuple[float, ...]],
        backfills: bool = False,
        reserve: bool = False,
    ) -> None:
        super().__init__(workload, rows, lambda t: key(self, t), backfilling)
        self.predictor, self.backfills, self.reserve = PLAIN[predictor], backfills, reserve
        self.at_start: dict[int, int] = {}
        self.ahead: set[int] = set()  # jobs that this pass has backfilled
        self.foresees = False

    def predicted(self, t: TracedJob) -> int:
        past = [each for each in self.jobs if each.job.id in self.told.end]
        past.sort(key=lambda each: self.told.end[each.job.id])  # which leaves those of one instant as they stand
        said = self.predictor(t, past)
        return max(math.ceil(said), 1) if said < t.job.walltime else t.job.walltime

    def start(self, t: TracedJob) -> None:
        self.at_start[t.job.id] = self.predicted(t)
        super().start(t)

    def expected(self, job: int) -> int:
        if not self.foresees or not (self.reserve or job in self.ahead):
            return super().expected(job)
        t, end, k = self.by_id[job].job, self.running[job], 0
        seconds = self.at_start.get(job, 0) if job in self.told.nodes else self.predicted(self.by_id[job])
        while end + seconds <= self.now and seconds < t.walltime:
            seconds = min(seconds + STEPS[min(k, len(STEPS) - 1)], t.walltime)
            k += 1
        return max(end + seconds, self.now + 1)

    def _easy(self, queue: list[TracedJob]) -> None:
        if not self.backfills:
            super()._easy(queue)
            return
        self._plain(queue)
        if not queue:
            return
        self.ahead = set()
        head = queue.pop(0)
        self.foresees = True
        shadow = self.shadow(head)
        self.foresees = False
        for t in sorted(queue, key=self.predicted):
            if not self.may_start(t):
                continue
            self.ahead.add(t.job.id)
            self.foresees = True
            late = self.delays(t, head, shadow)
            self.foresees = False
            if late:
                self.ahead.remove(t.job.id)
            else:
                self.start(t)


STEPS = (1, 2, 4)
KEYS: dict[str, Callable[[Predicting, TracedJob], tuple[float, ...]]] = {
    "fcfs": lambda plain, t: (),
    "saf": lambda plain, t: (plain.predicted(t) * t.job.nodes,),
    "wfp3": lambda plain, t: (-(((plain.now - t.job.submit) / plain.predicted(t)) ** 3) * t.job.nodes,),
}


def drawn(seed: int, overrun: bool) -> tuple[Workload, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return with_users(drawn_workload(rng, overrun), rng), rng


@numbers(8, 300)
@pytest.mark.parametrize("predictor", PLAIN)
@pytest.mark.parametrize("rule", ["saf", "wfp3"])
@pytest.mark.parametrize("backfilling", ["none", "easy", "conservative"])
def test_the_order_is_that_of_a_brute_force(backfilling: Any, rule: str, predictor: str, numbers: range) -> None:
    for seed in numbers:
        workload, rng = drawn(seed, False)
        rows = drawn_outages(rng) if seed % 2 else []
        spec, longest = f"{rule}:predict={predictor}", int(rng.integers(5, 20))
        key = KEYS[rule]
        if seed % 3 == 0:
            spec += f",max_wait={longest}"
            own = key

            def key(plain: Predicting, t: TracedJob, own: Any = own, longest: int = longest) -> tuple[float, ...]:
                return (0,) if plain.now - t.job.submit > longest else (1, *own(plain, t))

        schedule = simulate(workload, RulePolicy(spec, backfilling), outages=Outages(tuple(rows)))
        assert check_schedule(workload, schedule) == []
        same(workload, schedule, Predicting(workload, rows, backfilling, predictor, key))
        if not rows:
            compiled = simulate(workload, RulePolicy(spec, backfilling))
            assert compiled.start.tolist() == schedule.start.tolist()


@numbers(16, 400)
@pytest.mark.parametrize("predictor", PLAIN)
@pytest.mark.parametrize("rule", ["fcfs", "saf"])
@pytest.mark.parametrize("reserve", ["walltime", "predicted"])
def test_backfilling_is_that_of_a_brute_force(
    reserve: str, rule: str, predictor: str, numbers: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predicted_backfill, "CORRECTIONS", STEPS)
    for seed in numbers:
        workload, rng = drawn(seed, seed % 4 == 0)
        # Beside announced windows and drains reservations go by walltimes.
        rows = [row for row in drawn_outages(rng) if reserve == "walltime" or row.kind == "failure"]
        rows = rows if seed % 2 else []
        policy = f"{rule}-easy:predict={predictor},use=both,reserve={reserve}"
        schedule = simulate(workload, policy, outages=Outages(tuple(rows)))
        assert check_schedule(workload, schedule) == []
        same(
            workload, schedule, Predicting(workload, rows, "easy", predictor, KEYS[rule], True, reserve == "predicted")
        )
        if not rows:
            assert simulate(workload, policy).start.tolist() == schedule.start.tolist()


@pytest.mark.parametrize("policy", ["{}", "{}-easy", "{}-conservative", "{}-easy:max_wait=5h"])
def test_inserting_what_has_changed_is_ordering_all_of_it(policy: str) -> None:
    """A term that is always 0 but that could change has every queue ordered anew."""
    name, _, settings = policy.format("formula").partition(":")
    for seed, most in enumerate((20, 120, 400)):
        rng = np.random.default_rng(seed)
        workload = with_users(random_workload(rng, most), rng)
        told = [
            simulate(
                workload, f"{name}:score=[predicted*nodes{term}],predict=recent" + (f",{settings}" * bool(settings))
            )
            for term in ("", " + 0*wait")
        ]
        assert told[0].start.tolist() == told[1].start.tolist()
        assert told[0].mode.tolist() == told[1].mode.tolist()
        for column in ("reserved_job", "reserved_start"):
            assert told[0].decisions[column].tolist() == told[1].decisions[column].tolist()


def two_users() -> Workload:
    """A machine of four nodes that each job asks for; the first job of user 1 is shorter than that of user 2."""
    rows = np.full((6, 6), -1)
    rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3] = range(1, 7), [0, 0, 1, 1, 1, 1], 4, 100
    rows[:, USER] = [1, 2, 2, 1, 2, 1]
    return Workload("two users", Cluster(4), JobTable(rows), np.array([10, 50, 50, 10, 50, 10]))


def test_jobs_of_who_ran_short_come_first() -> None:
    workload = two_users()
    assert simulate(workload, "sjf").start.tolist() == [0, 10, 60, 110, 120, 170]
    for predictor in PLAIN:
        # After 10 s nothing is known of user 2, whose jobs count as long as they ask for.
        assert simulate(workload, f"sjf:predict={predictor}").start.tolist() == [0, 30, 80, 10, 130, 20]


def test_nothing_of_the_future_decides() -> None:
    rng = np.random.default_rng(3)
    workload = with_users(random_workload(rng, 200), rng)
    policies = ("easy++", "f4-predicted-easy", "saf-conservative:predict=recent", "wfp3-easy:predict=shrunk,use=both")
    for policy in policies:
        told = simulate(workload, policy)
        until = int(np.median(told.end))
        changed = np.where(told.end > until, np.maximum(workload.jobs.walltime // 2, until + 1 - told.start), 0)
        other = np.where(told.end > until, np.minimum(changed, workload.jobs.walltime), workload.runtime)
        again = simulate(Workload("other", workload.cluster, workload.jobs, other), policy)
        early = told.start <= until
        assert (other != workload.runtime).any()
        assert again.start[early].tolist() == told.start[early].tolist()


def test_names_tell_jobs_apart_where_records_state_them() -> None:
    from transom.heuristics.predictors import Shrunk

    workload = two_users()
    facts = Shrunk().facts(workload.jobs, lambda: np.array([0, 0, 1, 1, 1, 0]))
    assert facts[:, 0].tolist() == [0, 1, 1, 0, 1, 0]
    assert len(np.unique(facts[:, 2])) == 4
    assert Shrunk().facts(workload.jobs, lambda: np.full(6, -1)).shape == (6, 3)


def test_without_users_predictions_are_walltimes() -> None:
    workload = random_workload(np.random.default_rng(5), 150)
    assert (workload.jobs.user < 0).all()
    for rule in ("sjf", "f4-easy", "wfp3-conservative"):
        same_starts = [simulate(workload, rule + with_it).start.tolist() for with_it in ("", ":predict=recent")]
        assert same_starts[0] == same_starts[1]


def test_specifications() -> None:
    assert make_policy("easy++") == PredictedBackfill()
    assert make_policy("fcfs-easy:predict=recent,use=backfill,reserve=predicted") == PredictedBackfill()
    assert make_policy("f4-easy:predict=shrunk,use=order") == RulePolicy("f4:predict=shrunk", "easy")
    assert load_rule("f4-predicted") == load_rule("f4:predict=shrunk")
    assert load_rule("formula:score=[walltime+1],predict=recent") == load_rule(
        "formula:score=[predicted+1],predict=recent"
    )
    both = make_policy("saf-easy:predict=[shrunk:decay=0.5,prior=2],max_wait=7d,use=both")
    assert both == PredictedBackfill(
        "saf:predict=[shrunk:decay=0.5,prior=2],max_wait=7d", "shrunk:decay=0.5,prior=2", "walltime"
    )
    assert make_policy("easy++:max_wait=1h") == PredictedBackfill(MaxWait(Fcfs(), 3600))
    assert clock_of("f4-predicted-easy:clock=sequence") == "sequence"
    workload = with_users(random_workload(np.random.default_rng(6), 60), np.random.default_rng(6))
    assert (
        simulate(workload, "f4-predicted-easy").start.tolist()
        == simulate(workload, "f4-easy:predict=shrunk").start.tolist()
    )


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        ("saf-easy:predict=nobody", "unknown predictor 'nobody'"),
        ("saf-easy:predict=[shrunk:decay=2]", "decay from 0 to 1"),
        ("saf-easy:use=both", "use and reserve are of RULE-easy with predict="),
        ("saf:predict=recent,use=both", "use and reserve are of RULE-easy with predict="),
        ("saf-easy:predict=recent,use=all", "use must be order, backfill or both, got 'all'"),
        ("saf-easy:predict=recent,reserve=predicted", "use must be order, backfill or both, got None"),
        ("saf-easy:predict=recent,use=order,reserve=predicted", "reserve goes with use=backfill and use=both"),
        ("saf-easy:predict=recent,use=both,reserve=never", "reserve must be walltime or predicted, got 'never'"),
        ("easy++:reserve=never", "reserve"),
    ],
)
def test_what_does_not_fit_is_refused(policy: str, says: str) -> None:
    with pytest.raises(SpecError, match=says) as refused:
        simulate(two_users(), policy)
    assert "\n" not in str(refused.value)


def test_windows_alone_do_not_say_what_has_ended() -> None:
    window = Window(1, Cluster(4), two_users().jobs, JobTable([]), np.array([]), np.array([4]))
    with pytest.raises(PolicyError, match="known in replays of traces alone"):
        make_policy("easy++").decide(window)
    with pytest.raises(SpecError, match="predicted is known in replays alone"):
        load_rule("saf:predict=recent")(two_users().jobs, 0, 0)


OWN = """
import math


class Last:
    def facts(self, jobs, names):
        return jobs.user[:, None].astype(float)

    def memory(self, facts):
        return [math.nan] * (int(facts.max()) + 1)

    @staticmethod
    def learn(memory, facts, job, runtime):
        memory[int(facts[job, 0])] = runtime

    @staticmethod
    def predict(memory, facts, job):
        return memory[int(facts[job, 0])]


class Text(Last):
    @staticmethod
    def predict(memory, facts, job):
        return "long"


class Odd(Last):
    @staticmethod
    def learn(memory, facts, job, runtime):
        memory.append(runtime)


class Few(Last):
    def facts(self, jobs, names):
        return super().facts(jobs, names)[1:]


class Half:
    facts, memory, learn = Last.facts, Last.memory, Last.learn
"""


def test_predictors_in_files(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    for name in ("Last", "Text", "Odd", "Few", "Half"):
        trust_files(f"{tmp_path}/mine.py:{name}")
    workload = two_users()
    for policy in ("sjf:predict=[{}]", "sjf-easy:predict=[{}],use=both"):
        told = simulate(workload, policy.format(f"{tmp_path}/mine.py:Last"))
        assert told.start.tolist() == [0, 30, 80, 10, 130, 20]
    for name, says in {
        "Text": "predict must return float64, not Literal",
        "Odd": "learn must be a function that Numba can compile",
        "Few": "expected facts of shape",
        "Half": "expected predict, which it does not have",
    }.items():
        with pytest.raises(SpecError, match=says) as refused:
            simulate(workload, f"sjf:predict=[{tmp_path}/mine.py:{name}]")
        assert "\n" not in str(refused.value)


@pytest.mark.reference
def test_easy_plus_plus_gains_on_a_trace_of_its_paper(shared: Path) -> None:
    workload = read_swf(shared / "traces" / "KTH-SP2-1996-2.1-cln.swf.gz")
    slowdowns = []
    for policy in ("fcfs-easy", "easy++"):
        told = simulate(workload, policy)
        assert check_schedule(workload, told) == []
        response = told.end - workload.jobs.submit
        slowdowns.append(np.maximum(response / np.maximum(workload.runtime, 10), 1).mean())
    assert slowdowns[1] < 0.8 * slowdowns[0]
