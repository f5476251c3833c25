"""One process that acts on a Slurm at a time, of each user on each machine."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transom._system.trusted import HeldError, lock, make_folder
from transom.errors import SlurmError
from transom.slurm.commands import run_slurm


@contextmanager
def alone(giving_back: bool = False, force: bool = False) -> Iterator[str]:
    """Hold the lock of the Slurm of this machine. Its file is taken away at the end; one that was killed leaves it.

    It is in a folder that is the user's alone: ``transom`` in ``$XDG_STATE_HOME`` (``~/.local/state``), else in
    ``$XDG_RUNTIME_DIR``, which services and cron jobs do not have.

    Parameters
    ----------
    giving_back : do without a lock where neither folder can be used. One that a process of the user holds counts even
        so: it would take again what is given back.
    force : do without a lock that such a process holds, too.

    Yields
    ------
    Why there is no lock; empty where it is held.

    Raises
    ------
    SlurmError : another process holds it, neither folder can be used, or Slurm does not say its name.
    """
    lines = (line.split("=", 1) for line in run_slurm("scontrol", "show", "config").splitlines() if "=" in line)
    name = next((value.strip() for key, value in lines if key.strip() == "ClusterName"), "")
    if not name or "/" in name:
        raise SlurmError("scontrol show config: names no cluster")
    refused = []
    for folder in _folders():
        path = folder / f"slurm-{name}-{socket.gethostname()}.lock"
        try:
            make_folder(folder, private=True)
            file = lock(path, str(os.getpid()))
        except HeldError as held:
            why = f"transom slurm run acts on {name} already (process {held}); {path}"
            if not force:
                raise SlurmError(why) from None
            yield why
            return
        except OSError as error:
            refused.append(f"{path}: {error.strerror or error}")
            continue
        try:
            yield ""
        finally:
            # While it is held: who has opened the file meanwhile finds that it is no longer that of the path.
            path.unlink(missing_ok=True)
            os.close(file)
        return
    why = f"no lock can be had, which keeps other processes from acting: {'; '.join(refused)}"
    if not giving_back and not force:
        raise SlurmError(why)
    yield why


def _folders() -> list[Path]:
    """Where the lock may be: first what the sessions of a user have in common."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return [Path(each, "transom") for each in (state, os.environ.get("XDG_RUNTIME_DIR")) if each]
