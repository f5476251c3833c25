"""One process that acts on a Slurm at a time, of each user on each machine."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transom.errors import SlurmError
from transom.slurm.commands import run_slurm

_FOLDER = Path("/tmp")  # the same for a service, a login and a cron job of a user, whose environments differ


@contextmanager
def alone() -> Iterator[None]:
    """Hold the lock of the Slurm of this machine.

    Raises
    ------
    SlurmError : another process holds it, or Slurm does not say its name.
    """
    lines = (line.split("=", 1) for line in run_slurm("scontrol", "show", "config").splitlines() if "=" in line)
    name = next((value.strip() for key, value in lines if key.strip() == "ClusterName"), "")
    if not name or "/" in name:
        raise SlurmError("scontrol show config: names no cluster")
    path = _FOLDER / f"transom-slurm-{os.getuid()}-{name}.lock"
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise SlurmError(f"{path}: cannot be locked: {error.strerror}") from None
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            other = os.read(file, 20).decode(errors="replace").strip()
            raise SlurmError(f"transom slurm run acts on {name} already (process {other}); {path}") from None
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode())
        yield
    finally:
        os.close(file)
