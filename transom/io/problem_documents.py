"""From the problems that Transom brings to their documents, and back.

Most fields are the model's own; what stands here is what a document says in short: amounts by name, positions instead
of marks, a default that is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from transom._system.wording import counted
from transom.errors import DocumentError, ModelError
from transom.io import formats
from transom.io.codec import Codec, document, stated
from transom.models import (
    Allocation,
    ConstrainedPath,
    FatTree,
    HopCost,
    Joint,
    Knapsack,
    Placement,
    Selection,
    Workflow,
)
from transom.models.arrays import BoolArray, IntArray


def amounts(
    stated: Sequence[int] | Mapping[str, int], resources: Sequence[str], what: str, owner: str
) -> tuple[int, ...]:
    """An amount for each resource, as a document states them: one after another, or by name.

    Parameters
    ----------
    stated : the amounts.
    resources : the names of the resources.
    what, owner : what states the amounts, and what has the resources, for messages.

    Raises
    ------
    ModelError : there are not as many as resources, or a name is not that of a resource.
    """
    if not isinstance(stated, Mapping):
        if len(stated) != len(resources):
            raise ModelError(f"{what} states {len(stated)} resources, {owner} {len(resources)}")
        return tuple(stated)
    for name in stated:
        if name not in resources:
            known = ", ".join(resources) or "none"
            raise ModelError(f"{what} names {name!r}, which is no resource of {owner}; there are: {known}")
    return tuple(stated.get(name, 0) for name in resources)


def tree_document(tree: FatTree) -> formats.TreeDocument:
    """The document of a tree, in short where it is regular."""
    if tree.regular is None:
        return document(formats.TreeDocument, tree, nodes=None, leaf_nodes=None, pod_nodes=None)
    return formats.TreeDocument(tree.num_nodes, *tree.regular)


@lru_cache(maxsize=4)
def tree_of(document: formats.TreeDocument) -> FatTree:
    """The tree of a document.

    Raises
    ------
    ModelError : it states neither the numbers of a uniform tree nor the switches of each node, or both.
    """
    # The documents of a set mostly stand on one tree.
    by_node = (document.leaf, document.pod)
    regular = (document.nodes, document.leaf_nodes, document.pod_nodes)
    if None not in regular and (*by_node, document.above) == (None, None, None):
        return FatTree.uniform(*regular)  # type: ignore[arg-type]
    if None not in by_node and regular == (None, None, None):
        return FatTree(*by_node, document.above)  # type: ignore[arg-type]
    raise ModelError("fat tree: expected either nodes, leaf_nodes and pod_nodes, or leaf and pod (and above)")


def _on_tree(form: Any, model: Any) -> Codec:
    """The codec of a problem with a tree and what hops cost, every other field its own."""

    def encode(problem: Any) -> Any:
        cost = document(formats.CostDocument, problem.cost)
        return document(form, problem, tree=tree_document(problem.tree), cost=cost)

    return Codec(form, encode, lambda read: model(**stated(read, tree=tree_of(read.tree), cost=_cost(read.cost))))


def _cost(read: formats.CostDocument) -> HopCost:
    return HopCost(**stated(read))


def _path_document(problem: ConstrainedPath) -> formats.CspDocument:
    costs = tuple(tuple(cost if np.isfinite(cost) else None for cost in row) for row in problem.costs.tolist())
    return document(formats.CspDocument, problem, costs=costs)


def _path(read: formats.CspDocument) -> ConstrainedPath:
    for row, stated_row in enumerate(read.costs):
        if len(stated_row) != read.length:
            raise DocumentError(f"$.costs[{row}]: expected length = {read.length} costs, got {len(stated_row)}")
    costs = np.array([[np.inf if cost is None else cost for cost in row] for row in read.costs])
    return ConstrainedPath(**stated(read, costs=costs))


def _selection_document(problem: Selection) -> formats.SelectionDocument:
    marks = {name: tuple(np.flatnonzero(getattr(problem, name)).tolist()) for name in ("forced", "excluded")}
    if np.array_equal(problem.objectives, problem.demands):
        marks["objectives"] = None  # type: ignore[assignment]
    return document(formats.SelectionDocument, problem, **marks)


def _selection(read: formats.SelectionDocument) -> Selection:
    jobs, resources = len(read.demands), len(read.capacity)
    names = read.resources or tuple(f"r{r}" for r in range(resources))
    if len(names) != resources:
        raise ModelError(f"selection: capacity states {resources} resources, resources {len(names)}")
    given = stated(
        read,
        demands=_table(read.demands, names, "selection: job {}: demand"),
        forced=_marks(read.forced, jobs, "forced"),
        excluded=_marks(read.excluded, jobs, "excluded"),
        requires=tuple((job, other) for job, other in read.requires),
    )
    if read.objectives is not None:
        rows = _rows(read.objectives, jobs)
        given["objectives"] = np.array(rows, np.int64).reshape(jobs, -1 if jobs else len(read.terms))
    return Selection(**_without_none(given))


def _rows(stated: Sequence[Sequence[int]], jobs: int) -> Sequence[Sequence[int]]:
    if len(stated) != jobs:
        raise ModelError(f"selection: objectives are stated for {counted(len(stated), 'job')}, demands for {jobs}")
    for job, row in enumerate(stated):
        if len(row) != len(stated[0]):
            raise ModelError(f"selection: job {job}: {len(row)} objectives, but {len(stated[0])} of job 0")
    return stated


def _marks(positions: Sequence[int], jobs: int, what: str) -> BoolArray:
    marks = np.zeros(jobs, bool)
    for job in positions:
        if job >= jobs:
            raise ModelError(f"selection: {what}: job {job}, but there are {jobs}, counted from 0")
        if marks[job]:
            raise ModelError(f"selection: {what}: job {job} stands there twice")
        marks[job] = True
    return marks


def _placement_document(problem: Placement) -> formats.PlacementDocument:
    usual: dict[str, None] = {name: None for name in ("values", "durations") if (getattr(problem, name) == 1).all()}
    if np.array_equal(problem.capacities, problem.free):
        usual["capacities"] = None
    return document(formats.PlacementDocument, problem, **usual)


def _placement(read: formats.PlacementDocument) -> Placement:
    if not read.free or not (read.free[0] or read.resources):
        raise ModelError("placement: there must be a machine and a resource")
    names = read.resources or tuple(f"r{r}" for r in range(len(read.free[0])))
    tables = {"free": "machine", "capacities": "machine", "demands": "task"}
    given = {
        field: _table(rows, names, f"placement: {row} {{}}: {field}")
        for field, row in tables.items()
        if (rows := getattr(read, field)) is not None
    }
    return Placement(**_without_none(stated(read, **given)))


def _table(rows: Sequence[Any], names: Sequence[str], what: str) -> IntArray:
    """A row of amounts for each of some things; ``what`` says what states a row, with its place."""
    found = [amounts(each, names, what.format(i), "the instance") for i, each in enumerate(rows)]
    return np.array(found, np.int64).reshape(len(found), len(names))


def _without_none(given: dict[str, Any]) -> dict[str, Any]:
    """Without what a document leaves out: the model's default."""
    return {name: value for name, value in given.items() if value is not None}


def _workflow_document(problem: Workflow) -> formats.WorkflowDocument:
    first, parents = problem.parents
    machine = problem.machine
    rows = zip(
        problem.tasks, problem.runtimes.tolist(), problem.walltimes.tolist(), problem.nodes.tolist(),
        problem.demands.tolist(), problem.costs.tolist(), problem.programs,
        problem.releases.tolist(), strict=True,
    )  # fmt: skip
    return formats.WorkflowDocument(
        name=problem.name,
        tasks=tuple(
            formats.TaskDocument(
                name=name,
                runtime=runtime,
                parents=tuple(problem.tasks[p] for p in parents[first[i] : first[i + 1]].tolist()),
                nodes=nodes,
                walltime=None if walltime == max(runtime, 1.0) else walltime,
                demand=tuple(demand),
                cost=cost,
                program=None if program == name else program,
                release=release,
            )
            for i, (name, runtime, walltime, nodes, demand, cost, program, release) in enumerate(rows)
        ),
        resources=problem.resources,
        submit=problem.submit,
        machine=None if machine is None else dict(zip(("nodes", *problem.resources), machine.tolist(), strict=True)),
    )


def _workflow(read: formats.WorkflowDocument) -> Workflow:
    tasks, resources = read.tasks, read.resources
    at = {task.name: i for i, task in enumerate(tasks)}
    edges = []
    for i, task in enumerate(tasks):
        for parent in task.parents:
            if parent not in at:
                raise ModelError(f"workflow: task {task.name!r}: its parent {parent!r} is no task")
            edges.append((at[parent], i))
    demands = [
        amounts(task.demand or {}, resources, f"workflow: task {task.name!r}: demand", "the workflow") for task in tasks
    ]
    made = Workflow(
        name=read.name,
        tasks=[task.name for task in tasks],
        runtimes=[task.runtime for task in tasks],
        edges=edges,
        nodes=[task.nodes for task in tasks],
        walltimes=[max(float(task.runtime), 1.0) if task.walltime is None else task.walltime for task in tasks],
        resources=resources,
        demands=demands,
        costs=[task.cost for task in tasks],
        programs=[task.program or task.name for task in tasks],
        submit=read.submit,
        releases=[task.release for task in tasks],
    )
    if read.machine is None:
        return made
    given = dict(read.machine)
    if "nodes" not in given:
        raise ModelError("workflow: machine: nodes are missing")
    return made.on(given.pop("nodes"), given)


KNAPSACK = Codec(
    formats.KnapsackDocument,
    lambda problem: document(formats.KnapsackDocument, problem),
    lambda read: Knapsack(**stated(read)),
)
SELECTION = Codec(formats.SelectionDocument, _selection_document, _selection)
ALLOCATION = _on_tree(formats.AllocationDocument, Allocation)
JOINT = _on_tree(formats.JointDocument, Joint)
PATH = Codec(formats.CspDocument, _path_document, _path)
PLACEMENT = Codec(formats.PlacementDocument, _placement_document, _placement)
WORKFLOW = Codec(formats.WorkflowDocument, _workflow_document, _workflow)
