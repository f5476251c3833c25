"""Learning curves of agents (DRAS, Figures 4 and 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from transom.errors import ModelError
from transom.plot.style import heading, new_figure, policy_styles, shortened, styled, thousands

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_DASHES = ("--", ":", "-.", (0, (8, 3)), (0, (1, 3)))


@styled
def learning(
    curves: Mapping[str, ArrayLike],
    levels: Mapping[str, float] = {},
    title: str = "",
    labels: Sequence[str] = ("episode", "mean wait [h]"),
) -> Figure:
    """Validation results after each episode: the mean of several trainings as a line, worst to best as a band.

    Parameters
    ----------
    curves : per method its trainings, shape ``(trainings, episodes)``; the first column is before any training.
    levels : methods that do not learn, drawn as horizontal lines.
    title : the validation data.
    labels : of the axes.

    Raises
    ------
    ModelError : there is no curve, or one holds no training or no episode.
    """
    tables = {name: np.atleast_2d(np.asarray(curve, np.float64)) for name, curve in curves.items()}
    if not tables or any(table.size == 0 or table.ndim != 2 for table in tables.values()):
        raise ModelError("figure: expected a table (trainings, episodes) for each of one method or more")
    figure = new_figure(3.4)
    axes = figure.add_subplot()
    styles = policy_styles(list(tables))
    for name, table in tables.items():
        episodes = np.arange(table.shape[1])
        look = styles[name]
        axes.plot(episodes, table.mean(axis=0), marker="o", markersize=2.5, label=shortened(name), **look)
        if len(table) > 1:
            axes.fill_between(
                episodes, table.min(axis=0), table.max(axis=0), color=look["color"], alpha=0.12, linewidth=0
            )
    for place, (name, level) in enumerate(levels.items()):
        axes.axhline(
            level, color="#666666", linestyle=_DASHES[place % len(_DASHES)], linewidth=0.9, label=shortened(name)
        )
    axes.set_ylim(bottom=0)
    thousands(axes.yaxis)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    thousands(axes.xaxis, whole=True)
    axes.grid(axis="y")
    heading(axes, title)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center", handlelength=2.4)
    return figure
