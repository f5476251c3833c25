"""``simulate --machines --out`` is killed or interrupted; the same command then completes what was left."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands.test_simulate_tasks import LINES, MACHINES
from tests.cli.conftest import Ran
from tests.killing import POINTS, kill_and_resume, killed, tree
from transom.simulation.placement import runs

Transom = Callable[..., Ran]

OPTIONS = [
    "--machines", MACHINES, "--chunks", 2, "--policy", "first-fit", "--policy", "random", "--no-figures",
]  # fmt: skip
"""Writes three files for each policy."""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.csv"
    path.write_text("\n".join([*LINES, ""]))
    return path


def whole(transom: Transom, *arguments: object) -> dict[str, bytes]:
    assert transom(*arguments).status == 0
    return tree(Path(str(arguments[-1])))


def test_a_killed_replay_goes_on(transom: Transom, trace: Path, tmp_path: Path) -> None:
    arguments: list[object] = ["simulate", trace, *OPTIONS, "--out"]
    expected = whole(transom, *arguments, tmp_path / "whole")
    assert len(expected) == 6
    assert kill_and_resume(transom, [*arguments, tmp_path / "out"], expected, "writing 5")


def test_what_was_finished_before_a_kill_is_not_computed_again(transom: Transom, trace: Path, tmp_path: Path) -> None:
    arguments = ["simulate", trace, *OPTIONS, "--out", tmp_path / "out"]
    assert killed("opening", 4, arguments)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "first-fit").iterdir()}
    assert len(before) == 3
    assert transom(*arguments).status == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.parametrize(
    ("at", "kept"),
    [
        ("appending 3", 1),
        *(pytest.param(*each, marks=pytest.mark.long) for each in (("appended 1", 0), ("appended 3", 2))),
    ],
)
def test_a_policy_that_is_killed_goes_on_after_its_finished_chunks(
    transom: Transom, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, kept: int
) -> None:
    options = ["--machines", MACHINES, "--chunks", 1, "--policy", "window:solver=first-fit", "--no-figures"]
    arguments: list[object] = ["simulate", trace, *options, "--out"]
    expected = whole(transom, *arguments, tmp_path / "whole")
    point, number = at.split()
    assert killed(point, int(number), [*arguments, tmp_path / "out"])
    chunks, replay = [], runs.simulate_tasks

    def watched(*given: Any, **named: Any) -> Any:
        chunks.append(named["seed"])
        return replay(*given, **named)

    monkeypatch.setattr(runs, "simulate_tasks", watched)
    assert whole(transom, *arguments, tmp_path / "out") == expected
    assert chunks == list(range(kept, 3))


def test_finished_chunks_of_another_run_or_damaged_ones_are_replayed(
    transom: Transom, trace: Path, tmp_path: Path
) -> None:
    options = ["--machines", MACHINES, "--chunks", 1, "--policy", "random", "--no-figures"]
    arguments: list[object] = ["simulate", trace, *options, "--seed", 1, "--out"]
    expected = whole(transom, *arguments, tmp_path / "whole")
    for damage in ("seed", "altered", "no JSON"):
        out = tmp_path / damage
        seed = 0 if damage == "seed" else 1
        assert killed("appended", 3, ["simulate", trace, *options, "--seed", seed, "--out", out])
        journal = out / "random" / ".chunks.jsonl"
        lines = journal.read_bytes().splitlines(keepends=True)
        if damage == "altered":
            lines[1] = lines[1].replace(b'"batches":[[', b'"batches":[[7')
        elif damage == "no JSON":
            lines[1] = b"[" + lines[1]
        journal.write_bytes(b"".join(lines))
        assert whole(transom, *arguments, out) == expected


def test_ctrl_c_keeps_finished_policies(
    transom: Transom, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["simulate", trace, *OPTIONS, "--out"]
    expected = whole(transom, *arguments, tmp_path / "whole")
    replay = runs.simulate_tasks

    def interrupted(*given: Any, **named: Any) -> Any:
        if named["label"] == "random" and named["seed"] == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return replay(*given, **named)

    monkeypatch.setattr(runs, "simulate_tasks", interrupted)
    ran = transom(*arguments, tmp_path / "out")
    assert (ran.status, ran.err.splitlines()[-1]) == (130, "interrupted: what was finished is kept")
    finished = {name for name in expected if name.startswith("first-fit")}
    assert set(tree(tmp_path / "out")) == {*finished, "random/.chunks.jsonl"}
    monkeypatch.undo()
    assert whole(transom, *arguments, tmp_path / "out") == expected


@pytest.mark.long
@pytest.mark.parametrize("point", POINTS)
def test_a_replay_killed_at_any_write_goes_on(transom: Transom, trace: Path, tmp_path: Path, point: str) -> None:
    options = [each for each in OPTIONS if each != "--no-figures"] + ["--policy", "window:solver=placement-exact"]
    arguments: list[object] = ["simulate", trace, *options, "--format", "svg", "--out"]
    expected = whole(transom, *arguments, tmp_path / "whole")
    number = 1
    while kill_and_resume(transom, [*arguments, tmp_path / "out"], expected, f"{point} {number}"):
        number += 1
    assert number - 1 >= len(expected), "every file was killed at"


@pytest.mark.long
@pytest.mark.parametrize("point", [*POINTS, "removing"])
def test_recordings_of_two_replays_never_mix(transom: Transom, trace: Path, tmp_path: Path, point: str) -> None:
    command: list[object] = ["simulate", trace, *OPTIONS, "--seed"]
    wanted = {seed: whole(transom, *command, seed, "--out", tmp_path / f"whole{seed}") for seed in (0, 1)}
    assert wanted[0] != wanted[1]
    number = 1
    while True:
        out = tmp_path / f"out{number}"
        assert transom(*command, 0, "--out", out).status == 0
        if not killed(point, number, [*command, 1, "--out", out]):
            break
        for seed in (0, 1):
            assert whole(transom, *command, seed, "--out", out) == wanted[seed], f"{point} {number}: seed {seed}"
        number += 1
    assert number > 1
