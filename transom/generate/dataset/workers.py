"""Generation of shards by several processes on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from transom._system.process_pool import process_pool


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
    with process_pool(workers, function, "shard") as answers:
        yield from answers(items)
