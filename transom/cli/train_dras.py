"""``transom train dras``."""

from __future__ import annotations


def command() -> None:
    """Train."""
