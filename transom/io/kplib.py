"""kplib's plain text format of a 0-1 knapsack (github.com/likr/kplib)."""

from __future__ import annotations

import os

import numpy as np

from transom._system.wording import whole_number
from transom.errors import DocumentError, ModelError
from transom.io.opening import open_document
from transom.models import Knapsack
from transom.reading import whole


def read_kplib(path: str | os.PathLike[str]) -> Knapsack:
    """Read a ``.kp`` file: a line with n, one with the capacity, then n lines ``profit weight``.

    Blank lines do not count; the file may be compressed with gzip.

    Raises
    ------
    DocumentError : the file cannot be read or is not of that form; the message names the line.
    """
    name = os.fspath(path)
    rows: list[tuple[int, list[int]]] = []
    with open_document(path) as file:
        for number, line in enumerate(whole(file).splitlines(), 1):
            if line.strip():
                rows.append((number, _integers(line, f"{name}:{number}", 1 if len(rows) < 2 else 2)))
    if len(rows) < 2:
        raise DocumentError(f"{name}: expected a line with n and one with the capacity, got {len(rows)} lines")
    (number, (items,)), (_, (capacity,)) = rows[:2]
    if items != len(rows) - 2:
        raise DocumentError(f"{name}:{number}: n = {items}, but {len(rows) - 2} items follow")
    table = np.array([row for _, row in rows[2:]], np.int64).reshape(-1, 2)
    try:
        return Knapsack(table[:, 0], table[:, 1], capacity)
    except ModelError as error:
        raise DocumentError(f"{name}: {error}") from None


def _integers(line: bytes, where: str, count: int) -> list[int]:
    words = line.split()
    try:
        numbers = [whole_number(word.decode()) for word in words]
    except ValueError:
        shown = line.strip()[:40].decode("utf-8", "replace")
        raise DocumentError(f"{where}: expected {count} integers, got {shown!r}") from None
    if len(numbers) != count:
        raise DocumentError(f"{where}: expected {count} integers, got {len(numbers)}")
    for value in numbers:
        if not -(2**63) <= value < 2**63:
            raise DocumentError(f"{where}: {value} does not fit into 64 bits")
    return numbers
