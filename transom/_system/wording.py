"""Numbers of things in sentences."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """A number and its noun: "1 job", "2,000 jobs"."""
    return f"{number:,} {noun if number == 1 else noun + 's'}"
