"""A stream of workflows as a workload: each task is a job that waits for its parents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from transom.errors import ModelError, SpecError
from transom.models import Cluster, JobTable, Workflow
from transom.models.arrays import FloatArray, IntArray
from transom.models.job import UNKNOWN
from transom.reductions.joining import repairs_of
from transom.traces.origin import Origin
from transom.traces.workload import Workload


class WorkflowStream(NamedTuple):
    """Workflows, and the workload that their tasks are.

    ``first`` holds where the tasks of each workflow begin among those of all, and their number at its end, shape
    ``(workflows + 1,)``. The job of task t of workflow w has the id ``first[w] + t + 1`` and the user w.
    """

    workflows: tuple[Workflow, ...]
    workload: Workload
    first: IntArray

    @property
    def edges(self) -> IntArray:
        """Pairs (parent, child) of tasks, numbered through all workflows, shape ``(edges, 2)``."""
        shifted = [flow.edges + begin for flow, begin in zip(self.workflows, self.first.tolist(), strict=False)]
        return np.concatenate((np.empty((0, 2), np.int64), *shifted))


def stream_of(workflows: Sequence[Workflow], nodes: int | None = None, name: str | None = None) -> WorkflowStream:
    """The workload of a stream of workflows.

    All tasks of a workflow are submitted with it, those with a release so much later, and hidden from the policy until
    their parents have ended. A replay counts whole seconds: runtimes and walltimes are rounded up, to 1 s at least.
    Further resources are scarce where the workflows state a machine, the same one for all.

    Parameters
    ----------
    workflows : at least one; submitted at 0 s or later.
    nodes : of the machine; None: as the workflows state.
    name : of the workload, by default the name of the first workflow.

    Raises
    ------
    SpecError : the workflows state no machine or different ones, and ``nodes`` does not determine it.
    ModelError : a task does not fit on the machine, or a workflow has no tasks or is submitted before 0 s.
    """
    if not workflows:
        raise SpecError("workflows: there are none to replay")
    cluster = _cluster(workflows, nodes)
    for flow in workflows:
        check_replayable(flow, cluster.num_nodes)
    sizes = [len(flow) for flow in workflows]
    first = np.concatenate(([0], np.cumsum(sizes)))
    ids = np.arange(1, first[-1] + 1)
    number = np.repeat(np.arange(len(workflows)), sizes)
    runtime = _whole([flow.runtimes for flow in workflows])
    columns = (
        ids,
        np.concatenate([flow.submit + flow.releases for flow in workflows]),
        np.concatenate([flow.nodes for flow in workflows]),
        _whole([flow.walltimes for flow in workflows]),
        number,
        np.full(len(ids), UNKNOWN),
        *np.concatenate([flow.demands if cluster.resources else flow.demands[:, :0] for flow in workflows]).T,
    )
    depends: dict[int, tuple[int, ...]] = {}
    for flow, begin in zip(workflows, first.tolist(), strict=False):
        rows, parents = (flow.parents.first.tolist(), (flow.parents.tasks + begin + 1).tolist())
        depends |= {begin + t + 1: tuple(parents[rows[t] : rows[t + 1]]) for t in range(len(flow))}
    exact = np.concatenate([flow.runtimes for flow in workflows])
    rounded = int((runtime != exact).sum())
    costs = np.concatenate([flow.costs for flow in workflows])
    workload = Workload(
        name or workflows[0].name,
        cluster,
        JobTable(np.column_stack(columns), depends),
        runtime,
        {**repairs_of(workflows), **({"runtimes rounded up to whole seconds": rounded} if rounded else {})},
        Origin(cost=costs if costs.any() else None),
    )
    return WorkflowStream(tuple(workflows), workload, first)


def check_replayable(flow: Workflow, nodes: int | None) -> None:
    """Refuse a workflow that cannot be replayed on so many nodes; None: on as many as it states.

    Raises
    ------
    ModelError : it has no tasks, is submitted before 0 s, or a task needs more nodes.
    """
    if not len(flow):
        raise ModelError(f"workflow {flow.name!r}: it has no tasks")
    if flow.submit < 0:
        raise ModelError(f"workflow {flow.name!r}: is submitted at {flow.submit} s, a replay begins at 0 s")
    task = int(flow.nodes.argmax())
    if nodes is not None and flow.nodes[task] > nodes:
        wants = f"needs {flow.nodes[task]} nodes, the machine has {nodes}"
        raise ModelError(f"workflow {flow.name!r}: task {flow.tasks[task]!r} {wants}")


def drawn_arrivals(workflows: Sequence[Workflow], gap: float, rng: np.random.Generator) -> list[Workflow]:
    """The workflows, submitted one after another in a Poisson process, the first one at 0 s.

    Parameters
    ----------
    workflows : none states when it is submitted.
    gap : mean time between two of them [s], >= 0.

    Raises
    ------
    SpecError : the gap is out of range, or a workflow states when it is submitted.
    """
    if not 0 <= gap < 1e9:
        raise SpecError(f"workflows: 0 <= gap < 10**9 must hold, got {gap}")
    for flow in workflows:
        if flow.submit:
            raise SpecError(f"workflow {flow.name!r} states when it is submitted ({flow.submit} s): nothing is to draw")
    times = np.cumsum(np.append(0.0, rng.exponential(gap, max(0, len(workflows) - 1)))).tolist()
    return [replace(flow, submit=int(time)) for flow, time in zip(workflows, times, strict=False)]


def _whole(seconds: Sequence[FloatArray]) -> IntArray:
    return np.maximum(np.ceil(np.concatenate(seconds)), 1).astype(np.int64)


def _cluster(workflows: Sequence[Workflow], nodes: int | None) -> Cluster:
    stated = {(flow.resources, None if flow.machine is None else tuple(flow.machine.tolist())) for flow in workflows}
    if nodes is not None:
        stated = {(resources, None if of is None else (nodes, *of[1:])) for resources, of in stated}
    if all(of is None for _, of in stated):
        if nodes is None:
            raise SpecError("workflows: they state no machine; --nodes says how many nodes it has")
        return Cluster(nodes)
    if len(stated) > 1:
        raise SpecError("workflows: they state different machines, or only some of them state one")
    ((resources, machine),) = stated
    assert machine is not None  # not all are None, and they are one
    return Cluster(machine[0], resources, machine[1:])
