"""Values of Slurm's answers: numbers and names of hosts."""

from __future__ import annotations

from typing import Any

from transom.errors import SlurmError
from transom.traces.records.hostlist import hosts
from transom.traces.records.slurm_text.documents import number_of

UNKNOWN = -1
"""What stands for a number or a time that is not reported; for a limit: there is none."""


def number(value: Any) -> int:
    """A whole number from all forms it has; :data:`UNKNOWN` for none, and for one without end."""
    found = number_of(value)
    if found is None or found == "UNLIMITED":
        return UNKNOWN
    try:
        return max(int(float(found)), UNKNOWN)
    except (ValueError, OverflowError):
        return UNKNOWN


def named_hosts(text: str) -> list[str]:
    """The names in one of Slurm's lists.

    Raises
    ------
    SlurmError : the list is damaged.
    """
    try:
        return hosts(text)
    except ValueError as error:
        raise SlurmError(f"Slurm's answer: {error}") from None
