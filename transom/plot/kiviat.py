"""Kiviat graph: several metrics of several policies at once (DRAS, Figure 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from transom.errors import ModelError
from transom.models.arrays import FloatArray
from transom.plot.spokes import ring, spokes
from transom.plot.style import comparable, new_figure, policy_styles, shortened, styled
from transom.simulation.core.schedule import Schedule
from transom.simulation.output.metrics import TAU, Trim, known_metrics, summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPOKES = ("mean_wait", "max_wait", "mean_slowdown", "mean_response", "utilisation")
"""The metrics of the paper's figure; those where lower is better enter as their reciprocals."""

_LABELS = {
    "mean_wait": "1 / mean wait",
    "max_wait": "1 / max wait",
    "mean_slowdown": "1 / mean slowdown",
    "mean_response": "1 / mean response",
    "utilisation": "utilisation",
}


@styled
def kiviat(
    schedules: Sequence[Schedule], metrics: Sequence[str] = SPOKES, tau: float = TAU, trim: Trim | None = None
) -> Figure:
    """Normalised metrics of each policy on spokes: 1 is the best of those compared, 0 the worst.

    Raises
    ------
    ModelError : fewer than three metrics, one is unknown or has no better direction, or the
        schedules cannot share a figure (:func:`~transom.plot.style.comparable`).

    References
    ----------
    Fan et al., DRAS, Figure 6.
    """
    comparable(schedules)
    return kiviat_of({schedule.policy: summary(schedule, tau, trim) for schedule in schedules}, metrics)


@styled
def kiviat_of(summaries: Mapping[str, Mapping[str, float]], metrics: Sequence[str] = SPOKES) -> Figure:
    """The same from the figures of each policy, such as means over several replays.

    Raises
    ------
    ModelError : as of :func:`normalised`.
    """
    scores = normalised(list(summaries.values()), metrics)
    figure = new_figure(3.3)
    axes = figure.add_subplot()
    angles = spokes(axes, [_label(name) for name in metrics], _HOLE, {0.5: "0.5", 1: "1"})
    styles = policy_styles(list(summaries))
    for name, score in zip(summaries, scores, strict=True):
        x, y = ring(angles, score, _HOLE)
        look = styles[name]
        axes.plot(x, y, marker="o", markersize=2.5, label=shortened(name), clip_on=False, **look)
        if len(summaries) <= 4:  # more of them mix to grey
            axes.fill(x, y, color=look["color"], alpha=0.08, linewidth=0)
    figure.legend(loc="outside right center", title="1 is best, 0 worst\nof these policies", alignment="left")
    return figure


def normalised(summaries: Sequence[Mapping[str, float]], metrics: Sequence[str]) -> FloatArray:
    """Each metric from 0 (worst of these) to 1 (best), reciprocals where lower is better.

    Where all are equal, all are best. NaN counts as worst.

    Returns
    -------
    Shape ``(summaries, metrics)``.

    Raises
    ------
    ModelError : fewer than three metrics, or one is unknown or has no better direction.
    """
    if len(metrics) < 3:
        raise ModelError(f"kiviat: needs at least three metrics, got {len(metrics)}")
    table, known = np.empty((len(summaries), len(metrics))), known_metrics()
    for column, name in enumerate(metrics):
        if name not in known or known[name].better is None:
            those = ", ".join(key for key, metric in known.items() if metric.better)
            raise ModelError(f"kiviat: metric {name!r} is not one of {those}")
        values = np.array([each[name] for each in summaries])
        if known[name].better == "lower":
            with np.errstate(divide="ignore"):
                values = 1 / values
        low, high = np.nanmin(values, initial=np.inf), np.nanmax(values, initial=-np.inf)
        if not np.isfinite(high):  # a perfect 0: that is best, and nothing else comes near it
            table[:, column] = np.isposinf(values)
        elif high <= low:
            table[:, column] = np.isfinite(values)
        else:
            table[:, column] = np.nan_to_num((values - low) / (high - low))
    return table


def _label(name: str) -> str:
    if name in _LABELS:
        return _LABELS[name]
    return f"1 / {name.replace('_', ' ')}" if known_metrics()[name].better == "lower" else name.replace("_", " ")


_HOLE = 0.12
"""The worst lies on a small ring, not in one point, so that its lines can be told apart."""
