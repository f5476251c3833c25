from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ran
from tests.learned.dras.checkpoint_cases import compact, drawn
from transom.learned import checkpoints
from transom.learned.checkpoints import save
from transom.learned.dras.process.process import AgentConfig

Transom = Callable[..., Ran]


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of two checkpoints, in the place of the shipped ones."""
    for name, nodes in (("small", 16), ("other", 4360)):
        stated: dict[str, Any] = {
            "settings": {**AgentConfig(head=0)._asdict(), "agent": "ppo", "reward": "waiting", "batch": 8192},
            "trained_on": "ten jobs",
            "validated_on": "five other jobs",
            "command": f"transom train dras ten.swf --seed 7 --name {name} --hidden 8,6 --out DIR",
            "seed": 7,
            "decisions": 1000,
            "seconds": 1.5,
            "scores": {"mean wait s": 17000.25},
            "rules": {"fcfs-easy": {"mean_wait": 20000.5}},
        }
        made = compact(drawn(3), AgentConfig(head=0), nodes, name=name, **stated)
        save(tmp_path / f"{name}.safetensors", made)
    monkeypatch.setattr(checkpoints, "_SHIPPED", tmp_path)
    return tmp_path


def test_the_shipped_ones_are_listed(transom: Transom, models: Path) -> None:
    ran = transom("models")
    assert (ran.status, ran.err) == (0, "")
    rows = [line.split() for line in ran.out.split("─\n")[1].splitlines() if line]
    assert [row[0] for row in rows] == ["other", "small"]
    assert "nodes = 4360" in ran.out
    assert rows[1][-2:] == ["364", f"{(models / 'small.safetensors').stat().st_size / 1000:.1f}"]


def test_a_card_is_shown_by_name_and_by_path(transom: Transom, models: Path) -> None:
    by_name, by_path = transom("models", "small"), transom("models", models / "small.safetensors")
    assert by_name == by_path
    assert (by_name.status, by_name.err) == (0, "")
    told = dict(re.split(" {3,}", line.strip()) for line in by_name.out.split("─\n")[1].splitlines() if line)
    assert told["command"] == "transom train dras ten.swf --seed 7 --name small --hidden 8,6 --out DIR"
    assert told["cluster: nodes"] == "16"
    assert told["settings: keep"] == "1"
    assert told["validated_on"] == "five other jobs"
    assert told["rules: fcfs-easy"] == "mean_wait = 20,000.5"
    assert told["scores: mean wait s"] == "17,000.2"


def test_json_is_the_card_and_where_it_lies(transom: Transom, models: Path) -> None:
    (listed,) = transom("models", "--json").lines
    (card,) = transom("models", "small", "--json").lines
    path = models / "small.safetensors"
    assert card == {"path": str(path), **json.loads(path.with_suffix(".json").read_bytes())}
    assert [each["name"] for each in listed] == ["other", "small"]
    assert card in listed


def test_what_is_not_there_is_one_line(transom: Transom, models: Path) -> None:
    for source, message in (
        ("smal", "unknown checkpoint 'smal'; did you mean 'small'? Known: other, small, or a file PATH.safetensors"),
        ("none.safetensors", "none.safetensors: its card none.json cannot be read: No such file or directory"),
        (models / "small.json", f"unknown checkpoint '{models / 'small.json'}'"),
    ):
        ran = transom("models", source)
        assert (ran.status, ran.out) == (2, "")
        assert ran.err.startswith(f"error: {message}")
        assert ran.err.count("\n") == 1


def test_a_card_cannot_steer_the_terminal(transom: Transom, models: Path) -> None:
    path = models / "small.json"
    card = json.loads(path.read_bytes())
    odd = "a\x1b[2J\nb"
    changes: list[dict[str, Any]] = [
        {"name": odd}, {"settings": {"\x1b[1m": "\x07"}}, {odd: 1}, {"cluster": {odd: 3}}, {"schema": odd},
        {"component": odd}, {"scores": {odd: None}}, {"network": odd}, {"command": odd}, {"trained_on": odd},
        {"scores": {odd: 1.0}},
    ]  # fmt: skip
    for change in changes:
        path.write_text(json.dumps({**card, **change}))
        for arguments in ((), ("small",)):
            ran = transom("models", *arguments)
            assert (ran.status, ran.err.count("\n")) in ((0, 0), (2, 1)), change
            assert not set(ran.out + ran.err) & {"\x1b", "\x07"}


def test_nothing_shipped_is_an_empty_list(transom: Transom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "_SHIPPED", tmp_path / "none")
    assert transom("models").status == 0
    assert transom("models", "--json").lines == [[]]
