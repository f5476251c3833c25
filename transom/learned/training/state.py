"""The state of an interrupted training: one safetensors file, with what is no array as JSON in its header.

One file, since weights, moments, generators and environments have to be of the same moment.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from transom._system.files import atomic_write
from transom._system.trusted import distrusted
from transom.errors import DocumentError

Arrays = dict[str, NDArray[Any]]

FORMAT = "transom/training/1"
"""Name and version of the file."""

STATE = "training.safetensors"
"""What the file is called in the folder of a training."""


def write_state(path: Path, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> None:
    """Write arrays and plain values; the file is there whole or not at all."""
    from safetensors.numpy import save

    with atomic_write(path, "wb") as file:
        header = {"format": FORMAT, "facts": msgspec.json.encode(facts).decode()}
        file.write(save({name: np.array(array, order="C") for name, array in arrays.items()}, header))


def write_progress(
    folder: Path, settings: Any, curve: Sequence[Any], row: type, arrays: Mapping[str, NDArray[Any]], **facts: Any
) -> None:
    """Write the state of a training and its learning curve, ``curve.csv``.

    Parameters
    ----------
    settings : a dataclass, as ``settings`` among the facts.
    curve : the rows so far, each a dataclass of the type ``row``, as ``curve`` among the facts.
    """
    values = [list(asdict(each).values()) for each in curve]
    write_state(folder / STATE, arrays, {"settings": asdict(settings), **facts, "curve": values})
    with atomic_write(folder / "curve.csv") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(row)])
        writer.writerows([f"{x:.6g}" if isinstance(x, float) else x for x in each] for each in values)


def read_state(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """What :func:`write_state` wrote.

    Raises
    ------
    DocumentError : the file cannot be read, holds something else, or somebody else may have made or changed it.
    """
    from safetensors import SafetensorError, safe_open

    if (reason := distrusted(path)) is not None:
        raise DocumentError(f"{path}: no training resumes from it, because {reason}; take another folder")
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            if header.get("format") != FORMAT:
                raise DocumentError(f"{path}: not the state of a training in the format {FORMAT!r}")
            facts = msgspec.json.decode(header["facts"])
            return {name: file.get_tensor(name) for name in file.keys()}, facts  # noqa: SIM118  (not a mapping)
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (SafetensorError, KeyError, msgspec.DecodeError) as error:
        raise DocumentError(f"{path}: not the state of a training: {error}") from None


def check_settings(path: Path, begun: Mapping[str, Any], wanted: Mapping[str, Any], length: str) -> None:
    """Refuse to go on with a training of other settings.

    Parameters
    ----------
    path : of the state.
    begun, wanted : the settings that it was begun with, and those of now.
    length : the name of the one that says how long the training is.

    Raises
    ------
    DocumentError : they differ.
    """
    for name, value in wanted.items():
        now = list(value) if isinstance(value, tuple) else value  # a sequence comes out of the file as a list
        if (then := begun.get(name)) != now:
            why = f", and the learning rate fell to its least at that of {then}" if name == length else ""
            raise DocumentError(
                f"{path}: was begun with {name} {then}, not {now}{why}; take {name} {then}, or another folder to begin "
                "anew"
            )


def under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def generators() -> Arrays:
    """The states of the generators that the training library draws from: torch's and numpy's own."""
    import torch

    numpy = np.random.get_state(legacy=False)  # noqa: NPY002  (the library's)
    assert isinstance(numpy, dict)
    state = {
        "torch": torch.get_rng_state().numpy(),
        "numpy.key": numpy["state"]["key"],
        "numpy.rest": np.array([numpy["state"]["pos"], numpy["has_gauss"]]),
        "numpy.gauss": np.array(numpy["gauss"]),
    }
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state().numpy()
    return state


def set_generators(state: Mapping[str, NDArray[Any]]) -> None:
    """Put the generators into the states that :func:`generators` gave."""
    import torch

    torch.set_rng_state(torch.tensor(state["torch"]))
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(torch.tensor(state["cuda"]))
    position, has_gauss = state["numpy.rest"].tolist()
    numpy = {"key": state["numpy.key"], "pos": position}
    np.random.set_state(  # noqa: NPY002
        {"bit_generator": "MT19937", "state": numpy, "has_gauss": has_gauss, "gauss": float(state["numpy.gauss"])}
    )


def optimizer_arrays(optimizer: Any) -> Arrays:
    """The moments of an optimiser by number of parameter and name."""
    held = optimizer.state_dict()["state"]
    return {f"{at}.{name}": value.cpu().numpy() for at, each in held.items() for name, value in each.items()}


def set_optimizer(optimizer: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Give an optimiser the moments that :func:`optimizer_arrays` gave."""
    import torch

    state: dict[int, dict[str, Any]] = {}
    for key, value in arrays.items():
        at, name = key.split(".", 1)
        state.setdefault(int(at), {})[name] = torch.tensor(value)
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
