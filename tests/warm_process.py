"""Programs that start at once: each is a fork of a process that has imported the libraries already.

What a program sees is what it would see in a new interpreter, but for modules of other packages that are imported
before it begins. ``WarmProcess(COMMANDS)`` has imported what most commands import, and them as well.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module, invalidate_caches
from importlib.abc import InspectLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

LIBRARIES = (
    "numpy",
    "numba",
    "msgspec",
    "typer",
    "rich.table",
    "matplotlib.figure",
    "matplotlib.backends.backend_agg",
    "ortools.sat.python.cp_model",
    "psutil",
)

COMMANDS = (
    "transom.cli.app",
    "transom.cli.output.help",
    "transom.cli.commands.simulate",
    "transom.cli.commands.solve",
    "transom.cli.commands.bench_run",
)


class WarmProcess:
    """A process that runs programs, each in a fork of its own, one after another.

    Where a library starts threads as it is imported, which are not there after a fork, each has an interpreter.
    """

    def __init__(self, modules: Sequence[str] = ()) -> None:
        pipe = subprocess.PIPE
        # Or OpenBLAS starts as many threads as there are cores.
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", __name__, *LIBRARIES, *modules]
        root = Path(__file__).resolve().parents[1]
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment, cwd=root)
        assert self._process.stdout is not None
        self.forks = self._process.stdout.readline() == "1\n"  # threads

    def __enter__(self) -> WarmProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # it ends with its input

    def run(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run ``transom ...``, ``python -m MODULE ...`` or ``python -c SOURCE``."""
        if not self.forks:
            start = ["-m", "transom"] if command[0] == "transom" else []
            return subprocess.run(
                [sys.executable, *start, *command[1:]],
                cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900,
            )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as made:
            out, err = Path(made, "out"), Path(made, "err")
            request = [list(command), str(folder), dict(environment), str(out), str(err)]
            print(json.dumps(request), file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
            assert answer, "the warm process has ended"
            return subprocess.CompletedProcess(command, int(answer), out.read_text(), err.read_text())


def main(modules: Sequence[str]) -> None:
    """Run what standard input asks for."""
    for each in modules:
        import_module(each)
    print(len(os.listdir("/proc/self/task")), flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os._exit(_carry_out(*json.loads(line)))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _carry_out(command: list[str], folder: str, environment: dict[str, str], out: str, err: str) -> int:
    for number, path in ((0, os.devnull), (1, out), (2, err)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.path[:0] = ["", *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    invalidate_caches()
    try:
        _run(command)
        status: Any = 0
    except SystemExit as leaving:
        status = leaving.code
        if isinstance(status, str):
            print(status, file=sys.stderr)
            status = 1
    except BaseException:
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return int(status or 0)


def _run(command: list[str]) -> None:
    program, *words = command
    if program == "transom":
        sys.argv = command
        import_module("transom.cli").main()
    elif words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        option, source = words
        assert option == "-c", command
        sys.argv = ["-c"]
        spec = spec_from_loader("__main__", _Source(source))
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        module.__spec__ = None  # as in an interpreter: other processes do not import it
        sys.modules["__main__"] = module
        spec.loader.exec_module(module)


class _Source(InspectLoader):
    """Loads a text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def get_source(self, fullname: str) -> str:
        return self._text


if __name__ == "__main__":
    main(sys.argv[1:])
