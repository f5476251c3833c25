"""Pareto fronts of selections, with the points that decision rules choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transom.models import Selection
from transom.models.arrays import FloatArray
from transom.plot.front_marks import (
    Chosen,
    Fronts,
    Mark,
    axis_labels,
    drawn,
    judged,
    legend_label,
    looks,
    mark_look,
    marks,
)
from transom.plot.parallel import parallel
from transom.plot.style import new_figure, shortened, styled, thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STEMS = 150  # points up to which lines to the floor of the space help, and do not hide it


def front_figure(problem: Selection, fronts: Fronts, chosen: Chosen | None = None) -> Figure:
    """Fronts of one selection, in a chart that suits the number of objectives.

    Bars for one, a plane with the edge of what is dominated for two, space and its three planes for three, and
    parallel coordinates (:func:`~transom.plot.parallel.parallel`) for more. Resources are in percent of their
    totals, other objectives without their scale. Up and to the right is better.

    Parameters
    ----------
    problem : the selection that the fronts are of.
    fronts : by name, such as that of the solver.
    chosen : which point a decision rule takes: its front's name and its position.

    Raises
    ------
    ModelError : there is no front, one has not as many objectives as the problem, or a chosen point is not there.
    """
    chosen = chosen or {}
    judged(problem, fronts, chosen)
    objectives = len(problem.terms)
    if objectives > 3:
        return parallel(problem, fronts, chosen)
    return (_bars, _plane, _space)[objectives - 1](problem, fronts, chosen)


@styled
def _bars(problem: Selection, fronts: Fronts, chosen: Chosen) -> Figure:
    figure = new_figure(0.9 + 0.3 * len(fronts))
    axes = figure.add_subplot()
    values = [float(drawn(problem, front)[0, 0]) for front in fronts.values()]
    colours = [look["color"] for look in looks(fronts).values()]
    bars = axes.barh([shortened(label) for label in fronts], values, height=0.6, color=colours)
    axes.bar_label(bars, [f"{value:,.4g}" for value in values], padding=3)
    axes.invert_yaxis()
    axes.set_xlabel(axis_labels(problem)[0])
    axes.set_xlim(0, 1.12 * max(*values, 1e-9))
    thousands(axes.xaxis)
    return figure


@styled
def _plane(problem: Selection, fronts: Fronts, chosen: Chosen) -> Figure:
    figure = new_figure(4.0)
    axes = figure.add_subplot()
    shown = marks(problem, fronts, chosen)
    _pair(axes, problem, fronts, shown, 0, 1, edge=True)
    _legend(figure, axes)
    return figure


@styled
def _space(problem: Selection, fronts: Fronts, chosen: Chosen) -> Figure:
    figure = new_figure(6.2)
    shown = marks(problem, fronts, chosen)
    space: Any = figure.add_subplot(2, 2, 1, projection="3d")
    labels = axis_labels(problem, 14)
    least = min(float(drawn(problem, front)[:, 2].min()) for front in fronts.values())
    for label, look in looks(fronts).items():
        points = drawn(problem, fronts[label])
        if len(points) <= _STEMS:
            floor = points.copy()
            floor[:, 2] = least
            stems = np.stack((points, floor, np.full_like(points, np.nan)), axis=1).reshape(-1, 3)
            space.plot(*stems.T, color="#AAAAAA", linewidth=0.4)
        space.plot(*points.T, **(look | {"linestyle": "none", "markeredgewidth": 0.5}))
    for mark in shown:
        space.plot(*mark.values[:, None], **mark_look(mark))
    space.set_xlabel(labels[0], labelpad=-4)
    space.set_ylabel(labels[1], labelpad=-4)
    space.set_zlabel(labels[2], labelpad=-4)
    space.tick_params(labelsize=6.5, pad=-2)
    space.locator_params(nbins=5)
    space.view_init(elev=24, azim=35)  # what is best in all three is nearest
    space.set_box_aspect((1, 1, 0.85), zoom=0.93)
    for place, (x, y) in zip((2, 3, 4), ((0, 1), (0, 2), (1, 2)), strict=True):
        axes = figure.add_subplot(2, 2, place)
        _pair(axes, problem, fronts, shown, x, y)
    _legend(figure, axes)
    return figure


def _pair(
    axes: Axes, problem: Selection, fronts: Fronts, shown: list[Mark], x: int, y: int, edge: bool = False
) -> None:
    """Two objectives of all points; ``edge`` draws the border of what each front dominates."""
    points = {label: drawn(problem, front)[:, [x, y]] for label, front in fronts.items()}
    every = np.vstack(list(points.values()))
    low, high = every.min(axis=0), every.max(axis=0)
    room = np.maximum(0.06 * (high - low), 0.004 * np.maximum(np.abs(high), 1))
    for label, look in looks(fronts).items():
        if edge:
            axes.plot(
                *_edge(points[label], low - 2 * room), color=look["color"], linestyle=look["linestyle"], linewidth=0.8
            )
        looked = look | {"linestyle": "none", "markeredgewidth": 0.8, "clip_on": False}
        axes.plot(*points[label].T, label=legend_label(label, fronts[label]), **looked)
    for mark in shown:
        axes.plot(*mark.values[[x, y], None], label=mark.label, clip_on=False, **mark_look(mark))
    axes.set(xlim=(low[0] - room[0], high[0] + room[0]), ylim=(low[1] - room[1], high[1] + room[1]))
    axes.grid()
    labels = axis_labels(problem)
    axes.set(xlabel=labels[x], ylabel=labels[y])
    thousands(axes.xaxis)
    thousands(axes.yaxis)


def _edge(points: FloatArray, corner: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The border of what points in the plane dominate, from the upper left to the lower right."""
    ordered = points[np.lexsort((points[:, 1], points[:, 0]))]
    # At each x the best y of all points at least that far to the right.
    best = np.maximum.accumulate(ordered[::-1, 1])[::-1]
    x = np.concatenate(([corner[0]], np.repeat(ordered[:, 0], 2)))
    y = np.concatenate((np.repeat(best, 2), [corner[1]]))
    return x, y


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    columns = 2 if len(labels) > 1 and max(map(len, labels)) < 50 else 1
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, numpoints=1, handlelength=1.6)
