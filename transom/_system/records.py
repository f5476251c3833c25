"""Mutable numbers with names, which compiled functions read and write as attributes.

A tuple of arrays (:class:`typing.NamedTuple`) carries the arrays of a kernel; its numbers, such as where a search
stands, are in one record instead of numbered places of an array. A class states the fields and is never instantiated::

    class Progress:
        entry: int
        bound: float

    progress = record(Progress)
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_Fields = TypeVar("_Fields")
_TYPES = {"int": np.int64, "float": np.float64, "bool": np.bool_}


class Record(np.void):  # type: ignore[misc]  # NumPy's stubs call its base final; np.record inherits from it too
    """A record whose fields are attributes in plain Python too.

    NumPy's own looks up every attribute in Python code, which compiled functions would run to find where one lies, and
    lose Ctrl-C in there. This one does for names alone that are no attributes.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except ValueError:
            raise AttributeError(f"no field {name}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


def record(fields: type[_Fields]) -> _Fields:
    """One record of zeros, with the fields that a class annotates with ``int``, ``float`` or ``bool``."""
    one: _Fields = np.zeros(1, _layout(tuple(fields.__annotations__.items())))[0]
    return one


def records(fields: type, count: int) -> NDArray[Any]:
    """So many such records, shape ``(count,)``, with any numbers in them."""
    return np.empty(count, _layout(tuple(fields.__annotations__.items())))


@cache
def _layout(fields: tuple[tuple[str, str], ...]) -> np.dtype[Any]:
    # One for all records of these fields: the compiler knows it again by its identity, and looks closer at any other.
    taken = [name for name, _ in fields if hasattr(Record, name)]
    if taken:  # plain Python would read that instead
        raise TypeError(f"a record has attributes of its own named {', '.join(taken)}")
    kinds = [(name, _TYPES[kind]) for name, kind in fields]
    return np.dtype((Record, np.dtype(kinds, align=True)))
