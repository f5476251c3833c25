"""Files of strangers: opened once, and read within limits, so that a small one cannot take all memory.

A named pipe, such as a shell's ``<(zcat FILE)``, has nothing for whoever opens it again. Readers look at the beginning
of a file to tell what it holds: what :func:`head` opens for that, if it is no regular file, waits for :func:`opened`,
which keeps a copy of what it reads from a pipe without a name of its own.
Traces and records are streams of any length; a line, a document and a job have limits, which docs/formats.md states.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from typing import IO, Any, cast

DOCUMENT = 1 << 27
"""The longest document, plan or card, and the longest job in JSON [bytes]."""

LINE = 1 << 26
"""The longest line of a trace or of records [bytes]."""

WEIGHTS = 1 << 31
"""The largest file of weights [bytes]."""

DEPTH = 200
"""How many objects and arrays may be open inside each other."""

RATIO = 200
"""How much longer a compressed file may become when it is unpacked; text becomes five to forty times as long."""

FREE = 1 << 28
"""What a file may unpack to in any case [bytes]."""


class TooLargeError(ValueError):
    """A limit is exceeded; the message says which one."""


KEPT = 1 << 28
"""How much of a pipe is kept, for those who read a file more than once [bytes]."""

_waiting: dict[str, Any] = {}
_copies: dict[tuple[int, int], _Kept] = {}


def head(path: str | os.PathLike[str], size: int = 4096) -> bytes:
    """The first bytes of a file: up to ``size``, at least one unless it is empty.

    Raises
    ------
    OSError, ValueError : as :func:`opened` does.
    """
    name = os.fspath(path)
    if stat.S_ISREG(os.stat(name).st_mode):
        with open(name, "rb") as file:
            return file.read(size)
    if name not in _waiting:
        _waiting[name] = opened(name)
    return cast(bytes, _waiting[name].peek(size)[:size])


def opened(path: str | os.PathLike[str]) -> Any:
    """A file for reading bytes, from its beginning also where that has been looked at; ``-`` is standard input.

    Raises
    ------
    OSError : it cannot be opened, or is a pipe that has been read already and was too long to be kept.
    ValueError : this is no name of a file.
    """
    name = os.fspath(path)
    if (waiting := _waiting.pop(name, None)) is not None:
        return waiting
    file = sys.stdin.buffer if name == "-" else open(name, "rb")  # noqa: SIM115  (the caller closes it)
    try:
        status = os.fstat(file.fileno())
    except OSError:  # standard input may be anything in a program
        return file
    if not stat.S_ISFIFO(status.st_mode) or not name.startswith(("-", "/dev/", "/proc/")):
        return file
    key = (status.st_dev, status.st_ino)
    if (copy := _copies.get(key)) is not None:
        return copy.again()
    _copies[key] = _Kept(file)
    return io.BufferedReader(_copies[key], 1 << 17)


class _Kept(io.RawIOBase):
    """A pipe, and a copy of what was read from it."""

    def __init__(self, file: Any) -> None:
        self._file, self._ended = file, False
        self._copy: Any = tempfile.NamedTemporaryFile()  # noqa: SIM115  (which goes with the process)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read1(len(buffer))
        buffer[: len(data)] = data
        self._ended = self._ended or not data
        if self._copy is not None:
            self._copy.write(data)
            if self._copy.tell() > KEPT:
                self._copy = None
        return len(data)

    def again(self) -> IO[bytes]:
        if self._copy is None or not self._ended:
            raise OSError("is a pipe, which can be read only once; write it to a file first")
        self._copy.flush()
        return open(self._copy.name, "rb")


def size_text(size: int) -> str:
    """``128 MiB``, ``2 GiB``."""
    return f"{size >> 30} GiB" if size >> 30 else f"{size >> 20} MiB"


def whole(file: IO[bytes], most: int = DOCUMENT) -> bytes:
    """All of a file.

    Raises
    ------
    TooLargeError : it is longer than ``most`` bytes.
    """
    data = file.read(most + 1)
    if len(data) > most:
        raise TooLargeError(f"is longer than {size_text(most)}, the most that is read of such a file")
    return data


def read_whole(path: str | os.PathLike[str], most: int = DOCUMENT) -> bytes:
    """All of the file of a name.

    Raises
    ------
    OSError : it cannot be read.
    TooLargeError : it is longer than ``most`` bytes.
    """
    with open(path, "rb") as file:
        return whole(file, most)


def lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file, each with its line feed.

    Raises
    ------
    TooLargeError : one is longer than a document may be.
    """
    number = 0
    while line := file.readline(DOCUMENT + 1):
        number += 1
        if len(line) > DOCUMENT:
            raise TooLargeError(f"line {number} is longer than {size_text(DOCUMENT)}, the most that is read of one")
        yield line


def unpacked(file: IO[bytes]) -> IO[bytes]:
    """The content of a gzip file, as it is read.

    Reading raises TooLargeError once it has become more than :data:`RATIO` times as long as what was read, and more
    than :data:`FREE`.
    """
    return io.BufferedReader(_Unpacked(file), 1 << 17)


class _Counted(io.RawIOBase):
    """A file that knows how much of it was read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.count = file, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.count += len(data)
        return data


class _Unpacked(io.RawIOBase):
    def __init__(self, file: IO[bytes]) -> None:
        self._packed = _Counted(file)
        self._content = gzip.GzipFile(fileobj=self._packed)
        self._made = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._content.read1(len(buffer))
        buffer[: len(data)] = data
        self._made += len(data)
        if self._made > max(FREE, RATIO * self._packed.count):
            raise TooLargeError(
                f"unpacks to more than {RATIO} times its size and {size_text(FREE)}; unpack it into a file or a pipe "
                "if it is honest: gzip -dc FILE | transom ..."
            )
        return len(data)
