"""The state of an interrupted training: one safetensors file, with what is no array as JSON in its header.

One file, since weights, moments, generators and environments have to be of the same moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from transom._system.files import atomic_write
from transom._system.trusted import distrusted
from transom.errors import DocumentError

Arrays = dict[str, NDArray[Any]]

FORMAT = "transom/training/2"
"""Name and version of the file."""

STATE = "training.safetensors"
"""What the file is called in the folder of a training."""


def write_state(path: Path, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> None:
    """Write arrays and plain values; the file is there whole or not at all."""
    from safetensors.numpy import save

    with atomic_write(path, "wb") as file:
        header = {"format": FORMAT, "facts": msgspec.json.encode(facts).decode()}
        file.write(save({name: np.array(array, order="C") for name, array in arrays.items()}, header))


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


def under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def network_arrays(network: Any, optimizer: Any) -> Arrays:
    """The weights of a network (``weights.``) and what its optimiser keeps of each parameter (``optimizer.``)."""
    held = optimizer.state_dict()["state"]
    moments = {f"optimizer.{at}.{name}": value for at, each in held.items() for name, value in each.items()}
    weights = {f"weights.{name}": value for name, value in network.state_dict().items()}
    return {name: np.array(value.detach().cpu().numpy()) for name, value in (weights | moments).items()}


def set_network(network: Any, optimizer: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Take over what :func:`network_arrays` gave; what has no moments there keeps none.

    Raises
    ------
    RuntimeError, ValueError : these are not the arrays of such a network.
    """
    import torch

    found = under("weights.", arrays)
    network.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in found.items()})
    state: dict[int, dict[str, Any]] = {}
    for key, value in under("optimizer.", arrays).items():
        at, name = key.split(".", 1)
        state.setdefault(int(at), {})[name] = torch.tensor(value)
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
