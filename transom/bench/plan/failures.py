"""Rows of runs that did not finish."""

from __future__ import annotations

from typing import Literal

from transom.bench.plan.documents import problem_of
from transom.bench.plan.provenance import provenance
from transom.bench.plan.task import Outcome, Row, Task
from transom.errors import TransomError
from transom.problems import size_of

LONGEST_CAUSE = 500
"""Characters of a cause that are kept."""


def failed(task: Task, outcome: Outcome, cause: str, wall: float | None = None) -> Row:
    """The row of a run that was ended, or whose process died.

    Parameters
    ----------
    task : the run.
    outcome : what became of it.
    cause : why; only its first line is kept.
    wall : how long it went on [s].
    """
    sense: Literal["min", "max"] = "min"
    size = 0
    if task.what == "solve":
        try:
            problem = problem_of(task)
            sense, size = problem.sense, size_of(problem)
        except TransomError:
            pass  # the cause says so already
    facts = provenance(task)
    facts["begun"] -= wall or 0.0
    return Row(**facts, sense=sense, size=size, outcome=outcome, cause=one_line(cause), wall=wall)


def one_line(text: str) -> str:
    """A cause as it stands in a row: its first line that says something, not too long, in text that JSON can carry."""
    text = text.encode(errors="replace").decode()
    line = next((line.strip() for line in text.splitlines() if line.strip()), "no reason given")
    return line if len(line) <= LONGEST_CAUSE else line[: LONGEST_CAUSE - 3] + "..."
