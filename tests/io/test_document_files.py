"""Files of documents: sets are read one at a time, damage is named, files are whole."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transom.errors import DocumentError, ModelError
from transom.io import (
    encode,
    read_allocations,
    read_documents,
    read_knapsacks,
    read_selections,
    read_windows,
    write_documents,
)
from transom.models import Allocation, Cluster, FatTree, JobTable, Knapsack, Selection, Window

ITEMS = [Knapsack([i, 2], [1, 1], i) for i in range(1, 6)]


@pytest.mark.parametrize("name", ["set.jsonl", "set.jsonl.gz"])
def test_sets_come_back(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert write_documents(path, iter(ITEMS)) == 5
    back = list(read_documents(path))
    assert [thing for _, thing in back] == ITEMS
    assert [where for where, _ in back] == [f"{path}:{i}" for i in range(1, 6)]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["one.json", "one.json.gz"])
def test_single_documents_come_back(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_documents(path, ITEMS[:1])
    assert list(read_documents(path)) == [(str(path), ITEMS[0])]


def test_gzip_is_reported_by_content(tmp_path: Path) -> None:
    packed, plain = tmp_path / "packed.jsonl", tmp_path / "plain.jsonl.gz"
    lines = b"\n".join(map(encode, ITEMS))
    packed.write_bytes(gzip.compress(lines, mtime=0))
    plain.write_bytes(lines)
    assert [thing for _, thing in read_documents(packed)] == ITEMS == [thing for _, thing in read_documents(plain)]


def test_reading_is_lazy_and_blank_lines_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_bytes(encode(ITEMS[0]) + b"\n\n" + encode(ITEMS[1]) + b"\r\n{broken\n")
    reader = read_documents(path)
    assert next(reader) == (f"{path}:1", ITEMS[0])
    assert next(reader) == (f"{path}:3", ITEMS[1])
    with pytest.raises(DocumentError, match=r"set.jsonl:4: not JSON"):
        next(reader)


def _truncated() -> bytes:
    rng = np.random.default_rng(0)
    lines = b"\n".join(encode(Knapsack(rng.integers(0, 10**9, 500), np.ones(500), 3)) for _ in range(20))
    return gzip.compress(lines, mtime=0)[:20_000]


def _flipped() -> bytes:
    data = bytearray(_truncated() + bytes(8))
    data[5_000] ^= 255
    return bytes(data)


@pytest.mark.parametrize(
    ("name", "content", "condition"),
    [
        ("a.jsonl", b"", "a.jsonl: the file is empty"),
        ("a.json", b" \n\n", "a.json: the file is empty"),
        ("a.json", gzip.compress(b"", mtime=0), "a.json: the file is empty"),
        ("a.jsonl.gz", _truncated(), "a.jsonl.gz: the gzip file is truncated"),
        ("a.jsonl.gz", _flipped(), "a.jsonl.gz(:[0-9]+)?: "),
        ("a.json.gz", b"\x1f\x8b\x00", "a.json.gz: the gzip file is (damaged|truncated)"),
        ("a.json", bytes(range(256)), "a.json: not"),
        ("a.json", encode(ITEMS[0]) + b"\n" + encode(ITEMS[1]), r"a.json: not JSON: trailing characters \(line 2\)"),
        ("a.kp", b"", "a.kp: expected a line with n and one with the capacity, got 0 lines"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, name: str, content: bytes, condition: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DocumentError, match=condition):
        list(read_documents(path))


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"nowhere.json: no such file"):
        list(read_documents(tmp_path / "nowhere.json"))
    with pytest.raises(DocumentError, match="is a folder, not a file"):
        list(read_documents(tmp_path))


@pytest.mark.parametrize("path", [None, 5, b"windows.jsonl"])
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(ModelError, match="path: expected the path of a file, got"):
        next(read_knapsacks(path))


def test_what_cannot_be_written_leaves_no_file(tmp_path: Path) -> None:
    def failing() -> Iterator[Knapsack]:
        yield ITEMS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_documents(tmp_path / "a.jsonl", failing())
    with pytest.raises(DocumentError, match="holds one document"):
        write_documents(tmp_path / "a.json", ITEMS)
    with pytest.raises(DocumentError, match="no document to write"):
        write_documents(tmp_path / "a.json", [])
    with pytest.raises(DocumentError, match=r"are written to .json"):
        write_documents(tmp_path / "a.csv", ITEMS)
    assert list(tmp_path.iterdir()) == []


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_documents(path, ITEMS)
    before = path.read_bytes()
    with pytest.raises(DocumentError):
        write_documents(path, [ITEMS[0], "no document"])
    assert path.read_bytes() == before


def test_readers_of_one_type_name_what_else_they_find(tmp_path: Path) -> None:
    knapsack = Knapsack([1, 2], [1, 1], 1)
    selection = Selection([[1, 2]], [1, 2])
    allocation = Allocation(FatTree.k_ary(4), [0, 1, 5], [2])
    window = Window(0, Cluster(4), JobTable([]), JobTable([]), [], [4])
    readers: list[tuple[Any, Any, str]] = [
        (read_knapsacks, knapsack, "a knapsack"),
        (read_selections, selection, "a selection"),
        (read_allocations, allocation, "an allocation"),
        (read_windows, window, "a window"),
    ]
    for place, (read, mine, name) in enumerate(readers):
        path = tmp_path / "set.jsonl"
        write_documents(path, [mine, mine])
        assert list(read(path)) == [mine, mine]
        _, other, other_name = readers[place - 1]
        write_documents(path, [mine, other])
        found = read(path)
        assert next(found) == mine
        with pytest.raises(DocumentError, match=f"set.jsonl:2: expected {name}, this is {other_name}$"):
            next(found)
