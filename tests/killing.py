"""Run a command in this process and have it killed at a write: ``python -m tests.killing POINT K ARGUMENTS...``.

POINT is where in the K-th file that is written whole (from 1) the process ends, without a chance to clean up:

opening : before the temporary file is there.
writing : within the write, after :data:`BYTES` bytes of it; the system ends the process there.
written : all bytes are written, the file does not have its name yet.
renamed : it has its name.
removing : before the K-th file is removed of which the record is replaced.
appending, appended : half of the K-th line of a journal is written, or all of it.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

POINTS = ("opening", "writing", "written", "renamed")

BYTES = 60
"""After so many bytes a write is cut."""


def killed(point: str, number: int, arguments: Sequence[object]) -> bool:
    """Whether a ``transom`` command was killed there; False if it came to its end before, with status 0."""
    command = [sys.executable, "-m", "tests.killing", point, str(number), *map(str, arguments)]
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=600)
    if done.returncode == 0:
        return False
    assert done.returncode == (-signal.SIGXFSZ if point == "writing" else -signal.SIGKILL), done.stderr
    return True


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def kill_and_resume(transom: Callable[..., Any], arguments: list[object], expected: dict[str, bytes], at: str) -> bool:
    """False if the command came to its end before that; else what is there is whole, and the next run completes it.

    Parameters
    ----------
    arguments : of the command, the folder that it writes last.
    expected : what an undisturbed run leaves there.
    at : point and number.
    """
    point, number = at.split()
    out = Path(str(arguments[-1]))
    shutil.rmtree(out, ignore_errors=True)
    if not killed(point, int(number), arguments):
        return False
    for name, content in tree(out).items():
        # repeats.json grows from repetition to repetition: each time it is there whole.
        if not Path(name).name.startswith(".") and not name.endswith("repeats.json"):
            assert content == expected[name], f"{at}: {name}"
    assert transom(*arguments).status == 0
    assert tree(out) == expected, at
    return True


class Watched:
    """A module some of whose functions are others."""

    def __init__(self, module: ModuleType, **instead: Any) -> None:
        self._module = module
        self.__dict__.update(instead)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def main() -> None:
    """Wrap what writes files, then run the command."""
    import tempfile

    from transom._system import files, journal
    from transom.cli import main as transom

    point, number = sys.argv[1], int(sys.argv[2])
    sys.argv[:] = ["transom", *sys.argv[3:]]
    left = {each: number if each == point else 0 for each in (*POINTS, "removing", "appending", "appended")}

    def due(here: str) -> bool:
        left[here] -= 1
        return left[here] == 0

    def end(here: str) -> None:
        if due(here):
            os.kill(os.getpid(), signal.SIGKILL)

    def mkstemp(*arguments: Any, **named: Any) -> Any:
        end("opening")
        made = tempfile.mkstemp(*arguments, **named)
        if due("writing"):
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (BYTES, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        return made

    def replace(*arguments: Any) -> None:
        end("written")
        os.replace(*arguments)
        end("renamed")

    remove = Path.unlink

    def unlink(path: Path, missing_ok: bool = False) -> None:
        if path.exists() and path.suffix != ".part":
            end("removing")
        remove(path, missing_ok)

    def append(file: int, data: Any) -> int:
        if due("appending"):
            os.write(file, data[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        written = os.write(file, data)
        end("appended")
        return written

    journal.os = Watched(os, write=append)
    files.tempfile = Watched(tempfile, mkstemp=mkstemp)
    files.os = Watched(os, replace=replace)
    Path.unlink = unlink
    transom()


if __name__ == "__main__":
    main()
