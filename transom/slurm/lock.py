"""One process that acts on a Slurm at a time, of each user on each machine."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transom._system.trusted import HeldError, lock, make_folder
from transom.errors import SlurmError
from transom.slurm.commands import run_slurm

_log = logging.getLogger("transom")


@contextmanager
def alone(giving_back: bool = False) -> Iterator[None]:
    """Hold the lock of the Slurm of this machine. Its file is taken away at the end; one that was killed leaves it.

    It is in a folder that is the user's alone: ``transom`` in ``$XDG_STATE_HOME`` (``~/.local/state``), else in
    ``$XDG_RUNTIME_DIR``, which services and cron jobs do not have.

    Parameters
    ----------
    giving_back : go on, with a warning, where no lock can be had. One that a process of the user holds counts even so:
        it would take again what is given back.

    Raises
    ------
    SlurmError : another process holds it, no folder is the user's alone, or Slurm does not say its name.
    """
    lines = (line.split("=", 1) for line in run_slurm("scontrol", "show", "config").splitlines() if "=" in line)
    name = next((value.strip() for key, value in lines if key.strip() == "ClusterName"), "")
    if not name or "/" in name:
        raise SlurmError("scontrol show config: names no cluster")
    file, path, refused = None, Path(), []
    for folder in _folders():
        path = folder / f"slurm-{name}-{socket.gethostname()}.lock"
        try:
            make_folder(folder, private=True)
            file = lock(path, str(os.getpid()))
            break
        except HeldError as held:
            raise SlurmError(f"transom slurm run acts on {name} already (process {held}); {path}") from None
        except OSError as error:
            refused.append(f"{path}: {error.strerror or error}")
    if file is None:
        reason = "; ".join(refused)
        if not giving_back:
            raise SlurmError(f"no lock can be had, which keeps other processes from acting: {reason}")
        _log.warning(f"given back without a lock: {reason}")
        yield
        return
    try:
        yield
    finally:
        # While it is held: who has opened the file meanwhile finds that it is no longer that of the path.
        path.unlink(missing_ok=True)
        os.close(file)


def _folders() -> list[Path]:
    """Where the lock may be, best first: a folder that the sessions of a user have in common comes first."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return [each / "transom" for each in (state, Path(runtime) if runtime else None) if each is not None]
