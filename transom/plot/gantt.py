"""Gantt chart: which nodes were busy at which time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from transom.errors import ModelError
from transom.models.arrays import FloatArray, IntArray
from transom.plot.style import (
    MODE_COLOURS,
    OUT_OF_SERVICE,
    comparable,
    heading,
    mode_legend,
    new_figure,
    shortened,
    since,
    styled,
    thousands,
    time_unit,
    with_rules,
)
from transom.simulation.core.schedule import MODES, Schedule
from transom.simulation.nodes.lowest_idle import assign_nodes
from transom.simulation.output.breakdowns import busy_seconds, used_nodes
from transom.simulation.output.metrics import WEEK, span

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from transom.simulation.core.node_runs import NodeRuns

_JOB_COLOURS = ("#332288", "#88CCEE", "#44AA99", "#117733", "#999933", "#DDCC77", "#CC6677", "#882255", "#AA4499")
_RECTANGLES = 3000  # up to so many are drawn one by one, more of them as an image
_PIXELS = (1250, 540)  # what the axes have at 200 dots per inch


@styled
def gantt(
    schedule: Schedule,
    runs: NodeRuns | None = None,
    start: float | None = None,
    end: float | None = None,
    colour: Literal["mode", "job", "user"] = "mode",
    names: Sequence[str] = (),
) -> Figure:
    """Node occupancy over time: one rectangle per job and run of consecutive nodes.

    Up to a few thousand rectangles are drawn individually; more are drawn as an image in which
    each pixel mixes colours by their share of its node-seconds, so short jobs stay visible. Of
    interrupted jobs the last attempt is shown; nodes out of service are dark.

    Parameters
    ----------
    schedule : what happened.
    runs : the nodes of each job; by default those of the schedule, or the lowest idle ones.
    start, end : what part to show [s], by default from the first submission to the last end.
    colour : by start mode, by job (neighbours differ, colours recur), or by user, which in a stream of workflows is
        the workflow (colours recur).
    names : of the users 0, 1, ..., for a legend where no colour recurs.

    Raises
    ------
    ModelError : there are no jobs, or ``end <= start``.
    """
    comparable([schedule])
    runs = runs or schedule.runs or assign_nodes(schedule)
    first, last = span(schedule)
    start, end = (first if start is None else start), (last if end is None else end)
    if end <= start:
        raise ModelError(f"gantt: end must be > start = {start} s, got {end}")
    unit, name = time_unit(end - start)
    if colour == "mode":
        palette, kind = tuple(MODE_COLOURS[mode] for mode in MODES), schedule.mode
    else:
        number = np.arange(len(schedule)) if colour == "job" else schedule.jobs.user
        palette, kind = _JOB_COLOURS, number % len(_JOB_COLOURS)
    boxes, kind = _boxes(schedule, runs, (start, end, first, unit), kind)
    outages = None
    if (log := schedule.outages) is not None:
        out = (log.begin < end) & (log.end > start)
        edges = [(np.clip(each[out], start, end) - first) / unit for each in (log.begin, log.end)]
        boxes = np.vstack((np.column_stack((*edges, log.first[out], log.last[out] + 1)), boxes))
        kind, outages = np.append(np.full(out.sum(), len(palette)), kind), log.kind[out]
        palette = (*palette, OUT_OF_SERVICE)
    figure = new_figure(3.4)
    axes = figure.add_subplot()
    limits = ((start - first) / unit, (end - first) / unit, 0.0, float(schedule.cluster.num_nodes))
    if len(boxes) <= _RECTANGLES:
        _draw_boxes(axes, boxes, kind, palette)
    else:
        image = coverage_image(boxes, kind, palette, limits)
        axes.imshow(image, origin="lower", extent=limits, aspect="auto")
    axes.set(xlim=limits[:2], ylim=limits[2:])
    axes.set_xlabel(since(schedule, first, name))
    axes.set_ylabel("node [number]")
    thousands(axes.yaxis, whole=True)
    heading(axes, with_rules(schedule, f"{schedule.policy} on {schedule.workload}"))
    if colour == "mode":
        mode_legend(axes, outages)
    elif names and len(names) <= len(_JOB_COLOURS):
        from matplotlib.patches import Patch

        named = zip(_JOB_COLOURS, names, strict=False)
        handles = [Patch(color=shade, label=shortened(name, 24)) for shade, name in named]
        figure.legend(handles=handles, loc="outside lower right", ncols=4, handlelength=1, handleheight=1, fontsize=7)
    return figure


def _boxes(
    schedule: Schedule, runs: NodeRuns, shown: tuple[float, float, float, float], kind: IntArray
) -> tuple[FloatArray, IntArray]:
    """What jobs occupy between two instants, as left, right, bottom, top, and the kind of each.

    ``shown``: from when to when, where the axis has its zero [s], and its unit [s]; ``kind``: of each job.
    """
    start, end, zero, unit = shown
    owner = np.repeat(np.arange(len(schedule)), np.diff(runs.offsets))
    inside = (schedule.start[owner] < end) & (schedule.end[owner] > start)
    owner = owner[inside]
    boxes = np.column_stack(
        (
            np.clip((schedule.start[owner] - zero) / unit, (start - zero) / unit, None),
            np.clip((schedule.end[owner] - zero) / unit, None, (end - zero) / unit),
            runs.first[inside],
            runs.last[inside] + 1,
        )
    )
    return boxes.astype(np.float64), kind[owner]


@styled
def gantt_beside(
    schedules: Sequence[Schedule], start: int, end: int, kinds: Sequence[IntArray], names: dict[str, str], nodes: int
) -> Figure:
    """Several schedules of one stretch of time, one below the other, with jobs coloured by kind.

    Parameters
    ----------
    schedules : what happened, on a machine that is large enough for all of them.
    start, end : what part to show [s].
    kinds : of the jobs of each schedule, positions in ``names``.
    names : the colour of each kind by what the legend calls it.
    nodes : the size of the machine, where a line is drawn.
    """
    from matplotlib.patches import Patch

    unit, name = time_unit(end - start)
    figure = new_figure(2.0 * len(schedules) + 0.6)
    panels = figure.subplots(len(schedules), 1, sharex=True, sharey=True)
    for axes, schedule, kind in zip(np.atleast_1d(panels), schedules, kinds, strict=True):
        boxes, shown = _boxes(schedule, assign_nodes(schedule), (start, end, start, unit), kind)
        _draw_boxes(axes, boxes, shown, tuple(names.values()))
        axes.axhline(nodes, color="black", linewidth=0.6, linestyle=":")
        axes.set(xlim=(0, (end - start) / unit), ylim=(0, 1.02 * schedule.cluster.num_nodes))
        axes.set_ylabel("node [number]")
        thousands(axes.yaxis, whole=True)
        heading(axes, schedule.policy)
    axes.set_xlabel(f"time since {start:,} s [{name}]")
    handles = [Patch(color=colour, label=text) for text, colour in names.items()]
    figure.legend(handles=handles, loc="outside lower right", ncols=3, handlelength=1, handleheight=1, fontsize=7)
    return figure


def busiest(schedule: Schedule, seconds: int = WEEK) -> tuple[int, int]:
    """The span of a given length [s] in which most nodes are in use; it begins after whole days."""
    first, last = span(schedule)
    # Of a span of centuries, a coarser piece will do.
    day = max(1, seconds // 7) * max(1, (last - first) // (seconds * 10_000))
    edges = np.arange(first, max(last, first + 1) + day, day)
    used = busy_seconds(used_nodes(schedule), edges)
    best = int(sliding_window_view(used, min(7, len(used))).sum(axis=1).argmax())
    return int(edges[best]), int(min(edges[best] + 7 * day, last))


def coverage_image(
    boxes: FloatArray, kind: IntArray, palette: tuple[str, ...], limits: tuple[float, float, float, float]
) -> FloatArray:
    """Boxes as an image on white: each pixel mixes colours by the area they cover.

    Parameters
    ----------
    boxes : left, right, bottom, top; they do not overlap, shape ``(boxes, 4)``.
    kind : position in ``palette``, shape ``(boxes,)``.
    palette : colours as ``#rrggbb``.
    limits : left, right, bottom, top of the image.

    Returns
    -------
    RGB from 0 to 1, shape ``(height, width, 3)``, the lowest row first.
    """
    width, height = _PIXELS
    height = int(min(height, max(1, limits[3] - limits[2])))
    left, right = (np.clip((boxes[:, i] - limits[0]) / (limits[1] - limits[0]) * width, 0, width) for i in (0, 1))
    low, high = (np.clip((boxes[:, i] - limits[2]) / (limits[3] - limits[2]) * height, 0, height) for i in (2, 3))
    image = np.ones((height, width, 3))
    for position, shade in enumerate(palette):
        mine = kind == position
        # The area is a sum over corners; along each axis, a corner at x fills pixel floor(x) by
        # 1 - frac(x) and all later ones fully: a difference of two entries, undone by cumsum.
        change = np.zeros((height + 2) * (width + 2))
        for x, x_sign in ((left[mine], 1.0), (right[mine], -1.0)):
            for y, y_sign in ((low[mine], 1.0), (high[mine], -1.0)):
                for dx, dy in ((0, 0), (0, 1), (1, 0), (1, 1)):
                    x_part = x % 1 if dx else 1 - x % 1
                    y_part = y % 1 if dy else 1 - y % 1
                    at = (y.astype(np.int64) + dy) * (width + 2) + x.astype(np.int64) + dx
                    change += np.bincount(at, x_sign * y_sign * x_part * y_part, minlength=len(change))
        covered = change.reshape(height + 2, width + 2).cumsum(0).cumsum(1)[:height, :width]
        rgb = np.array([int(shade[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        image += covered[:, :, None] * (rgb - 1)
    return np.clip(image, 0, 1)


def _draw_boxes(axes: Axes, boxes: FloatArray, kind: IntArray, palette: tuple[str, ...]) -> None:
    from matplotlib.collections import PolyCollection

    left, right, low, high = boxes.T
    corners = np.stack(
        [np.column_stack(pair) for pair in ((left, low), (right, low), (right, high), (left, high))], axis=1
    )
    colours = [palette[k] for k in kind]
    axes.add_collection(PolyCollection(list(corners), facecolors=colours, edgecolors="white", linewidths=0.25))
