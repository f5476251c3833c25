"""Figures over instances, worked by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tests.bench.made_rows import curve, row
from transom.bench.plan.task import Row
from transom.bench.score.diagnostics import diagnostics
from transom.bench.score.score import references, scored
from transom.bench.score.summaries import By, figures, summaries
from transom.bench.store.frame import to_frame
from transom.stop import Stop


def table(*rows: Row) -> pl.DataFrame:
    frame = to_frame(rows)
    return scored(frame, references(frame))


def lines(*rows: Row, by: By = "problem") -> dict[tuple[str, str], dict[str, Any]]:
    return {(each["budget"], each["solver"]): each for each in summaries(table(*rows), by).iter_rows(named=True)}


def test_seeds_are_averaged_before_instances() -> None:
    rows = [row("best", name, value=100.0) for name in "ij"]
    rows += [row("a", "i", seed=seed, value=value) for seed, value in enumerate([90.0, 80.0, 70.0])]
    rows += [row("a", "j", value=100.0)]
    line = lines(*rows)["1 s", "a"]
    assert (line["runs"], line["instances"]) == (4, 2)
    assert line["gap"] == pytest.approx((0.2 + 0.0) / 2)  # not the mean over the four runs
    assert line["gap_median"] == pytest.approx(0.1)
    assert line["gap_shifted"] == pytest.approx((0.21 * 0.01) ** 0.5 - 0.01)
    assert (line["behind"], line["behind_share"]) == (1, 0.5)
    assert (line["behind_share_low"], line["behind_share_high"]) == pytest.approx((1 - 0.975**0.5, 0.975**0.5))
    assert (line["gap_low"], line["gap_high"], line["gap_median_low"], line["gap_median_high"]) == (None,) * 4


def test_times_are_means_with_the_budget_for_who_did_not_get_there() -> None:
    rows = [
        row("a", "i", **curve((0.1, 100, None)), seconds=0.3),
        row("a", "j", outcome="crash", cause="x", seconds=None, wall=0.01),
        row("best", "j", value=5.0),
    ]
    line = lines(*rows)["1 s", "a"]
    assert line["time"] == pytest.approx((0.3 + 1) / 2)
    assert line["time_shifted"] == pytest.approx((0.4 * 1.1) ** 0.5 - 0.1)  # a shift of 10 % of the budget
    assert line["to_1_shifted"] == pytest.approx((0.2 * 1.1) ** 0.5 - 0.1)
    assert line["within_1"] == line["solved"] == 0.5
    assert (line["failed"], line["gap"], line["integral"]) == (1, 0.5, pytest.approx((0.1 + 1) / 2))


def test_limits_are_reported_as_far_as_the_instances_go() -> None:
    rows = [row("best", f"i{number}", value=100.0) for number in range(60)]
    rows += [row("a", f"i{number}", value=100.0 - number % 3) for number in range(60)]
    line = lines(*rows)["1 s", "a"]
    assert (line["behind"], line["gap_median"], line["gap"]) == (40, pytest.approx(0.01), pytest.approx(0.01))
    assert (line["gap_median_low"], line["gap_median_high"]) == pytest.approx((0.01, 0.01))
    assert 0.005 < line["gap_low"] < 0.01 < line["gap_high"] < 0.08
    few = lines(*(each for each in rows if each.instance in [f"i{number}" for number in range(6)]))["1 s", "a"]
    assert (few["gap_median_low"], few["gap_median_high"], few["gap_low"]) == (0, pytest.approx(0.02), None)


def test_only_who_met_every_instance_can_be_best() -> None:
    found = lines(row("a", "i", value=10.0), row("a", "j", value=9.0), row("b", "j", value=10.0))
    assert [(each["solver"], each["complete"], each["best"]) for each in found.values()] == [
        ("b", False, False), ("a", True, True),
    ]  # fmt: skip


def test_budgets_threads_and_sets_are_kept_apart() -> None:
    rows = [
        row("a", stop=Stop(iterations=5), value=1.0),
        row("a", stop=Stop(seconds=10.0), value=2.0),
        row("a", stop=Stop(seconds=2.0), value=3.0),
        row("a", stop=Stop(seconds=2.0), threads=2, value=4.0),
    ]
    order = summaries(table(*rows)).select("budget", "threads").rows()
    assert order == [("2 s", 1), ("2 s", 2), ("10 s", 1), ("5 iterations", 1)]
    assert summaries(table(*rows))["gap"].to_list() == pytest.approx([0.25, 0, 0.5, 0.75])
    sets = summaries(table(row("a", "i", set="x", value=1.0), row("a", "j", set="y", value=1.0)), "set")
    assert sets.select("set", "instances").rows() == [("x", 1), ("y", 1)]


def test_a_set_of_two_problems_is_two() -> None:
    of_csp = {"problem": "csp", "sense": "min", "set": "s"}
    rows = [row("a", "i", value=9.0, set="s"), row("b", "i", value=10.0, set="s")]
    rows += [row("a", "j", value=9.0, **of_csp), row("b", "j", value=10.0, **of_csp)]
    summed = summaries(table(*rows, row("a", "k", set="t", value=1.0)), "set")
    assert sorted(summed["set"].unique()) == ["s (csp)", "s (knapsack)", "t"]


def test_figures_are_per_instance_and_leave_out_what_has_no_measure() -> None:
    rows = [row("a", seed=0, value=8.0), row("a", seed=1, value=10.0), row("b", stop=Stop(iterations=5), value=5.0)]
    gaps = figures(table(*rows), "primal_gap")
    assert gaps == [
        ({"problem": "knapsack", "budget": "1 s", "threads": 1}, {"a": {"i": pytest.approx(0.1)}}),
        ({"problem": "knapsack", "budget": "5 iterations", "threads": 1}, {"b": {"i": 0.5}}),
    ]
    assert [where["budget"] for where, _ in figures(table(*rows), "primal_integral")] == ["1 s"]


def test_who_takes_more_than_the_budget_is_reported() -> None:
    slow = [row("slow", f"i{number}", value=1.0, seconds=1.0, wall=1.3) for number in range(5)]
    fair = [row("fair", f"i{number}", value=1.0, seconds=1.0, wall=1.09) for number in range(5)]
    assert diagnostics(table(*slow, *fair)) == [
        "late: slow under 1 s: 99th percentile of the overshoot 0.3 s, at most 0.3 s"
    ]
    assert lines(*slow)["1 s", "slow"]["overshoot_max"] == pytest.approx(0.3)


def test_the_seconds_that_weights_took_are_reported() -> None:
    first = row("learned", "i1", value=1.0, cold=2.5, parameters={"load_seconds": 0.004})
    again = row("learned", "i2", value=1.0, parameters={"load_seconds": 0.004})
    assert diagnostics(table(first, again, row("plain", "i1", value=1.0, cold=1.0), row("plain", "i2", value=1.0))) == [
        "learned: loading its weights took at most 0.004 s, imports and compilation at most 2.5 s; neither counts as "
        "time of a run"
    ]
    assert diagnostics(table(again))[0].startswith("learned: loading its weights took at most 0.004 s; neither counts")


def test_no_run_is_no_line() -> None:
    assert len(summaries(table())) == 0
    assert figures(table(), "primal_gap") == []
