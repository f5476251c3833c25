"""Atomic file writes: a temporary file in the same folder, then a rename."""

from __future__ import annotations

import fcntl
import gzip
import io
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal, cast

from transom._system.trusted import make_folder


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the folder of ``path``; rename it to ``path`` on success.

    The folder is made if need be; nobody else may write either. An interrupt or an error leaves neither a part nor the
    temporary file, and what a killed process has left of this file is removed. An error of the system that names no
    file, such as that of a full disk, gets the name of this one.
    """
    target = Path(path)
    make_folder(target.parent)
    _remove_left(target)
    handle, temporary = _new_temporary(target)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        # mkstemp is private; the file should be as any other, but nobody else may change it: it may be read again.
        os.fchmod(handle, 0o644 & ~mask)
        os.replace(temporary, target)
    except OSError as error:
        if error.filename is None:
            error.filename = str(target)
        raise
    finally:
        temporary.unlink(missing_ok=True)
        os.close(handle)


def _new_temporary(target: Path) -> tuple[int, Path]:
    """A new file beside the target, which is locked until the handle is closed: somebody writes it."""
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        with suppress(OSError):  # without locks nobody removes it either
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.path.exists(name):
            return handle, Path(name)
        os.close(handle)  # another process took it for left in the moment before it was locked


def _remove_left(target: Path) -> None:
    """Remove temporary files of the target that nobody writes any more."""
    left = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}\.part")
    names: list[str] = []
    with suppress(OSError):  # a folder that may be written to but not listed
        names = [name for name in os.listdir(target.parent) if left.fullmatch(name)]
    for name in names:
        with suppress(OSError):  # it is locked, or there are no locks, or another process was faster
            handle = os.open(target.parent / name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(target.parent / name)
            finally:
                os.close(handle)


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: Literal["w", "wb"] = "w") -> Iterator[IO[Any]]:
    """Open a file for atomic writing: it appears under ``path`` only if the block succeeds.

    Text is UTF-8; a path that ends in ``.gz`` is compressed, with no time stamp in it, so that the
    same content gives the same bytes.
    """
    encoding = "utf-8" if mode == "w" else None
    with atomic_path(path) as temporary:
        if Path(path).suffix == ".gz":
            with temporary.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
                if mode == "wb":
                    yield cast(IO[Any], packed)
                else:
                    with io.TextIOWrapper(packed, encoding=encoding, newline="\n") as text:
                        yield text
        else:
            with temporary.open(mode, encoding=encoding) as file:
                yield file
