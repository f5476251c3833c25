"""``transom train nsa``."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from transom.cli import run
from transom.learned import checkpoints

FEW = ["train", "nsa", "--network", "fcn-1", "--decisions", "512", "--envs", "16", "--streams", "1", "--passes", "1"]


def test_it_trains_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="needs the extra 'learned'")
    assert run([*FEW, "--name", "mine", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "42,724 weights after 512 decisions" in printed
    assert "cheapest" in printed
    model = tmp_path / "mine.safetensors"
    assert printed.endswith(f"use it: transom solve FILE --problem dcas --solver nsa:model={model}\n")
    checkpoint = checkpoints.load(
        tmp_path / "mine.safetensors",
        "repair",
        ("repair-5x100/1",),
    )
    card = checkpoint.card
    assert card.command == (
        "transom train nsa --network fcn-1 --seed 0 --envs 16 --passes 1 --decisions 512 --streams 1 --name mine "
        "--out DIR"
    )
    assert card.settings["largest"] == 40
    assert sorted(checkpoint.weights) == [f"actor.{i}.{part}" for i in (0, 2, 4) for part in ("bias", "weight")]
    assert card.scores["cheapest"] < card.scores["uniform"]
    with (tmp_path / "curve.csv").open(newline="") as file:
        assert [row["decisions"] for row in csv.DictReader(file)] == ["512"]
    # Again: there is nothing left to do, and the weights stay as they are.
    assert run([*FEW, "--name", "mine", "--out", str(tmp_path), "--json"]) == 0
    assert "goes on after 512 decisions" in capsys.readouterr().err
    assert checkpoints.read_card(tmp_path / "mine.safetensors").weights == card.weights
    # A longer one is another training.
    longer = ["1024" if word == "512" else word for word in FEW]
    assert run([*longer, "--name", "mine", "--out", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert "was begun with decisions 512, not 1024, and the learning rate fell to its least at that of 512;" in told
    assert "take decisions 512, or another folder to begin anew" in told


def test_the_card_of_every_setting_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="needs the extra 'learned'")
    more = ["--rows", "4", "--cluster", "paper", "--reward", "reciprocal", "--discount", "0.9", "--minibatch", "64"]
    assert run([*FEW, *more, "--out", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    card = checkpoints.load(told["checkpoint"], "repair", ("repair-4x100/1",)).card
    assert (told["decisions"], told["updates"], told["weights"]) == (card.decisions, 1, card.weights)
    assert card.validated_on == "4,000 destroyed windows of 10 other streams on the paper cluster"
    assert all(option in f"{card.command} " for option in (" --rows 4 ", " --discount 0.9 ", " --minibatch 64 "))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rows", "3"], "rows must be one of 5, 4, got 3"),
        (["--learning-rate", "0"], "rate must be > 0"),
        (["--device", "nowhere"], "--device nowhere"),
        (["--name", "training"], "is not 'training', the state's"),
        (["--name", "../elsewhere"], "a checkpoint's name has letters"),
    ],
)
def test_bad_options(words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="needs the extra 'learned'")
    assert run([*FEW, "--out", str(tmp_path / "new"), *words]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1


def test_a_file_in_place_of_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="needs the extra 'learned'")
    (tmp_path / "file").write_text("")
    assert run([*FEW, "--out", str(tmp_path / "file")]) == 2
    assert str(tmp_path / "file") in capsys.readouterr().err


def test_what_to_install_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "find_spec", lambda name: None if name == "torch" else object())
    assert run([*FEW, "--out", str(tmp_path)]) == 2
    assert "needs torch: pip install 'transom[learned]'" in capsys.readouterr().err
