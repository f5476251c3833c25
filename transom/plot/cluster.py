"""A fat tree as pods and leaf switches, with the nodes of each job under several solutions side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from transom.errors import ModelError
from transom.models import Allocation, FatTree
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.plot.style import WIDTH, new_figure, shortened, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9",
    "#332288", "#999933", "#AA4499", "#117733", "#882255", "#000000",
)  # fmt: skip
_BUSY, _IDLE = "#B0B0B0", "#EBEBEB"

_ALL = 1500  # nodes up to which every pod is drawn
_ROW = 20  # cells of a row; longer leaf switches take several
_LEAF_GAP, _POD_GAP, _BELOW = 0.35, 2.2, 1.2  # between leaf switches, pods side by side and below [cells]
_PANELS = 4  # side by side
_TALL = 6.2  # of a row of panels at most [inch]
_CELL = 0.16  # of a cell at most [inch]
_LEGEND = 15  # jobs up to which each is named


@styled
def allocation_figure(
    problem: Allocation,
    solutions: Mapping[str, ArrayLike],
    title: str | None = None,
    before: bool = True,
    every_pod: bool | None = None,
) -> Figure:
    """The cluster under several solutions of one window, one cell per node.

    A pod is a block, a leaf switch a row of it (several rows where it has many nodes). Nodes of running jobs
    are grey, idle ones nearly white, those that jobs of the window get in the colour of the job.

    Parameters
    ----------
    problem : the window; its rule does not matter.
    solutions : owner of each idle node by name, such as ``{"SCAS": ..., "free": ...}``; titles state the cost.
    title : what window it is.
    before : whether to show the cluster without the jobs of the window first.
    every_pod : draw all pods, rather than only those in which a job gets a node; by default up to 1,500 nodes.

    Raises
    ------
    ModelError : there is nothing to draw, or a solution does not give each job its number of idle nodes.
    """
    if not solutions and not before:
        raise ModelError("figure: there is no solution to draw")
    free = problem.with_rule("free")
    owners: dict[str, IntArray] = {name: np.asarray(owner) for name, owner in solutions.items()}
    for name, owner in owners.items():
        if broken := free.violations(owner):
            raise ModelError(f"figure: {name}: {broken[0]}")
    tree = problem.tree
    shown = _shown_pods(problem, owners, every_pod)
    panels: dict[str, IntArray | None] = {"before": None} if before else {}
    panels.update(owners)
    columns = min(_PANELS, len(panels))
    rows = -(-len(panels) // columns)
    width = WIDTH if columns > 2 else WIDTH * 0.35 * columns
    layout = _layout(tree, shown, width / columns)
    height = min(_TALL, layout.height * min(width / columns / layout.width, _CELL)) + 0.3
    figure = new_figure(rows * height + 0.6, width)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    for axes, (name, held) in zip(grid.flat, panels.items(), strict=False):
        _draw(axes, problem, layout, held)
        caption = f"{len(problem.idle):,} of {tree.num_nodes:,} idle" if held is None else f"{problem.value(held):,.0f}"
        axes.set_title(f"{shortened(name, 20)}: {caption}")
    _legend(figure, problem)
    left_out = tree.num_pods - int(shown.sum())
    notes = [title] if title else []
    notes += [f"{int(shown.sum())} of {tree.num_pods} pods: those in which jobs get nodes"] if left_out else []
    if notes:
        figure.suptitle("; ".join(notes), fontsize=8.5, x=0.01, ha="left")
    return figure


class _Layout(NamedTuple):
    """Corner of each node's cell (nan where its pod is not drawn), labels of pods, and the extent [cells]."""

    x: FloatArray
    y: FloatArray
    pods: list[tuple[float, float, int]]
    width: float
    height: float


def _shown_pods(problem: Allocation, owners: Mapping[str, IntArray], every_pod: bool | None) -> BoolArray:
    every_pod = problem.tree.num_nodes <= _ALL if every_pod is None else every_pod
    shown = np.full(problem.tree.num_pods, every_pod)
    for owner in owners.values():
        shown[problem.pod[owner >= 0]] = True
    return shown if shown.any() else ~shown


def _layout(tree: FatTree, shown: BoolArray, panel: float) -> _Layout:
    # Where each node stands in its pod: leaf switches below each other, the nodes of each from left to right.
    order = np.lexsort((np.arange(tree.num_nodes), tree.leaf, tree.pod))
    leaf, pod = tree.leaf[order], tree.pod[order]
    sizes = np.bincount(tree.leaf)
    lines = -(-int(sizes.max()) // _ROW)
    across = -(-int(sizes.max()) // lines)
    first_of_leaf = np.flatnonzero(np.diff(leaf, prepend=-1) != 0)
    rank = np.arange(len(order)) - np.repeat(first_of_leaf, np.diff(np.append(first_of_leaf, len(order))))
    leaf_height = -(-sizes[leaf[first_of_leaf]] // across) + _LEAF_GAP
    top_of_leaf = np.cumsum(leaf_height) - leaf_height
    first_of_pod = np.flatnonzero(np.diff(pod[first_of_leaf], prepend=-1) != 0)
    ends = np.append(top_of_leaf, leaf_height.sum())
    pod_height = np.diff(ends[np.append(first_of_pod, len(first_of_leaf))])
    y: FloatArray = np.repeat(top_of_leaf, np.diff(np.append(first_of_leaf, len(order)))) + rank // across
    y -= top_of_leaf[first_of_pod][pod - pod[0]]
    # Pods below each other in as many columns as use the room best.
    count, cell_height = int(shown.sum()), float(pod_height[shown].max()) + _BELOW
    cell_width = across + _POD_GAP
    columns = min(
        range(1, min(count, 60) + 1), key=lambda c: max(c * cell_width / panel, -(-count // c) * cell_height / _TALL)
    )
    down = -(-count // columns)
    place = np.cumsum(shown) - 1
    column, row = np.divmod(place, down)
    x: FloatArray = rank % across + column[pod] * cell_width + _POD_GAP
    y = y + row[pod] * cell_height
    hidden = ~shown[pod]
    x[hidden] = y[hidden] = np.nan
    found = _Layout(np.empty(len(order)), np.empty(len(order)), [], columns * cell_width, down * cell_height - _BELOW)
    found.x[order], found.y[order] = x, y
    for each in np.flatnonzero(shown).tolist():
        middle = row[each] * cell_height + (pod_height[each] - _LEAF_GAP) / 2
        found.pods.append((column[each] * cell_width + _POD_GAP - 0.4, float(middle), each))
    return found


def _draw(axes: Axes, problem: Allocation, layout: _Layout, owner: IntArray | None) -> None:
    from matplotlib.collections import PolyCollection

    colour = np.tile(_rgb(_BUSY), (problem.tree.num_nodes, 1))
    colour[problem.idle] = _rgb(_IDLE)
    if owner is not None:
        for job in range(len(problem)):
            colour[problem.idle[owner == job]] = _colour(job)
    drawn = np.flatnonzero(~np.isnan(layout.x))
    # Cells with air between them, drawn as such: lines around them would eat small cells up.
    low, high = 0.06, 0.94
    square = np.array([(low, low), (high, low), (high, high), (low, high)])
    cells = np.column_stack((layout.x[drawn], layout.y[drawn]))[:, None, :] + square
    axes.add_collection(PolyCollection(list(cells), facecolors=colour[drawn], linewidths=0))
    size = 5.5 if len(layout.pods) <= 40 else 4
    for x, y, pod in layout.pods:
        axes.text(x, y, str(pod), ha="right", va="center", fontsize=size, color="#777777")
    axes.set(xlim=(0, layout.width), ylim=(layout.height, 0), aspect="equal")
    axes.set_axis_off()


def _colour(job: int) -> FloatArray:
    """Twelve colours, then the same ones lighter and lighter."""
    faded: FloatArray = 1 - 0.6 ** (job // len(_COLOURS)) * (1 - _rgb(_COLOURS[job % len(_COLOURS)]))
    return faded


def _rgb(shade: str) -> FloatArray:
    return np.array([int(shade[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def _legend(figure: Figure, problem: Allocation) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=_BUSY, label="running"), Patch(facecolor=_IDLE, edgecolor="#CCCCCC", label="idle")]
    jobs = len(problem) if len(problem) <= _LEGEND else 0
    handles += [Patch(color=_colour(job), label=f"{problem.sizes[job]} nodes") for job in range(jobs)]
    figure.legend(handles=handles, loc="outside lower center", ncols=7, handlelength=1, handleheight=1, fontsize=7)
