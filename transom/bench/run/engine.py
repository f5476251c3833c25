"""The engine protocol: executes tasks, on this machine or on others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from transom.bench.plan.task import Row, Task
from transom.errors import TransomError


class EngineError(TransomError):
    """No run can be executed: no worker starts, or all are lost."""


class Engine(Protocol):
    """Executes tasks and yields a row for each, in the order in which they end."""

    @property
    def workers(self) -> int:
        """How many runs go on side by side."""

    def run(self, tasks: Iterator[Task]) -> Iterator[Row]:
        """Carry out tasks; whatever becomes of one, there is exactly one row for it.

        Tasks are taken only as they are needed. Closing the iterator, or an exception such as Ctrl-C in whoever
        reads it, ends all that is going on; runs that had not come to their end then have no row.

        Raises
        ------
        EngineError : no worker can be started, or all are gone.
        """
