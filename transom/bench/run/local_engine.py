"""The local engine: several runs side by side on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from queue import SimpleQueue
from threading import Event, Thread

from transom.bench.plan.task import Row, Task
from transom.bench.run.isolation import PREPARING, Closed, run_isolated
from transom.errors import ModelError


class LocalEngine:
    """Executes tasks in processes on this machine.

    Parameters
    ----------
    workers : how many runs go on side by side, > 0.
    preparing : CPU time that a warm-up may take, with all its processes [s].

    Raises
    ------
    ModelError : there is to be no worker.
    """

    def __init__(self, workers: int = 1, preparing: float = PREPARING) -> None:
        if workers < 1:
            raise ModelError(f"workers must be > 0, got {workers}")
        self.workers = workers
        self._preparing = preparing

    def run(self, tasks: Iterator[Task]) -> Iterator[Row]:
        """Carry out tasks; see :class:`~transom.bench.run.engine.Engine`.

        As many tasks as there are workers are taken ahead, so that no worker waits while a row is written.
        """
        waiting: SimpleQueue[Task | None] = SimpleQueue()
        ended: SimpleQueue[Row | BaseException] = SimpleQueue()
        stopped = Event()

        def serve() -> None:
            try:
                while (task := waiting.get()) is not None:
                    ended.put(run_isolated(task, self.workers, self._preparing, stopped.is_set))
            except Closed:
                pass
            except BaseException as fault:  # it is raised where rows are read
                ended.put(fault)

        threads = [Thread(target=serve, daemon=True) for _ in range(self.workers)]
        for thread in threads:
            thread.start()
        open_tasks = 0
        more = True
        try:
            while True:
                while more and open_tasks < 2 * self.workers:
                    task = next(tasks, None)
                    if task is None:
                        more = False
                    else:
                        waiting.put(task)
                        open_tasks += 1
                if not open_tasks:
                    return
                row = ended.get()
                if isinstance(row, BaseException):
                    raise row
                open_tasks -= 1
                yield row
        finally:
            stopped.set()
            for _ in threads:
                waiting.put(None)
            for thread in threads:
                thread.join()
