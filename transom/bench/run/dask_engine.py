"""Runs of the bench, and other calls, on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from transom._system.source_digest import source_digest
from transom.bench.plan.failures import failed
from transom.bench.plan.task import Row, Task
from transom.bench.run.dask_cluster import Cluster
from transom.bench.run.engine import EngineError
from transom.bench.run.isolation import run_isolated
from transom.class_files import trust_same, trusted_files
from transom.errors import TransomError

if TYPE_CHECKING:
    from distributed import Client, Future

_LOOK = 1.0  # how often the workers are counted, at least [s]

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class DaskEngine:
    """Executes tasks on a Dask cluster; each run has a process of its own inside of a Dask worker, as on one machine.

    Where a worker dies, its run goes to another one; a run of which as many have died as the scheduler allows is a
    crash.

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

        there = partial(run_there, source_digest(), trusted_files())
        with self._cluster.open() as client:
            for task, future, workers in _calls(client, self._cluster.patience, there, tasks):
                self.workers = workers or self.workers
                try:
                    row = msgspec.json.decode(future.result(), type=Row)
                except KilledWorker as fault:
                    deaths = f"its worker died {fault.allowed_failures + 1} times"
                    row = failed(task, "crash", f"{deaths}, last {fault.last_worker.address}")
                except Exception as fault:
                    raise _lost(fault) from fault
                yield row


class DaskMap:
    """Functions applied to items on the workers of an open cluster, results as they arrive.

    An item may be carried out more than once, where a worker dies; the last answer counts. Other than the runs of the
    bench, items have no limits and no process of their own.
    """

    def __init__(self, client: Client, patience: float) -> None:
        self._client, self._patience = client, patience

    def share(self, thing: object) -> Future:
        """Something that many calls need, sent once; a worker that loses it gets it again."""
        return self._client.submit(_same, thing, pure=False)

    def __call__(
        self, function: Callable[..., Answer], items: Iterable[Item], shared: Sequence[Future] = ()
    ) -> Iterator[Answer]:
        """Apply a function to items.

        Parameters
        ----------
        function : one of a module that the workers have too, or a ``functools.partial`` of one.
        items : few bytes each; taken only as they are needed.
        shared : of :meth:`share`, what the function takes after the item.

        Raises
        ------
        TransomError, OSError : what the function raised.
        EngineError : the workers cannot be reached, are all gone, or die of an item again and again.
        """
        from distributed import KilledWorker

        for item, future, _ in _calls(self._client, self._patience, function, items, shared):
            try:
                answer: Answer = future.result()
            except KilledWorker as fault:
                raise EngineError(f"Dask: {fault.allowed_failures + 1} workers died with item {item!r}") from None
            except Exception as fault:
                raise (fault if isinstance(fault, TransomError) or type(fault) is OSError else _lost(fault)) from None
            yield answer


@contextmanager
def dask_maps(cluster: Cluster) -> Iterator[DaskMap]:
    """A cluster while it is open.

    Raises
    ------
    EngineError : it cannot be reached or started.
    """
    with cluster.open() as client:
        yield DaskMap(client, cluster.patience)


def dask_map(cluster: Cluster, function: Callable[[Item], bytes], items: Iterable[Item]) -> Iterator[bytes]:
    """Apply a function to items on the workers of a cluster, such as the shards of a data set; as :class:`DaskMap`."""
    with dask_maps(cluster) as apply:
        yield from apply(function, items)


def _same(thing: object) -> object:
    return thing


def trust_here(code: str, files: dict[str, str]) -> None:
    """In a worker of Dask: make sure that it carries out the same code, and let it run the same files of classes.

    Parameters
    ----------
    code : digest of the sources that have to carry it out.
    files : digests of the files of classes that it may run, by path.

    Raises
    ------
    EngineError : the code of this worker is another one.
    """
    from distributed import get_worker

    from transom import __version__

    if code != source_digest():
        raise EngineError(
            f"the Dask worker {get_worker().address} runs other code of Transom (version {__version__}, sources "
            f"{source_digest()}, here {code}); install the same version there, or start the workers again"
        )
    trust_same(files)


def run_there(code: str, files: dict[str, str], task: Task) -> bytes:
    """Execute a task in a worker of Dask, and give its row in JSON; ended as soon as nobody waits for it any more.

    Parameters
    ----------
    code : digest of the sources that have to carry it out.
    files : digests of the files of classes that it may run, by path.
    task : the run.

    Raises
    ------
    EngineError : the code of this worker is another one, or no process can be started.
    Closed : the bench has left.
    """
    from distributed import get_worker

    trust_here(code, files)
    worker = get_worker()
    key = worker.get_current_task()

    def left() -> bool:
        known = worker.state.tasks.get(key)
        return known is None or known.state != "executing"

    return msgspec.json.encode(run_isolated(task, stopped=left))


def _calls(
    client: Client,
    patience: float,
    function: Callable[..., Any],
    items: Iterable[Item],
    shared: Sequence[Future] = (),
) -> Iterator[tuple[Item, Future, int]]:
    """Call a function with each item on the workers; items come as their calls end, with the number of threads.

    Each thread of a worker has one call at a time, so that it is known of what a worker has died; such a call is made
    again, on whichever worker is free. Closing the client cancels what is queued and ends what is going on.

    Raises
    ------
    EngineError : the cluster is lost, or has no worker for so long (``patience``) [s].
    """
    waiting, more, alive = iter(items), True, monotonic()
    sent: dict[Future, Item] = {}
    while True:
        workers = _threads(client)
        alive = monotonic() if workers else alive
        if monotonic() - alive > patience:
            raise EngineError(
                f"Dask: there has been no worker for {patience:.0f} s; what was finished is kept, and "
                "the same command goes on from there"
            )
        while more and len(sent) < workers:
            try:
                item = next(waiting)
            except StopIteration:
                more = False
            else:
                sent[client.submit(function, item, *shared, pure=False)] = item
        if not more and not sent:
            return
        for future in _ended(client, list(sent)):
            yield sent.pop(future), future, workers


def _threads(client: Client) -> int:
    try:
        return sum(client.nthreads().values())
    except Exception as error:
        raise _lost(error if client.status == "running" else OSError()) from error


def _ended(client: Client, sent: list[Future]) -> Iterable[Future]:
    """The calls that have ended, for which it waits a while."""
    from distributed import wait

    if not sent:
        sleep(_LOOK)
        return ()
    try:
        with client.as_current():
            return list(wait(sent, _LOOK, "FIRST_COMPLETED").done)
    except TimeoutError:
        return ()
    except Exception as error:
        raise _lost(error) from error


def _lost(fault: BaseException) -> EngineError:
    """The error to raise for something that is neither a call's own fault nor a worker's death."""
    if isinstance(fault, EngineError):
        return fault
    if isinstance(fault, OSError) or "Cancelled" in type(fault).__name__:
        return EngineError(
            "Dask: the connection to the scheduler was lost; what was finished is kept, and the same command goes "
            "on, with the address of a new scheduler if that is another one"
        )
    return EngineError(" ".join(f"Dask: {type(fault).__name__}: {fault}".split()))
