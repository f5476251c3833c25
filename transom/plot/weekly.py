"""Demand and waiting time by week (DRAS, Figure 9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from transom._system.durations import day
from transom.models.arrays import FloatArray, IntArray
from transom.plot.reduced import COLUMNS, shown_extremes
from transom.plot.shared_scale import share_scale
from transom.plot.style import comparable, heading, new_figure, policy_styles, shortened, styled, thousands, with_rules
from transom.simulation.core.schedule import Schedule
from transom.simulation.output.breakdowns import by_week
from transom.simulation.output.metrics import WEEK, Trim

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@styled
def weekly(schedules: Sequence[Schedule], trim: Trim | None = None) -> Figure:
    """Node-hours submitted each week, and the mean waiting time of that week's jobs per policy.

    The dashed line is the capacity of the machine in a week. The scale of the waits is that of
    :func:`~transom.plot.shared_scale.share_scale`.

    Raises
    ------
    ModelError : the schedules cannot share a figure (:func:`~transom.plot.style.comparable`).

    References
    ----------
    Fan et al., DRAS, Figure 9.
    """
    comparable(schedules)
    figure = new_figure(3.6)
    demand, waits = figure.subplots(2, 1, sharex=True)
    weeks = [by_week(schedule, trim) for schedule in schedules]
    numbers = np.array([week.number for week in weeks[0]])
    asked = np.array([week.group.node_hours / 1000 for week in weeks[0]])
    _bars(demand, numbers, asked)
    capacity = schedules[0].cluster.num_nodes * WEEK / 3600 / 1000
    demand.axhline(capacity, color="#444444", linestyle="--", linewidth=0.8)
    demand.text(1, 1.02, "dashed: capacity", transform=demand.transAxes, ha="right", va="bottom", color="#444444")
    demand.set_ylim(0, 1.05 * max(asked.max(), capacity))
    demand.set_ylabel("submitted\n[1,000 node-hours]")
    styles = policy_styles([schedule.policy for schedule in schedules])
    drawn = [np.array([week.group.mean_wait / 3600 for week in listed]) for listed in weeks]
    for schedule, means in zip(schedules, drawn, strict=True):
        shown, look = shown_extremes(numbers, means), styles[schedule.policy]
        waits.plot(numbers[shown], means[shown], marker="o", markersize=2.5, label=shortened(schedule.policy), **look)
    waits.set_ylabel(share_scale(waits.yaxis, drawn, "mean wait [h]"))
    zero, first = schedules[0].epoch, weeks[0][0]
    since = "" if zero is None else f", the first from {day(zero + first.start - (first.number - 1) * WEEK)} on"
    waits.set_xlabel(f"week of the submission{since}")
    waits.set_xlim(0.4, numbers[-1] + 0.6)
    waits.xaxis.get_major_locator().set_params(integer=True)
    thousands(demand.yaxis)
    for axes in (demand, waits):
        axes.grid(axis="y")
    heading(demand, with_rules(schedules[0], schedules[0].workload))
    figure.legend(*waits.get_legend_handles_labels(), loc="outside lower center", ncols=4, handlelength=1.6)
    return figure


def _bars(axes: Axes, numbers: IntArray, heights: FloatArray) -> None:
    """A bar for each week, at least as wide as a column of the picture, as one artist."""
    from matplotlib.collections import PolyCollection

    shown = shown_extremes(numbers, heights)
    half = max(0.8, (numbers[-1] - numbers[0]) / COLUMNS) / 2 if len(shown) < len(numbers) else 0.4
    left, right, top, floor = numbers[shown] - half, numbers[shown] + half, heights[shown], np.zeros(len(shown))
    corners = [np.column_stack(pair) for pair in ((left, floor), (left, top), (right, top), (right, floor))]
    axes.add_collection(PolyCollection(list(np.stack(corners, axis=1)), facecolors="#999999", linewidths=0))
