"""How far long work is, where no bar can be drawn."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")

EVERY = 30.0
"""Seconds between two lines that report long work."""


@dataclass
class _Task:
    description: str
    total: float | None
    completed: float = 0


class ProgressLines:
    """Progress in lines on standard error, one every half minute, for logs and pipes; used as rich's bars are.

    Parameters
    ----------
    hidden : say nothing.
    """

    def __init__(self, hidden: bool = False) -> None:
        self._hidden = hidden
        self._printed = time.monotonic()
        self._tasks: list[_Task] = []

    def __enter__(self) -> ProgressLines:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def add_task(self, description: str, total: float | None = 100, completed: float = 0) -> int:
        """The number of a new task."""
        self._tasks.append(_Task(description, total, completed))
        return len(self._tasks) - 1

    def stop(self) -> None:
        """Draw no more bars; there are none."""

    def update(
        self,
        task_id: int,
        *,
        total: float | None = None,
        completed: float | None = None,
        advance: float = 0,
        description: str | None = None,
    ) -> None:
        """Change a task, and say how far it is if that was not said for long."""
        task = self._tasks[task_id]
        task.total = task.total if total is None else total
        task.completed = advance + (task.completed if completed is None else completed)
        task.description = description or task.description
        if not self._hidden and time.monotonic() - self._printed >= EVERY:
            self._printed = time.monotonic()
            of = "" if task.total is None else f" of {task.total:,.0f}"
            print(f"{task.description}: {task.completed:,.0f}{of}", file=sys.stderr)

    def advance(self, task_id: int, advance: float = 1) -> None:
        """Let a task go on."""
        self.update(task_id, advance=advance)

    def track(self, items: Iterable[Item], total: float | None = None, description: str = "") -> Iterator[Item]:
        """Hand out one item after the other, each a step of a new task."""
        task = self.add_task(description, total=total)
        for item in items:
            yield item
            self.advance(task)
