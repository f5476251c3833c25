"""Files that a command cannot read: the error says which command can."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran
from transom.cli.output.recognised import recognised

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("simulate", "examples/sacct.txt", "--policy", "fcfs"),
            "accounting of Slurm: transom import slurm examples/",
        ),
        (("when", "examples/pbs.txt", "--job", "1"), "accounting of PBS: transom import pbs examples/pbs.txt"),
        (
            ("simulate", "examples/lsb.acct", "--policy", "fcfs"),
            "accounting of LSF: transom import lsf",
        ),
        (("solve", "examples/slurm_60.swf"), "a trace: transom simulate examples/slurm_60.swf replays it"),
        (("solve", "instances/workloads/lublin_5000.swf.gz"), "a trace: transom simulate"),
        (("when", "instances/windows/lublin.jsonl", "--job", "1"), "a document of Transom, for transom solve"),
        (("when", "examples/wfformat.json", "--job", "1"), "a workflow: transom solve"),
    ],
)
def test_the_right_command_is_named(
    words: tuple[str, ...], said: str, transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    ran = transom(*words)
    assert ran.status == 2
    assert f"; this is {said}" in ran.err
    assert ran.err.count("\n") == 1


def test_nothing_is_added_where_the_command_is_right(tmp_path: Path) -> None:
    trace = tmp_path / "bad.swf.gz"
    line = " ".join(["1"] * 18)
    trace.write_bytes(gzip.compress(f"; MaxNodes: 4\n{line}\n1 2 x\n".encode()))
    assert recognised(f"{trace}: line 3: expected 18 fields, got 3", ["simulate", str(trace)]) == ""
    assert recognised(f"{trace}: not JSON", ["solve", str(trace)]) != ""
    assert recognised(f"{tmp_path}/none: no such file", ["solve", f"{tmp_path}/none"]) == ""
    trace.write_bytes(trace.read_bytes()[:20])
    assert recognised(f"{trace}: not JSON", ["solve", str(trace)]) in (
        "",
        recognised(f"{trace}: x", ["solve", str(trace)]),
    )


def test_blank_lines_before_anything_else(tmp_path: Path) -> None:
    file, line = tmp_path / "trace.swf", " ".join(["-1"] * 18)
    for begins, found in (("\n \n; MaxNodes: 4\n\n", True), ("\n" * 2_000, True), ("\n" * 2_000 + "no trace: ", False)):
        file.write_text(begins + line)
        assert ("this is a trace" in recognised(f"{file}: not JSON", ["solve", str(file)])) is found
