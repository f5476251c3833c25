"""Real Slurms for tests, each of its own; skipped with a reason where none can be started."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.slurm.cluster import EmulatedSlurm, missing
from tests.slurm.release import NAME, Release, other_release


@pytest.fixture(params=["here", pytest.param("root", marks=pytest.mark.long)])
def release(request: pytest.FixtureRequest) -> Release:
    """This machine's Slurm, and in long runs also that of the root of another release."""
    if request.param == "here":
        return Release()
    if (other := other_release()) is None:
        pytest.skip(f"{NAME} names no root with another release of Slurm")
    return other


@pytest.fixture
def emulated_slurm(release: Release) -> Iterator[Callable[..., EmulatedSlurm]]:
    """Starts a Slurm with the settings of :class:`~tests.slurm.cluster.EmulatedSlurm`; it ends with the test."""
    with ExitStack() as open_ones:

        def start(before: Callable[[Path], None] = lambda folder: None, **settings: Any) -> EmulatedSlurm:
            if (why := missing(settings.get("speed", 1), settings.get("account", False), release)) is not None:
                pytest.skip(why)
            folder = Path(open_ones.enter_context(tempfile.TemporaryDirectory(prefix="slurm")))
            folder.chmod(0o755)  # the daemons of jobs of other users look into it
            before(folder)
            slurm = EmulatedSlurm(folder, **settings, release=release)
            try:
                return open_ones.enter_context(slurm)
            except RuntimeError as error:
                if "slurmdbd did not start" in str(error):  # as with a library of MariaDB that this slurmdbd cannot use
                    pytest.skip(str(error))
                raise

        yield start
