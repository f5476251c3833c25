"""``transom train nsa``."""

from __future__ import annotations


def command() -> None:
    """Train."""
