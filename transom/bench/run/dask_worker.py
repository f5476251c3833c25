"""What runs in a Dask worker: runs, each in a process of its own."""

from __future__ import annotations

from collections import defaultdict
from threading import Event

import msgspec

from transom._system.source_digest import source_digest
from transom.bench.plan.task import Task
from transom.bench.run.engine import EngineError
from transom.bench.run.isolation import run_isolated

_stopped: defaultdict[str, Event] = defaultdict(Event)
"""Set for benches that have left."""


class Order(msgspec.Struct, frozen=True):
    """A task on its way to a worker.

    Parameters
    ----------
    bench : who asks: a random name.
    task : the run.
    code : digest of the sources that have to carry it out.
    """

    bench: str
    task: Task
    code: str


def run_order(data: bytes) -> bytes:
    """Execute the task of an :class:`Order` and return its row, both in JSON.

    Raises
    ------
    EngineError : the code of this worker is another one, or no process can be started.
    Closed : the bench has left.
    """
    order = msgspec.json.decode(data, type=Order)
    if order.code != source_digest():
        raise EngineError(_other_code(order.code))
    return msgspec.json.encode(run_isolated(order.task, stopped=_stopped[order.bench]))


def leave(bench: str) -> None:
    """Stop everything that a bench has in this worker, including running tasks."""
    _stopped[bench].set()


def _other_code(wanted: str) -> str:
    from distributed import get_worker

    from transom import __version__

    return (
        f"the Dask worker {get_worker().address} runs other code of Transom (version {__version__}, sources "
        f"{source_digest()}, here {wanted}); install the same version there, or start the workers again"
    )
