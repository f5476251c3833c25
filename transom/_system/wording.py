"""Numbers of things in sentences."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number and its noun: "1 job", "2,000 jobs"; ``plural`` where that is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
