"""Cards against what contradicts them: every field changed, removed or of another type is refused in one line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from transom.cli import run
from transom.errors import DocumentError
from transom.learned import checkpoints
from transom.learned.checkpoints import Card, load
from transom.learned.repair.networks import NETWORKS, shapes

SHIPPED = checkpoints.shipped_names()

Path_ = tuple[str | int, ...]

OTHERS: tuple[Any, ...] = (
    None, True, 0, 1, -1, 1.5, -0.5, 2**63, 1e300, "", "x", "a\nb\x1b[2J", [], [0], ["x"], {}, {"a": 1}, [[[]]],
)  # fmt: skip
"""What a field may be instead."""

WHOLE = pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)], ids=["part", "whole"])


@pytest.fixture(params=SHIPPED)
def copy(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a shipped checkpoint."""
    path = tmp_path / f"{request.param}.safetensors"
    for ending in (".safetensors", ".json"):
        path.with_suffix(ending).write_bytes(checkpoints.find(request.param).with_suffix(ending).read_bytes())
    return path


def places(thing: Any, at: Path_ = ()) -> Iterator[Path_]:
    """Where something stands in a document, from the outside in."""
    if at:
        yield at
    inside = thing.items() if isinstance(thing, dict) else enumerate(thing) if isinstance(thing, list) else ()
    for key, value in inside:
        yield from places(value, (*at, key))


def value_at(card: Any, at: Path_) -> Any:
    for key in at:
        card = card[key]
    return card


def changed(card: Any, at: Path_, value: Any) -> Any:
    """The document with another value at a place."""
    copied = json.loads(json.dumps(card))
    value_at(copied, at[:-1])[at[-1]] = value
    return copied


def without(card: Any, at: Path_) -> Any:
    copied = json.loads(json.dumps(card))
    del value_at(copied, at[:-1])[at[-1]]
    return copied


def alike(value: Any) -> Iterator[Any]:
    """Other values of the same type, near by."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1, 2 * value + 2)
    elif isinstance(value, float):
        yield from (value + 1, value * (1 + 1e-12) + 1e-12, -value - 1)
    elif isinstance(value, str):
        yield from (value + "0", value[1:], value[:-1] + chr(ord(value[-1:] or "a") ^ 1))
    elif isinstance(value, list):
        yield from (value[1:], [*value, *value[:1]], value[::-1])
    elif isinstance(value, dict):
        yield {**value, "one more": 1}


def variants(card: dict[str, Any], whole: bool) -> Iterator[tuple[Path_, dict[str, Any]]]:
    """Every field of a card removed, and changed into what is like it and into all that is not, or a fifth of that."""
    for number, at in enumerate(places(card)):
        yield at, without(card, at)
        value = value_at(card, at)
        for other in (*(OTHERS if whole else OTHERS[number % 5 :: 5]), *alike(value)):
            if json.dumps(other) != json.dumps(value):
                yield at, changed(card, at, other)


def refused(path: Path, card: Any) -> str | None:
    """Why a checkpoint with this card is refused; None if it is not."""
    path.with_suffix(".json").write_text(json.dumps(card))
    try:
        load(path, json.loads(checkpoints.find(path.stem).with_suffix(".json").read_bytes())["component"])
    except DocumentError as error:
        return str(error)
    return None


@WHOLE
def test_every_change_of_a_card_is_refused_and_names_the_field(copy: Path, whole: bool) -> None:
    card = json.loads(copy.with_suffix(".json").read_bytes())
    assert refused(copy, card) is None
    tried = 0
    for at, other in variants(card, whole):
        same = _decoded(other)
        if same is not None and same == _decoded(card):
            continue  # 1 for 1.0
        told = refused(copy, other)
        assert told is not None, (at, value_at(other, at[:1]) if at[0] in other else "removed")
        assert str(copy.with_suffix("")) in told
        assert told.isprintable(), ascii(told)
        # What nothing else contradicts is found by the digest of the card.
        assert re.search(rf"\b({at[0]}|digest)\b", told), (at, told)
        tried += 1
    assert tried > (500 if whole else 150)


def _decoded(card: Any) -> Card | None:
    try:
        return msgspec.json.decode(json.dumps(card).encode(), type=Card)
    except msgspec.DecodeError:
        return None


FREE = {
    "trained_on", "validated_on", "command", "seconds", "scores", "rules", "sources", "commit", "name",
}  # fmt: skip
"""What a card may say otherwise without another decision: words, and how it came about."""

DECIDING = {
    "dras": {("settings", "longest"), ("cluster", "nodes"), ("decisions",)},
    "repair": {("decisions",)},
    "priority": {("decisions",)},
    "deepjs": {("decisions",), ("settings", "greedy")},
}
"""What neither weights nor code contradict, so that only the digest protects it."""


@WHOLE
def test_a_card_that_was_made_to_fit_is_refused_where_weights_or_code_contradict_it(copy: Path, whole: bool) -> None:
    """As above with a digest that is made anew: as if a program had written another fact."""
    card = json.loads(copy.with_suffix(".json").read_bytes())
    silent = set()
    for at, other in variants(card, whole):
        made = _decoded(other)
        if made is None or made == _decoded(card) or at[0] == "digest":
            continue
        told = refused(copy, json.loads(msgspec.json.encode(checkpoints.sealed(made))))
        if told is None:
            silent.add(at)
        else:
            assert told.isprintable(), ascii(told)
            assert "digest does not fit" not in told
    for at in silent:
        assert at[0] in FREE or at in DECIDING[card["component"]], at


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("dras-pg", {"parameters": 5026}, "parameters is 5026, and the weights have 5025"),
        ("dras-pg", {"weights": "0" * 32}, "these are not the weights of which"),
        ("dras-pg", {"network": "scorer-32x16"}, "network is 'scorer-32x16', and its command says 'scorer-32x32'"),
        ("dras-pg", {"schema": "dras-compact/2"}, "schema must be 'dras-compact/1' or 'dras-paper/1', got"),
        ("dras-pg", {"settings.keep": 1}, "settings.keep is 1, and its command says 0"),
        ("dras-pg", {"settings.window": 40}, "settings.window is 40, and its command says 50"),
        ("dras-pg", {"settings.agent": "dql"}, "settings.agent is 'dql', and its command says 'ppo'"),
        ("dras-pg", {"settings.head": True}, "settings.head must be a whole number from 0 to 1, got True"),
        ("dras-pg", {"observations.features": ["size"]}, "observations is"),
        ("dras-pg", {"component": "repair"}, "schema must be 'repair-5x100/1' or"),
        ("decima-pg", {"settings.levels": 2}, "settings.levels is 2, and its command says 1"),
        ("dras-pg-growing", {"settings.reward": "waiting"}, "settings.reward is 'waiting', and its command says"),
        ("dras-dql", {"seed": 2}, "seed is 2, and its command says 1"),
        ("nsa", {"settings.largest": 41}, "settings.largest is 41, and the largest job of its cluster has 40"),
        ("nsa", {"cluster.nodes": 1001}, "cluster is {'nodes': 1001, "),
        ("nsa", {"settings.cluster": "paper"}, "cluster is {'nodes': 1000, "),
        ("nsa", {"network": "cnn-2"}, "network is 'cnn-2' with 5 rows, and the weights are of another one"),
        ("nsa", {"settings.task.tmax": 25.0}, "settings.task is"),
        ("nsa", {"settings.rows": 4}, "settings.rows is 4, and its schema has 5"),
        ("nsa", {"decisions": 401409}, "decisions must be a multiple of settings.envs * settings.length, 8192, got"),
        ("nsa", {"command": "transom train nsa --seed 3 --out DIR"}, "command is"),
        ("nsa-cost", {"settings.hidden": [24, 17]}, "settings.hidden is (24, 17), and the weights have (24, 16)"),
        ("nsa-cost", {"settings.candidates": 1}, "settings: nsa-cost: candidates must be > 1, got 1"),
        ("nsa-cost", {"settings.discount": "much"}, "settings: Expected `float`, got `str`"),
        ("nsa-cost", {"cluster": {"nodes": 1000}}, "cluster is {'nodes': 1000}, and its training is for any: {}"),
        ("nsa-cost", {"settings": {"candidates": 32}}, None),
        ("learned-priority", {"network": "mlp"}, "network is 'mlp', and its schema takes 'linear scorer'"),
        ("learned-priority", {"cluster": {"nodes": 5}}, "cluster is {'nodes': 5}, and a scorer is for any: {}"),
        ("learned-priority", {"settings.windows": 0}, "settings: learned-priority: windows must be >= 1, got 0"),
        ("learned-priority", {"seed": 7}, "seed is 7, and that of its settings is 0"),
        ("deepjs", {"network": "large"}, "network must be one of paper, code, got 'large'"),
        ("deepjs", {"network": "paper"}, "network is 'paper', and the weights are of another one"),
        ("deepjs", {"cluster": {"nodes": 5}}, "cluster is {'nodes': 5}, and an agent is for any: {}"),
        ("deepjs", {"settings.greedy": 1}, "settings.greedy must be true or false, got 1"),
        ("deepjs", {"settings.steps": 0}, "settings: deepjs: steps must be >= 1, got 0"),
        ("deepjs", {"settings.steps": 9}, "command must be that of its settings and name"),
        ("deepjs", {"seed": 7}, "seed is 7, and that of its settings is 0"),
        ("learned-priority", {"decisions": 10**9}, "decisions must be at most generations x population x windows"),
    ],
)
def test_what_contradicts_a_card_is_said(
    name: str, changes: dict[str, Any], message: str | None, tmp_path: Path
) -> None:
    path = tmp_path / f"{name}.safetensors"
    path.write_bytes(checkpoints.find(name).read_bytes())
    card = json.loads(checkpoints.find(name).with_suffix(".json").read_bytes())
    for place, value in changes.items():
        card = changed(card, tuple(place.split(".")), value)
    made = msgspec.json.decode(json.dumps(card).encode(), type=Card)
    told = refused(path, json.loads(msgspec.json.encode(checkpoints.sealed(made))))
    if message is None:
        assert told is None
        return
    assert told is not None
    assert told.startswith(f"{path}: ")
    assert message in told


def test_commands_refuse_a_changed_card_in_one_line(
    copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = json.loads(copy.with_suffix(".json").read_bytes())
    repair = card["component"] == "repair"
    if repair:
        from transom.io import write_documents
        from transom.models import Allocation, FatTree

        window = Allocation(FatTree.uniform(1000, 10, 40), range(0, 1000, 3), [30, 20, 9], "dynamic")
        write_documents(tmp_path / "window.json", [window])
        words = ["solve", str(tmp_path / "window.json"), "--problem", "dcas", "--iterations", "5", "--solver"]
    elif card["component"] in ("priority", "deepjs"):
        head = "submit_time,duration,cpu,memory,job_id,task_id,instances_num,disk"
        (tmp_path / "one.csv").write_text(f"{head}\n0,9,1,0.5,1,1,3,0\n")
        words = ["simulate", str(tmp_path / "one.csv"), "--machines", "count=1,cpu=4,memory=1", "--policy"]
    else:
        (tmp_path / "one.swf").write_text("; MaxNodes: 4360\n1 0 -1 9 4 -1 -1 4 9 -1 1 1 1 1 1 -1 -1 -1\n")
        words = ["simulate", str(tmp_path / "one.swf"), "--policy"]
    name = {"dras-pg-growing": "dras-pg"}.get(copy.stem, copy.stem)
    spec = f"{name}:model={copy}"
    assert run([*words, spec]) == 0
    capsys.readouterr()
    for at, value in (
        (("settings",), {}),
        (("cluster",), {"nodes": 7}),
        (("parameters",), 1),
        (("scores",), {"a": 1.0}),
    ):
        copy.with_suffix(".json").write_text(json.dumps(changed(card, at, value)))
        assert run([*words, spec]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        assert re.search("card: |was trained for another cluster", err), err


@pytest.mark.parametrize("rows", [4, 5])
@pytest.mark.parametrize("name", NETWORKS)
def test_shapes_of_networks_are_those_of_the_library(name: str, rows: int) -> None:
    pytest.importorskip("torch", reason="needs the extra 'learned'")
    from transom.learned.repair.networks import network, weights_of

    for outputs in (1, 100):
        made = weights_of(network(name, rows, outputs))
        assert shapes(name, rows, outputs) == {key: array.shape for key, array in made.items()}
