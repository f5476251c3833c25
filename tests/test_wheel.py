"""The wheels of `make wheels`: any processor, read-only, without HOME and without the compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import polars
import pytest

ROOT = Path(__file__).parents[1]
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("wheel")]

COMMANDS = (
    "simulate instances/workloads/lublin_5000.swf.gz --policy fcfs-easy --policy fcfs-conservative --policy saf-easy",
    "solve instances/windows/lublin.jsonl --solver dp",
    "solve instances/windows/lublin.jsonl --solver sa --iterations 1000",
    "solve instances/tjap/small.jsonl --solver scas-dp",
    "solve instances/tjap/small.jsonl --problem dcas --solver dcas-exact",
    "solve instances/tjap/small.jsonl --problem free --solver free-exact",
    "solve instances/selection/replay.jsonl.gz --solver pareto-dp",
    "solve instances/csp/random.jsonl.gz --solver csp-dp",
)


VERSIONS = ("3.11", "3.12", "3.13")


def interpreter(version: str) -> str | None:
    """The interpreter of a version, if there is one here."""
    if sys.version.startswith(f"{version}."):
        return sys.executable
    found = shutil.which(f"python{version}")
    return found if found and subprocess.run([found, "-V"], capture_output=True).returncode == 0 else None


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels, the archive of sources and the functions that were built."""
    folder = tmp_path_factory.mktemp("made")
    pythons = " ".join(filter(None, map(interpreter, VERSIONS)))
    run = ["make", "wheels", f"DIST={folder}", f"KERNELS={folder / 'kernels'}", f"PYTHONS={pythons}"]
    subprocess.run(run, cwd=ROOT, check=True, env={**os.environ, "PYTHON": sys.executable})
    return folder


@pytest.fixture(scope="module", params=VERSIONS)
def installed(request: pytest.FixtureRequest, made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The interpreter of a fresh environment that holds the wheel and what it needs, the package read-only."""
    if (python := interpreter(request.param)) is None:
        pytest.skip(f"Python {request.param} is not there")
    place = tmp_path_factory.mktemp("installed")
    (wheel,) = made.glob(f"*-cp{request.param.replace('.', '')}-*.whl")
    subprocess.run([python, "-m", "venv", place], check=True)
    python = place / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", wheel]
    subprocess.run(pip, check=True)
    (package,) = place.glob("lib/*/site-packages/transom")
    for path in (*package.rglob("*"), package):
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield python
    for path in (package, *package.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    shutil.rmtree(place)


def run(python: Path | str, command: str, folder: Path, **environment: str) -> tuple[str, bool]:
    """What a command prints without its times, and whether it imports the compiler."""
    done = subprocess.run(
        [python, "-m", "transom", *command.replace("instances/", f"{ROOT}/instances/").split(), "--json"],
        env={"PATH": os.environ["PATH"], "PYTHONPROFILEIMPORTTIME": "1", **environment},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    compiler = re.search(r"\| +numba$", done.stderr, re.MULTILINE) is not None
    return re.sub(r'"(seconds|t|time|curve|cpu_seconds)": *[^,}\]]+', "", done.stdout), compiler


def as_sources(command: str, folder: Path) -> str:
    """What a command prints that runs from the sources."""
    return run(sys.executable, command, folder, PYTHONPATH=str(ROOT), HOME=os.environ.get("HOME", ""))[0]


def test_it_holds_no_instruction_that_older_processors_lack(made: Path) -> None:
    if shutil.which("objdump") is None:
        pytest.skip("objdump is not there")
    for path in (made / "kernels").rglob("*.so"):
        code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True)
        assert not re.search(r"%[yz]mm", code.stdout), path.name


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_need_no_compiler_and_answer_as_the_sources_do(installed: Path, command: str, tmp_path: Path) -> None:
    answer, compiler = run(installed, command, tmp_path, XDG_CACHE_HOME=str(tmp_path))
    assert not compiler
    assert not list(tmp_path.rglob("*.nbc"))
    assert answer
    assert answer == as_sources(command, tmp_path)


def test_jobs_start_when_they_start_from_the_sources(installed: Path, tmp_path: Path) -> None:
    replay = "simulate instances/workloads/lublin_5000.swf.gz --policy fcfs-easy --policy sjf-conservative --no-figures"
    run(installed, f"{replay} --out wheel", tmp_path, XDG_CACHE_HOME=str(tmp_path))
    as_sources(f"{replay} --out sources", tmp_path)
    for policy in ("fcfs-easy", "sjf-conservative"):
        wheel, sources = (
            polars.read_parquet(tmp_path / each / policy / "jobs.parquet") for each in ("wheel", "sources")
        )
        assert len(wheel) == 5000
        assert wheel.equals(sources)


def test_it_runs_where_there_is_no_home_and_nothing_can_be_written(installed: Path) -> None:
    done = subprocess.run(
        [installed, "-m", "transom", "solve", ROOT / "instances/windows/lublin.jsonl", "--solver", "dp"],
        env={"PATH": os.environ["PATH"], "HOME": "/proc/nowhere"},
        cwd="/",
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_sources_are_whole(made: Path) -> None:
    (archive,) = made.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    for name in (
        "Makefile",
        "constraints.txt",
        "pyproject.toml",
        "hatch_build.py",
        "run_step.py",
        "examples/own_policy.py",
    ):
        assert name in names
    assert any(name.startswith("benchmarks/") for name in names)
