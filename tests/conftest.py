"""Fixtures that everything shares."""

from __future__ import annotations

import gc
import os
import signal
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The first call of a kernel compiles it, and others may hold the processor: times say nothing.
_PLAIN = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]}
settings.register_profile("same", derandomize=True, **_PLAIN)
settings.register_profile("other", **_PLAIN)
settings.load_profile("same")

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


_APART = {"test_compiling.py", "test_docs.py", "test_every_command.py", "test_faults.py", "test_instances.py"}


def pytest_configure(config: pytest.Config) -> None:
    """Draw the same examples each time; ``-m long`` draws others, so that what they find is not found by chance."""
    settings.load_profile("other" if config.getoption("markexpr") == "long" else "same")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file for ``-m fast`` that marks nothing so: most of the time of these few tests would go there."""
    if config.getoption("markexpr") != "fast" or not collection_path.name.startswith("test_"):
        return None
    return None if collection_path.is_dir() or "mark.fast" in collection_path.read_text(encoding="utf-8") else True


def pytest_sessionstart(session: pytest.Session) -> None:
    """Import a share of all tests first, if several processes run them.

    pytest takes fifteen seconds to rewrite the assertions of all files, and keeps what it has made. Each process would
    rewrite the same files at the same time; so each makes what the others read as they collect.
    """
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if processes == 1 or session.config.args != session.config.getini("testpaths"):
        return
    own = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
    for path in sorted((ROOT / "tests").rglob("test_*.py"))[own::processes]:
        # Whatever keeps a file from being imported does so again when it is collected, which reports it.
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a file on one worker, where they load the same kernels and share what is prepared.

    Files that take long and share nothing are dealt out test by test. Tests with a real Slurm mostly wait for it: all
    are of one worker, beside which the others keep the cores busy.
    """
    for item in items:
        inside = item.path.relative_to(ROOT / "tests").parts
        if inside[-1] not in _APART and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group("slurm" if inside[0] == "slurm" else "/".join(inside)))
    if "PYTEST_XDIST_WORKER" in os.environ:
        # Groups of as many tests are dealt out in this order: of the single ones the long come first, not at the end.
        items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish() -> None:
    """Leave what has been imported out of every later garbage collection, which takes a second each time otherwise."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)  # as the command line does: compiling and importing make many objects and little garbage
