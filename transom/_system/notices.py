"""Listeners to the compilation of functions, which may take minutes: the command line adds itself.

How long steps take goes to the logger ``transom``, at level INFO.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

compiling: list[Callable[[], None]] = []
"""Called whenever a function is about to be compiled for this machine."""

not_kept: list[Callable[[str], None]] = []
"""Called when compiled functions cannot be kept for later runs, with the reason."""

_log = logging.getLogger("transom")
_WORTH = 0.01  # of a step, to be reported [s]


def log(text: str) -> None:
    """Tell whoever listens to the logger."""
    _log.info(text)


@contextmanager
def timed(step: str) -> Iterator[None]:
    """Tell how long a step took, unless that is next to nothing."""
    began = perf_counter()
    yield
    if (took := perf_counter() - began) >= _WORTH:
        _log.info("%s: %.2f s", step, took)
