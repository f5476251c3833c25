"""Curves as rows hold them: plain numbers, not too many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

LONGEST_CURVE = 5000
"""Points of a curve that are kept."""

Curve = tuple[tuple[float, float | None, float | None], ...]


def thinned(points: Sequence[tuple[float, Any, Any]]) -> Curve:
    """A curve; of a very long one the last point in each of many stretches of equal length, and the first."""
    if len(points) > LONGEST_CURVE:
        width = (points[-1][0] or 1.0) / (LONGEST_CURVE - 2)
        last = {int(point[0] / width): point for point in points}
        points = (points[0], *(point for point in last.values() if point is not points[0]))
    return tuple((seconds, number(value), number(bound)) for seconds, value, bound in points)


def number(value: Any) -> float | None:
    """A value as JSON can carry it: a plain number; None where it is not finite."""
    if value is None or not math.isfinite(value):
        return None
    return float(value)
