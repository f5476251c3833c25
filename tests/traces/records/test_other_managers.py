"""Accounting logs of PBS and LSF, and traces with further fields, as traces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from transom.errors import SpecError, TraceError
from transom.traces import ReadingRules, read_swf
from transom.traces.further_fields import read_fields
from transom.traces.records.importing import Imported, ImportRules
from transom.traces.records.lsf import read_lsf
from transom.traces.records.pbs import read_pbs
from transom.traces.records.swf import read_swf_records
from transom.traces.records.swf_file import write_swf_trace
from transom.traces.swf_header import FIELDS
from transom.traces.trace_file import write_trace

EXAMPLES = Path(__file__).parents[3] / "examples"
WORKLOADS = Path(__file__).parents[3] / "instances" / "workloads"


def known(trace: Imported, job: int) -> dict[str, Any]:
    """What is known of a job."""
    row = trace.jobs.filter(pl.col("id") == job).row(0, named=True)
    return {name: value for name, value in row.items() if value not in (-1, "", [], 0)}


def test_pbs_gives_a_job_for_each_end() -> None:
    trace = read_pbs([str(EXAMPLES / "pbs.txt")])
    assert trace.jobs["id"].to_list() == [1001, 1005, 1003, 1004]
    assert known(trace, 1001) == {
        "id": 1001, "label": "1001", "submit": 1767225600, "eligible": 1767225600, "start": 1767225602,
        "end": 1767229202, "runtime": 3600, "walltime": 7200, "nodes": 2, "cores": 8, "req_nodes": 2, "req_cores": 8,
        "req_memory": 16384, "user": 1, "user_name": "ada", "group": "users", "account": "physics",
        "partition": "batch", "state": "COMPLETED", "name": "run1", "node_list": "n1/0*4+n2/0*4", "restarts": 1,
    }  # fmt: skip
    assert trace.card.repairs == {
        "records of other types (not read)": 1,
        "records of whole arrays (their tasks are jobs)": 1,
        "cancelled while waiting: kept, without a runtime": 1,
        "still running: kept, without a runtime": 1,
    }


def test_pbs_tasks_deletions_and_running_jobs() -> None:
    trace = read_pbs([str(EXAMPLES / "pbs.txt")])
    task, deleted, running = (known(trace, job) for job in (1005, 1003, 1004))
    assert (task["label"], task["array_job"], task["array_task"], task["gpus"]) == ("1002_3", 1002, 3, 1)
    assert (task["state"], task["walltime"], task["name"]) == ("CANCELLED", 600, "my run")
    assert (deleted["state"], deleted["submit"], deleted["end"]) == ("CANCELLED", 1767226200, 1767226800)
    assert "start" not in deleted
    assert (running["state"], running["nodes"], running["cores"]) == ("RUNNING", 2, 3)


def test_pbs_reruns_are_executions_of_their_own(tmp_path: Path) -> None:
    told = "user=a queue=q ctime=1767225600 start={} end={} exec_host=n1/0*2 Resource_List.walltime=01:00:00"
    lines = [
        f"01/01/2026 00:10:00;R;7.s;{told.format(1767225610, 1767226200)}",
        f"01/01/2026 01:00:00;E;7.s;{told.format(1767226300, 1767229200)} Exit_status=0",
    ]
    (tmp_path / "log").write_text("\n".join(lines) + "\n")
    trace = read_pbs([str(tmp_path / "log")])
    assert trace.jobs.select("id", "runtime", "state").rows() == [(7, 2900, "COMPLETED"), (8, 590, "REQUEUED")]


def test_pbs_lines_that_are_none_are_counted(tmp_path: Path) -> None:
    (tmp_path / "log").write_text((EXAMPLES / "pbs.txt").read_text() + "not a record\n")
    trace = read_pbs([str(tmp_path / "log")])
    assert trace.findings.first == f"{tmp_path}/log: line 11: expected DATE TIME;TYPE;ID;key=value ..."
    with pytest.raises(TraceError, match="line 11: expected DATE"):
        read_pbs([str(tmp_path / "log")], ImportRules(bad=0.01))


@pytest.mark.parametrize("name", ["a b", "a\x1cb", "a\x85b", "a\u2028b"])
def test_pbs_records_end_with_a_line_feed_alone(name: str, tmp_path: Path) -> None:
    told = f'user=a jobname="{name}" queue=q ctime=5 start=6 end=9 exec_host=n1/0*2'
    (tmp_path / "log").write_bytes(f"01/01/2026 01:00:00;E;7.s;{told}\r\nno record\r\n".encode())
    trace = read_pbs([str(tmp_path / "log")], ImportRules(bad=0.5))
    assert trace.jobs["name"].to_list() == [name]
    assert trace.findings.first.startswith(f"{tmp_path}/log: line 2: ")


def test_lsf_gives_a_job_for_each_finish() -> None:
    trace = read_lsf([str(EXAMPLES / "lsb.acct")])
    assert known(trace, 1001) == {
        "id": 1001, "label": "1001", "submit": 1767225600, "start": 1767225602, "end": 1767229202, "runtime": 3600,
        "nodes": 2, "cores": 8, "req_cores": 8, "user": 1000, "user_name": "ada", "account": "physics",
        "partition": "batch", "state": "COMPLETED", "name": "run1", "node_list": "n1,n2",
    }  # fmt: skip
    failed, never = known(trace, 1002), known(trace, 1003)
    assert (failed["state"], failed["nodes"], failed["cores"], failed["name"]) == ("FAILED", 1, 2, "my run")
    assert (never["state"], "start" in never) == ("CANCELLED", False)
    assert read_lsf([str(EXAMPLES / "lsb.acct")], ImportRules(unit="cores")).card.machine == {"cores": 8}


def test_lsf_tasks_and_damaged_lines(tmp_path: Path) -> None:
    lines = (EXAMPLES / "lsb.acct").read_text().splitlines()
    task = lines[0].replace(' "physics" 0 8 "" "" 0 ', ' "physics" 0 8 "" "" 5 ')
    (tmp_path / "acct").write_text("\n".join([task, lines[0][:200], *lines[1:]]) + "\n")
    trace = read_lsf([str(tmp_path / "acct")], ImportRules(bad=0.3))
    assert trace.jobs.filter(pl.col("label") == "1001_5")["array_task"].item() == 5
    assert f"{tmp_path}/acct: line 2: JOB_FINISH has too few fields" in trace.findings.first


def test_lsf_arrays_that_never_started_are_one_record(tmp_path: Path) -> None:
    line = (EXAMPLES / "lsb.acct").read_text().splitlines()[2]
    arrays = [("never[1-50]%5", "-1"), ("never[1,3,5-9:2]", "-1"), ("never", "-1"), ("never[1-50]", "7")]
    lines = [
        line.replace(" 1003 ", f" {2000 + i} ", 1)
        .replace('"never"', f'"{name}"')
        .replace('0 2 "" "" 0 ', f'0 2 "" "" {index} ')
        for i, (name, index) in enumerate(arrays)
    ]
    (tmp_path / "acct").write_text("\n".join(lines) + "\n")
    trace = read_lsf([str(tmp_path / "acct")], ImportRules(unit="cores"))
    found = trace.jobs.sort("label").select("label", "array_job", "array_task", "array_tasks", "state").rows()
    assert found == [
        ("2000", 2000, -1, 50, "CANCELLED"), ("2001", 2001, -1, 5, "CANCELLED"), ("2002", -1, -1, -1, "CANCELLED"),
        ("2003_7", 2003, 7, -1, "CANCELLED"),
    ]  # fmt: skip
    assert trace.findings.bad == 0


@pytest.mark.parametrize("name", ["lublin_5000"])
@pytest.mark.parametrize("ending", [".parquet", ".swf.gz"])
def test_a_trace_becomes_the_same_workload(name: str, ending: str, tmp_path: Path) -> None:
    source = WORKLOADS / f"{name}.swf.gz"
    jobs, card, _ = read_swf_records(str(source))
    target = tmp_path / f"{name}{ending}"
    (write_trace if ending == ".parquet" else write_swf_trace)(target, jobs, card)
    assert read_swf(target).digest() == read_swf(source).digest()


FRONTIER = """; MaxProcs: 64
; Partition: 3 batch
1 0 5 100 4 -1 -1 4 200 2048 1 7 1 9 2 3 -1 -1 16 80.5 a
2 50 -1 0 -1 -1 -1 8 300 -1 5 8 1 9 2 5 -1 -1 32 0 b
3 60 10.5 50 8 -1 -1 8 300 -1 0 8 1 -1 -1 -1 1 -1 32 12 c
"""


def test_further_fields_become_columns(tmp_path: Path) -> None:
    (tmp_path / "f.swf").write_text(FRONTIER)
    trace = read_swf_records(str(tmp_path / "f.swf"), columns=("gpus", "energy", "model"))
    jobs = trace.jobs
    assert jobs["gpus"].to_list() == [16, 32, 32]
    assert jobs["energy"].to_list() == [80.5, 0.0, 12.0]
    assert "model" not in jobs.columns
    assert "column 'model' holds more than numbers and is left out" in trace.findings.notes
    assert jobs["start"].to_list() == [5, -1, 70]
    assert jobs["partition"].to_list() == ["batch", "partition5", ""]
    assert jobs["req_memory"].to_list() == [8, -1, -1]
    assert jobs["depends_on"].to_list() == [[], [], [1]]
    assert (trace.card.machine, trace.card.told_by) == ({"nodes": 64}, "")
    assert trace.card.repairs == {
        "fractions of numbers, cut": 1, "cancelled while waiting: kept, without a runtime": 1
    }  # fmt: skip
    write_trace(tmp_path / "f.parquet", jobs, trace.card)
    told = read_fields(tmp_path / "f.parquet", ["gpus", "energy"], np.array([3, 1]))
    assert told["energy"].tolist() == [12.0, 80.5]
    batch = read_swf(tmp_path / "f.parquet", ReadingRules(partitions=("batch",)), nodes=64)
    assert batch.jobs.id.tolist() == [1]


def test_the_header_or_names_of_all_fields_say_what_is_what(tmp_path: Path) -> None:
    (tmp_path / "f.swf").write_text("; Columns: gpus energy model\n" + FRONTIER)
    by_header = read_swf_records(str(tmp_path / "f.swf"))
    own = (
        "id", "submit", "wait", "runtime", "nodes", "x1", "x2", "req_nodes", "walltime", "x3", "status", "user", "x4",
        "x5", "x6", "partition", "parent", "x7",
    )  # fmt: skip
    all_named = read_swf_records(str(tmp_path / "f.swf"), columns=(*own, "gpus", "energy", "model"))
    shared = ["id", "submit", "start", "runtime", "nodes", "walltime", "user", "gpus", "energy"]
    assert by_header.jobs.select(shared).equals(all_named.jobs.select(shared))
    for first in (" ".join(own), " ".join(name.replace(" ", "-") for name in FIELDS)):
        (tmp_path / "all.swf").write_text(f"; Columns: {first} gpus energy model\n" + FRONTIER)
        all_in_header = read_swf_records(str(tmp_path / "all.swf"))
        assert all_in_header.jobs.select(shared).equals(by_header.jobs.select(shared))
    with pytest.raises(SpecError, match="'gpus' stands twice"):
        read_swf_records(str(tmp_path / "f.swf"), columns=("gpus", "gpus"))
    with pytest.raises(SpecError, match="no field"):
        read_swf_records(str(tmp_path / "f.swf"), columns=("a", "b", "c", "gpus"))
