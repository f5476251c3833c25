"""What accounting data hold beside plain jobs: steps, arrays, requeues, waits without a start, odd texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.traces.records.written import text
from transom.errors import TraceError
from transom.traces import read_swf
from transom.traces.records.importing import Imported, ImportRules
from transom.traces.records.slurm import read_slurm
from transom.traces.trace_file import write_trace

BASE = {
    "JobID": "100", "JobIDRaw": "100", "JobName": "a", "Partition": "debug", "Account": "physics", "User": "alice",
    "State": "COMPLETED", "Submit": "2026-01-01T00:00:00", "Eligible": "2026-01-01T00:00:00",
    "Start": "2026-01-01T00:01:00", "End": "2026-01-01T01:01:00", "Elapsed": "01:00:00", "Suspended": "00:00:00",
    "Timelimit": "02:00:00", "NNodes": "2", "ReqNodes": "2", "NCPUS": "8", "AllocTRES": "cpu=8,mem=16G,node=2",
    "ReqTRES": "cpu=8,mem=16G,node=2", "ReqMem": "8Gn", "NodeList": "n[1-2]", "Reservation": "", "QOS": "normal",
}  # fmt: skip
MIDNIGHT = 1_767_225_600
LATER = {
    "Submit": "2026-01-01T00:11:00", "Start": "2026-01-01T00:14:00", "End": "2026-01-01T00:34:00",
    "Elapsed": "00:20:00",
}  # fmt: skip


def job(number: int, **changed: str) -> dict[str, str]:
    """A record like BASE."""
    return BASE | {"JobID": str(number), "JobIDRaw": str(number)} | changed


def imported(rows: Sequence[dict[str, str]], folder: Path, **rules: Any) -> Imported:
    """The trace of records that sacct prints."""
    (folder / "sacct.txt").write_text(text(rows, list(BASE)))
    return read_slurm([str(folder / "sacct.txt")], ImportRules(**rules))


def only(rows: Sequence[dict[str, str]], folder: Path, **rules: Any) -> dict[str, Any]:
    """The one job of records."""
    return imported(rows, folder, **rules).jobs.row(0, named=True)


def test_steps_are_not_read(tmp_path: Path) -> None:
    steps = [job(100, JobID=f"100.{each}", JobIDRaw=f"100.{each}") for each in ("batch", "extern", "0")]
    trace = imported([job(100), *steps, job(101, JobID="99_3"), job(101, JobID="99_3.0", JobIDRaw="101.0")], tmp_path)
    assert trace.jobs["id"].to_list() == [100, 101]
    assert trace.card.repairs == {"steps of jobs (not read)": 4}


def test_tasks_of_arrays_are_jobs(tmp_path: Path) -> None:
    waiting = {"State": "PENDING", "Start": "Unknown", "End": "Unknown", "NodeList": "None assigned"}
    rows = [job(123, JobID="123_[5-9%2]", **waiting), job(127, JobID="123_4"), job(0, JobID="123_7", JobIDRaw="")]
    found = imported(rows, tmp_path).jobs.sort("id").select("id", "label", "array_job", "array_task", "array_tasks")
    assert found.rows() == [(123, "123_[5-9%2]", 123, -1, 5), (127, "123_4", 123, 4, -1), (128, "123_7", 123, 7, -1)]


def test_components_of_heterogeneous_jobs_are_jobs(tmp_path: Path) -> None:
    found = imported([job(130, JobID="130+0"), job(131, JobID="130+1")], tmp_path).jobs.select("id", "het_job")
    assert found.rows() == [(130, 130), (131, 130)]


@pytest.mark.parametrize(
    "told",
    [
        {"Start": "None"},
        {"Start": "Unknown"},
        {"Start": "2026-01-01T00:05:00"},  # of some versions: the time of the cancellation, without nodes
        {"Start": "1970-01-01T00:00:00"},
        {"Start": "0"},
    ],
)
def test_a_job_cancelled_while_waiting_never_started(told: dict[str, str], tmp_path: Path) -> None:
    rest = {"End": "2026-01-01T00:05:00", "Elapsed": "00:00:00", "NodeList": "None assigned", "AllocTRES": ""}
    trace = imported([job(1), job(2, State="CANCELLED by 1000", **told, **rest)], tmp_path)
    row = trace.jobs.row(1, named=True)
    assert (row["state"], row["start"], row["end"], row["runtime"]) == ("CANCELLED", -1, MIDNIGHT + 300, -1)
    assert (row["nodes"], row["req_nodes"]) == (-1, 2)
    assert trace.card.repairs == {"cancelled while waiting: kept, without a runtime": 1}
    write_trace(tmp_path / "t.parquet", trace.jobs, trace.card)
    assert read_swf(tmp_path / "t.parquet").repairs["left out: runtime unknown or <= 0"] == 1


def test_a_running_job_has_no_end(tmp_path: Path) -> None:
    row = only([job(1, State="RUNNING", End="2026-02-01T00:00:00")], tmp_path)  # scontrol shows the limit
    assert (row["start"], row["end"], row["runtime"]) == (MIDNIGHT + 60, -1, -1)


def test_the_runtime_leaves_out_suspensions(tmp_path: Path) -> None:
    row = only([job(1, Suspended="00:30:00", Elapsed="00:30:00")], tmp_path)
    assert (row["runtime"], row["suspended"]) == (1800, 1800)


def test_executions_before_a_requeue_are_jobs_of_their_own(tmp_path: Path) -> None:
    rows = [
        job(150, State="REQUEUED", End="2026-01-01T00:11:00", Elapsed="00:10:00"),
        job(150, **LATER),
        job(151, State="NODE_FAIL", Start="Unknown", NodeList="None assigned", Elapsed="00:00:00"),
        job(151, **LATER),
    ]  # fmt: skip
    trace = imported(rows, tmp_path)
    assert sorted(trace.jobs.select("id", "label", "runtime").rows()) == [
        (150, "150", 1200), (151, "151", 1200), (152, "150", 600)
    ]  # fmt: skip
    assert trace.card.repairs == {
        "a wait that ended in a requeue without a start, left out": 1,
        "an execution before a requeue, kept as a job of its own with a new id": 1,
    }


def test_of_two_records_of_a_job_the_one_that_tells_more_counts(tmp_path: Path) -> None:
    early = {"State": "RUNNING", "End": "Unknown"}
    earlier = {"State": "PENDING", "Start": "Unknown", "End": "Unknown"}
    trace = imported([job(1, **earlier), job(1, **early), job(1), job(1)], tmp_path)
    assert trace.jobs.select("id", "runtime").rows() == [(1, 3600)]
    assert trace.card.repairs == {
        "the same record again, left out": 1,
        "an earlier record of a job that a later one says more of, left out": 2,
    }


def test_texts_with_delimiters_and_line_breaks(tmp_path: Path) -> None:
    rows = [job(1, JobName="a|b|c"), job(2, JobName="two\nlines\nor three"), job(3, JobName='"x')]
    trace = imported(rows, tmp_path)
    assert trace.jobs["name"].to_list() == ["a|b|c", "two lines or three", '"x']
    assert trace.findings.bad == 0


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [
        ("1-00:00:00", 86_400), ("00:30:00", 1800), ("30:00", 1800), ("90", 5400), ("UNLIMITED", -1), ("INVALID", -1),
        ("Partition_Limit", -1), ("", -1), ("2-12", 216_000), ("1 days 01:00:00", 90_000), ("365-00:00:00", 31_536_000),
    ],
)  # fmt: skip
def test_limits(limit: str, seconds: int, tmp_path: Path) -> None:
    assert only([job(1, Timelimit=limit)], tmp_path)["walltime"] == seconds


@pytest.mark.parametrize(
    ("memory", "mebibytes"),
    [
        ("4000Mn", 8000), ("2Gc", 16_384), ("16G", 16_384), ("1.50T", 1_572_864), ("512000K", 500), ("0n", 16_384),
        ("?", 16_384),
        ("", 16_384),
    ],
)  # fmt: skip
def test_memory_of_a_job(memory: str, mebibytes: int, tmp_path: Path) -> None:
    assert only([job(1, ReqMem=memory)], tmp_path)["req_memory"] == mebibytes


@pytest.mark.parametrize(
    ("memory", "mebibytes"),
    [
        ("2147486448Mn", 22_400), ("2147486448Mc", 22_400), ("2147486448", 22_400), ("2147486448M", 22_400),
        ("2199026122752Kn", 22_400), ("2097156Gn", 32_768), ("2097156G", 32_768), ("2050Tn", 16_777_216),
        ("9223372036854778608", 22_400), ("9223372036854778608Mn", 22_400), ("9007199254741000Gc", 65_536),
        ("2.00Pn", 16_384), ("4294967294Mn", 16_384), ("18446744073709551614M", 16_384),
    ],
)  # fmt: skip
def test_memory_with_the_bit_that_marks_an_amount_for_a_core(memory: str, mebibytes: int, tmp_path: Path) -> None:
    assert only([job(1, ReqMem=memory)], tmp_path)["req_memory"] == mebibytes


def test_petabytes_of_a_large_job_hold_no_bit(tmp_path: Path) -> None:
    wide = {"NNodes": "8000", "ReqNodes": "8000", "NodeList": "n[1-8000]", "AllocTRES": "", "ReqTRES": ""}
    assert only([job(1, ReqMem="2.50P", **wide)], tmp_path)["req_memory"] == 2_684_354_560


@pytest.mark.parametrize(
    ("time", "seconds"),
    [
        ("2026-01-01T00:00:30", 30), ("1767225630", 30), ("2026-01-01T00:00:30Z", 30), ("2026-01-01T01:00:30+0100", 30),
        ("2026-01-01T01:00:30+01:00", 30), ("2026-01-01 00:00:30", 30), ("2026-01-01T00:00:30.123", 30),
    ],
)  # fmt: skip
def test_times(time: str, seconds: int, tmp_path: Path) -> None:
    assert only([job(1, Submit=time)], tmp_path)["submit"] == MIDNIGHT + seconds


@pytest.mark.parametrize(
    ("time", "said"),
    [("2026-01-01 00:00:30", True), ("2026-01-01T00:00", True), ("2026-01-01 00:00:30Z", False), ("1767225630", False)],
)
def test_times_without_a_zone_are_said_to_be_read_as_utc(time: str, said: bool, tmp_path: Path) -> None:
    notes = imported([job(1, Submit=time, Eligible=time, Start=time, End=time, Elapsed="0")], tmp_path).findings.notes
    assert any(note.startswith("times state no zone") for note in notes) == said


def test_local_times_are_of_the_zone(tmp_path: Path) -> None:
    # In the night of 2026-10-25 Berlin's clocks go from 3:00 back to 2:00: the job ran two hours, not one.
    row = job(
        1, Submit="2026-10-25T00:30:00", Start="2026-10-25T01:30:00", End="2026-10-25T02:30:00", Elapsed="02:00:00"
    )
    trace = imported([row], tmp_path, timezone="Europe/Berlin")
    assert trace.jobs["submit"].item() == 1_792_881_000
    assert trace.jobs["runtime"].item() == 7200
    assert trace.jobs["end"].item() == 1_792_891_800
    assert list(trace.card.repairs) == [
        "a time that a change of clocks repeats: settled by the elapsed time and the other times"
    ]
    assert trace.findings.notes[0].startswith("the machine has at least")


def test_gpus_of_all_generations(tmp_path: Path) -> None:
    for tres, expected in (
        ("cpu=8,gres/gpu=4,gres/gpu:a100=4,node=2", 4),
        ("cpu=8,gres/gpu:a100=2,gres/gpu:h100=1,node=2", 3),
        ("cpu=8,node=2", -1),  # of a site that does not track gres/gpu
    ):
        assert only([job(1, AllocTRES=tres)], tmp_path)["gpus"] == expected


def test_what_squeue_prints_before_any_job_has_ended(tmp_path: Path) -> None:
    (tmp_path / "squeue").write_text(
        "JOBID|STATE|SUBMIT_TIME|START_TIME|NODES|TRES_PER_NODE\n"
        "5|PENDING|2026-01-01T00:00:00|2026-01-05T00:00:00|4|gres:gpu:2\n"
        "7|RUNNING|2026-01-01T00:00:00|2026-01-01T00:01:00|3|gres/gpu:a100:2\n"
        "8|RUNNING|2026-01-01T00:00:00|2026-01-01T00:01:00|2|N/A\n"
    )
    trace = read_slurm([str(tmp_path / "squeue")])
    assert trace.jobs.select("id", "start", "gpus", "req_gpus").rows() == [
        (5, -1, -1, 8),
        (7, MIDNIGHT + 60, 6, 6),
        (8, MIDNIGHT + 60, -1, -1),
    ]
    assert trace.card.machine == {"nodes": 5}


def test_what_cannot_be_read_is_skipped_up_to_a_share(tmp_path: Path) -> None:
    rows = [*(job(i) for i in range(1, 20)), job(20, Submit="yesterday")]
    trace = imported(rows, tmp_path)
    assert (len(trace.jobs), trace.findings.bad) == (19, 1)
    assert trace.findings.first == f"{tmp_path}/sacct.txt: line 21: submit: cannot read 'yesterday'"
    with pytest.raises(TraceError, match=r"line 21: submit: cannot read 'yesterday'; 1 of 20 records"):
        imported(rows, tmp_path, bad=0.01)
    # What a job can do without is not known, and counted.
    trace = imported([job(1, NCPUS="many", ReqMem="much")], tmp_path)
    assert trace.card.repairs == {
        "ncpus cannot be read, taken as not known": 1, "req_mem cannot be read, taken as not known": 1,
    }  # fmt: skip


def test_times_that_contradict_each_other(tmp_path: Path) -> None:
    trace = imported(
        [
            job(1, Submit="2026-01-01T00:02:00"),
            job(2, Submit="Unknown"),
            job(3, End="2026-01-01T00:00:30", Elapsed=""),
            job(4, End="Unknown"),
            job(5, Start="Unknown"),
            job(6, Submit="1970-01-01T00:00:00"),
        ],
        tmp_path,
    )
    found = {row["id"]: row for row in trace.jobs.to_dicts()}
    assert (found[1]["submit"], found[2]["submit"]) == (MIDNIGHT + 60, MIDNIGHT)
    assert (found[3]["runtime"], found[4]["end"]) == (-1, MIDNIGHT + 3660)
    assert (found[5]["start"], found[6]["submit"]) == (MIDNIGHT + 60, 0)
    assert trace.card.repairs == {
        "start not known, taken from the end and the elapsed time": 1,
        "end not known, taken from the elapsed time": 1,
        "end before the start: the runtime is not known": 1,
        "submission not known, taken from the eligible time": 1,
        "submission after the start, moved to the start": 1,
    }


def test_padded_output_says_what_to_ask_for(tmp_path: Path) -> None:
    (tmp_path / "padded").write_text(
        "JobID           JobName  Partition\n------------ ---------- ---------\n1   a   b\n"
    )
    with pytest.raises(TraceError, match=r"line 1: columns are padded with blanks: ask sacct for --parsable2"):
        read_slurm([str(tmp_path / "padded")])


def test_unfinished_jobs_are_said_to_be_missing_at_the_end(tmp_path: Path) -> None:
    pending = {"Start": "Unknown", "End": "Unknown", "Elapsed": "00:00:00", "NodeList": "", "AllocTRES": ""}
    trace = imported(
        [
            *(job(each) for each in range(1, 11)),
            job(11, State="RUNNING", End="Unknown", Submit="2026-01-03T00:00:00", Start="2026-01-03T00:01:00"),
            job(12, State="PENDING", Submit="2026-01-04T00:00:00", **pending),
            job(13, State="CANCELLED by 1000", Submit="2026-01-04T00:00:00", **pending),
        ],
        tmp_path,
    )
    write_trace(tmp_path / "t.parquet", trace.jobs, trace.card)
    workload = read_swf(tmp_path / "t.parquet")
    assert (len(workload), workload.facts["unfinished"]) == (10, 2)
    said = [each for each in workload.diagnostics if "unfinished" in each.short]
    assert [each.text for each in said] == [
        "left out are 2 jobs that still waited or ran when the records end: towards the end the queue of a replay is "
        "too short, which its error beside the log does not show (compare with --cool-down 1d)"
    ]
    assert "unfinished" not in workload.take(slice(0, 5)).facts
