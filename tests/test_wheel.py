"""The wheel of `make wheel`: any processor, read-only, without HOME and without the compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Iterator
from pathlib import Path

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


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel, the archive of sources and the functions that were built."""
    folder = tmp_path_factory.mktemp("made")
    run = ["make", "wheel", f"DIST={folder}", f"KERNELS={folder / 'kernels'}"]
    subprocess.run(run, cwd=ROOT, check=True, env={**os.environ, "PYTHON": sys.executable})
    return folder


@pytest.fixture(scope="module")
def installed(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The interpreter of an environment that holds the wheel, read-only, beside the libraries of this one."""
    place = tmp_path_factory.mktemp("installed")
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    (wheel,) = made.glob("*.whl")
    found = subprocess.run(
        [python, "-c", "import site; print(site.getsitepackages()[0])"], capture_output=True, text=True
    )
    packages = Path(found.stdout.strip())
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", f"--target={packages}"]
    subprocess.run([*pip, wheel], check=True)
    theirs = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "theirs.pth").write_text("\n".join(theirs) + "\n")
    package = packages / "transom"
    for path in (*package.rglob("*"), package):
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield python
    for path in (package, *package.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def run(python: Path | str, command: str, cache: Path) -> tuple[str, bool]:
    """What a command prints without its times, and whether it imports the compiler."""
    done = subprocess.run(
        [python, "-m", "transom", *command.replace("instances/", f"{ROOT}/instances/").split(), "--json"],
        env={"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(cache), "PYTHONPROFILEIMPORTTIME": "1"},
        cwd=cache,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    compiler = re.search(r"\| +numba$", done.stderr, re.MULTILINE) is not None
    return re.sub(r'"(seconds|t|time|curve|cpu_seconds)": *[^,}\]]+', "", done.stdout), compiler


def test_it_holds_no_instruction_that_older_processors_lack(made: Path) -> None:
    if shutil.which("objdump") is None:
        pytest.skip("objdump is not there")
    for path in (made / "kernels").glob("*.so"):
        code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True)
        assert not re.search(r"%[yz]mm", code.stdout), path.name


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_need_no_compiler(installed: Path, command: str, tmp_path: Path) -> None:
    answer, compiler = run(installed, command, tmp_path)
    assert not compiler
    assert answer
    assert not list(tmp_path.rglob("*.nbc"))


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
    for name in ("Makefile", "constraints.txt", "pyproject.toml", "hatch_build.py", "examples/own_policy.py"):
        assert name in names
    assert any(name.startswith("benchmarks/") for name in names)
