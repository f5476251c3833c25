"""A long schedule as bands: nodes in use, by start mode, and idle nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from transom.plot.style import (
    MODE_COLOURS,
    OUT_OF_SERVICE,
    comparable,
    heading,
    mode_legend,
    new_figure,
    since,
    styled,
    thousands,
    time_unit,
    with_rules,
)
from transom.simulation.core.schedule import MODES, Schedule
from transom.simulation.output.breakdowns import Intervals, means_over_time, used_nodes
from transom.simulation.output.metrics import span

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BINS = 300  # over the width of the figure: a bin is four pixels of the PNG wide


@styled
def bands(schedule: Schedule) -> Figure:
    """Stacked nodes over time: out of service, used by jobs of each start mode, idle; means over equal time bins.

    Every attempt of a job counts, with the start mode of its last attempt.

    Raises
    ------
    ModelError : there are no jobs.
    """
    comparable([schedule])
    first, last = span(schedule)
    unit, name = time_unit(last - first)
    edges = np.unique(np.linspace(first, max(last, first + 1), _BINS + 1).round().astype(np.int64))
    at = (edges - first) / unit
    parts = [(MODE_COLOURS[mode], used_nodes(schedule, place)) for place, mode in enumerate(MODES)]
    if schedule.outages is not None:
        times, levels = schedule.outages.out_of_service()
        parts.insert(0, (OUT_OF_SERVICE, Intervals(times[:-1], times[1:], levels[:-1])))
    figure = new_figure(2.6)
    axes = figure.add_subplot()
    floor = np.zeros(len(edges) - 1)
    for colour, intervals in parts:
        top = floor + means_over_time(intervals, edges)
        axes.stairs(top, at, baseline=floor, fill=True, color=colour, linewidth=0)
        floor = top
    axes.set(xlim=(0, at[-1]), ylim=(0, schedule.cluster.num_nodes))
    length = float(np.diff(edges).mean())
    bin_unit, short = time_unit(length)
    axes.set_xlabel(since(schedule, first, name))
    axes.set_ylabel(f"nodes, means over {length / bin_unit:.3g} {short}")
    thousands(axes.yaxis, whole=True)
    heading(axes, with_rules(schedule, f"{schedule.policy} on {schedule.workload}"))
    mode_legend(axes, None if schedule.outages is None else schedule.outages.kind, idle=True)
    return figure
