"""The instance of a task, decoded once for many runs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

from transom.bench.plan.task import Task
from transom.errors import DocumentError


def problem_of(task: Task, whose: Literal["judge", "solver"] = "judge") -> Any:
    """The problem that a task is about.

    Runs of one instance follow each other, so the last few are kept. The judge has a copy of its own, which no solver
    ever held in its hands.

    Raises
    ------
    DocumentError : the document cannot be read, or its digest is not that of the task.
    """
    problem = _decoded(bytes(task.document), task.instance, task.label, whose)
    if whose == "solver" and problem.digest() != task.instance:  # a solver of an earlier run changed it
        _decoded.cache_clear()
        problem = _decoded(bytes(task.document), task.instance, task.label, whose)
    return problem


@lru_cache(maxsize=8)
def _decoded(document: bytes, digest: str, label: str, _whose: str) -> Any:
    from transom.io.documents import decode

    problem: Any = decode(document, label)
    found = problem.digest() if hasattr(problem, "digest") and hasattr(problem, "violations") else None
    if found != digest:
        raise DocumentError(f"{label}: the document holds {found or 'no problem'}, the task is about {digest}")
    return problem
