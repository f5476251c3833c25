"""Workflows: the graph of tasks, and schedules as bars on nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from transom.errors import ModelError
from transom.models import Workflow
from transom.models.arrays import IntArray
from transom.plot.style import WIDTH, new_figure, shortened, styled, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TASKS = 2000  # that are drawn
_NAMED = 14  # programs that the legend names: those with most to do
_LANES = 64  # nodes that are drawn; of more the first ones


@styled
def workflow_figure(problem: Workflow, solutions: Mapping[str, ArrayLike], title: str | None = None) -> Figure:
    """The graph of a workflow, and below it one row per solution with its schedule on nodes, on a common time axis.

    Tasks of one program have one colour. In the graph tasks stand at their earliest starts, arrows go from parent to
    child. A bar is a task on its nodes, the lowest idle ones; a dashed line marks the longest path.

    Parameters
    ----------
    problem : the workflow on its machine.
    solutions : starts in ticks by name; titles state the makespan.
    title : what workflow it is; by default its name.

    Raises
    ------
    ModelError : there is nothing to draw, there are more than 2,000 tasks, or a solution is not feasible.
    """
    if not solutions or not len(problem):
        raise ModelError("figure: there is no task or no solution to draw")
    if len(problem) > _TASKS:
        raise ModelError(f"figure: {len(problem)} tasks, at most {_TASKS} are drawn")
    starts = {name: np.asarray(solution, np.int64) for name, solution in solutions.items()}
    for name, solution in starts.items():
        if broken := problem.violations(solution):
            raise ModelError(f"figure: {name}: {broken[0]}")
    last = max(problem.value(solution) for solution in starts.values())
    unit, word = time_unit(last)
    colours = _colours(problem)
    figure = new_figure(2.2 + 1.7 * len(starts), WIDTH)
    first, *rows = figure.subplots(1 + len(starts), 1, sharex=True, squeeze=False)[:, 0]
    _graph(first, problem, colours, unit)
    first.set_title(
        f"{shortened(title or problem.name, 60)}: {len(problem)} tasks, {len(problem.edges)} edges", loc="left"
    )
    for axes, (name, solution) in zip(rows, starts.items(), strict=True):
        _bars(axes, problem, solution, colours, unit)
        axes.set_title(f"{shortened(name, 30)}: {problem.value(solution):,.6g} s", loc="left")
    rows[-1].set_xlabel(f"time [{word}]")
    rows[-1].set_xlim(0, max(last / unit, 1e-9))
    _legend(figure, problem, colours)
    return figure


def _graph(axes: Axes, problem: Workflow, colours: list[Any], unit: float) -> None:
    times, rows = problem.earliest() / problem.ticks / unit, _places(problem)
    parent, child = problem.edges.T
    axes.plot(
        np.array([times[parent], times[child]]), np.array([rows[parent], rows[child]]), color="#999999", linewidth=0.4,
        zorder=1,
    )  # fmt: skip
    axes.scatter(times, rows, s=14, c=colours, zorder=2, linewidths=0)
    axes.set(yticks=[], ylabel="tasks by\nearliest start")


def _places(problem: Workflow) -> IntArray:
    """A row for each task, so that those of one level stand below each other, around the middle."""
    level = np.zeros(len(problem), np.int64)
    first, parents = problem.parents
    for task in problem.order().tolist():
        level[task] = 1 + max((int(level[p]) for p in parents[first[task] : first[task + 1]]), default=-1)
    rows = np.zeros(len(problem), np.int64)
    for each in range(int(level.max()) + 1):
        here = np.flatnonzero(level == each)
        rows[here] = 2 * np.arange(len(here)) - len(here) + 1
    return rows


def _bars(axes: Axes, problem: Workflow, starts: IntArray, colours: list[Any], unit: float) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    bars, shades, most = [], [], 0
    for task, node in _lanes(problem, starts):
        most = max(most, node + 1)
        if node < _LANES:
            start, length = starts[task] / problem.ticks / unit, problem.durations[task] / problem.ticks / unit
            bars.append(Rectangle((start, node), length, 1))
            shades.append(colours[task])
    axes.add_collection(PatchCollection(bars, facecolors=shades, edgecolors="white", linewidths=0.3))
    axes.axvline(problem.critical_path() / unit, color="black", linestyle="--", linewidth=0.7)
    nodes = most if problem.machine is None else int(problem.machine[0])
    axes.set(ylim=(0, max(1, min(nodes, _LANES))), ylabel="node" if nodes <= _LANES else f"first {_LANES} nodes")


def _lanes(problem: Workflow, starts: IntArray) -> list[tuple[int, int]]:
    """Pairs of task and node: each task gets the lowest nodes that are idle."""
    ends, idle, lanes = starts + problem.durations, [], []
    held: list[tuple[int, list[int]]] = []  # by the end
    fresh = 0
    for task in sorted(range(len(problem)), key=lambda t: (starts[t], ends[t])):
        for end, nodes in [each for each in held if each[0] <= starts[task]]:
            idle += nodes
            held.remove((end, nodes))
        idle.sort()
        wanted = int(problem.nodes[task])
        missing = max(0, wanted - len(idle))
        mine, idle = idle[:wanted] + list(range(fresh, fresh + missing)), idle[wanted:]
        fresh += missing
        held.append((int(ends[task]), mine))
        lanes += [(task, node) for node in mine]
    return lanes


def _colours(problem: Workflow) -> list[Any]:
    """The colour of each task: that of its program."""
    from matplotlib import colormaps

    number = {program: i for i, program in enumerate(dict.fromkeys(problem.programs))}
    return [colormaps["turbo"]((number[program] * 0.381966) % 0.9 + 0.05) for program in problem.programs]


def _legend(figure: Figure, problem: Workflow, colours: list[Any]) -> None:
    from matplotlib.patches import Patch

    shade = dict(zip(problem.programs, colours, strict=True))
    work = dict.fromkeys(shade, 0.0)
    for program, runtime in zip(problem.programs, (problem.runtimes * problem.nodes).tolist(), strict=True):
        work[program] += runtime
    named = sorted(work, key=lambda program: -work[program])[:_NAMED]
    handles = [Patch(color=shade[program], label=shortened(program, 20)) for program in shade if program in named]
    figure.legend(handles=handles, loc="outside lower center", ncols=7, handlelength=1, handleheight=1, fontsize=7)
