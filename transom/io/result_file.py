"""A results file that grows while problems are solved and is always complete."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

from transom._system.files import atomic_write
from transom.errors import DocumentError
from transom.io import decode, encode, name_of, read_documents
from transom.result import Result
from transom.stop import Stop

_EVERY = 5.0  # seconds between two savings
_SHARE = 20  # and at least so many times what saving takes

Terms = tuple[str, str, Stop, int, int]
"""What a result depends on: digest of the instance, name of the solver, stop, seed, threads; and parameters."""


class ResultFile:
    """Results by what they depend on; saved atomically every few seconds and at the end.

    What stood in the file stays there; a result on the same terms takes the old one's place.

    Parameters
    ----------
    path : ``.jsonl`` or ``.jsonl.gz``, which need not exist.

    Raises
    ------
    DocumentError : the file exists and holds something else than results.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: list[bytes] = []
        self._parameters: list[Mapping[str, Any]] = []
        self._places: defaultdict[Terms, list[int]] = defaultdict(list)
        self._unsaved = False
        self._next = perf_counter() + _EVERY
        if path.exists() and path.stat().st_size:
            for where, document in read_documents(path):
                if not isinstance(document, Result):
                    raise DocumentError(f"{where}: holds {name_of(document)}, not a result")
                self._append(document)

    def find(self, terms: Terms, parameters: dict[str, Any]) -> Result | None:
        """The result on these terms, unless the solver failed."""
        place = self._place(terms, parameters)
        if place is None:
            return None
        found = decode(self._lines[place], str(self._path))
        assert isinstance(found, Result)
        return found if found.error is None else None

    def add(self, result: Result, parameters: dict[str, Any]) -> None:
        """Take in a result of a solver with ``parameters``; saved if the last time is long ago."""
        place = self._place(_terms(result), parameters)
        if place is None:
            self._append(result)
        else:
            self._lines[place] = encode(result)
            self._parameters[place] = result.parameters
        self._unsaved = True
        if perf_counter() >= self._next:
            self.save()

    def save(self) -> None:
        """Write the file, unless it is up to date."""
        if not self._unsaved:
            return
        began = perf_counter()
        with atomic_write(self._path, "wb") as file:
            file.writelines(line + b"\n" for line in self._lines)
        self._unsaved = False
        ended = perf_counter()
        self._next = ended + max(_EVERY, _SHARE * (ended - began))

    def _append(self, result: Result) -> None:
        self._places[_terms(result)].append(len(self._lines))
        self._lines.append(encode(result))
        self._parameters.append(result.parameters)

    def _place(self, terms: Terms, parameters: dict[str, Any]) -> int | None:
        for place in self._places.get(terms, ()):
            # A solver may have noted more than its parameters, such as the method it chose.
            noted = self._parameters[place]
            if all(name in noted and noted[name] == value for name, value in parameters.items()):
                return place
        return None


def _terms(result: Result) -> Terms:
    return result.instance, result.solver, result.stop, result.seed, result.threads
