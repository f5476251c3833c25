"""Parallel coordinates: a front with many objectives, one line per point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transom.models import Selection
from transom.models.arrays import FloatArray
from transom.plot.front_marks import Chosen, Fronts, axis_labels, drawn, judged, legend_label, looks, mark_look, marks
from transom.plot.style import new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST = 3000  # lines of a front; beyond, evenly chosen ones are drawn
_DASHES: tuple[str | tuple[int, tuple[int, ...]], ...] = ("-", (0, (4, 1)), (0, (1, 1)), (0, (4, 1, 1, 1)))


@styled
def parallel(problem: Selection, fronts: Fronts, chosen: Chosen | None = None) -> Figure:
    """A vertical axis for each objective, a thin line for each point, a thick black one for each chosen point.

    Each axis runs from the worst to the best value of the drawn points, which label its ends; up is better
    everywhere. A front of more than 3,000 points is thinned evenly.

    Parameters
    ----------
    problem : the selection that the fronts are of.
    fronts : by name, such as that of the solver.
    chosen : which point a decision rule takes: its front's name and its position.

    Raises
    ------
    ModelError : see :func:`~transom.plot.front_marks.judged`.
    """
    chosen = chosen or {}
    judged(problem, fronts, chosen)
    figure = new_figure(3.6)
    axes = figure.add_subplot()
    points = {label: drawn(problem, front) for label, front in fronts.items()}
    every = np.vstack(list(points.values()))
    low, high = every.min(axis=0), every.max(axis=0)
    for label, look in looks(fronts).items():
        line = {"color": look["color"], "linestyle": look["linestyle"]}
        _lines(axes, _heights(points[label], low, high), line)
        axes.plot([], [], **line, linewidth=1.2, label=legend_label(label, fronts[label]))
    place = np.arange(len(problem.terms))
    for n, mark in enumerate(marks(problem, fronts, chosen, values=False)):
        look = mark_look(mark) | {"linestyle": _DASHES[n % len(_DASHES)], "linewidth": 1.7, "clip_on": False}
        axes.plot(place, _heights(mark.values[None], low, high)[0], color="black", label=mark.label, **look)
    _scales(axes, problem, low, high)
    figure.legend(loc="outside lower center", ncols=2, handlelength=2.6)
    return figure


def _heights(values: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """0 at the worst, 1 at the best, 0.5 where all are equal."""
    heights: FloatArray = np.where(high > low, (values - low) / np.where(high > low, high - low, 1.0), 0.5)
    return heights


def _lines(axes: Axes, heights: FloatArray, line: dict[str, Any]) -> None:
    from matplotlib.collections import LineCollection

    if len(heights) > _MOST:
        heights = heights[np.linspace(0, len(heights) - 1, _MOST).astype(int)]
    places = np.broadcast_to(np.arange(heights.shape[1]), heights.shape)
    # Many lines must not make one dark area, nor few of them be invisible.
    alpha = float(np.clip(3 / np.sqrt(len(heights)), 0.05, 0.8))
    axes.add_collection(
        LineCollection(list(np.stack((places, heights), axis=2)), **line, linewidth=0.7, alpha=alpha, rasterized=True)
    )


def _scales(axes: Axes, problem: Selection, low: FloatArray, high: FloatArray) -> None:
    count = len(problem.terms)
    axes.set(xlim=(-0.25, count - 0.75), ylim=(-0.09, 1.09))
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.set_yticks([])
    for k in range(count):
        axes.axvline(k, ymin=0.09 / 1.18, ymax=1.09 / 1.18, color="#555555", linewidth=0.7, zorder=1)
        for height, value, side in ((1.03, high[k], "bottom"), (-0.03, low[k], "top")):
            axes.text(k, height, f"{value:,.4g}" if value < 1e5 else f"{value:.3g}", ha="center", va=side, fontsize=7)
    labels = [label.replace(" [", "\n[") for label in axis_labels(problem, 14 if count <= 8 else 9)]
    axes.set_xticks(np.arange(count), labels, fontsize=7.5 if count <= 8 else 6.5)
    axes.tick_params(axis="x", length=0, pad=2)
