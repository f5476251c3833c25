"""The front of tuning as a picture: the first two objectives, on both parts, every fixed rule on it.

Fixed rules that no other one beats in both have their names beside them.
"""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from transom.plot.style import heading, new_figure, shortened, styled
from transom.tune.figures import Figures
from transom.tune.objectives import DEFAULT, Objective, floor_of, metric_of
from transom.tune.outcome import Beside, Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HOUR = 3600


@styled
def front_picture(outcome: Outcome) -> Figure:
    """The first two objectives of policies on the tuning part and on the test part.

    Parameters
    ----------
    outcome : what tuning came to.
    """
    figure = new_figure(3.2)
    for axes, part, title in zip(figure.subplots(1, 2), ("train", "test"), ("tuning part", "test part"), strict=True):
        _panel(axes, outcome, part)
        heading(axes, title)
    return figure


def _placed(objective: Objective, of: Figures) -> float:
    value = max(of.get(objective.name), floor_of(objective.name))
    return value / _HOUR if metric_of(objective.name).unit == "s" else value


def _label(objective: Objective) -> str:
    return f"{objective.words} [h]" if metric_of(objective.name).unit == "s" else objective.words


def _panel(axes: Axes, outcome: Outcome, part: str) -> None:
    up, across, *_ = dict.fromkeys((*outcome.objectives, *DEFAULT))

    def at(each: Beside) -> tuple[float, float] | None:
        of = each.train if part == "train" else each.test
        place = None if of is None else tuple(_placed(axis, of) for axis in (across, up))
        return None if place is None or any(map(isnan, place)) else (place[0], place[1])

    front = sorted(place for each in outcome.front if (place := at(each)) is not None)
    axes.plot(
        *zip(*front, strict=True), ".-", color="#999999", linewidth=0.8, markersize=3, label="front of the search"
    )
    rules = [(place, each.policy) for each in outcome.fixed if (place := at(each)) is not None]
    axes.plot(
        *zip(*(place for place, _ in rules), strict=True), "o", color="#000000", mfc="none", ms=4, label="fixed rules"
    )
    for place, name in rules:
        if all(other[0] > place[0] or other[1] > place[1] for other, _ in rules if other != place):
            axes.annotate(name, place, xytext=(3, 2), textcoords="offset points", fontsize=5)
    for each, mark, colour, label in (
        (outcome.today, "D", "#D55E00", f"today: {outcome.today.policy}"),
        (outcome.tuned, "*", "#0072B2", "tuned"),
    ):
        if (place := at(each)) is not None:
            axes.plot(*place, mark, color=colour, markersize=9 if mark == "*" else 5, label=shortened(label))
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("")
    axes.set_xlabel(_label(across))
    axes.set_ylabel(_label(up))
    axes.legend(fontsize=5)
