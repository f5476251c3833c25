"""What ``-v`` prints on standard error: the steps of a command, and what all of it took; warnings without it, too."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from transom.cli.output.console import display, note


@contextmanager
def report_steps() -> Iterator[None]:
    """Print what the package logs meanwhile: warnings, and all if that is asked for by then."""
    logger, handler = logging.getLogger("transom"), _ToStandardError()
    level, began = logger.level, time.monotonic()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        if display.verbose and not display.quiet:
            _print_total(time.monotonic() - began)


class _ToStandardError(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if display.verbose:
            print(record.getMessage(), file=sys.stderr)
        elif record.levelno >= logging.WARNING:
            note(record.getMessage())


def _print_total(seconds: float) -> None:
    from resource import RUSAGE_SELF, getrusage

    times, used = os.times(), getrusage(RUSAGE_SELF)
    spent = times.user + times.system
    with_children = spent + times.children_user + times.children_system
    children = f", {with_children:.2f} s with child processes" if with_children - spent >= 0.01 else ""
    text = f"in all: {seconds:.2f} s; CPU time {spent:.2f} s{children}; memory {used.ru_maxrss / 1024:,.0f} MiB at most"
    print(text, file=sys.stderr)
