"""``transom train dras``."""

from __future__ import annotations

import csv
import json
import shlex
import signal
from pathlib import Path

import numpy as np
import pytest

from transom.cli import run
from transom.generate import generate_lublin
from transom.learned import checkpoints
from transom.learned.dras.training import Training
from transom.traces import write_swf

FEW = ["--decisions", "600", "--batch", "200", "--every", "2", "--hidden", "8,8", "--laps", "1", "--window", "20"]
ENDED = ["--agent", "ppo:minibatch=100", *FEW]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("trace") / "small.swf.gz"
    write_swf(generate_lublin(200, 64, np.random.default_rng(1), load=1.0), path)
    return str(path)


@pytest.fixture(autouse=True)
def with_torch() -> None:
    pytest.importorskip("torch", reason="needs the extra 'learned'")


def test_it_trains_and_what_comes_of_it_schedules(
    trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(["train", "dras", trace, *ENDED, "--reselect", "--seed", "3", "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["decisions"] == 600
    card = checkpoints.read_card(out / "dras-pg.safetensors")
    assert card.weights == told["weights"]
    assert card.command == (
        "transom train dras small.swf.gz --agent ppo:minibatch=100 --decisions 600 --seed 3 --laps 1 --reselect "
        "--window 20 --hidden 8,8 --batch 200 --every 2 --out DIR"
    )
    assert (card.settings["head"], card.settings["keep"], card.settings["window"]) == (0, 0, 20)
    assert card.cluster == {"nodes": 64}
    with (out / "curve.csv").open(newline="") as file:
        assert [row["decisions"] for row in csv.DictReader(file)] == ["0", "400", "600"]
    assert list((out / "logs").iterdir())
    use = shlex.split(told["use"])
    assert use == ["transom", "simulate", trace, "--policy", f"dras-pg:model={out / 'dras-pg.safetensors'}"]
    assert run([*use[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["policies"][0]["metrics"]["jobs"] == 200


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["--agent", "dql"], "dras-dql"),
        (["--agent", "pg", "--instances", "10", "--decisions", "60"], "dras-pg"),
        (["--levels", "1", "--reward", "capability"], "decima-pg"),
        (["--phases", "sampled=1,real=1,synthetic=1", "--phase-jobs", "60"], "dras-pg"),
        (["--decisions", "0"], "dras-pg"),
        (["--minutes", "0.00001"], "dras-pg"),
        (["--months", "1", "--reservation", "head", "--reward", "slowdown"], "dras-pg"),
    ],
)
def test_every_way_of_training(trace: str, tmp_path: Path, words: list[str], name: str) -> None:
    assert run(["train", "dras", trace, *FEW, *words, "--out", str(tmp_path)]) == 0
    card = checkpoints.load(tmp_path / f"{name}.safetensors", "dras").card
    assert card.name == name
    assert [path.name for path in tmp_path.glob("*.safetensors")] == [f"{name}.safetensors"]
    if "--decisions" in words and "0" in words:
        assert card.steps == 0
    if "--minutes" in words:
        assert card.steps == 200


def test_ctrl_c_and_the_same_command_again(
    trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    words = ["train", "dras", trace, "--agent", "ppo:epochs=3", *FEW[2:], "--out", str(out), "--decisions"]
    step = Training.step

    def pressed(training: Training, share: float) -> dict[str, float]:
        told = step(training, share)
        if training.updates == 7:  # of 20, and not one at which snapshots are compared
            signal.raise_signal(signal.SIGINT)
        return told

    with monkeypatch.context() as patch:
        patch.setattr(Training, "step", pressed)
        assert run([*words, "4000"]) == 130
    told = capsys.readouterr().err
    assert "interrupted after 1,400 decisions; the same command goes on from there" in told
    assert run([*words, "4000"]) == 0
    assert run([*words[:-3], "--out", str(tmp_path / "whole"), "--decisions", "4000"]) == 0
    cards = [checkpoints.read_card(folder / "dras-pg.safetensors") for folder in (out, tmp_path / "whole")]
    assert cards[0].weights == cards[1].weights
    assert cards[0].scores == cards[1].scores


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--agent", "a2c"], "unknown agent 'a2c'"),
        (["--reward", "waiting:growth=-1"], "growth must be finite and >= 0"),
        (["--loads", "2-1"], "--loads: expected 0 < A <= B"),
        (["--loads", "x"], "--loads: expected two numbers"),
        (["--hidden", "8"], "--hidden: expected two numbers"),
        (["--window", "1001"], "'--window': Input should be less than or equal to 1000"),
        (["--months", "a-b"], "--months: expected months"),
        (["--months", "99"], "no job was submitted in months 99 to 99"),
        (["--minutes", "0"], "--minutes must be > 0"),
        (["--phases", "made-up"], "unknown phase 'made-up'"),
        (["--device", "nowhere"], "--device nowhere"),
        (["--paper-size"], "no critic"),
    ],
)
def test_bad_options(
    trace: str, words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", "dras", trace, *FEW, *words, "--out", str(tmp_path / "new")]) == 2
    told = capsys.readouterr().err.splitlines()
    assert message in told[-1]
    assert not (tmp_path / "new").exists()


def test_folders_that_are_none_or_of_another_training(
    trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    assert run(["train", "dras", trace, *FEW, "--out", str(file)]) == 2
    assert "is a file, not a folder" in capsys.readouterr().err
    out = ["--out", str(tmp_path / "out"), "--decisions", "0"]
    assert run(["train", "dras", trace, *FEW, *out]) == 0
    assert run(["train", "dras", trace, *FEW, *out, "--seed", "1"]) == 2
    assert f"{tmp_path / 'out'}: this training has seed 0, not 1; choose another folder" in capsys.readouterr().err


def test_without_the_extra(trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "find_spec", lambda name: None)
        assert run(["train", "dras", trace, "--out", str(tmp_path)]) == 2
    assert "pip install 'transom[learned]'" in capsys.readouterr().err
