from __future__ import annotations

import errno
import gzip
import os
from pathlib import Path

import pytest

from transom._system import files
from transom._system.files import atomic_path, atomic_write


def test_a_file_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "new" / "a.txt"
    with atomic_write(target) as file:
        file.write("grün\n")
        assert not target.exists()
    assert target.read_text(encoding="utf-8") == "grün\n"
    assert os.listdir(target.parent) == ["a.txt"]


@pytest.mark.parametrize("fault", [RuntimeError, KeyboardInterrupt])
def test_after_a_fault_the_old_file_stands_and_nothing_else(tmp_path: Path, fault: type[BaseException]) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(fault), atomic_write(target) as file:  # noqa: PT012
        file.write("half")
        raise fault
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_the_same_content_packs_to_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with atomic_write(tmp_path / name) as file:
            file.write("same\n" * 100)
    with atomic_write(tmp_path / "c.gz", "wb") as file:
        file.write(b"same\n" * 100)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    for name in ("a.gz", "c.gz"):
        assert gzip.decompress((tmp_path / name).read_bytes()) == b"same\n" * 100


def test_a_path_is_renamed_with_the_usual_rights(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "x") as temporary:
        temporary.write_bytes(b"1")
    plain = tmp_path / "plain"
    plain.touch()
    assert (tmp_path / "x").stat().st_mode == plain.stat().st_mode


def test_an_error_of_a_full_disk_names_the_file(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    with pytest.raises(OSError, match="No space") as caught, atomic_write(target):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(target)
    assert os.listdir(tmp_path) == []


def test_what_a_killed_process_left_is_removed_and_what_is_being_written_is_not(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    left = [".a.txt.abc_1234.part", ".a.txt.zzzzzzzz.part"]
    others = [".a.txt.abcd.part", ".a.txt.b.abc_1234.part", "a.txt.abc_1234.part", ".b.txt.abc_1234.part"]
    for name in left + others:
        (tmp_path / name).write_text("half")
    with atomic_write(target) as slow:
        slow.write("slow")
        assert len(os.listdir(tmp_path)) == len(others) + 1
        with atomic_write(target) as fast:
            fast.write("fast")
        assert target.read_text() == "fast"
    assert target.read_text() == "slow"
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "a.txt"])


def test_without_locks_nothing_is_taken_for_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unlockable(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(files.fcntl, "flock", unlockable)
    (tmp_path / ".a.txt.abc_1234.part").write_text("half")
    with atomic_write(tmp_path / "a.txt") as file:
        file.write("whole")
    assert sorted(os.listdir(tmp_path)) == [".a.txt.abc_1234.part", "a.txt"]
