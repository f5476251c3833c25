"""Spokes of a Kiviat graph: geometry of the lines, and the grid behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from transom.models.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GREY = "#CCCCCC"


def spokes(axes: Axes, labels: Sequence[str], hole: float, ticks: Mapping[float, str]) -> FloatArray:
    """Draw the grid of one spoke for each label, from 0 inside to 1 outside.

    Parameters
    ----------
    axes : where to draw; their frame is removed.
    labels : labels of the spokes, clockwise from the top.
    hole : radius of 0, as a share of the outer radius.
    ticks : labels of the first spoke, by level.

    Returns
    -------
    The angle of each spoke [rad], shape ``(labels,)``.
    """
    angles: FloatArray = np.pi / 2 - 2 * np.pi * np.arange(len(labels)) / len(labels)
    axes.set_aspect("equal")
    axes.set(xlim=(-1.75, 1.75), ylim=(-1.0, 1.2))  # room for the labels
    axes.axis("off")
    for level in (0, 0.25, 0.5, 0.75, 1):
        axes.plot(*ring(angles, level, hole), color=_GREY, linewidth=0.8 if level == 1 else 0.5, zorder=1)
    for angle, label in zip(angles, labels, strict=True):
        x, y = np.cos(angle), np.sin(angle)
        axes.plot([hole * x, x], [hole * y, y], color=_GREY, linewidth=0.5, zorder=1)
        side = "center" if abs(x) < 0.1 else ("left" if x > 0 else "right")
        axes.text(1.07 * x, 1.07 * y, label, ha=side, va="bottom" if y > 0.9 else ("top" if y < -0.9 else "center"))
    for level, tick in ticks.items():
        axes.text(
            -0.02,
            hole + (1 - hole) * level,
            tick,
            fontsize=6.5,
            color="#555555",
            ha="right",
            va="center",
            zorder=1.6,
            bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 0.6},
        )
    return angles


def ring(angles: FloatArray, score: FloatArray | float, hole: float) -> tuple[FloatArray, FloatArray]:
    """The closed line through a score on each spoke, shapes ``(spokes + 1,)``; parameters as in :func:`spokes`."""
    radius = hole + (1 - hole) * np.broadcast_to(score, angles.shape)
    x, y = radius * np.cos(angles), radius * np.sin(angles)
    return np.append(x, x[0]), np.append(y, y[0])
