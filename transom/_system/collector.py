"""The collector of garbage, kept from passing over all objects of a process where that would take too long."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused(paused: bool = True) -> Iterator[None]:
    """No garbage is collected in between; a pass over the objects of a few large libraries takes 50 ms and more.

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
