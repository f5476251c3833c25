"""kplib's text format."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest

from transom.errors import DocumentError
from transom.io import read_documents, read_kplib
from transom.models import Knapsack

TEXT = "\n3\n10\n\n60 5\n50 4\n70 6\n"


def test_reads_the_format(tmp_path: Path) -> None:
    path = tmp_path / "small.kp"
    path.write_text(TEXT)
    expected = Knapsack([60, 50, 70], [5, 4, 6], 10)
    assert read_kplib(path) == expected
    assert list(read_documents(path)) == [(str(path), expected)]
    packed = tmp_path / "small.kp.gz"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    assert list(read_documents(packed)) == [(str(packed), expected)]


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("", "expected a line with n and one with the capacity, got 0 lines"),
        ("1", "got 1 lines"),
        ("2\n10\n1 1\n", "a.kp:1: n = 2, but 1 items follow"),
        ("1\n10\n1 1\n2 2\n", "a.kp:1: n = 1, but 2 items follow"),
        ("1\n10\n1\n", "a.kp:3: expected 2 integers, got 1"),
        ("1 10\n1 1\n", "a.kp:1: expected 1 integers, got 2"),
        ("1\n10\n1 x\n", "a.kp:3: expected 2 integers, got '1 x'"),
        ("1\n10\n1 1.5\n", "a.kp:3: expected 2 integers, got '1 1.5'"),
        ("1\n10\n1 9223372036854775808\n", "a.kp:3: 9223372036854775808 does not fit into 64 bits"),
        ("1\n10\n1 -1\n", "a.kp: knapsack: item 0: weight must be >= 0, got -1"),
        ("1\n-10\n1 1\n", "a.kp: knapsack: capacity must be >= 0"),
        ("\x00\x01\x02\n", "a.kp:1: expected 1 integers"),
    ],
)
def test_damage_is_named(tmp_path: Path, text: str, condition: str) -> None:
    path = tmp_path / "a.kp"
    path.write_text(text)
    with pytest.raises(DocumentError, match=condition):
        read_kplib(path)


@pytest.mark.reference
def test_reads_the_published_instances(shared: Path) -> None:
    folder = shared / "instances" / "kplib"
    paths = sorted(folder.glob("*.kp"))
    assert len(paths) == 52
    with (folder / "optima.csv").open() as file:
        known = {row[0] for row in csv.reader(file)}
    for path in paths:
        knapsack = read_kplib(path)
        assert len(knapsack) == int(path.stem.split("_n")[1][:5])
        assert 0 < knapsack.capacity < knapsack.weights.sum()
    assert len(known) >= len(paths)
