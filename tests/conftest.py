"""Fixtures that everything shares."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def pytest_configure(config: pytest.Config) -> None:
    """Drop compiled functions that are older than any source.

    The compiler's cache knows the file a function stands in, not the files of what it calls.
    """
    if hasattr(config, "workerinput"):
        return  # the process that starts the workers has done it
    package = ROOT / "transom"
    compiled = [*package.rglob("*.nbi"), *package.rglob("*.nbc")]
    newest = max(path.stat().st_mtime for path in package.rglob("*.py"))
    if any(path.stat().st_mtime < newest for path in compiled):
        for path in compiled:
            path.unlink(missing_ok=True)


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
