"""The index of a result store: the last attempt of each key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from transom._system.journal import read_lines
from transom.bench.plan.task import Outcome, Row
from transom.bench.store.parquet import read_parts
from transom.errors import DocumentError

_ROW = msgspec.json.Decoder(Row)


class Entry(NamedTuple):
    """The last attempt of a key: outcome, status, solver name, and a hash of code and versions."""

    outcome: Outcome
    status: str
    attempt: int
    digest: int  # of code and versions
    name: str
    weights: str


class ResultIndex:
    """The last attempt of every key of a store; nothing else is kept in memory. Reading takes no lock.

    Parameters
    ----------
    folder : of the store; one that does not exist holds nothing.

    Raises
    ------
    DocumentError : a file is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._entries: dict[str, Entry] = {}
        self._shared: dict[Entry, Entry] = {}
        self.journal_rows = 0
        # The journal first: what becomes a part meanwhile is then read twice, and not lost.
        for row in journal_rows(folder / "journal.jsonl"):
            self.journal_rows += 1
            self.add(row)
        columns = ("key", "name", "outcome", "status", "attempt", "code", "versions", "weights")
        for table in read_parts(folder, columns):
            digests: dict[tuple[str, str], int] = {}
            for key, name, outcome, status, attempt, code, versions, weights in table.select(columns).iter_rows():
                made = (code or "", versions or "{}")
                if made not in digests:
                    digests[made] = made_by(made[0], msgspec.json.decode(made[1]))
                entry = Entry(outcome, status or "unknown", attempt or 1, digests[made], name, weights or "")
                self._remember(key, entry)

    def outcomes(self) -> dict[str, Outcome]:
        """The outcome of the last attempt of every key."""
        return {key: entry.outcome for key, entry in self._entries.items()}

    def find(self, key: str) -> Entry | None:
        """The entry of a key, or None."""
        return self._entries.get(key)

    def add(self, row: Row) -> None:
        """Add a row."""
        digest = made_by(row.code, row.versions)
        self._remember(row.key, Entry(row.outcome, row.status, row.attempt, digest, row.name, row.weights))

    def _remember(self, key: str, entry: Entry) -> None:
        known = self._entries.get(key)
        if known is None or known.attempt <= entry.attempt:
            self._entries[key] = self._shared.setdefault(entry, entry)


def made_by(code: str, versions: dict[str, str]) -> int:
    """A hash of code and versions."""
    return hash((code, *sorted(versions.items())))


def journal_rows(path: Path) -> Iterator[Row]:
    """The rows of a journal, one at a time; one that is not there has none.

    Raises
    ------
    DocumentError : a line is damaged; the message names it.
    """
    try:
        for number, line in read_lines(path):
            try:
                yield _ROW.decode(line)
            except (msgspec.MsgspecError, ValueError) as error:
                raise DocumentError(
                    f"{path}:{number}: is damaged: {error}; without this line the rest is good"
                ) from None
    except FileNotFoundError:
        return
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror}") from None
