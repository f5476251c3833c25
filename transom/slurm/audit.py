"""The audit log: a line of JSON before each action, one after it, and each decision with what was seen.

Lines are appended and on disk before the action is carried out. A line that a killed process has left unfinished
is closed by the next one and not counted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from transom.errors import DocumentError, SlurmError

FORMAT = "transom/audit/1"


class Audit:
    """An audit log that grows; several processes may append to it.

    Raises
    ------
    DocumentError : the file is none of Transom's audit logs.
    """

    def __init__(self, path: Path) -> None:
        if path.exists() and path.stat().st_size:
            next(read_audit(path), None)
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
        self._count = 0
        if path.stat().st_size:
            os.write(self._file, b"\n")  # ends what a killed process may have left

    def write(self, kind: str, **facts: object) -> None:
        """Append a line, and wait until it is on disk."""
        line = {"format": FORMAT, "kind": kind, "process": os.getpid(), **facts}
        os.write(self._file, msgspec.json.encode(line) + b"\n")
        os.fsync(self._file)

    def act(self, action: str, jobs: list[str], carry_out: Callable[[], None], **facts: object) -> bool:
        """Carry an action out between two lines; False if Slurm refused it, which the second line says."""
        self._count += 1
        number = f"{os.getpid()}-{self._count}"
        self.write("act", number=number, action=action, jobs=jobs, **facts)
        try:
            carry_out()
        except SlurmError as error:
            self.write("done", number=number, well=False, why=str(error))
            return False
        self.write("done", number=number, well=True)
        return True

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def read_audit(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a log that are whole.

    Raises
    ------
    DocumentError : the file cannot be read, or its first line is none of an audit log.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror}") from None
    known = False
    for number, line in enumerate(lines, 1):
        try:
            told = msgspec.json.decode(line) if line.strip() else None
        except msgspec.DecodeError:
            told = None
            if not known:
                raise DocumentError(f"{path}:{number}: is no audit log") from None
        if told is None:
            continue
        if not isinstance(told, dict) or told.get("format") != FORMAT:
            raise DocumentError(f"{path}:{number}: expected a line of {FORMAT}")
        known = True
        yield told


class Ledger(NamedTuple):
    """What a log says of jobs that were not given back: the ends of their leases [s since 1970], the nodes on which
    some of them were asked to start, those that were left alone because somebody held or named them again, site
    factors, and all nodes that each job was told to take since it had none."""

    leases: dict[str, int]
    started: dict[str, str]
    left: set[str]
    factors: dict[str, int]
    placed: dict[str, list[str]]


def read_ledger(path: Path) -> Ledger:
    """The ledger of a log; empty where there is none.

    Raises
    ------
    DocumentError : the file is no audit log.
    """
    found = Ledger({}, {}, set(), {}, {})
    for line in read_audit(path) if path.exists() else ():
        if line["kind"] != "act":
            continue
        if line["action"] == "nudge":
            found.factors.update(dict.fromkeys(line["jobs"], line["factor"]))
            continue
        if line["action"] == "place":
            for name in line["jobs"]:
                found.placed.setdefault(name, []).append(line["nodes"])
            continue
        for name in line["jobs"]:
            found.placed.pop(name, None)
            found.started.pop(name, None)
            if line["action"] == "start":
                found.started[name] = line["nodes"]
            elif "until" in line:
                found.leases[name] = line["until"]
            else:
                found.leases.pop(name, None)
                if line["action"] == "leave":
                    found.left.add(name)
    return found
