"""Tell whoever waits for the compiler that it is for once."""

from __future__ import annotations

import sys
import time

EVERY = 30.0
"""Seconds between two lines that tell of long work."""


class CompilerNotice:
    """A line on standard error when the first kernel is compiled, and another one every half minute."""

    def __init__(self) -> None:
        self._kernels = 0
        self._begun = self._told = 0.0

    def __call__(self) -> None:
        """A kernel is about to be compiled."""
        now = time.monotonic()
        if not self._kernels:
            self._begun = self._told = now
            print("compiling kernels for this machine, once: later commands load them", file=sys.stderr)
        elif now - self._told >= EVERY:
            self._told = now
            print(f"{self._kernels} kernels compiled in {now - self._begun:.0f} s", file=sys.stderr)
        self._kernels += 1
