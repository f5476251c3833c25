"""Shards made by several processes of this machine."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait

from transom.errors import TransomError

_TRIES = 3  # of a shard whose worker dies


class WorkersLost(TransomError):
    """The worker of a shard died again and again."""


def on_this_machine(workers: int, function: Callable[[int], bytes], items: Iterable[int]) -> Iterator[bytes]:
    """Apply a function to items in so many processes, and give the answers as they come.

    Parameters
    ----------
    workers : processes; with one, it is this one.
    function : can be sent to a process.
    items : taken as they are needed.

    Raises
    ------
    WorkersLost : a worker was killed three times over the same item.
    """
    if workers == 1:
        yield from map(function, items)
        return
    from multiprocessing import get_context

    from pebble import ProcessExpired, ProcessPool

    pool = ProcessPool(max_workers=workers, context=get_context("spawn"), initializer=_leave_ctrl_c)
    running: dict[Future[bytes], tuple[int, int]] = {}
    todo = iter(items)
    try:
        while True:
            while len(running) < 2 * workers and (item := next(todo, None)) is not None:
                running[pool.schedule(function, args=(item,))] = (item, 1)
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                item, tries = running.pop(future)
                try:
                    answer = future.result()
                except ProcessExpired as error:
                    if tries == _TRIES:
                        raise WorkersLost(f"shard {item}: its worker died {tries} times: {error}") from None
                    running[pool.schedule(function, args=(item,))] = (item, tries + 1)
                else:
                    yield answer
    finally:
        pool.stop()
        pool.join()


def _leave_ctrl_c() -> None:
    # It reaches the whole group of processes; the one that hands out the work ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
