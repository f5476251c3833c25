"""Solutions in the words of their problem, with ids where it has any, for lines of JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transom.io.instances import Instance
    from transom.models import Allocation, ConstrainedPath, Joint, ParetoFront, Placement, Selection, Workflow


def solution_document(instance: Instance, solution: Any) -> dict[str, Any]:
    """What a line of JSON says about a solution, None if there is none."""
    from transom.io.codec import solution_codec
    from transom.problems import problem_type

    words = problem_type(instance.problem.kind).part("words")
    if words is not None:
        document: dict[str, Any] = words(instance.problem, instance.jobs, solution)
        return document
    return {"solution": None if solution is None else solution_codec(instance.problem.kind).encode(solution)}


def nodes_of_jobs(problem: Allocation, jobs: list[int] | None, owners: Any) -> dict[str, Any]:
    """Ids of the nodes of each job of an allocation, and under the dynamic rule an order of placing.

    ``owners`` is the job of each idle node, -1 for none, shape ``(idle,)``; ``jobs`` are their ids, if they have any.
    """
    document: dict[str, Any] = {} if jobs is None else {"jobs": jobs}
    document["nodes"] = None if owners is None else problem.nodes(owners)
    if problem.rule == "dynamic":
        document["order"] = None if owners is None else problem.order(owners)
    return document


def nodes_of_started(problem: Joint, jobs: list[int] | None, owners: Any) -> dict[str, Any]:
    """Ids of the nodes of each job of a joint choice, none of those that do not start; as :func:`nodes_of_jobs`."""
    document: dict[str, Any] = {} if jobs is None else {"jobs": jobs}
    document["nodes"] = None if owners is None else problem.nodes(owners)
    return document


def arcs(problem: ConstrainedPath, jobs: list[int] | None, path: Any) -> dict[str, Any]:
    """The operation arcs of a path: rows (start, size), shape ``(arcs, 2)``."""
    return {"arcs": None if path is None else path.tolist()}


def machines_of_tasks(problem: Placement, jobs: list[int] | None, placed: Any) -> dict[str, Any]:
    """``[machine, instances]`` of each task where it has some; ``placed`` has shape ``(tasks, machines)``."""
    document: dict[str, Any] = {} if jobs is None else {"jobs": jobs}
    rows = None if placed is None else placed.tolist()
    document["placed"] = rows and [[[m, count] for m, count in enumerate(row) if count] for row in rows]
    return document


def starts_of_tasks(problem: Workflow, jobs: list[int] | None, starts: Any) -> dict[str, Any]:
    """Name, start and end [s] of each task; ``starts`` are in ticks, shape ``(tasks,)``."""
    if starts is None:
        return {"schedule": None}
    times = zip(problem.tasks, starts.tolist(), (starts + problem.durations).tolist(), strict=True)
    return {"schedule": [[task, start / problem.ticks, end / problem.ticks] for task, start, end in times]}


def points_document(problem: Selection, jobs: list[int] | None, front: ParetoFront | None) -> dict[str, Any]:
    """What a line of JSON says about the points of a front: values in the order of ``terms``, and jobs."""
    if front is None:
        return {"terms": problem.terms, "solution": None}
    points = [
        {"values": values, "jobs": jobs_of_point(jobs, front, point)}
        for point, values in enumerate(front.values.tolist())
    ]
    return {"terms": problem.terms, "solution": points}


def jobs_of_point(ids: list[int] | None, front: ParetoFront, point: int) -> list[int]:
    """The jobs of a point: ids where the file states them, else positions from 0."""
    positions = front.selections[point].nonzero()[0].tolist()
    return positions if ids is None else [ids[position] for position in positions]
