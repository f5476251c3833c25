from __future__ import annotations

import fcntl
import grp
import os
import pickle
import pwd
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.strangers import STRANGER, VICTIM, as_user, common, give, needs_root
from transom._system import trusted as module
from transom._system.trusted import HeldError, distrusted, lock, make_folder, temporary_folder

__all__ = ["common"]

SORT = "import numpy; from transom._system.sorting import ascending; print(ascending(numpy.array([7, 3]))[1])"


class Planted:
    """A pickle that leaves a mark when somebody reads it."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, int]]:
        return os.mkdir, (str(self.mark), 0o777)


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_what_is_ours_alone_is_trusted(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    (tmp_path / "a" / "file").touch()
    (tmp_path / "link").symlink_to("a")
    for path in ("a/b", "a/file", "link/b", "a/not/there", "a/b/../file"):
        assert distrusted(tmp_path / path) is None
    assert distrusted("/tmp") is not None  # a sticky bit is enough for what lies above, not for the folder itself


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o757, 0o707], ids=oct)
def test_a_folder_that_others_may_write_is_not(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    assert distrusted(tmp_path) == f"anybody may write {tmp_path}"
    (tmp_path / "file").touch()
    (tmp_path / "file").chmod(0o646)
    assert distrusted(tmp_path / "file") == f"anybody may write {tmp_path}{'/file' if mode & stat.S_ISVTX else ''}"


def test_a_folder_above_that_others_may_write_is_not(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "b")
    for path in (tmp_path / "a" / "b", tmp_path / "link"):
        assert distrusted(path) == f"anybody may write {tmp_path}/a"
    (tmp_path / "a").chmod(0o1777)
    assert distrusted(tmp_path / "link") is None


def test_links_that_go_round_are_not(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert distrusted(tmp_path / "a") == f"{tmp_path}/a: too many links"


@pytest.mark.parametrize(
    ("name", "members", "primary", "why"),
    [
        ("ann", [], 7, None),
        ("ann", ["ann"], 7, None),
        ("ann", ["ben"], 7, "group ann"),
        ("staff", [], 7, "group staff"),
        ("ann", [], 8, "group ann"),
    ],
)
def test_the_private_group_of_a_user_counts_as_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, members: list[str], primary: int, why: str | None
) -> None:
    uncached = module._alone.__wrapped__
    user = pwd.struct_passwd(("ann", "x", os.geteuid(), primary, "", "/", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: user)
    monkeypatch.setattr(grp, "getgrgid", lambda _: grp.struct_group((name, "x", 7, members)))
    monkeypatch.setattr(module, "_alone", lambda _, owner: uncached(7, owner))
    tmp_path.chmod(0o770)
    assert distrusted(tmp_path) == (why and f"{why} may write {tmp_path}")


def test_a_list_of_further_users_counts_as_others(tmp_path: Path) -> None:
    entries = [(1, 7, -1), (2, 7, STRANGER), (4, 0, -1), (16, 7, -1), (32, 0, -1)]  # the owner, a user, ..., the mask
    data = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(tmp_path, "system.posix_acl_access", data)
    except OSError:
        pytest.skip("no such lists in this file system")
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o770
    assert distrusted(tmp_path) == f"a list of users may write {tmp_path}"


@needs_root
@pytest.mark.parametrize("reader", [0, VICTIM], ids=["root", "user"])
def test_what_a_stranger_made_is_not_trusted(common: Path, reader: int) -> None:
    own, foreign = give(_folder(common / "own"), reader), give(_folder(common / "foreign"))
    give(_folder(own / "planted"))
    (own / "link").symlink_to(foreign)
    (own / "planted link").symlink_to(own)
    os.lchown(own / "planted link", STRANGER, STRANGER)
    shared = _folder(common / "shared")
    shared.chmod(0o1777)
    (shared / "link").symlink_to(own)
    os.lchown(shared / "link", STRANGER, STRANGER)
    reasons = {
        own: None,
        own / "new" / "folder": None,
        foreign: foreign,
        foreign / "new": foreign,
        own / "planted": own / "planted",
        own / "link": foreign,
        own / "planted link": own / "planted link",
        shared / "link": shared / "link",
    }
    for path, culprit in reasons.items():
        expected = culprit and f"{culprit} belongs to user {STRANGER}"
        assert as_user(reader, lambda path=path: distrusted(path)) == expected


@needs_root
def test_what_is_roots_is_trusted_above_a_folder_and_not_as_the_folder(common: Path) -> None:
    _folder(common / "roots")
    give(_folder(common / "own"), VICTIM)
    assert as_user(VICTIM, lambda: distrusted(common / "own")) is None
    assert as_user(VICTIM, lambda: distrusted(common / "roots")) == f"{common}/roots belongs to user root"


@needs_root
def test_what_a_container_shows_as_nobodys_is_trusted_above_where_nobody_else_may_write(
    common: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_nobody", lambda: STRANGER)
    own = common / "a" / "own"
    own.mkdir(parents=True)
    os.chown(common / "a", STRANGER, STRANGER)
    assert distrusted(own) is None
    assert distrusted(common / "a") == f"{common}/a belongs to user {STRANGER}"
    common.chmod(0o1777)
    assert distrusted(own) == f"{common}/a belongs to user {STRANGER}"


def test_folders_are_made_that_others_may_not_write(tmp_path: Path) -> None:
    os.umask(0)
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "c" / "d", private=True)
    made = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert made == {"a": 0o755, "b": 0o755, "c": 0o700, "d": 0o700}


def test_a_temporary_folder_is_where_nobody_else_can_take_it_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = temporary_folder()
    try:
        assert folder.parent != tmp_path
        assert list(tmp_path.iterdir()) == []
    finally:
        folder.rmdir()


def test_a_lock_keeps_others_out_and_says_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    held = lock(path, "process 7")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(HeldError, match="process 7"):
        lock(path, "process 8")
    assert path.read_text() == "process 7\n"
    os.close(held)
    os.close(lock(path, "8"))
    assert path.read_text() == "8\n"


def test_a_lock_is_waited_for_however_many_take_it_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, others, real = tmp_path / "lock", iter(range(200)), fcntl.flock

    def flock(handle: int, how: int) -> None:
        real(handle, how)
        if next(others, None) is not None:
            path.unlink()  # as each does that held it and ends

    monkeypatch.setattr(fcntl, "flock", flock)
    os.close(lock(path, "process 7", wait=True))
    assert path.read_text() == "process 7\n"


@pytest.mark.parametrize("kind", ["link", "pipe", "readable", "second name"])
def test_a_lock_that_others_could_hold_is_replaced(tmp_path: Path, kind: str) -> None:
    path, victim = tmp_path / "lock", tmp_path / "victim"
    victim.write_text("untouched")
    victim.chmod(0o600)
    stranger = None
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "second name":
        path.hardlink_to(victim)
    else:
        path.touch(0o644)
        stranger = path.open()
        fcntl.flock(stranger, fcntl.LOCK_EX)
    os.close(lock(path, "process 7"))
    assert path.read_text() == "process 7\n"
    assert victim.read_text() == "untouched"
    if stranger:
        stranger.close()


@needs_root
@pytest.mark.parametrize("user", [0, VICTIM], ids=["root", "user"])
def test_the_lock_of_a_stranger_is_replaced_and_a_folder_of_a_stranger_not_used(common: Path, user: int) -> None:
    own, foreign = give(_folder(common / "own"), user), give(_folder(common / "foreign"))
    foreign.chmod(0o777)
    planted = own / "lock"
    planted.touch()
    give(planted)
    with planted.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert as_user(user, lambda: os.close(lock(planted, "own"))) is None
        assert planted.stat().st_uid == user
    said = as_user(user, lambda: lock(foreign / "lock", ""))
    assert said.startswith("PermissionError")
    assert f"not locked, because {foreign} belongs to user {STRANGER}" in said
    assert list(foreign.iterdir()) == []


@needs_root
@pytest.mark.parametrize("how", ["folder of a stranger", "folder for all", "parent for all", "files of a stranger"])
def test_planted_kernels_are_not_run(common: Path, how: str) -> None:
    cache, mark = common / "cache", common / "mark"
    kernels = cache / "transom" / "kernels"
    environment = {"XDG_CACHE_HOME": str(cache), "HOME": str(common)}
    command = [sys.executable, "-W", "ignore", "-c", SORT]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    planted = list(kernels.glob("*.nbc"))
    assert planted
    for path in planted:
        path.write_bytes(pickle.dumps(Planted(mark)))
    if how == "files of a stranger":
        for path in planted:
            give(path)
    elif how == "folder of a stranger":
        give(cache)
    else:
        (kernels if how == "folder for all" else cache).chmod(0o777)
    code = (
        "from transom._system import notices; notices.not_kept.append(lambda why: print(why, file=sys.stderr)); " + SORT
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"import sys; {code}"], env=environment, text=True, capture_output=True
    )
    assert done.stdout == "7\n"
    assert not mark.exists()
    reasons = {
        "folder of a stranger": f"{cache} belongs to user {STRANGER}\n",
        "folder for all": f"anybody may write {kernels}\n",
        "parent for all": f"anybody may write {cache}\n",
    }
    if how in reasons:
        assert done.stderr == reasons[how] * len(done.stderr.splitlines())
        assert done.stderr
    else:
        assert all(f"removed, because {kernels}" in line for line in done.stderr.splitlines())
        assert len(done.stderr.splitlines()) == len(planted)
        assert {path.owner() for path in planted} == {"root"}
    pickle.loads(pickle.dumps(Planted(mark)))  # noqa: S301
    assert mark.exists()  # it was one that runs


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
