"""Reading Standard Workload Format: what comes out of a well-formed file."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from transom.errors import ModelError
from transom.models import Cluster
from transom.traces import read_swf

SMALL = """\
; Version: 2.2
;MaxNodes: 8
;  MaxProcs: 16 (batch partition; 32 total)
; Note: MaxProcs: 99 is what a note says

    3   200   5   60   4  57.5  -1   4   100  -1  1  7  1 -1  2 -1 -1 -1
    1   100  -1   50   2    -1  -1   3    50  -1  1  8  1 -1  2 -1 -1 -1
   10   100  10  500  16 1e2.0  -1  -1    -1  -1  0 -1 -1 -1 -1 -1  3 12
""".replace("1e2.0", "1e2  ")


def write(folder: Path, text: str | bytes, name: str = "t.swf") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def line(**fields: object) -> str:
    """A line of 18 fields, a good one unless told otherwise: ``f4=-1`` sets field 4."""
    good = [1, 0, -1, 10, 2, -1, -1, 2, 20, -1, 1, 5, -1, -1, -1, -1, -1, -1]
    for name, value in fields.items():
        good[int(name[1:]) - 1] = value
    return " ".join(map(str, good)) + "\n"


def test_reads_jobs_sorted_with_their_fields(tmp_path: Path) -> None:
    workload = read_swf(write(tmp_path, SMALL))
    assert workload.name == "t"
    assert workload.cluster == Cluster(16)
    assert workload.jobs.id.tolist() == [1, 10, 3]
    assert workload.jobs.submit.tolist() == [100, 100, 200]
    assert workload.jobs.nodes.tolist() == [3, 16, 4]
    assert workload.jobs.walltime.tolist() == [50, 500, 100]
    assert workload.runtime.tolist() == [50, 500, 60]
    assert workload.jobs.user.tolist() == [8, -1, 7]
    assert workload.jobs.priority.tolist() == [-1, -1, -1]
    assert workload.jobs[1].depends_on == (3,)
    assert workload.repairs == {"walltime taken from the runtime": 1, "size taken from the allocated one": 1}


def test_gzip_is_reported_by_content(tmp_path: Path) -> None:
    plain = read_swf(write(tmp_path, SMALL))
    packed = gzip.compress(SMALL.encode())
    assert read_swf(write(tmp_path, packed, "t.swf.gz")) == plain
    assert read_swf(write(tmp_path, packed, "t.swf")) == plain
    assert read_swf(write(tmp_path, SMALL, "t.swf.gz")) == plain
    halves = gzip.compress(SMALL[:300].encode()) + gzip.compress(SMALL[300:].encode())
    assert read_swf(write(tmp_path, halves, "t.swf")) == plain


@pytest.mark.parametrize(
    ("header", "nodes"),
    [
        ("; MaxNodes: 338 (batch partition; 512 total)\n", 338),
        (";MaxNodes:144\n; MaxProcs: 1152\n", 1152),
        ("; MaxProcs: -1\n; MaxNodes: 7\n", 7),
        ("; MaxProcs: 0\n; maxnodes :  9 \n", 9),
        ("; MaxNodes: 5\n; MaxNodes: 6\n", 5),
    ],
)
def test_machine_size_from_the_header(tmp_path: Path, header: str, nodes: int) -> None:
    assert read_swf(write(tmp_path, header + line())).cluster.num_nodes == nodes


def test_machine_size_by_option_and_from_the_largest_job(tmp_path: Path) -> None:
    path = write(tmp_path, line(f1=1, f8=3) + line(f1=2, f8=5) + line(f1=3, f8=9, f4=-1))
    assert read_swf(path, nodes=64).cluster.num_nodes == 64
    assert read_swf(path, nodes=64).repairs == {"left out: runtime unknown or <= 0": 1}
    guessed = read_swf(path)
    assert guessed.cluster.num_nodes == 5  # the job of 9 nodes never ran
    assert guessed.repairs["machine size taken from the largest job (5 nodes)"] == 1
    with pytest.raises(ModelError, match=r"t\.swf: the machine must have > 0 nodes, got 0"):
        read_swf(path, nodes=0)


def test_comments_and_line_ends_of_all_kinds(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbf; Computer: Universit\xe4t\r\n\r\n" + line(f1=1).encode().replace(b"\n", b"\r\n")
    text += b"   ; a comment between jobs, 17 fields\n\t" + line(f1=2).encode().replace(b" ", b"\t").rstrip(b"\n")
    assert read_swf(write(tmp_path, text)).jobs.id.tolist() == [1, 2]


def test_floats_where_they_are_harmless(tmp_path: Path) -> None:
    text = line(f1="7.0", f4="10.00", f6="3.25", f7="1e3", f13="0.5") + line(f1="+8")
    workload = read_swf(write(tmp_path, text))
    assert workload.jobs.id.tolist() == [7, 8]
    assert workload.runtime.tolist() == [10, 10]


def test_large_numbers_stay_exact(tmp_path: Path) -> None:
    big = 2**60 + 1  # a float would lose the last bit
    workload = read_swf(write(tmp_path, line(f1=big, f2=big)))
    assert (workload.jobs.id[0], workload.jobs.submit[0]) == (big, big)


def test_more_lines_than_one_chunk_with_a_float_in_the_last(tmp_path: Path) -> None:
    number = 20_003
    text = "".join(line(f1=i, f2=number - i) for i in range(1, number)) + line(f1=f"{number}.0", f2=0)
    workload = read_swf(write(tmp_path, text))
    assert np.array_equal(workload.jobs.id, np.arange(number, 0, -1))


def test_the_order_of_lines_does_not_matter(tmp_path: Path) -> None:
    lines = SMALL.splitlines(keepends=True)
    shuffled = "".join(lines[:5] + lines[:4:-1])
    assert read_swf(write(tmp_path, shuffled)) == read_swf(write(tmp_path, SMALL))


@pytest.mark.parametrize(
    ("header", "submit", "epoch"),
    [
        ("", 30, None),
        ("; UnixStartTime: 1027839845\n", 30, 1_027_839_845),
        (";unixstarttime:1027839845 (some day)\n", 30, 1_027_839_845),
        ("; UnixStartTime: 0\n", 30, None),
        ("; UnixStartTime: 12.5\n", 30, None),
        ("; UnixStartTime: -1\n", 30, None),
        ("; UnixStartTime: 1027839845\n", 1_641_021_254, 0),
        ("", 1_641_021_254, 0),
    ],
)
def test_dates_are_known_where_the_begin_is(tmp_path: Path, header: str, submit: int, epoch: int | None) -> None:
    assert read_swf(write(tmp_path, header + line(f2=submit)), nodes=8).origin.epoch == epoch
