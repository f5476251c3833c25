"""Pictures of long traces leave out what does not show; the picture is the same."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.image import imread

from benchmarks.deep_queues import lublin
from benchmarks.whole_command import whole_command
from transom.models.arrays import FloatArray, IntArray
from transom.plot.reduced import COLUMNS, shown_extremes, shown_points
from transom.plot.style import encoded
from transom.plot.waits import wait_by_size
from transom.plot.weekly import weekly
from transom.simulation import simulate
from transom.simulation.core.schedule import Schedule
from transom.simulation.output.breakdowns import by_week


def all_of(x: FloatArray, y: FloatArray) -> IntArray:
    return np.arange(len(x))


def difference(draw: Callable[[], Figure], monkeypatch: pytest.MonkeyPatch, module: str, name: str) -> FloatArray:
    """How much the pixels of a picture differ from those of the same one with nothing left out, from 0 to 1."""
    reduced = imread(io.BytesIO(encoded(draw(), "png")))
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[f"transom.plot.{module}"], name, all_of)
        whole = imread(io.BytesIO(encoded(draw(), "png")))
    assert reduced.shape == whole.shape
    return np.abs(reduced - whole).max(axis=2)


def test_dots_that_do_not_show_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = simulate(lublin(20_000), "fcfs-easy")
    apart = difference(lambda: wait_by_size([schedule]), monkeypatch, "waits", "shown_points")
    assert (apart > 0.1).mean() < 1e-3
    axes = wait_by_size([schedule]).axes[0]
    drawn = axes.collections[0].get_offsets()
    assert len(drawn) < 13_000
    assert drawn[:, 1].max() == schedule.wait.max() / 3600
    assert drawn[:, 1].min() == schedule.wait.min() / 3600


@given(st.integers(1, 400), st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_of_the_dots_in_a_pixel_the_last_are_shown(count: int, seed: int, places: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, places, (2, count)).astype(float)
    shown = shown_points(x, y)
    expected = {int(each) for values in (x, y) for each in (values.argmin(), values.argmax())}
    for i in range(count):
        later = np.count_nonzero((x[i + 1 :] == x[i]) & (y[i + 1 :] == y[i]))
        expected |= {i} if later < 5 else set()
    assert shown.tolist() == sorted(expected)


def test_nothing_and_equal_dots() -> None:
    assert shown_points(np.empty(0), np.empty(0)).tolist() == []
    assert shown_points(np.ones(9), np.ones(9)).tolist() == [0, 4, 5, 6, 7, 8]


@given(st.integers(1, 6 * 4 * COLUMNS), st.integers(0, 2**32 - 1))
def test_of_a_long_line_each_column_keeps_its_extremes(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = np.cumsum(rng.integers(1, 9, count)), rng.normal(size=count)
    y[rng.random(count) < 0.2] = np.nan
    shown = shown_extremes(x, y)
    assert len(shown) <= 4 * COLUMNS
    if count <= 4 * COLUMNS:
        assert shown.tolist() == list(range(count))
    kept = set(shown.tolist())
    assert {0, count - 1} <= kept
    column = np.minimum((x - x[0]) * COLUMNS // max(x[-1] - x[0], 1), COLUMNS - 1)
    for number in range(0, COLUMNS, 97):
        inside = np.flatnonzero((column == number) & ~np.isnan(y))
        if len(inside):
            assert np.nanmax(y[shown[column[shown] == number]]) == y[inside].max()
            assert np.nanmin(y[shown[column[shown] == number]]) == y[inside].min()


def centuries(weeks: int) -> Schedule:
    """Two jobs in each of so many weeks."""
    workload = lublin(2 * weeks)
    schedule = simulate(workload, "fcfs-easy")
    data = schedule.jobs.data.copy()
    moved = np.arange(2 * weeks) // 2 * 7 * 86_400 - data[:, 1]
    data[:, 1] += moved
    return Schedule(
        "fcfs-easy", "long", schedule.cluster, type(schedule.jobs)(data), schedule.start + moved, schedule.end + moved,
        schedule.mode, schedule.order,
    )  # fmt: skip


def test_weeks_that_are_narrower_than_a_line_keep_their_extremes(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = centuries(5_000)
    listed = by_week(schedule)
    figure = weekly([schedule])
    demand, mean_waits = figure.axes
    (bars,), (line,) = demand.collections, mean_waits.lines
    tops = [path.vertices[:, 1].max() for path in bars.get_paths()]
    assert len(tops) <= 4 * COLUMNS
    assert max(tops) == max(week.group.node_hours / 1000 for week in listed)
    assert line.get_ydata().max() == max(week.group.mean_wait / 3600 for week in listed)
    assert len(encoded(figure, "svg")) < 1_000_000
    apart = difference(lambda: weekly([schedule]), monkeypatch, "weekly", "shown_extremes")
    below = apart[apart.shape[0] // 2 :]  # the line; bars of half a pixel become columns
    assert (below > 0.1).mean() < 0.01


@pytest.mark.long
@pytest.mark.parametrize(("jobs", "seconds"), [(1_000_000, 20.0), (10_000_000, 180.0)])
def test_a_long_trace_with_figures_is_a_matter_of_seconds(tmp_path: Path, jobs: int, seconds: float) -> None:
    spent, peak, sizes = whole_command(jobs, tmp_path, ["png", "svg"])
    assert spent < seconds
    assert peak < 6
    assert sizes
    assert max(sizes.values()) < 2_000_000
