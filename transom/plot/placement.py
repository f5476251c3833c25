"""Placements as bars: how much of each resource of each machine is in use, by task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from transom.errors import ModelError
from transom.models import Placement
from transom.models.arrays import FloatArray
from transom.plot.style import WIDTH, new_figure, shortened, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BUSY = "#B0B0B0"
_NAMED = 14  # tasks that the legend names: those that take most
_MACHINES = 40  # that are drawn; of more the first ones


@styled
def placement_figure(problem: Placement, solutions: Mapping[str, ArrayLike], title: str | None = None) -> Figure:
    """Machines under several solutions of one window: a row for each solution, a column for each resource.

    A bar is a machine, from 0 to its capacity: earlier use in grey, then the instances of each task.

    Parameters
    ----------
    problem : the window.
    solutions : instances of each task on each machine by name; titles state their value.
    title : what window it is.

    Raises
    ------
    ModelError : there is nothing to draw, or a solution is not feasible.
    """
    if not solutions:
        raise ModelError("figure: there is no solution to draw")
    placed = {name: np.asarray(solution) for name, solution in solutions.items()}
    for name, matrix in placed.items():
        if broken := problem.violations(matrix):
            raise ModelError(f"figure: {name}: {broken[0]}")
    machines = min(_MACHINES, len(problem.free))
    resources = len(problem.resources)
    capacities = np.maximum(problem.capacities[:machines].astype(np.float64), 1.0)
    before = 1 - problem.free[:machines] / capacities
    colours = _colours(len(problem))
    figure = new_figure(1.5 * len(placed) + 0.6, WIDTH)
    grid = figure.subplots(len(placed), resources, squeeze=False, sharey=True)
    size = np.zeros(len(problem))
    for row, (name, matrix) in enumerate(placed.items()):
        shares = matrix[:, :machines, None] * (problem.demands[:, None, :] / capacities[None])
        size += shares.sum(axis=(1, 2))
        for r, resource in enumerate(problem.resources):
            _bars(grid[row, r], before[:, r], shares[:, :, r], colours)
            grid[row, r].set_title(
                f"{shortened(name, 20)}: {problem.value(matrix) / problem.scale:,.6g}" if r == 0 else "", loc="left"
            )
            grid[row, r].set_xlabel(f"{resource} by machine" if row == len(placed) - 1 else "")
    _legend(figure, size, colours)
    notes = [title] if title else []
    notes += [f"the first {machines} of {len(problem.free)} machines"] if machines < len(problem.free) else []
    if notes:
        figure.suptitle("; ".join(notes), fontsize=8.5, x=0.01, ha="left")
    return figure


def _bars(axes: Axes, before: FloatArray, shares: FloatArray, colours: FloatArray) -> None:
    at, height = np.arange(len(before)), before.copy()
    axes.bar(at, before, color=_BUSY, width=0.85)
    for task in np.flatnonzero(shares.any(axis=1)).tolist():
        axes.bar(at, shares[task], bottom=height, color=colours[task], width=0.85, edgecolor="white", linewidth=0.2)
        height += shares[task]
    axes.set(ylim=(0, 1), xlim=(-0.6, len(before) - 0.4), yticks=[0, 0.5, 1], yticklabels=["0", "50 %", "100 %"])
    axes.set_xticks(at if len(at) <= 10 else at[:: -(-len(at) // 10)])


def _legend(figure: Figure, size: FloatArray, colours: FloatArray) -> None:
    from matplotlib.patches import Patch

    largest = [task for task in np.argsort(-size, kind="stable")[:_NAMED].tolist() if size[task] > 0]
    handles = [Patch(color=_BUSY, label="in use before")]
    handles += [Patch(color=colours[task], label=f"task {task}") for task in sorted(largest)]
    figure.legend(handles=handles, loc="outside lower center", ncols=8, handlelength=1, handleheight=1, fontsize=7)


def _colours(tasks: int) -> FloatArray:
    """Colours that neighbours do not share, shape ``(tasks, 4)``."""
    from matplotlib import colormaps

    shades: FloatArray = colormaps["turbo"]((np.arange(tasks) * 0.381966) % 0.9 + 0.05)
    return shades
