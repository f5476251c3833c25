"""A workflow as the arrays that kernels take, forwards or backwards in time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom.models.arrays import IntArray
from transom.models.workflow import Workflow


class Tasks(NamedTuple):
    """A workflow on a machine, for kernels.

    Parameters
    ----------
    durations : in ticks, shape ``(T,)``.
    requests : nodes, then further resources, shape ``(T, R)``.
    capacity : of the machine, shape ``(R,)``.
    parents_from, parents : compressed rows of the tasks that each waits for, shapes ``(T + 1,)`` and ``(E,)``.
    children_from, children : of those that wait for it.
    """

    durations: IntArray
    requests: IntArray
    capacity: IntArray
    parents_from: IntArray
    parents: IntArray
    children_from: IntArray
    children: IntArray


def tasks_of(problem: Workflow) -> Tasks:
    """The arrays of a workflow; without a machine there is enough for all tasks at once.

    Releases are parents: behind the tasks of the workflow stands one more for each instant of release, which takes
    that long and needs nothing. Its children are the tasks that are released then.
    """
    requests = problem.requests()
    machine = requests.sum(axis=0) if problem.machine is None else problem.machine.copy()
    instants = waits_of(problem)
    if not len(instants):
        return Tasks(problem.durations, requests, machine, *problem.parents, *problem.children)
    count = len(problem)
    late = np.flatnonzero(problem.releases > 0)
    edges = np.concatenate(
        (problem.edges, np.column_stack((count + np.searchsorted(instants, problem.releases[late]), late)))
    )
    durations = np.concatenate((problem.durations, instants * problem.ticks))
    requests = np.concatenate((requests, np.zeros((len(instants), len(machine)), np.int64)))
    rows = (_rows(edges[:, 1], edges[:, 0], len(durations)), _rows(edges[:, 0], edges[:, 1], len(durations)))
    return Tasks(durations, requests, machine, *rows[0], *rows[1])


def waits_of(problem: Workflow) -> IntArray:
    """The instants after 0 at which tasks are released, ascending [s]."""
    return np.unique(problem.releases[problem.releases > 0])


def _rows(by: IntArray, tasks: IntArray, count: int) -> tuple[IntArray, IntArray]:
    order = np.lexsort((tasks, by))
    return np.searchsorted(by[order], np.arange(count + 1)), tasks[order]


def reverse(tasks: Tasks) -> Tasks:
    """The same backwards in time: parents are children."""
    return Tasks(*tasks[:3], *tasks[5:], *tasks[3:5])


def longest_paths(problem: Workflow) -> IntArray:
    """The longest path in ticks from the start of each task to the end of the workflow, shape ``(T,)``.

    On identical nodes and without transfers this is the upward rank of HEFT (Topcuoglu et al., eq. 8).
    """
    return problem.tails() + problem.durations
