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
    """Hold the lock of the Slurm of this machine. Its file is taken away at the end; one that was killed leaves it.

    Raises
    ------
    SlurmError : another process holds it, or Slurm does not say its name.
    """
    lines = (line.split("=", 1) for line in run_slurm("scontrol", "show", "config").splitlines() if "=" in line)
    name = next((value.strip() for key, value in lines if key.strip() == "ClusterName"), "")
    if not name or "/" in name:
        raise SlurmError("scontrol show config: names no cluster")
    path = _FOLDER / f"transom-slurm-{os.getuid()}-{name}.lock"
    file = _locked(path, name)
    try:
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode())
        yield
    finally:
        # While it is held: who has opened the file meanwhile finds that it is no longer that of the path.
        path.unlink(missing_ok=True)
        os.close(file)


def _locked(path: Path, name: str) -> int:
    """The lock of a cluster: a file that is locked and still stands where it was opened."""
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise SlurmError(f"{path}: cannot be locked: {error.strerror}") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file), path.lstat()):
                return file
        except FileNotFoundError:
            pass  # the process that held it has just ended, and took it away
        except OSError:
            other = os.read(file, 20).decode(errors="replace").strip()
            os.close(file)
            raise SlurmError(f"transom slurm run acts on {name} already (process {other}); {path}") from None
        os.close(file)
