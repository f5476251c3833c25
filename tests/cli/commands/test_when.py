"""`transom when` on traces and on snapshots."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from transom.cli import run
from transom.errors import SpecError
from transom.traces.job_ids import jobs_called
from transom.traces.records.slurm_text.jobs import task_name

TRACE = "examples/slurm_60.swf"


def test_the_queue_of_a_snapshot_is_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snapshot = tmp_path / "queue.jsonl"
    assert run(["snapshot", TRACE, "--every", "60", "--minimum", "7", "--limit", "1", "--out", str(snapshot)]) == 0
    capsys.readouterr()
    assert run(["when", str(snapshot), "--history", TRACE, "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(told) == 7
    assert list(told[0]) == ["job", "now", "plan", "p10", "p50", "p90", "because"]
    assert all(each["now"] <= each["p10"] <= each["p50"] <= each["p90"] for each in told)
    assert run(["when", str(snapshot), "--history", TRACE, "--json", "--job", str(told[3]["job"])]) == 0
    assert json.loads(capsys.readouterr().out) == told[3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([TRACE], "say with --job which job to ask about"),
        ([TRACE, "--job", "7777"], "there is no job 7777"),
        ([TRACE, "--job", "5", "--policy", "optimization"], "is not a priority rule"),
        ([TRACE, "--history", TRACE, "--at", "5"], "--at does not go with --history"),
        ([TRACE, "--history", TRACE], TRACE),
    ],
)
def test_what_cannot_be_answered_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["when", *arguments]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


SACCT = """JobID|JobIDRaw|Submit|Start|End|NNodes|Timelimit|State
100|100|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T01:00:00|2|02:00:00|COMPLETED
138070_8|138079|2026-01-01T00:01:00|2026-01-01T01:00:00|2026-01-01T02:00:00|2|02:00:00|COMPLETED
138070_9|138070|2026-01-01T00:02:00|2026-01-01T02:00:00|2026-01-01T03:00:00|2|02:00:00|COMPLETED
1380708|1380708|2026-01-01T00:03:00|2026-01-01T03:00:00|2026-01-01T04:00:00|2|02:00:00|COMPLETED
1380709+0|1380709|2026-01-01T00:04:00|2026-01-01T04:00:00|2026-01-01T05:00:00|2|02:00:00|COMPLETED
1380709+1|1380710|2026-01-01T00:04:00|2026-01-01T04:00:00|2026-01-01T05:00:00|2|02:00:00|COMPLETED
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A trace with tasks of an array and components of a job."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "sacct.txt").write_text(SACCT)
    assert run(["import", "slurm", str(folder / "sacct.txt"), "-o", str(folder / "site.parquet")]) == 0
    return str(folder / "site.parquet")


def test_ids_are_those_of_the_source(site: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["138070_8", "138070[8]", "138079", "1380708", "1380709+1", "138070"]
    assert run(["when", site, "--json", *(word for job in asked for word in ("--job", job))]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    called = ["138070_8", "138070_8", "138070_8", 1380708, "1380709+1", "138070_9"]
    assert [each["job"] for each in told] == called
    assert [each["because"].get("jobs") for each in told[3:4]] == [["138070_8"]]
    assert "by the plan it starts when job 138070_8 ends" in told[3]["because"]["text"]
    assert run(["when", site, "--job", "138070_8"]) == 0
    assert " 138070_8 " in capsys.readouterr().out


def test_times_are_dates_where_the_trace_has_them(site: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["when", site, "--job", "1380708"]) == 0
    told = capsys.readouterr().out
    assert "starts under fcfs-easy, times in UTC" in told
    assert " 2026-01-01 00:03 " in told
    assert " 02:01, in 118 min " in told  # by the plan
    assert run(["when", site, "--job", "1380708", "--at", "2026-01-01T00:30", "--json"]) == 0
    later = json.loads(capsys.readouterr().out)
    assert later["now"] == 1767227400
    assert run(["when", site, "--job", "1380708", "--at", "1767227400", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == later


def test_times_are_days_where_the_trace_has_no_dates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "plain.swf"
    job = "{} {} 0 3600 4 -1 -1 4 7200 -1 1 -1 -1 -1 -1 -1 -1 -1"
    trace.write_text("\n".join(["; MaxNodes: 4", *(job.format(k, 86_400 + 60 * k) for k in (1, 2)), ""]))
    assert run(["when", str(trace), "--job", "2", "--at", "1.5d"]) == 0
    told = capsys.readouterr().out
    assert "starts under fcfs-easy, times on the clock of the trace" in told
    assert " day 1, 12:00 " in told
    assert " 01:01, 11 h ago " in told
    assert run(["when", str(trace), "--job", "2"]) == 0
    assert " 02:01, in 119 min " in capsys.readouterr().out
    for at, says in (
        ("2026-01-01", "--at 2026-01-01: the trace does not state when its clock began (UnixStartTime)"),
        ("soon", "--at: expected seconds, or a number with a unit: 90, 90s, 30m (minutes), 1.5h, 7d, 1w, or a time"),
    ):
        assert run(["when", str(trace), "--job", "2", "--at", at]) == 2
        assert says in capsys.readouterr().err


def test_a_job_that_was_left_out_or_comes_later_is_said_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sacct.txt").write_text(
        f"{SACCT}1380711|1380711|2026-01-01T00:05:00|Unknown|2026-01-01T00:06:00|2|02:00:00|CANCELLED by 7\n"
        "1380712|1380712|2026-01-01T00:06:00|Unknown|Unknown|2|02:00:00|PENDING\n"
    )
    site = str(tmp_path / "site.parquet")
    assert run(["import", "slurm", str(tmp_path / "sacct.txt"), "-o", site]) == 0
    assert run(["when", site, "--job", "1380711"]) == 2
    assert "site (2 jobs left out): there is no job 1380711" in capsys.readouterr().err
    assert run(["when", site, "--job", "1380708", "--at", "2026-01-01T00:02"]) == 2
    assert "is submitted at 2026-01-01 00:03, after --at 2026-01-01 00:02" in capsys.readouterr().err


@pytest.mark.parametrize(
    "job", ["138070_7", "1_00", "1380_708", " 100", "+100", "100.0", "0100", "١٠٠", "1380709+2", ""]
)
def test_an_id_that_the_trace_does_not_know_is_refused(job: str, site: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["when", site, "--job", job]) == 2
    assert "there is no job" in capsys.readouterr().err.splitlines()[-1]


def test_a_label_of_several_jobs_asks_for_the_number() -> None:
    with pytest.raises(SpecError, match="site: 2 jobs are called 12_3: name one by its number, 5, 900"):
        jobs_called(["12_3"], ["12_3", "7", "12_3"], np.array([5, 7, 900]), "site")
    assert jobs_called(["900", "12_[4]"], ["12_3", "12[4]", "12_3"], np.array([5, 7, 900]), "site") == [900, 7]


def test_a_task_of_an_array_in_a_window_is_called_as_slurm_does() -> None:
    number = 12 + 4 * 2**32
    assert [task_name(number), task_name(12)] == ["12_3", "12"]
