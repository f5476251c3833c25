"""``transom bench portfolio``: the table of ``auto`` and its scores, from the command line."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tests.cli.conftest import Ran
from transom.bench.plan.plan import parse_plan
from transom.bench.plan.task import Row
from transom.bench.plan.tasks import read_set
from transom.bench.portfolio import table_making
from transom.bench.store.store import Store, read_plans
from transom.solvers.auto import table
from transom.solvers.auto.features import names_for
from transom.solvers.auto.table import leaf_of, leaves, packaged, parse_table
from transom.stop import Stop

Transom = Callable[..., Ran]

PLAN = """
name = "tiny"
seconds = [0.1, 1.0]
solvers = ["auto"]
[[instances]]
generate = "knapsack"
count = 4
parameters = { items = 20 }
[[instances]]
name = "scas"
generate = "tjap"
count = 2
parameters = { family = "fragmented", nodes = 200, idle = 80, jobs = 4, mean = 8.0 }
[[instances]]
name = "dcas"
generate = "tjap"
count = 2
parameters = { family = "fragmented", nodes = 200, idle = 80, jobs = 4, mean = 8.0, problem = "dcas" }
[[instances]]
name = "free"
generate = "tjap"
count = 2
parameters = { family = "fragmented", nodes = 200, idle = 80, jobs = 4, mean = 8.0, problem = "free" }
[[instances]]
generate = "csp"
count = 2
parameters = { length = 60 }
[[instances]]
generate = "selection"
count = 2
parameters = { jobs = 10 }
"""

SOLVERS = {
    "knapsack": ("dp", "sa"),
    "scas": ("scas-dp", "best-fit"),
    "dcas": ("dp-polish", "best-fit"),
    "free": ("count-search", "best-fit"),
    "csp": ("csp-dp", "sa"),
    "selection": ("nsga2", "fcfs"),
}


def a_store(folder: Path, auto: float = 100.0, kinds: set[str] = frozenset(SOLVERS)) -> Path:
    """Results that nobody computed: on each other instance the first solver of its kind is twice as good."""
    plan = parse_plan(PLAN, "plan.toml", folder)
    with Store(folder) as store:
        store.add_plan(plan)
        for each in plan.instances:
            for number, instance in enumerate(read_set(each)):
                problem = instance.problem
                if problem.kind not in kinds:
                    continue
                for spec in (*SOLVERS[problem.kind], "auto"):
                    for seconds in plan.seconds:
                        good = (spec == SOLVERS[problem.kind][0]) == (number % 2 == 0)
                        value = auto if spec == "auto" else 100.0 if good == (problem.sense == "max") else 50.0
                        store.append(a_row(problem, spec, seconds, value))
    return folder


def a_row(problem: Any, spec: str, seconds: float, value: float) -> Row:
    return Row(
        key=f"{problem.digest()} {spec} {seconds}", set="s", label="l", instance=problem.digest(),
        problem=problem.kind, name=spec, spec=spec, stop=Stop(seconds=seconds), seed=0, threads=1,
        sense=problem.sense, size=len(problem), outcome="ok", status="feasible", value=value,
        curve=((0.001, value, None),), seconds=seconds, machine={"host": "secret", "cores": 4}, code="abc",
    )  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_store(tmp_path_factory.mktemp("store"))


def test_the_table_is_written_and_reported_in_words(transom: Transom, store: Path, tmp_path: Path) -> None:
    out = tmp_path / "table.json"
    ran = transom("bench", "portfolio", store, "--out", out)
    assert (ran.status, ran.err) == (0, f"wrote {out}\n")
    table = parse_table(out.read_bytes(), "table.json")
    assert list(table.made.plans) == ["tiny"]
    assert (table.made.code, table.made.budgets) == (("abc",), (0.1, 1.0))
    assert "secret" not in out.read_text()
    for kind, choice in table.problems.items():
        assert f"{kind}:" in ran.out
        for leaf in leaves(choice.timed):
            assert {step.solver for step in leaf.steps} <= set(SOLVERS[kind])
            assert leaf.steps[0].solver in ran.out
    assert "knapsack, without a limit of time:" in ran.out


def test_without_results_the_table_of_the_package_is_shown(transom: Transom) -> None:
    ran = transom("bench", "portfolio")
    assert (ran.status, ran.err) == (0, "")
    for kind, choice in packaged().problems.items():
        assert f"{kind}:" in ran.out
        assert choice.otherwise in ran.out
    assert transom("bench", "portfolio", "--json").lines[0]["table"]["format"] == packaged().format


def test_the_same_results_give_the_same_table(transom: Transom, store: Path) -> None:
    one, two = (json.loads(transom("bench", "portfolio", store, "--json").out) for _ in range(2))
    assert one == two
    assert sorted(one["table"]["problems"]) == sorted(SOLVERS)


def test_scores(transom: Transom, store: Path) -> None:
    ran = transom("bench", "portfolio", "--test", store, "--json")
    scores = {(each["problem"], each["seconds"]): each for each in ran.lines[0]["scores"]}
    assert len(scores) == 2 * (len(SOLVERS) + 1)  # the allocations also together
    assert [kind for kind, seconds in scores if scores[kind, seconds]["part"] and seconds == 1] == [
        "dcas",
        "free",
        "scas",
    ]
    knapsack = scores["knapsack", 1.0]
    assert (knapsack["instances"], knapsack["auto"], knapsack["virtual"], knapsack["single"]) == (4, 0, 0, 25)
    assert (knapsack["behind"], knapsack["closed"], knapsack["worse"][0], knapsack["early"]) == (-25, 1, 0, 0)
    assert scores["dcas", 1.0]["auto"] == 50  # costs: 100 is twice the best


def test_scores_as_tables(transom: Transom, store: Path) -> None:
    told = transom("bench", "portfolio", "--test", store)
    assert "way closed" in told.out
    assert "No solution counts 100 %" in told.out
    families = transom("bench", "portfolio", "--test", store, "--by", "set", "--json").lines[0]["scores"]
    assert {each["family"] for each in families} == {f"s ({kind})" for kind in SOLVERS}
    assert not any(each["part"] or each["problem"] == "tjap" for each in families)
    lines = transom("bench", "portfolio", "--test", store, "--markdown").out.splitlines()
    assert all(line.count("|") == lines[0].count("|") for line in lines)
    assert len(lines) == 2 + 2 * (len(SOLVERS) + 1)


def test_a_condition_that_does_not_hold_is_an_exit_status(transom: Transom, tmp_path: Path) -> None:
    good = a_store(tmp_path / "good", kinds={"knapsack"})
    assert transom("bench", "portfolio", "--test", good, "--require", 0).status == 0
    bad = a_store(tmp_path / "bad", auto=70.0, kinds={"knapsack"})  # 30 % below the best, which every other solver is
    ran = transom("bench", "portfolio", "--test", bad, "--require", 4)
    assert ran.status == 1
    assert "does not hold: knapsack at 0.1 s" in ran.err
    assert transom("bench", "portfolio", "--test", bad, "--require", 6).status == 0


def test_learning_and_scoring_on_the_same_instances_is_reported(
    transom: Transom, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "the score says little" in transom("bench", "portfolio", store, "--test", store).err
    alone = Path(shutil.copytree(store, tmp_path / "alone"))
    (alone / "plan.json").unlink()
    told = transom("bench", "portfolio", store, "--test", alone).err
    assert re.search(r"(\d+) of \1 instances were learnt from", told)
    learnt = replace(packaged(), made=replace(packaged().made, plans={"tiny": read_plans(store)[0].digest()}))
    monkeypatch.setattr(table, "packaged", lambda: learnt)
    assert "the score says little" in transom("bench", "portfolio", "--test", store).err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--test", "no"], "no such file or folder"),
        (["no"], "no: no such file or folder"),
        (["--test", "no", "--out", "x.json"], "--out needs"),
        (["no", "--require", "5"], "--require needs"),
        (["no", "--out", "x.csv"], "must end in .json"),
    ],
)
def test_what_does_not_go_is_reported_in_one_line(transom: Transom, arguments: list[str], words: str) -> None:
    ran = transom("bench", "portfolio", *arguments)
    assert ran.status == 2
    assert words in ran.err
    assert ran.err.count("\n") == 1


def test_kinds_without_results_keep_their_trees_at_the_speed_of_this_machine(
    transom: Transom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, slower = packaged(), 3.0
    monkeypatch.setattr(table_making, "seconds_of_a_probe", lambda: known.made.probe * slower)
    part, out = a_store(tmp_path / "part", kinds={"knapsack"}), tmp_path / "table.json"
    ran = transom("bench", "portfolio", part, "--out", out)
    kept = [kind for kind in known.problems if kind != "knapsack"]
    assert ran.status == 0
    assert ran.err.startswith(f"without results of {', '.join(kept)}: those trees are the ones of the package\n")
    made = parse_table(out.read_bytes(), "table.json")
    assert made.problems["knapsack"] != known.problems["knapsack"]
    assert made.made.plans == known.made.plans | {"tiny": read_plans(part)[0].digest()}
    assert set(known.made.budgets) <= set(made.made.budgets)
    rng = np.random.default_rng(1)
    for kind in kept:
        before, after = known.problems[kind], made.problems[kind]
        assert (before.untimed, before.otherwise, before.improve) == (after.untimed, after.otherwise, after.improve)
        for seconds in 10 ** rng.uniform(-3, 2, 200):
            facts = dict(zip(names_for(kind), rng.uniform(-2, 8, len(names_for(kind))).tolist(), strict=True))
            assert leaf_of(before, facts, seconds) == leaf_of(after, facts, slower * seconds)


def test_results_without_a_limit_of_time_teach_nothing(transom: Transom, tmp_path: Path) -> None:
    ran = transom("bench", "portfolio", a_store(tmp_path / "none", kinds=set()))
    assert (ran.status, ran.err) == (2, "error: portfolio: there are no results with a limit of time to learn from\n")
