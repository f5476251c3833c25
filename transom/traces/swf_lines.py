"""The lines of a file in Standard Workload Format as numbers; what is not a number is named.

References
----------
Chapin et al., Benchmarks and standards for the evaluation of parallel job schedulers, JSSPP 1999,
section 2.2; version 2.2 of the format in the Parallel Workloads Archive.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from transom.errors import TraceError
from transom.models._arrays import IntArray

FIELDS = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
"""The 18 fields of a line, in order."""

READ = (0, 1, 3, 4, 7, 8, 10, 11, 16)
"""Positions of the fields that become columns; they must be whole, the others only numbers."""

_UNREAD = tuple(i for i in range(len(FIELDS)) if i not in READ)
_CHUNK = 20_000  # lines at once: the tokens of a whole file would take ten times its size
_LIMIT = 2.0**63

_Row = list[bytes]


def parse_lines(data: bytes, path: str) -> tuple[IntArray, IntArray]:
    """The fields in :data:`READ` of every job line, and where the lines stand.

    Parameters
    ----------
    data : the content of the file. Lines that start with ``;`` are comments.
    path : its name, for error messages.

    Returns
    -------
    Fields, shape ``(jobs, len(READ))``, and line numbers from 1, shape ``(jobs,)``.

    Raises
    ------
    TraceError : a line has not 18 fields, or a field is not a finite number below 2**63, or not a
        whole number where a whole one is needed; the first such line is named.
    """
    lines = data.splitlines()
    columns, numbers = [], []
    for first in range(0, len(lines), _CHUNK):
        chunk = enumerate(lines[first : first + _CHUNK], first + 1)
        jobs = [(n, line) for n, line in chunk if line.strip() and not line.lstrip().startswith(b";")]
        if not jobs:
            continue
        rows = [line.split() for _, line in jobs]
        try:
            if any(b"_" in line for _, line in jobs):  # int() and float() would take 1_000 for a number
                raise ValueError("underscore")
            columns.append(_columns(rows))
        except (ValueError, OverflowError):
            _diagnose(rows, [n for n, _ in jobs], path)
            raise
        numbers.append(np.array([n for n, _ in jobs], dtype=np.int64))
    if not columns:
        return np.empty((0, len(READ)), dtype=np.int64), np.empty(0, dtype=np.int64)
    return np.concatenate(columns), np.concatenate(numbers)


def _columns(rows: Sequence[_Row]) -> IntArray:
    # Whole columns at a time: this is what makes long traces fast. Any trouble is left to _diagnose.
    if set(map(len, rows)) != {len(FIELDS)}:
        raise ValueError("number of fields")
    columns = list(zip(*rows, strict=True))
    for i in _UNREAD:
        for token in set(columns[i]):
            _check_number(token)
    return np.array([_wholes(columns[i]) for i in READ], dtype=np.int64).T


def _wholes(tokens: Sequence[bytes]) -> list[int]:
    try:
        return list(map(int, tokens))
    except ValueError:
        return [_whole(token) for token in tokens]


def _check_number(token: bytes) -> None:
    number = float(token)
    if not math.isfinite(number) or abs(number) >= _LIMIT:
        raise ValueError(token)


def _whole(token: bytes) -> int:
    try:
        return int(token)
    except ValueError:
        number = float(token)
        if not number.is_integer():
            raise
        return int(number)


def _diagnose(rows: Sequence[_Row], numbers: Sequence[int], path: str) -> None:
    for row, line in zip(rows, numbers, strict=True):
        where = f"{path}: line {line}"
        if len(row) != len(FIELDS):
            raise TraceError(f"{where}: expected {len(FIELDS)} fields, got {len(row)}")
        for i, token in enumerate(row):
            problem = _problem(token, whole=i in READ)
            if problem:
                text = token.decode("latin-1")
                shown = repr(text if len(text) <= 30 else f"{text[:30]}...")
                raise TraceError(f"{where}: field {i + 1} ({FIELDS[i]}) {problem}, got {shown}")


def _problem(token: bytes, whole: bool) -> str | None:
    try:
        number = float(token.replace(b"_", b"?"))
    except ValueError:
        return "must be a number"
    if not math.isfinite(number):
        # Too many digits for a float, or the word itself.
        return "does not fit into 63 bits" if token.strip(b"+-")[:1].isdigit() else "must be finite"
    if abs(number) >= _LIMIT:
        return "does not fit into 63 bits"
    if whole and not number.is_integer():
        return "must be a whole number"
    return None
