"""Readers of tasks: what they read, and one line for what is wrong."""

from __future__ import annotations

import gzip
from fractions import Fraction
from pathlib import Path

import pytest

from transom.errors import ModelError, SpecError, TraceError
from transom.traces.tasks import TaskWorkload, parse_machines, read_tasks
from transom.traces.tasks.amounts import counted, units

MACHINES = parse_machines(["count=2,cpu=4,memory=1"])
HEADER = "submit_time,duration,cpu,memory,job_id,task_id,instances_num,disk"
LINES = ["9,2.5,0.5,0.25,1,1,3,0", "4,1.0,1,0.5,2,1,1,0", "8,7,2,0.1,1,2,1,0"]


def written(folder: Path, lines: list[str], header: str = HEADER) -> Path:
    path = folder / "tasks.csv"
    path.write_text("\n".join([header, *lines, ""]))
    return path


def test_jobs_stand_by_the_submission_of_their_last_line(tmp_path: Path) -> None:
    work = read_tasks(written(tmp_path, LINES), MACHINES)
    assert work.name == "tasks"
    assert work.job_ids.tolist() == [2, 1]
    assert work.submit.tolist() == [4, 8]
    assert work.job.tolist() == [0, 1, 1]
    assert work.task_ids.tolist() == [1, 1, 2]
    assert work.instances.tolist() == [1, 3, 1]
    assert work.units == (2, 20)
    assert work.demands.tolist() == [[2, 10], [1, 5], [4, 2]]
    assert work.duration.tolist() == [1.0, 2.5, 7.0]
    assert work.machines.tolist() == [[8, 20], [8, 20]]


def test_a_compressed_file_with_an_unnamed_column_is_the_same(tmp_path: Path) -> None:
    plain = read_tasks(written(tmp_path, LINES), MACHINES)
    packed = tmp_path / "tasks.csv.gz"
    text = "\n".join([f",{HEADER}", *(f"{i},{line}" for i, line in enumerate(LINES))])
    packed.write_bytes(gzip.compress(text.encode()))
    assert read_tasks(packed, MACHINES) == plain


def test_the_table_of_alibaba_is_read_in_cores(tmp_path: Path) -> None:
    header = (
        "task_create_time, task_end_time, job_id, task_id,number_of_instances, status, "
        "number_of_cpus_requested_per_instance_in_the_task,normalized_memory_requested_per_instance_in_the_task"
    )
    lines = [
        "6459,6524,3,4,15,Terminated,50,0.25", "6457,6533,3,5,1,Waiting,,", "7,9,1,1,2,Terminated,100,0.5",
        "9,9,2,1,2,Terminated,100,0.5", "-60,9,4,1,2,Terminated,100,0.5", "1,9,5,1,2,Terminated,,",
    ]  # fmt: skip
    work = read_tasks(written(tmp_path, lines, header), MACHINES)
    assert work.job_ids.tolist() == [1, 3]
    assert [work.asked(task) for task in range(2)] == [[1.0, 0.5], [0.5, 0.25]]
    assert work.duration.tolist() == [2.0, 65.0]
    assert dict(work.repairs) == {
        "status Waiting": 1, "duration <= 0": 1, "created before the trace begins": 1, "states no request": 1,
    }  # fmt: skip


def test_the_table_of_alibaba_as_published_has_no_header(tmp_path: Path) -> None:
    lines = [
        "7,9,1,1,2,Terminated,100,0.5", "8,19,1,2,3,Terminated,50,0.25", ",9,2,1,2,Terminated,100,0.5",
        "3,9,,1,2,Terminated,100,0.5", "3,9,4,1,2,Terminated,,", "3,9,4,2,1,Waiting,,", "5,9,5,1,,Terminated,100,0.5",
    ]  # fmt: skip
    work = read_tasks(written(tmp_path, lines[1:], lines[0]), MACHINES)
    assert (work.job_ids.tolist(), work.task_ids.tolist(), work.instances.tolist()) == ([1], [1, 2], [2, 3])
    assert [work.asked(task) for task in range(2)] == [[1.0, 0.5], [0.5, 0.25]]
    assert dict(work.repairs) == {
        "task_create_time is empty": 1, "job_id is empty": 1, "states no request": 1, "status Waiting": 1,
        "number_of_instances is empty": 1,
    }  # fmt: skip
    described = "create_timestamp,modify_timestamp,job_id,task_id,instance_num,status,plan_cpu,plan_mem"
    assert read_tasks(written(tmp_path, lines, described), MACHINES) == work
    first_is_empty = written(tmp_path, lines[:2], "\ufeff" + lines[2])
    assert read_tasks(first_is_empty, MACHINES).instances.tolist() == [2, 3]
    with pytest.raises(TraceError, match=r"tasks.csv:2: has 7 fields, expected 8"):
        read_tasks(written(tmp_path, ["7,9,1,1,2,Terminated,100"], lines[0]), MACHINES)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("4,-1.0,1,0.5,2,1,1,0", "duration: must be > 0 s and < 2**40 s, got -1.0"),
        ("4,nan,1,0.5,2,1,1,0", "duration: expected a number, got 'nan'"),
        ("4,1,1,NaN,2,1,1,0", "memory: expected a number, got 'NaN'"),
        ("4,1,,0.5,2,1,1,0", "cpu: expected a number, got ''"),
        ("4,1,5,0.5,2,1,1,0", "cpu: fits on no machine, the largest has 4, got 5"),
        ("4,1,-1,0.5,2,1,1,0", "cpu: must be >= 0, got -1"),
        ("4.5,1,1,0.5,2,1,1,0", "submit_time: must be a whole number >= 0"),
        ("4,1,1,0.5,2,1,0,0", "instances_num: must be a whole number >= 1"),
        ("4,1,1,0.5,1,1,1,0", "task_id: job 1 has task 1 already in line 2"),
        ("4,1,1,0.5,2,1,1", "has 7 fields, expected 8"),
        ("4,1,1,1e-20,2,1,1,0", "memory: amounts need units below 2**-61"),
    ],
)
def test_what_is_wrong_is_said_with_file_line_and_field(tmp_path: Path, line: str, says: str) -> None:
    path = written(tmp_path, [LINES[0], line])
    with pytest.raises(TraceError) as error:
        read_tasks(path, MACHINES)
    assert str(error.value).startswith(f"{path}:3: " if "units" not in says else f"{path}: ")
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_task_that_no_single_machine_holds_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, ["4,1,3,0.6,2,1,1,0"])
    with pytest.raises(TraceError, match=r"tasks.csv:2: cpu, memory: no machine has enough of all of them at once"):
        read_tasks(path, parse_machines(["cpu=4,memory=0.5", "cpu=2,memory=1"]))


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read: No such file"):
        read_tasks(tmp_path / "none.csv", MACHINES)
    with pytest.raises(TraceError, match=r"tasks.csv:1: column instances_num is missing"):
        read_tasks(written(tmp_path, ["1,2,1,1,1,1,0"], HEADER.replace(",instances_num", "")), MACHINES)
    with pytest.raises(TraceError, match="holds no task"):
        read_tasks(written(tmp_path, []), MACHINES)
    with pytest.raises(SpecError, match=r"states nothing of resource 'gpu'. Known: cpu, memory, disk"):
        read_tasks(written(tmp_path, LINES), parse_machines(["cpu=4,memory=1,gpu=2"]))
    with pytest.raises(SpecError, match=r"tasks of .* need memory"):
        read_tasks(written(tmp_path, LINES), parse_machines(["cpu=4"]))


@pytest.mark.parametrize("spec", ["count=0,cpu=1", "cpu=-1", "cpu=nan", "count=2", "cpu", "cpu=1/0", "count=1e9,cpu=1"])
def test_machines_that_are_none_are_refused(spec: str) -> None:
    with pytest.raises(SpecError, match=r"machines|specification"):
        parse_machines([spec])


def test_kinds_of_machines_state_the_same_resources() -> None:
    assert len(parse_machines(["count=2,cpu=64,memory=1", "memory=0.5,cpu=32"])) == 3
    with pytest.raises(SpecError, match="all kinds state the same resources"):
        parse_machines(["cpu=64,memory=1", "cpu=64"])


def test_amounts_are_exact() -> None:
    assert units([Fraction("0.05"), Fraction(64)], Fraction(64)) == 20
    share = Fraction("0.005404705821447985")
    scale = units([share, Fraction(1)], Fraction(1))
    assert scale == 2**60 or scale == 2**61 or scale is not None
    assert counted(share, scale or 1) / (scale or 1) == float(share)
    assert units([share, Fraction(8)], Fraction(8)) is None or counted(share, 2**58) >= 0


def test_a_workload_that_contradicts_itself_is_refused() -> None:
    fields: dict[str, object] = {
        "name": "w", "resources": ["cpu"], "units": [1], "machines": [[4]], "job_ids": [5], "submit": [0], "job": [0],
        "task_ids": [2], "instances": [1], "demands": [[4]], "duration": [1.0],
    }  # fmt: skip
    TaskWorkload(**fields)
    for name, value, says in (
        ("demands", [[5]], "job 5 task 2: an instance fits on no machine"),
        ("duration", [float("nan")], "duration must be > 0"),
        ("instances", [0], "instances must be > 0"),
        ("job", [1], "job must ascend from 0"),
        ("submit", [-1], "submit must be >= 0"),
        ("units", [0], "units > 0"),
    ):
        with pytest.raises(ModelError, match=says):
            TaskWorkload(**{**fields, name: value})
