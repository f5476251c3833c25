"""Plans and settings in TOML, within the limits on what is read."""

from __future__ import annotations

import os
import tomllib
from typing import Any

from transom.errors import DocumentError
from transom.reading import DEPTH, TooLargeError, read_whole

_MOST = 1 << 24  # bytes of a plan


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a plan.

    Raises
    ------
    DocumentError : it cannot be read, is no text, or is longer than 16 MiB.
    """
    try:
        return read_whole(path, _MOST).decode()
    except OSError as error:
        raise DocumentError(f"{os.fspath(path)}: cannot be read: {error.strerror}") from None
    except (TooLargeError, UnicodeDecodeError) as error:
        reason = "not a text file" if isinstance(error, UnicodeDecodeError) else f"it {error}"
        raise DocumentError(f"{os.fspath(path)}: cannot be read: {reason}") from None


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """The tables of a text of a file.

    Raises
    ------
    DocumentError : it is no TOML, or is nested too deeply.
    """
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DocumentError(f"{where}: not TOML: {error}") from None
    except RecursionError:
        raise DocumentError(f"{where}: nested more than {DEPTH} levels deep") from None
    level: list[Any] = [found]
    for _ in range(DEPTH):
        level = [inner for each in level for inner in _inner(each)]
    if level:
        raise DocumentError(f"{where}: nested more than {DEPTH} levels deep")
    return found


def _inner(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
