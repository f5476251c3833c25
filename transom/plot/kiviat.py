"""Kiviat graph: several metrics of several policies at once (DRAS, Figure 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from transom.plot.kiviat_scales import scales
from transom.plot.spokes import ring, spokes
from transom.plot.style import comparable, new_figure, policy_styles, shortened, styled
from transom.simulation.core.schedule import Schedule
from transom.simulation.output.metrics import TAU, Trim, summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPOKES = ("mean_wait", "max_wait", "mean_slowdown", "mean_response", "utilisation")
"""The metrics of the paper's figure."""


@styled
def kiviat(
    schedules: Sequence[Schedule], metrics: Sequence[str] = SPOKES, tau: float = TAU, trim: Trim | None = None
) -> Figure:
    """Metrics of each policy on labelled spokes; outward is better (:func:`~transom.plot.kiviat_scales.scales`).

    Raises
    ------
    ModelError : fewer than three metrics, one is unknown or has no better direction, or the
        schedules cannot share a figure (:func:`~transom.plot.style.comparable`).

    References
    ----------
    Fan et al., DRAS, Figure 6, which shows shares of the best and the worst policy instead.
    """
    comparable(schedules)
    return kiviat_of({schedule.policy: summary(schedule, tau, trim) for schedule in schedules}, metrics)


@styled
def kiviat_of(summaries: Mapping[str, Mapping[str, float]], metrics: Sequence[str] = SPOKES) -> Figure:
    """The same from the figures of each policy, such as means over several replays.

    Raises
    ------
    ModelError : as of :func:`~transom.plot.kiviat_scales.scales`.
    """
    of = scales(list(summaries.values()), metrics)
    figure = new_figure(3.3)
    axes = figure.add_subplot()
    angles = spokes(axes, [scale.label for scale in of], _HOLE, {})
    styles = policy_styles(list(summaries))
    for name, figures in summaries.items():
        places = [scale.places(figures[metric]) for scale, metric in zip(of, metrics, strict=True)]
        x, y = ring(angles, np.array(places), _HOLE)
        look = styles[name]
        axes.plot(x, y, marker="o", markersize=2.5, label=shortened(name), clip_on=False, **look)
        if len(summaries) <= 4:  # more of them mix to grey
            axes.fill(x, y, color=look["color"], alpha=0.08, linewidth=0)
    figure.legend(loc="outside right center", title="scales: centre to rim,\nbetter is outward", alignment="left")
    return figure


_HOLE = 0.12
"""The centre is a small ring, not a point, so that lines through it can be distinguished."""
