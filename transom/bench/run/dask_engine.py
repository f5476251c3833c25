"""The distributed engine: runs are executed by the workers of a Dask cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import msgspec

from transom._system.source_digest import source_digest
from transom.bench.plan.failures import failed
from transom.bench.plan.task import Row, Task
from transom.bench.run.batches import Pace, batches
from transom.bench.run.dask_calls import Calls, died
from transom.bench.run.dask_clusters import Cluster
from transom.bench.run.dask_worker import BEGUN, Batch, run_batch

DEATHS = 3
"""How often a worker has to die of a run before the run counts as a crash."""

_ROWS = msgspec.json.Decoder(list[Row])


class DaskEngine:
    """Executes tasks on a Dask cluster.

    Short runs are sent in batches. Each run has a process of its own inside of a Dask worker, as on one machine. Where
    a worker dies, what it had goes to others; what was there with it is then sent run by run, and announced to the
    scheduler before it begins. So a run that always kills its worker differs from those that merely stood beside it.

    Parameters
    ----------
    cluster : where to.

    Attributes
    ----------
    workers : how many runs go on side by side; of a cluster that has not been reached yet, as many as it should have.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.workers = cluster.workers
        self._cluster = cluster

    def run(self, tasks: Iterator[Task]) -> Iterator[Row]:
        """Carry out tasks; see :class:`~transom.bench.run.engine.Engine`."""
        with self._cluster.open() as client:
            calls: Calls[tuple[Task, ...]] = Calls(client, self._cluster)
            try:
                calls.ready()
                yield from self._rows(calls, tasks)
            finally:
                calls.leave()

    def _rows(self, calls: Calls[tuple[Task, ...]], tasks: Iterator[Task]) -> Iterator[Row]:
        pace = Pace()
        ready = batches(tasks, pace)
        suspects: deque[Task] = deque()  # what was on a worker that died
        more = True
        while True:
            calls.look()
            self.workers = calls.workers or self.workers
            while calls.room > 0 and suspects:
                self._send(calls, (suspects.popleft(),), suspect=True)
            while calls.room > 0 and more:
                batch = next(ready, None)
                if batch is None:
                    more = False
                else:
                    self._send(calls, batch)
            if not calls.open:
                return
            ended = calls.ended()
            if ended is None:
                continue
            if ended.fault is None:
                rows = _ROWS.decode(ended.answer)
                for row in rows:
                    pace.learn(row)
                    yield row
                done = {row.key for row in rows}
                suspects.extend(task for task in ended.sent if task.key() not in done)
            elif died(ended.fault):
                begun = _begun(calls)
                for task in ended.sent:
                    places = begun.get(_mark(calls, task), [])
                    if len(places) < DEATHS:
                        suspects.append(task)
                    else:
                        yield failed(task, "crash", f"its worker died {len(places)} times, last {places[-1]}")
            else:
                raise calls.lost(ended.fault) from ended.fault

    def _send(self, calls: Calls[tuple[Task, ...]], batch: tuple[Task, ...], suspect: bool = False) -> None:
        data = Batch(
            bench=calls.name,
            tasks=msgspec.Raw(msgspec.json.encode(batch)),
            workers=self.workers,
            code=source_digest(),
            suspect=_mark(calls, batch[0]) if suspect else None,
        )
        calls.send(batch, batch[0].key(), run_batch, msgspec.json.encode(data))


def _mark(calls: Calls[tuple[Task, ...]], task: Task) -> str:
    return f"{calls.name}-{task.key()}"


def _begun(calls: Calls[tuple[Task, ...]]) -> dict[str, list[str]]:
    """Where suspected runs have begun, by their marks."""
    places: dict[str, list[str]] = {}
    for event in calls.events(BEGUN):
        places.setdefault(event["run"], []).append(event["worker"])
    return places
