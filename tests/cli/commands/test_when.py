"""`transom when` on traces and on snapshots."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from transom.cli import run

TRACE = "examples/slurm_60.swf"


def test_the_queue_of_a_snapshot_is_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snapshot = tmp_path / "queue.jsonl"
    assert run(["snapshot", TRACE, "--every", "60", "--minimum", "7", "--limit", "1", "--out", str(snapshot)]) == 0
    capsys.readouterr()
    assert run(["when", str(snapshot), "--history", TRACE, "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(told) == 7
    assert list(told[0]) == ["job", "now", "plan", "p10", "p50", "p90", "because"]
    assert all(each["now"] <= each["p10"] <= each["p50"] <= each["p90"] for each in told)
    assert run(["when", str(snapshot), "--history", TRACE, "--json", "--job", str(told[3]["job"])]) == 0
    assert json.loads(capsys.readouterr().out) == told[3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([TRACE], "say with --job which job to ask about"),
        ([TRACE, "--job", "7777"], "there is no job 7777"),
        ([TRACE, "--job", "5", "--policy", "optimization"], "is not a priority rule"),
        ([TRACE, "--history", TRACE, "--at", "5"], "--at does not go with --history"),
        ([TRACE, "--history", TRACE], TRACE),
    ],
)
def test_what_cannot_be_answered_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["when", *arguments]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]
