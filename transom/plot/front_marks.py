"""Shared parts of front figures: display units, styles of fronts, markers of chosen points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from transom.errors import ModelError
from transom.models import ParetoFront, Selection
from transom.models.arrays import FloatArray
from transom.plot.style import policy_styles, shortened

Fronts = Mapping[str, ParetoFront]
Chosen = Mapping[str, tuple[str, int]]

_POINTS = ("o", "x", "^", "+", "s", "v", "D")
_LINES = ("-", "--", "-.", ":")
_MARKS = ("*", "D", "s", "^", "v", "P", "X", "p", "h", "<", ">")
_LEGEND = 44  # letters of a legend's entry


class Mark(NamedTuple):
    """A chosen point: the rules that choose it, its values, its front and its marker shape."""

    label: str
    values: FloatArray
    front: str
    shape: str


def judged(problem: Selection, fronts: Fronts, chosen: Chosen) -> None:
    """Check that fronts can share a figure.

    Raises
    ------
    ModelError : there is no front, one has not as many objectives as the problem, or a chosen point does not exist.
    """
    if not fronts:
        raise ModelError("figure: there is no front to draw")
    for label, front in fronts.items():
        if front.values.shape[1] != len(problem.terms):
            raise ModelError(
                f"figure: front {label!r} has {front.values.shape[1]} objectives, the problem {len(problem.terms)}"
            )
    for rule, (label, point) in chosen.items():
        if label not in fronts or not 0 <= point < len(fronts[label]):
            raise ModelError(f"figure: {rule!r} takes point {point} of {label!r}, which is not there")


def drawn(problem: Selection, front: ParetoFront) -> FloatArray:
    """Values in the units of the axes, shape ``(points, terms)``: percent for a resource, else without the scale."""
    percent = np.array([100.0 if term in problem.resources else 1.0 for term in problem.terms])
    values: FloatArray = problem.in_display_units(front.values) * percent
    return values


def axis_labels(problem: Selection, length: int = 30) -> list[str]:
    """The labels of the axes."""
    return [shortened(term, length) + (" [% of total]" if term in problem.resources else "") for term in problem.terms]


def looks(fronts: Fronts) -> dict[str, dict[str, Any]]:
    """Colour, line style and marker of each front, by position; markers distinguish fronts in greyscale."""
    styles = policy_styles(list(fronts))
    for place, (label, front) in enumerate(fronts.items()):
        styles[label] |= {
            "linestyle": _LINES[place % len(_LINES)],
            "marker": _POINTS[place % len(_POINTS)],
            "markersize": float(np.clip(90 / np.sqrt(len(front)), 2.0, 5.0)),
        }
    return styles


def legend_label(label: str, front: ParetoFront) -> str:
    """The legend entry of a front."""
    return f"{shortened(label)} ({len(front):,} point{'s' if len(front) > 1 else ''})"


def marks(problem: Selection, fronts: Fronts, chosen: Chosen, values: bool = True) -> list[Mark]:
    """The chosen points, one marker for all rules that choose the same; ``values`` adds its values to the label."""
    points = {label: drawn(problem, front) for label, front in fronts.items()}
    taken: dict[tuple[str, tuple[float, ...]], list[str]] = {}
    for rule, (label, point) in chosen.items():
        taken.setdefault((label, tuple(points[label][point].tolist())), []).append(rule)
    found = []
    several = len({label for label, _ in taken}) > 1
    units = [" %" if term in problem.resources else "" for term in problem.terms]
    for place, ((label, at), rules) in enumerate(taken.items()):
        text = ", ".join(rules) + (f" of {shortened(label, 16)}" if several else "")
        if values:
            numbers = ", ".join(_number(value) + unit for value, unit in zip(at, units, strict=True))
            text = f"{shortened(text, _LEGEND)}: {numbers}"
        found.append(Mark(shortened(text, 2 * _LEGEND), np.array(at), label, _MARKS[place % len(_MARKS)]))
    return found


def mark_look(mark: Mark) -> dict[str, Any]:
    """The marker style of a chosen point: black with a white edge, on top."""
    size = {"*": 11.0, "P": 8.0, "X": 8.0}.get(mark.shape, 6.5)
    return {
        "marker": mark.shape,
        "markersize": size,
        "linestyle": "none",
        "markerfacecolor": "black",
        "markeredgecolor": "white",
        "markeredgewidth": 0.8,
        "zorder": 5,
    }


def _number(value: float) -> str:
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"
