"""The distributed engine: runs are executed by the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from transom._system.source_digest import source_digest
from transom.bench.plan.failures import failed
from transom.bench.plan.task import Row, Task
from transom.bench.run.dask_calls import DEATHS, calls, lost
from transom.bench.run.dask_clusters import Cluster
from transom.bench.run.dask_worker import Order, run_order

_ROW = msgspec.json.Decoder(Row)


class DaskEngine:
    """Executes tasks on a Dask cluster; each run has a process of its own inside of a Dask worker, as on one machine.

    Where a worker dies, its run goes to another one; a run that has killed three is a crash.

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
        from distributed import KilledWorker

        def make(bench: str, task: Task) -> tuple[Any, ...]:
            return run_order, msgspec.json.encode(Order(bench, task, source_digest()))

        for ended in calls(self._cluster, make, tasks):
            self.workers = ended.workers or self.workers
            if isinstance(ended.fault, KilledWorker):
                last = ended.fault.last_worker.address
                yield failed(ended.item, "crash", f"its worker died {DEATHS} times, last {last}")
            elif ended.fault is not None:
                raise lost(ended.fault) from ended.fault
            else:
                yield _ROW.decode(ended.answer)
