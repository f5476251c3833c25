"""``transom train dras``."""

from __future__ import annotations

import csv
import json
import shlex
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transom.cli import run
from transom.generate import generate_lublin
from transom.learned import checkpoints
from transom.learned.dras.training.jobsets import compared
from transom.learned.dras.training.training import Training
from transom.learned.training.state import STATE
from transom.simulation import simulate
from transom.simulation.output.metrics import summary
from transom.traces import Workload, cut, read_swf, write_swf

SMALL = {
    "batch": 200,
    "validate_every": 2,
    "hidden": "[8,8]",
    "laps": 1,
    "window": 20,
    "against": "[fcfs-easy,sjf-easy]",
}


def few(*words: str, decisions: int = 600, **settings: object) -> list[str]:
    """Options of a small training."""
    text = ",".join(f"{name}={value}" for name, value in {**SMALL, **settings}.items())
    return ["--decisions", str(decisions), *words, "--settings", text]


ENDED = ("--agent", "ppo:minibatch=100")


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
    assert run(["train", "dras", trace, *few(*ENDED, keep="no"), "--seed", "3", "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["decisions"] == 600
    card = checkpoints.read_card(out / "dras-pg.safetensors")
    assert card.weights == told["weights"]
    assert card.command == (
        "transom train dras small.swf.gz --agent ppo:minibatch=100 --decisions 600 --seed 3 --settings "
        "'batch=200,validate_every=2,hidden=[8,8],against=[fcfs-easy,sjf-easy],laps=1,keep=no,window=20' --out DIR"
    )
    assert (card.settings["head"], card.settings["keep"], card.settings["window"]) == (0, 0, 20)
    assert card.cluster == {"nodes": 64}
    with (out / "curve.csv").open(newline="") as file:
        assert [row["decisions"] for row in csv.DictReader(file)] == ["0", "400", "600"]
    assert list((out / "tensorboard").iterdir())
    use = shlex.split(told["command"])
    assert use == ["transom", "simulate", trace, "--policy", f"dras-pg:model={out / 'dras-pg.safetensors'}"]
    assert run([*use[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["policies"][0]["metrics"]["jobs"] == 200


@pytest.mark.parametrize(
    ("words", "settings", "name"),
    [
        (["--agent", "dql"], {"discount": 0.5}, "dras-dql"),
        (["--agent", "pg"], {"instances": 10, "decisions": 60}, "dras-pg"),
        ([], {"levels": 1, "reward": "capability"}, "decima-pg"),
        ([], {"phases": "[sampled=1,real=1,synthetic=1]", "phase_jobs": 60}, "dras-pg"),
        ([], {"decisions": 0}, "dras-pg"),
        (["--agent", "pg"], {"paper_size": "yes", "hidden": "[12,6]", "decisions": 40, "batch": 20}, "dras-pg"),
        ([], {"minutes": 0.00001}, "dras-pg"),
        (["--months", "1"], {"overlap": "yes", "reservation": "head", "reward": "slowdown", "name": "mine"}, "mine"),
    ],
)
def test_every_way_of_training(
    trace: str, tmp_path: Path, words: list[str], settings: dict[str, Any], name: str
) -> None:
    assert run(["train", "dras", trace, *few(*words, **settings), "--out", str(tmp_path)]) == 0
    card = checkpoints.load(tmp_path / f"{name}.safetensors", "dras").card
    assert card.name == name
    assert {path.name for path in tmp_path.glob("*.safetensors")} == {f"{name}.safetensors", STATE}
    if settings.get("decisions") == 0:
        assert card.decisions == 0
    if "discount" in settings:
        assert card.settings["agent"] == "dql:discount=0.5"
    if "minutes" in settings:
        assert card.decisions == 200


def test_a_file_of_settings_is_what_options_and_texts_are(
    trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "few.toml"
    file.write_text(
        "batch = 200\nvalidate_every = 2\nhidden = [8, 8]\nlaps = 1\nwindow = 20\nkeep = false\n"
        'against = ["fcfs-easy", "sjf-easy"]\ndecisions = 9\nseed = 3\n'
    )
    words = ["train", "dras", trace, *ENDED, "--settings", str(file), "--decisions", "400"]
    assert run([*words, "--out", str(tmp_path / "file"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["decisions"] == 400  # the option counts
    card = checkpoints.read_card(tmp_path / "file" / "dras-pg.safetensors")
    again = shlex.split(card.command.replace("DIR", str(tmp_path / "text")).replace("small.swf.gz", trace))
    assert run(again[1:]) == 0
    assert checkpoints.read_card(tmp_path / "text" / "dras-pg.safetensors").weights == card.weights
    for line, message in (
        ("laps = 1.5", "laps: expected a whole number, got 1.5"),
        ("keep = 3", "keep: expected true or false, got 3"),
        ("reservation = 'tail'", "reservation: expected selected or head, got 'tail'"),
        ("reserve = 1", "unknown setting 'reserve'"),
        ("laps", "not TOML"),
    ):
        file.write_text(line)
        assert run([*words, "--out", str(tmp_path / "none")]) == 2
        assert f"{file}: {message}" in capsys.readouterr().err


def test_ctrl_c_and_the_same_command_again(
    trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    words = ["train", "dras", trace, "--agent", "ppo:passes=3", *few()[2:], "--out", str(out), "--decisions"]
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


FIGURES = ("mean_wait", "mean_bounded_slowdown", "max_wait")


def validation_of(trace: str) -> list[Workload]:
    """What the commands of these tests compare snapshots on by default: the last quarter of the jobs."""
    workload = read_swf(trace)
    return compared(cut(workload, 150), (0.9, 1.25), 1)


def test_rules_are_reported_with_every_look_and_stand_on_the_card(
    trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", "dras", trace, *few(*ENDED), "--out", str(tmp_path)]) == 0
    printed, said = capsys.readouterr()
    judged = {}
    for spec in ("fcfs-easy", "sjf-easy"):
        schedules = [simulate(each, spec) for each in validation_of(trace)]
        told = [summary(schedule) for schedule in schedules]
        judged[spec] = {name: float(np.mean([each[name] for each in told])) for name in FIGURES[:2]}
        judged[spec]["max_wait"] = max(each["max_wait"] for each in told)
    card = checkpoints.read_card(tmp_path / "dras-pg.safetensors")
    assert card.rules == judged
    assert card.trained_on.startswith("small-jobs-1-150: ")
    assert card.validated_on.startswith("small-jobs-151-200: ")
    assert card.validated_on.endswith("3 episodes of 50 jobs; trained on as well: nothing of it")
    beside = ", ".join(f"{spec} {figures['mean_wait']:,.0f}" for spec, figures in judged.items())
    looks = [line for line in said.splitlines() if line.startswith("after ")]
    with (tmp_path / "curve.csv").open(newline="") as file:
        curve = list(csv.DictReader(file))
    assert len(looks) == len(curve) == 3
    for look, row in zip(looks, curve, strict=True):
        assert look.startswith(f"after {int(row['decisions']):,} decisions: mean wait [s] ")
        assert look.endswith(f"mean wait [s] of {beside}")
        ahead = [spec for spec in judged if judged[spec]["mean_wait"] < float(row["mean_wait"]) - 0.01]
        assert sorted(row["behind"].split()) == sorted(ahead)
    for spec in judged:
        assert f"\n {spec} " in printed


@pytest.mark.parametrize(("against", "behind"), [("sjf-easy", True), ("ljf", False)])
def test_an_agent_that_is_behind_is_not_recommended(
    trace: str, tmp_path: Path, against: str, behind: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    # Untrained, it is between the two.
    words = ["train", "dras", trace, *few(decisions=0, against=against), "--out"]
    assert run([*words, str(tmp_path / "text")]) == 0
    printed = capsys.readouterr().out.splitlines()
    model = tmp_path / "text" / "dras-pg.safetensors"
    mine = f"transom simulate {trace} --policy dras-pg:model={model}"
    if behind:
        assert printed[-3:] == [
            "dras-pg is behind sjf-easy in the mean wait and is not recommended.",
            f"to replay it all the same: {mine}",
            f"better: transom simulate {trace} --policy sjf-easy",
        ]
        assert not any(line.startswith("use it") for line in printed)
        assert "mean wait [s]: behind sjf-easy" in printed
    else:
        assert printed[-1] == f"use it: {mine}"
        assert "mean wait [s]: ahead of all 1 policies" in printed
    assert run([*words, str(tmp_path / "json"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["recommended"] is not behind
    assert told["behind"] == ([against] if behind else [])
    assert told["command"].endswith(f"dras-pg:model={tmp_path / 'json' / 'dras-pg.safetensors'}")
    assert told["use"] == (f"transom simulate {trace} --policy {against}" if behind else told["command"])
    assert run([*shlex.split(told["use"])[1:], "--json"]) == 0


def test_months_that_are_shared_are_said(trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "dras", trace, *few("--months", "1", "--validation", "1", decisions=0, overlap="yes")]
    assert run([*words, "--out", str(tmp_path)]) == 0
    card = checkpoints.read_card(tmp_path / "dras-pg.safetensors")
    assert card.validated_on.endswith("; trained on as well: month 1")
    assert "Month 1 of the validation: trained on, too." in capsys.readouterr().out
    assert "overlap=yes" in card.command


@pytest.mark.parametrize(
    ("words", "settings", "message"),
    [
        (["--agent", "a2c"], {}, "unknown agent 'a2c'"),
        (["--agent", "ppo:gamma=0.9"], {}, "--agent ppo:gamma=0.9: gamma is stated by discount in --settings"),
        (["--agent", "dql:learning_rate=1"], {}, "learning_rate is stated by learning_rate in --settings"),
        (["--agent", "ppo:epochs=2"], {}, "--agent ppo:epochs=2: epochs is now passes"),
        ([], {"learning_rate": "nan"}, "train dras: learning_rate must be finite, got nan"),
        ([], {"learning_rate": 2}, "ppo: learning_rate must be from 0 to 1, got 2"),
        ([], {"reward": "[waiting:growth=-1]"}, "waiting: growth must be >= 0"),
        ([], {"loads": "2-1"}, "loads: expected 0 < A <= B"),
        ([], {"loads": "x"}, "loads: expected two numbers"),
        ([], {"hidden": "8"}, "hidden: expected two numbers"),
        ([], {"window": 1001}, "train dras: window must be from 1 to 1000, got 1001"),
        ([], {"batch": 1}, "training: batch must be > 1, got 1"),
        ([], {"batch": "many"}, "--settings: batch: expected a whole number, got 'many'"),
        ([], {"width": 3}, "--settings: unknown setting 'width'"),
        (["--months", "a-b"], {}, "--months: expected months"),
        (["--months", "99"], {}, "no job was submitted in months 99 to 99"),
        (["--months", "1"], {}, "--months 1: small: no job was submitted in months 2 to 2, to compare snapshots on"),
        (["--validation", "1"], {}, "--validation 1: no month is left before it to train on; state --months"),
        (["--months", "1", "--validation", "1"], {}, "would compare snapshots on month 1 of the training, --months 1"),
        ([], {"against": "fcfs-esay"}, "unknown policy 'fcfs-esay'; did you mean 'fcfs-easy'?"),
        ([], {"minutes": 0}, "train dras: minutes must be > 0"),
        ([], {"phases": "made-up"}, "unknown phase 'made-up'"),
        ([], {"device": "nowhere"}, "--device nowhere"),
        ([], {"paper_size": "yes"}, "no critic"),
    ],
)
def test_bad_options(
    trace: str,
    words: list[str],
    settings: dict[str, Any],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["train", "dras", trace, *few(*words, **settings), "--out", str(tmp_path / "new")]) == 2
    told = capsys.readouterr().err.splitlines()
    assert message in told[-1]
    assert not (tmp_path / "new").exists()


def test_folders_that_are_none_or_of_another_training(
    trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    assert run(["train", "dras", trace, *few(), "--out", str(file)]) == 2
    assert "is a file, not a folder" in capsys.readouterr().err
    out = ["--out", str(tmp_path / "out"), "--decisions", "0"]
    assert run(["train", "dras", trace, *few(), *out]) == 0
    assert run(["train", "dras", trace, *few(), *out, "--seed", "1"]) == 2
    begun = tmp_path / "out" / "training.safetensors"
    assert f"{begun}: was begun with seed 0, not 1; take seed 0, or another folder" in capsys.readouterr().err


def test_without_the_extra(trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "find_spec", lambda name: None)
        assert run(["train", "dras", trace, "--out", str(tmp_path)]) == 2
    assert "pip install 'transom[learned]'" in capsys.readouterr().err
