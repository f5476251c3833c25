"""Fixtures that everything shares."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# The first call of a kernel compiles it: the time of one example says nothing.
settings.register_profile("transom", deadline=None)
settings.load_profile("transom")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference traces and instances beside the checkout; skips where it is absent."""
    folder = ROOT.parent / "shared"
    if not (folder / "traces").is_dir():
        pytest.skip("the reference data beside the checkout (../shared) is absent")
    return folder


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT
