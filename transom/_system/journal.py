"""An append-only journal of lines; every append is atomic."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_BLOCK = 1 << 20  # read at once [bytes]


class Journal:
    """An append-only file of lines, open for writing; an incomplete last line is truncated on opening.

    Every line goes to the system with one write, so that a process that is killed leaves no half of one. Where the
    system takes a part of it only, as on a full disk, the part is taken back.

    Parameters
    ----------
    path : the file, which need not exist.

    Raises
    ------
    OSError : it cannot be opened or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        try:
            self.size = whole_length(path)
            if self.size < os.fstat(self._file).st_size:
                os.ftruncate(self._file, self.size)
        except OSError:
            os.close(self._file)
            raise

    def append(self, line: bytes) -> None:
        """Add a line, given without its line break.

        Raises
        ------
        OSError : it could not be written whole; the file is then as it was.
        """
        data = memoryview(line + b"\n")
        try:
            while data:  # once round, but where the disk is filling up
                data = data[os.write(self._file, data) :]
        except BaseException:
            os.ftruncate(self._file, self.size)
            raise
        self.size += len(line) + 1

    def clear(self) -> None:
        """Remove all lines."""
        os.ftruncate(self._file, 0)
        self.size = 0

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The whole lines of a journal, without their line breaks, each with its number from 1; what is torn is left out.

    Raises
    ------
    OSError : the file cannot be read.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.endswith(b"\n"):
                yield number, line[:-1]


def whole_length(path: Path) -> int:
    """How many bytes the whole lines of a file take."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            begin = max(0, end - _BLOCK)
            file.seek(begin)
            found = file.read(end - begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            end = begin
    return 0
