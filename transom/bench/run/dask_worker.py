"""What runs in a Dask worker: batches of runs, each run in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from threading import Event
from time import sleep

import msgspec

from transom._system.source_digest import source_digest
from transom.bench.plan.task import Row, Task
from transom.bench.run.engine import EngineError
from transom.bench.run.isolation import Closed, run_isolated

BEGUN = "transom-begun"
"""Topic of the scheduler's events under which a run is announced that is suspected of killing its worker."""

_RESPAWN = 1.0  # a worker that dies while it is still being started is not replaced by Dask; suspects wait so long [s]

_stopped: defaultdict[str, Event] = defaultdict(Event)
"""Set for benches that have left."""

_TASKS = msgspec.json.Decoder(list[Task])


class Batch(msgspec.Struct, frozen=True):
    """Tasks on their way to a worker.

    Parameters
    ----------
    bench : who asks: a random name.
    tasks : JSON of the tasks.
    workers : how many runs go on side by side, for the rows.
    code : digest of the sources that have to carry them out.
    suspect : what to announce before the run begins, where it is suspected of killing its worker.
    """

    bench: str
    tasks: msgspec.Raw
    workers: int
    code: str
    suspect: str | None = None


def run_batch(data: bytes) -> bytes:
    """Execute a batch, one run after another.

    Parameters
    ----------
    data : JSON of a :class:`Batch`.

    Returns
    -------
    JSON of the rows; those are missing whose bench left in between.

    Raises
    ------
    EngineError : the code of this worker is another one, or no process can be started.
    """
    batch = msgspec.json.decode(data, type=Batch)
    if batch.code != source_digest():
        raise EngineError(other_code())
    if batch.suspect is not None:
        _announce(batch.suspect)
    rows: list[Row] = []
    with contextlib.suppress(Closed):
        for task in _TASKS.decode(batch.tasks):
            rows.append(run_isolated(task, batch.workers, stopped=_stopped[batch.bench]))
    return msgspec.json.encode(rows)


def leave(bench: str) -> None:
    """Stop everything that a bench has in this worker, including running tasks."""
    _stopped[bench].set()


def code() -> str:
    """Digest of the sources that this worker runs."""
    return source_digest()


def other_code() -> str:
    """The error where worker and client run different sources."""
    from transom import __version__

    return (
        f"the Dask worker {_address()} runs other code of Transom (version {__version__}, sources {source_digest()}); "
        "install the same version there, or start the workers again"
    )


def _announce(suspect: str) -> None:
    """Have the scheduler know that a run begins here, before it does."""
    from distributed import get_worker

    worker = get_worker()
    logged = worker.scheduler.log_event(topic=BEGUN, msg={"run": suspect, "worker": worker.address})
    asyncio.run_coroutine_threadsafe(logged, worker.loop.asyncio_loop).result(60)
    sleep(_RESPAWN)


def _address() -> str:
    from distributed import get_worker

    return str(get_worker().address)
