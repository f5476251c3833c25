r"""Figures of a replay of workflows: by task, by workflow, and of the whole.

A task waits from when it can start: its workflow is submitted and its parents have ended. With :math:`T_w` this wait,
:math:`T_r` its runtime and :math:`P` its nodes, the three slowdowns are those of Table III. A workflow takes from its
submission to its last end; its stretch is that over the length of its critical path.

References
----------
MARS, Table III.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom.errors import ModelError
from transom.models.arrays import FloatArray, IntArray
from transom.simulation.core.schedule import Schedule
from transom.simulation.output.metrics import TAU, makespan, utilisation
from transom.simulation.workflows.stream import WorkflowStream


class TaskFigures(NamedTuple):
    """A row per task, numbered through all workflows: times [s] and slowdowns, each of shape ``(tasks,)``."""

    ready: IntArray
    start: IntArray
    end: IntArray
    wait: IntArray
    slowdown: FloatArray
    bounded_slowdown: FloatArray
    per_processor_slowdown: FloatArray


class WorkflowFigures(NamedTuple):
    """A row per workflow: times [s], stretch, and means over its tasks, each of shape ``(workflows,)``.

    ``start`` is the first start of a task, ``end`` the last end; ``makespan`` is counted from ``submit``;
    ``critical_path`` is its length with the runtimes of the replay.
    """

    submit: IntArray
    start: IntArray
    end: IntArray
    makespan: IntArray
    critical_path: IntArray
    stretch: FloatArray
    mean_wait: FloatArray
    mean_slowdown: FloatArray
    mean_bounded_slowdown: FloatArray
    mean_per_processor_slowdown: FloatArray


def task_figures(stream: WorkflowStream, schedule: Schedule, tau: float = TAU) -> TaskFigures:
    """What became of each task.

    Parameters
    ----------
    stream, schedule : what was replayed, and what came of it.
    tau : shorter runtimes count as this long in the bounded slowdowns [s], > 0.

    Raises
    ------
    ModelError : the schedule is of another workload, or ``tau <= 0``.
    """
    if not np.array_equal(schedule.jobs.id, stream.workload.jobs.id):
        raise ModelError("workflows: the schedule is of other jobs than their tasks")
    if not tau > 0:
        raise ModelError(f"workflows: tau must be > 0 s, got {tau}")
    place = np.argsort(schedule.jobs.id)
    start, end, nodes = schedule.start[place], schedule.end[place], schedule.jobs.nodes[place]
    ready = schedule.jobs.submit[place]
    parent, child = stream.edges.T
    np.maximum.at(ready, child, end[parent])
    runtime, response = end - start, end - ready
    bounded = np.maximum(runtime, tau)
    return TaskFigures(
        ready,
        start,
        end,
        start - ready,
        response / runtime,
        np.maximum(response / bounded, 1.0),
        np.maximum(response / (nodes * bounded), 1.0),
    )


def workflow_figures(stream: WorkflowStream, schedule: Schedule, tau: float = TAU) -> WorkflowFigures:
    """What became of each workflow; parameters and errors as of :func:`task_figures`."""
    tasks = task_figures(stream, schedule, tau)
    begins = stream.first[:-1]
    sizes = np.diff(stream.first)
    submit = np.array([flow.submit for flow in stream.workflows])
    end = np.maximum.reduceat(tasks.end, begins)
    paths = critical_paths(stream)
    means = [
        np.add.reduceat(column, begins) / sizes
        for column in (tasks.wait, tasks.slowdown, tasks.bounded_slowdown, tasks.per_processor_slowdown)
    ]
    first = np.minimum.reduceat(tasks.start, begins)
    return WorkflowFigures(submit, first, end, end - submit, paths, (end - submit) / paths, *means)


def critical_paths(stream: WorkflowStream) -> IntArray:
    """The length of each workflow's critical path with the runtimes of the replay [s], shape ``(workflows,)``."""
    work = stream.workload
    runtimes = work.runtime[np.argsort(work.jobs.id)]
    longest = []
    for flow, begin in zip(stream.workflows, stream.first.tolist(), strict=False):
        ends, released = runtimes[begin : begin + len(flow)].tolist(), flow.releases.tolist()
        rows, parents = flow.parents.first.tolist(), flow.parents.tasks.tolist()
        for task in flow.order().tolist():
            ends[task] += max([released[task], *(ends[parent] for parent in parents[rows[task] : rows[task + 1]])])
        longest.append(max(ends))
    return np.array(longest, np.int64)


def workflow_summary(stream: WorkflowStream, schedule: Schedule, tau: float = TAU) -> dict[str, float]:
    """The figures of a replay of workflows, by name; parameters as of :func:`task_figures`.

    Returns
    -------
    Numbers of workflows and tasks; the makespan from the first submission to the last end [s]; of the makespans of
    workflows, from submission to last end [s], and of their stretches, makespans over critical paths; of waits [s],
    from when the parents have ended, and of slowdowns of tasks; utilisation from the first submission to the last end.
    """
    tasks, flows = task_figures(stream, schedule, tau), workflow_figures(stream, schedule, tau)
    figures = {
        "workflows": len(stream.workflows),
        "tasks": len(schedule),
        "makespan": makespan(schedule),
        "mean_makespan": flows.makespan.mean(),
        "max_makespan": flows.makespan.max(),
        "mean_stretch": flows.stretch.mean(),
        "median_stretch": np.median(flows.stretch),
        "max_stretch": flows.stretch.max(),
        "mean_wait": tasks.wait.mean(),
        "max_wait": tasks.wait.max(),
        "mean_slowdown": tasks.slowdown.mean(),
        "mean_bounded_slowdown": tasks.bounded_slowdown.mean(),
        "mean_per_processor_slowdown": tasks.per_processor_slowdown.mean(),
        "utilisation": utilisation(schedule),
    }
    return {name: float(figure) for name, figure in figures.items()}
