"""Map a function over many items on a Dask cluster, such as the shards of a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from transom.bench.run.dask_calls import Calls, died
from transom.bench.run.dask_clusters import Cluster
from transom.bench.run.engine import EngineError
from transom.errors import TransomError

TRIES = 4
"""How often an item is begun at most where its worker dies."""

Item = TypeVar("Item")


def dask_map(cluster: Cluster, function: Callable[[Item], bytes], items: Iterable[Item]) -> Iterator[bytes]:
    """Apply a function to items on the workers of a cluster and yield the results as they arrive.

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
    with cluster.open() as client:
        calls: Calls[tuple[Item, int]] = Calls(client, cluster)
        try:
            calls.ready()
            yield from _answers(calls, function, iter(items))
        finally:
            calls.leave()


def _answers(calls: Calls[tuple[Item, int]], function: Callable[[Item], bytes], items: Iterator[Item]) -> Iterator[Any]:
    more = True
    while True:
        calls.look()
        while calls.room > 0 and more:
            try:
                item = next(items)
            except StopIteration:
                more = False
            else:
                calls.send((item, 1), "item", function, item)
        if not calls.open:
            return
        ended = calls.ended()
        if ended is None:
            continue
        item, count = ended.sent
        if ended.fault is None:
            yield ended.answer
        elif isinstance(ended.fault, TransomError) or type(ended.fault) is OSError:
            raise ended.fault
        elif not died(ended.fault):
            raise calls.lost(ended.fault) from ended.fault
        elif count == TRIES:
            raise EngineError(f"Dask: {count} workers died with item {item!r}")
        else:
            calls.send((item, count + 1), "item", function, item)
