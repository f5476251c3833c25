"""``transom slurm run`` as a process of its own, beside an emulated Slurm."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

from tests.slurm.cluster import STARTUP, EmulatedSlurm
from transom.slurm.audit import read_audit


class Drive:
    """A run that acts, and ends with the block: in order, or by :meth:`kill`.

    Parameters
    ----------
    by : what stands before the command, such as :func:`tests.slurm.users.as_user`.
    folder : where the log goes; that of the Slurm unless given.
    """

    def __init__(
        self,
        slurm: EmulatedSlurm,
        *options: str,
        by: tuple[str, ...] = (),
        folder: Path | None = None,
        **environment: str,
    ) -> None:
        self.slurm, self.audit = slurm, (folder or slurm.folder) / "audit.jsonl"
        mode = () if "--mode" in options else ("--mode", "drive")
        command = [*by, sys.executable, "-m", "transom", "slurm", "run", *mode, "--act", "--every", "0.2"]
        self._errors = (slurm.folder / "run.log").open("a")
        self.process = subprocess.Popen(
            [*command, "--audit", str(self.audit), *options],
            env={**slurm.environment, "NUMBA_DISABLE_JIT": "1", **environment},
            stdout=self._errors,
            stderr=self._errors,
        )

    def __enter__(self) -> Drive:
        self.slurm.wait(lambda: self.guardian is not None or self.process.poll() is not None, "the run acts")
        assert self.process.poll() is None, self.said
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.wake()
            self.process.wait(STARTUP)
        self._errors.close()

    def hang(self) -> None:
        """Stop the run in its tracks."""
        self.process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Let a run that hangs go on."""
        self.process.send_signal(signal.SIGCONT)

    def let_the_lease_pass(self) -> None:
        """Make the last sign of life one of long ago."""
        os.utime(self.audit.with_name("audit.jsonl.heartbeat"), (0, 0))

    def kill(self) -> None:
        """Kill the run, and not its guardian."""
        self._kill(self.process.pid)
        self.process.wait()

    @property
    def said(self) -> str:
        """What it printed."""
        return (self.slurm.folder / "run.log").read_text()

    @property
    def guardian(self) -> int | None:
        """The process that stands guard."""
        path = self.audit.with_name("audit.jsonl.guardian")
        text = path.read_text() if path.exists() else ""
        return int(text) if text else None

    def kill_guardian(self) -> None:
        """Kill the second process, too."""
        if self.guardian is not None:
            self._kill(self.guardian)

    def _kill(self, pid: int) -> None:
        """Stop a process where it is, kill it, and wait for the command of Slurm that it has left behind, if any."""
        process = psutil.Process(pid)
        process.suspend()
        stopped = (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)
        self.slurm.wait(lambda: process.status() in stopped, "the process has stopped")
        commands = [each for each in process.children() if each.pid != self.guardian]
        process.kill()
        self.slurm.wait(lambda: not any(map(_runs, commands)), "the command of Slurm has ended")

    def dismiss_guardian(self) -> None:
        """End the second process of a run that was killed."""
        self.audit.with_name("audit.jsonl.guardian").unlink(missing_ok=True)

    def lines(self, kind: str) -> list[dict[str, Any]]:
        """Lines of the audit log."""
        return [line for line in read_audit(self.audit) if line["kind"] == kind]


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def asked_nodes(audit: Path) -> dict[str, str]:
    """The nodes that each job was asked to start on, or told to take, the last time that Slurm did not refuse."""
    refused = {line["number"] for line in read_audit(audit) if line["kind"] == "done" and not line["well"]}
    acts = [line for line in read_audit(audit) if line["kind"] == "act" and line["action"] in ("start", "place")]
    return {line["jobs"][0]: line["nodes"] for line in acts if line["number"] not in refused}
