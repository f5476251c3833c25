"""Who is told that functions are compiled, which may take minutes: the command line adds itself."""

from __future__ import annotations

from collections.abc import Callable

compiling: list[Callable[[], None]] = []
"""Called whenever a function is about to be compiled for this machine."""
