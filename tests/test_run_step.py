"""The steps of the Makefile, as logs see them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

STEP = [sys.executable, Path(__file__).parents[1] / "run_step.py", "Trying"]


def test_a_step_is_announced_and_ended_and_hides_what_it_prints() -> None:
    done = subprocess.run([*STEP, sys.executable, "-c", "print('detail')"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"Trying \.\.\.\nTrying: \d+ s\n", done.stdout)


def test_a_step_that_fails_shows_what_it_printed_and_passes_its_status_on() -> None:
    program = "import sys; print('detail'); sys.exit('reason')"
    done = subprocess.run([*STEP, sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert "detail\n" in done.stderr
    assert "reason\n" in done.stderr
    assert done.stderr.endswith(": status 1\n")
