"""The compiled reader of lines against a plain one: fuzzed files, every size of block, and without the compiler."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.amounts import numbers
from tests.traces.plain_swf import plain_lines
from tests.traces.test_swf import line, write
from transom.errors import TraceError
from transom.traces import swf_blocks
from transom.traces.swf_blocks import blocks
from transom.traces.swf_lines import read_lines
from transom.traces.swf_tokens import scan

ODD = (
    b"1e3", b"1E+2", b"+7", b"-0", b"007", b"7.0", b"7.", b".5", b"0.5", b"-2.50", b"57.5", b"1_0", b"nan", b"inf",
    b"-Infinity", b"abc", b"0x10", b"9" * 18, b"9" * 19, b"-" + b"9" * 18, b"9" * 400, b"9223372036854775807",
    b"9223372036854775808", b"-9223372036854775808", b"1e30", b"123456789012345678.0", b"1234567890123456.0",
    b"12345678901234567.50", b"\xd9\xa3", b"\0", b"--1", b"+-1", b"-", b"+", b".", b"-.", b"1.2.3", b"1e", b"1e5.0",
    b"0" * 30 + b"5", b"1." + b"0" * 80, b"0.1000000000000000055511151231257827", b"5;", b";5", b"1,000", b"\x1c",
    b"9" * 17 + b".", b"9" * 17 + b"e0", b"12e3", b"1.5e1", b"1.25e1", b"-1e15", b"1e16", b"1e17", b"1e18", b"1e19",
    b"123456789012e5", b"1e+", b"1E+05", b"1e005", b"1e99", b"1e100", b".e1", b"e5", b".5e1", b"0.001e3", b"1.5e-2",
    b"99999999999999.5e1", b"999999999999999.5e1", b"57.333333333333336", b"450e-1", b"45e-1", b"2.5E0",
    b"1" * 16 + b".0", b"0.000000000000001", b"999999999999999.5", b"", b"1 1", b"\x0b",
)  # fmt: skip
COMMENTS = (b"; MaxProcs: 16", b";", b" ; MaxProcs: 3", b"; Computer: \xe4\xff", b"", b"   ", b"\t; 17", b"\x0c")
WHOLE, REAL = [1, 2, 4, 9, 17], [6, 10, 4, 18]


def fuzzed(rng: np.random.Generator) -> bytes:
    """A file of few lines, most of them good, under one kind of line end."""
    width = int(rng.choice([18, 18, 18, 21]))
    lines = []
    for number in range(int(rng.integers(0, 9))):
        if rng.random() < 0.2:
            lines.append(COMMENTS[rng.integers(len(COMMENTS))])
        tokens = [b"%d" % rng.integers(-1, 10 ** int(rng.integers(1, 19))) for _ in range(width)]
        tokens[0] = b"%d" % (number + 1)
        for _ in range(rng.choice([0, 0, 0, 0, 0, 0, 1, 2])):
            tokens[rng.integers(width)] = ODD[rng.integers(len(ODD))]
        if rng.random() < 0.05:
            tokens = tokens[:-1] if rng.random() < 0.5 else [*tokens, b"1"]
        blank = (b" ", b"  ", b"\t", b" \x0b")[rng.integers(4)]
        tail = (b"", b" ", b"\r")[rng.choice(3, p=(0.8, 0.15, 0.05))]
        lines.append((b"", b"  ", b"\t")[rng.integers(3)] + blank.join(tokens) + tail)
    end = (b"\n", b"\n", b"\r\n", b"\r")[rng.integers(4)]
    return end.join(lines) + (end, b"", b" ", end + end)[rng.integers(4)]


def outcome(path: Path) -> list[tuple[float, ...]] | str:
    try:
        read = read_lines(str(path), WHOLE, REAL)
    except TraceError as error:
        return str(error).removeprefix(f"{path}: ")
    columns = (read.line, *read.whole, *read.real)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@numbers(250, 1000)
@pytest.mark.parametrize("seed", range(4))
def test_fuzzed_files_as_a_plain_reader_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, numbers: range
) -> None:
    rng = np.random.default_rng(seed + numbers.start)
    good = 0
    for _ in numbers:
        data = fuzzed(rng)
        expected = plain_lines(data, WHOLE, REAL)
        monkeypatch.setattr(swf_blocks, "_BLOCK", int(rng.choice([1, 7, 100, 1 << 20])))
        path = write(tmp_path, gzip.compress(data) if rng.random() < 0.3 and data else data)
        assert outcome(path) == expected, data
        good += not isinstance(expected, str)
    assert 0.3 < good / len(numbers) < 0.9  # both kinds are there


def number(rng: np.random.Generator) -> bytes:
    """Something like a number, of any length."""
    digits = ["".join(map(str, rng.integers(0, 10, rng.integers(0, 21)))) for _ in range(2)]
    zeros = "0" * int(rng.integers(0, 3))
    parts = [
        ("", "-", "+")[rng.integers(3)],
        digits[0],
        ("", ".", f".{zeros}", f".{digits[1]}")[rng.integers(4)],
        ("", "", f"e{rng.integers(0, 22)}", f"E+{rng.integers(0, 9)}", f"e-{rng.integers(0, 30)}", "e")[
            rng.integers(6)
        ],
    ]
    return "".join(parts).encode()


@numbers(300, 1500)
@pytest.mark.parametrize("field", [1, 3, 6], ids=["whole", "checked", "real"])
def test_every_number_in_every_kind_of_field(tmp_path: Path, field: int, numbers: range) -> None:
    rng = np.random.default_rng(field + numbers.start)
    for token in (*ODD, *(number(rng) for _ in numbers)):
        tokens = [b"7"] * 18
        tokens[field - 1] = token
        data = b" ".join(tokens) + b"\n"
        assert outcome(write(tmp_path, data)) == plain_lines(data, WHOLE, REAL), token


@pytest.mark.reference
@pytest.mark.parametrize("largest", [350_000, pytest.param(2**40, marks=pytest.mark.long)])
def test_real_traces_as_a_plain_reader_reads_them(shared: Path, largest: int) -> None:
    traces = [path for path in sorted((shared / "traces").glob("*.swf.gz")) if path.stat().st_size <= largest]
    assert len(traces) > 3
    for path in traces:
        with gzip.open(path) as file:
            assert outcome(path) == plain_lines(file.read(), WHOLE, REAL), path.name


def test_real_numbers_are_those_of_python(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    tokens = [f"{rng.random() * 10.0 ** rng.integers(-3, 12):.{rng.integers(0, 18)}f}" for _ in range(5000)]
    read = read_lines(str(write(tmp_path, "".join(line(f6=token) for token in tokens))), [1], [6])
    assert read.real[0].tolist() == list(map(float, tokens))


def test_blocks_are_whole_lines_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"\xef\xbb\xbfa\r\nbb\n\n" + b"c" * 50 + b"\nd"
    for size in (1, 2, 3, 10, 1000):
        monkeypatch.setattr(swf_blocks, "_BLOCK", size)
        found = list(blocks(str(write(tmp_path, data))))
        assert b"".join(block for _, block in found) == data[3:] + b"\n"
        assert all(block.endswith(b"\n") for _, block in found)
        assert [before for before, _ in found] == [
            b"".join(block for _, block in found[:i]).count(b"\n") for i in range(len(found))
        ]


def test_a_broken_stream_says_more_than_a_bad_line_before_it(tmp_path: Path) -> None:
    text = line() + "abc\n" + "".join(line(f1=i, f2=i * i) for i in range(2, 20_000))
    packed = gzip.compress(text.encode())
    with pytest.raises(TraceError, match=r"line [0-9]{4,}: the gzip stream is broken or cut off here"):
        read_lines(str(write(tmp_path, packed[: len(packed) - 100])), [1])
    with pytest.raises(TraceError, match="line 2: expected 18 fields, got 1"):
        read_lines(str(write(tmp_path, packed)), [1])
    with pytest.raises(TraceError, match="line 20001: a zero byte"):
        read_lines(str(write(tmp_path, text + line(f1="\0"))), [1])


def test_the_same_kernel_in_plain_python(tmp_path: Path) -> None:
    text = b"  1 -2.5 +3\t4\r\n\n 7 8 . 9\n"
    plan = np.array([[2, 3, 1, 0], [1, 2, 0, 0]])
    results = []
    for run in (scan, scan.py_func):
        table, at = np.zeros((3, 4), np.int64), np.zeros(3, np.int64)
        done = run(np.frombuffer(bytearray(text), np.uint8), plan, table, table.view(np.float64), at)
        results.append((done, table.tolist(), at.tolist(), table.view(np.float64)[2, 0]))
    assert results[0] == results[1]
    assert results[0][0] is False
    assert results[0][2:] == ([text.index(b" 7"), 1, 2], -2.5)


def test_without_the_compiler(tmp_path: Path) -> None:
    text = "; MaxProcs: 9\n" + "".join(line(f1=i, f2=f"{i}.0", f6="1e2", f7="9" * 18) for i in range(1, 50))
    path = write(tmp_path, text + line(f1=50, f7="9" * 500))
    code = (
        "import sys; from transom.traces import read_swf; from transom.errors import TraceError\n"
        "try: print(read_swf(sys.argv[1]).digest())\nexcept TraceError as error: print(error)"
    )
    found = [
        subprocess.run(
            [sys.executable, "-W", "error", "-c", code, str(each)],
            env={**os.environ, "NUMBA_DISABLE_JIT": off},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for off in ("0", "1")
        for each in (path, write(tmp_path, text, "good.swf"))
    ]
    assert found[:2] == found[2:]
    assert "line 51: field 7 (used memory) does not fit into 63 bits" in found[0]
