"""The table out of results, on results of which the best choice is known; scores by brute force."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from transom.bench.plan.task import Row
from transom.bench.portfolio.scoring import Score, scores
from transom.bench.portfolio.training import make_choice
from transom.bench.portfolio.training_data import Case, PipelineResult, Run, read_cases, schedules, simulate_pipeline
from transom.bench.store.frame import to_frame
from transom.errors import DocumentError
from transom.solvers.auto.features import names_for
from transom.solvers.auto.table import Leaf, Split, leaf_of, leaves
from transom.stop import Stop

BUDGETS = (0.1, 1.0)


def run(budget: float, *curve: tuple[float, float], seconds: float | None = None, proved: bool = False) -> Run:
    times, values = (np.array([point[i] for point in curve]) for i in (0, 1))
    return Run(budget, True, budget if seconds is None else seconds, proved, times, values)


def case(runs: dict[str, list[Run]], seconds: float = 1.0, reference: float = 100.0) -> Case:
    return Case("knapsack", "set", "digest", True, seconds, {}, reference, runs)


def row(instance: str, spec: str, budget: float, value: float | None, **more: Any) -> Row:
    given = {
        "curve": () if value is None else ((0.001, value, None),),
        "outcome": "ok",
        "status": "unknown" if value is None else "feasible",
        "seconds": budget,
        **more,
    }
    return Row(
        key=f"{instance} {spec} {budget} {more}", set="s", label=instance, instance=instance, problem="knapsack",
        name=spec.partition(":")[0], spec=spec, stop=Stop(seconds=budget), seed=0, threads=1, sense="max", size=10,
        value=value, **given,
    )  # fmt: skip


def test_a_schedule_takes_the_best_of_its_solvers_at_their_times() -> None:
    early, late = run(1.0, (0.1, 50.0), (0.6, 90.0)), run(1.0, (0.3, 80.0))
    here = case({"a": [early], "b": [late]})
    assert simulate_pipeline(here, (("a", 1.0),)) == PipelineResult(pytest.approx(10.0), False, 1.0)
    # a until 0.5 s, then 0.5 s for b
    assert simulate_pipeline(here, (("a", 0.5), ("b", 1.0))) == PipelineResult(pytest.approx(20.0), False, 1.0)
    # b until 0.25 s has nothing yet, then 0.75 s for a
    assert simulate_pipeline(here, (("b", 0.25), ("a", 1.0))).gap == pytest.approx(10.0)


def test_what_ends_early_leaves_its_time_and_a_proof_ends_all() -> None:
    quick, slow = run(1.0, (0.05, 60.0), seconds=0.1), run(1.0, (0.85, 100.0))
    assert simulate_pipeline(case({"a": [quick], "b": [slow]}), (("a", 0.5), ("b", 1.0))).gap == 0.0
    proof = run(1.0, (0.2, 100.0), seconds=0.3, proved=True)
    assert simulate_pipeline(case({"a": [proof], "b": [slow]}), (("a", 0.5), ("b", 1.0))) == PipelineResult(
        0.0, True, 0.3
    )
    assert not simulate_pipeline(case({"a": [proof], "b": [slow]}), (("a", 0.25), ("b", 1.0))).proved


def test_a_share_is_read_from_the_run_with_the_nearest_budget() -> None:
    runs = {"a": [run(0.1, (0.05, 70.0)), run(1.0, (0.05, 10.0), (0.4, 20.0))]}
    assert simulate_pipeline(case(runs), (("a", 0.1), ("c", 1.0))).gap == pytest.approx(30.0)
    assert simulate_pipeline(case(runs), (("a", 0.5), ("c", 1.0))).gap == pytest.approx(80.0)


def test_a_solver_that_refuses_costs_nothing_and_one_that_fails_its_time() -> None:
    nothing = np.empty(0)
    other = run(1.0, (0.8, 100.0))
    refuses, fails = Run(1.0, False, 1.0, False, nothing, nothing), Run(1.0, True, 1.0, False, nothing, nothing)
    assert simulate_pipeline(case({"a": [refuses], "b": [other]}), (("a", 0.5), ("b", 1.0))).gap == 0.0
    assert simulate_pipeline(case({"a": [fails], "b": [other]}), (("a", 0.5), ("b", 1.0))).gap == 100.0


def test_which_schedules_there_are() -> None:
    every = list(schedules(["a", "b", "c"], ["a"], ["b"]))
    assert len(set(every)) == len(every)
    assert {tuple(spec for spec, _ in each) for each in every} == {
        ("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("a", "b", "c"), ("a", "b", "a"),
    }  # fmt: skip
    assert all(each[-1][1] == 1.0 and all(0 < share < 1 for _, share in each[:-1]) for each in every)


def facts(**known: float) -> dict[str, float]:
    return {**dict.fromkeys(names_for("knapsack"), 0.0), **known}


def a_store(best: Any, solvers: Sequence[str], count: int = 90) -> tuple[list[Row], dict[str, dict[str, float]]]:
    """Instances that spread over two features, and runs in which ``best(x, y, seconds)`` has 100, all others 60."""
    rng = np.random.default_rng(3)
    rows, known = [], {}
    for number in range(count):
        x, y = rng.random(2)
        known[f"i{number}"] = facts(items=float(x), spread=float(y))
        for budget in BUDGETS:
            for spec in solvers:
                rows.append(row(f"i{number}", spec, budget, 100.0 if best(x, y, budget) == spec else 60.0))
    return rows, known


def points() -> Iterator[tuple[dict[str, float], float]]:
    for x in (0.1, 0.3, 0.7, 0.9):
        for y in (0.1, 0.9):
            for seconds in BUDGETS:
                yield facts(items=x, spread=y), seconds


@pytest.mark.parametrize(
    "best",
    [
        lambda x, y, seconds: "dp",
        lambda x, y, seconds: "dp" if x < 0.5 else "sa",
        lambda x, y, seconds: "dp" if seconds < 0.5 else "sa",
        lambda x, y, seconds: "dp" if x < 0.5 else "sa" if y < 0.5 else "scip",
    ],
    ids=["one for all", "by a feature", "by the budget", "by two features"],
)
def test_it_finds_who_is_best_where(best: Any) -> None:
    # A value stands at once, so that with "a while, then the other" there would be nothing to choose: forbid it by
    # values that come as the budget ends.
    rows, known = a_store(best, ["dp", "sa", "scip"])
    late = [
        Row(**{**{f: getattr(each, f) for f in Row.__struct_fields__}, "curve": ((t, each.value, None),)})
        for each in rows
        for t in [0.99 * (each.stop.seconds or 0)]
    ]
    choice = make_choice(read_cases(to_frame(late), known))
    for where, seconds in points():
        assert leaf_of(choice, where, seconds).steps[-1].solver == best(where["items"], where["spread"], seconds)
    assert all(leaf.gap == 0 for leaf in leaves(choice.timed))
    assert sum(leaf.cases for leaf in leaves(choice.timed)) == len(known) * len(BUDGETS)


def test_a_share_of_the_time_for_each_beats_a_choice_that_no_feature_tells() -> None:
    flips = np.random.default_rng(1).random(40) < 0.5
    rows = [
        row(f"i{i}", spec, budget, 100.0 if flip == (spec == "dp") else 60.0)
        for i, flip in enumerate(flips)
        for spec in ("dp", "sa")
        for budget in BUDGETS
    ]
    choice = make_choice(read_cases(to_frame(rows), {f"i{i}": facts() for i in range(40)}))
    assert isinstance(choice.timed, Leaf)
    assert {step.solver for step in choice.timed.steps} == {"dp", "sa"}
    assert choice.timed.gap == 0


def test_among_equals_the_one_that_proves_is_taken_and_sooner_is_better() -> None:
    rows = []
    for i in range(30):
        for budget in BUDGETS:
            rows += [
                row(f"i{i}", "sa", budget, 100.0),
                row(f"i{i}", "dp", budget, 100.0, status="optimal", seconds=0.05),
                row(f"i{i}", "scip", budget, 100.0, status="optimal", seconds=0.002),
            ]
    choice = make_choice(read_cases(to_frame(rows), {f"i{i}": facts() for i in range(30)}))
    for root in (choice.timed, choice.untimed):
        assert isinstance(root, Leaf)
        assert root.steps[0].solver == "scip"
        assert root.proved == 1


def test_without_a_limit_of_time_proofs_come_first() -> None:
    rows = []
    for i in range(30):
        for budget in BUDGETS:
            # sa is best within the time, dp would prove a third of them.
            rows.append(row(f"i{i}", "sa", budget, 100.0))
            proved: dict[str, Any] = {"status": "optimal", "seconds": 0.5 * budget} if i % 3 == 0 else {}
            rows.append(row(f"i{i}", "dp", budget, 100.0 if i % 3 == 0 else 90.0, **proved))
    choice = make_choice(read_cases(to_frame(rows), {f"i{i}": facts() for i in range(30)}))
    assert all(leaf.steps[0].solver == "dp" for leaf in leaves(choice.untimed))


def test_failures_count_as_no_solution_and_the_rest_is_for_everyone() -> None:
    rows = []
    for i in range(20):
        for budget in BUDGETS:
            rows += [
                row(f"i{i}", "dp", budget, 100.0, outcome="wrong"),
                row(f"i{i}", "sa", budget, 90.0),
                row(f"i{i}", "scip", budget, None, outcome="refused" if i % 2 else "ok"),
            ]
    cases = read_cases(to_frame(rows), {f"i{i}": facts() for i in range(20)})
    assert {each.reference for each in cases} == {90.0}
    choice = make_choice(cases)
    assert isinstance(choice.timed, Leaf)
    assert "sa" in [step.solver for step in choice.timed.steps]
    assert choice.otherwise == "sa"


def test_rows_that_teach_nothing_are_left_out() -> None:
    rows = [
        row("a", "dp", 1.0, 5.0),
        row("a", "auto", 1.0, 9.0),
        row("b", "dp", 1.0, None),
        row("unknown", "dp", 1.0, 5.0),
    ]
    (only,) = read_cases(to_frame(rows), {"a": facts(), "b": facts()})
    assert (only.instance, list(only.runs)) == ("a", ["dp"])
    assert only.reference == 9.0  # what auto found counts as known
    with pytest.raises(DocumentError, match="no case"):
        make_choice([])


def test_a_schedule_ends_with_a_solver_that_takes_everything_and_does_it_well() -> None:
    # The exact one proves half of the cases at once and has nothing on the others; "poor" always has half of the value.
    cases = []
    for i in range(40):
        exact = run(1.0, (0.01, 100.0), seconds=0.01, proved=True) if i % 2 == 0 else run(1.0)
        runs = {"exact": [exact], "fair": [run(1.0, (0.02, 99.0))], "poor": [run(1.0, (0.001, 50.0))]}
        facts = dict.fromkeys(names_for("knapsack"), 0.0)
        cases.append(dataclasses.replace(case(runs), instance=f"i{i}", facts=facts))
    for leaf in leaves(make_choice(cases).timed):
        assert (leaf.steps[0].solver, leaf.steps[-1].solver) == ("exact", "fair")
        assert leaf.proved == 0.5


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_scores_by_brute_force(data: st.DataObject) -> None:
    names = ["auto", "dp", "sa"]
    values = st.one_of(st.none(), st.tuples(st.integers(1, 4).map(float), st.booleans()))
    table = data.draw(st.lists(st.tuples(values, values, values), min_size=1, max_size=6))
    rows = [
        row(f"i{i}", name, 1.0, cell[0], **({"status": "optimal", "bound": cell[0]} if cell[1] else {}))
        if cell is not None
        else row(f"i{i}", name, 1.0, None)
        for i, line in enumerate(table)
        for name, cell in zip(names, line, strict=True)
    ]
    rows = [each if each.bound is None else replace(each, curve=((0.001, each.value, each.bound),)) for each in rows]
    gaps, proofs = [], []
    for line in table:
        known = [cell[0] for cell in line if cell is not None]
        if not known:
            continue
        best = max(known)
        gaps.append([100.0 if cell is None else 100 * (best - cell[0]) / best for cell in line])
        # A proof that another solver's answer contradicts is none.
        proofs.append([cell is not None and cell[1] and cell[0] == best for cell in line])
    found = scores(to_frame(rows))
    if not gaps:
        assert not found
        return
    (score,) = found
    auto, dp, sa = np.mean(gaps, axis=0)
    assert score.instances == len(gaps)
    assert score.auto == pytest.approx(auto)
    assert score.single == pytest.approx(min(dp, sa))
    assert score.virtual == pytest.approx(np.mean([min(gap[1:]) for gap in gaps]))
    assert score.behind == pytest.approx(score.auto - score.single)
    assert (score.proved, score.most) == pytest.approx(
        (np.mean([each[0] for each in proofs]), max(np.mean([each[k] for each in proofs]) for k in (1, 2)))
    )
    if score.single - score.virtual > 1e-6:
        assert score.closed == pytest.approx((score.single - score.auto) / (score.single - score.virtual))
    else:
        assert np.isnan(score.closed)
    single = 1 + int(sa < dp - 1e-7)  # of level ones the first by name
    assert score.better[0] == pytest.approx(np.mean([gap[0] < gap[single] for gap in gaps]))
    assert score.worse[0] == pytest.approx(np.mean([gap[0] > gap[single] for gap in gaps]))


@pytest.mark.parametrize("turn", [1, -1])
def test_of_level_solvers_the_first_by_name_is_the_single_one(turn: int) -> None:
    # Gaps of dp: 100, 0, 0; of sa: 0, 200/3, 100/3. The sums are equal but for the last bit.
    values = {"auto": (None, None, None), "dp": (None, 3.0, 3.0), "sa": (1.0, 1.0, 2.0)}
    rows = [row(f"i{i}", name, 1.0, value) for name, each in values.items() for i, value in enumerate(each)]
    (score,) = scores(to_frame(rows[::turn]))
    assert (score.name, score.better[0], score.worse[0]) == ("dp", 0, 2 / 3)


def test_shares_have_limits() -> None:
    rows = []
    for i in range(40):
        good = i % 2 == 0
        rows += [row(f"i{i}", "dp", 1.0, 100.0 if good else 80.0), row(f"i{i}", "sa", 1.0, 70.0 if good else 100.0)]
        rows.append(row(f"i{i}", "auto", 1.0, 100.0 if i < 30 else 80.0))
    (score,) = scores(to_frame(rows))
    assert (score.name, score.better[0], score.worse[0]) == ("dp", 15 / 40, 5 / 40)
    # Clopper and Pearson's limits of 5 of 40, from a table.
    assert score.worse[1:] == pytest.approx((0.0419, 0.2680), abs=1e-4)
    assert score.better[1] < score.better[0] < score.better[2]


def test_when_the_condition_holds() -> None:
    def score(auto: float, single: float, proved: float = 0.9, most: float = 0.9, early: int = 0) -> Score:
        return Score(
            "csp", "", 1.0, 5, auto, 0.0, single, "sa", proved, most, 0.5, (0.2, 0.1, 0.3), (0.0, 0.0, 0.1), early
        )

    assert score(3, 4).holds(0, 0)
    assert score(4.1, 4).holds(0.1, 0)
    assert not score(4.2, 4).holds(0.1, 0)
    assert score(3, 4, proved=0.88).holds(0, 2)
    assert not score(3, 4, proved=0.87).holds(0, 2)
    assert not score(3, 4, early=1).holds(5, 5)


def test_a_result_that_says_time_before_the_time_is_up_is_counted() -> None:
    rows = [
        row("a", "auto", 1.0, 10.0, reason="time", seconds=0.9),
        row("a", "dp", 1.0, 10.0, reason="time", seconds=0.96),
        row("b", "auto", 1.0, 10.0, reason="finished", seconds=0.5),
        row("b", "dp", 1.0, 10.0, reason="time", seconds=0.2),
    ]
    (score,) = scores(to_frame(rows))
    assert score.early == 2


def test_families_are_scored_apart() -> None:
    rows = [
        replace(row(f"{name} {spec}"[:1], spec, 1.0, value), set=name)
        for name, values in (("a", (10.0, 10.0)), ("b", (5.0, 10.0)))
        for spec, value in zip(("auto", "dp"), values, strict=True)
    ]
    found = scores(to_frame(rows), by="set")
    assert [(score.family, score.auto) for score in found] == [("a", 0.0), ("b", 50.0)]
    assert scores(to_frame(rows))[0].auto == 25.0


def test_a_solver_that_was_not_run_on_an_instance_has_no_solution_there() -> None:
    ran = (("a", "auto"), ("a", "dp"), ("b", "auto"), ("b", "sa"))
    rows = [row(instance, spec, 1.0, 10.0) for instance, spec in ran]
    (score,) = scores(to_frame(rows))
    assert (score.auto, score.virtual, score.single) == (0.0, 0.0, 50.0)


def test_what_came_when_the_budget_was_over_does_not_count() -> None:
    late = row("a", "auto", 1.0, 10.0, seconds=1.3, curve=((0.4, 8.0, None), (1.2, 10.0, None)))
    (score,) = scores(to_frame([late, row("a", "dp", 1.0, 9.0)]))
    assert (score.auto, score.virtual) == pytest.approx((20.0, 10.0)), "the reference is the late 10"


def test_allocations_count_for_each_rule_and_together() -> None:
    def allocation(rule: str, spec: str, value: float) -> Row:
        return replace(row(f"{rule} 1", spec, 1.0, value), problem=rule, sense="min")

    costs = {"scas": {"auto": 10.0, "scas-dp": 10.0, "sa": 20.0}, "free": {"auto": 8.0, "free-exact": 10.0, "sa": 8.0}}
    rows = [allocation(rule, spec, cost) for rule, each in costs.items() for spec, cost in each.items()]
    found = {score.problem: score for score in scores(to_frame(rows))}
    assert (found["scas"].part, found["free"].part, found["tjap"].part) == (True, True, False)
    together = found["tjap"]
    # scas-dp has nothing under the other rule: (0 + 100) / 2; annealing is 50 % off under one.
    assert (together.name, together.single, together.auto, together.virtual) == ("sa", 25.0, 0.0, 0.0)
    assert together.holds(0, 0)
    assert [score.part for score in scores(to_frame(rows[:3]))] == [False]


def test_questions_with_one_answer_are_left_out() -> None:
    def check(node: Split | Leaf) -> None:
        if isinstance(node, Split):
            both = (node.yes, node.no)
            assert not all(isinstance(each, Leaf) for each in both) or both[0].steps != both[1].steps
            for each in both:
                check(each)

    rows, known = a_store(lambda x, y, seconds: "dp" if x < 0.5 else "sa", ["dp", "sa", "scip"], 60)
    choice = make_choice(read_cases(to_frame(rows), known))
    check(choice.timed)
    check(choice.untimed)


def test_a_schedule_has_to_do_well_on_slow_machines_too() -> None:
    # One solver is a little better at the end of the budget, but has nothing at half of it.
    rows = []
    for i in range(30):
        for budget in BUDGETS:
            late = ((0.9 * budget, 100.0, None),)
            soon = ((0.05 * budget, 99.9, None),)
            rows.append(row(f"i{i}", "sa", budget, 100.0, curve=late))
            rows.append(row(f"i{i}", "dp", budget, 99.9, curve=soon))
    known = {f"i{i}": facts() for i in range(30)}
    quiet = make_choice(read_cases(to_frame(rows), known))
    busy = make_choice(read_cases(to_frame(rows), known, slowdowns=(1.0, 5.0)))
    assert [leaf.steps[0].solver for leaf in leaves(quiet.timed)] == ["sa"]
    assert all("dp" in [step.solver for step in leaf.steps] for leaf in leaves(busy.timed))
    cases = read_cases(to_frame(rows), known, slowdowns=(1.0, 5.0))
    assert sorted({(case.seconds, case.budget) for case in cases}) == [(0.02, 0.1), (0.1, 0.1), (0.2, 1.0), (1.0, 1.0)]
    assert sum(leaf.cases for leaf in leaves(busy.timed)) == 60, "slow machines are no cases of their own"


def test_large_sets_count_no_more_than_small_ones() -> None:
    rows = []
    for i in range(66):
        family = "large" if i < 60 else "small"
        for budget in BUDGETS:
            # A little is won on the large set, more on the small one, and no feature tells which is which.
            mine = (100.0, 99.99) if family == "large" else (90.0, 100.0)
            for spec, value in zip(("dp", "sa"), mine, strict=True):
                late = ((0.99 * budget, value, None),)
                rows.append(replace(row(f"i{i}", spec, budget, value, curve=late), set=family))
    choice = make_choice(read_cases(to_frame(rows), {f"i{i}": facts() for i in range(66)}))
    assert [leaf.steps[-1].solver for leaf in leaves(choice.timed)] == ["sa"]


def test_who_goes_on_where_all_have_come_to_their_end() -> None:
    rows = []
    for i in range(20):
        for budget in BUDGETS:
            rows.append(row(f"i{i}", "dp", budget, 100.0, seconds=0.3 * budget))  # it ends early, unproved
            rows.append(row(f"i{i}", "sa", budget, 99.0))
            rows.append(row(f"i{i}", "ga", budget, 98.0))
    choice = make_choice(read_cases(to_frame(rows), {f"i{i}": facts() for i in range(20)}))
    assert (choice.otherwise, choice.improve) == ("dp", "sa")


def test_what_is_left_goes_to_who_proves_the_most() -> None:
    rows = []
    for i in range(20):
        for budget in BUDGETS:
            proved = {"status": "optimal", "curve": ((0.9 * budget, 100.0, 100.0),)} if i % 2 else {}
            rows.append(row(f"i{i}", "dp", budget, 100.0 if proved else 90.0, **proved))
            rows.append(row(f"i{i}", "sa", budget, 100.0))
    choice = make_choice(read_cases(to_frame(rows), {f"i{i}": facts() for i in range(20)}))
    assert (choice.otherwise, choice.improve) == ("dp", "sa"), "though sa has the smaller gaps"
