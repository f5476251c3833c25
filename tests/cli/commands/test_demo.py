"""The demonstration, as somebody sees it who has nothing but the package."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = [sys.executable, "-m", "transom", "demo", "--out", "shown"]


@pytest.mark.slow
def test_every_step_is_shown_and_what_is_finished_stays(tmp_path: Path) -> None:
    first = subprocess.run(DEMO, capture_output=True, text=True, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    for words in ("generate workload", "simulate", "snapshot", "solve", "check"):
        assert f"\n$ transom {words} " in first.stdout
    assert "saf-easy instead of fcfs-easy would have " in first.stdout
    (sound,) = re.findall(r"all sound: (.*)", first.stdout)
    assert sum(map(int, re.findall(r"(\d+) x (?:optimal|feasible) knapsack", sound))) == 8
    figures = sorted(path.name for path in (tmp_path / "shown/replays/figures").iterdir())
    assert {"timeline.png", "wait_by_size.png", "kiviat.png"} < set(figures)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "shown/replays").glob("*/jobs.parquet")}
    assert len(kept) == 4
    again = subprocess.run(DEMO, capture_output=True, text=True, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "generate workload" not in again.stdout
    assert kept == {path: path.stat().st_mtime_ns for path in kept}


def test_a_step_that_fails_ends_it(tmp_path: Path) -> None:
    (tmp_path / "shown").mkdir()
    (tmp_path / "shown/trace.swf.gz").write_text("no trace")
    done = subprocess.run(DEMO, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "$ transom snapshot" not in done.stdout
    (tmp_path / "file").write_text("")
    done = subprocess.run([*DEMO[:-1], "file/demo"], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
