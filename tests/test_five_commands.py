"""The tutorial's way from accounting to a page: what it says first is true of the synthetic site."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path

import pytest

from benchmarks.five_commands import PAGE, commands
from transom.cli import run


@pytest.mark.parametrize(("options", "machine"), [((), "by partition"), (("--merge-partitions",), "merged")])
def test_the_headline_is_true_within_its_error(
    options: tuple[str, ...],
    machine: str,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    five = [shlex.split(command)[1:] for command, _ in commands(PAGE.read_text("utf-8"))]
    assert [words[0] for words in five] == ["import", "calibrate", "simulate", "when", "report"]
    (tmp_path / "instances").symlink_to(root / "instances")
    monkeypatch.chdir(tmp_path)
    assert run(five[0]) == 0
    capsys.readouterr()
    assert run([*five[2], "--json", *options]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["machine"] == machine
    answer = told["answer"]
    waits = tomllib.loads((root / "instances/site/truth.toml").read_text())["waits"]
    assert answer["today"]["logged_wait"] == pytest.approx(waits["logged"]["all"]["mean_wait"], abs=0.06)
    before, after = (waits[policy]["all"]["mean_wait"] for policy in ("fcfs-easy", "saf-easy"))
    change = answer["policies"][0]["mean_wait"]["relative"]
    assert change == pytest.approx((after - before) / before, abs=answer["today"]["error"])
