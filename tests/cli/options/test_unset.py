"""Options that nobody gives are not checked, and those that are given as before."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Ran


def test_what_nobody_gives_imports_no_library_of_types() -> None:
    code = "import sys; from transom.cli import run; run(['solvers', '--json']); print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_what_is_given_is_checked(transom: Callable[..., Ran], root: Path) -> None:
    packs = root / "instances" / "windows" / "lublin.jsonl"
    for option, value in (("--seed", "x"), ("--seconds", "soon"), ("--threads", "0"), ("--iterations", "1.5")):
        ran = transom("solve", packs, "--solver", "greedy", option, value)
        assert (ran.status, ran.out) == (2, "")
        assert option in ran.err
        assert value in ran.err
