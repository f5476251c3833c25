"""The front of tuning as a picture: slowdown beside the longest wait, on both parts, every fixed rule on it.

Fixed rules that no other one beats in both have their names beside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transom.plot.style import heading, new_figure, shortened, styled
from transom.tune.outcome import Beside, Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HOUR = 3600


@styled
def front_picture(outcome: Outcome) -> Figure:
    """Mean bounded slowdown and longest wait of policies on the tuning part and on the test part.

    Parameters
    ----------
    outcome : what tuning came to.
    """
    figure = new_figure(3.2)
    for axes, part, title in zip(figure.subplots(1, 2), ("train", "test"), ("tuning part", "test part"), strict=True):
        _panel(axes, outcome, part)
        heading(axes, title)
    return figure


def _panel(axes: Axes, outcome: Outcome, part: str) -> None:
    def at(each: Beside) -> tuple[float, float] | None:
        of = each.train if part == "train" else each.test
        return None if of is None else (max(of.max_wait, 1.0) / _HOUR, of.bounded_slowdown)

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
    axes.set_xlabel("longest wait [h]")
    axes.set_ylabel("mean bounded slowdown")
    axes.legend(fontsize=5)
