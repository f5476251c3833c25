"""Queue length and utilisation over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from transom.plot.shared_scale import share_scale
from transom.plot.style import comparable, heading, new_figure, policy_styles, since, styled, time_unit, with_rules
from transom.simulation.core.schedule import Schedule
from transom.simulation.output.breakdowns import means_over_time, queue_length, used_nodes
from transom.simulation.output.metrics import span

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BINS = 250


@styled
def timeline(schedules: Sequence[Schedule]) -> Figure:
    """Utilisation (grey, left) and waiting jobs (line, right) over time, a panel per policy.

    Both are means over equal bins of time; all panels share their scales
    (:func:`~transom.plot.shared_scale.share_scale`).

    Raises
    ------
    ModelError : the schedules cannot share a figure (:func:`~transom.plot.style.comparable`).
    """
    comparable(schedules)
    spans = [span(schedule) for schedule in schedules]
    first, last = min(a for a, _ in spans), max(b for _, b in spans)
    unit, name = time_unit(last - first)
    edges = np.unique(np.linspace(first, max(last, first + 1), _BINS + 1).round().astype(np.int64))
    times = (edges - first) / unit
    count = len(schedules)
    figure = new_figure(0.7 + (1.9 if count == 1 else 1.05 * count))
    panels = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
    styles = policy_styles([schedule.policy for schedule in schedules])
    waiting = [means_over_time(queue_length(schedule), edges) for schedule in schedules]
    for panel, schedule, queue in zip(panels, schedules, waiting, strict=True):
        busy = 100 * means_over_time(used_nodes(schedule), edges) / schedule.cluster.num_nodes
        panel.stairs(busy, times, fill=True, color="#D0D0D0")
        panel.set(ylim=(0, 105), yticks=(0, 50, 100))
        queued = panel.twinx()
        queued.stairs(queue, times, baseline=None, color=styles[schedule.policy]["color"])
        label = share_scale(queued.yaxis, waiting, "waiting [jobs] (line)", whole=True)
        queued.spines["right"].set_visible(True)
        what = f"{schedule.policy} on {schedule.workload}" if count == 1 else schedule.policy
        heading(panel, with_rules(schedule, what))
        if panel is panels[count // 2]:
            # One label per side, in the middle panel or at the edge between the two in the middle.
            height = 0.5 if count % 2 else 1.15
            panel.set_ylabel("utilisation [%] (grey)", y=height)
            queued.set_ylabel(label, y=height)
    panels[-1].set_xlim(0, times[-1])
    panels[-1].set_xlabel(since(schedules[0], first, name))
    return figure
