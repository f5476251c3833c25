"""Plain text formats of multi-objective knapsacks: Kirlik and Sayin's, Hadi's, Bergman's and Patel's."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

import numpy as np

from transom.errors import DocumentError, ModelError
from transom.io.opening import open_document
from transom.models import Selection
from transom.reading import whole

_WORD = re.compile(rb"[\[\],]|[^\s\[\],]+")
_INTEGER = re.compile(rb"[+-]?[0-9]{1,30}")


def read_mokp(path: str | os.PathLike[str]) -> Selection:
    """Read a file of any format: Kirlik's has brackets, Patel's and Bergman's the count of amounts they announce.

    Raises
    ------
    DocumentError : the file cannot be read or is of none of these forms; the message names the line.

    References
    ----------
    Bergman, Bodur, Cardonha, Cire, INFORMS Journal on Computing 34 (2022). Patel, Khalil, Bergman, Heuristic
    Multiobjective Discrete Optimization using Restricted Decision Diagrams (2026).
    """
    words = _words(path)
    if any(word.text == b"[" for word in words.words):
        return _kirlik(words)
    items, second, third = words.head()
    if items and len(words.words) == 3 + items * (second + 1):
        return _patel(words)
    if items and len(words.words) == 3 + third * items + second * (items + 1):
        return _bergman(words)
    return _hadi(words)


def read_kirlik(path: str | os.PathLike[str]) -> Selection:
    """Read objectives, items, capacity, profits ``[[...], ...]`` (a row an objective) and weights ``[...]``.

    Line breaks and blanks do not count; the file may be compressed with gzip.

    Raises
    ------
    DocumentError : the file cannot be read or is not of that form; the message names the line.

    References
    ----------
    Kirlik, Sayin, European Journal of Operational Research 232 (2014).
    """
    return _kirlik(_words(path))


def read_hadi(path: str | os.PathLike[str]) -> Selection:
    """Read items, two capacities, two rows of profits, stated as negative numbers, and two rows of weights.

    Line breaks and blanks do not count; the file may be compressed with gzip.

    Raises
    ------
    DocumentError : the file cannot be read or is not of that form; the message names the line.
    """
    return _hadi(_words(path))


def _patel(words: _Words) -> Selection:
    """Items, objectives, a row of profits each, a row of weights, and the capacity."""
    items, objectives = words.integer("the number of items", 0), words.integer("the number of objectives", 1)
    words.follow(items * (objectives + 1) + 1, f"{items} items have {objectives} profits and a weight each")
    profits = [[words.integer("a profit", 0) for _ in range(items)] for _ in range(objectives)]
    weights = [words.integer("a weight", 0) for _ in range(items)]
    return words.selection([weights], [words.integer("the capacity", 0)], profits)


def _bergman(words: _Words) -> Selection:
    """Items, constraints, objectives, a row of profits each, and rows of weights, each with its capacity."""
    items, rows = words.integer("the number of items", 0), words.integer("the number of constraints", 1)
    objectives = words.integer("the number of objectives", 1)
    words.follow(
        objectives * items + rows * (items + 1),
        f"{items} items have {objectives} profits and {rows} weights each, and there are {rows} capacities",
    )
    profits = [[words.integer("a profit", 0) for _ in range(items)] for _ in range(objectives)]
    weights, capacity = [], []
    for _ in range(rows):
        weights.append([words.integer("a weight", 0) for _ in range(items)])
        capacity.append(words.integer("a capacity", 0))
    return words.selection(weights, capacity, profits)


def _kirlik(words: _Words) -> Selection:
    objectives, items = words.integer("the number of objectives", 1), words.integer("the number of items", 0)
    capacity = words.integer("the capacity", 0)
    words.bracket(b"[")
    profits = []
    for row in range(objectives):
        if row:
            words.bracket(b",")
        profits.append(words.listed(f"row {row + 1} of the profits", items))
    words.bracket(b"]")
    weights = words.listed("the weights", items)
    return words.selection([weights], [capacity], profits)


def _hadi(words: _Words) -> Selection:
    items = words.integer("the number of items", 0)
    capacity = [words.integer(f"capacity {r}", 0) for r in (1, 2)]
    words.follow(4 * items, f"{items} items have two profits and two weights each")
    profits = [[-words.integer("a profit", None, 0) for _ in range(items)] for _ in (1, 2)]
    weights = [[words.integer("a weight", 0) for _ in range(items)] for _ in (1, 2)]
    return words.selection(weights, capacity, profits)


class _Word(NamedTuple):
    line: int
    text: bytes


class _Words:
    """The words of a file in a row, read one by one."""

    def __init__(self, name: str, words: list[_Word]) -> None:
        self.words = words
        self._name = name
        self._at = 0

    def integer(self, what: str, least: int | None, most: int = 2**63 - 1) -> int:
        word = self._next(what)
        where = f"{self._name}:{word.line}"
        if not _INTEGER.fullmatch(word.text):
            raise DocumentError(f"{where}: expected {what}, an integer, got {_quoted(word)!r}")
        value = int(word.text)
        if not -(2**63) <= value < 2**63:
            raise DocumentError(f"{where}: {value} does not fit into 64 bits")
        if least is not None and value < least:
            raise DocumentError(f"{where}: {what} must be >= {least}, got {value}")
        if value > most:
            raise DocumentError(f"{where}: {what} must be <= {most}, got {value}")
        return value

    def bracket(self, expected: bytes) -> None:
        """Pass a bracket or a comma."""
        word = self._next(repr(expected.decode()))
        if word.text != expected:
            raise DocumentError(f"{self._name}:{word.line}: expected {expected.decode()!r}, got {_quoted(word)!r}")

    def listed(self, what: str, items: int) -> list[int]:
        """``[a, b, ...]``: so many amounts."""
        line = self._next(f"{what} in brackets").line
        self._at -= 1
        self.bracket(b"[")
        values: list[int] = []
        while self._at < len(self.words) and self.words[self._at].text != b"]":
            if values:
                self.bracket(b",")
            values.append(self.integer(f"an amount in {what}", 0))
        self.bracket(b"]")
        if len(values) != items:
            raise DocumentError(f"{self._name}:{line}: {what} are {len(values)} amounts, but there are {items} items")
        return values

    def head(self) -> tuple[int, int, int]:
        """The first three amounts where they can announce how many follow; else zeros."""
        first = [int(word.text) for word in self.words[:3] if _INTEGER.fullmatch(word.text)]
        if len(first) < 3 or min(first) < 1 or any(word.text.startswith(b"-") for word in self.words):
            return 0, 0, 0
        return first[0], first[1], first[2]

    def follow(self, count: int, because: str) -> None:
        """Make sure that so many words are left."""
        left = len(self.words) - self._at
        if left != count:
            raise DocumentError(f"{self._name}: {because}, which is {count} amounts, but {left} follow")

    def selection(self, weights: list[list[int]], capacity: list[int], profits: list[list[int]]) -> Selection:
        """The selection of rows of weights and profits, at the end of the file."""
        if self._at < len(self.words):
            word = self.words[self._at]
            raise DocumentError(f"{self._name}:{word.line}: expected the end of the file, got {_quoted(word)!r}")
        items = len(weights[0])
        demands = np.array(weights, np.int64).reshape(len(weights), items).T
        objectives = np.array(profits, np.int64).reshape(len(profits), items).T
        try:
            return Selection(demands, np.array(capacity, np.int64), objectives)
        except ModelError as error:
            raise DocumentError(f"{self._name}: {error}") from None

    def _next(self, what: str) -> _Word:
        if self._at == len(self.words):
            line = self.words[-1].line if self.words else 1
            raise DocumentError(f"{self._name}:{line}: expected {what}, got the end of the file")
        self._at += 1
        return self.words[self._at - 1]


def _words(path: str | os.PathLike[str]) -> _Words:
    with open_document(path) as file:
        lines = enumerate(whole(file).splitlines(), 1)
    words = [_Word(number, text) for number, line in lines for text in _WORD.findall(line)]
    return _Words(os.fspath(path), words)


def _quoted(word: _Word) -> str:
    return word.text[:40].decode("utf-8", "replace")
