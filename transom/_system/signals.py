"""SIGINT (Ctrl-C), which a terminal sends to all its processes: deferred, collected, masked for children; and what else
ends a command in the same way."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal without looking up each handler's name: ten times as fast
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

HELD = frozenset({signal.SIGINT})
"""What is kept from children."""
_ENDS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
"""What ends a command in order."""


class _Held:
    """A handler of Ctrl-C that only remembers it the first time, and leaves the second to the one before it."""

    def __init__(self, before: Callable[[int, FrameType | None], Any]) -> None:
        self.before = before
        self.pressed = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.pressed += 1
        if self.pressed > 1:
            self.before(number, frame)


def interrupt_behind(error: BaseException | None) -> KeyboardInterrupt | None:
    """The Ctrl-C that an exception was made of, if any.

    Libraries in C make exceptions of their own of what is raised in Python code that they call, and state its cause:
    the compiler's ways in a ``SystemError``, pybind11 an ``ImportError``. What merely happens while somebody handles
    Ctrl-C is not made of it.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error


@contextmanager
def ends_in_order() -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP raise :class:`KeyboardInterrupt` in the block, whatever was inherited.

    A shell that runs a script has what it starts with ``&`` ignore SIGINT, and whoever starts a process may have
    ignored or blocked any of them. A SIGHUP that is ignored stays so where SIGTERM is not: ``nohup`` asks for that. A
    handler of SIGINT that is there is kept.
    """
    if threading.current_thread() is not threading.main_thread():  # whose signals are not ours
        yield
        return
    before = {each: signal.getsignal(each) for each in _ENDS}
    if not callable(before[signal.SIGINT]):
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # A parent that ignores everything hands SIGTERM down as well; nohup ignores SIGHUP alone.
    behind_nohup = before[signal.SIGHUP] is signal.SIG_IGN and before[signal.SIGTERM] is not signal.SIG_IGN
    for each in (signal.SIGTERM,) if behind_nohup else (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, _interrupt)
    mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, signal.SIG_DFL if handler is None else handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _interrupt(_: int, frame: FrameType | None) -> None:
    """Do what Ctrl-C does at this moment."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)


class uninterrupted:
    """Defer Ctrl-C until the block ends and raise it then; a second one is raised at once.

    The compiler does not survive an exception out of nowhere in all of its states, nor does a kernel that is being
    given a generator of random numbers or whose arrays are made. The compiler does where a kernel asks for another one
    that it calls, which may fail in any case: blocks may lie within each other, and the end of each is such a place.
    Python raises it in the main thread alone, so in others there is nothing to hold back.
    """

    __slots__ = ("_before", "_held")

    def __enter__(self) -> None:
        self._held: _Held | None = None
        before = _signal.getsignal(signal.SIGINT)
        if callable(before) and threading.current_thread() is threading.main_thread():
            self._before = before
            self._held = before if isinstance(before, _Held) else _Held(before)
            _signal.signal(signal.SIGINT, self._held)

    def __exit__(self, *_: object) -> None:
        held = self._held
        if held is not None:
            _signal.signal(signal.SIGINT, self._before)
            if held.pressed == 1:
                held.pressed = 0
                held.before(signal.SIGINT, None)


@contextmanager
def deferred_sigint() -> Iterator[list[int]]:
    """Append a first Ctrl-C to a list instead of raising it; a second one is raised.

    For loops that look at the list where it suits them. :func:`uninterrupted` does not do for these: what it holds back
    comes at the end of the next kernel.
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


@contextmanager
def sigint_masked() -> Iterator[None]:
    """Mask SIGINT for the threads and processes that this thread starts in the block, and for their children.

    This process ends them itself, and one that is about to start would print where it was. Where this is the main
    thread, Ctrl-C comes at the end of the block at the latest. Multiprocessing's pools need
    :func:`sigint_masked_for_pools`.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def sigint_masked_for_pools() -> Iterator[None]:
    """As :func:`sigint_masked`, for what starts processes through multiprocessing."""
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # its start, by the first process, would take Ctrl-C in again
    with sigint_masked():
        yield
