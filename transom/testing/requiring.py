"""A condition that must hold, whether or not Python is run with assertions."""

from __future__ import annotations


def require(condition: object, message: str) -> None:
    """Go on if the condition holds.

    Raises
    ------
    AssertionError : it does not; the message says what was expected.
    """
    if not condition:
        raise AssertionError(message)
