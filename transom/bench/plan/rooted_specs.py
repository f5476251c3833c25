"""Specifications that name files, made independent of the folder in which they are read."""

from __future__ import annotations

import re
from pathlib import Path

from transom.class_files import headed, rooted_files

_VALUE = re.compile(r"(?<==)[^\[\],=]+")


def rooted(spec: str, folder: Path) -> str:
    """A specification in which files that are named relative to a folder are named from the root on.

    Runs have folders of their own, in which ``nsa:model=mine.safetensors`` would not be found. A value is taken for a
    file where it looks like one, by a dot or a slash in it, and one is there; so is ``mine.py`` in ``mine.py:Class``.

    Parameters
    ----------
    spec : ``[LABEL=]NAME:KEY=VALUE,...``, with specifications in it or not.
    folder : where relative names start.
    """

    def start(value: re.Match[str]) -> str:
        named = Path(value[0]).expanduser()
        if named.is_absolute() or not set("./") & set(value[0]):
            return value[0]
        place = (folder / named).absolute()
        return str(place) if place.exists() and not set("[],=") & set(str(place)) else value[0]

    head, colon, rest = headed(rooted_files(spec, folder))
    return head + colon + _VALUE.sub(start, rest)
