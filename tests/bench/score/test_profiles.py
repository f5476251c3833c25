"""Profiles, ECDFs and curves against their definitions, counted one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bench.made_rows import curve, row
from transom.bench.plan.task import Row
from transom.bench.score.profiles import FINEST, Lines, gap_curves, hypervolume_curves, performance_profile, target_ecdf
from transom.bench.score.score import references
from transom.bench.store.frame import to_frame
from transom.errors import ModelError
from transom.stop import Stop


def drawn(function: object, rows: list[Row], *more: object) -> Lines:
    frame = to_frame(rows)
    lines = function(frame, references(frame), *more)
    assert isinstance(lines, Lines)
    return lines


def at(lines: Lines, solver: str, x: float) -> float:
    """The level of a line of steps."""
    return float(lines.y[solver][np.searchsorted(lines.x, x * (1 + 1e-12), side="right") - 1])


MOMENTS = (0.0001, 0.01, 0.02, 0.1, 0.5, 1.0)


@st.composite
def comparisons(draw: st.DrawFn) -> list[Row]:
    """Runs of two or three solvers on some instances, with times to values of 0 to 10."""
    rows = []
    for solver in "abc"[: draw(st.integers(2, 3))]:
        for number in range(draw(st.integers(1, 3))):
            times = sorted(draw(st.lists(st.sampled_from(MOMENTS), max_size=3, unique=True)))
            values = sorted(draw(st.lists(st.integers(0, 10), min_size=len(times), max_size=len(times))))
            points = [(time, float(value), None) for time, value in zip(times, values, strict=True)]
            rows.append(row(solver, f"i{number}", seconds=1.0, **(curve(*points) if points else {})))
    return rows


def reached(run: Row, rows: list[Row], gap: float) -> float:
    """When a run met a gap to the best of all runs on its instance, by a plain loop."""
    best = max((each.value for each in rows if each.instance == run.instance and each.value is not None), default=None)
    for seconds, value, _ in run.curve:
        assert value is not None
        assert best is not None
        if value == best or (best - value) / best <= gap:
            return max(seconds, FINEST)
    return math.inf


def on_shared_instances(rows: list[Row]) -> list[Row]:
    solvers = {run.name for run in rows}
    return [run for run in rows if all(any(r.name == s and r.instance == run.instance for r in rows) for s in solvers)]


@settings(max_examples=40)
@given(comparisons(), st.sampled_from([0.0, 0.1]))
def test_performance_profiles_are_counted_ratios(rows: list[Row], gap: float) -> None:
    lines, shared = drawn(performance_profile, rows, gap), on_shared_instances(rows)
    instances = {run.instance for run in shared}
    assert lines.instances == len(instances)
    for x in [1, 1.5, 2, 5, 10, 50, 1e6]:
        for solver in lines.y:
            count = 0
            for run in (run for run in shared if run.name == solver):
                best = min(reached(other, rows, gap) for other in shared if other.instance == run.instance)
                own = reached(run, rows, gap)
                count += own < math.inf and own <= x * best * (1 + 1e-12)
            assert at(lines, solver, x) == pytest.approx(count / len(instances))


@settings(max_examples=40)
@given(comparisons())
def test_ecdfs_are_counted_pairs(rows: list[Row]) -> None:
    gaps = (0.1, 0.01, 0.0)
    lines, shared = drawn(target_ecdf, rows, gaps), on_shared_instances(rows)
    for x in [0.001, 0.01, 0.05, 0.5, 1]:
        for solver in lines.y:
            own = [reached(run, rows, gap) <= x for run in shared if run.name == solver for gap in gaps]
            assert at(lines, solver, x) == pytest.approx(sum(own) / len(own))


def test_a_profile_by_hand() -> None:
    rows = [
        row("a", "i", **curve((0.1, 10, None))),
        row("b", "i", **curve((0.3, 10, None))),
        row("a", "j", **curve((0.4, 10, None))),
        row("b", "j", **curve((0.2, 10, None))),
        row("a", "k", **curve((0.1, 10, None))),
        row("b", "k", **curve((0.1, 5, None))),
        row("a", "only a"),
    ]
    lines = drawn(performance_profile, rows)
    assert lines.x == pytest.approx([1, 2, 3])
    assert lines.y["a"] == pytest.approx([2 / 3, 1, 1])
    assert lines.y["b"] == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    assert lines.instances == 3


def test_times_below_a_millisecond_are_one_and_the_same() -> None:
    rows = [row("a", **curve((1e-6, 10, None))), row("b", **curve((1e-4, 10, None)))]
    assert drawn(performance_profile, rows).y == {"a": [1], "b": [1]}


def test_a_mean_curve_by_hand_averages_seeds_first() -> None:
    rows = [
        row("a", "i", seed=0, **curve((0.1, 10, None))),
        row("a", "i", seed=1, **curve((0.2, 5, None))),
        row("a", "j", seed=0, **curve((0.5, 1, None))),
        row("best", "i", **curve((0.01, 10, None))),
        row("best", "j", **curve((0.01, 1, None))),
    ]
    lines = drawn(gap_curves, rows)
    for x, level in [(0.05, 1), (0.15, (0.5 + 1) / 2), (0.3, (0.25 + 1) / 2), (0.6, 0.25 / 2)]:
        assert at(lines, "a", x) == pytest.approx(level)
    assert lines.x[0] == FINEST
    assert lines.x[-1] == pytest.approx(1)
    assert (np.diff(lines.y["a"]) <= 0).all()


def test_one_instance_has_a_curve() -> None:
    lines = drawn(gap_curves, [row("a", **curve((0.1, 10, None)))])
    assert lines.y["a"][-1] == 0


def test_fronts_have_the_share_of_the_best_hypervolume() -> None:
    rows = [
        row("a", problem="selection", **curve((0.1, 0.2, None), (0.5, 0.4, None))),
        row("b", problem="selection", **curve((0.1, 0.8, None))),
    ]
    lines = drawn(hypervolume_curves, rows)
    assert [at(lines, "a", x) for x in (0.05, 0.2, 0.9)] == pytest.approx([0, 0.25, 0.5])
    with pytest.raises(ModelError, match="only selections"):
        drawn(hypervolume_curves, [row("a")])


def test_two_budgets_or_threads_are_no_comparison() -> None:
    for other in ({"stop": Stop(seconds=2.0)}, {"threads": 2}):
        for function in (performance_profile, target_ecdf, gap_curves):
            with pytest.raises(ModelError, match="take one"):
                drawn(function, [row("a"), row("b", **other)])


def test_curves_need_a_clock() -> None:
    with pytest.raises(ModelError, match="seconds"):
        drawn(gap_curves, [row("a", stop=Stop(iterations=5))])


def test_nothing_draws_nothing() -> None:
    for function in (performance_profile, target_ecdf, gap_curves, hypervolume_curves):
        assert drawn(function, []).y == {}
    apart = drawn(performance_profile, [row("a", "i"), row("b", "j")])
    assert (apart.instances, apart.y) == (0, {})
