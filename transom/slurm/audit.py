"""The audit log: a line of JSON before each action, one after it, and each decision with what was seen.

Lines are appended and on disk before the action is carried out. A line that a killed process has left unfinished
is closed by the next one and not counted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from transom.errors import DocumentError, SlurmBusyError, SlurmError

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
        self._count, self._others = 0, False
        if path.stat().st_size and path.read_bytes()[-1:] != b"\n":
            os.write(self._file, b"\n")  # ends what a killed process has left
        self._end = os.fstat(self._file).st_size

    def write(self, kind: str, **facts: object) -> None:
        """Append a line with the time of our clock [s since 1970], and wait until it is on disk."""
        at = round(time.time(), 3)
        line = msgspec.json.encode({"format": FORMAT, "kind": kind, "at": at, "process": os.getpid(), **facts}) + b"\n"
        os.write(self._file, line)
        os.fsync(self._file)
        end = os.lseek(self._file, 0, os.SEEK_CUR)
        self._others |= end != self._end + len(line)
        self._end = end

    @property
    def others_wrote(self) -> bool:
        """Whether another process has appended lines since :meth:`catch_up`, as one that gives all jobs back."""
        return self._others or os.fstat(self._file).st_size != self._end

    def catch_up(self) -> Ledger:
        """What the log says now, with the lines of others."""
        self._others, self._end = False, os.fstat(self._file).st_size
        return read_ledger(self.path)

    def act(self, action: str, jobs: list[str], carry_out: Callable[[], None], **facts: object) -> bool:
        """Carry an action out between two lines; False if Slurm refused it, which the second line says.

        Raises
        ------
        SlurmBusyError : Slurm does not answer; the second line says so, and that nobody knows whether it was done.
        """
        self._count += 1
        number = f"{os.getpid()}-{self._count}"
        self.write("act", number=number, action=action, jobs=jobs, **facts)
        try:
            carry_out()
        except SlurmError as error:
            busy = isinstance(error, SlurmBusyError)
            self.write("done", number=number, well=False, unknown=busy, why=str(error))
            if busy:
                raise
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
            entry = msgspec.json.decode(line) if line.strip() else None
        except msgspec.DecodeError:
            entry = None
            if not known:
                raise DocumentError(f"{path}:{number}: is no audit log") from None
        if entry is None:
            continue
        if not isinstance(entry, dict) or entry.get("format") != FORMAT:
            raise DocumentError(f"{path}:{number}: expected a line of {FORMAT}")
        known = True
        yield entry


class Ledger(NamedTuple):
    """What a log says of jobs that were not given back: the ends of their leases [s since 1970], the nodes on which
    some of them were asked to start, those that were left alone because somebody held or named them again, site
    factors, all nodes that each job was given to take since it had none, and the jobs of which nobody knows whether
    their holds became leases."""

    leases: dict[str, int]
    started: dict[str, str]
    left: set[str]
    factors: dict[str, int]
    placed: dict[str, list[str]]
    half: set[str]


def read_ledger(path: Path) -> Ledger:
    """The ledger of a log; empty where there is none.

    Raises
    ------
    DocumentError : the file is no audit log.
    """
    found = Ledger({}, {}, set(), {}, {}, set())
    adopting: dict[str, dict[str, Any]] = {}
    for line in read_audit(path) if path.exists() else ():
        if line["kind"] == "done" and line["well"] and line["number"] in adopting:
            adopted = adopting.pop(line["number"])
            found.half.difference_update(adopted["jobs"])
            found.leases.update(dict.fromkeys(adopted["jobs"], adopted["until"]))
        if line["kind"] != "act":
            continue
        if line["action"] == "adopt":
            adopting[line["number"]] = line
            found.half.update(line["jobs"])
            found.left.difference_update(line["jobs"])
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
            found.half.discard(name)
            if line["action"] == "start":
                found.started[name] = line["nodes"]
            elif "until" in line:
                found.leases[name] = line["until"]
            else:
                found.leases.pop(name, None)
                if line["action"] == "leave":
                    found.left.add(name)
    return found
