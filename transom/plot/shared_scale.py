"""A scale shared by policies: linear, or logarithmic where one policy would flatten the others."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_low
from typing import Any

import numpy as np

from transom.models.arrays import FloatArray
from transom.plot.style import thousands

FACTOR = 5.0
"""A scale is linear while the largest policy is at most so many times the median one."""

_DECADES = 4  # of a logarithmic axis at most; all below is linear


def one_dominates(sizes: Sequence[float]) -> bool:
    """Whether the largest of these is more than :data:`FACTOR` times their median (of two in the middle, the lower)."""
    known = [size for size in sizes if np.isfinite(size)]
    return bool(known) and max(known) > FACTOR * median_low(known)


def share_scale(axis: Any, drawn: Sequence[FloatArray], label: str, whole: bool = False) -> str:
    """Set the scale of an axis that shows several policies, from 0 to above all of their values.

    It is logarithmic where the mean of what is drawn of one policy dominates (:func:`one_dominates`): from a tenth of
    the median policy on, rounded to a power of ten; below, it is linear.

    Parameters
    ----------
    axis : an axis of matplotlib's.
    drawn : the values of each policy, shape ``(points,)``, all >= 0, NaN where there is none.
    label : what the axis shows.
    whole : allow ticks at whole numbers only.

    Returns
    -------
    The label; a second line says so where the axis is logarithmic.
    """
    known = [values[np.isfinite(values)] for values in drawn]
    sizes = [float(values.mean()) for values in known if len(values)]
    top = max((float(values.max()) for values in known if len(values)), default=0.0)
    set_limits = getattr(axis.axes, f"set_{axis.axis_name}lim")
    if one_dominates(sizes):
        linear = float(10.0 ** np.floor(np.log10(max(median_low(sizes) / 10, top / 10**_DECADES))))
        linear = max(1.0, linear) if whole else linear
        if top > linear:
            getattr(axis.axes, f"set_{axis.axis_name}scale")("symlog", linthresh=linear, linscale=0.5)
            axis.set_ticks([0.0, *linear * 10.0 ** np.arange(np.floor(np.log10(top / linear)) + 1)])
            axis.set_ticks([], minor=True)
            thousands(axis)
            set_limits(0, 1.5 * top)
            return f"{label}\nlogarithmic above {linear:g}"
    set_limits(0, max(1.05 * top, 1.0 if whole else 0.0) or 1.0)
    thousands(axis, whole)
    return label
