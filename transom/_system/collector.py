"""Pauses of the garbage collector where a full collection would take too long."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused(paused: bool = True) -> Iterator[None]:
    """Pause the garbage collector; a full collection over the objects of a few large libraries takes 50 ms and more.

    Parameters
    ----------
    paused : whether to do so at all.
    """
    enabled = paused and gc.isenabled()
    if enabled:
        gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
