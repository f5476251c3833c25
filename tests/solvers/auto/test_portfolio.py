"""The table of ``auto``: read strictly, walked as it says, carried out within the budget."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest

from tests.timing import used
from transom import Stop, check, registry, solve
from transom.bench.plan.plan import InstanceSet, read_plan
from transom.errors import DocumentError
from transom.generate.instances.fragmented import Fragments, fragmented_allocation
from transom.generate.instances.knapsacks import generate_knapsack
from transom.generate.instances.paths import random_path
from transom.generate.instances.selections import family_selection
from transom.models import Allocation, ConstrainedPath, Knapsack, Selection
from transom.models.allocation import RULES
from transom.solvers.auto import pipeline as schedule
from transom.solvers.auto.features import features
from transom.solvers.auto.table import (
    FORMAT,
    Choice,
    Leaf,
    Making,
    Split,
    Step,
    Table,
    leaf_of,
    leaves,
    packaged,
    parse_table,
    solvers_of,
)
from transom.solving import TakesAll, warm_up
from transom.stop import Budget

ROOT = Path(__file__).parents[3]

TYPES: dict[str, type] = {
    "knapsack": Knapsack,
    **dict.fromkeys(RULES, Allocation),
    "csp": ConstrainedPath,
    "selection": Selection,
}


def text() -> dict[str, Any]:
    return json.loads((files("transom.solvers.auto") / "portfolio.json").read_bytes())


def hard(kind: str) -> Any:
    """An instance that takes longer than a fifth of a second, and no solver gives up on."""
    rng = np.random.default_rng(7)
    if kind == "knapsack":
        return generate_knapsack("strongly-correlated", 5000, 10**7, rng)
    if kind == "csp":
        return random_path(rng, 8000, 30, 120, 120, density=0.3)
    if kind == "selection":
        return family_selection("inverse", rng, 60, 5)
    return fragmented_allocation(rng, Fragments(6000, 1500, 30, 45.0), rule=RULES[kind], wrap=True)


ANNEALING = "sa:repair=cheapest,restarts=yes"


@pytest.fixture(autouse=True, scope="module")
def warm() -> None:
    for kind in TYPES:
        warm_up(registry.make(registry.SOLVERS, "auto"), TYPES[kind])


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the schedule for selections."""

    def choose(*steps: tuple[str, float], otherwise: str = "nsga2", improve: str = "nsga2") -> None:
        leaf = Leaf(tuple(Step(*step) for step in steps), 1, 0.0, 0.0)
        made = Making("2026-01-01", "", {}, (), (), (), 1e-5)
        fake = Table(FORMAT, made, {"selection": Choice(leaf, leaf, otherwise, improve)})
        monkeypatch.setattr(schedule, "packaged", lambda: fake)

    return choose


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_every_solver_in_it_takes_its_kind_of_problem(kind: str) -> None:
    choice = packaged().problems[kind]
    problem = hard(kind)
    for spec in solvers_of(choice):
        solver = registry.make(registry.SOLVERS, spec, TYPES[kind])
        assert issubclass(TYPES[kind], solver.solves)
        reason = solver.supports(problem)
        # By size or memory it may refuse an instance, but not by rule.
        assert reason is None or "rule" not in reason, f"{spec}: {reason}"
    otherwise = registry.make(registry.SOLVERS, choice.otherwise, TYPES[kind])
    assert otherwise.supports(problem) is None


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_every_leaf_can_be_reached_and_says_what_speaks_for_it(kind: str) -> None:
    choice = packaged().problems[kind]
    for root in (choice.timed, choice.untimed):
        for leaf in leaves(root):
            assert leaf.cases > 0
            assert 0 <= leaf.gap <= 100
            assert 0 <= leaf.proved <= 1
        for limits in regions(root, {}):
            assert all(low < high for low, high in limits.values()), limits


@pytest.mark.parametrize(
    ("kind", "facts", "seconds", "steps"),
    [
        ("selection", {"jobs": math.log10(1 + 28), "objectives": 2}, 0.01, ("exhaustive 0.95", "nsga2 1")),
        ("selection", {"jobs": math.log10(1 + 20), "objectives": 4}, 0.01, ("exhaustive 0.95", "nsga2 1")),
        ("free", {"idle": 3.2, "load": 0.95, "table": 8.0}, 1.0, ("free-exact 1",)),
    ],
)
def test_leaves_that_were_chosen_by_hand_name_the_plan_of_the_choice(
    kind: str, facts: dict[str, float], seconds: float, steps: tuple[str, ...]
) -> None:
    leaf = leaf_of(packaged().problems[kind], {**features(hard(kind)), **facts}, seconds)
    assert tuple(f"{step.solver} {step.share:g}" for step in leaf.steps) == steps
    assert leaf.chosen == f"by choose-{kind}.toml"
    plan = read_plan(ROOT / "benchmarks" / "portfolio" / f"choose-{kind}.toml")
    assert plan.seconds == (seconds,)
    sets = [each for each in plan.instances if isinstance(each, InstanceSet)]
    assert leaf.cases == sum(each.take or each.count for each in sets)


@pytest.mark.parametrize(
    ("kind", "facts", "seconds", "steps"),
    [
        ("scas", {"table": 8.1, "sizes": 1.2}, 0.01, ("scas-lagrangian 1",)),
        ("scas", {"table": 8.1, "sizes": 1.4}, 0.01, ("scas-lagrangian 1",)),
        ("scas", {"table": 18.4}, 0.1, ("scas-lagrangian 1",)),
        ("dcas", {"table": 8.1, "sizes": 1.2, "runs": 0.1, "idle": 2.7}, 0.01, ("dcas-exact 1",)),
        ("dcas", {"table": 8.1, "runs": 0.1, "idle": 3.2}, 0.01, ("dp-polish 0.3", f"{ANNEALING},remove=4 1")),
        ("dcas", {"table": 8.1, "runs": 0.01}, 0.01, ("dcas-exact 0.7", f"{ANNEALING},remove=4 1")),
        ("dcas", {"table": 12.0, "runs": 0.01}, 0.01, (f"{ANNEALING},remove=4 1",)),
        ("dcas", {"slack": 2.1, "table": 12.0, "runs": 0.1}, 0.1, ("dcas-exact 1",)),
        ("dcas", {"slack": 2.1, "table": 12.0, "runs": 0.01}, 0.1, ("dp-polish 1",)),
        ("dcas", {"slack": 2.1, "table": 18.4}, 0.1, ("dp-polish 1",)),
        ("free", {"idle": 2.4, "jobs": 0.8, "load": 0.97}, 0.01, ("free-exact 1",)),
        ("free", {"idle": 2.4, "jobs": 1.1, "load": 0.9}, 0.01, ("free-exact 1",)),
        ("free", {"idle": 2.4, "jobs": 1.1, "load": 0.97}, 0.01, ("free-exact 0.65", "count-search 1")),
        ("free", {"idle": 2.8}, 0.01, ("free-exact 0.65", "count-search 1")),
        ("free", {"idle": 3.2, "load": 0.95, "leaves": 2.2, "runs": 0.1}, 0.01, ("free-exact 0.5", "count-search 1")),
        ("free", {"idle": 3.2, "load": 0.95, "leaves": 2.4, "runs": 0.1}, 0.01, ("count-search 1",)),
        ("free", {"idle": 3.2, "load": 0.95, "leaves": 2.4, "runs": 0.01}, 0.01, ("free-exact 0.8", "count-search 1")),
        ("free", {"idle": 3.2, "load": 0.95, "leaves": 2.5, "runs": 0.01}, 0.01, ("count-search 1",)),
        ("free", {"idle": 3.2, "load": 0.55}, 0.01, ("free-exact 1",)),
    ],
)
def test_leaves_that_were_chosen_on_random_clusters_name_the_benchmark(
    kind: str, facts: dict[str, float], seconds: float, steps: tuple[str, ...]
) -> None:
    leaf = leaf_of(packaged().problems[kind], {**features(hard(kind)), **facts}, seconds)
    assert tuple(f"{step.solver} {step.share:g}" for step in leaf.steps) == steps
    assert leaf.chosen == "by benchmarks.schedules"


def test_plans_that_choose_by_hand_and_that_judge_it_have_seeds_of_their_own() -> None:
    seeds: dict[tuple[str | None, int], str] = {}
    for path in sorted((ROOT / "benchmarks" / "portfolio").glob("*.toml")):
        if path.stem.endswith("-long"):  # the same instances as in the other plan, with more time
            continue
        for each in read_plan(path).instances:
            if isinstance(each, InstanceSet) and each.generate in ("selection", "tjap"):
                assert seeds.setdefault((each.generate, each.seed), path.stem) == path.stem


def regions(node: Split | Leaf, limits: dict[str, tuple[float, float]]) -> Iterator[dict[str, tuple[float, float]]]:
    """For each leaf, the interval of each feature that leads to it."""
    if isinstance(node, Leaf):
        yield limits
        return
    low, high = limits.get(node.feature, (-np.inf, np.inf))
    yield from regions(node.yes, {**limits, node.feature: (low, min(high, node.at_most))})
    yield from regions(node.no, {**limits, node.feature: (max(low, node.at_most), high)})


def test_it_says_where_it_comes_from() -> None:
    made = packaged().made
    assert made.command
    assert made.budgets == tuple(sorted(made.budgets))
    assert made.budgets[0] > 0


def test_walking() -> None:
    one, two, three, four = (Leaf((Step(name),), 1, 0.0, 0.0) for name in ("a", "b", "c", "d"))
    timed = Split("items", 2.0, Split("seconds", 0.0, one, two), three)
    choice = Choice(timed, four, "a", "e")
    assert leaf_of(choice, {"items": 2.0}, 1.0) is one
    assert leaf_of(choice, {"items": 2.0}, 1.1) is two
    assert leaf_of(choice, {"items": 2.1}, 0.1) is three
    assert leaf_of(choice, {"items": 2.1}, None) is four
    assert list(leaves(timed)) == [one, two, three]
    assert solvers_of(choice) == ["a", "b", "c", "d", "e"]


def test_the_table_is_read_as_it_is_written() -> None:
    data = (files("transom.solvers.auto") / "portfolio.json").read_bytes()
    assert parse_table(data, "x") == packaged()


def broken() -> Iterator[tuple[str, dict[str, Any], str]]:
    leaf: dict[str, Any] = {"node": "leaf", "steps": [{"solver": "dp"}], "cases": 1, "gap": 0, "proved": 0}

    def changed(**fields: Any) -> dict[str, Any]:
        whole = text()
        whole["problems"]["knapsack"]["timed"] = {**deepcopy(leaf), **fields}
        return whole

    yield "unknown format", {**text(), "format": "transom/portfolio/9"}, "transom/portfolio/9"
    yield "a probe of other work", {**text(), "format": "transom/portfolio/1"}, "known: transom/portfolio/2"
    yield "unknown field", {**text(), "more": 1}, "more"
    yield "no schedule", changed(steps=[]), "knapsack.timed: the schedule is empty"
    yield "share of nothing", changed(steps=[{"solver": "dp", "share": 0}]), "share must be > 0"
    yield "share above one", changed(steps=[{"solver": "dp", "share": 1.5}]), "share must be > 0 and at most 1"
    yield "nothing left", changed(steps=[{"solver": "dp"}, {"solver": "scip"}]), "leaves nothing"
    yield "auto", changed(steps=[{"solver": "auto"}]), "cannot choose itself"
    yield "no name", changed(steps=[{"solver": ""}]), "no name"
    yield "unknown field of a leaf", changed(why="so"), "why"
    yield "missing", {**text(), "problems": {}}, "problems are []"
    yield "a probe of no time", {**text(), "made": {**text()["made"], "probe": 0.0}}, "made.probe must be > 0"
    split = {"node": "split", "feature": "sise", "at_most": 1.0, "yes": leaf, "no": leaf}
    whole = text()
    whole["problems"]["csp"]["untimed"] = split
    yield "unknown feature", whole, "csp.untimed: feature 'sise' is not known"
    whole = text()
    whole["problems"]["csp"]["untimed"] = {**split, "feature": "seconds"}
    yield "no seconds there", whole, "feature 'seconds' is not known"
    whole = text()
    whole["problems"]["csp"]["timed"] = {**split, "feature": "arcs", "no": {**split, "feature": "x"}}
    yield "deep down", whole, "csp.timed.no: feature 'x'"


@pytest.mark.parametrize(("whole", "words"), [pytest.param(*rest, id=name) for name, *rest in broken()])
def test_what_is_wrong_is_reported_in_one_line(whole: dict[str, Any], words: str) -> None:
    with pytest.raises(DocumentError) as error:
        parse_table(json.dumps(whole).encode(), "own.json")
    assert str(error.value).startswith("own.json: ")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_what_is_no_json_is_reported() -> None:
    with pytest.raises(DocumentError, match=r"own\.json"):
        parse_table(b"{", "own.json")


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_the_budget_is_kept_and_the_choice_is_noted(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = hard(kind)
    monkeypatch.setattr(schedule, "seconds_of_a_probe", lambda: packaged().made.probe)
    result = solve(problem, "auto", Stop(seconds=0.2))
    assert result.error is None
    assert check(problem, result) == []
    assert result.solution is not None
    leaf = leaf_of(packaged().problems[kind], features(problem), 0.2)
    chosen = [registry.parse(step.solver)[0] for step in leaf.steps]
    noted = result.parameters["chose"].split("+")
    refused = [name for name in chosen if name not in noted]
    assert [name for name in chosen if name in noted] == noted[: len(chosen) - len(refused)]
    assert result.reason in ("time", "proof", "finished")
    # The suites measure how well it is kept.
    assert result.seconds < 5 or used(lambda: solve(problem, "auto", Stop(seconds=0.2)), 5) < 5


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_the_same_seed_and_iterations_give_the_same_answer(kind: str) -> None:
    problem = hard(kind)
    stop = Stop(iterations=40)
    one, two = (solve(problem, "auto", stop, seed=3) for _ in range(2))
    assert one.parameters["chose"] == two.parameters["chose"]
    assert one.value == two.value


def crowded() -> Selection:
    demands = np.random.default_rng(5).integers(1, 2000, (40, 5))
    return Selection(demands, (demands.sum(axis=0) * 0.4).astype(int))


def test_time_is_shared_as_the_schedule_says(table: Any) -> None:
    table(("pareto-dp", 0.25), ("nsga2", 1.0))
    result = solve(crowded(), "auto", Stop(seconds=1.2), clock=process_time)  # others may hold the processor
    assert result.parameters["chose"] == "pareto-dp+nsga2"
    assert result.reason == "time"
    # No time before the share is over, and a good deal of it left afterwards.
    times = [seconds for seconds, _, _ in result.curve]
    assert any(seconds > 0.3 for seconds in times)


@dataclass(frozen=True)
class Short(TakesAll):
    """Says at once that less time is left than its next step takes."""

    name = "short"
    solves = Selection
    calls: list[str] = field(default_factory=list)

    def __call__(self, problem: Selection, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        self.calls.append("once")
        budget.short(math.inf)


def test_a_solver_that_had_all_that_was_left_is_not_called_again(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table(("short", 1.0), otherwise="short", improve="short")
    short = Short()
    monkeypatch.setattr(schedule, "made", lambda spec, problem: short)
    result = solve(crowded(), "auto", Stop(seconds=30))
    assert (short.calls, result.parameters["chose"], result.reason) == (["once"], "short", "finished")


def test_iterations_are_shared_as_the_schedule_says(table: Any) -> None:
    table(("nsga2", 0.25), ("nsga2", 1.0))
    shared = solve(crowded(), "auto", Stop(iterations=12), seed=1)
    assert (shared.parameters["chose"], shared.reason) == ("nsga2+nsga2", "iterations")


def test_a_solver_that_refuses_is_passed_over(table: Any) -> None:
    table(("exhaustive", 0.5), ("epsilon", 0.5), ("nsga2", 1.0))  # too many jobs for one, objectives for the other
    assert solve(crowded(), "auto", Stop(iterations=3)).parameters["chose"] == "nsga2"


def test_where_the_schedule_ends_early_the_solver_for_everything_goes_on(table: Any) -> None:
    table(("fcfs", 1.0))
    result = solve(crowded(), "auto", Stop(iterations=5))
    assert result.parameters["chose"] == "fcfs+nsga2"
    table(("exhaustive", 1.0))
    assert solve(crowded(), "auto", Stop(iterations=5)).parameters["chose"] == "nsga2"


def test_what_was_found_is_the_start_of_the_next(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table(("fcfs", 0.5), ("nsga2", 1.0))
    problem, seen = crowded(), []
    second = schedule.made("nsga2", Selection)

    class Watching:
        name, solves = "nsga2", Selection

        def supports(self, problem: Selection, /) -> None:
            return None

        def __call__(self, problem: Any, budget: Any, rng: Any, /, start: Any = None) -> None:
            seen.append(start)

    known = schedule.made
    monkeypatch.setattr(schedule, "made", lambda spec, kind: Watching() if spec == "nsga2" else known(spec, kind))
    result = solve(problem, "auto", Stop(seconds=5))
    assert len(seen) == 1
    assert seen[0] == result.solution == solve(problem, "fcfs", Stop(seconds=5)).solution
    assert second.name == "nsga2"


def test_a_proof_ends_the_schedule(table: Any) -> None:
    table(("exhaustive", 0.5), ("nsga2", 1.0))
    demands = np.random.default_rng(5).integers(1, 2000, (12, 3))
    result = solve(Selection(demands, demands.sum(axis=0) // 2), "auto", Stop(seconds=20))
    assert (result.status, result.parameters["chose"]) == ("optimal", "exhaustive")


def test_the_time_that_is_left_is_used_before_it_is_said_to_be_up(table: Any) -> None:
    problem = crowded()
    table(("nsga2", 0.2), ("fcfs", 0.5), otherwise="dot-product", improve="nsga2")
    timed = solve(problem, "auto", Stop(seconds=2), clock=process_time)
    assert (timed.parameters["chose"], timed.reason) == ("nsga2+fcfs+dot-product+nsga2", "time")
    assert timed.seconds >= 0.95 * 2
    table(("nsga2", 0.2), ("fcfs", 0.5), otherwise="dot-product", improve="dot-product")
    ended = solve(problem, "auto", Stop(seconds=2), clock=process_time)
    assert (ended.parameters["chose"], ended.reason) == ("nsga2+fcfs+dot-product", "finished")


def test_what_has_come_to_its_end_is_not_called_again(table: Any) -> None:
    table(("fcfs", 0.5), ("fcfs", 0.5), ("dot-product", 1.0), otherwise="fcfs", improve="dot-product")
    result = solve(crowded(), "auto", Stop(seconds=5), clock=process_time)
    assert result.parameters["chose"] == "fcfs+dot-product"


def test_without_a_limit_nobody_searches_for_ever(table: Any) -> None:
    table(("fcfs", 0.5), otherwise="dot-product", improve="nsga2")
    assert solve(crowded(), "auto", Stop()).parameters["chose"] == "fcfs+dot-product"


def test_on_a_slow_machine_the_budget_is_a_smaller_one(monkeypatch: pytest.MonkeyPatch) -> None:
    quick, long = (Leaf((Step(name),), 1, 0.0, 0.0) for name in ("fcfs", "dot-product"))
    made = Making("2026-01-01", "", {}, (), (), (), 1e-5)
    tree = Split("seconds", -0.5, quick, long)
    fake = Table(FORMAT, made, {"selection": Choice(tree, quick, "fcfs", "fcfs")})
    monkeypatch.setattr(schedule, "packaged", lambda: fake)
    for probe, first in ((1e-5, "dot-product"), (2e-5, "dot-product"), (4e-5, "fcfs")):
        monkeypatch.setattr(schedule, "seconds_of_a_probe", lambda probe=probe: probe)
        assert solve(crowded(), "auto", Stop(seconds=1)).parameters["chose"].split("+")[0] == first
