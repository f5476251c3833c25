"""A training on disk: arrays in a safetensors file, and a JSON document that names it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transom._system.files import whole_file
from transom.errors import DocumentError

FORMAT = "transom/dras-training/1"

_FACTS = "training.json"


def save_state(folder: Path, number: int, arrays: dict[str, NDArray[Any]], facts: dict[str, Any]) -> None:
    """Write the state after so many updates; a death in between leaves the state before.

    The document is renamed into place last and names the file of arrays that belongs to it; others are removed then.
    """
    from safetensors.numpy import save as packed

    name = f"arrays-{number:09d}.safetensors"
    with whole_file(folder / name, "wb") as file:
        file.write(packed({key: np.asarray(array, order="C") for key, array in arrays.items()}))
    with whole_file(folder / _FACTS) as file:
        json.dump({"format": FORMAT, "arrays": name, **facts}, file, indent=1)
        file.write("\n")
    for other in folder.glob("arrays-*.safetensors"):
        if other.name != name:
            other.unlink()


def load_state(folder: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
    """What :func:`save_state` wrote last, or None where there is nothing.

    Raises
    ------
    DocumentError : a file cannot be read or is none of a training.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load as unpacked

    path = folder / _FACTS
    if not path.exists():
        return None
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(facts, dict) or facts.get("format") != FORMAT:
            raise DocumentError(f"{path}: not the state of a training")
        name = facts["arrays"]
        if not isinstance(name, str) or Path(name).name != name:
            raise DocumentError(f"{path}: 'arrays' must name a file beside it, got {name!r}")
        return unpacked((folder / name).read_bytes()), facts
    except OSError as error:
        raise DocumentError(f"{error.filename}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError) as error:
        raise DocumentError(f"{path}: not the state of a training: {error}") from None
    except SafetensorError as error:
        raise DocumentError(f"{folder / name}: not a safetensors file: {error}") from None
