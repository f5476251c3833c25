"""Gaps and integrals: by hand, by definition, and against plain loops."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bench.made_rows import curve, row
from transom.bench.plan.task import Row
from transom.bench.score.gaps import mean_over_time, primal_gap, proved_gap
from transom.bench.score.score import ALLOWANCE, curve_points, references, scored, time_to_target
from transom.bench.store.frame import to_frame
from transom.stop import Stop

NAN = math.nan
VALUES = st.one_of(st.just(0.0), st.integers(-50, 50).map(float), st.floats(-1e6, 1e6))


@pytest.mark.parametrize(
    ("value", "reference", "maximise", "gap"),
    [
        (8, 10, True, 0.2),
        (10, 10, True, 0),
        (12.5, 10, False, 0.2),
        (-10, -8, True, 0.2),
        (-8, -10, False, 0.2),
        (0, 0, True, 0),
        (0, 5, True, 1),
        (5, 0, False, 1),
        (-1, 5, True, 1),
        (NAN, 5, True, 1),
        (5, NAN, True, 1),
        (11, 10, True, 0),  # better than what was known
        (9, 10, False, 0),
        (10 - 1e-12, 10, True, 0),  # a sum in another order
        (-1e308, 1e308, True, 1),  # too far apart for a difference
    ],
)
def test_the_primal_gap_by_hand(value: float, reference: float, maximise: bool, gap: float) -> None:
    assert primal_gap(value, reference, maximise)[0] == pytest.approx(gap, abs=1e-15)


@pytest.mark.parametrize(("value", "bound", "gap"), [(8, 10, 0.2), (8, NAN, 1), (NAN, 8, 1), (0, 0, 0), (-1, 1, 1)])
def test_the_proved_gap_by_hand(value: float, bound: float, gap: float) -> None:
    assert proved_gap(value, bound)[0] == pytest.approx(gap)


@given(VALUES, VALUES, st.floats(1e-3, 1e3))
def test_gaps_lie_between_0_and_1_and_know_no_units(value: float, best: float, factor: float) -> None:
    reference = max(value, best)
    gap = primal_gap(value, reference, True)[0]
    assert 0 <= gap <= 1
    assert primal_gap(factor * value, factor * reference, True)[0] == pytest.approx(gap, abs=2e-9)
    assert primal_gap(-value, -reference, False)[0] == gap  # a minimum is a maximum of the opposite


@given(st.data())
def test_the_integral_is_that_of_the_step_functions(data: st.DataObject) -> None:
    budgets, run, seconds, gaps, expected = [], [], [], [], []
    for number in range(data.draw(st.integers(1, 4))):
        times = [0.0, *sorted(data.draw(st.lists(st.floats(0, 3), max_size=6)))]
        levels = data.draw(st.lists(st.floats(0, 1), min_size=len(times), max_size=len(times)))
        budgets.append(data.draw(st.sampled_from([0.5, 1.0, 2.0])))
        run += [number] * len(times)
        seconds += times
        gaps += levels
        # Midpoints of a grid that holds every step: exact for step functions.
        grid = np.unique([*(time for time in times if time < budgets[-1]), budgets[-1]])
        middles = (grid[1:] + grid[:-1]) / 2
        at = [max(i for i, time in enumerate(times) if time <= middle) for middle in middles]
        expected.append(float((np.diff(grid) * np.array(levels)[at]).sum() / budgets[-1]))
    assert mean_over_time(run, seconds, gaps, budgets) == pytest.approx(expected)


def test_without_a_budget_there_is_no_integral() -> None:
    assert np.isnan(mean_over_time([0], [0.0], [1.0], [NAN])).all()


def table(*rows: Row) -> pl.DataFrame:
    frame = to_frame(rows)
    return scored(frame, references(frame))


def test_a_comparison_by_hand() -> None:
    rows = [
        row("exact", **curve((0.1, 5, 20), (0.5, 10, 10)), status="optimal"),
        row("quick", **curve((0.2, 8, None))),
        row("hangs", outcome="timeout", cause="no answer", seconds=None, wall=6.0),
    ]
    exact, quick, hangs = table(*rows).iter_rows(named=True)
    assert (exact["reference"], exact["reference_proved"], exact["reference_from"]) == (10, True, "rows")
    assert [run["primal_gap"] for run in (exact, quick, hangs)] == pytest.approx([0, 0.2, 1])
    assert [run["primal_integral"] for run in (exact, quick, hangs)] == pytest.approx([0.1 + 0.2, 0.2 + 0.16, 1])
    assert (exact["proved_gap"], exact["proved_integral"]) == (0, pytest.approx(0.1 + 0.4 * 0.75))
    assert [run["solved"] for run in (exact, quick, hangs)] == [True, True, False]
    assert [run["proved"] for run in (exact, quick, hangs)] == [True, False, False]
    assert [run["time"] for run in (exact, quick, hangs)] == [0.5, 0.5, 1]  # who has no answer used all of it
    assert hangs["overshoot"] == pytest.approx(5)
    assert quick["proved_gap"] is None  # states no bound: not compared on bounds, rather than scored 1
    frame = to_frame(rows)
    assert time_to_target(frame, references(frame), 0.5).to_list() == [0.1, 0.2, math.inf]
    assert time_to_target(frame, references(frame), 0.0).to_list() == [0.5, math.inf, math.inf]


def test_a_solver_with_a_bound_somewhere_is_compared_on_bounds_everywhere() -> None:
    rows = table(row("exact", "a", **curve((0.1, 5, 10))), row("exact", "b", value=3.0), row("quick", "b", value=4.0))
    assert rows["proved_gap"].to_list() == [0.5, 1.0, None]


def test_a_wrong_answer_and_a_refusal_are_no_solution_and_no_reference() -> None:
    rows = table(
        row("liar", value=99.0, bound=99.0, outcome="wrong", status="optimal", curve=((0.1, 99.0, 99.0),)),
        row("shy", value=50.0, outcome="refused"),
        row("honest", value=10.0, curve=((0.1, 10.0, None),)),
    )
    assert rows["reference"].to_list() == [10, 10, 10]
    assert rows["primal_gap"].to_list() == [1, 1, 0]
    assert not rows["proved"].any()


def test_a_run_that_failed_counts_with_what_passed_the_judge() -> None:
    rows = table(
        row("late", outcome="timeout", **curve((0.25, 10, None)), seconds=None, wall=6.0), row("other", value=5.0)
    )
    assert rows["primal_gap"].to_list() == pytest.approx([0, 0.5])
    assert rows["primal_integral"][0] == pytest.approx(0.25)


def test_bounds_that_a_solution_contradicts_are_void() -> None:
    rows = table(
        row("bold", **curve((0.1, 9, 9)), status="optimal"),
        row("right", **curve((0.2, 10, 12))),
        row("denies", status="infeasible"),
    )
    assert rows["disproved"].to_list() == [True, False, True]
    assert not rows["proved"].any()
    assert not rows["reference_proved"].any()
    assert rows["reference_bound"].to_list() == [12, 12, 12]
    assert rows["proved_gap"].to_list() == pytest.approx([1, 1 / 6, None])
    assert rows["solved"].to_list() == [True, True, False]


@pytest.mark.parametrize("sense", ["max", "min"])
def test_both_senses_have_one_sign_apart(sense: str) -> None:
    sign = 1 if sense == "max" else -1
    rows = table(
        row("a", sense=sense, **curve((0.1, sign * 4, sign * 20), (0.3, sign * 8, sign * 10))),
        row("b", sense=sense, **curve((0.2, sign * 10, sign * 10)), status="optimal"),
    )
    assert rows["reference"].to_list() == [sign * 10] * 2
    assert rows["primal_gap"].to_list() == pytest.approx([0.2, 0])
    assert rows["proved_gap"].to_list() == pytest.approx([0.2, 0])
    assert rows["proved"].to_list() == [False, True]


def test_proving_that_there_is_no_solution_solves_an_instance() -> None:
    rows = table(row("proves", status="infeasible", seconds=0.25), row("searches", status="unknown"))
    assert rows["solved"].to_list() == rows["proved"].to_list() == [True, False]
    assert rows["primal_gap"].to_list() == [0, 1]
    assert rows["primal_integral"].to_list() == [0.25, 1]
    assert rows["reference_infeasible"].all()


def test_what_comes_after_the_budget_does_not_count() -> None:
    until = 1 + ALLOWANCE[0] + ALLOWANCE[1]
    rows = table(
        row("just", **curve((0.5, 5, None), (until - 0.01, 10, 10)), status="optimal", seconds=until, wall=until),
        row("late", **curve((0.5, 5, None), (until + 0.01, 10, 10)), status="optimal", seconds=1.2, wall=1.2),
        row("later", status="infeasible", instance="j", seconds=1.2),
    )
    assert rows["counted"].to_list() == [10, 5, None]
    assert rows["proved"].to_list() == [True, False, False]
    assert rows["solved"].to_list() == [True, True, False]
    assert rows["primal_gap"].to_list() == [0, 0.5, 1]
    assert rows["time"].to_list() == [1, 1, 1]


def test_an_iteration_budget_has_gaps_and_no_integral() -> None:
    rows = table(row("a", stop=Stop(iterations=100), value=5.0, seconds=9.0), row("b", value=10.0))
    assert rows["primal_gap"].to_list() == [0.5, 0]
    assert rows["primal_integral"].to_list() == [None, pytest.approx(0.5)]
    assert rows["overshoot"].to_list() == [None, pytest.approx(-0.5)]
    assert rows["budget"].to_list() == ["100 iterations", "1 s"]
    assert rows["time"].to_list() == [9.0, 0.5]


def test_a_label_that_stands_for_two_specifications_is_distinguished() -> None:
    rows = table(row("sa", spec="sa:steps=1"), row("sa", spec="sa:steps=2"), row("greedy"))
    assert rows["solver"].to_list() == ["sa (sa:steps=1)", "sa (sa:steps=2)", "greedy"]


def test_replays_have_no_gap() -> None:
    assert len(table(row("fcfs", what="replay", problem="sequence"), row("sa"))) == 1


def test_nothing_gives_an_empty_table() -> None:
    assert len(table()) == 0
    assert len(references(to_frame([]))) == 0


@dataclass(frozen=True)
class Entry:
    value: float | None
    bound: float | None
    proved: bool


class Library:
    """Knows 12, proved, of instance ``i``."""

    def best(self, digest: str, /) -> Entry | None:
        return Entry(12.0, 12.0, True) if digest == "i" else None


def test_the_library_is_one_more_run() -> None:
    frame = to_frame([row("a", value=9.0), row("a", "j", value=9.0)])
    known = references(frame, Library()).sort("instance")
    assert known["reference"].to_list() == [12, 9]
    assert known["reference_from"].to_list() == ["library", "rows"]
    assert known["reference_proved"].to_list() == [True, False]
    better = references(to_frame([row("a", value=13.0)]), Library())
    assert better["reference"].to_list() == [13]
    assert better["reference_proved"].to_list() == [False]  # what the library calls proved is contradicted


@settings(max_examples=40)
@given(st.data())
def test_scores_are_those_of_plain_loops(data: st.DataObject) -> None:
    rows = []
    for number in range(data.draw(st.integers(1, 5))):
        times = sorted(data.draw(st.lists(st.floats(0.001, 1.0), max_size=4)))
        values = sorted(data.draw(st.lists(st.integers(0, 20), min_size=len(times), max_size=len(times))))
        steps = tuple((time, float(value), None) for time, value in zip(times, values, strict=True))
        made = {"curve": steps, "value": steps[-1][1]} if steps else {}
        rows.append(row(f"s{number}", data.draw(st.sampled_from("ab")), seconds=1.0, **made))
    frame = to_frame(rows)
    known = references(frame)
    for run, got in zip(rows, scored(frame, known).iter_rows(named=True), strict=True):
        best = max((r.value for r in rows if r.instance == run.instance and r.value is not None), default=None)
        assert got["reference"] == best

        def gap(value: float | None, best: float | None = best) -> float:
            return 1.0 if value is None else 0.0 if value == best else (best - value) / best

        moments = (np.arange(200) + 0.5) / 200
        held = [max((i for i, step in enumerate(run.curve) if step[0] <= moment), default=None) for moment in moments]
        rough = np.mean([gap(None if at is None else run.curve[at][1]) for at in held])
        assert got["primal_gap"] == pytest.approx(gap(run.value))
        assert got["primal_integral"] == pytest.approx(rough, abs=0.01)
        met = [step[0] for step in run.curve if gap(step[1]) <= 0.05]
        at = rows.index(run)
        assert time_to_target(frame, known, 0.05)[at] == (met[0] if met else math.inf)


def test_order_and_repetition_of_the_other_rows_change_nothing() -> None:
    rows = [row("a", value=9.0), row("b", value=10.0, seed=3), row("c", "j", value=1.0)]
    one, other = table(*rows), table(*reversed(rows))
    assert one.sort("key").equals(other.sort("key"))


def test_curves_begin_at_nothing_and_hold_every_step() -> None:
    frame = to_frame([row("a", **curve((0.1, 5, None), (0.3, 10, None)))])
    points = curve_points(frame, references(frame))
    assert points["seconds"].to_list() == [0, 0.1, 0.3, 0.5]
    assert points["primal_gap"].to_list() == [1, 0.5, 0, 0]
    assert points["value"].to_list() == [None, 5, 10, 10]


def test_times_to_the_usual_targets_stand_beside_the_scores() -> None:
    (run,) = table(row("a", **curve((0.1, 96, None), (0.2, 99.5, None), (0.4, 100, None)))).iter_rows(named=True)
    assert [run[name] for name in ("to_5", "to_1", "to_0.1", "to_0")] == [0.1, 0.2, 0.4, 0.4]
