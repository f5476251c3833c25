"""What is printed beside what was learned: its card, and simple rules on the same jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.bench.in_process import InProcess
from tests.cli.conftest import Ran
from transom.cli.output.learned_policies import card_lines
from transom.io import write_documents
from transom.learned.checkpoints import load
from transom.learned.kernel.policies import kernel
from transom.models import Allocation, FatTree
from transom.simulation import make_policy
from transom.simulation.core.site_order import load_rule

Transom = Callable[..., Ran]
AGENT = "dras-pg:anywhere=yes"


def test_a_replay_states_the_card_and_shows_simple_rules(transom: Transom, trace: Path) -> None:
    """300 jobs on 64 nodes, an agent that was trained on another machine."""
    asked = "--policy", "fcfs-easy", "--policy", AGENT
    ran = transom("simulate", trace, *asked)
    card = load("dras-pg", "dras").card
    said = f"dras-pg: checkpoint dras-pg, trained on {card.trained_on}; validated on {card.validated_on}"
    assert f"{said}; made for 4,360 nodes, used on 64\n" in ran.out
    alone = transom("simulate", trace, "--policy", "saf-easy").out
    figures = next(line.split()[1:] for line in alone.splitlines() if line.startswith(" saf-easy "))
    assert next(line.split()[2:] for line in ran.out.splitlines() if line.startswith(" saf-easy (ref")) == figures
    assert "f4-easy (reference) instead of fcfs-easy would have" in ran.out
    without = transom("simulate", trace, *asked, "--no-reference")
    assert said in without.out
    assert "reference" not in without.out


def test_json_and_folders_hold_what_was_asked_for_alone(transom: Transom, trace: Path, tmp_path: Path) -> None:
    asked = "--policy", AGENT, "--out", tmp_path / "out", "--no-figures"
    printed = transom("simulate", trace, *asked, "--repeats", 2, "--jitter", 60)
    assert " saf-easy (reference) " in printed.out
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["dras-pg"]
    ran = transom("simulate", trace, *asked, "--json")
    assert [each["policy"] for each in ran.lines[0]["policies"]] == ["dras-pg"]
    assert "reference" not in ran.out
    assert "dras-pg: checkpoint dras-pg, trained on theta_2022" in ran.err


def test_rules_that_were_asked_for_are_not_replayed_twice(transom: Transom, trace: Path) -> None:
    ran = transom("simulate", trace, "--policy", "saf-easy", "--policy", AGENT)
    assert "saf-easy (reference)" not in ran.out
    assert "f4-easy (reference)" in ran.out
    assert "reference" not in transom("simulate", trace, "--policy", "saf-easy").out


def test_policies_of_tasks_have_rules_of_tasks_beside_them(transom: Transom, tmp_path: Path) -> None:
    trace = tmp_path / "tasks.csv"
    trace.write_text("submit_time,duration,cpu,memory,job_id,task_id,instances_num,disk\n4,2,1,0.25,1,1,9,0\n")
    asked = "simulate", trace, "--machines", "count=2,cpu=4,memory=1", "--policy", "deepjs"
    ran = transom(*asked)
    assert "deepjs: checkpoint deepjs, trained on 200 chunks of 2,000 jobs on 5 machines; validated on" in ran.out
    assert " tetris (reference) " in ran.out
    assert " longest-first (reference) " in ran.out
    ran = transom(*asked, "--json")
    assert [each["policy"] for each in ran.lines] == ["deepjs"]
    assert "deepjs: checkpoint deepjs" in ran.err


def test_sequences_of_rlscheduler_have_them_too(transom: Transom, trace: Path) -> None:
    protocol = "protocol", "rlscheduler", trace, "--policy", "kernel", "--policy", "saf", "--sequences", 1
    length = "--length", 100, "--first", 250
    ran = transom(*protocol, *length)
    assert "kernel: a network that was not trained" in ran.out
    assert " f4 (reference) " in ran.out
    assert "saf (reference)" not in ran.out
    assert len(transom(*protocol, *length, "--json").lines) == 2
    rules = "--rules", "rlscheduler:sequences=1,length=100,first=250"
    assert " f4-easy (reference) " in transom("simulate", trace, "--policy", "kernel", *rules).out


def test_a_checkpoint_for_other_nodes_and_one_within_a_policy_say_so() -> None:
    card = msgspec.structs.replace(load("dras-pg", "dras").card, cluster={"nodes": 256})
    other = replace(kernel(), card=card)
    assert card_lines([("mine", other)], 100)[0].endswith("; made for 256 nodes, used on 100")
    assert "made for" not in card_lines([("mine", other)], 256)[0]
    within = make_policy("mars:large=[mars-learned]")
    assert card_lines([("mars", within)], 64) == ["mars: a network that was not trained"]
    assert card_lines([("fcfs-easy", make_policy("fcfs-easy"))], 64) == []


def test_a_bench_states_the_cards_of_solvers_and_policies(
    transom: Transom, tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transom.cli.commands.bench_run.chosen_engine", lambda *_: InProcess())
    tree = Allocation(FatTree.k_ary(20), range(60), (8, 4), "dynamic")
    write_documents(tmp_path / "two.jsonl", [tree, replace(tree, sizes=(8, 6))])
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'solvers = ["nsa:anywhere=yes", "greedy"]\nbudgets = [{ iterations = 2 }]\n'
        '[[instances]]\nfiles = ["two.jsonl"]\n'
        f'[[traces]]\nfile = "{trace}"\njobs = 20\npolicies = ["kernel", "sjf"]\n'
    )
    ran = transom("bench", "run", plan, "--out", tmp_path / "r")
    assert ran.status == 0, ran.err
    card = load("nsa", "repair").card
    said = f"nsa: checkpoint nsa, trained on {card.trained_on}; validated on {card.validated_on or 'nothing'}"
    assert [line for line in ran.out.splitlines() if line.startswith(("nsa:", "kernel:"))] == [
        said,
        "kernel: a network that was not trained",
    ]
    ran = transom("bench", "run", plan, "--out", tmp_path / "r", "--json")
    assert said in ran.err.splitlines()
    assert "checkpoint" not in ran.out
    asked = "solve", tmp_path / "two.jsonl", "--solver", "nsa:anywhere=yes", "--iterations", 2
    assert said in transom(*asked).out.splitlines()
    assert said in transom(*asked, "--json").err.splitlines()


def test_a_forecast_states_the_card_of_a_learned_rule(
    transom: Transom, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(load_rule("sjf")), "card", None, raising=False)
    said = "sjf-easy: a network that was not trained"
    assert said in transom("when", trace, "--policy", "sjf-easy", "--job", 12).out.splitlines()
    ran = transom("when", trace, "--policy", "sjf-easy", "--job", 12, "--json")
    assert said in ran.err.splitlines()
    assert said not in ran.out
    assert "network" not in transom("when", trace, "--policy", "fcfs-easy", "--job", 12).out
