"""``transom generate dataset``: killed and run again, the same files come out."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran

Transom = Callable[..., Ran]

PLAN = """
format = "transom/dataset/1"
name = "large windows"
licence = "CC0-1.0"
shard = 5

[[sets]]
recipe = "tjap"
count = COUNT
parameters = { family = "fragmented" }

[[sets]]
name = "repeated"
recipe = "selection"
count = 20
parameters = { family = "ties", jobs = 1, number = 1, largest = 2 }
"""


def plan(tmp_path: Path, count: int) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN.replace("COUNT", str(count)))
    return path


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and ".shards" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


BROKEN_OFF = """
import os, sys
from transom.cli import main
from transom.generate.dataset import workers
ending, after = int(sys.argv.pop(1)), int(sys.argv.pop(1))
whole = workers.on_this_machine
def broken_off(*given):
    for number, shard in enumerate(whole(*given)):
        if number == after:
            os.killpg(0, ending)  # as a terminal does: the workers get it too
        yield shard
workers.on_this_machine = broken_off
main()
"""


def broken_off(ending: signal.Signals, after: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A command that gets a signal, with all its workers, when so many shards are finished and one more is."""
    command = [sys.executable, "-c", BROKEN_OFF, str(int(ending)), str(after), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, start_new_session=True, check=False)


def records(folder: Path) -> dict[str, int]:
    """When the record of each shard was written."""
    return {path.name: path.stat().st_mtime_ns for path in (folder / ".shards").glob("[0-9]*.json")}


@pytest.mark.parametrize(
    ("ending", "after"), [(signal.SIGKILL, (3,)), pytest.param(signal.SIGINT, (2, 6), marks=pytest.mark.long)]
)
def test_broken_off_and_run_again(
    transom: Transom, tmp_path: Path, ending: signal.Signals, after: tuple[int, ...]
) -> None:
    toml = plan(tmp_path, 120)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert transom("generate", "dataset", toml, "--out", whole).status == 0
    for finished in after:
        done = broken_off(ending, finished, "generate", "dataset", toml, "--out", broken, "--workers", 2)
        assert done.returncode == (-9 if ending is signal.SIGKILL else 130), done.stderr
        assert "Traceback" not in done.stderr
        assert not (broken / "dataset.json").exists()
    before = records(broken)
    assert transom("generate", "dataset", toml, "--out", broken, "--json").status == 0
    assert content(broken) == content(whole)
    now = records(broken)
    assert len(now) == 28
    # Where repeated instances are left out, a record is written once more; the others stay.
    assert {name: when for name, when in now.items() if name in before and name < "000024"} == {
        name: when for name, when in before.items() if name < "000024"
    }
    assert transom("generate", "dataset", "--check", broken).status == 0


def test_what_is_printed(transom: Transom, tmp_path: Path) -> None:
    toml, out = plan(tmp_path, 10), tmp_path / "out"
    ran = transom("generate", "dataset", toml, "--out", out)
    assert ran.status == 0
    assert ran.out.splitlines()[0].startswith(f"{out}: ")
    (line,) = transom("generate", "dataset", toml, "--out", out, "--json").lines
    assert line["sets"]["repeated"]["removed"] >= 18
    assert line["instances"] == 10 + sum(line["sets"]["repeated"]["splits"].values())
    again = transom("generate", "dataset", toml, "--out", out, "--force", "--json")
    assert again.lines == [line]
    checked = transom("generate", "dataset", "--check", out)
    assert checked.status == 0
    assert checked.out.endswith("all as stated\n")
    files = sorted(out.glob("*/*.gz"))
    files[0].write_bytes(files[0].read_bytes()[:-5])
    checked = transom("generate", "dataset", "--check", out, "--json")
    assert checked.status == 1
    assert checked.lines[0]["files"] == len(files)
    assert any(str(files[0]) in each for each in checked.lines[0]["wrong"])
    # Made again, it is whole.
    assert transom("generate", "dataset", toml, "--out", out).status == 0
    assert transom("generate", "dataset", "--check", out).status == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "expected PLAN and --out DIR, or --check DIR"),
        (["plan.toml"], "expected PLAN and --out DIR"),
        (["none.toml", "--out", "d"], "none.toml: cannot be read: No such file"),
        (["plan.toml", "--out", "plan.toml"], "plan.toml: is a file, not a folder"),
        (["plan.toml", "--out", "d", "--on", "moon"], "moon"),
        (["plan.toml", "--out", "d", "--workers", "0"], "--workers"),
        (["plan.toml", "--check", "d"], "PLAN does not go with --check"),
        (["--check", "d"], "d/dataset.json: cannot be read: No such file"),
    ],
)
def test_bad_input(
    transom: Transom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    plan(tmp_path, 5)
    monkeypatch.chdir(tmp_path)
    ran = transom("generate", "dataset", *arguments)
    assert ran.status == 2
    assert says in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not (tmp_path / "d").exists()


def test_a_folder_that_cannot_be_written(transom: Transom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    toml = plan(tmp_path, 30)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
    try:
        ran = transom("generate", "dataset", toml, "--out", tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert ran.status == 2
    told, error = ran.err.splitlines()
    assert told.endswith("out: 50 instances or epochs in 10 shards")
    assert "File too large" in error
    assert content(tmp_path / "out") == {}
    assert transom("generate", "dataset", toml, "--out", tmp_path / "out").status == 0
    assert transom("generate", "dataset", "--check", tmp_path / "out").status == 0


def test_on_a_cluster_the_files_are_the_same(transom: Transom, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    toml = plan(tmp_path, 20)
    assert transom("generate", "dataset", toml, "--out", tmp_path / "here").status == 0
    ran = transom("generate", "dataset", toml, "--out", tmp_path / "there", "--on", "dask", "--workers", 2, "--json")
    assert ran.status == 0, ran.err
    assert content(tmp_path / "there") == content(tmp_path / "here")
