"""The front of tuning as a picture: the first two objectives, on both parts, every fixed rule on it.

Fixed rules that no other one beats in both have their names beside them where there is room. What is far worse than all
that matters stands at the edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from transom.plot.style import heading, new_figure, shortened, styled
from transom.tune.figures import Figures
from transom.tune.objectives import DEFAULT, Objective, floor_of, metric_of
from transom.tune.outcome import Beside, Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from transom.models.arrays import FloatArray

PARTS = {"train": "tuning part", "test": "test part"}
"""What both parts are called, by their names in :class:`~transom.tune.outcome.Beside`."""

_HOUR = 3600
_BEYOND = 3.0  # times the worst of today's policy, the tuned one and the front: what is worse stands at the edge
_SMALL = 5.5  # size of names [points]
_PLACES = ((4, 2), (4, -6), (-4, 2), (-4, -6))  # of a name beside its point [points], where there is room


@styled
def front_picture(outcome: Outcome, parts: Sequence[str] = tuple(PARTS)) -> Figure:
    """The first two objectives of policies, a panel for each part.

    Parameters
    ----------
    outcome : what tuning came to.
    parts : of :data:`PARTS`.
    """
    figure = new_figure(3.2, 3.6 * len(parts))
    panels = figure.subplots(1, len(parts), squeeze=False)[0]
    rules = []
    for axes, part in zip(panels, parts, strict=True):
        rules.append(_panel(axes, outcome, part))
        heading(axes, PARTS[part])
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=_SMALL + 1, loc="outside lower center", ncols=2 * len(parts))
    figure.draw_without_rendering()  # so that it is known where the points are
    for axes, named in zip(panels, rules, strict=True):
        _name(axes, named)
    return figure


def _placed(objective: Objective, of: Figures) -> float:
    value = max(of.get(objective.name), floor_of(objective.name))
    return value / _HOUR if metric_of(objective.name).unit == "s" else value


def _label(objective: Objective) -> str:
    return f"{objective.words} [h]" if metric_of(objective.name).unit == "s" else objective.words


def _panel(axes: Axes, outcome: Outcome, part: str) -> list[tuple[str, FloatArray]]:
    """Draw a part; the rules to name, and where they are."""
    up, across, *_ = dict.fromkeys((*outcome.objectives, *DEFAULT))

    def at(policies: Sequence[Beside]) -> tuple[list[str], FloatArray]:
        found = {}
        for each in policies:
            of = each.train if part == "train" else each.test
            place = () if of is None else (_placed(across, of), _placed(up, of))
            if place and not any(map(isnan, place)):
                found[each.policy] = place
        return list(found), np.array(sorted(found.values()) if policies is outcome.front else [*found.values()])

    (_, front), (names, rules), (_, marked) = at(outcome.front), at(outcome.fixed), at([outcome.today, outcome.tuned])
    shown = [each for each in (front, marked) if len(each)]
    if shown:
        rules = np.minimum(rules, _BEYOND * np.concatenate(shown).max(axis=0))
    if len(front):
        axes.plot(*front.T, ".-", color="#999999", linewidth=0.8, markersize=3, label="front of the search")
    if len(rules):
        axes.plot(*rules.T, "o", color="#000000", mfc="none", ms=3.5, label="fixed rules; far worse ones at the edge")
    for each, mark, size, colour, label in (
        (outcome.today, "D", 5, "#D55E00", f"today: {outcome.today.policy}"),
        (outcome.tuned, "*", 9, "#0072B2", "tuned"),
    ):
        if len(place := at([each])[1]):
            axes.plot(*place[0], mark, color=colour, markersize=size, label=shortened(label))
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        _ticks(axis)
    axes.set_xlabel(_label(across))
    axes.set_ylabel(_label(up))
    return [
        (name, place)
        for name, place in zip(names, rules, strict=True)
        if not (((rules <= place).all(axis=1)) & (rules < place).any(axis=1)).any()
    ]


def _ticks(axis: object) -> None:
    from matplotlib.axis import Axis
    from matplotlib.ticker import LogLocator

    assert isinstance(axis, Axis)
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:,g}")
    axis.set_minor_formatter("")


def _name(axes: Axes, rules: Sequence[tuple[str, FloatArray]]) -> None:
    """Write names beside points, each at the first place where it covers no other name, no point and no edge."""
    figure = axes.get_figure(root=True)
    assert figure is not None, "the axes are drawn on one"
    pixels = figure.dpi / 72
    left, below, right, above = axes.bbox.extents
    marks = np.concatenate([line.get_xydata() for line in axes.get_lines()])
    half = 2 * pixels  # of a mark
    taken = [(x - half, y - half, x + half, y + half) for x, y in axes.transData.transform(marks).tolist()]
    for name, place in sorted(rules, key=lambda each: float(each[1][1])):
        x, y = axes.transData.transform(place)
        for dx, dy in _PLACES:
            wide = 0.6 * _SMALL * len(name) * pixels
            begin = x + dx * pixels - (wide if dx < 0 else 0)
            box = begin, y + dy * pixels, begin + wide, y + (dy + _SMALL) * pixels
            free = all(
                box[2] < other[0] or other[2] < box[0] or box[3] < other[1] or other[3] < box[1] for other in taken
            )
            if free and left < box[0] and box[2] < right and below < box[1] and box[3] < above:
                taken.append(box)
                side = "right" if dx < 0 else "left"
                axes.annotate(
                    name,
                    (float(place[0]), float(place[1])),
                    xytext=(dx, dy),
                    textcoords="offset points",
                    fontsize=_SMALL,
                    ha=side,
                )
                break
