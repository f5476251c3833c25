"""Streams of workflows whose compatible tasks are combined before the replay, and what that was for each of the tasks.

A job of the replay is then a combined task. It holds the nodes of all its tasks until the longest of them has ended;
each task starts with it and ends after its own runtime. Figures are those of the original tasks.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from transom.errors import ModelError
from transom.models import Workflow
from transom.models.arrays import IntArray
from transom.reductions.combining import combine, combined_into
from transom.simulation.core.schedule import Schedule
from transom.simulation.output.verification import check_schedule
from transom.simulation.workflows.stream import WorkflowStream, stream_of


class Combination(NamedTuple):
    """A stream, the stream of combined tasks that is replayed, and the id of the job of each task, ``(tasks,)``."""

    original: WorkflowStream
    replayed: WorkflowStream
    job: IntArray

    def expanded(self, schedule: Schedule) -> Schedule:
        """The schedule of the original tasks, from one of the combined tasks.

        Modes are those of the combined tasks; decisions are left out, as they were on these.
        """
        return _expanded(self.original, schedule, self.job)


def combined_stream(stream: WorkflowStream) -> Combination:
    """Combine compatible tasks of each workflow, as far as fits on the machine of the replay.

    List schedules by walltimes, which are all that a scheduler knows, lose at most 2 % each
    (:func:`~transom.reductions.combining.combine`).
    """
    cluster = stream.workload.cluster
    jobs, flows, begin = [], [], 0
    for flow in stream.workflows:
        made, of = combine(replace(flow, machine=_machine(stream)), cluster.num_nodes, times=flow.walltimes)
        jobs.append(of + begin + 1)
        flows.append(made)
        begin += len(made)
    return Combination(stream, stream_of(flows, cluster.num_nodes, stream.workload.name), np.concatenate(jobs))


def recorded_combination(
    stream: WorkflowStream, schedule: Schedule, job: IntArray
) -> tuple[Combination | None, list[str]]:
    """The combination that a recording states, judged from the workflows alone.

    Parameters
    ----------
    stream : the workflows.
    schedule : of the combined tasks.
    job : the id of the job that each task was part of, shape ``(tasks,)``.

    Returns
    -------
    The combination, None where the jobs are none of these tasks, and all that is wrong with it and with the schedule:
    tasks start before their parents have ended, more is used than there is, combined tasks wait for each other in a
    cycle, or a job is not what its tasks ask for.
    """
    replayed = schedule.jobs.id
    ids = np.arange(1, len(replayed) + 1)
    if len(job) != stream.first[-1] or not (
        np.array_equal(np.unique(job), ids) and np.array_equal(np.sort(replayed), ids)
    ):
        return None, [f"tasks.parquet: {len(replayed)} jobs were replayed, the jobs of its {len(job)} tasks are others"]
    number = np.repeat(np.arange(len(stream.workflows)), np.diff(stream.first))
    of_job = np.zeros(len(replayed), np.int64)
    of_job[job - 1] = number
    if (of_job[job - 1] != number).any():
        mixed = int(job[of_job[job - 1] != number][0])
        return None, [f"tasks.parquet: job {mixed} holds tasks of two workflows"]
    wrong = [f"original tasks: {each}" for each in check_schedule(stream.workload, _expanded(stream, schedule, job))]
    try:
        made = _grouped(stream, job)
    except ModelError as error:
        return None, [*wrong, f"combined tasks: {error}"]
    return made, [*wrong, *(f"combined tasks: {each}" for each in check_schedule(made.replayed.workload, schedule))]


def _machine(stream: WorkflowStream) -> IntArray | None:
    """What the workflows share, where more than nodes is scarce."""
    cluster = stream.workload.cluster
    return np.array([cluster.num_nodes, *cluster.capacities]) if cluster.resources else None


def _expanded(stream: WorkflowStream, schedule: Schedule, job: IntArray) -> Schedule:
    work = stream.workload
    mine = np.argsort(schedule.jobs.id)[job[work.jobs.id - 1] - 1]
    start = schedule.start[mine]
    order = np.empty(len(start), np.int64)
    order[np.lexsort((work.jobs.id, schedule.order[mine]))] = np.arange(len(start))
    return replace(
        schedule,
        jobs=work.jobs,
        start=start,
        end=start + work.runtime,
        mode=schedule.mode[mine],
        order=order,
        decisions={},
        runs=None,
    )


def _grouped(stream: WorkflowStream, job: IntArray) -> Combination:
    """The combination with these jobs.

    Raises
    ------
    ModelError : combined tasks wait for each other in a cycle, do not fit, or are not numbered by their first tasks.
    """
    flows: list[Workflow] = []
    first = 1
    for flow, begin in zip(stream.workflows, stream.first.tolist(), strict=False):
        mine = job[begin : begin + len(flow)]
        groups: dict[int, list[int]] = defaultdict(list)
        for task, each in enumerate(mine.tolist()):
            groups[each].append(task)
        made, of = combined_into(replace(flow, machine=None), list(groups.values()))
        if not np.array_equal(of + first, mine):
            raise ModelError(f"workflow {flow.name!r}: its jobs are not numbered from {first}, by their first tasks")
        flows.append(replace(made, machine=_machine(stream)))
        first += len(made)
    cluster = stream.workload.cluster
    return Combination(stream, stream_of(flows, cluster.num_nodes, stream.workload.name), job)
