"""Waiting times by job size and start mode (DRAS, Figures 7 and 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from transom.plot.reduced import shown_points
from transom.plot.shared_scale import share_scale
from transom.plot.style import (
    MODE_COLOURS,
    WIDTH,
    comparable,
    heading,
    mode_legend,
    new_figure,
    shortened,
    styled,
    with_rules,
)
from transom.simulation.core.schedule import MODES, Schedule
from transom.simulation.output.breakdowns import by_mode
from transom.simulation.output.metrics import Trim

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SPREAD = 0.05  # points are moved sideways by up to 5 %, or the common sizes would be one line each


@styled
def wait_by_size(schedules: Sequence[Schedule], trim: Trim | None = None) -> Figure:
    """Waiting time against job size, one panel per policy, coloured by start mode.

    Points are jittered by a few per cent, so common sizes stay readable. All panels share their scales
    (:func:`~transom.plot.shared_scale.share_scale`).

    Raises
    ------
    ModelError : the schedules cannot share a figure (:func:`~transom.plot.style.comparable`).

    References
    ----------
    Fan et al., DRAS, Figure 7.
    """
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter

    comparable(schedules)
    columns = min(3, len(schedules))
    rows = -(-len(schedules) // columns)
    figure = new_figure(0.45 + 2.1 * rows, WIDTH if columns > 1 else WIDTH / 1.6)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes in grid.flat[len(schedules) :]:
        axes.remove()
    drawn = [schedule.wait[(trim or Trim()).kept(schedule)] / 3600 for schedule in schedules]
    label = share_scale(grid.flat[0].yaxis, drawn, "wait [h]")
    for place, (axes, schedule) in enumerate(zip(grid.flat, schedules, strict=False)):
        _scatter(axes, schedule, trim or Trim())
        name = f"{schedule.policy} on {schedule.workload}" if len(schedules) == 1 else schedule.policy
        heading(axes, with_rules(schedule, name))
        if place % columns == 0:
            axes.set_ylabel(label)
        if place + columns >= len(schedules):
            axes.set_xlabel("job size [nodes]")
            axes.tick_params(labelbottom=True)
    last = grid.flat[0]  # the others share its scales
    last.set_xscale("log", base=2)
    last.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    dots = [
        Line2D([], [], linestyle="", marker="o", markersize=4, color=MODE_COLOURS[mode], label=mode) for mode in MODES
    ]
    figure.legend(handles=dots, loc="outside upper right", ncols=len(MODES), handlelength=1)
    return figure


def _scatter(axes: Axes, schedule: Schedule, trim: Trim) -> None:
    from matplotlib.colors import to_rgba_array

    kept = np.flatnonzero(trim.kept(schedule))
    rng = np.random.default_rng(0)
    # In random order, so that no mode is always painted over another.
    kept = rng.permutation(kept)
    size = schedule.jobs.nodes[kept] * (1 + rng.uniform(-_SPREAD, _SPREAD, len(kept)))
    wait = schedule.wait[kept] / 3600
    dot = 3 if len(kept) > 2000 else 10
    shown = shown_points(np.log2(size), axes.yaxis.get_transform().transform(wait))
    colours = to_rgba_array([MODE_COLOURS[mode] for mode in MODES])[schedule.mode[kept[shown]]]
    axes.scatter(size[shown], wait[shown], s=dot, c=colours, alpha=0.6, linewidths=0, rasterized=True)
    axes.grid(axis="y")


@styled
def wait_by_mode(schedules: Sequence[Schedule], trim: Trim | None = None) -> Figure:
    """Mean waiting time by start mode, a group of bars per policy; each bar is labelled with its share of the jobs.

    The scale is that of :func:`~transom.plot.shared_scale.share_scale`.

    Raises
    ------
    ModelError : the schedules cannot share a figure (:func:`~transom.plot.style.comparable`).

    References
    ----------
    Fan et al., DRAS, Figure 8 and Table IV.
    """
    comparable(schedules)
    figure = new_figure(0.9 + 0.46 * len(schedules))
    axes = figure.add_subplot()
    width = 0.27
    drawn = []
    for place, schedule in enumerate(schedules):
        groups = {mode: group for mode, group in by_mode(schedule, trim).items() if group.jobs}
        at = place + width * (np.arange(len(groups)) - (len(groups) - 1) / 2)
        drawn.append(np.array([group.mean_wait / 3600 for group in groups.values()]))
        bars = axes.barh(at, drawn[-1], width * 0.94, color=[MODE_COLOURS[mode] for mode in groups])
        labels = [_percent(group.job_share) for group in groups.values()]
        axes.bar_label(bars, labels, padding=2, fontsize=7)
    axes.set_yticks(range(len(schedules)), [shortened(schedule.policy) for schedule in schedules])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(schedules) - 0.5, -0.5)
    axes.set_xlabel(share_scale(axes.xaxis, drawn, "mean wait [h]"))
    axes.grid(axis="x")
    heading(axes, f"{with_rules(schedules[0], schedules[0].workload)} (%: share of the jobs)")
    mode_legend(axes)
    return figure


def _percent(share: float) -> str:
    return "<1%" if 0 < share < 0.005 else f"{100 * share:.0f}%"
