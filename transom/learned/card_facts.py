"""What the settings of a card must be; what does not fit is one line that names the field."""

from __future__ import annotations

from typing import Any

from transom.errors import DocumentError


def must(field: str, said: Any, holds: bool, wanted: str) -> None:
    """Refuse a fact that is not what it must be.

    Raises
    ------
    DocumentError : it does not hold.
    """
    if not holds:
        shown = ascii(said)
        raise DocumentError(f"card: {field} must be {wanted}, got {shown if len(shown) <= 80 else f'{shown[:77]}...'}")


def whole(field: str, said: Any, least: int = 1, most: int = 1_000_000) -> int:
    """A fact that must be a whole number within limits.

    Raises
    ------
    DocumentError : it is something else.
    """
    must(field, said, type(said) is int and least <= said <= most, f"a whole number from {least} to {most}")
    return int(said)
