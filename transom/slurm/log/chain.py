"""The chain of an audit log: each line ends in a digest of the digest before it and of itself.

Nobody can take a line away, change, add or move one without redoing all that follow, and the last digest, the head of
the log, tells from a copy kept elsewhere whether somebody did.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from transom.errors import DocumentError

_KEY, _END = b',"chain":"', b'"}'
_DIGEST = 64  # hexadecimal digits


def chained(entry: dict[str, Any], before: str) -> tuple[bytes, str]:
    """The line of an entry that follows a digest, and its own digest."""
    body = msgspec.json.encode(entry)[:-1]
    digest = _digest(before, body)
    return body + _KEY + digest.encode() + _END + b"\n", digest


def followed(before: str, line: bytes, chained: bool) -> tuple[str, bool]:
    """The digest that the line after this one is to follow, and whether any line had one until then.

    Lines of earlier versions state none; those at the beginning count all the same.
    """
    if stated := _stated(line):
        return stated, True
    return (before if chained else _digest(before, line.rstrip(b"\n"))), chained


def _stated(line: bytes) -> str:
    """The digest that a line states; empty for none."""
    end = line.rstrip(b"\n")
    stated = end[-_DIGEST - len(_END) : -len(_END)]
    whole = end.endswith(_END) and end[: -_DIGEST - len(_END)].endswith(_KEY)
    return stated.decode("ascii", "replace") if whole else ""


class Chain(NamedTuple):
    """What the digests of a log say.

    Parameters
    ----------
    lines : how many there are.
    broken : the numbers of lines that are not what was written after the line before them.
    unchained : how many lines at the beginning have no digest, as those of earlier versions.
    cut : whether the last line is not whole.
    head : the digest of the last line.
    at : the number of the line whose digest was asked for; None where there is none, 0 where none was.
    """

    lines: int
    broken: list[int]
    unchained: int
    cut: bool
    head: str
    at: int | None


def check_chain(path: Path, head: str = "") -> Chain:
    """Check the digests of a log.

    Parameters
    ----------
    head : a digest that was kept elsewhere.

    Raises
    ------
    DocumentError : the log cannot be read.
    """
    lines, unchained, cut, before, broken = 0, 0, False, "", list[int]()
    at = None if head else 0
    try:
        with path.open("rb") as file:
            for raw in file:
                if not raw.endswith(b"\n"):
                    cut = True
                    break
                lines += 1
                stated = _stated(raw)
                body = raw[: -len(_KEY) - _DIGEST - len(_END) - 1]
                if not stated and unchained == lines - 1:
                    unchained = lines
                elif stated != _digest(before, body):
                    broken.append(lines)
                before, _ = followed(before, raw, unchained < lines)
                at = lines if head and stated == head else at
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror}") from None
    return Chain(lines, broken, unchained, cut, before, at)


def _digest(before: str, body: bytes) -> str:
    return sha256(before.encode() + body).hexdigest()
