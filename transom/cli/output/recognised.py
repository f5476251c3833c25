"""What a file looks like that a command cannot read: the error then says which command can."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_HEAD = 4096  # bytes that are looked at


class _Kind(NamedTuple):
    """What a file may be: how it begins, the commands that read it, and what to say to the others."""

    begins: str
    commands: tuple[str, ...]
    words: str


def _accounting(name: str, begins: str) -> _Kind:
    words = f"accounting of {name}: transom import {name.lower()} {{path}} -o TRACE.parquet makes a trace of it"
    return _Kind(begins, ("import", "slurm"), words)


_KINDS = (
    _accounting("Slurm", r"[^\n]*\bJobID(Raw)?\|"),
    _accounting("PBS", r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Z];"),
    _accounting("LSF", r'"[A-Z]+_[A-Z]+" "'),
    _accounting("Slurm", r'(?s)\s*\{.*"(association|job_id|time_limit)"'),
    _Kind(
        r"(;[^\n]*\n|\s)*(-?[0-9.]+\s+){17}-?[0-9.]+",
        ("simulate", "when", "snapshot", "calibrate", "import", "protocol", "train", "report"),
        "a trace: transom simulate {path} replays it, transom snapshot takes windows of it",
    ),
    _Kind(
        r'\s*\{\s*"format":\s*"transom/',
        ("solve", "check", "bench", "library", "simulate"),
        "a document of Transom, for transom solve, check and bench run --instances",
    ),
    _Kind(
        r'(?s)\s*\{.*"(schemaVersion|workflow)"|\s*(<\?xml[^>]*>)?\s*<adag',
        ("simulate", "solve", "bench", "check"),
        "a workflow: transom solve {path} finds a schedule, transom simulate replays several",
    ),
)


def recognised(message: str, arguments: Sequence[str]) -> str:
    """What to add to an error that begins with the name of a file: which command reads what it holds, or nothing.

    Parameters
    ----------
    message : of the error.
    arguments : of the command line, whose first word is the command.
    """
    for path in arguments[1:]:
        if message.startswith(f"{path}:") and (text := _head(path)) is not None:
            for begins, commands, words in _KINDS:
                if re.match(begins, text):
                    return "" if arguments[0] in commands else "; this is " + words.replace("{path}", path)
    return ""


def _head(path: str) -> str | None:
    try:
        if not Path(path).is_file():
            return None
        with open(path, "rb") as file:
            data = file.read(_HEAD)
        if data.startswith(b"\x1f\x8b"):
            data = zlib.decompressobj(wbits=31).decompress(data, _HEAD)
    except (OSError, zlib.error):
        return None
    return data.decode(errors="replace")
