"""Calls on the workers of a Dask cluster."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from transom.bench.run.dask_clusters import Cluster
from transom.bench.run.dask_worker import leave
from transom.bench.run.engine import EngineError
from transom.errors import TransomError

if TYPE_CHECKING:
    from distributed import Client, Future

DEATHS = 3
"""How often a worker has to die of a call before it is not made again."""

_LOOK = 1.0  # how often the workers are counted [s]
_FAREWELL = 15.0  # how long the workers may take to end what they do [s]

Item = TypeVar("Item")


class Ended(NamedTuple, Generic[Item]):
    """What became of a call.

    Parameters
    ----------
    item : what it was about.
    answer, fault : its result, or what it raised; :exc:`distributed.KilledWorker` where workers died of it.
    workers : how many calls go on side by side.
    """

    item: Item
    answer: Any
    fault: BaseException | None
    workers: int


def calls(
    cluster: Cluster, make: Callable[[str, Item], tuple[Any, ...]], items: Iterable[Item]
) -> Iterator[Ended[Item]]:
    """Make a call for each item on the workers of a cluster; they come as they end.

    Each thread of a worker has one call at a time, so that it is known of what a worker has died; such a call is made
    again, on whichever worker is free. Closing the iterator cancels what is queued and ends what is going on.

    Parameters
    ----------
    cluster : where.
    make : gives the function and its arguments, of the random name of this use of the cluster and an item.
    items : taken only as they are needed.

    Raises
    ------
    EngineError : the cluster cannot be reached or started, is lost, or has no worker for too long.
    """
    from distributed import KilledWorker

    name = secrets.token_hex(4)
    with cluster.open() as client:
        waiting, back = iter(items), SimpleQueue[Any]()
        sent: dict[Future, tuple[Item, int]] = {}
        count, more, workers, seen, alive = 0, True, 0, 0.0, monotonic()

        def send(item: Item, tries: int) -> None:
            nonlocal count
            count += 1
            function, *arguments = make(name, item)
            future = client.submit(function, *arguments, key=f"transom-{name}-{count}", pure=False)
            sent[future] = (item, tries)
            future.add_done_callback(back.put)

        try:
            while True:
                if (now := monotonic()) - seen > _LOOK:
                    workers, seen = _threads(client), now
                    alive = now if workers else alive
                    if now - alive > cluster.patience:
                        raise EngineError(
                            f"Dask: there has been no worker for {cluster.patience:.0f} s; what was finished is kept, "
                            "and the same command goes on from there"
                        )
                while more and len(sent) < workers:
                    try:
                        send(next(waiting), 1)
                    except StopIteration:
                        more = False
                if not more and not sent:
                    return
                try:
                    future = back.get(timeout=_LOOK)
                except Empty:
                    continue
                item, tries = sent.pop(future)
                answer, fault = _outcome(future)
                if isinstance(fault, KilledWorker) and tries < DEATHS:
                    send(item, tries + 1)
                else:
                    yield Ended(item, answer, fault, workers)
        finally:
            _leave(client, name, list(sent))


def lost(fault: BaseException) -> EngineError:
    """The error to raise for something that is neither a call's own fault nor a worker's death."""
    if isinstance(fault, EngineError):
        return fault
    if isinstance(fault, OSError) or "Cancelled" in type(fault).__name__:
        return EngineError(
            "Dask: the connection to the scheduler was lost; what was finished is kept, and the same command goes "
            "on, with the address of a new scheduler if that is another one"
        )
    return EngineError(" ".join(f"Dask: {type(fault).__name__}: {fault}".split()))


def dask_map(cluster: Cluster, function: Callable[[Item], bytes], items: Iterable[Item]) -> Iterator[bytes]:
    """Apply a function to items on the workers of a cluster, such as the shards of a data set; results as they arrive.

    An item may be carried out more than once, where a worker dies; the last answer counts. Other than the runs of the
    bench, items have no limits and no process of their own.

    Parameters
    ----------
    cluster : where.
    function : one of a module that the workers have too, or a ``functools.partial`` of one.
    items : few bytes each; taken only as they are needed.

    Raises
    ------
    TransomError, OSError : what the function raised.
    EngineError : the workers cannot be reached, run other code, are all gone, or die of an item again and again.
    """
    from distributed import KilledWorker

    for ended in calls(cluster, lambda name, item: (function, item), items):
        if isinstance(ended.fault, KilledWorker):
            raise EngineError(f"Dask: {DEATHS} workers died with item {ended.item!r}")
        if isinstance(ended.fault, TransomError) or type(ended.fault) is OSError:
            raise ended.fault
        if ended.fault is not None:
            raise lost(ended.fault) from ended.fault
        yield ended.answer


def _threads(client: Client) -> int:
    try:
        return sum(client.nthreads().values())
    except Exception as error:
        raise lost(error if client.status == "running" else OSError()) from error


def _outcome(future: Future) -> tuple[Any, BaseException | None]:
    """The result of a call that has ended, or what it raised; one whose worker died with its answer is made again."""
    try:
        return future.result(), None
    except Exception as fault:
        return None, fault


def _leave(client: Client, name: str, sent: list[Future]) -> None:
    """Cancel what is queued and end what is going on."""
    if client.status != "running":
        return

    def end() -> None:
        with suppress(OSError):  # the scheduler is gone
            if sent:
                client.cancel(sent, force=True)
            client.run(leave, name, on_error="ignore")

    # A worker that does not answer must not keep this process from its end.
    farewell = Thread(target=end, daemon=True)
    farewell.start()
    farewell.join(_FAREWELL)
