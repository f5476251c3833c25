"""Turns of processes side by side that need the same: where one makes it, the others wait and load it."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import blake2b

from transom._system.cache_folder import cache_folder
from transom._system.trusted import remove_foreign

_PATIENCE = 60.0  # a process that takes longer is not waited for [s]


@contextmanager
def turn(name: str) -> Iterator[None]:
    """Wait until no other process has this turn, and hold it during the block; not where locks are missing."""
    file, place = _turns(), int.from_bytes(blake2b(name.encode(), digest_size=5).digest())
    if file is None:
        yield
        return
    _await(file, place)
    try:
        yield
    finally:
        with suppress(OSError):
            fcntl.lockf(file, fcntl.LOCK_UN, 1, place)


@cache
def _turns() -> int | None:
    """An open file: whoever has a turn holds a lock on a byte of it. None where there is no such file."""
    path = cache_folder().path / "turns"
    try:
        remove_foreign(path)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None


def _await(file: int, place: int) -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            return
        except BlockingIOError:  # another one holds it
            time.sleep(0.02)
        except OSError:  # a file system without locks
            return
