"""Real Slurms for tests, each of its own; skipped with a reason where none can be started."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.slurm.cluster import EmulatedSlurm, missing


@pytest.fixture
def emulated_slurm() -> Iterator[Callable[..., EmulatedSlurm]]:
    """Starts a Slurm with the settings of :class:`~tests.slurm.cluster.EmulatedSlurm`; it ends with the test."""
    with ExitStack() as open_ones:

        def start(**settings: Any) -> EmulatedSlurm:
            if (why := missing(settings.get("speed", 1))) is not None:
                pytest.skip(why)
            folder = Path(open_ones.enter_context(tempfile.TemporaryDirectory(prefix="slurm")))
            folder.chmod(0o755)  # the daemons of jobs of other users look into it
            return open_ones.enter_context(EmulatedSlurm(folder, **settings))

        yield start
