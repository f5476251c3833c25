"""What was found while records were read: repairs by name, and records that could not be used."""

from __future__ import annotations

from dataclasses import dataclass, field

from transom.errors import TraceError, shown


@dataclass(slots=True)
class Findings:
    """Counts of what was changed or left out.

    Parameters
    ----------
    repairs : name -> number of records.
    records : how many there were, those that cannot be used included.
    bad : how many could not be used.
    first : the first of those: file, line, field and value.
    notes : what a reader should know beside the counts.
    """

    repairs: dict[str, int] = field(default_factory=dict)
    records: int = 0
    bad: int = 0
    first: str = ""
    notes: list[str] = field(default_factory=list)

    def count(self, what: str, number: int) -> None:
        """Add to a repair."""
        if number:
            self.repairs[what] = self.repairs.get(what, 0) + int(number)

    def refuse(self, where: str, why: str, number: int = 1) -> None:
        """Count records that cannot be used; ``where`` is the first of them."""
        self.first = self.first or f"{where}: {why}"
        self.bad += number

    def add(self, other: Findings) -> None:
        """Take in what was found elsewhere."""
        for what, number in other.repairs.items():
            self.count(what, number)
        for text in other.notes:
            self.note(text)
        self.first, self.bad, self.records = (
            self.first or other.first,
            self.bad + other.bad,
            self.records + other.records,
        )

    def note(self, text: str) -> None:
        """Say something once."""
        if text not in self.notes:
            self.notes.append(text)

    def check(self, share: float) -> None:
        """Refuse the whole where too many of its records cannot be used.

        Raises
        ------
        TraceError : more than this share of them.
        """
        if self.bad > share * self.records:
            of = f"{self.bad:,} of {self.records:,} records cannot be read (--bad {share:g} allows that share)"
            raise TraceError(f"{self.first}; {of}")


def quoted(value: object) -> str:
    """A value of a record, for a message on one line."""
    return shown(value).removeprefix("str ")
