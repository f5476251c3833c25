from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from transom.cli.output import compiling, progress_lines
from transom.cli.output.compiling import CompilerNotice
from transom.cli.output.console import display, print_json, print_table, progress

ROWS = [["somewhere/very_long_name.jsonl:17", "128,375,960", "0.003"], ["b", "1", "12.000"]]


@pytest.mark.parametrize("columns", ["30", "80", "300"])
def test_no_width_breaks_a_number(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_table("A title", ["instance", "mean bounded slowdown", "gap [%]"], ROWS)
    shown, notes = capsys.readouterr()
    lines = shown.splitlines()
    assert "A title" in lines[0]
    parts = [[row[:2] for row in ROWS], [[row[0], row[2]] for row in ROWS]] if columns == "30" else [ROWS]
    bodies = [line.split() for line in lines if line.split()[:1] in ([ROWS[0][0]], [ROWS[1][0]])]
    assert bodies == [row for part in parts for row in part]
    assert ("mean bounded slowdown" in shown) == (columns != "30")
    assert ("--wide" in notes) == (columns == "30")


def test_a_wide_table_goes_on_below_itself(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    columns = ["policy", *(f"figure {i}" for i in range(12))]
    rows = [[name, *(f"{i * 1234.5:,.1f}" for i in range(12))] for name in ("fcfs-easy", "window:solver=dp")]
    print_table("Policies", columns, rows)
    stacked = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert max(map(len, stacked.splitlines())) <= 70
    for row in rows:
        assert [f for line in stacked.splitlines() if line.split()[:1] == row[:1] for f in line.split()[1:]] == row[1:]
    with display.anew():
        display.wide = True
        print_table("Policies", columns, rows)
        assert max(map(len, capsys.readouterr().out.splitlines())) > 100
    assert not display.wide


def test_plain_text_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("", ["name", "number"], [["a", "1"]])
    assert capsys.readouterr().out == "\n name   number\n ─────────────\n a           1\n\n"


def test_json_has_no_number_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": float("nan"), "b": [float("inf"), 1.5], "c": (2,)})
    assert capsys.readouterr().out == '{"a":null,"b":[null,1.5],"c":[2]}\n'


def test_where_no_bar_can_be_drawn_lines_say_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress_lines, "EVERY", 0.0)
    with progress() as bars:
        task, other = bars.add_task("jobs", total=20_000), bars.add_task("windows", total=None)
        bars.update(task, completed=1500)
        bars.advance(task, 500)
        bars.update(other, advance=3, description="periods")
    assert capsys.readouterr().err == "jobs: 1,500 of 20,000\njobs: 2,000 of 20,000\nperiods: 3\n"
    with progress(hidden=True) as bars:
        bars.advance(bars.add_task("jobs"))
    monkeypatch.setattr(progress_lines, "EVERY", 1e9)
    with progress() as bars:
        bars.advance(bars.add_task("jobs"))
    assert capsys.readouterr() == ("", "")


def test_the_compiler_is_reported_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    notice = CompilerNotice()
    notice.compiling()
    notice.compiling()
    monkeypatch.setattr(compiling, "EVERY", 0.0)
    notice.compiling()
    first, second = capsys.readouterr().err.splitlines()
    assert first == "compiling kernels for this machine, once: later commands load them"
    assert re.fullmatch(r"2 kernels compiled in \d+ s", second)


def test_a_command_tells_of_the_compiler_once(tmp_path: Path, root: Path) -> None:
    trace = root / "examples/slurm_60.swf"  # to read it takes few kernels
    run = [sys.executable, "-m", "transom", "import", "swf", str(trace), "-o", str(tmp_path / "read.swf")]
    for told in (["compiling kernels for this machine, once: later commands load them"], []):
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "NUMBA_CACHE_DIR": ""}
        done = subprocess.run(run, capture_output=True, text=True, check=True, env=environment)
        assert done.stderr.splitlines()[:1] == told


def test_kernels_that_cannot_be_kept_are_reported_of(tmp_path: Path, root: Path) -> None:
    (tmp_path / "file").touch()
    trace = root / "examples/slurm_60.swf"  # to read it takes few kernels
    run = [sys.executable, "-m", "transom", "import", "swf", str(trace), "-o", str(tmp_path / "read.swf")]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "file"), "NUMBA_CACHE_DIR": ""}
    done = subprocess.run(run, capture_output=True, text=True, check=True, env=environment)
    place = tmp_path / "file" / "transom" / "kernels"
    # On a slow machine a line says every half minute how many are compiled.
    assert [line for line in done.stderr.splitlines() if " kernels compiled in " not in line] == [
        f"kernels are compiled for this run alone ({place}: Not a directory); to keep them, set XDG_CACHE_HOME to a "
        "folder"
    ]
    assert subprocess.run([*run, "-q"], capture_output=True, check=True, env=environment).stderr == b""
