from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.learned.dras.checkpoint_cases import drawn
from transom.errors import DocumentError, SpecError, TransomError
from transom.learned import checkpoints
from transom.learned.checkpoints import Checkpoint, load, make_card, save
from transom.learned.dras.process.process import AgentConfig


def made(**stated: Any) -> Checkpoint:
    weights = {f"actor.{name}": array for name, array in drawn(5)._asdict().items()}
    card: dict[str, Any] = {
        "name": "small",
        "component": "dras",
        "network": "scorer-8x6",
        "schema": "dras-compact/1",
        "cluster": {"nodes": 16},
        "settings": {**AgentConfig(window=5)._asdict(), "agent": "pg", "reward": "waiting"},
        "trained_on": "three jobs",
        "command": "none",
        "seed": 4,
        "decisions": 12,
        "seconds": 0.5,
        "scores": {"mean wait s": 17.25},
    }
    return Checkpoint(weights, make_card(weights, **{**card, **stated}))


@pytest.fixture
def at(tmp_path: Path) -> Path:
    path = tmp_path / "small.safetensors"
    save(path, made())
    return path


def test_what_was_saved_is_loaded(at: Path) -> None:
    saved, loaded = made(), load(at, "dras", ("dras-compact/1",))
    assert loaded.card == saved.card
    assert loaded.card.parameters == sum(array.size for array in saved.weights.values()) == 364
    assert loaded.weights.keys() == saved.weights.keys()
    for name, array in saved.weights.items():
        assert loaded.weights[name].dtype == np.float32
        assert loaded.weights[name].shape == array.shape
        assert (loaded.weights[name] == array).all()


def test_the_same_checkpoint_makes_the_same_bytes(at: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.safetensors"
    save(again, made())
    assert again.read_bytes() == at.read_bytes()
    assert again.with_suffix(".json").read_bytes() == at.with_suffix(".json").read_bytes()


def test_the_digest_knows_names_shapes_and_values() -> None:
    weights = dict(made().weights)
    digest = checkpoints.weights_digest(weights)
    assert checkpoints.weights_digest(dict(reversed(weights.items()))) == digest
    others = [
        {**weights, "actor.out": weights["actor.out"].reshape(2, 3)},
        {**weights, "actor.out": np.nextafter(weights["actor.out"], np.float32(9))},
        {**weights, "also": np.empty(0, np.float32)},
        {name.replace("bias", "bios"): array for name, array in weights.items()},
    ]
    assert len({digest, *map(checkpoints.weights_digest, others)}) == 5


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"component": "repair"}, "is part of 'dras', not of 'repair'"),
        ({"schemas": ("dras-paper/1",)}, "was made for observations 'dras-compact/1', and these are 'dras-paper/1'"),
    ],
)
def test_what_does_not_fit_is_refused(at: Path, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        load(at, **{"component": "dras", **asked})
    assert_line(caught.value, f"{at}: {message}")


def test_a_machine_is_compared_in_what_the_card_names() -> None:
    card = made().card
    assert checkpoints.misfit(card, {"nodes": 16, "leaf": 4}) is None
    assert checkpoints.misfit(card, {"nodes": 17}) == "was made for a cluster with nodes = 16, and this has 17"
    assert checkpoints.misfit(card, {}) == "was made for a cluster with nodes = 16, and this has None"


def test_weights_of_another_checkpoint_are_refused(at: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.safetensors"
    weights = {name: array + 1 for name, array in made().weights.items()}
    save(other, Checkpoint(weights, make_card(weights, **_stated())))
    at.write_bytes(other.read_bytes())
    with pytest.raises(DocumentError) as caught:
        load(at, "dras")
    assert_line(caught.value, f"{at}: these are not the weights of which {at.with_suffix('.json')} speaks")


def test_a_file_that_was_cut_off_is_refused_wherever_it_was_cut(at: Path) -> None:
    whole = at.read_bytes()
    for length in (0, 4, 8, 20, len(whole) // 2, len(whole) - 1):
        at.write_bytes(whole[:length])
        with pytest.raises(DocumentError) as caught:
            load(at, "dras")
        assert_line(caught.value, f"{at}: not a safetensors file")


def test_a_card_that_was_cut_off_is_refused(at: Path) -> None:
    card = at.with_suffix(".json")
    whole = card.read_bytes()
    for length in (0, 1, len(whole) // 2):
        card.write_bytes(whole[:length])
        with pytest.raises(DocumentError) as caught:
            load(at, "dras")
        assert_line(caught.value, f"{card}: not the card of a checkpoint")


def _with(key: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda card: {**card, key: value}


@pytest.mark.parametrize(
    "change",
    [
        lambda card: [],
        lambda card: None,
        lambda card: "x" * 10,
        lambda card: {key: value for key, value in card.items() if key != "weights"},
        _with("format", "transom/model/1"),
        _with("component", "kitchen"),
        _with("cluster", {"nodes": "many"}),
        _with("cluster", {"nodes": 1e300}),
        _with("parameters", "__import__('os').abort()"),
        _with("scores", {"wait": None}),
        _with("settings", [1, 2]),
    ],
)
def test_a_hostile_card_is_refused(at: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    card = at.with_suffix(".json")
    card.write_text(json.dumps(change(json.loads(card.read_bytes()))))
    with pytest.raises(DocumentError) as caught:
        load(at, "dras")
    assert_line(caught.value, f"{card}: not the card of a checkpoint")


def test_a_card_of_bytes_that_are_no_text_is_refused(at: Path) -> None:
    at.with_suffix(".json").write_bytes(b'{"name": "\xff\xfe"}')
    with pytest.raises(DocumentError) as caught:
        load(at, "dras")
    assert_line(caught.value, f"{at.with_suffix('.json')}: not the card of a checkpoint")


def test_deeply_nested_cards_are_refused(at: Path) -> None:
    card = at.with_suffix(".json")
    text = card.read_text().replace('"window": 5', f'"window": {"[" * 100_000}{"]" * 100_000}')
    card.write_text(text)
    with pytest.raises(DocumentError) as caught:
        load(at, "dras")
    assert_line(caught.value, f"{card}: not the card of a checkpoint")


def test_other_number_formats_are_refused(at: Path) -> None:
    from safetensors.numpy import save as packed

    at.write_bytes(packed({"out": np.zeros(3)}))
    with pytest.raises(DocumentError) as caught:
        load(at, "dras")
    assert_line(caught.value, f"{at}: weights must be float32")
    # numpy has no such numbers: the file as its bytes.
    for kind, size in (("BF16", 2), ("F8_E4M3", 1)):
        head = json.dumps({"out": {"dtype": kind, "shape": [3], "data_offsets": [0, 3 * size]}}).encode()
        at.write_bytes(len(head).to_bytes(8, "little") + head + bytes(3 * size))
        with pytest.raises(DocumentError) as caught:
            load(at, "dras")
        assert_line(caught.value, f"{at}: weights must be float32")


@pytest.mark.parametrize("name", ["training", "", ".", "..", "../up", "a/b", "a\nb", "-x"])
def test_names_that_are_no_file_of_a_training_are_refused(name: str) -> None:
    assert checkpoints.check_name("nsa-cnn-3.v2") == "nsa-cnn-3.v2"
    with pytest.raises(SpecError, match="a checkpoint's name has letters, digits"):
        checkpoints.check_name(name)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_refused(at: Path, value: float) -> None:
    weights = {**made().weights, "actor.bias": np.array([1, value, *range(6)], np.float32)}
    save(at, Checkpoint(weights, make_card(weights, **_stated())))
    with pytest.raises(DocumentError) as caught:
        load(at, "dras")
    assert_line(caught.value, f"{at}: weights must be finite")


def test_missing_files_are_named(at: Path, tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        load(tmp_path / "none.safetensors", "dras")
    assert_line(
        caught.value, f"{tmp_path / 'none.safetensors'}: its card none.json cannot be read: No such file or directory"
    )
    at.unlink()
    with pytest.raises(DocumentError) as caught:
        load(at, "dras")
    assert_line(caught.value, f"{at}: cannot be read: No such file or directory")


def test_names_that_are_not_shipped_are_refused() -> None:
    for name in ("dras-pc", "../models/dras-pg", "/etc/passwd", ""):
        with pytest.raises(SpecError) as caught:
            load(name, "dras")
        assert_line(caught.value, f"unknown checkpoint {name!r}")


def test_shipped_checkpoints_are_whole_and_small() -> None:
    paths = [checkpoints.find(name) for name in checkpoints.shipped_names()]
    for path in paths:
        card = checkpoints.read_card(path)
        loaded = load(path.stem, card.component)
        assert card.name == path.stem
        assert card.parameters == sum(array.size for array in loaded.weights.values())
        assert all(np.isfinite(array).all() for array in loaded.weights.values())
    assert sum(path.stat().st_size for path in paths) < 5_000_000


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"ends in \.safetensors"):
        save(tmp_path / "weights.pickle", made())
    assert list(tmp_path.iterdir()) == []


def _stated() -> dict[str, Any]:
    """What the card of :func:`made` states."""
    card = msgspec.structs.asdict(made().card)
    return {key: card[key] for key in card.keys() - {"parameters", "weights", "format"}}


def assert_line(error: TransomError, beginning: str) -> None:
    """The message is one line, and begins so."""
    assert str(error).startswith(beginning)
    assert "\n" not in str(error)
