"""What is left out of a picture because it does not show: one of millions of jobs takes no longer than one of some."""

from __future__ import annotations

import numpy as np

from transom.models.arrays import FloatArray, IntArray

COLUMNS = 600
"""Parts of the width of a figure, each thinner than a line."""

_CELLS = (1250, 540)  # pixels that the axes of the widest figure have at 200 dots per inch
_LAYERS = 5  # dots in one pixel: of what lies below them, 1 % shines through


def shown_points(x: FloatArray, y: FloatArray) -> IntArray:
    """Which dots show if all are painted in turn, somewhat transparent; positions, ascending.

    The last ones in each pixel, and all that have the least or the largest coordinate first, so that limits stay.

    Parameters
    ----------
    x, y : coordinates as the axes spread them, after logarithms, shape ``(points,)``.
    """
    if not len(x):
        return np.empty(0, np.int64)
    cell = np.zeros(len(x), np.int32)
    for values, pixels in zip((x, y), _CELLS, strict=True):
        low, high = values.min(), values.max()
        share = (values - low) / (high - low if high > low else 1.0)
        cell = cell * pixels + np.minimum(share * pixels, pixels - 1).astype(np.int32)
    order = np.argsort(cell, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(cell[order])), len(order) - 1)
    last = (ends[:, None] - np.arange(_LAYERS)).ravel()
    first_of_last = np.repeat(np.append(0, ends[:-1] + 1), _LAYERS)
    extremes = [each for values in (x, y) for each in (values.argmin(), values.argmax())]
    return np.union1d(order[last[last >= first_of_last]], extremes)


def shown_extremes(x: FloatArray | IntArray, y: FloatArray) -> IntArray:
    """Which points show of a line: in each of :data:`COLUMNS` the first, the last, the least and the largest.

    Positions, ascending; all of them where there are few.

    Parameters
    ----------
    x : ascending, shape ``(points,)``.
    y : shape ``(points,)``; NaN where the line has a gap.
    """
    if len(x) <= 4 * COLUMNS:
        return np.arange(len(x))
    edges = np.linspace(x[0], x[-1], COLUMNS + 1)
    begins = np.unique(np.searchsorted(x, edges[:-1]))
    found = [begins, np.append(begins[1:], len(x)) - 1]
    for sign in (1, -1):
        order = np.lexsort(
            (np.where(np.isnan(y), np.inf, sign * y), np.searchsorted(begins, np.arange(len(x)), "right"))
        )
        found.append(order[begins])
    return np.unique(np.concatenate(found))
