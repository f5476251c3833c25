from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Ran
from transom.cli import run
from transom.simulation import simulate
from transom.simulation.output.recording import read_schedule
from transom.traces import read_swf


def test_two_policies_side_by_side(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(["simulate", str(trace), "--policy", "fcfs-easy", "--policy", "mine=sjf", "--out", str(out)]) == 0
    shown = capsys.readouterr()
    assert "fcfs-easy" in shown.out
    assert "mine" in shown.out
    assert "300 jobs on 64 nodes" in shown.err
    rows = pl.read_parquet(out / "mine" / "jobs.parquet")
    assert rows.columns[:8] == ["job_id", "submit", "start", "end", "nodes", "node_ids", "walltime", "mode"]
    workload = read_swf(trace)
    assert rows["start"].to_list() == simulate(workload, "sjf").start.tolist()
    assert rows["node_ids"].list.len().to_list() == workload.jobs.nodes.tolist()
    assert set(rows["mode"]) <= {"ready", "reserved", "backfilled"}
    decisions = pl.read_parquet(out / "mine" / "decisions.parquet")
    assert decisions["started"].sum() == 300
    assert decisions.columns[-2:] == ["promised_jobs", "promised_starts"]
    pictures = {path.name for path in (out / "figures").iterdir()}
    assert {"timeline.png", "wait_by_size.png", "wait_by_mode.png", "kiviat.png", "gantt_mine.png"} <= pictures
    assert all((out / "figures" / name).stat().st_size > 5000 for name in pictures)


def test_json_holds_all_figures(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["simulate", str(trace), "--policy", "fcfs-easy", "--json", "--start", "50", "--jobs", "100"]
    assert run([*arguments, "--jitter", "60", "--repeats", "3", "--warm-up", "3600"]) == 0
    found = json.loads(capsys.readouterr().out)
    policy = found["policies"][0]
    assert found["jobs"] == 100
    assert policy["rules"] == "textbook"
    assert policy["metrics"]["jobs"] < 100
    assert policy["repeats"] == 3
    assert policy["jittered"]["mean_wait"]["deviation"] > 0
    assert set(policy["by"]) == {"mode", "size", "week"}


def test_the_table_shows_mean_and_deviation_over_repeats(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["simulate", str(trace), "--policy", "fcfs-easy", "--jitter", "60", "--repeats", "2", "--by", "mode"]
    assert run(arguments) == 0
    shown = capsys.readouterr().out
    assert "over 2 repetitions" in shown
    assert "±" in shown
    assert "backfilled" in shown


def test_what_is_finished_is_not_computed_again(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = ["simulate", str(trace), "--policy", "random", "--out", str(out), "--no-figures", "--json"]
    arguments += ["--jitter", "5", "--repeats", "2"]
    assert run(arguments) == 0
    assert sorted(path.name for path in out.iterdir()) == ["random"]
    first = capsys.readouterr().out
    written = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    assert run(arguments) == 0
    assert capsys.readouterr().out == first
    assert written == {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    # One repetition more computes one repetition more; another seed computes all.
    assert run([*arguments[:-1], "3"]) == 0
    summaries = json.loads((out / "random" / "repeats.json").read_text())["summaries"]
    assert len(summaries) == 3
    assert run([*arguments, "--seed", "1"]) == 0
    assert (out / "random" / "jobs.parquet").stat().st_mtime_ns > written[out / "random" / "jobs.parquet"]
    assert run([*arguments, "--seed", "1", "--force"]) == 0


def test_a_damaged_record_is_computed_again(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["simulate", str(trace), "--policy", "fcfs", "--out", str(out), "--no-figures"]
    assert run(arguments) == 0
    (out / "fcfs" / "jobs.parquet").write_bytes(b"PAR1 nonsense PAR1")
    assert run(arguments) == 0
    assert len(read_schedule(out / "fcfs")) == 300


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--policy", "fcfs-eazy"], "unknown policy 'fcfs-eazy'; did you mean 'fcfs-easy'?"),
        (["--policy", "fcfs", "--policy", "fcfs"], "two policies are called 'fcfs'"),
        (["--policy", "window:sizes=3"], "'window' has no parameter 'sizes'"),
        (["--policy", "fcfs", "--start", "300"], "start must be from 0 to 299, got 300"),
        (["--policy", "fcfs", "--jobs", "301"], "jobs must be from 1 to 300"),
        (["--policy", "fcfs", "--jitter", "60"], "--jitter needs --repeats"),
        (["--policy", "fcfs", "--tau", "0"], "--tau must be > 0"),
        (["--policy", "fcfs", "--tau", "inf"], "--tau must be > 0 and finite, got inf"),
        (["--policy", "fcfs", "--warm-up", "1e9"], "leave no job of the trace"),
        (["--policy", "fcfs", "--out", "/dev/null/x"], "error: /dev/null: is a file, not a folder"),
        (["--policy", "fcfs", "--nodes", "8", "--oversized", "error"], "exceeds the 8 nodes of the machine"),
    ],
)
def test_bad_input_is_one_line(
    trace: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", str(trace), *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.strip().splitlines()) == 1
    assert shown.err.startswith("error: ")
    assert says in shown.err


def test_ctrl_c_leaves_whole_files_or_none_and_the_next_run_goes_on(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    # What the second policy needs is compiled before, so that the signal meets the replay and not the compiler.
    assert run(["simulate", str(trace), "--policy", "window:solver=[sa:steps=10],seconds=0.2,size=20"]) == 0
    slow = "slow=window:solver=[sa:steps=100000000],seconds=0.2,size=20"
    command = [sys.executable, "-c", "from transom.cli import main; main()", "simulate", str(trace)]
    command += ["--policy", "fcfs-easy", "--policy", slow, "--out", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while not (out / "fcfs-easy" / "jobs.parquet").exists() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert errors.strip().splitlines()[-1] == "interrupted: what was finished is kept"
    assert len(read_schedule(out / "fcfs-easy")) == 300
    left = [name for _, _, names in os.walk(out) for name in names]
    assert sorted(left) == ["decisions.parquet", "jobs.parquet"], "no half file, nothing of the second policy"
    before = (out / "fcfs-easy" / "jobs.parquet").stat().st_mtime_ns
    assert run(["simulate", str(trace), "--policy", "fcfs-easy", "--out", str(out), "--no-figures"]) == 0
    assert (out / "fcfs-easy" / "jobs.parquet").stat().st_mtime_ns == before


def test_times_are_in_the_unit_that_they_need(transom: Callable[..., Ran], tmp_path: Path) -> None:
    """Waits of 0, 10 and 20 s, then of jobs that are a thousand times as long; one of 9 s beside those of minutes."""
    for scale, unit, mean, longest in (
        (1, "s", "10.00", "20.0"),
        (1000, "h", "2.78", "5.6"),
        (100, "min", "16.67", "33.3"),
    ):
        lines = [f"{k} 0 -1 {10 * scale} 4 -1 -1 4 {10 * scale} -1 1 1 1 1 1 1 -1 -1" for k in (1, 2, 3)]
        path = tmp_path / f"{unit}.swf"
        path.write_text("\n".join(["; MaxProcs: 4", *lines, ""]))
        out = transom("simulate", path, "--policy", "fcfs", "--by", "mode").out
        assert f"mean wait [{unit}]" in out
        assert f"max wait [{unit}]" in out
        row = next(line.split() for line in out.splitlines() if line.startswith(" fcfs "))
        assert row[1] == mean
        assert row[3] == longest
    path.write_text(path.read_text() + "4 2991 -1 5 4 -1 -1 4 5 -1 1 1 1 1 1 1 -1 -1\n")
    assert "mean wait [min]" in transom("simulate", path, "--policy", "fcfs").out


def test_a_finished_recording_is_read_where_nothing_can_be_written(
    transom: Callable[..., Ran], trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    asked = "simulate", trace, "--policy", "fcfs-easy", "--out", tmp_path, "--no-figures"
    first = transom(*asked)
    monkeypatch.setattr("tempfile.TemporaryFile", refused)
    assert transom(*asked).out == first.out
    ran = transom(*asked, "--policy", "fcfs")
    assert ran.status == 2
    assert "fcfs/jobs.parquet: cannot be written: Permission denied" in ran.err


def test_one_node_is_counted_in_the_singular(transom: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "one.swf"
    path.write_text("1 0 -1 10 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1\n")
    assert "machine size taken from the largest job (1 node)" in transom("simulate", path, "--policy", "fcfs").err


def test_without_a_policy_two_are_compared(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", str(trace), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [each["policy"] for each in said["policies"]] == ["fcfs-easy", "saf-easy"]


def test_figures_by_user_account_and_partition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = [(i, 10 * i, 100, 1 + i % 3, 200, i % 25, i % 2, 1) for i in range(1, 101)]
    lines = [f"{i} {s} -1 {r} {n} -1 -1 {n} {w} -1 1 {u} {g} -1 -1 {p} -1 -1" for i, s, r, n, w, u, g, p in jobs]
    path = tmp_path / "users.swf"
    path.write_text("\n".join(["; MaxNodes: 8", *lines, ""]))
    assert run(["simulate", str(path), "--policy", "fcfs", "--by", "user", "--by", "account"]) == 0
    shown, said = capsys.readouterr()
    assert "by user, textbook events" in shown
    assert "by user: the 20 with the most node-hours of 25; --json has all" in shown + said
    assert run(["simulate", str(path), "--policy", "fcfs", "--by", "user", "--by", "account", "--json"]) == 0
    by = json.loads(capsys.readouterr().out)["policies"][0]["by"]
    assert {label: each["jobs"] for label, each in by["account"].items()} == {"group 0": 50, "group 1": 50}
    assert sum(each["jobs"] for each in by["user"].values()) == 100
    assert len(by["user"]) == 25
    assert run(["simulate", str(path), "--policy", "fcfs", "--by", "partition"]) == 2
    assert "--by partition: the trace names no two of them" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("score", "says"),
    [
        ("open(nodes)", "there is no function 'open'"),
        ("nodes.real", "only numbers, names"),
        ("wall", "unknown name in a formula 'wall'"),
        ("9**9**9", "no finite result"),
        ("nodes / 0", "it divides by 0"),
        ("(" * 5000 + ")" * 5000, "it has 10,000 characters"),
        ("queue", "formula: queue: the trace states none"),
    ],
    ids=["call", "attribute", "name", "power", "zero", "brackets", "unstated"],
)
def test_a_formula_that_cannot_be_is_one_line(
    trace: Path, score: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", str(trace), "--policy", f"formula-easy:score=[{score}]"]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("error: ")
    assert says in last


def test_jobs_without_a_score_are_a_line_beside_the_table(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [
        "simulate",
        str(trace),
        "--policy",
        "f=formula-easy:score=[1 / (nodes - 1)]",
        "--out",
        str(tmp_path / "out"),
    ]
    alone = int((read_swf(trace).jobs.nodes == 1).sum())
    for _ in range(2):  # the second time it is read from what the first one recorded
        assert run(asked) == 0
        assert f"f: {alone} jobs without a finite score by the formula, the first is job" in capsys.readouterr().err
