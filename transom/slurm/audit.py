"""The audit log: a line of JSON before each action, one after it, and each decision with what was seen.

Lines are appended and on disk before the action is carried out. Each ends in a digest of itself and of the digest of
the line before it (``log/chain.py``). A line that a killed process or a full disk has left unfinished tells of nothing
that was done: the next line takes its place.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec

from transom._system.trusted import distrusted, make_folder, stands
from transom.errors import DocumentError, SlurmBusyError, SlurmError
from transom.slurm.log.chain import chained, followed
from transom.slurm.log.ledger import Ledger

FORMAT = "transom/audit/1"
_LOCKED = 5.0  # longest wait for another process that writes a line [s]


class Audit:
    """An audit log that grows; several processes may append to it.

    Parameters
    ----------
    path : a file in a folder that only this user may write.
    insist : whether a line that cannot be written, and a log that cannot be read, are errors. Giving jobs back does not
        insist: ``lost`` then says why lines are missing, and :meth:`catch_up` tells what could be read.

    Raises
    ------
    DocumentError : the file is none of Transom's audit logs, or somebody else could write it.
    OSError : it cannot be opened.
    """

    def __init__(self, path: Path, insist: bool = True) -> None:
        self.path, self.insist, self.lost, self.head = path, insist, "", ""
        self._ledger, self._count, self._others = Ledger(), 0, False
        self._end = self._lines = 0
        self._chained = False  # whether a line with a digest was read
        self._file: int | None = None
        self._known = False  # whether a line of an audit log was read
        self._begun = False  # whether all was read that stood there before: what comes now is whole
        try:
            self._file = _opened(path, insist)
            self._read_on()
        except (DocumentError, OSError) as error:
            self.close()
            if insist:
                raise
            self._lose(error)
        if self._lines and not self._known:
            self.close()  # nothing is written into what is something else
        self._others, self._begun = False, True

    def write(self, kind: str, **facts: object) -> None:
        """Append a line with the time of our clock [s since 1970], and wait until it is on disk.

        Raises
        ------
        OSError : it could not be written whole; the file is then as it was.
        """
        entry = {"format": FORMAT, "kind": kind, "at": round(time.time(), 3), "process": os.getpid(), **facts}
        try:
            self._append(entry)
        except OSError as error:
            if self.insist:
                raise OSError(error.errno, error.strerror, str(self.path)) from None
            self._lose(error)
        self._ledger.note(entry)

    @property
    def others_wrote(self) -> bool:
        """Whether another process has appended lines since :meth:`catch_up`, as one that gives all jobs back."""
        return self._others or (self._file is not None and os.fstat(self._file).st_size != self._end)

    def catch_up(self) -> Ledger:
        """What the log says now, with the lines of others.

        Raises
        ------
        DocumentError : it is damaged.
        """
        try:
            self._read_on()
        except (DocumentError, OSError) as error:
            if self.insist:
                raise
            self._lose(error)
        self._others = False
        return deepcopy(self._ledger)

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
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _append(self, entry: dict[str, Any]) -> None:
        if self._file is None:
            return
        with self._turn(self._file):
            if self.insist and not stands(self._file, self.path):
                raise OSError(errno.ESTALE, "was moved, replaced or removed")
            self._read_on()
            os.ftruncate(self._file, self._end)  # what a killed process has left of a line
            line, digest = chained(entry, self.head)
            try:
                left = memoryview(line)
                while left:  # once round, but where the disk is filling up
                    left = left[os.write(self._file, left) :]
            except OSError:
                os.ftruncate(self._file, self._end)
                raise
            self.head, self._end, self._lines = digest, self._end + len(line), self._lines + 1
            self._chained = self._known = True
        os.fsync(self._file)

    @contextmanager
    def _turn(self, file: int) -> Iterator[None]:
        """One process writes at a time. One that was stopped in the middle keeps nobody from giving jobs back."""
        end = time.monotonic() + _LOCKED
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    if self.insist:
                        raise
                    break
            except OSError:
                break  # a file system without locks
            time.sleep(0.01)
        try:
            yield
        finally:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_UN)

    def _read_on(self) -> None:
        """Take the whole lines of others into the ledger."""
        if self._file is None:
            return
        if os.fstat(self._file).st_size < self._end:  # somebody has cut it: what was read is still known
            self._end, self._others = 0, True
            self._end = sum(map(len, self._whole()))
        for raw in self._whole():
            self._end, self._lines, self._others = self._end + len(raw), self._lines + 1, True
            self.head, self._chained = followed(self.head, raw, self._chained)
            try:
                if (entry := _entry(raw, self._known and not self._begun)) is not None:
                    self._known = True
                    self._ledger.note(entry)
            except (DocumentError, KeyError, TypeError, AttributeError) as error:
                why = error if isinstance(error, DocumentError) else "is damaged"
                broken = DocumentError(f"{self.path}:{self._lines}: {why}")
                if self.insist:
                    raise broken from None
                self._lose(broken)

    def _whole(self) -> Iterator[bytes]:
        assert self._file is not None
        with open(os.dup(self._file), "rb") as file:
            file.seek(self._end)
            for raw in file:
                if not raw.endswith(b"\n"):
                    return
                yield raw

    def _lose(self, error: Exception) -> None:
        self.lost = self.lost or (str(getattr(error, "strerror", None) or error))


def _opened(path: Path, insist: bool) -> int:
    """Open a log, or a new one; never a link, nor what another user could have put there."""
    flags = os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    if insist:
        make_folder(path.parent)
        if (reason := distrusted(path.parent)) is not None:
            raise DocumentError(f"{path}: {reason}; name a log in a folder of your own (--audit)")
    try:
        file = os.open(path, os.O_RDWR | flags | (os.O_CREAT if insist else 0), 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise DocumentError(f"{path}: is a link; name the log itself") from None
        if insist:
            raise
        file = os.open(path, os.O_RDONLY | flags)
    found = os.fstat(file)
    if stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and os.geteuid() in (0, found.st_uid):
        return file
    os.close(file)
    raise DocumentError(f"{path}: is not a file of this user under this name alone")


def _entry(raw: bytes, known: bool) -> dict[str, Any] | None:
    """The entry of a line; None where it is not whole, which the first one must be."""
    try:
        entry = msgspec.json.decode(raw) if raw.strip() else None
    except msgspec.DecodeError:
        if known:
            return None
        raise DocumentError("is no audit log") from None
    if entry is not None and (not isinstance(entry, dict) or entry.get("format") != FORMAT):
        raise DocumentError(f"expected a line of {FORMAT}")
    return entry


def read_audit(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a log that are whole.

    Raises
    ------
    DocumentError : the file cannot be read, or its first line is none of an audit log.
    """
    known = False
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                try:
                    entry = _entry(raw, known)
                except DocumentError as error:
                    raise DocumentError(f"{path}:{number}: {error}") from None
                if entry is not None:
                    known = True
                    yield entry
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror}") from None
