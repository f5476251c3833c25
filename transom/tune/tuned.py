"""``tuned.toml``: the policy that tuning chose, and what it was chosen on; as a policy, ``tuned:file=FILE``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transom._system.files import atomic_write
from transom.errors import SpecError
from transom.io.toml_files import parse_toml, read_text
from transom.simulation.core.decision import Policy
from transom.simulation.policies.by_name import make_policy


def tuned(file: str) -> Policy:
    """The policy that a file of ``transom tune`` states.

    Parameters
    ----------
    file : the path.

    Raises
    ------
    SpecError : the file states no policy, or one that is none.
    DocumentError : it cannot be read.
    """
    stated = parse_toml(read_text(file), file).get("policy")
    if not isinstance(stated, str) or stated.startswith("tuned"):
        raise SpecError(f"{file}: expected policy = a specification, as `transom tune` writes it")
    try:
        return make_policy(stated)
    except SpecError as error:
        raise SpecError(f"{file}: {error}") from None


def write_tuned(path: Path, policy: str, about: Mapping[str, Any]) -> None:
    """Write the file, whole.

    Parameters
    ----------
    path : the file.
    policy : the specification.
    about : what it was chosen on: texts and numbers.
    """
    lines = [f"{key} = {_toml(value)}" for key, value in {"policy": policy, **about}.items()]
    with atomic_write(path) as file:
        file.write("\n".join(["# Load it anywhere with --policy tuned:file=" + path.name, *lines]) + "\n")


def _toml(value: Any) -> str:
    if isinstance(value, str):
        text = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text) + '"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return str(value)
