"""Bad files: one line that names file, line and condition."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

from tests.traces.test_swf import line, write
from transom.errors import TraceError
from transom.traces import ReadingRules, read_swf

GOOD = line(f1=100)
NOISE = np.random.default_rng(0).integers(0, 256, 4000, dtype=np.uint8).tobytes()
PACKED = gzip.compress("".join(line(f1=i, f2=i * i) for i in range(1, 5000)).encode())

CASES: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "line 1: the file is empty"),
    "utf-16": ("; MaxProcs: 4\n".encode("utf-16"), "is text in UTF-16; convert it to UTF-8"),
    "blank": ("\n \n\n", "line 1: the file is empty"),
    "empty gzip": (gzip.compress(b"", mtime=0), "line 1: the file is empty"),
    "no jobs": ("; MaxNodes: 5\n;\n", "line 2: the file ends without any job"),
    "binary": (NOISE, "line 2: a zero byte: this is not a text file"),
    "binary behind a job": (GOOD.encode() + b"\x89PNG\0", "line 2: a zero byte: this is not a text file"),
    "text of another kind": ("id,submit\n1,2\n", "line 1: expected 18 fields, got 1"),
    "truncated gzip": (PACKED[: len(PACKED) // 2], "line [0-9]+: the gzip stream is broken or cut off here"),
    "gzip without its end": (PACKED[:-5], "line 5000: the gzip stream is broken or cut off here"),
    "gzip with a wrong checksum": (PACKED[:-8] + bytes(4) + PACKED[-4:], "line .*: the gzip stream is broken"),
    "gzip header only": (PACKED[:5], "line 1: the gzip stream is broken or cut off here"),
    "17 fields": ("; c\n" + GOOD + line().rsplit(" ", 1)[0], "line 3: expected 18 fields, got 17"),
    "19 fields": (GOOD + line(f18="-1 -1"), "line 2: expected 18 fields, got 19"),
    "17 and 19": (line(f1="") + line(f2="1 1"), "line 1: expected 18 fields, got 17"),
    "word": (GOOD + line(f4="abc"), r"line 2: field 4 \(run time\) must be a number, got 'abc'"),
    "word unread": (GOOD + line(f15="batch"), r"line 2: field 15 \(queue\) must be a number, got 'batch'"),
    "underscore": (GOOD + line(f2="1_000"), r"line 2: field 2 \(submit time\) must be a number, got '1_000'"),
    "underscore unread": (line(f3="1_0"), r"line 1: field 3 \(wait time\) must be a number, got '1_0'"),
    "hexadecimal": (line(f8="0x10"), r"line 1: field 8 \(requested processors\) must be a number, got '0x10'"),
    "not a number": (line(f9="NaN"), r"line 1: field 9 \(requested time\) must be finite, got 'NaN'"),
    "not a number unread": (line(f6="nan"), r"line 1: field 6 \(average CPU time\) must be finite, got 'nan'"),
    "infinite": (line(f2="-inf"), r"line 1: field 2 \(submit time\) must be finite, got '-inf'"),
    "64 bits": (line(f1=2**63), r"line 1: field 1 \(job number\) does not fit into 63 bits"),
    "500 digits": (line(f4="9" * 500), r"line 1: field 4 \(run time\) does not fit into 63 bits, got '9{30}\.\.\.'"),
    "1e30 unread": (line(f7="1e30"), r"line 1: field 7 \(used memory\) does not fit into 63 bits, got '1e30'"),
    "half a second": (line(f2="0.5"), r"line 1: field 2 \(submit time\) must be a whole number, got '0\.5'"),
    "not ASCII": (GOOD.encode() + line(f4="\u0663").encode(), r"line 2: field 4 \(run time\) must be a number"),
    "id twice": (GOOD + line(f1=2) + line(f1=100), "line 3: job 100: this id stands already in line 1"),
    "id twice, one never ran": (GOOD + line(f1=100, f4=-1), "line 2: job 100: this id stands already in line 1"),
    "depends on itself": (line(f1=4, f17=4), "line 1: job 4: depends on itself"),
    "cycle": (line(f1=1, f17=2) + line(f1=2, f17=1), "line 2: job 2: its dependencies form a cycle through job 1"),
    "no usable job": (
        line(f1=1, f4=-1) + line(f1=2, f4=0) + line(f1=3, f5=-1, f8=-1),
        r"line 1: none of its 3 jobs can be used: size unknown or <= 0 \(1\), runtime unknown or <= 0 \(2\)",
    ),
    "only jobs above the machine": (
        "; MaxProcs: 1\n" + GOOD,
        r"line 2: none of its 1 jobs .* larger than the machine \(1\)",
    ),
    "times that wrap around": (line(f2=2**62), "line 1: job 1: .* too large to schedule within 62 bits"),
    "walltimes that wrap around": (line(f1=2) + line(f9=2**62), "line 2: job 1: .* too large to schedule"),
    "machine of 64 bits": (f"\n; MaxNodes: {2**63}\n" + GOOD, "line 2: MaxNodes does not fit into 63 bits"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_names_file_line_and_condition(tmp_path: Path, case: str) -> None:
    content, message = CASES[case]
    path = write(tmp_path, content)
    with pytest.raises(TraceError, match=f"^{re.escape(str(path))}: {message}") as caught:
        read_swf(path)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    for path, message in ((tmp_path / "none.swf", "No such file"), (tmp_path, "Is a directory"), ("a\0b", "null")):
        with pytest.raises(TraceError, match=f"cannot be read: .*{message}"):
            read_swf(path)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"f1": 0}, "job 0: id must be > 0, got 0"),
        ({"f2": -3}, "job 1: submission must be >= 0 s, got -3"),
        ({"f5": -1, "f8": -2}, "job 1: size must be > 0, got -1"),
        ({"f4": 0}, "job 1: runtime must be > 0 s, got 0"),
    ],
)
def test_nonpositive_jobs_are_errors_on_request(tmp_path: Path, field: dict[str, int], message: str) -> None:
    path = write(tmp_path, GOOD + line(**field))
    assert len(read_swf(path)) == 1
    with pytest.raises(TraceError, match=f"line 2: {message}"):
        read_swf(path, ReadingRules(nonpositive="error"))


def test_oversized_jobs_are_errors_on_request(tmp_path: Path) -> None:
    path = write(tmp_path, "; MaxProcs: 4\n" + GOOD + line(f1=7, f8=5))
    assert read_swf(path).repairs == {"left out: larger than the machine": 1}
    with pytest.raises(TraceError, match="line 3: job 7: size 5 exceeds the 4 nodes of the machine"):
        read_swf(path, ReadingRules(oversized="error"))
