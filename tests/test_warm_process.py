"""Programs in forks of a warm process are as programs in interpreters of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.warm_process import WarmProcess

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with WarmProcess() as process:
        yield lambda folder, *command, **further: process.run(command, folder, {**os.environ, **further})


def test_status_and_output_are_those_of_an_interpreter(run: Run, tmp_path: Path) -> None:
    for source in ("print(1)", "import sys; print(2); sys.exit(3)", "raise SystemExit('no')", "1 / 0", "print("):
        warm = run(tmp_path, "python", "-c", source)
        plain = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
        assert (warm.returncode, warm.stdout) == (plain.returncode, plain.stdout)
        assert warm.stderr.splitlines()[-1:] == plain.stderr.splitlines()[-1:]


def test_nothing_of_one_program_is_left_for_the_next(run: Run, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("import os; print(os.getcwd(), os.environ['WORD'])")
    state = "import builtins, os, beside; builtins.left = 1; os.environ['WORD'] = 'other'; os.chdir('/')"
    first = run(tmp_path, "python", "-c", state, WORD="first")
    assert (first.returncode, first.stdout) == (0, f"{tmp_path} first\n")
    second = run(tmp_path, "python", "-c", "import beside; left", WORD="second")
    assert (second.returncode, second.stdout) == (1, f"{tmp_path} second\n")
    assert second.stderr.endswith("NameError: name 'left' is not defined\n")


def test_our_own_modules_are_imported_by_the_program(run: Run, tmp_path: Path) -> None:
    assert run(tmp_path, "python", "-c", "import sys; print('transom' in sys.modules)").stdout == "False\n"
    shown = run(tmp_path, "python", "-c", "import transom; print(transom.plot)")
    plain = subprocess.run(
        [sys.executable, "-c", "import transom; print(transom.plot)"], capture_output=True, text=True
    )
    assert (shown.returncode, shown.stdout) == (plain.returncode, plain.stdout)


def test_a_packages_path_is_seen_by_the_program_and_by_what_it_starts(run: Run, tmp_path: Path) -> None:
    (tmp_path / "named.py").write_text("print(__name__, flush=True)")
    source = "import named, subprocess, sys; subprocess.run([sys.executable, '-m', 'named'])"
    assert run(Path("/"), "python", "-c", source, PYTHONPATH=str(tmp_path)).stdout == "named\n__main__\n"
    assert run(Path("/"), "python", "-m", "named", PYTHONPATH=str(tmp_path)).stdout == "__main__\n"


def test_commands_are_those_of_the_program(run: Run, tmp_path: Path) -> None:
    done = run(tmp_path, "transom", "solve", "nowhere.json")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "error: nowhere.json: no such file\n")


def test_programs_have_interpreters_of_their_own_where_a_library_starts_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "threaded.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with WarmProcess(("threaded",)) as process:
        assert not process.forks
        environment = dict(os.environ)
        assert process.run(["python", "-c", "print(5)"], tmp_path, environment).stdout == "5\n"
        done = process.run(["transom", "solve", "nowhere.json"], tmp_path, environment)
        assert (done.returncode, done.stderr) == (2, "error: nowhere.json: no such file\n")
