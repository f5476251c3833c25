"""Processes of this machine that apply one function to many items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from transom._system.signals import sigint_masked_for_pools
from transom.errors import TransomError

_TRIES = 3  # of an item whose worker dies

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class WorkersLost(TransomError):
    """The worker of an item died repeatedly."""


@contextmanager
def process_pool(
    workers: int,
    function: Callable[[Item], Answer],
    what: str = "item",
    prepare: Callable[..., Any] | None = None,
    given: tuple[Any, ...] = (),
) -> Iterator[Callable[[Iterable[Item]], Iterator[Answer]]]:
    """So many processes, as a function of items that gives the answers as they come.

    Parameters
    ----------
    workers : processes; with one, it is this one.
    function : can be sent to a process.
    what : an item is called in errors.
    prepare, given : called once in each process, with these arguments, before its first item.

    Raises
    ------
    WorkersLost : a worker was killed three times over the same item.
    """
    if workers == 1:
        if prepare is not None:
            prepare(*given)
        yield lambda items: map(function, items)
        return
    from multiprocessing import get_context

    from pebble import ProcessExpired, ProcessPool

    pool = ProcessPool(max_workers=workers, context=get_context("spawn"), initializer=prepare, initargs=given)

    def answers(items: Iterable[Item]) -> Iterator[Answer]:
        running: dict[Future[Answer], tuple[Item, int]] = {}
        todo = iter(items)

        def send(item: Item, tries: int) -> None:
            with sigint_masked_for_pools():  # this process ends the others
                running[pool.schedule(function, args=(item,))] = (item, tries)

        while True:
            while len(running) < 2 * workers and (item := next(todo, None)) is not None:
                send(item, 1)
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                item, tries = running.pop(future)
                try:
                    answer = future.result()
                except ProcessExpired as error:
                    if tries == _TRIES:
                        raise WorkersLost(f"{what} {item}: its worker died {tries} times: {error}") from None
                    send(item, tries + 1)
                else:
                    yield answer

    try:
        yield answers
    finally:
        pool.stop()
        pool.join()
