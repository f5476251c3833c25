"""Bands of long schedules: the node-seconds of each start mode, and of nodes out of service."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from tests.plot.test_figures import long_schedule
from tests.simulation.output.test_metrics import by_hand
from transom.plot import bands, figures
from transom.plot.style import MODE_COLOURS, OUT_OF_SERVICE
from transom.simulation.core.node_runs import NodeRuns
from transom.simulation.core.outage_log import OutageLog
from transom.simulation.core.schedule import MODES
from transom.simulation.output.metrics import node_seconds, span


def areas(figure: Figure, unit: float) -> dict[str, float]:
    """Node-seconds of each band, by its colour; each lies on the one before."""
    found, floor = {}, 0.0
    for band in figure.axes[0].patches:
        top, edges, baseline = band.get_data()
        np.testing.assert_allclose(baseline, floor)
        found[to_hex(band.get_facecolor()).upper()] = float(((top - baseline) * np.diff(edges)).sum() * unit)
        floor = top
    return found


def test_bands_have_the_node_seconds_of_each_start_mode() -> None:
    schedule = long_schedule()
    figure = bands(schedule)
    expected = {
        MODE_COLOURS[mode]: node_seconds(schedule)[schedule.mode == place].sum() for place, mode in enumerate(MODES)
    }
    assert areas(figure, 86_400) == pytest.approx(expected)
    (axes,) = figure.axes
    assert axes.get_ylim() == (0, 16)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [*MODES, "idle"]
    first, last = span(schedule)
    assert axes.get_ylabel() == f"nodes, means over {(last - first) / 300 / 60:.3g} min"
    assert len(axes.patches[0].get_data().values) == 300


def test_a_short_schedule_has_bins_of_a_second_at_least() -> None:
    figure = bands(by_hand())
    first, last = span(by_hand())
    assert last - first > 300  # bins of one second and of two
    assert sum(areas(figure, 60).values()) == pytest.approx(node_seconds(by_hand()).sum())


def test_nodes_out_of_service_lie_below_and_ended_attempts_count() -> None:
    schedule = by_hand()
    one = np.zeros(1, np.int64)
    runs = NodeRuns(np.array([0]), np.array([0]), np.array([0, 1]))
    log = OutageLog(
        "requeue", one, one, np.array([30]), np.array([40]), one, one + 1,
        one, np.array([0]), np.array([15]), runs, np.empty(0, np.int64),
    )  # fmt: skip
    shown, before = areas(bands(replace(schedule, outages=log)), 60), areas(bands(schedule), 60)
    assert next(iter(shown)) == OUT_OF_SERVICE
    assert shown.pop(OUT_OF_SERVICE) == pytest.approx(2 * 10)
    before[MODE_COLOURS[MODES[schedule.mode[0]]]] += 15 * int(schedule.jobs.nodes[0])
    assert shown == pytest.approx(before)


def test_a_long_schedule_is_drawn_as_bands_and_its_week_as_bars() -> None:
    drawn = dict(figures([long_schedule()]))
    whole, week = (drawn[name].axes[0] for name in ("gantt_fcfs-easy", "gantt_week_fcfs-easy"))
    assert whole.get_ylabel().startswith("nodes, means over")
    assert len(whole.patches) == len(MODES)
    assert week.get_ylabel() == "node [number]"
    assert len(week.collections) == 1
    assert dict(figures([by_hand()]))["gantt_fcfs-easy"].axes[0].get_ylabel() == "node [number]"
