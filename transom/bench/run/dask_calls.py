"""Calls on the workers of a Dask cluster, with a few in flight per worker."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from transom._system.source_digest import source_digest
from transom.bench.run.dask_clusters import Cluster
from transom.bench.run.dask_worker import code, leave
from transom.bench.run.engine import EngineError

if TYPE_CHECKING:
    from distributed import Client, Future

_AHEAD = 2  # calls that are sent per worker, so that none waits for its next one
_LOOK = 1.0  # how often the workers are counted [s]
_FAREWELL = 15.0  # how long the workers may take to end what they do [s]

Tag = TypeVar("Tag")


class Ended(NamedTuple, Generic[Tag]):
    """A finished call: its arguments, and its result or exception."""

    sent: Tag
    answer: Any
    fault: BaseException | None


class Calls(Generic[Tag]):
    """One use of a cluster.

    Parameters
    ----------
    client : the connection.
    cluster : where it leads to.

    Attributes
    ----------
    name : of this use, random: what another one left on the scheduler is no answer to this.
    workers : how many calls are carried out at a time.
    """

    def __init__(self, client: Client, cluster: Cluster) -> None:
        self.name = secrets.token_hex(4)
        self.workers = 0
        self._client = client
        self._cluster = cluster
        self._sent: dict[Future, Tag] = {}
        self._ended: SimpleQueue[tuple[Future, Any, BaseException | None]] = SimpleQueue()
        self._count = 0
        self._seen = 0.0  # when the workers were counted last
        self._alive = monotonic()  # when there was one last

    def ready(self) -> None:
        """Wait for a worker, and compare the sources of those that are there with ours.

        Raises
        ------
        EngineError : no worker comes, the sources differ, or a worker cannot import Transom.
        """
        while True:
            self._seen = 0.0
            self.look()
            if self.workers:
                break
            sleep(0.1)
        found: dict[str, Any] = self._client.run(code, on_error="return")
        for worker, digest in found.items():
            if isinstance(digest, OSError):
                continue  # it has just died; what comes in its place says with its first batch whether it fits
            if isinstance(digest, BaseException):
                raise EngineError(f"the Dask worker {worker} cannot import Transom: {digest}")
            if digest != source_digest():
                raise EngineError(
                    f"the Dask worker {worker} runs other code of Transom (sources {digest}, here {source_digest()}); "
                    "install the same version there, or start the workers again"
                )

    @property
    def room(self) -> int:
        """How many more calls may be in flight."""
        return _AHEAD * max(self.workers, self._cluster.workers) - len(self._sent)

    @property
    def open(self) -> int:
        """How many calls are in flight."""
        return len(self._sent)

    def send(self, tag: Tag, key: str, function: Callable[..., Any], *arguments: Any) -> None:
        """Send a call.

        Parameters
        ----------
        tag : what it comes back with.
        key : what it is about, for those who look at the scheduler.
        function, arguments : what to call.
        """
        self._count += 1
        name = f"transom-{self.name}-{key}-{self._count}"
        future = self._client.submit(function, *arguments, key=name, pure=False)
        self._sent[future] = tag
        self._client.loop.add_callback(self._bring, future)

    def ended(self) -> Ended[Tag] | None:
        """The next call that comes back, or None after a while without one."""
        try:
            future, answer, fault = self._ended.get(timeout=_LOOK)
        except Empty:
            return None
        return Ended(self._sent.pop(future), answer, fault)

    def look(self) -> None:
        """Count the workers, every now and then.

        Raises
        ------
        EngineError : there has been none for too long, or the scheduler is gone.
        """
        now = monotonic()
        if now - self._seen < _LOOK:
            return
        try:
            self.workers = sum(self._client.nthreads().values())
        except Exception as error:
            raise self.lost(error) from error
        self._seen = now
        if self.workers:
            self._alive = now
        elif now - self._alive > self._cluster.patience:
            raise EngineError(
                f"Dask: there has been no worker for {self._cluster.patience:.0f} s; what was finished is kept, and "
                "the same command goes on from there"
            )

    def lost(self, fault: BaseException) -> EngineError:
        """The error to raise for something that is not a worker's death."""
        if isinstance(fault, EngineError):
            return fault
        if self._client.status != "running" or isinstance(fault, OSError) or "Cancelled" in type(fault).__name__:
            return EngineError(
                "Dask: the connection to the scheduler was lost; what was finished is kept, and the same command goes "
                "on, with the address of a new scheduler if that is another one"
            )
        return EngineError(" ".join(f"Dask: {type(fault).__name__}: {fault}".split()))

    def events(self, topic: str) -> list[Any]:
        """What workers logged with the scheduler under a topic."""
        return [event for _, event in self._client.get_events(topic)]

    def leave(self) -> None:
        """Cancel queued calls and terminate running ones."""
        client, sent = self._client, list(self._sent)
        if client.status != "running":
            return

        def end() -> None:
            with suppress(OSError):  # the scheduler is gone
                if sent:
                    client.cancel(sent, force=True)
                client.run(leave, self.name, on_error="ignore")

        # A worker that does not answer must not keep this process from its end.
        farewell = Thread(target=end, daemon=True)
        farewell.start()
        farewell.join(_FAREWELL)

    async def _bring(self, future: Future) -> None:
        """Wait for a call in the client's thread; one whose worker died with its answer is carried out again before."""
        try:
            found = await self._client.gather([future], errors="skip", asynchronous=True)
            if found:
                self._ended.put((future, found[0], None))
            else:
                self._ended.put((future, None, await future.exception(asynchronous=True)))
        except BaseException as fault:  # the client is closing
            self._ended.put((future, None, fault))


def died(fault: BaseException | None) -> bool:
    """Whether a call failed because its worker died."""
    from distributed.scheduler import KilledWorker

    return isinstance(fault, KilledWorker)
