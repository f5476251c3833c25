"""Checkpoints: weights in a safetensors file, and a card beside it that says what they are.

A checkpoint is two files, ``NAME.safetensors`` and ``NAME.json``. The card states which observations the weights were
made for and on which cluster, so that what does not fit is refused, and the digest of the weights, so that the two
files belong together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from transom import registry
from transom._system.files import atomic_write
from transom.errors import DocumentError, SpecError
from transom.reading import WEIGHTS, TooLargeError, read_whole

EXTRA = "learned"
"""The extra that brings what trainings and environments need."""

Component = Literal["repair", "dras", "kernel", "priority", "deepjs", "mars"]
Weights = Mapping[str, NDArray[np.float32]]

_SHIPPED = Path(__file__).parent / "models"

_NAME = r"\w[\w.+-]*"

_CHECKED_BY: dict[str, str] = {
    "repair": "repair.cards",
    "dras": "dras.cards",
    "kernel": "kernel.weights",
    "priority": "priority.scorer",
    "deepjs": "deepjs.network",
    "mars": "mars.cards",
}
"""The module of each component whose ``check(card, weights)`` refuses what it cannot use."""


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """What a checkpoint is; what a file states beside these fields is not read.

    Parameters
    ----------
    name : of the checkpoint.
    component : what it is a part of.
    network : name of the architecture.
    schema : name and version of the observations that the weights take; others are refused.
    cluster : what a machine must be like for the weights to fit, such as ``{"nodes": 4360}``; others are refused.
    settings : how the agent acts and how the network is built, as plain values.
    weights : digest of the weights.
    trained_on, validated_on : which jobs, months or windows, in words.
    parameters, command, seed, decisions, seconds : of the training: number of weights, the command, its seed, decisions
        taken and seconds; nothing depends on them, nor on the following.
    scores : how it scored in the validation, figure by name.
    rules : how policies that do not learn did there, by specification, figure by name.
    """

    format: Literal["transom/model/2"] = "transom/model/2"
    name: str
    component: Component
    network: str
    schema: str
    cluster: dict[str, int] = {}
    settings: dict[str, Any]
    weights: str
    trained_on: str
    validated_on: str = ""
    parameters: int = 0
    command: str = ""
    seed: int = 0
    decisions: int = 0
    seconds: float = 0.0
    scores: dict[str, float] = {}
    rules: dict[str, dict[str, float]] = {}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Weights by name, float32, and their card."""

    weights: Weights
    card: Card


def check_name(name: str) -> str:
    """A name that a training may give its checkpoint, which becomes a file in its folder.

    Raises
    ------
    SpecError : it is none of one file, or that of the state of a training.
    """
    if not re.fullmatch(_NAME, name) or name == "training":
        raise SpecError(
            f"--name {name}: a checkpoint's name has letters, digits, '.', '_', '+' and '-', begins with a letter or "
            "digit, and is not 'training', the state's"
        )
    return name


def make_card(weights: Weights, component: Component, schema: str, **stated: Any) -> Card:
    """A card for weights, as it comes out of its file; the fields that follow from the weights are filled in."""
    card = Card(
        component=component,
        schema=schema,
        parameters=sum(array.size for array in weights.values()),
        weights=weights_digest(weights),
        **stated,
    )
    return msgspec.json.decode(msgspec.json.encode(card), type=Card)


def save(path: str | PathLike[str], checkpoint: Checkpoint) -> None:
    """Write ``path`` (``NAME.safetensors``) and its card beside it; each file is there whole or not at all.

    Raises
    ------
    SpecError : the path ends otherwise.
    """
    from safetensors.numpy import save as packed

    target = Path(path)
    if target.suffix != ".safetensors":
        raise SpecError(f"{target}: a checkpoint's name ends in .safetensors")
    arrays = {name: np.asarray(array, np.float32, order="C") for name, array in checkpoint.weights.items()}
    with atomic_write(target, "wb") as file:
        file.write(packed(arrays))
    save_card(target, checkpoint.card)


def save_in(folder: Path, name: str, weights: Weights, component: Component, schema: str, **stated: Any) -> Checkpoint:
    """Write weights and what is stated of them into a folder, as ``NAME.safetensors`` and ``NAME.json``."""
    made = Checkpoint(weights, make_card(weights, component, schema, name=name, **stated))
    save(folder / f"{name}.safetensors", made)
    return made


def save_card(path: Path, card: Card) -> None:
    """Write the card beside the weights of a checkpoint, which are not touched."""
    with atomic_write(path.with_suffix(".json"), "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(card), indent=2) + b"\n")


def load(
    source: str | PathLike[str],
    component: Component,
    schemas: tuple[str, ...] = (),
) -> Checkpoint:
    """Read a checkpoint, and check what its use depends on: the digest of the weights, their shapes, its settings.

    Parameters
    ----------
    source : the name of a shipped one, or the path of a ``.safetensors`` file.
    component : what it has to be a part of.
    schemas : the observations that it may be made for; any if empty.

    Raises
    ------
    SpecError : there is no shipped one of that name.
    DocumentError : a file cannot be read, the two do not belong together, or weights, settings, component or schema do
        not fit.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load as unpacked

    path = find(source)
    card = card_for(source, component, schemas)
    try:
        weights: Weights | None = unpacked(read_whole(path, WEIGHTS))
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror}") from None
    except TooLargeError as error:
        raise DocumentError(f"{path}: {error}") from None
    except SafetensorError as error:
        raise DocumentError(f"{path}: not a safetensors file: {error}") from None
    except KeyError:  # a format that numpy has not, such as bfloat16
        weights = None
    if weights is None or any(array.dtype != np.float32 for array in weights.values()):
        raise DocumentError(f"{path}: weights must be float32")
    if not all(np.isfinite(array).all() for array in weights.values()):
        raise DocumentError(f"{path}: weights must be finite")
    if weights_digest(weights) != card.weights:
        raise DocumentError(f"{path}: these are not the weights of which {path.with_suffix('.json')} speaks")
    try:
        must("name", card.name, re.fullmatch(_NAME, card.name) is not None, "letters, digits, '.', '_', '+' and '-'")
        import_module(f"transom.learned.{_CHECKED_BY[component]}").check(card, weights)
    except DocumentError as error:
        raise DocumentError(f"{path}: {error}") from None
    return Checkpoint(weights, card)


def misfit(card: Card, machine: Mapping[str, int]) -> str | None:
    """In what a machine is not like that of a card, which names only what matters; None if it is like it."""
    wrong = {key: value for key, value in card.cluster.items() if machine.get(key) != value}
    stated = ", ".join(f"{key} = {value}" for key, value in wrong.items())
    here = ", ".join(str(machine.get(key)) for key in wrong)
    return f"was made for a cluster with {stated}, and this has {here}" if wrong else None


def must(field: str, said: Any, holds: bool, wanted: str) -> None:
    """Refuse a fact of a card that is not what it must be.

    Raises
    ------
    DocumentError : it does not hold.
    """
    if not holds:
        shown = ascii(said)
        raise DocumentError(f"card: {field} must be {wanted}, got {shown if len(shown) <= 80 else f'{shown[:77]}...'}")


def whole(field: str, said: Any, least: int = 1, most: int = 1_000_000) -> int:
    """A fact that must be a whole number within limits.

    Raises
    ------
    DocumentError : it is something else.
    """
    must(field, said, type(said) is int and least <= said <= most, f"a whole number from {least} to {most}")
    return int(said)


def find(source: str | PathLike[str]) -> Path:
    """The file of a shipped checkpoint by its name, or the path itself.

    Raises
    ------
    SpecError : there is no shipped one of that name.
    """
    path = Path(source)
    if path.suffix == ".safetensors":
        return path
    known = shipped_names()
    if str(source) not in known:
        raise registry.unknown("checkpoint", str(source), known, ", or a file PATH.safetensors")
    return _SHIPPED / f"{source}.safetensors"


def card_for(source: str | PathLike[str], component: Component, schemas: tuple[str, ...] = ()) -> Card:
    """The card of a checkpoint, which has to be a part of something and for some observations, as for :func:`load`.

    Raises
    ------
    SpecError : there is no shipped one of that name.
    DocumentError : the card cannot be read, or says something else.
    """
    path = find(source)
    card = read_card(path)
    if card.component != component:
        raise DocumentError(f"{path}: is part of {card.component!r}, not of {component!r}")
    if schemas and card.schema not in schemas:
        known = " or ".join(map(repr, schemas))
        raise DocumentError(f"{path}: was made for observations {card.schema!r}, and these are {known}")
    return card


def read_card(path: Path) -> Card:
    """The card beside a checkpoint.

    Raises
    ------
    DocumentError : it cannot be read or is none.
    """
    at = path.with_suffix(".json")
    try:
        return msgspec.json.decode(read_whole(at), type=Card)
    except OSError as error:
        raise DocumentError(f"{path}: its card {at.name} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, TooLargeError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error)
        raise DocumentError(
            f"{at}: not the card of a checkpoint: {reason if reason.isprintable() else ascii(reason)}"
        ) from None


def shipped_names() -> list[str]:
    """The names of the checkpoints that come with the package, sorted."""
    return sorted(path.stem for path in _SHIPPED.glob("*.safetensors"))


def weights_digest(weights: Weights) -> str:
    """32 hexadecimal digits that depend on names, shapes and values of the weights."""
    state = blake2b(digest_size=16)
    for name in sorted(weights):
        state.update(f"{name}{weights[name].shape}".encode())
        state.update(np.ascontiguousarray(weights[name], "<f4").tobytes())
    return state.hexdigest()


def require(what: str, *packages: str) -> None:
    """Say what to install where packages of the extra are missing.

    Raises
    ------
    SpecError : one of them is not installed.
    """
    absent = [package for package in packages if find_spec(package) is None]
    if absent:
        raise SpecError(f"{what} needs {', '.join(absent)}: pip install 'transom[{EXTRA}]'")
