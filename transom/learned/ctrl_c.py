"""Ctrl-C in a training, of which half an update is no state to go on from."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def ctrl_c_waits() -> Iterator[list[int]]:
    """Put a first Ctrl-C into a list instead of raising it; a second one is raised.

    :func:`transom.compiling.uninterrupted` does not do: what it holds back comes at the end of the next kernel.
    """
    pressed: list[int] = []
    before = signal.getsignal(signal.SIGINT)

    def press(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        if len(pressed) > 1 and callable(before):
            before(number, frame)

    # Elsewhere it is raised in the main thread, whatever is done here.
    main = threading.current_thread() is threading.main_thread()
    if main:
        signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        if main:
            signal.signal(signal.SIGINT, before)
