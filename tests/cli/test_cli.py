"""The command line before and around its commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ran


class Pressed(MetaPathFinder):
    """Ctrl-C falls into the import of the commands."""

    def __init__(self, turned: bool) -> None:
        self.turned = turned

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        if fullname == "transom.cli.app":
            try:
                raise KeyboardInterrupt
            except KeyboardInterrupt as pressed:
                if self.turned:
                    raise TypeError("a library in C made something else of it") from pressed
                raise


@pytest.mark.parametrize("turned", [False, True])
def test_ctrl_c_while_commands_are_imported(
    turned: bool, transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "transom.cli.app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Pressed(turned), *sys.meta_path])
    ran = transom("solvers")
    assert (ran.status, ran.out, ran.err) == (130, "", "interrupted: what was finished is kept\n")


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of the shell in which ``transom`` is the command."""
    defined = f'transom() {{ {sys.executable} -m transom "$@"; }}; {line}'
    given = {**os.environ, **environment}
    return subprocess.run(["bash", "-c", defined], capture_output=True, text=True, check=False, env=given)


def reading(root: Path, folder: Path) -> str:
    """A command that compiles few kernels."""
    return f"transom import swf {root}/examples/slurm_60.swf -o {folder}/read.swf --json"


@pytest.mark.parametrize("command", [[], ["generate"], ["-h"]])
def test_help_that_nobody_reads(command: list[str]) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "w") as pipe:
        run = [sys.executable, "-m", "transom", *command]
        done = subprocess.run(run, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (141, "")


def test_help_on_a_full_disk() -> None:
    done = shell("transom > /dev/full")
    assert (done.returncode, done.stderr) == (2, "error: [Errno 28] No space left on device\n")


def test_standard_output_is_closed() -> None:
    done = shell("transom --version >&-")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_standard_error_is_closed(tmp_path: Path, root: Path) -> None:
    cold = shell(f"{reading(root, tmp_path)} 2>&-", XDG_CACHE_HOME=str(tmp_path), NUMBA_CACHE_DIR="")
    assert (cold.returncode, json.loads(cold.stdout)["jobs"]) == (0, 60)
    wrong = shell("transom nope 2>&-")
    assert (wrong.returncode, wrong.stdout) == (2, "")


@pytest.mark.parametrize("asked", [{}, {"COMP_WORDS": "transom s"}, {"COMP_WORDS": "transom s", "COMP_CWORD": "x"}])
def test_completion_never_shows_a_traceback(asked: dict[str, str]) -> None:
    done = shell("transom", _TRANSOM_COMPLETE="complete_bash", **asked)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_kernels_that_no_disk_has_room_for_do_their_work(tmp_path: Path, root: Path) -> None:
    read = reading(root, tmp_path)
    told = "compiling kernels for this machine, once: later commands load them"
    alone = f"kernels are compiled for this run alone ({tmp_path}/transom/kernels: File too large); to keep them,"
    # No file may be longer than a few kB; then any.
    for line, notes in ((f"ulimit -f 4; {read}", [told, f"{alone} set XDG_CACHE_HOME to a folder"]), (read, [told])):
        # Python would leave bytecode cut off.
        done = shell(line, XDG_CACHE_HOME=str(tmp_path), NUMBA_CACHE_DIR="", PYTHONDONTWRITEBYTECODE="1")
        assert (done.returncode, done.stderr.splitlines()) == (0, notes)
        assert json.loads(done.stdout)["jobs"] == 60
