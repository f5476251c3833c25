"""The instance of a task."""

from __future__ import annotations

from typing import Any

from transom.bench.plan.task import Task
from transom.errors import DocumentError


def problem_of(task: Task) -> Any:
    """The problem that a task is about, decoded anew.

    Raises
    ------
    DocumentError : the document cannot be read, or its digest is not that of the task.
    """
    from transom.io.documents import decode

    problem: Any = decode(bytes(task.document), task.label)
    found = problem.digest() if hasattr(problem, "digest") and hasattr(problem, "violations") else None
    if found != task.instance:
        raise DocumentError(
            f"{task.label}: the document holds {found or 'no problem'}, the task is about {task.instance}"
        )
    return problem
