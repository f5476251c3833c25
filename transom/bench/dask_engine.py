"""The engine of many machines: runs go to the workers of a Dask cluster."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import msgspec

from transom.bench.batches import Pace, batches
from transom.bench.dask_clusters import Cluster
from transom.bench.dask_worker import BEGUN, Batch, carry_out_batch, code, leave
from transom.bench.engine import EngineError
from transom.bench.failures import failed
from transom.bench.task import Row, Task
from transom.compiling import source_digest

if TYPE_CHECKING:
    from distributed import Client, Future

DEATHS = 3
"""How often a worker may die of one run before the run counts as a crash."""

_AHEAD = 2  # batches that are sent per worker, so that none waits for its next one
_LOOK = 1.0  # how often the workers are counted [s]
_FAREWELL = 15.0  # how long the workers may take to end what they do [s]

_ROWS = msgspec.json.Decoder(list[Row])


class DaskEngine:
    """Carries out tasks on a Dask cluster.

    Short runs are sent in batches. Each run has a process of its own inside of a Dask worker, as on one machine. Where
    a worker dies, what it had goes to others; what was there with it is then sent run by run, and announced to the
    scheduler before it begins. So a run that always kills its worker is told from those that merely stood beside it.

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
        """Carry out tasks; see :class:`~transom.bench.engine.Engine`."""
        with self._cluster.open() as client:
            bench = _Bench(client, self._cluster)
            try:
                for row in bench.rows(tasks):
                    self.workers = bench.workers
                    yield row
            finally:
                bench.leave()


class _Bench:
    """One use of a cluster."""

    def __init__(self, client: Client, cluster: Cluster) -> None:
        self._client = client
        self._cluster = cluster
        self._name = secrets.token_hex(4)
        self._pace = Pace()
        self._sent: dict[Future, tuple[Task, ...]] = {}
        self._ended: SimpleQueue[tuple[Future, bytes | None, BaseException | None]] = SimpleQueue()
        self._suspects: deque[Task] = deque()
        self._count = 0
        self._seen = 0.0  # when the workers were counted last
        self._alive = monotonic()  # when there was one last
        self.workers = 0

    def rows(self, tasks: Iterator[Task]) -> Iterator[Row]:
        """Send tasks, and give the rows as they come back."""
        self._wait_for_workers()
        self._compare_code()
        ready = batches(tasks, self._pace)
        more = True
        while True:
            self._look()
            while more and len(self._sent) + len(self._suspects) < self._most():
                batch = next(ready, None)
                if batch is None:
                    more = False
                else:
                    self._send(batch)
            while self._suspects and len(self._sent) < self._most():
                self._send((self._suspects.popleft(),), suspect=True)
            if not self._sent:
                return
            try:
                future, data, fault = self._ended.get(timeout=_LOOK)
            except Empty:
                continue
            batch = self._sent.pop(future)
            if data is None:
                yield from self._broken(batch, fault)
            else:
                yield from self._come(batch, _ROWS.decode(data))

    def leave(self) -> None:
        """Take back what was sent, and end what goes on."""
        client, sent = self._client, list(self._sent)
        if client.status != "running":
            return

        def end() -> None:
            if sent:
                client.cancel(sent, force=True)
            client.run(leave, self._name, on_error="ignore")

        # A worker that does not answer must not keep the bench from its end.
        farewell = Thread(target=end, daemon=True)
        farewell.start()
        farewell.join(_FAREWELL)

    def _most(self) -> int:
        """How many batches may be on their way."""
        return _AHEAD * max(self.workers, self._cluster.workers)

    def _send(self, batch: tuple[Task, ...], suspect: bool = False) -> None:
        self._count += 1
        data = msgspec.json.encode(
            Batch(
                bench=self._name,
                tasks=msgspec.Raw(msgspec.json.encode(batch)),
                workers=self.workers,
                code=source_digest(),
                suspect=self._mark(batch[0]) if suspect else None,
            )
        )
        # The name is new each time: what another bench left on the scheduler, or an earlier try, is no result of this.
        key = f"transom-{self._name}-{batch[0].key()}-{self._count}"
        future = self._client.submit(carry_out_batch, data, key=key, pure=False)
        self._sent[future] = batch
        self._client.loop.add_callback(self._bring, future)

    async def _bring(self, future: Future) -> None:
        """Wait for a batch in the client's thread; one whose worker died with its rows is done again before."""
        try:
            found = await self._client.gather([future], errors="skip", asynchronous=True)
            if found:
                self._ended.put((future, found[0], None))
            else:
                self._ended.put((future, None, await future.exception(asynchronous=True)))
        except BaseException as fault:  # the client is closing
            self._ended.put((future, None, fault))

    def _come(self, batch: tuple[Task, ...], rows: list[Row]) -> Iterator[Row]:
        for row in rows:
            self._pace.learn(row)
            yield row
        done = {row.key for row in rows}
        self._suspects.extend(task for task in batch if task.key() not in done)

    def _broken(self, batch: tuple[Task, ...], fault: BaseException | None) -> Iterator[Row]:
        """What becomes of a batch that came to no end.

        Raises
        ------
        EngineError : not for a worker that died.
        """
        from distributed.scheduler import KilledWorker

        if isinstance(fault, EngineError):
            raise fault
        if not isinstance(fault, KilledWorker):
            lost = self._client.status != "running" or fault is None or "cancel" in type(fault).__name__.lower()
            words = "the connection to the scheduler was lost" if lost else f"{type(fault).__name__}: {fault}"
            raise EngineError(f"Dask: {' '.join(words.split())}") from fault
        begun = self._begun() if len(batch) == 1 else {}
        for task in batch:
            places = begun.get(self._mark(task), [])
            if len(places) < DEATHS:
                self._suspects.append(task)
            else:
                yield failed(task, "crash", f"its worker died {len(places)} times while it ran, last {places[-1]}")

    def _mark(self, task: Task) -> str:
        return f"{self._name}-{task.key()}"

    def _begun(self) -> dict[str, list[str]]:
        """Where suspected runs have begun, by their marks."""
        places: dict[str, list[str]] = {}
        for _, event in self._client.get_events(BEGUN):
            places.setdefault(event["run"], []).append(event["worker"])
        return places

    def _look(self) -> None:
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
        except OSError as error:
            raise EngineError(f"Dask: the connection to the scheduler was lost: {error}") from error
        self._seen = now
        if self.workers:
            self._alive = now
        elif now - self._alive > self._cluster.patience:
            raise EngineError(
                f"Dask: there has been no worker for {self._cluster.patience:.0f} s; finished runs are kept, "
                "the same command goes on with the others"
            )

    def _wait_for_workers(self) -> None:
        while True:
            self._seen = 0.0
            self._look()
            if self.workers:
                return
            sleep(0.1)

    def _compare_code(self) -> None:
        """Compare the workers' sources with ours.

        Raises
        ------
        EngineError : they differ, or a worker cannot import Transom.
        """
        found: dict[str, Any] = self._client.run(code, on_error="return")
        for worker, digest in found.items():
            if isinstance(digest, BaseException):
                raise EngineError(f"Dask worker {worker}: Transom cannot be imported: {digest}")
            if digest != source_digest():
                raise EngineError(
                    f"the Dask worker {worker} runs other code of Transom (sources {digest}, here {source_digest()}); "
                    "install the same version there, or start the workers again"
                )
