"""Tell whoever waits for the compiler that it is for once, or that it is for this run alone."""

from __future__ import annotations

import time

from transom._system import notices
from transom.cli.output.console import note
from transom.cli.output.progress_lines import EVERY


class CompilerNotice:
    """A line on standard error when the first kernel is compiled, and another one every half minute."""

    def __init__(self) -> None:
        self._kernels = 0
        self._begun = self._reported = 0.0
        self._refused = False

    def listen(self) -> None:
        """Report what is compiled from now on."""
        notices.compiling.append(self.compiling)
        notices.not_kept.append(self.not_kept)

    def compiling(self) -> None:
        """A kernel is about to be compiled."""
        now = time.monotonic()
        if not self._kernels:
            self._begun = self._reported = now
            if not self._refused:
                note("compiling kernels for this machine, once: later commands load them")
        elif now - self._reported >= EVERY:
            self._reported = now
            note(f"{self._kernels} kernels compiled in {now - self._begun:.0f} s")
        self._kernels += 1

    def not_kept(self, reason: str) -> None:
        """Kernels cannot be kept for later commands."""
        if not self._refused:
            self._refused = True
            note(f"kernels are compiled for this run alone ({reason}); to keep them, set XDG_CACHE_HOME to a folder")
