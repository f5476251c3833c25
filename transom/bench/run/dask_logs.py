"""Log records of Dask: kept off the terminal, and shown where they explain an error."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

_SOURCES = ("distributed", "dask_jobqueue", "tornado", "asyncio", "bokeh")


class Overheard(logging.Handler):
    """The last errors that Dask reported, instead of lines on the terminal."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._lines: deque[str] = deque(maxlen=3)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line; where it comes with an exception, the exception says more."""
        fault = record.exc_info[1] if record.exc_info else None
        text = record.getMessage() if fault is None else f"{type(fault).__name__}: {fault}"
        self._lines.append(" ".join(text.split()))

    def last(self) -> str | None:
        """The last error, on one line; None if there was none."""
        return self._lines[-1] if self._lines else None


@contextmanager
def overheard() -> Iterator[Overheard]:
    """Collect log records of Dask and its parts instead of printing them.

    Dask writes through handlers of its own, set when it is imported; they come back at the end.
    """
    import distributed  # noqa: F401  (sets its handlers)

    kept = Overheard()
    before: list[tuple[logging.Logger, list[logging.Handler], bool]] = []
    for name in {*logging.root.manager.loggerDict, *_SOURCES}:
        logger = logging.getLogger(name)
        if name.partition(".")[0] in _SOURCES and (logger.handlers or name in _SOURCES):
            before.append((logger, logger.handlers, logger.propagate))
            logger.handlers, logger.propagate = [kept], False
    try:
        yield kept
    finally:
        for logger, handlers, propagate in before:
            logger.handlers, logger.propagate = handlers, propagate
