"""OR-Library's plain text format of multi-dimensional knapsacks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from decimal import Decimal

import numpy as np

from transom.errors import DocumentError, ModelError
from transom.io.opening import open_document
from transom.models import Selection
from transom.reading import whole

_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?")
_COUNT = re.compile(r"[0-9]{1,9}")


def read_mknap(path: str | os.PathLike[str]) -> Iterator[tuple[str, Selection]]:
    """Read a file of problems: their number, then each of them.

    A problem is items, constraints, the optimum (0 if unknown; it is not used), profits, a row of weights for each
    constraint, and the capacities. Line breaks and blanks do not count; the file may be compressed with gzip. Decimals
    become whole numbers: profits by a scale that the problem states, a row of weights together with its capacity.

    Yields
    ------
    where : the file with the number of the problem, from 1 (``"mknapcb1.txt:3"``).
    selection : with one objective, the profits.

    Raises
    ------
    DocumentError : the file cannot be read or is not of that form; the message names the line.

    References
    ----------
    Beasley, Journal of the Operational Research Society 41 (1990). Chu, Beasley, Journal of Heuristics 4 (1998).
    """
    name = os.fspath(path)
    with open_document(path) as file:
        lines = whole(file).decode("utf-8", "replace").splitlines()
    words = iter([(number, word) for number, line in enumerate(lines, 1) for word in line.split()])

    def numbers(what: str, count: int, form: re.Pattern[str] = _NUMBER) -> list[Decimal]:
        found = []
        for _ in range(count):
            line, word = next(words, (len(lines), ""))
            if not form.fullmatch(word):
                raise DocumentError(f"{name}:{line}: expected {what}, got {word[:40]!r}" if word else short(what))
            found.append(Decimal(word))
        return found

    def count(what: str) -> int:
        return int(numbers(what, 1, _COUNT)[0])

    def short(what: str) -> str:
        return f"{name}:{max(1, len(lines))}: expected {what}, got the end of the file"

    problems = []
    for number in range(1, count("the number of problems") + 1):
        items, rows = count("the number of items"), count("the number of constraints")
        numbers("the optimum", 1)
        profits = numbers("a profit", items)
        weights = [numbers("a weight", items) for _ in range(rows)]
        capacity = numbers("a capacity", rows)
        where = f"{name}:{number}"
        values, scale = _whole(profits)
        table = [_whole([*row, most])[0] for row, most in zip(weights, capacity, strict=True)]
        try:
            demands = np.array(table, np.int64).reshape(rows, items + 1)
            selection = Selection(
                demands[:, :-1].T, demands[:, -1], np.array(values, np.int64)[:, None], terms=["profit"], scales=[scale]
            )
        except (ModelError, OverflowError) as error:
            raise DocumentError(f"{where}: {error}") from None
        problems.append((where, selection))
    if (left := next(words, None)) is not None:
        raise DocumentError(f"{name}:{left[0]}: expected the end of the file, got {left[1][:40]!r}")
    yield from problems


def _whole(row: list[Decimal]) -> tuple[list[int], int]:
    """The numbers times the least power of ten that makes them whole, and that power."""
    scale = 10 ** max(0, *(-int(each.normalize().as_tuple().exponent) for each in row), 0)
    return [int(each * scale) for each in row], scale
