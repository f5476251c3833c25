"""From workflows to their documents, and back."""

from __future__ import annotations

from transom.errors import ModelError
from transom.io.codec import Codec
from transom.io.formats import TaskDocument, WorkflowDocument
from transom.io.selection_conversion import amounts
from transom.models.workflow import Workflow


def workflow_document(problem: Workflow) -> WorkflowDocument:
    """The typed document of a workflow."""
    first, parents = problem.parents
    names = ("nodes", *problem.resources)
    rows = zip(
        problem.tasks, problem.runtimes.tolist(), problem.walltimes.tolist(), problem.nodes.tolist(),
        problem.demands.tolist(), problem.costs.tolist(), problem.programs,
        problem.releases.tolist(), strict=True,
    )  # fmt: skip
    return WorkflowDocument(
        name=problem.name,
        tasks=tuple(
            TaskDocument(
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
        machine=None if problem.machine is None else dict(zip(names, problem.machine.tolist(), strict=True)),
    )


def workflow_of(document: WorkflowDocument) -> Workflow:
    """The workflow of a typed document.

    Raises
    ------
    ModelError : what it states breaks a condition; the message names the task.
    """
    tasks, resources = document.tasks, document.resources
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
        name=document.name,
        tasks=[task.name for task in tasks],
        runtimes=[task.runtime for task in tasks],
        edges=edges,
        nodes=[task.nodes for task in tasks],
        walltimes=[max(float(task.runtime), 1.0) if task.walltime is None else task.walltime for task in tasks],
        resources=resources,
        demands=demands,
        costs=[task.cost for task in tasks],
        programs=[task.program or task.name for task in tasks],
        submit=document.submit,
        releases=[task.release for task in tasks],
    )
    if document.machine is None:
        return made
    given = dict(document.machine)
    if "nodes" not in given:
        raise ModelError("workflow: machine: nodes are missing")
    return made.on(given.pop("nodes"), given)


WORKFLOW = Codec(WorkflowDocument, workflow_document, workflow_of)
