"""Running a native solver so that the clock and Ctrl-C keep their say."""

from __future__ import annotations

import atexit
from collections import deque
from collections.abc import Callable
from importlib import import_module
from threading import Event, Lock, Thread
from typing import Any

from transom._system.signals import interrupt_behind
from transom.stop import Budget

_LOOK = 0.1  # how long Ctrl-C may have to wait [s]
_GRACE = 0.02  # how long a search may take to stop before it is left behind [s]
_left_behind: list[Event] = []
_clean_ups: list[Callable[[], Any]] = []
_kept: deque[tuple[Any, ...]] = deque(maxlen=4)  # so that memory does not grow where nobody settles


class Handover:
    """Takes solutions and bounds from the threads of a native solver, until it is closed.

    Exceptions must not cross native frames: they are kept, and raised by :meth:`close`.

    Parameters
    ----------
    budget : what they are handed over to.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._lock = Lock()
        self._open = True
        self._failures: list[Exception] = []

    def __call__(self, solution: Any = None, bound: float | None = None, iterations: int = 0) -> bool:
        """Hand over what is given; whether the search should go on."""
        with self._lock:
            if not self._open:
                return False
            try:
                self._budget.spend(iterations)
                if solution is not None:
                    self._budget.found(solution)
                if bound is not None:
                    self._budget.prove(bound)
                return not self._budget.done()
            except Exception as failure:
                self._failures.append(failure)
                return False

    def close(self) -> None:
        """Take nothing any more; raise what went wrong before."""
        with self._lock:
            self._open = False
        if self._failures:
            raise self._failures[0]


def import_back_end(module: str) -> None:
    """Import a module; an interrupt during its initialisation stays an interrupt.

    pybind11 turns whatever is raised then into an ``ImportError``.
    """
    try:
        import_module(module)
    except ImportError as error:
        if pressed := interrupt_behind(error):
            raise pressed from None
        raise


def run_native(search: Callable[[], Any], interrupt: Callable[[], Any], budget: Budget) -> None:
    """Run a native search that releases the interpreter lock, in a thread of its own.

    The calling thread waits, so that a ``KeyboardInterrupt`` reaches it at once. The search is asked to
    stop when the time is over; where it does not look at the clock for a while, it is left behind and
    ends by itself.

    Parameters
    ----------
    search : runs the search.
    interrupt : asks the search to stop; may be called from another thread and more than once.
    budget : when the time is over.

    Raises
    ------
    Exception : whatever ``search`` raised.
    """
    failures: list[BaseException] = []
    # Not Thread.join: interrupted, it takes a running thread for a stopped one (python/cpython#90882).
    ended = Event()

    def body() -> None:
        try:
            search()
        except BaseException as failure:
            failures.append(failure)
        finally:
            ended.set()

    Thread(target=body, name="transom-native", daemon=True).start()
    try:
        # In short waits: a handler of signals that another library installed may restart a long one, so
        # that Ctrl-C would come through at its end only (polars does this when it is imported).
        while not ended.wait(min(_LOOK, budget.seconds_left() + 0.001)) and budget.seconds_left() > 0:
            pass
    finally:
        if not ended.is_set():
            interrupt()
            if not ended.wait(_GRACE):
                _left_behind.append(ended)
    if failures:
        raise failures[0]


def defer_cleanup(clean_up: Callable[[], Any]) -> None:
    """Leave what takes long and matters to nobody to :func:`run_deferred`, outside any budget."""
    _clean_ups.append(clean_up)


def defer_destructors(*things: Any) -> None:
    """Keep things until :func:`run_deferred`, outside any budget: to free a model of many objects takes long at a
    stretch."""
    _kept.append(things)


def run_deferred(seconds: float = 2.0) -> None:
    """Wait for searches that were left behind, so that they do not disturb the next one, and clean up."""
    while _left_behind:
        ended = _left_behind.pop()
        if not ended.wait(seconds):
            _left_behind.append(ended)
            return  # what it still works on must not be cleaned up
    while _clean_ups:
        _clean_ups.pop()()
    _kept.clear()


atexit.register(run_deferred, 10.0)  # a process that ends with a search at work is aborted
