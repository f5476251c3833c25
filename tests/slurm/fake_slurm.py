"""A Slurm whose looks a test states, and which keeps the updates that it was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import pytest

from transom.errors import SlurmError
from transom.slurm import actions
from transom.slurm.audit import Audit
from transom.slurm.state import SlurmState, read_answers

NOW = 1767262200


class Looker(Protocol):
    """What looks at Slurm and acts."""

    def look(self) -> None:
        """Look once."""


class FakeSlurm:
    """Looks that a test states, and the updates that Slurm was asked for, without the times that they state."""

    looker: Looker

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, told_from: int = 1) -> None:
        self.told_from = told_from  # the word of a command that updates are told from
        self.folder, self.audit, self.updates = folder, Audit(folder / "audit.jsonl"), list[str]()
        self.state, self.refused = SlurmState(), False
        monkeypatch.setattr(actions, "run_slurm", self.run)

    def run(self, *command: str) -> str:
        """An update, in a command's words."""
        self.updates.append(" ".join(command[self.told_from :]).split(" StartTime")[0])
        if self.refused:
            raise SlurmError("Job is no longer pending execution")
        return ""

    def look(self, jobs: Sequence[str], idle: str, after: int = 0) -> list[str]:
        """One look at these jobs and idle nodes out of four; the updates that it came to."""
        text = "".join(f"{job}\n" for job in jobs)
        for i in range(4):
            states = ("IDLE", 0) if str(i) in idle else ("ALLOCATED", 4)
            text += f"NodeName=n{i} State={states[0]} CPUTot=4 CPUAlloc={states[1]} Partitions=p\n"
        (self.folder / "answers.txt").write_text(text)
        self.state, self.updates = read_answers([self.folder / "answers.txt"], NOW + after), []
        self.looker.look()
        return self.updates
