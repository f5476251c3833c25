"""Hop cost and waiting time of scheduling methods side by side (NSA, Figure 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from transom.errors import ModelError
from transom.plot.style import WIDTH, heading, new_figure, policy_styles, styled, thousands

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKERS = "osD^vP"


@styled
def hops_and_waits(
    methods: Sequence[str], costs: Mapping[str, Sequence[float]], waits: Sequence[float], title: str, apart: int = 0
) -> Figure:
    """Mean hop cost (lines, left) and mean waiting time (grey bars, right) of each method.

    Parameters
    ----------
    methods : names along the axis, such as FCFS, BF and the periods of windows.
    costs : mean hop cost of a job under each method, one line per way of choosing nodes.
    waits : mean waiting time under each method [s]; it does not depend on the nodes.
    title : what was replayed.
    apart : number of methods at the beginning are no windows; lines do not go on from them.

    Raises
    ------
    ModelError : there is no method or no line, or one of another length.

    References
    ----------
    Lan et al. (2023), section VI-E, Figure 6.
    """
    if not methods or not costs or {len(methods)} != {len(each) for each in (waits, *costs.values())}:
        raise ModelError("figure: every line and the waiting times must have one number per method")
    figure = new_figure(3.2, WIDTH * 0.8)
    axes = figure.add_subplot()
    bars = axes.twinx()
    # Bars belong behind the lines, although their axis is drawn second.
    axes.set_zorder(bars.get_zorder() + 1)
    axes.patch.set_visible(False)
    at = np.arange(len(methods))
    bars.bar(at, waits, width=0.62, color="#DDDDDD", label="wait (right)")
    bars.set_ylim(0, 2.3 * max(*waits, 1e-9))
    bars.set_ylabel("mean wait [s]")
    axes.set_xlabel("jobs placed one by one, and windows of so many seconds" if apart else "")
    bars.spines["right"].set_visible(True)
    parts = [part for part in (slice(0, apart), slice(apart, len(methods))) if at[part].size]
    for (name, line), style, marker in zip(costs.items(), policy_styles(list(costs)).values(), _MARKERS, strict=False):
        for part in parts:
            axes.plot(
                at[part],
                np.array(line)[part] / 1000,
                marker=marker,
                markersize=4,
                label=name if part is parts[-1] else None,
                **style,
            )
    lines = np.concatenate([np.asarray(line) for line in costs.values()]) / 1000
    room = max(lines.max() - lines.min(), 1e-3 * max(lines.max(), 1e-9))
    axes.set_ylim(lines.min() - 0.9 * room, lines.max() + 0.1 * room)
    axes.set_ylabel("mean hop cost of a job [1,000]")
    axes.set_xticks(at, methods)
    if 0 < apart < len(methods):
        axes.axvline(apart - 0.5, color="#999999", linewidth=0.6, linestyle=":")
    thousands(axes.yaxis)
    thousands(bars.yaxis)
    heading(axes, title)
    handles, labels = axes.get_legend_handles_labels()
    more, names = bars.get_legend_handles_labels()
    figure.legend(handles + more, labels + names, loc="outside lower center", ncols=5, handlelength=1.8)
    return figure
