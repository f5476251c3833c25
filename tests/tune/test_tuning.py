"""Tuning: what it reads, what it keeps, and that the same seed gives the same policy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transom.errors import DocumentError, SpecError
from transom.models import Cluster, Job, JobTable
from transom.simulation import simulate
from transom.simulation.output.metrics import summary
from transom.traces import Workload
from transom.tune import Terms, choose, judge, read_space, split, tuned, write_tuned
from transom.tune.evaluation import evaluator, processes
from transom.tune.figures import LOGGED, figures
from transom.tune.keep import Keep, parse_conditions
from transom.tune.objectives import Objective, parse_objectives
from transom.tune.outcome import Outcome, outcome
from transom.tune.tuning import Chosen, fixed_rules

KEEP = [Keep("max_wait", 1.5)]
SPACE = """
[[family]]
policy = "{rule}-easy:max_wait={bound}"
population = 4
rule = ["saf", "sjf", "f4"]
bound = { low = 0.1, high = 3, log = true, whole = true, unit = "longest" }

[[family]]
policy = "formula-easy:score=[log(walltime)-{age}*log(wait+60)]"
population = 4
age = { low = 0, high = 2 }
"""


@pytest.fixture
def space(tmp_path: Path) -> Path:
    (tmp_path / "space.toml").write_text(SPACE)
    return tmp_path / "space.toml"


def trace(seed: int = 1) -> Workload:
    rng = np.random.default_rng(seed)
    submit = np.cumsum(rng.exponential(200, 300)).astype(int)
    walltime = (10 ** rng.uniform(1.5, 4, 300)).astype(int)
    nodes = rng.integers(1, 9, 300)
    jobs = [Job(k + 1, int(submit[k]), int(nodes[k]), int(walltime[k])) for k in range(300)]
    return Workload("drawn", Cluster(16), JobTable.of(jobs), (walltime * rng.uniform(0.2, 1, 300)).astype(int) + 1)


def terms(space: Path, **others: Any) -> Terms:
    return Terms("fcfs-easy", KEEP, read_space(space), None, 300)._replace(**others)


def test_the_choice_reads_nothing_of_the_test_part(tmp_path: Path, space: Path) -> None:
    workload = trace()
    data = workload.jobs.data.copy()
    data[150:, 3] *= 2  # walltimes
    altered = replace(workload, jobs=JobTable(data), runtime=workload.runtime + (np.arange(300) >= 150))
    first, second = (
        choose(split(each, 0.5).tuning, terms(space), tmp_path / f"{k}.jsonl")
        for k, each in enumerate((workload, altered))
    )
    assert first == second


def test_a_search_that_was_killed_resumes(tmp_path: Path, space: Path) -> None:
    tuning = split(trace(), 0.5).tuning
    whole = choose(tuning, terms(space), tmp_path / "whole.jsonl")
    lines = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "part.jsonl").write_bytes(b"".join(lines[:100]) + lines[100][:20])  # in the middle of a line
    resumed = choose(tuning, terms(space), tmp_path / "part.jsonl")
    assert resumed == whole._replace(resumed=100)
    assert sorted((tmp_path / "part.jsonl").read_bytes().splitlines()) == sorted(line.rstrip() for line in lines)
    again = choose(tuning, terms(space), tmp_path / "part.jsonl")
    assert again.resumed == len(lines)
    other = choose(tuning, terms(space, seed=1), tmp_path / "part.jsonl")  # of which nothing is known
    assert other.resumed == 0


def test_two_processes_choose_as_one(tmp_path: Path, space: Path) -> None:
    tuning = split(trace(), 0.5).tuning
    assert choose(tuning, terms(space), tmp_path / "1") == choose(tuning, terms(space, workers=2), tmp_path / "2")


def test_conditions_are_kept_on_the_tuning_part(tmp_path: Path, space: Path) -> None:
    parts = split(trace(3), 0.5)
    chosen = choose(parts.tuning, terms(space), tmp_path / "journal")
    before, after = (figures(parts.tuning, policy) for policy in ("fcfs-easy", chosen.policy))
    assert after == chosen.train[chosen.policy]
    assert after.max_wait <= 1.5 * before.max_wait
    assert after.bounded_slowdown <= before.bounded_slowdown


def test_a_front_is_not_beaten(tmp_path: Path, space: Path) -> None:
    chosen = choose(split(trace(), 0.5).tuning, terms(space), tmp_path / "journal")
    front = [chosen.train[policy] for policy in chosen.front]
    for one in front:
        assert one is not None
        for other in chosen.train.values():
            assert other is None or other.bounded_slowdown >= one.bounded_slowdown or other.max_wait >= one.max_wait


def judged(workload: Workload, about: Terms, folder: Path) -> tuple[Chosen, Outcome]:
    parts = split(workload, 0.5)
    chosen = choose(parts.tuning, about, folder / "journal")
    rules = fixed_rules()
    found = judge(parts, [about.today, chosen.policy, *rules, *chosen.front], about, folder / "journal")
    return chosen, outcome(parts.test, rules, about, chosen, found)


def test_the_first_sentence_says_where_nothing_is_better(tmp_path: Path, space: Path) -> None:
    chosen, told = judged(
        trace(), terms(space, today="saf-easy:max_wait=1y", keep=[Keep("bounded_slowdown", 0.01)]), tmp_path
    )
    assert chosen.policy
    assert not told.noise.better
    assert told.sentences[0].startswith(("Nothing was found that is better", "Nothing beats saf-easy"))


def test_what_is_better_is_said_with_its_noise(tmp_path: Path, space: Path) -> None:
    chosen, told = judged(trace(), terms(space, today="ljf"), tmp_path)
    assert told.noise.better
    assert told.noise.weeks[0] <= told.noise.ratio <= told.noise.weeks[1] < 1
    assert "over eighths of the test part drawn again" in told.sentences[0]  # of less than eight weeks
    assert told.sentences[0].startswith(f"Set {chosen.policy} instead of ljf: on the 150 jobs that tuning never saw")
    assert {each.policy for each in told.fixed} == {*fixed_rules()}


def test_the_log_may_stand_for_today(tmp_path: Path, space: Path) -> None:
    workload = trace()
    started = simulate(workload, "fcfs").start
    logged = replace(workload, origin=replace(workload.origin, started=started))
    _, told = judged(logged, terms(space, today=LOGGED), tmp_path)
    document = told.document()
    waits = (started - workload.jobs.submit)[150:]
    assert document["today"]["policy"] == "logged"
    assert document["today"]["test"]["wait"] == pytest.approx(waits.mean())
    assert told.sentences[0].startswith("This replay does not stand for the machine.")
    assert told.sentences[1].startswith(("Set ", "Nothing "))
    with pytest.raises(SpecError, match="does not state when its jobs started"):
        judged(workload, terms(space, today=LOGGED), tmp_path)


def test_a_journal_of_something_else_is_refused(tmp_path: Path, space: Path) -> None:
    (tmp_path / "journal").write_text("1\n")
    with pytest.raises(DocumentError, match="journal: line 1: not one of `transom tune`"):
        choose(split(trace(), 0.5).tuning, terms(space), tmp_path / "journal")


@pytest.mark.parametrize("share", [0.0, 1.0, 0.9, float("nan")])
def test_parts_that_cannot_be_are_refused(share: float) -> None:
    with pytest.raises(SpecError, match="--test"):
        split(trace(), share)


def test_what_was_replayed_under_another_file_is_replayed_again(tmp_path: Path) -> None:
    path, part = tmp_path / "policy.toml", {"whole": trace()}
    found = []
    for policy in ("saf-easy", "ljf-easy", "saf-easy"):
        path.write_text(f'policy = "{policy}"\n')
        with evaluator(part, tmp_path / "journal", processes(1), 0) as evaluate:
            (figure,) = evaluate([(f"tuned:file={path}", "whole")]).values()
            found.append((figure, evaluate.resumed))
    assert found == [(figures(trace(), "saf-easy"), 0), (figures(trace(), "ljf-easy"), 0), (found[0][0], 1)]


def test_a_figure_has_one_condition() -> None:
    with pytest.raises(SpecError, match="one condition for each figure"):
        parse_conditions(["wait <= 1", "mean_wait <= 2"], trace())


def test_a_condition_on_a_group_is_kept_there(tmp_path: Path, space: Path) -> None:
    workload = replace(trace(3), origin=replace(trace(3).origin, group=np.arange(300) % 2, groups={0: "art", 1: "bio"}))
    tuning = split(workload, 0.5).tuning
    keep = parse_conditions(["max_wait[8-15] <= 1.15", "wait[bio] <= 1"], tuning)
    assert list(map(str, keep)) == ["max_wait[size 8-15 nodes] <= 1.15", "mean_wait[group bio] <= 1"]
    chosen = choose(tuning, terms(space, keep=keep), tmp_path / "journal")
    before, after = (simulate(tuning, policy).wait for policy in ("fcfs-easy", chosen.policy))
    wide, bio = tuning.jobs.nodes >= 8, np.arange(150) % 2 == 1
    assert after[wide].max() <= 1.15 * before[wide].max()
    assert after[bio].mean() <= before[bio].mean()
    assert after.mean() < before.mean()
    with pytest.raises(SpecError, match="--keep: unknown group of jobs 'chemistry'"):
        parse_conditions(["wait[chemistry] <= 1"], tuning)
    # Where nothing better is found that keeps to a condition, today's policy does.
    strict = parse_conditions(["max_wait[8-15] <= 1.1"], tuning)
    chosen = choose(tuning, terms(space, keep=strict), tmp_path / "journal")
    assert simulate(tuning, chosen.policy).wait[wide].max() <= 1.1 * before[wide].max()


def test_groups_of_one_name_are_told_apart() -> None:
    both = {0: "gpu", 1: "cpu"}
    half = np.arange(300) % 2
    origin = replace(trace().origin, group=half, groups=both, partition=half, names=both)
    workload = replace(trace(), origin=origin)
    with pytest.raises(SpecError, match="'gpu' may be partition gpu or group gpu"):
        parse_conditions(["wait[gpu] <= 1"], workload)
    assert str(*parse_conditions(["wait[group gpu] <= 1"], workload)) == "mean_wait[group gpu] <= 1"


@pytest.mark.parametrize("names", [["p95_wait"], ["mean_wait", "utilisation", "makespan"]])
def test_any_metrics_are_tuned_for(tmp_path: Path, space: Path, names: list[str]) -> None:
    about = terms(space, objectives=parse_objectives(names))
    chosen, told = judged(trace(3), about, tmp_path)
    tuning = split(trace(3), 0.5).tuning
    first = {policy: summary(simulate(tuning, policy))[names[0]] for policy in (chosen.policy, "fcfs-easy")}
    assert first[chosen.policy] < first["fcfs-easy"]
    found = chosen.train[chosen.policy]
    assert found is not None
    assert Objective(names[0]).value(found) == first[chosen.policy]
    for one in chosen.front:
        for other in chosen.train.values():
            values = [(each.value(other), each.value(chosen.train[one])) for each in about.objectives]
            assert any(a > b for a, b in values) or all(a == b for a, b in values)
    assert names[0].replace("_", " ") in told.sentences[0]
    assert (told.noise.weeks is None) == (names == ["p95_wait"])


def test_an_objective_that_the_trace_does_not_have_is_refused(tmp_path: Path, space: Path) -> None:
    about = terms(space, objectives=parse_objectives(["mean_hop_cost"]))
    with pytest.raises(SpecError, match="mean_hop_cost is not known of --today fcfs-easy"):
        choose(split(trace(), 0.5).tuning, about, tmp_path / "journal")


def test_further_figures_of_the_log(tmp_path: Path) -> None:
    workload = trace()
    started = simulate(workload, "fcfs").start.copy()
    started[::7] = -1  # not known
    logged = replace(workload, origin=replace(workload.origin, started=started))
    waits = (started - workload.jobs.submit)[started >= 0]
    wide = (started - workload.jobs.submit)[(started >= 0) & (workload.jobs.nodes >= 8)]
    found = figures(logged, LOGGED, names=["p95_wait", "max_wait[size 8-15 nodes]", "mean_hop_cost"])
    assert found.further == {
        "p95_wait": pytest.approx(np.quantile(waits, 0.95)), "max_wait[size 8-15 nodes]": wide.max()
    }  # fmt: skip


def test_a_file_states_the_policy(tmp_path: Path) -> None:
    path = tmp_path / "tuned.toml"
    write_tuned(path, "saf-easy:max_wait=7d", {"trace": 'a"b\\c\n', "jobs": 3, "keep": ["max_wait <= 1.5"]})
    assert (
        simulate(trace(), tuned(str(path))).start.tolist() == simulate(trace(), "saf-easy:max_wait=7d").start.tolist()
    )
    for text, says in (("policy = 1", "expected policy"), ("policy = 'none'", "tuned.toml: unknown policy 'none'")):
        path.write_text(text)
        with pytest.raises(SpecError, match=says):
            tuned(str(path))
