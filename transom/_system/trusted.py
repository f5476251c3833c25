"""Folders and locks that are ours alone: what is run, resumed or locked elsewhere could be anybody's."""

from __future__ import annotations

import errno
import fcntl
import grp
import logging
import os
import pwd
import stat
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

_LINKS = 40  # on the way to a file, as the kernel counts them
_LIST = "system.posix_acl_access"  # of access, which may give single users more than the mode shows
_PRIVATE, _READABLE = 0o700, 0o755  # of folders that are made
_TEMPORARY = (None, "/tmp", "/var/tmp", "/dev/shm")  # where to make folders for one process, None: as TMPDIR says

_log = logging.getLogger("transom")


def distrusted(path: str | os.PathLike[str]) -> str | None:
    """Why somebody else may have made or changed a file, or what lies in a folder; None if nobody can have.

    It belongs to the user of this process, and nobody else may write it. Folders and links on the way to it belong to
    this user or to root; others may write such a folder only if it has the sticky bit, as /tmp does. The group of a
    user's own name without other members counts as that user.

    Parameters
    ----------
    path : of a file or a folder; where it does not exist, the folders count in which it would be made.
    """
    here, to_come, links = Path("/"), [*reversed(Path(os.getcwd(), path).parts[1:])], 0
    may_swap = False  # others may put links and folders of their own where we are
    while True:
        try:
            found = os.lstat(here)
            target = os.readlink(here) if stat.S_ISLNK(found.st_mode) else None
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"{here}: {error.strerror}"
        if not to_come and target is None:
            return _fault(here, found)
        if found.st_uid not in (0, os.geteuid()) and (may_swap or found.st_uid != _nobody()):
            return f"{here} belongs to {_user(found.st_uid)}"
        if target is not None:
            if (links := links + 1) > _LINKS:
                return f"{path}: too many links"
            to_come += reversed([part for part in target.split("/") if part not in ("", ".")])
            here, may_swap = (Path("/"), False) if target.startswith("/") else (here.parent, may_swap)
        else:
            who = _writers(here, found)
            if who is not None and not found.st_mode & stat.S_ISVTX:
                return f"{who} may write {here}"
            may_swap = who is not None
        if to_come:
            step = to_come.pop()
            here = here.parent if step == ".." else here / step


def trusted(path: str | os.PathLike[str], instead: str) -> bool:
    """Whether a path is not :func:`distrusted`; else a warning says why it is, and what is done ``instead``."""
    if (reason := distrusted(path)) is None:
        return True
    _log.warning(f"{path}: not used, because {reason}; {instead}")
    return False


def trusted_whole(folder: Path, instead: str) -> bool:
    """Whether a folder and all that stands in it is :func:`trusted`; so is one that does not exist."""
    return all(trusted(each, instead) for each in (folder, *folder.glob("*")))


def remove_foreign(path: str | os.PathLike[str]) -> None:
    """Remove what somebody else may have made or changed in a folder that is trusted, with a warning.

    Raises
    ------
    OSError : it cannot be removed.
    """
    with suppress(FileNotFoundError):
        if (reason := _fault(Path(path), os.lstat(path))) is not None:
            os.unlink(path)
            _log.warning(f"{path}: not used but removed, because {reason}")


def make_folder(path: str | os.PathLike[str], private: bool = False) -> None:
    """Make a folder and those above it, which others may not write, and not even read if it is ``private``.

    Raises
    ------
    OSError : one cannot be made.
    """
    above = [each for each in Path(path).parents if not each.exists()]
    for each in (*reversed(above), Path(path)):
        each.mkdir(mode=_PRIVATE if private else _READABLE, exist_ok=True)


def temporary_folder() -> Path:
    """A new folder for this process alone.

    Raises
    ------
    OSError : none can be made that nobody else may write.
    """
    reason: str | None = None
    for place in _TEMPORARY:
        with suppress(OSError):
            folder = tempfile.mkdtemp(prefix="transom-", dir=place)
            if (reason := distrusted(folder)) is None:
                return Path(folder)
            os.rmdir(folder)
    raise PermissionError(f"no folder for temporary files: {reason or 'none can be written'}")


class HeldError(Exception):
    """Another process holds a lock; the argument is what it has written into it."""


def lock(path: str | os.PathLike[str], words: str, wait: bool = False) -> int:
    """Open and lock a file that nobody else can open, and write who holds it into it.

    What others made in its place, or could open and hold as well, as locks of earlier versions, is removed first.

    Parameters
    ----------
    path : in a folder that exists.
    words : of the holder.
    wait : for another process that holds it.

    Returns
    -------
    A file handle, whose closing ends the lock.

    Raises
    ------
    HeldError : another process holds it.
    OSError : others may write the folder, or the file cannot be made or locked.
    """
    if (reason := distrusted(Path(path).parent)) is not None:
        raise PermissionError(errno.EACCES, f"not locked, because {reason}", str(path))
    while True:
        if _is_foreign(path):
            with suppress(FileNotFoundError):  # another process was faster
                os.unlink(path)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if stands(handle, path):
                if _is_foreign(path):
                    raise PermissionError(errno.EACCES, "others can open every file that is made here", str(path))
                with suppress(OSError):  # the disk is full: it is locked all the same
                    os.ftruncate(handle, 0)
                    os.pwrite(handle, f"{words}\n".encode(), 0)
                return handle
        except BlockingIOError:
            holder = os.pread(handle, 200, 0).decode(errors="replace").strip()
            os.close(handle)
            raise HeldError(holder or "another process") from None
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # the process that held it has just ended, and took it away


def stands(file: int, path: str | os.PathLike[str]) -> bool:
    """Whether an open file is still the one of its path: not moved, replaced or removed."""
    try:
        return os.path.samestat(os.fstat(file), os.lstat(path))
    except OSError:
        return False


def _is_foreign(path: str | os.PathLike[str]) -> bool:
    """Whether a lock is no file of ours, or one that somebody else can open."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    ours = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink == 1
    return not ours or bool(found.st_mode & 0o077)


def _fault(path: Path, found: os.stat_result) -> str | None:
    if found.st_uid != os.geteuid():
        return f"{path} belongs to {_user(found.st_uid)}"
    if stat.S_ISLNK(found.st_mode):
        return f"{path} is a link"
    who = _writers(path, found)
    return None if who is None else f"{who} may write {path}"


def _writers(path: Path, found: os.stat_result) -> str | None:
    """Who else may write a file or a folder, in words."""
    if found.st_mode & stat.S_IWOTH:
        return "anybody"
    if not found.st_mode & stat.S_IWGRP:
        return None
    with suppress(OSError, AttributeError):  # no such lists here, or on this system
        os.getxattr(path, _LIST)
        return "a list of users"
    return None if _alone(found.st_gid, found.st_uid) else f"group {_group(found.st_gid)}"


@cache
def _alone(group: int, owner: int) -> bool:
    """Whether a group is the private one of a user."""
    try:
        user, members = pwd.getpwuid(owner), grp.getgrgid(group)
    except KeyError:
        return False
    return user.pw_gid == group and members.gr_name == user.pw_name and {*members.gr_mem} <= {user.pw_name}


@cache
def _nobody() -> int:
    """The owner that a container without root shows for all files of root outside; -1 where root is root.

    It shows the same for any stranger there, so that this owner counts only where nobody else may write.
    """
    try:
        counts = [int(line.split()[2]) for line in Path("/proc/self/uid_map").read_text().splitlines()]
        return -1 if sum(counts) >= 2**32 - 1 else int(Path("/proc/sys/kernel/overflowuid").read_text())
    except (OSError, ValueError, IndexError):
        return -1


def _user(number: int) -> str:
    with suppress(KeyError):
        return f"user {pwd.getpwuid(number).pw_name}"
    return f"user {number}"


def _group(number: int) -> str:
    with suppress(KeyError):
        return grp.getgrgid(number).gr_name
    return str(number)
