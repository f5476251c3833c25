"""Splitting a workflow into parts along a topological order."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from transom.errors import ModelError
from transom.models.arrays import BoolArray, IntArray
from transom.models.workflow import Workflow


class Part(NamedTuple):
    """Some tasks of a workflow, as a workflow of their own.

    ``tasks`` are their positions in the whole, ascending, shape ``(tasks of the part,)``; ``waits`` the pairs (parent,
    child) of positions in the whole whose parent is in an earlier part, shape ``(edges, 2)``.
    """

    workflow: Workflow
    tasks: IntArray
    waits: IntArray


def split(workflow: Workflow, largest: int) -> list[Part]:
    """Cut a workflow into :math:`2^k` parts of at most ``largest`` tasks, k as small as possible.

    The parts are pieces of a topological order, level by level, whose sizes differ by one at most. Edges between parts
    lead from earlier to later ones, so that parts never wait for each other in a cycle. With ``largest`` 1, 2^k may be
    more than there are tasks: a workflow has at least one, so the parts without any are left out.

    Parameters
    ----------
    workflow : what to cut.
    largest : most tasks of a part, > 0.

    Raises
    ------
    ModelError : ``largest`` is not positive.

    References
    ----------
    MARS, Algorithm 3.
    """
    if largest < 1:
        raise ModelError(f"workflow: parts must have at least one task, got {largest}")
    count = 1
    while count * largest < len(workflow):
        count *= 2
    pieces = np.array_split(workflow.order(), count)
    part_of = np.empty(len(workflow), np.int64)
    for number, piece in enumerate(pieces):
        part_of[piece] = number
    parent, child = part_of[workflow.edges.reshape(-1, 2)].T
    return [
        _part(workflow, np.sort(piece), (parent == number) & (child == number), (parent != number) & (child == number))
        for number, piece in enumerate(pieces)
        if len(piece)
    ]


def _part(workflow: Workflow, tasks: IntArray, inner: BoolArray, crossing: BoolArray) -> Part:
    part = replace(
        workflow,
        tasks=tuple(workflow.tasks[task] for task in tasks.tolist()),
        runtimes=workflow.runtimes[tasks],
        edges=np.searchsorted(tasks, workflow.edges[inner]),
        nodes=workflow.nodes[tasks],
        walltimes=workflow.walltimes[tasks],
        demands=workflow.demands[tasks],
        costs=workflow.costs[tasks],
        releases=workflow.releases[tasks],
        programs=tuple(workflow.programs[task] for task in tasks.tolist()),
    )
    return Part(part, tasks, workflow.edges[crossing])
