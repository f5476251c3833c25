"""A scheduler and workers as the command line of Dask starts them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def scheduler(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A scheduler of the command line on loopback, and its address."""
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if "Scheduler at:" in line:
                    yield process, line.split()[-1]
                    break
        finally:
            process.kill()


@contextmanager
def worker(address: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker of the command line, under a nanny, as Dask's defaults have it."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
    with subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(600)
