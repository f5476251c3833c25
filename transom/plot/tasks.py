"""Figures of replays of tasks: machines and resources over time, and how far makespans lie above a lower bound."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from transom.models.arrays import FloatArray, IntArray
from transom.plot.all_figures import file_names
from transom.plot.style import heading, new_figure, policy_styles, save, shortened, styled, time_unit
from transom.simulation.placement.schedule import TaskSchedule
from transom.simulation.placement.state import COUNT, END, MACHINE, START, TASK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BINS = 300


def save_task_figures(
    schedules: Mapping[str, Sequence[TaskSchedule]],
    bounds: Sequence[int],
    folder: str | os.PathLike[str],
    formats: Sequence[str] = ("png",),
) -> list[Path]:
    """Write the figures of a comparison: resources and machines of a single chunk, or gaps of several chunks.

    Parameters
    ----------
    schedules : by policy, one per chunk.
    bounds : lower bound of the makespan of each chunk [s].
    folder : created if it does not exist.
    formats : any of png, pdf and svg.
    """
    drawn = _drawn(schedules, bounds)
    return [save(figure, Path(folder) / f"{name}.{kind}") for name, figure in drawn for kind in formats]


def _drawn(schedules: Mapping[str, Sequence[TaskSchedule]], bounds: Sequence[int]) -> Iterator[tuple[str, Figure]]:
    if len(bounds) > 1:
        makespans = {name: [each.makespan for each in chunks] for name, chunks in schedules.items()}
        yield "gaps", makespan_gaps(makespans, bounds)
        return
    first = [chunks[0] for chunks in schedules.values()]
    yield "resources", resource_use(first)
    for schedule, name in zip(first, file_names(list(schedules)), strict=True):
        yield f"machines_{name}", machines_over_time(schedule)


@styled
def resource_use(schedules: Sequence[TaskSchedule]) -> Figure:
    """Utilisation of each resource over time, one panel per resource, one line per policy."""
    work = schedules[0].workload
    edges = _edges(max(schedule.makespan for schedule in schedules))
    unit, name = time_unit(float(edges[-1]))
    figure = new_figure(0.8 + 1.2 * len(work.resources))
    panels = figure.subplots(len(work.resources), 1, sharex=True, squeeze=False)[:, 0]
    styles = policy_styles([schedule.policy for schedule in schedules])
    for schedule in schedules:
        share = _shares(schedule, edges).mean(axis=1)
        for panel, line in zip(panels, share, strict=True):
            look = styles[schedule.policy]
            panel.stairs(100 * line, edges / unit, baseline=None, label=shortened(schedule.policy), **look)
    for panel, resource in zip(panels, work.resources, strict=True):
        panel.set(ylim=(0, 105), yticks=(0, 50, 100), xlim=(0, edges[-1] / unit), ylabel=f"{resource} in use [%]")
    panels[-1].set_xlabel(f"time since the first submission [{name}]")
    heading(panels[0], _with_rules(schedules[0], work.name))
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
    return figure


@styled
def machines_over_time(schedule: TaskSchedule) -> Figure:
    """Utilisation of each machine over time: one row per machine, one panel per resource."""
    work, edges = schedule.workload, _edges(schedule.makespan)
    unit, name = time_unit(float(edges[-1]))
    machines = len(work.machines)
    figure = new_figure(0.9 + len(work.resources) * min(3.0, 0.35 + 0.16 * machines))
    panels = figure.subplots(len(work.resources), 1, sharex=True, squeeze=False)[:, 0]
    share, heights = _shares(schedule, edges), np.arange(machines + 1) - 0.5
    for panel, rows, resource in zip(panels, share, work.resources, strict=True):
        drawn = panel.pcolormesh(edges / unit, heights, 100 * rows, vmin=0, vmax=100, cmap="Greys")
        panel.set(ylabel=f"machine\n({resource})", ylim=(machines - 0.5, -0.5))
    panels[-1].set_xlabel(f"time since the first submission [{name}]")
    heading(panels[0], _with_rules(schedule, f"{schedule.policy} on {work.name}"))
    figure.colorbar(drawn, ax=list(panels), label="in use [%]", shrink=0.8)
    return figure


@styled
def makespan_gaps(makespans: Mapping[str, Sequence[int]], bounds: Sequence[int]) -> Figure:
    """Share of chunks whose makespan is within a given gap of the lower bound, for each policy."""
    figure = new_figure(2.8)
    axes = figure.add_subplot()
    share = 100 * np.arange(1, len(bounds) + 1) / len(bounds)
    for name, look in policy_styles(list(makespans)).items():
        gaps = np.sort(100 * (np.array(makespans[name]) / np.array(bounds) - 1))
        axes.step(np.append(0, gaps), np.append(0, share), where="post", label=shortened(name), **look)
    axes.set(xlim=(0, None), ylim=(0, 100), xlabel="makespan above the lower bound [%]", ylabel="chunks [%]")
    heading(axes, f"{len(bounds):,} chunks")
    figure.legend(loc="outside right center")
    return figure


def _edges(makespan: int) -> IntArray:
    return np.unique(np.linspace(0, max(makespan, 1), _BINS + 1).round().astype(np.int64))


def _shares(schedule: TaskSchedule, edges: IntArray) -> FloatArray:
    """Mean share in use of each resource and machine in each bin of time, shape ``(R, M, bins)``."""
    work, rows = schedule.workload, schedule.batches
    used = np.zeros((len(work.resources), len(work.machines), len(edges) - 1))
    begin, end = rows[:, START] - work.submit[0], rows[:, END] - work.submit[0]
    for machine in range(len(work.machines)):
        here = rows[:, MACHINE] == machine
        amounts = work.demands[rows[here, TASK]] / work.machines[machine] * rows[here, COUNT, None]
        for r in range(len(work.resources)):
            # What was used until each edge; a run that is over has been used whole.
            until = [np.sum(amounts[:, r] * np.clip(edge - begin[here], 0, (end - begin)[here])) for edge in edges]
            used[r, machine] = np.diff(until) / np.diff(edges)
    return used


def _with_rules(schedule: TaskSchedule, what: str) -> str:
    return what if schedule.rules == "textbook" else f"{what}, {schedule.rules} events"
