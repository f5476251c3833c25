"""``transom train nsa-cost``."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ran
from tests.learned.repair.made import window
from transom import Stop, check, solve
from transom.io import write_documents
from transom.learned import checkpoints
from transom.learned.repair import nsa_cost_evaluation, nsa_cost_training

pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def few_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two windows instead of streams, to train on and to score on."""

    def windows(seed: int, name: str, streams: int) -> dict[str, list[Any]]:
        return {"paper": [window()], "authors": [window(wrap=False)]}

    for module in (nsa_cost_evaluation, nsa_cost_training):
        monkeypatch.setattr(module, "dynamic_windows", windows)


SMALL = ("--updates", 2, "--windows", 2, "--runs", 2, "--search-steps", 10, "--candidates", 8)


def test_it_leaves_a_checkpoint_that_solves(tmp_path: Path, transom: Callable[..., Ran]) -> None:
    done = transom("train", "nsa-cost", *SMALL, "--out", tmp_path)
    assert done.status == 0, done.err
    assert "nsa-cost before training, paper" in done.out
    path = tmp_path / "nsa-cost.safetensors"
    card = checkpoints.read_card(path)
    assert (card.seed, card.settings["candidates"], card.cluster) == (0, 8, {})
    assert card.command == (
        "transom train nsa-cost --seed 0 --updates 2 --windows 2 --runs 2 --search-steps 10 --candidates 8 "
        "--name nsa-cost --out DIR"
    )
    assert check(window(), solve(window(), f"nsa-cost:model={path},steps=30", Stop())) == []
    write_documents(tmp_path / "window.json", [window()])
    use = next(line for line in done.out.splitlines() if line.startswith("use it: transom "))
    words = [str(tmp_path / "window.json") if word == "FILE" else word for word in shlex.split(use)[3:]]
    assert transom(*words, "--iterations", 30).status == 0
    before = path.read_bytes()
    again = transom("train", "nsa-cost", *SMALL, "--out", tmp_path, "--json")
    assert "goes on after 2 updates" in again.err
    assert again.lines[0]["scores"] == card.scores
    assert path.read_bytes() == before


def test_other_settings_in_the_same_folder_are_an_error(tmp_path: Path, transom: Callable[..., Ran]) -> None:
    assert transom("train", "nsa-cost", *SMALL, "--out", tmp_path).status == 0
    done = transom("train", "nsa-cost", *SMALL, "--seed", 1, "--out", tmp_path)
    assert done.status == 2
    assert "was begun with seed 0, not 1" in done.err
