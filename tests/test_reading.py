"""Pipes are read once, and what strangers hand over has limits."""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from transom import reading
from transom.bench.plan.plan import read_plan
from transom.errors import DocumentError, TraceError
from transom.generate.dataset.plan import read_dataset_plan
from transom.io import read_documents
from transom.traces import read_swf
from transom.traces.records.slurm import read_slurm
from transom.traces.records.swf import read_swf_records
from transom.traces.swf_blocks import blocks

ROOT = Path(__file__).parents[1]
SWF = ROOT / "instances" / "workloads" / "lublin_5000.swf.gz"
SACCT = ROOT / "examples" / "sacct.txt"
KNAPSACK = b'{"format": "transom/knapsack/1", "values": [1], "weights": [1], "capacity": 1}\n'


@contextmanager
def pipe(content: bytes) -> Iterator[str]:
    """The name of a pipe that holds this, as a shell's ``<(...)`` has it."""
    end, start = os.pipe()

    def write() -> None:
        with suppress(BrokenPipeError), os.fdopen(start, "wb") as file:
            file.write(content)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield f"/dev/fd/{end}"
    finally:
        os.close(end)
        writer.join()


def test_traces_records_and_instances_come_out_of_pipes() -> None:
    for content in (SWF.read_bytes(), gzip.decompress(SWF.read_bytes())):
        with pipe(content) as name:
            assert len(read_swf(name)) == len(read_swf(str(SWF)))
        with pipe(content) as name:
            assert len(read_swf_records(name).jobs) == 5000
    with pipe(SACCT.read_bytes()) as name:
        assert len(read_slurm([name]).jobs) == 11
    for content in (KNAPSACK, KNAPSACK * 2, gzip.compress(KNAPSACK * 2)):
        with pipe(content) as name:
            assert len(list(read_documents(name))) in (1, 2)
    with pipe(KNAPSACK * 3) as name:
        assert [where for where, _ in read_documents(name)] == [f"{name}:{number}" for number in (1, 2, 3)]


def test_a_long_pipe_says_when_it_has_been_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with pipe(SACCT.read_bytes()) as name:
        assert reading.head(name, 5) == reading.head(name, 5) == b"JobID"
        assert len(read_slurm([name]).jobs) == len(read_slurm([name]).jobs) == 11  # which was kept
    monkeypatch.setattr(reading, "KEPT", 100)
    with pipe(SACCT.read_bytes()) as name:
        read_slurm([name])
        with pytest.raises(TraceError, match="is a pipe, which can be read only once"):
            read_slurm([name])


def test_lines_and_documents_have_a_longest_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transom.traces.swf_blocks.LINE", 1000)
    monkeypatch.setattr("transom.traces.swf_blocks._BLOCK", 100)
    (tmp_path / "line").write_bytes(b"a\n" + b"\0" * 2000)
    for read in (blocks, lambda path: [read_swf(path)]):
        with pytest.raises(TraceError, match="line: line 2 is longer than"):
            list(read(str(tmp_path / "line")))  # type: ignore[operator]
    (tmp_path / "all").write_bytes(b"a" * 900 + b"\n" + b"b" * 900 + b"\n")
    assert len(list(blocks(str(tmp_path / "all"), 900))) == 2
    monkeypatch.setattr(reading, "DOCUMENT", 1000)
    monkeypatch.setattr(reading.whole, "__defaults__", (1000,))
    for name in ("one.json", "set.jsonl", "k.kp", "m.dat", "w.dax"):
        (tmp_path / name).write_bytes(b" " * 2000)
        with pytest.raises(DocumentError, match=rf"{name}.* longer than"):
            list(read_documents(tmp_path / name))


def bomb(path: Path, first: bytes, block: bytes) -> Path:
    """A gzip file that unpacks to a thousand times its size, above what is free."""
    packed = gzip.compress(block * 2048)
    path.write_bytes(gzip.compress(first) + packed)
    return path


@pytest.mark.parametrize(
    ("name", "first", "block", "read"),
    [
        ("b.json.gz", b"{", b" " * 1024, lambda path: list(read_documents(path))),
        ("b.jsonl.gz", KNAPSACK, b"\n" * 1024, lambda path: list(read_documents(path))),
        (
            "b.swf.gz",
            b"; MaxNodes: 8\n",
            b"1 0 0 1 1 -1 -1 1 1 -1 1 1 1 1 1 1 -1 -1\n" * 25,
            lambda path: read_swf(str(path)),
        ),
        ("j.json.gz", b'{"jobs": [', b" " * 1024, lambda path: read_slurm([str(path)])),
        ("s.txt.gz", b"JobID|Submit\n", b"1|2026-01-01T00:00:00\n" * 45, lambda path: read_slurm([str(path)])),
    ],
    ids=["document", "set", "swf", "json", "sacct"],
)
def test_a_small_file_does_not_unpack_to_a_large_one(
    name: str,
    first: bytes,
    block: bytes,
    read: Callable[[Path], object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading, "FREE", 1 << 19)
    path = bomb(tmp_path / name, first, block)
    with pytest.raises((DocumentError, TraceError), match="unpacks to more than 200 times its size") as raised:
        read(path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_honest_files_unpack_to_whatever_they_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "FREE", 0)
    (tmp_path / "s.gz").write_bytes(gzip.compress(SACCT.read_bytes() * 10))
    assert len(list(blocks(str(tmp_path / "s.gz")))) == 1
    assert len(read_swf(str(SWF))) == len(read_swf(str(SWF)))


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 5000 + "]" * 5000, "a" + ".a" * 300 + " = 1", "a = " + "[" * 210 + "]" * 210]
)
def test_deep_plans_end_in_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "deep.toml").write_text(text)
    for read in (read_plan, read_dataset_plan):
        with pytest.raises(DocumentError, match=r"deep.toml: nested more than 200 levels deep$"):
            read(tmp_path / "deep.toml")


def test_deep_documents_end_in_one_line(tmp_path: Path) -> None:
    for depth in (900, 3000, 200_000):
        deep = KNAPSACK.rstrip(b"}\n") + b', "extra": ' + b"[" * depth + b"]" * depth + b"}"
        (tmp_path / "deep.json").write_bytes(deep)
        with pytest.raises(DocumentError, match=r"deep.json: .*"):
            list(read_documents(tmp_path / "deep.json"))


def test_devices_without_an_end_are_refused() -> None:
    with pytest.raises(DocumentError, match="/dev/zero: cannot be read: it is longer than 16 MiB"):
        read_dataset_plan("/dev/zero")
