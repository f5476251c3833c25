"""An engine without worker processes, for tests of what stands around one."""

from __future__ import annotations

from collections.abc import Iterator

from transom.bench.plan.task import Row, Task
from transom.bench.run.execution import run_task


class InProcess:
    """Carries out one task after another in this process, and remembers what it was given."""

    workers = 1

    def __init__(self) -> None:
        self.given: list[Task] = []
        self.closed = False

    def run(self, tasks: Iterator[Task]) -> Iterator[Row]:
        try:
            for task in tasks:
                self.given.append(task)
                yield run_task(task)
        finally:
            self.closed = True
