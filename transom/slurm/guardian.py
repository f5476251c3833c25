"""The second process of a run: gives all jobs back when the first one has shown no sign of life for a lease.

It also gives back what arrives held afterwards, if it knows which jobs are selected. It ends when its name is no
longer in its file: when the first process has ended in order, or another one has begun. Signs of life are told by
their changes on a clock that nobody sets: that of the machine may be set back.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from transom._system.files import atomic_write
from transom._system.signals import uninterrupted
from transom.errors import TransomError
from transom.slurm.audit import Audit
from transom.slurm.giving_back import give_all_back
from transom.slurm.selector import Selector
from transom.traces.records.slurm_text.jobs import SlurmJob

_LONGEST = 2.0  # between two looks [s]


def heartbeat_of(audit: Path) -> Path:
    """The file whose time changes with every sign of life. That of 1970 says that there is none any more."""
    return audit.with_name(f"{audit.name}.heartbeat")


def guardian_of(audit: Path) -> Path:
    """The file that names the process that stands guard."""
    return audit.with_name(f"{audit.name}.guardian")


class Guarded:
    """The side of the first process: signs of life, and a second process as long as there is none.

    Parameters
    ----------
    audit, lease, partition, selects : as of :func:`watch`.
    """

    def __init__(self, audit: Path, lease: float, partition: str, selects: tuple[str, ...]) -> None:
        self._arguments = audit, lease, partition, selects
        heartbeat_of(audit).touch()
        self._process = stand_guard(*self._arguments)

    def beat(self) -> None:
        """Give a sign of life; if the second process has died, start another."""
        heartbeat_of(self._arguments[0]).touch()
        if self._process.poll() is not None:
            with uninterrupted():
                self._process = stand_guard(*self._arguments)

    def end(self) -> None:
        """Dismiss the second process, and wait until it is gone."""
        dismiss(self._arguments[0])
        self._process.terminate()
        self._process.wait()


def stand_guard(audit: Path, lease: float, partition: str, selects: tuple[str, ...]) -> subprocess.Popen[bytes]:
    """Start the process; it outlives this one."""
    return subprocess.Popen(
        [sys.executable, "-m", "transom.slurm.guardian", str(audit), str(lease), partition, *selects],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


def dismiss(audit: Path) -> None:
    """Have the process end."""
    guardian_of(audit).unlink(missing_ok=True)


def watch(audit: Path, lease: float, partition: str, selects: tuple[str, ...]) -> None:
    """Watch the heartbeat until somebody else does."""
    selector, name, user = Selector(selects) if selects else None, str(os.getpid()), os.getuid()
    with atomic_write(guardian_of(audit), "w") as file:
        file.write(name)
    log, beat, since = Audit(audit, insist=False), -1, time.monotonic()

    def takes(job: SlurmJob) -> bool:
        return selector is not None and selector.takes_hold(job, partition, user)

    while guardian_of(audit).exists() and guardian_of(audit).read_text() == name:
        with suppress(FileNotFoundError):
            if (now := heartbeat_of(audit).stat().st_mtime_ns) != beat:
                beat, since = now, time.monotonic()
        with suppress(TransomError):
            if beat == 0 or time.monotonic() - since > lease:
                give_all_back(log, takes)
        time.sleep(min(lease / 4, _LONGEST))


if __name__ == "__main__":
    watch(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3], tuple(sys.argv[4:]))
