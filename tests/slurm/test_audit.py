"""The audit log: chained lines, full disks, links, foreign folders, and what is known when it cannot be read."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, transom
from transom.errors import DocumentError
from transom.slurm import actions, audit
from transom.slurm.audit import Audit, read_audit
from transom.slurm.log.chain import check_chain

__all__ = ["transom"]

LINES = 8


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of eight lines, by two processes' worth of writers."""
    path = tmp_path / "audit.jsonl"
    first, second = Audit(path), Audit(path)
    first.write("begin", mode="drive", policy="fcfs", allocate=None, seed=0, select=["all"], partition="p")
    for i, each in enumerate((first, second, first)):
        each.act("adopt", [str(i)], lambda: None, until=100 + i)
    second.write("end", given_back=[])
    return path


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_lines_of_several_writers_are_one_chain(log: Path) -> None:
    found = check_chain(log)
    assert found._replace(head="") == (LINES, [], 0, False, "", 0)
    assert found.head == Audit(log).head == json.loads(lines(log)[-1])["chain"]
    assert Audit(log).catch_up().leases == {"0": 100, "1": 101, "2": 102}


ATTACKS: dict[str, tuple[Callable[[list[bytes]], list[bytes]], list[int]]] = {
    "removed": (lambda old: old[:2] + old[3:], [3]),
    "first removed": (lambda old: old[1:], [1]),
    "altered": (lambda old: [*old[:3], old[3].replace(b'"jobs":["1"]', b'"jobs":["7"]'), *old[4:]], [4]),
    "last altered": (lambda old: [*old[:-1], old[-1].replace(b"[]", b'["1"]')], [LINES]),
    "added": (lambda old: [*old[:4], old[2], *old[4:]], [5, 6]),
    "added at the end": (lambda old: [*old, old[-1]], [LINES + 1]),
    "reordered": (lambda old: [*old[:2], old[4], old[3], old[2], *old[5:]], [3, 4, 5, 6]),
    "without its digest": (lambda old: [*old[:3], old[3].split(b',"chain"')[0] + b"}\n", *old[4:]], [4, 5]),
    "no line": (lambda old: [*old[:3], b"nothing\n", *old[3:]], [4]),
}


@pytest.mark.parametrize("how", ATTACKS)
def test_replay_names_what_was_done_to_lines(log: Path, transom: Callable[..., Ran], how: str) -> None:
    change, broken = ATTACKS[how]
    log.write_bytes(b"".join(change(lines(log))))
    ran = transom("slurm", "replay", log, "--json")
    assert (ran.status, ran.lines[0]["broken"]) == (1, broken)
    told = transom("slurm", "replay", log)
    assert told.status == 1
    assert f"line {broken[0]}" in told.out


def test_a_cut_end_and_a_rewrite_are_told_by_a_head_kept_elsewhere(log: Path, transom: Callable[..., Ran]) -> None:
    head, old = check_chain(log).head, lines(log)
    kept = transom("slurm", "replay", log, "--head", head, "--json")
    assert (kept.status, kept.lines[0]["at"], kept.lines[0]["head"]) == (0, LINES, head)
    Audit(log).write("end", given_back=[])
    assert transom("slurm", "replay", log, "--head", head).out.count("1 line after it") == 1
    log.write_bytes(b"".join(old[:-2]))
    assert transom("slurm", "replay", log).status == 0
    cut = transom("slurm", "replay", log, "--head", head)
    assert (cut.status, "the head is missing" in cut.out) == (1, True)
    log.unlink()
    rewritten = Audit(log)
    for line in old:
        rewritten.write(json.loads(line)["kind"], number="1", jobs=[], action="leave", well=True)
    assert check_chain(log).broken == []
    assert check_chain(log, head).at is None


def test_a_log_of_an_earlier_version_goes_on(log: Path, transom: Callable[..., Ran]) -> None:
    old = [line.split(b',"chain"')[0] + b"}\n" for line in lines(log)]
    log.write_bytes(b"".join(old[:3]) + old[3][:40] + b"\n" + b"".join(old[4:]) + b'{"format":"tr')
    Audit(log).write("end", given_back=[])
    ran = transom("slurm", "replay", log)
    assert (ran.status, f"{LINES} lines of an earlier version" in ran.out) == (0, True)
    found = check_chain(log)
    assert (found.lines, found.broken, found.unchained, found.cut) == (LINES + 1, [], LINES, False)
    assert Audit(log).head == found.head
    whole = lines(log)
    for changed in ([*whole[:2], *whole[3:]], [whole[0], *whole], [*whole[:2], whole[-1].replace(b"end", b"End")]):
        log.write_bytes(b"".join(changed))
        assert check_chain(log).broken == [len(changed)]  # the first line with a digest


class Disk:
    """A disk with room for so many bytes more."""

    def __init__(self, room: int) -> None:
        self.room = room

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    def write(self, file: int, data: memoryview) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = os.write(file, data[: self.room])
        self.room -= written
        return written


@pytest.mark.parametrize("room", [0, 1, 150])
def test_a_line_that_does_not_fit_is_not_there(log: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """And nothing is done that could not be written down, but giving back."""
    before, done, writer = log.read_bytes(), list[str](), Audit(log)
    monkeypatch.setattr(audit, "os", Disk(room))
    with pytest.raises(OSError, match="No space left") as full:
        writer.act("adopt", ["9"], lambda: done.append("9"), until=5)
    assert (full.value.filename, done, log.read_bytes()) == (str(log), [], before)
    writer.insist = False
    assert writer.act("give-back", ["0"], lambda: done.append("0"), named=False)
    assert (done, writer.lost, log.read_bytes()) == (["0"], "No space left on device", before)
    assert "0" not in writer.catch_up().leases
    monkeypatch.setattr(audit, "os", os)
    writer.write("end", given_back=["0"])
    assert check_chain(log).broken == []


def test_a_short_write_is_finished(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = Audit(log)
    monkeypatch.setattr(
        audit, "os", type("Slow", (Disk,), {"write": lambda _, file, data: os.write(file, data[:7])})(0)
    )
    writer.write("end", given_back=[])
    assert check_chain(log).broken == []
    assert len(lines(log)) == LINES + 1


def test_what_was_read_is_known_when_the_log_is_not_any_more(log: Path) -> None:
    mine, leases = Audit(log), {"0": 100, "1": 101, "2": 102}
    log.write_bytes(b"")
    assert mine.others_wrote
    assert mine.catch_up().leases == leases
    log.write_bytes(b"rubbish\n")
    with pytest.raises(DocumentError, match="is no audit log"):
        mine.catch_up()
    mine.insist = False
    assert mine.catch_up().leases == leases
    with pytest.raises(DocumentError, match=f"{log.name}:1: is no audit log"):
        Audit(log)
    other = Audit(log, insist=False)
    assert (other.catch_up().leases, "is no audit log" in other.lost) == ({}, True)
    other.write("end")
    assert log.read_bytes() == b"rubbish\n"


def test_a_log_that_is_moved_away_is_not_written_any_more(log: Path) -> None:
    writer, away = Audit(log), log.with_name("away.jsonl")
    log.rename(away)
    for _ in range(2):
        with pytest.raises(OSError, match="was moved, replaced or removed"):
            writer.write("end")
        log.write_bytes(away.read_bytes())
    assert len(lines(away)) == LINES


def test_damaged_lines_are_errors_for_a_run_and_missed_for_giving_back(log: Path) -> None:
    old = lines(log)
    log.write_bytes(b"".join([*old[:3], b'{"format":"transom/audit/1","kind":"act","action":3}\n', *old[3:]]))
    with pytest.raises(DocumentError, match=r"audit\.jsonl:4: is damaged"):
        Audit(log)
    tolerant = Audit(log, insist=False)
    assert tolerant.catch_up().leases == {"0": 100, "1": 101, "2": 102}
    assert tolerant.lost == f"{log}:4: is damaged"


def test_a_log_is_no_link_and_lies_where_nobody_else_writes(log: Path, tmp_path: Path) -> None:
    link, hard = tmp_path / "link", tmp_path / "hard"
    link.symlink_to(log)
    before, opened = log.read_bytes(), Audit(link, insist=False)
    with pytest.raises(DocumentError, match="is a link"):
        Audit(link)
    opened.write("end")
    assert "is a link" in opened.lost
    assert log.read_bytes() == before
    os.link(log, hard)
    with pytest.raises(DocumentError, match="under this name alone"):
        Audit(hard)
    hard.unlink()
    tmp_path.chmod(0o777)
    with pytest.raises(DocumentError, match="name a log in a folder of your own"):
        Audit(log)
    tmp_path.chmod(0o700)
    Audit(log)


def test_the_folder_that_a_log_makes_is_one_that_it_takes(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Audit(tmp_path / "new" / "folder" / "audit.jsonl").write("end")
    finally:
        os.umask(before)


def test_another_writer_is_waited_for_and_a_stopped_one_keeps_nothing_back(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "_LOCKED", 0.0)
    writer, stopped = Audit(log), os.open(log, os.O_RDONLY)
    fcntl.flock(stopped, fcntl.LOCK_EX)
    with pytest.raises(OSError, match="unavailable"):
        writer.write("end")
    writer.insist = False
    actions.give_back(writer, [], 1)
    writer.write("end")
    os.close(stopped)
    assert [line["kind"] for line in read_audit(log)][-1] == "end"
