"""Ctrl-C at a terminal goes to all processes there; it is meant for the bench alone, which ends the others itself."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

HELD = frozenset({signal.SIGINT})
"""What is held back."""


@contextmanager
def kept_from_children() -> Iterator[None]:
    """Threads and processes that this thread starts in the block, and what these start, never get Ctrl-C.

    Else a worker that is about to start prints where it was. Where this is the main thread, Ctrl-C comes at the end
    of the block at the latest.
    """
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # its start would take Ctrl-C in again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
