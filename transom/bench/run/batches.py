"""Batches of short runs, which amortise the cost of a cluster's messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from transom.bench.plan.task import Row, Task
from transom.stop import Stop

TARGET = 0.25
"""How long a batch of short runs should take [s]; a Dask task costs about 2 ms of processor time whatever it does."""

MOST = 256
"""Runs of a batch at most."""

LARGEST = 4 << 20
"""Documents of a batch together at most [bytes]; one that is larger travels alone."""


class Pace:
    """Expected run times: the mean of finished runs by solver and budget."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Stop], tuple[int, float]] = {}

    def expected(self, task: Task) -> float:
        """How long a run will take [s], with what the bench itself needs.

        One of a kind that has not come back yet is expected to use its budget up, or its limit if it has none in
        seconds.
        """
        count, seconds = self._known.get((task.spec, task.stop), (0, 0.0))
        if count == 0:
            return task.limit if task.stop.seconds is None else task.stop.seconds
        return seconds / count

    def learn(self, row: Row) -> None:
        """Update the mean with a finished run."""
        count, seconds = self._known.get((row.spec, row.stop), (0, 0.0))
        seconds += sum(each or 0.0 for each in (row.wall, row.cold, row.overhead))
        self._known[row.spec, row.stop] = count + 1, seconds


def batches(tasks: Iterable[Task], pace: Pace) -> Iterator[tuple[Task, ...]]:
    """Group short runs; a longer run goes alone and at once, past those that wait for their batch to fill.

    Tasks are taken one by one as batches are asked for. No more than one batch waits to be filled.

    Parameters
    ----------
    tasks : what is to be done.
    pace : how long runs take; may learn in between.
    """
    waiting: list[Task] = []
    seconds, size = 0.0, 0
    for task in tasks:
        expected, length = pace.expected(task), len(bytes(task.document))
        if expected >= TARGET or length >= LARGEST:
            yield (task,)
            continue
        if size + length > LARGEST:
            yield tuple(waiting)
            waiting, seconds, size = [], 0.0, 0
        waiting.append(task)
        seconds, size = seconds + expected, size + length
        if seconds >= TARGET or len(waiting) >= MOST:
            yield tuple(waiting)
            waiting, seconds, size = [], 0.0, 0
    if waiting:
        yield tuple(waiting)
