"""All figures of a comparison."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from transom.plot.bands import bands
from transom.plot.gantt import busiest, gantt
from transom.plot.kiviat import SPOKES, kiviat
from transom.plot.style import comparable, save, shortened
from transom.plot.timeline import timeline
from transom.plot.waits import wait_by_mode, wait_by_size
from transom.plot.weekly import weekly
from transom.simulation.core.schedule import Schedule
from transom.simulation.nodes.lowest_idle import assign_nodes
from transom.simulation.output.as_logged import as_logged
from transom.simulation.output.metrics import WEEK, Trim, makespan

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_figures(
    schedules: Sequence[Schedule],
    folder: str | os.PathLike[str],
    formats: Sequence[str] = ("png",),
    trim: Trim | None = None,
    progress: Callable[[Path], None] = lambda path: None,
) -> list[Path]:
    """Write the :func:`figures` of schedules.

    Parameters
    ----------
    schedules : one per policy, all of one workload, with distinct names.
    folder : created if it does not exist.
    formats : any of png, pdf and svg.
    trim : which jobs the waiting times and the Kiviat graph leave out.
    progress : called with each path that was written.

    Returns
    -------
    The paths, ``NAME.FORMAT``.

    Raises
    ------
    ModelError : the schedules cannot share a figure (:func:`~transom.plot.style.comparable`), or a
        format is unknown.
    """
    written = []
    for name, figure in figures(schedules, trim):
        for kind in formats:
            written.append(save(figure, Path(folder) / f"{name}.{kind}"))
            progress(written[-1])
    return written


def save_workflow_figures(
    schedules: Sequence[Schedule],
    folder: str | os.PathLike[str],
    formats: Sequence[str] = ("png",),
    workflows: Sequence[str] = (),
) -> list[Path]:
    """Write a timeline, and for each policy a Gantt chart coloured by workflow.

    Parameters
    ----------
    schedules : one per policy, all of one stream of workflows; the user of a job is the number of its workflow.
    folder, formats : as of :func:`save_figures`, as are the paths and the errors.
    workflows : their names, for the legend if there are few.
    """
    names = file_names([schedule.policy for schedule in schedules])
    drawn = [("timeline", timeline(schedules))]
    drawn += [
        (f"gantt_{name}", gantt(each, colour="user", names=workflows))
        for name, each in zip(names, schedules, strict=True)
    ]
    written = []
    for name, figure in drawn:
        _remark(figure, schedules[0])
        written += [save(figure, Path(folder) / f"{name}.{kind}") for kind in formats]
    return written


def figures(schedules: Sequence[Schedule], trim: Trim | None = None) -> Iterator[tuple[str, Figure]]:
    """Draw every figure that these schedules allow, one at a time, each with its name.

    A timeline; waiting times by size and by mode; with two policies or more the Kiviat graph, on a tree with the hop
    cost; a Gantt chart per policy. Beyond a week: the weeks, and instead of the Gantt chart
    :func:`~transom.plot.bands.bands` of the whole and a Gantt chart of the busiest week, the seven days in which most
    nodes are in use under the first policy. Timeline and weeks also show the log, where it states all starts.

    Parameters
    ----------
    schedules : one per policy, all of one workload, with distinct names.
    trim : which jobs the waiting times and the Kiviat graph leave out.

    Raises
    ------
    ModelError : the schedules cannot share a figure (:func:`~transom.plot.style.comparable`).
    """
    comparable(schedules)
    for name, figure in _drawn(schedules, trim):
        _remark(figure, schedules[0])
        yield name, figure


def _remark(figure: Figure, schedule: Schedule) -> None:
    """Say below a figure what nobody may overlook."""
    if schedule.diagnostics:
        text = "; ".join(each.short for each in schedule.diagnostics)
        figure.supxlabel(text, fontsize=6.5, x=0.01, ha="left", color="#B00000")


def _drawn(schedules: Sequence[Schedule], trim: Trim | None) -> Iterator[tuple[str, Figure]]:
    long = max(makespan(schedule) for schedule in schedules) > WEEK
    beside = [*schedules, *_logged(schedules[0])]
    yield "timeline", timeline(beside)
    yield "wait_by_size", wait_by_size(schedules, trim)
    yield "wait_by_mode", wait_by_mode(schedules, trim)
    if len(schedules) > 1:
        on_trees = all(schedule.spread is not None for schedule in schedules)
        yield "kiviat", kiviat(schedules, (*SPOKES, "mean_hop_cost") if on_trees else SPOKES, trim=trim)
    if long:
        yield "weekly", weekly(beside, trim)
    # The same week for all, that they can be compared: the busiest one under the first policy.
    week = busiest(schedules[0])
    for schedule, name in zip(schedules, file_names([s.policy for s in schedules]), strict=True):
        runs = schedule.runs or assign_nodes(schedule)
        # The jobs of weeks are too many to distinguish.
        yield f"gantt_{name}", bands(schedule) if long else gantt(schedule, runs)
        if long:
            figure = gantt(schedule, runs, *week)
            text = f"{figure.axes[0].get_xlabel()}: the seven days in which most nodes are in use"
            figure.axes[0].set_xlabel(text if len(schedules) == 1 else f"{text} under {shortened(schedules[0].policy)}")
            yield f"gantt_week_{name}", figure


def _logged(schedule: Schedule) -> list[Schedule]:
    """What the log says, where it states the start of every job: others would be missing in sums over time."""
    whole = schedule.logged is not None and (schedule.logged >= 0).all()
    return [logged.schedule] if whole and (logged := as_logged(schedule)) is not None else []


def file_names(policies: Sequence[str]) -> list[str]:
    """File names for policies: letters, digits, dots and dashes, all distinct."""
    found: list[str] = []
    for policy in policies:
        plain = re.sub(r"[^A-Za-z0-9.]+", "-", policy).strip("-.")[:60] or "policy"
        name, count = plain, 1
        while name in found:
            count += 1
            name = f"{plain}-{count}"
        found.append(name)
    return found
