"""``transom train deepjs``."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.commands.test_train_learned_priority import MACHINES, TASKS
from tests.cli.conftest import Ran
from tests.killing import killed, tree
from transom.learned import checkpoints

SMALL = ("--chunks", 2, "--jobs", 6, "--steps", 2, "--episodes", 3, "--compare-every", 2)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.csv"
    path.write_text(TASKS)
    return path


def test_it_leaves_a_checkpoint_that_places(tmp_path: Path, trace: Path, transom: Callable[..., Ran]) -> None:
    out = tmp_path / "out"
    done = transom("train", "deepjs", trace, *MACHINES, *SMALL, "--seed", 3, "--out", out)
    assert done.status == 0, done.err
    assert "after chunk 1 above the bound: " in done.err
    path = out / "deepjs.safetensors"
    card = checkpoints.load(path, "deepjs").card
    assert card.command == (
        "transom train deepjs TASKS --machines count=2,cpu=8,memory=1 --jobs 6 --seed 3 --chunks 2 --steps 2 "
        "--episodes 3 --compare-every 2 --name deepjs --out DIR"
    )
    placed = 3 * sum(5 + job for job in range(6))
    assert (card.decisions, card.trained_on) == (2 * 3 * placed, "3 chunks of 6 jobs on 2 machines")
    assert set(card.rules) == {"longest-first", "random", "first-fit"}
    use = next(line for line in done.out.splitlines() if line.startswith("use it: transom "))
    words = [str(trace) if word == "TASKS" else word for word in shlex.split(use)[3:]]
    for more in ("", ",greedy=yes", ",greedy=no"):
        ran = transom(*words[:-1], words[-1] + more, "--json")
        assert ran.status == 0, ran.err
        assert len(ran.lines) == 4
        assert all(line["makespan"] >= line["bound"] for line in ran.lines)
    assert checkpoints.load(path, "deepjs").weights.keys() == {
        f"{part}-{n}" for part in ("layer", "bias") for n in range(1, 6)
    }
    before = path.read_bytes()
    again = transom("train", "deepjs", trace, *MACHINES, *SMALL, "--seed", 3, "--out", out, "--json")
    assert "goes on after 6 steps" in again.err
    assert again.lines[0]["scores"] == card.scores
    assert path.read_bytes() == before
    other = transom("train", "deepjs", trace, *MACHINES, *SMALL, "--out", out)
    assert (other.status, other.err.count("\n")) == (2, 1)
    assert "was begun with seed 3, not 0" in other.err


def test_killed_and_run_again_it_leaves_the_same_weights(
    tmp_path: Path, trace: Path, transom: Callable[..., Ran]
) -> None:
    command = ["train", "deepjs", trace, *MACHINES, *SMALL, "--save-every", 1, "--update", "text", "--out"]
    assert transom(*command, tmp_path / "whole").status == 0
    for number, point in ((4, "written"), (7, "writing")):
        assert killed(point, number, [*command, tmp_path / "parts"])
    assert transom(*command, tmp_path / "parts").status == 0
    whole, parts = tree(tmp_path / "whole"), tree(tmp_path / "parts")
    assert parts["deepjs.safetensors"] == whole["deepjs.safetensors"]


def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, trace: Path, transom: Callable[..., Ran]) -> None:
    for words, message in (
        (("--name", "a/b"), "--name a/b"),
        (("--learning-rate", "nan"), "--learning-rate: must be <= 1.0, got nan"),
        (("--start", 99), "there are 8"),
        (("--machines", "count=1,cpu=1,memory=1"), "fits on no machine"),
        (("--machines", "count=1,cpu=8"), "memory"),
    ):
        ran = transom("train", "deepjs", trace, *words, "--out", tmp_path / "out")
        assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1), ran.err
        assert message in ran.err
        assert not (tmp_path / "out").exists()


def test_other_checkpoints_are_refused(trace: Path, transom: Callable[..., Ran]) -> None:
    ran = transom("simulate", trace, *MACHINES, "--policy", "deepjs:model=nsa")
    assert (ran.status, ran.err.count("\n")) == (2, 1)
    assert "is part of 'repair', not of 'deepjs'" in ran.err
