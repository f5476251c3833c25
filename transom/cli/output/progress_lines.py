"""How far long work is, where no bar can be drawn."""

from __future__ import annotations

import sys
import time
from typing import Any

from rich.console import Console
from rich.progress import Progress, TaskID

from transom.cli.output.compiling import EVERY


class ProgressLines(Progress):
    """Progress in lines on standard error, one every half minute, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        super().__init__(console=console, disable=True)
        self._told = time.monotonic()

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """Change a task, as a bar does, and say how far it is if that was not said for long."""
        super().update(task_id, **changes)
        if time.monotonic() - self._told >= EVERY:
            self._told = time.monotonic()
            task = self._tasks[task_id]
            total = "" if task.total is None else f" of {task.total:,.0f}"
            print(f"{task.description}: {task.completed:,.0f}{total}", file=sys.stderr)

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        """Let a task go on, as a bar does."""
        self.update(task_id, advance=advance)
