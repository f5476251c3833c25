"""Dates of a trace on the way through commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Ran
from transom.traces import read_swf, write_swf


def log(tmp_path: Path, header: str = "") -> Path:
    lines = [f"{k + 1} {100 + 604_800 * k} 5 10 4 -1 -1 4 10 -1 1 1 1 1 1 1 -1 -1" for k in range(3)]
    path = tmp_path / "log.swf"
    path.write_text("\n".join(["; MaxProcs: 4", header or "; Note: none", *lines, ""]))
    return path


def test_dates_survive_import_and_writing(tmp_path: Path, transom: Callable[..., Ran]) -> None:
    path = log(tmp_path, header="; UnixStartTime: 1027839845")
    for name in ("log.parquet", "again.swf.gz"):
        transom("import", "swf", path, "-o", tmp_path / name)
        assert read_swf(tmp_path / name).origin.epoch == 1_027_839_845
    workload = read_swf(path)
    write_swf(workload, tmp_path / "written.swf")
    assert read_swf(tmp_path / "written.swf").origin.epoch == 1_027_839_845


def test_weeks_are_dates(tmp_path: Path, transom: Callable[..., Ran]) -> None:
    path = log(tmp_path, header="; UnixStartTime: 1027839845")
    shown = transom("simulate", path, "--policy", "fcfs", "--by", "week", "--out", tmp_path / "out").out
    assert "week from" in shown
    assert "2002-08-04" in shown
    path.write_text(path.read_text().replace("UnixStartTime", "Unknown"))
    shown = transom("simulate", path, "--policy", "fcfs", "--by", "week", "--out", tmp_path / "out").out
    assert "2002" not in shown
    assert "week from" not in shown
