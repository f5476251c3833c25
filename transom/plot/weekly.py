"""Demand and waiting time by week (DRAS, Figure 9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from transom.plot.shared_scale import share_scale
from transom.plot.style import comparable, heading, new_figure, policy_styles, shortened, styled, thousands, with_rules
from transom.simulation.core.schedule import Schedule
from transom.simulation.output.breakdowns import by_week
from transom.simulation.output.metrics import WEEK, Trim

if TYPE_CHECKING:
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
    listed = by_week(schedules[0], trim)
    numbers = np.array([week.number for week in listed])
    demand.bar(numbers, [week.group.node_hours / 1000 for week in listed], width=0.8, color="#999999")
    capacity = schedules[0].cluster.num_nodes * WEEK / 3600 / 1000
    demand.axhline(capacity, color="#444444", linestyle="--", linewidth=0.8)
    demand.text(1, 1.02, "dashed: capacity", transform=demand.transAxes, ha="right", va="bottom", color="#444444")
    demand.set_ylabel("submitted\n[1,000 node-hours]")
    styles = policy_styles([schedule.policy for schedule in schedules])
    drawn = [np.array([week.group.mean_wait / 3600 for week in by_week(schedule, trim)]) for schedule in schedules]
    for schedule, means in zip(schedules, drawn, strict=True):
        waits.plot(
            numbers, means, marker="o", markersize=2.5, label=shortened(schedule.policy), **styles[schedule.policy]
        )
    waits.set_ylabel(share_scale(waits.yaxis, drawn, "mean wait [h]"))
    waits.set_xlabel("week of the submission")
    waits.set_xlim(0.4, numbers[-1] + 0.6)
    waits.xaxis.get_major_locator().set_params(integer=True)
    thousands(demand.yaxis)
    for axes in (demand, waits):
        axes.grid(axis="y")
    heading(demand, with_rules(schedules[0], schedules[0].workload))
    figure.legend(*waits.get_legend_handles_labels(), loc="outside lower center", ncols=4, handlelength=1.6)
    return figure
