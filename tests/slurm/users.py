"""Commands run by a user who is not root, also where the interpreter lies in a folder that only root may enter."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

import transom

_SCRIPT = r"""
stash=$1 uid=$2 gid=$3; shift 3
while [ "$1" != -- ]; do  # a closed folder, and what is needed of it: only that is to be seen
    closed=$1 needed=$2; shift 2
    mkdir -p "$stash$needed"
    mount --bind "$needed" "$stash$needed"
    grep -qxF "$closed" "$stash.closed" 2>/dev/null || printf '%s\n' "$closed" >>"$stash.closed"
    printf '%s\n' "$needed" >>"$stash.needed"
done
shift
if [ -e "$stash.closed" ]; then
    while read -r closed; do mount -t tmpfs -o mode=755 tmpfs "$closed"; done <"$stash.closed"
    while read -r needed; do mkdir -p "$needed"; mount --bind "$stash$needed" "$needed"; done <"$stash.needed"
    rm -f "$stash.closed" "$stash.needed"
fi
exec setpriv --reuid="$uid" --regid="$gid" --clear-groups "$@"
"""


def as_user(name: str, folder: Path) -> tuple[str, ...]:
    """What stands before a command that a user of this machine is to run, in a mount namespace of its own.

    Parameters
    ----------
    folder : where folders that the user could not enter are mounted meanwhile.
    """
    user = pwd.getpwnam(name)
    package = Path(transom.__file__).resolve().parents[1]
    paths = {Path(path).resolve() for path in (sys.base_prefix, sys.prefix, *_paths(), package)}
    needed = sorted(path for path in paths if paths.isdisjoint(path.parents))
    closed = [str(word) for path in needed if (at := _closed(path)) is not None for word in (at, path)]
    stash = str(folder / f"seen-{name}")
    return ("unshare", "--mount", "sh", "-ec", _SCRIPT, "sh", stash, str(user.pw_uid), str(user.pw_gid), *closed, "--")


def cannot(name: str, folder: Path) -> str | None:
    """Why a user of this machine cannot run Transom, or None."""
    try:
        command = [*as_user(name, folder), sys.executable, "-m", "transom", "--version"]
    except KeyError:
        return f"there is no user {name}"
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(folder), cwd="/")
    return None if done.returncode == 0 else f"user {name} cannot run transom: {done.stderr.strip()[-200:]}"


def environment(home: Path) -> dict[str, str]:
    """The variables of a user's process."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def _paths() -> list[str]:
    """Folders that modules come from."""
    return [path for path in sys.path if path and Path(path).is_dir()]


def _closed(path: Path) -> Path | None:
    """The topmost folder on the way to a path that others may not enter."""
    return next((at for at in (*reversed(path.parents), path) if not at.stat().st_mode & 0o001), None)
