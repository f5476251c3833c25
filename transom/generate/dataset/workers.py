"""Generation of shards by several processes on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait

from transom._system.signals import sigint_masked_for_pools
from transom.errors import TransomError

_TRIES = 3  # of a shard whose worker dies


class WorkersLost(TransomError):
    """The worker of a shard died repeatedly."""


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

    pool = ProcessPool(max_workers=workers, context=get_context("spawn"))
    running: dict[Future[bytes], tuple[int, int]] = {}
    todo = iter(items)

    def send(item: int, tries: int) -> None:
        with sigint_masked_for_pools():  # this process ends the others
            running[pool.schedule(function, args=(item,))] = (item, tries)

    try:
        while True:
            while len(running) < 2 * workers and (item := next(todo, None)) is not None:
                send(item, 1)
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                item, tries = running.pop(future)
                try:
                    answer = future.result()
                except ProcessExpired as error:
                    if tries == _TRIES:
                        raise WorkersLost(f"shard {item}: its worker died {tries} times: {error}") from None
                    send(item, tries + 1)
                else:
                    yield answer
    finally:
        pool.stop()
        pool.join()
