"""Fixtures that everything shares."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import settings

# The first call of a kernel compiles it: the time of one example says nothing.
settings.register_profile("transom", deadline=None)
settings.load_profile("transom")

# A shell starts what runs behind it with Ctrl-C ignored, which our own processes would inherit: tests that interrupt
# them would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

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


_APART = {"bench", "cli", "io", "plot", "report", "traces", "test_docs.py", "test_instances.py", "test_compiling.py"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a file on one worker, where they compile the same kernels; others are dealt out one by one.

    Of those, files with a dear set-up name a group of their own (``xdist_group``), so that it is made once.
    """
    for item in items:
        inside = item.path.relative_to(ROOT / "tests").parts
        if inside[0] not in _APART and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group("/".join(inside)))
