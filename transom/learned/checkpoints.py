"""Checkpoints: weights in a safetensors file, and a card beside it that says what they are.

A checkpoint is two files, ``NAME.safetensors`` and ``NAME.json``. The card states which observations the weights were
made for and on which cluster, so that what does not fit is refused, and the digest of the weights, so that the two
files belong together.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from transom import registry
from transom.compiling import source_digest
from transom.errors import DocumentError, SpecError
from transom.files import whole_file

EXTRA = "learned"
"""The extra that brings what the learned components need."""

Component = Literal["repair", "dras"]
Weights = Mapping[str, NDArray[np.float32]]

_SHIPPED = Path(__file__).parent / "models"


class Card(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a checkpoint is.

    Parameters
    ----------
    name : of the checkpoint.
    component : what it is a part of.
    network : name of the architecture.
    schema : name and version of the observations that the weights take; others are refused.
    cluster : what a machine must be like for the weights to fit, such as ``{"nodes": 4360}``; others are refused.
    settings : how the agent acts and how the network is built, as plain values.
    parameters : number of weights.
    weights : digest of the weights.
    trained_on : what it was trained on, in words.
    command : the command that trained it.
    seed, steps, seconds : of the training: its seed, decisions taken, and seconds.
    scores : how it scored, figure by name.
    sources : digest of the package's sources at the time.
    commit : of the checkout, None where there was none.
    """

    format: Literal["transom/model/1"] = "transom/model/1"
    name: str
    component: Component
    network: str
    schema: str
    cluster: dict[str, int]
    settings: dict[str, Any]
    parameters: int
    weights: str
    trained_on: str
    command: str
    seed: int
    steps: int
    seconds: float
    scores: dict[str, float] = {}
    sources: str
    commit: str | None = None


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
    if not re.fullmatch(r"\w[\w.+-]*", name) or name == "training":
        raise SpecError(
            f"--name {name}: a checkpoint's name has letters, digits, '.', '_', '+' and '-', begins with a letter or "
            "digit, and is not 'training', the state's"
        )
    return name


def make_card(weights: Weights, **stated: Any) -> Card:
    """A card for weights; what follows from them and from the checkout is filled in."""
    return Card(
        parameters=sum(array.size for array in weights.values()),
        weights=weights_digest(weights),
        sources=source_digest(),
        commit=_commit(),
        **stated,
    )


def save(path: str | PathLike[str], checkpoint: Checkpoint) -> None:
    """Write ``path`` (``NAME.safetensors``) and its card beside it; each file is there whole or not at all.

    Raises
    ------
    SpecError : the extra ``learned`` is not installed, or the path ends otherwise.
    """
    require("writing a checkpoint", "safetensors")
    from safetensors.numpy import save as packed

    target = Path(path)
    if target.suffix != ".safetensors":
        raise SpecError(f"{target}: a checkpoint's name ends in .safetensors")
    arrays = {name: np.asarray(array, np.float32, order="C") for name, array in checkpoint.weights.items()}
    with whole_file(target, "wb") as file:
        file.write(packed(arrays))
    with whole_file(target.with_suffix(".json"), "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(checkpoint.card), indent=2) + b"\n")


def load(
    source: str | PathLike[str],
    component: Component,
    schema: str | None = None,
    cluster: Mapping[str, int] | None = None,
) -> Checkpoint:
    """Read a checkpoint.

    Parameters
    ----------
    source : the name of a shipped one, or the path of a ``.safetensors`` file.
    component : what it has to be a part of.
    schema : the observations that it will get; any if None.
    cluster : the machine that it will decide for; only what the card names is compared, nothing if None.

    Raises
    ------
    SpecError : there is no shipped one of that name, or the extra ``learned`` is not installed.
    DocumentError : a file cannot be read, the two do not belong together, or component, schema or cluster
        do not fit.
    """
    require(f"checkpoint {str(source)!r}", "safetensors")
    from safetensors import SafetensorError
    from safetensors.numpy import load as unpacked

    path = find(source)
    card = read_card(path)
    try:
        weights: Weights | None = unpacked(path.read_bytes())
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror}") from None
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
    if card.component != component:
        raise DocumentError(f"{path}: is part of {card.component!r}, not of {component!r}")
    if schema is not None and card.schema != schema:
        raise DocumentError(f"{path}: was made for observations {card.schema!r}, and these are {schema!r}")
    if cluster is not None:
        check_cluster(card, cluster, str(path))
    return Checkpoint(weights, card)


def check_cluster(card: Card, cluster: Mapping[str, int], where: str, cure: str = "") -> None:
    """Refuse a machine that is not like that of a card, whose checkpoint the error calls ``where``; then what to do.

    Raises
    ------
    DocumentError : they differ in something that the card names.
    """
    for key, value in card.cluster.items():
        if cluster.get(key) != value:
            raise DocumentError(
                f"{where}: was made for a cluster with {key} = {value}, and this has {cluster.get(key)}{cure}"
            )


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
        raise registry.unknown("checkpoint", str(source), [*known, "PATH.safetensors"])
    return _SHIPPED / f"{source}.safetensors"


def read_card(path: Path) -> Card:
    """The card beside a checkpoint.

    Raises
    ------
    DocumentError : it cannot be read or is none.
    """
    at = path.with_suffix(".json")
    try:
        return msgspec.json.decode(at.read_bytes(), type=Card)
    except OSError as error:
        raise DocumentError(f"{path}: its card {at.name} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DocumentError(f"{at}: not the card of a checkpoint: {error}") from None


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


def _commit() -> str | None:
    """The commit of the checkout that the package is imported from; None if that is another project's or none."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--show-prefix", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    within, _, commit = done.stdout.strip().partition("\n")
    return commit if done.returncode == 0 and within == "transom/learned/" else None
