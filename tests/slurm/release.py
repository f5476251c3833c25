"""Whose Slurm the tests run: this machine's, or that of the root of another release of Debian.

``debootstrap --variant=minbase trixie FOLDER`` and ``apt-get install`` in it make such a root (CONTRIBUTING.md).
Daemons run inside it, by chroot. Commands run outside, by the root's own loader and libraries: who is not root runs
them, too, and they see the same files and processes as Transom.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

NAME = "TRANSOM_SLURM_ROOT"
"""The environment variable that names the root."""

COMMANDS = ("sbatch", "scancel", "scontrol", "sinfo", "squeue", "sacct", "sacctmgr", "slurmrestd")
_PLACES = ("usr/bin", "usr/sbin")
_LIBRARIES = "usr/lib/x86_64-linux-gnu"
_PLUGINS = f"{_LIBRARIES}/slurm-wlm"
_LOADER = "lib64/ld-linux-x86-64.so.2"


@dataclass(frozen=True)
class Release:
    """Programs of one Slurm.

    Parameters
    ----------
    root : the folder they are in; None for this machine.
    """

    root: Path | None = None

    @property
    def where(self) -> str:
        """Words that say where, for messages."""
        return f" in {self.root}" if self.root else ""

    def program(self, name: str) -> str | None:
        """The path of a program, or None."""
        if self.root is None:
            return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
        return next((str(path) for each in _PLACES if os.path.lexists(path := self.root / each / name)), None)

    @cached_property
    def version(self) -> tuple[int, int]:
        """Year and month of the release: ``(24, 11)``."""
        command = [*shlex.split(self.inside), "slurmctld" if self.root else self.program("slurmctld") or "", "-V"]
        told = subprocess.run(command, capture_output=True, text=True, check=True)
        found = re.search(r"(\d+)\.(\d+)", told.stdout)
        assert found is not None, told.stdout
        return int(found[1]), int(found[2])

    @property
    def settings(self) -> dict[str, str]:
        """Lines of ``slurm.conf`` that only this release needs."""
        return {"PluginDir": str(self.root / _PLUGINS)} if self.root else {}

    @property
    def cgroup(self) -> str:
        """``cgroup.conf`` for a machine on which daemons may not make groups."""
        return "CgroupPlugin=disabled\n" if self.version >= (23, 11) else "CgroupAutomount=no\n"

    @property
    def inside(self) -> str:
        """What starts a daemon, before its name."""
        return f"chroot {shlex.quote(str(self.root))}" if self.root else ""

    def mounts(self, folder: Path) -> str:
        """Shell commands that show the folder of a cluster, this machine's users, and the root under its own name.

        They run in a namespace of their own: nothing of this is left when it ends.
        """
        if self.root is None:
            return ""
        root, here = shlex.quote(str(self.root)), shlex.quote(str(folder))
        return f"""
set -e
mount -t tmpfs tmpfs {root}/tmp
mkdir -p {root}{root} {root}{here}
mount --bind {root} {root}{root}
mount --bind {here} {root}{here}
mount -t proc proc {root}/proc
mount --rbind /dev {root}/dev
for each in hosts passwd group; do
    touch {root}/etc/$each
    mount --bind /etc/$each {root}/etc/$each
done
set +e"""

    def path(self, folder: Path) -> str:
        """The ``PATH`` on which the commands are found."""
        first = f"{folder / 'bin'}:" if self.root else ""
        return f"{first}{os.environ.get('PATH', '')}:/usr/sbin:/sbin"

    def write_commands(self, folder: Path) -> None:
        """Write a script for each command into ``bin`` of a cluster's folder."""
        if self.root is None:
            return
        (folder / "bin").mkdir()
        for name in COMMANDS:
            script = folder / "bin" / name
            script.write_text(f'#!/bin/sh\nexec {shlex.join(self._start(name))} "$@"\n')
            script.chmod(0o755)

    def _start(self, name: str) -> list[str]:
        if self.root is None:
            return [self.program(name) or name]
        libraries = f"{self.root / _LIBRARIES}:{self.root / _PLUGINS}"
        command = [str(self.root / _LOADER), "--argv0", name, "--library-path", libraries]
        return [*command, self.program(name) or name]


def other_release() -> Release | None:
    """The release whose root the environment names."""
    root = os.environ.get(NAME)
    return Release(Path(root).resolve()) if root else None
