"""Start times in the spellings of other programs, and files that hold none."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from transom.conform.starts import NEVER, aligned, read_starts
from transom.errors import TraceError
from transom.models import Cluster, Job
from transom.simulation import simulate
from transom.traces import TracedJob, Workload

WORKLOAD = Workload.of([TracedJob(Job(i, 100 + i, 2, 50), 40) for i in (1, 2, 3)], Cluster(4), "three")
STARTS = [101, 102, 141]

SPELLINGS = {
    "plain": "job,start\n1,101\n2,102\n3,141\n",
    "semicolons": "Job ID;Start Time;End\n3;141;181\n1;101;141\n2;102;142\n",
    "tabs": "job_id\tstart_time\n1\t101\n2\t102\n3\t141\n",
    "batsim": "job_id,submission_time,starting_time\nw0!1,101,101.0\nw0!2,102,102.0\nw0!3,103,141\n",
    "waits": "id,submit,wait\n1,101,0\n2,102,0\n3,103,38\n",
    "their clock": "job,submit,start\n1,0,0\n2,1,1\n3,2,40\n",
    "fractions": "job,start\n1,101.00001\n2,101.9999\n3,141\n",
    "comments": "# made by hand\njob,start\n1,101\n2,102\n3,141\n",
    "a mark": "\ufeffjob,start\r\n1,101\r\n2,102\r\n3,141\r\n",
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_spellings_are_understood(name: str, tmp_path: Path) -> None:
    (tmp_path / "starts").write_text(SPELLINGS[name])
    assert aligned(WORKLOAD, read_starts(tmp_path / "starts")).start.tolist() == STARTS


def test_gzip_and_traces_are_understood(tmp_path: Path) -> None:
    (tmp_path / "starts.gz").write_bytes(gzip.compress(SPELLINGS["plain"].encode()))
    assert aligned(WORKLOAD, read_starts(tmp_path / "starts.gz")).start.tolist() == STARTS
    rows = "".join(
        f"{i} {100 + i} {w} 40 2 -1 -1 2 50 -1 1 1 -1 -1 -1 -1 -1 -1\n" for i, w in ((1, 0), (2, 0), (3, 38))
    )
    (tmp_path / "starts.swf").write_text("; Version: 2.2\n" + rows)
    assert aligned(WORKLOAD, read_starts(tmp_path / "starts.swf")).start.tolist() == STARTS


def test_what_is_left_out_or_repaired_is_said(tmp_path: Path) -> None:
    (tmp_path / "starts").write_text(
        "job,submit,start,end,nodes\n1,101,101.4,141,2\n9,100,120,130,1\n2,102,,,3\n3,103,-1,-1,2\n"
    )
    theirs = aligned(WORKLOAD, read_starts(tmp_path / "starts"))
    assert theirs.start.tolist() == [101, NEVER, NEVER]
    said = " | ".join(theirs.notes)
    for part in ("1 time rounded", "1 row left out", "1 row with another number of nodes"):
        assert part in said


def test_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read"):
        read_starts(tmp_path / "absent")


def test_what_simulate_says_is_what_it_says(tmp_path: Path) -> None:
    schedule = simulate(WORKLOAD, "fcfs-easy")
    schedule.to_frame().write_parquet(tmp_path / "jobs.parquet")
    assert aligned(WORKLOAD, read_starts(tmp_path / "jobs.parquet")).start.tolist() == schedule.start.tolist()


@pytest.mark.parametrize("column", ["submit", "nodes"])
def test_amounts_that_are_none_are_refused(column: str, tmp_path: Path) -> None:
    (tmp_path / "starts").write_text(f"job,start,{column}\n1,101,1e300\n")
    with pytest.raises(TraceError, match=f"row 1: {column} must be at most"):
        read_starts(tmp_path / "starts")


def test_jobs_that_are_lists_are_refused(tmp_path: Path) -> None:
    pl.DataFrame({"job": [[1]], "start": [101]}).write_parquet(tmp_path / "starts")
    with pytest.raises(TraceError, match="job must be a number or text"):
        read_starts(tmp_path / "starts")
