"""``transom simulate --machines``: what it prints, writes and refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Ran
from tests.killing import tree
from transom.simulation.placement.recording import read_task_schedules, write_tasks
from transom.simulation.placement.state import MACHINE
from transom.traces.tasks import parse_machines, read_tasks

Transom = Callable[..., Ran]

MACHINES = "count=2,cpu=4,memory=1"
LINES = [
    "submit_time,duration,cpu,memory,job_id,task_id,instances_num,disk",
    "4,2.5,1,0.25,1,1,9,0", "4,1.0,1,0.5,1,2,4,0", "8,7,2,0.1,2,1,5,0", "9,3,4,1,3,1,1,0",
]  # fmt: skip


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.csv"
    path.write_text("\n".join([*LINES, ""]))
    return path


def test_a_line_for_each_chunk_and_policy(transom: Transom, trace: Path) -> None:
    result = transom(
        "simulate", trace, "--machines", MACHINES, "--chunks", 2, "--policy", "first-fit",
        "--policy", "long=longest-first", "--json",
    )  # fmt: skip
    lines = result.lines
    assert [(each["chunk"], each["policy"], each["jobs"], each["instances"]) for each in lines] == [
        (0, "first-fit", 2, 18), (1, "first-fit", 1, 1), (0, "long", 2, 18), (1, "long", 1, 1),
    ]  # fmt: skip
    assert all(each["makespan"] >= each["bound"] > 0 for each in lines)
    assert lines[1]["makespan"] == lines[1]["bound"] == 3
    assert lines[0]["metrics"]["makespan"] == lines[0]["makespan"]
    assert lines[0]["rules"] == "textbook"


def test_the_whole_trace_without_chunks_and_other_rules(transom: Transom, trace: Path) -> None:
    common = ("simulate", trace, "--machines", MACHINES, "--policy", "tetris", "--json")
    (textbook,) = transom(*common).lines
    (other,) = transom(*common, "--rules", "cloudsimpy").lines
    assert (textbook["jobs"], other["rules"]) == (3, "cloudsimpy")
    # The first tick sees an empty cluster.
    assert other["makespan"] > textbook["makespan"]


def test_a_line_states_the_label_or_where_none_is_given_the_specification(transom: Transom, trace: Path) -> None:
    stated = ("drf", "tetris:as-coded=no", "t=tetris:as-coded=yes")
    policies = [word for each in stated for word in ("--policy", each)]
    lines = transom("simulate", trace, "--machines", MACHINES, *policies, "--json").lines
    assert [each["policy"] for each in lines] == ["drf", "tetris:as-coded=no", "t"]


def test_what_is_recorded_is_read_again_checked_and_drawn(transom: Transom, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ("simulate", trace, "--machines", MACHINES, "--policy", "drf", "--policy", "random", "--out", out)
    table = transom(*arguments)
    assert "above bound [%]" in table.out
    for label in ("drf", "random"):
        assert {each.name for each in (out / label).iterdir()} == {
            "jobs.parquet", "instances.parquet", "decisions.parquet",
        }  # fmt: skip
    names = {each.name for each in (out / "figures").iterdir()}
    assert names == {"resources.png", "machines_drf.png", "machines_random.png"}
    before = (out / "drf" / "jobs.parquet").stat().st_mtime_ns
    assert transom(*arguments).out == table.out
    assert (out / "drf" / "jobs.parquet").stat().st_mtime_ns == before
    assert transom(*arguments, "--force").out == table.out
    assert (out / "drf" / "jobs.parquet").stat().st_mtime_ns > before
    judged = transom("check", trace, out)
    assert "all sound: 2 x schedule of 19 instances" in judged.out
    assert "does not go with" in transom("check", trace, out, "--nodes", 4).err
    trace.write_text("\n".join([*LINES[:-1], ""]))
    assert "is a replay of another workload" in transom("check", trace, out).err


def test_several_chunks_are_drawn_by_their_gaps(transom: Transom, trace: Path, tmp_path: Path) -> None:
    transom(
        "simulate", trace, "--machines", MACHINES, "--chunks", 1, "--policy", "drf", "--out", tmp_path / "out",
        "--format", "svg",
    )  # fmt: skip
    assert [each.name for each in (tmp_path / "out" / "figures").iterdir()] == ["gaps.svg"]
    assert "all sound" in transom("check", trace, tmp_path / "out" / "drf").out


def test_part_of_a_trace_is_replayed(transom: Transom, trace: Path) -> None:
    result = transom(
        "simulate", trace, "--machines", MACHINES, "--start", 1, "--jobs", 1, "--policy", "best-fit", "--json",
    )  # fmt: skip
    assert [each["instances"] for each in result.lines] == [5]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--policy", "first-fit", "--nodes", 4), "--nodes does not go with --machines"),
        (("--policy", "first-fit", "--repeats", 1), "--repeats does not go with --machines"),
        (("--policy", "fcfs"), "unknown policy for tasks 'fcfs'"),
        (("--policy", "first-fit", "--rules", "cqsim"), "cqsim rules are for jobs on nodes"),
        ((), "Missing option '--policy'"),
        (("--policy", "drf", "--start", 7), "there are 3"),
        (("--policy", "drf", "--policy", "drf"), "two policies are called 'drf'"),
    ],
)
def test_what_does_not_go_together_is_refused(
    transom: Transom, trace: Path, arguments: tuple[object, ...], says: str
) -> None:
    assert says in transom("simulate", trace, "--machines", MACHINES, *arguments).err


BAD = {
    "negative duration": ("9,-3,4,1,4,1,1,0", "duration: must be > 0 s and < 2**40 s, got -3"),
    "NaN": ("9,3,4,nan,4,1,1,0", "memory: expected a number, got 'nan'"),
    "fits no machine": ("9,3,5,1,4,1,1,0", "cpu: fits on no machine, the largest has 4, got 5"),
    "no instance": ("9,3,4,1,4,1,0,0", "instances_num: must be a whole number >= 1 and < 2147483648, got 0"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_line_is_named_with_status_2_and_what_was_recorded_stays(
    transom: Transom, trace: Path, tmp_path: Path, case: str
) -> None:
    line, says = BAD[case]
    command = ("simulate", trace, "--machines", MACHINES, "--policy", "drf", "--no-figures", "--out", tmp_path / "out")
    assert transom(*command).status == 0
    before = tree(tmp_path / "out")
    trace.write_text("\n".join([*LINES, line, ""]))
    told = transom(*command)
    assert (told.status, told.out, told.err) == (2, "", f"error: {trace}:6: {says}\n")
    assert tree(tmp_path / "out") == before


def test_a_missing_column_is_named(transom: Transom, trace: Path) -> None:
    trace.write_text("\n".join([LINES[0].replace("memory", "disc"), *LINES[1:], ""]))
    told = transom("simulate", trace, "--machines", MACHINES, "--policy", "drf")
    assert (told.status, told.out) == (2, "")
    assert told.err.startswith(f"error: {trace}:1: column memory is missing; expected submit_time, ")
    assert told.err.count("\n") == 1


def test_machines_and_recordings_of_machines_that_are_not_there(transom: Transom, trace: Path, tmp_path: Path) -> None:
    told = transom("simulate", trace, "--machines", "cpu=4,memory=1,gpu=1", "--policy", "drf")
    assert (told.status, told.out) == (2, "")
    assert told.err == f"error: machines: {trace} states nothing of resource 'gpu'. Known: cpu, memory, disk\n"
    out = tmp_path / "out"
    assert transom("simulate", trace, "--machines", MACHINES, "--policy", "drf", "--out", out).status == 0
    recorded = out / "drf" / "instances.parquet"
    card = json.loads(pl.read_parquet_metadata(recorded)["transom"])
    schedule = read_task_schedules(out / "drf", [read_tasks(trace, parse_machines([MACHINES]))])[0]
    rows = schedule.batches.copy()
    rows[0, MACHINE] = 2
    write_tasks([replace(schedule, batches=rows)], out / "drf", card["details"])
    told = transom("check", trace, out)
    assert told.status == 1
    assert "job 1 task 1: runs on a machine that is not there (1 in all)" in told.out + told.err


def test_traces_of_nodes_take_no_chunks(transom: Transom, trace: Path) -> None:
    assert "--chunks needs --machines" in transom("simulate", trace, "--chunks", 2, "--policy", "fcfs").err
    assert (
        "cloudsimpy rules are for tasks" in transom("simulate", trace, "--policy", "fcfs", "--rules", "cloudsimpy").err
    )
