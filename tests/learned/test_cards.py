"""Cards: what the use of weights depends on is checked; whatever stands in a card, an error is one line."""

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
from transom.learned.checkpoints import load

SHIPPED = checkpoints.shipped_names()

Path_ = tuple[str | int, ...]

OTHERS: tuple[Any, ...] = (
    None, True, 0, 1, -1, 1.5, -0.5, 2**63, 1e300, "", "x", "a\nb\x1b[2J", [], [0], ["x"], {}, {"a": 1}, [[[]]],
)  # fmt: skip
"""What a field may be instead."""


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


def refused(path: Path, card: Any) -> str | None:
    """Why a checkpoint with this card is refused; None if it is not."""
    path.with_suffix(".json").write_text(json.dumps(card))
    try:
        load(path, json.loads(checkpoints.find(path.stem).with_suffix(".json").read_bytes())["component"])
    except DocumentError as error:
        return str(error)
    return None


def test_cards_of_earlier_versions_are_read(copy: Path) -> None:
    """They state digests, commits and lists of observations, which are not read any more."""
    card = json.loads(copy.with_suffix(".json").read_bytes())
    more = {"observations": {"features": ["size"]}, "sources": "00", "commit": None, "digest": "00"}
    copy.with_suffix(".json").write_text(json.dumps(card | more))
    made = load(copy, card["component"]).card
    assert card.keys() <= set(made.__struct_fields__)
    for name in made.__struct_fields__:
        assert msgspec.to_builtins(getattr(made, name)) == card.get(name, getattr(made, name)), name
    checkpoints.save(copy, checkpoints.load(copy, card["component"]))
    assert load(copy, card["component"]).card == made


def test_whatever_a_card_says_an_error_is_one_line(copy: Path) -> None:
    card = json.loads(copy.with_suffix(".json").read_bytes())
    tried = 0
    for number, at in enumerate(places(card)):
        others = [changed(card, at, other) for other in OTHERS[number % 5 :: 5]]
        for other in (without(card, at), *others):
            if (told := refused(copy, other)) is not None:
                assert str(copy.with_suffix("")) in told
                assert told.isprintable(), ascii(told)
                tried += 1
    assert tried > 20


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("dras-pg", {"name": "a b"}, "name must be letters, digits"),
        ("dras-pg", {"weights": "0" * 32}, "these are not the weights of which"),
        ("dras-pg", {"schema": "dras-compact/2"}, "schema must be dras-compact/1 or dras-paper/1, got"),
        ("dras-pg", {"schema": "dras-paper/1"}, "network must be paper-pg or paper-dql, got 'scorer-32x32'"),
        ("dras-pg", {"settings.head": True}, "settings.head must be a whole number from 0 to 1, got True"),
        ("dras-pg", {"settings.window": 0}, "settings.window must be a whole number from 1 to 1000, got 0"),
        ("dras-pg", {"cluster": {}}, "cluster.nodes must be a whole number from 1 to 1000000000, got None"),
        ("dras-pg", {"component": "repair"}, "is part of 'repair', not of 'dras'"),
        ("nsa", {"settings": {}}, "settings.largest must be a whole number from 1"),
        ("nsa", {"network": "cnn-2"}, "network is 'cnn-2' with 5 rows, and the weights are of another one"),
        ("nsa", {"schema": "repair-4x100/1"}, "network is 'cnn-3' with 4 rows, and the weights are of another one"),
        ("nsa", {"cluster": {"nodes": 0}}, "cluster.nodes must be a whole number from 1"),
        ("nsa-cost", {"settings.candidates": 1}, "settings.candidates must be a whole number from 2"),
        ("learned-priority", {"schema": "x"}, "schema must be"),
        ("deepjs", {"network": "large"}, "network must be one of paper, code, got 'large'"),
        ("deepjs", {"network": "paper"}, "network is 'paper', and the weights are of another one"),
        ("deepjs", {"settings.greedy": 1}, "settings.greedy must be true or false, got 1"),
    ],
)
def test_what_nobody_could_act_by_is_refused(name: str, changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.safetensors"
    path.write_bytes(checkpoints.find(name).read_bytes())
    card = json.loads(checkpoints.find(name).with_suffix(".json").read_bytes())
    for place, value in changes.items():
        card = changed(card, tuple(place.split(".")), value)
    told = refused(path, card)
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
    for at, value in ((("settings",), {}), (("cluster",), {"nodes": 7}), (("schema",), "other/1")):
        if card["component"] in ("priority", "deepjs") and at != ("schema",):
            continue  # of any machine, and a scorer has no settings
        copy.with_suffix(".json").write_text(json.dumps(changed(card, at, value)))
        assert run([*words, spec]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        err = err.splitlines()[-1]
        assert err.startswith("error: ")
        assert re.search("card: |was (trained|made) for (another|a) cluster|for observations", err), err
