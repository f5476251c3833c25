"""What differs between the JSON of versions of Slurm, and what a job may lack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from transom.errors import TraceError
from transom.traces.records.importing import Imported, ImportRules
from transom.traces.records.slurm import read_slurm


def job(**changed: Any) -> dict[str, Any]:
    """A job as sacct of 24.11 prints it, as far as it matters."""
    return {
        "job_id": 7,
        "state": {"current": ["COMPLETED"], "reason": "None"},
        "time": {
            "elapsed": 60, "eligible": 1_767_225_600, "start": 1_767_225_610, "end": 1_767_225_670, "suspended": 0,
            "submission": 1_767_225_600, "limit": {"set": True, "infinite": False, "number": 30},
        },
        "allocation_nodes": 2,
        "required": {"CPUs": 8},
        "nodes": "n[1-2]",
        "user": "ada",
    } | changed  # fmt: skip


def imported(folder: Path, *jobs: Any, **more: Any) -> Imported:
    """The trace of a file with jobs."""
    (folder / "sacct.json").write_text(json.dumps({"jobs": jobs, **more}))
    return read_slurm([str(folder / "sacct.json")], ImportRules(bad=0.5))


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [
        (30, 1800), ({"set": True, "infinite": False, "number": 30}, 1800), ({"set": False, "number": 30}, -1),
        ({"set": True, "infinite": True, "number": 0}, -1), (4294967295, -1), (4294967294, -1), (None, -1),
        ("30", 1800),
    ],
)  # fmt: skip
def test_limits_of_all_versions(limit: Any, seconds: int, tmp_path: Path) -> None:
    told = job()
    told["time"]["limit"] = limit
    assert imported(tmp_path, told).jobs["walltime"].item() == seconds


@pytest.mark.parametrize(
    ("required", "mebibytes"),
    [
        ({"memory_per_node": {"set": True, "number": 500}}, 1000),
        ({"memory_per_cpu": {"set": True, "number": 500}, "memory_per_node": {"set": False, "number": 0}}, 4000),
        ({"memory": 500}, 1000),
        ({"memory": 2**63 + 500}, 4000),
        ({"memory": 500 - 2**63}, 4000),
        ({}, -1),
    ],
)
def test_memory_of_all_versions(required: Any, mebibytes: int, tmp_path: Path) -> None:
    assert imported(tmp_path, job(required={"CPUs": 8, **required})).jobs["req_memory"].item() == mebibytes


@pytest.mark.parametrize("state", ["RUNNING", ["RUNNING"], {"current": "RUNNING"}, {"current": ["RUNNING", "X"]}])
def test_states_of_all_versions(state: Any, tmp_path: Path) -> None:
    told = job(state=state) if isinstance(state, dict) else {**job(job_state=state), "state": None}
    row = imported(tmp_path, told).jobs.row(0, named=True)
    assert (row["state"], row["start"], row["end"]) == ("RUNNING", 1_767_225_610, -1)


def test_tasks_and_components(tmp_path: Path) -> None:
    task = job(array={"job_id": 5, "task_id": {"set": True, "number": 0}, "task": ""})
    waiting = job(
        job_id=8, array={"job_id": 8, "task_id": {"set": False}, "task": "1-9%2"}, state={"current": ["PENDING"]}
    )
    old = job(job_id=9, array={"job_id": 5, "task_id": 3, "task": None}, het={"job_id": 9, "job_offset": None})
    found = imported(tmp_path, task, waiting, old).jobs.select(
        "id", "array_job", "array_task", "array_tasks", "het_job"
    )
    assert found.sort("id").rows() == [(7, 5, 0, -1, -1), (8, 8, -1, 9, -1), (9, 5, 3, -1, 9)]


def test_gpus_and_nodes_of_resources(tmp_path: Path) -> None:
    resources = [
        {"type": "cpu", "name": "", "id": 1, "count": 8},
        {"type": "mem", "name": "", "id": 2, "count": 4096},
        {"type": "node", "name": "", "id": 4, "count": 2},
        {"type": "gres", "name": "gpu", "id": 1001, "count": 3},
        {"type": "gres", "name": "gpu:a100", "id": 1002, "count": 3},
        {"type": "billing", "name": "", "id": 5, "count": -2},
    ]
    row = imported(tmp_path, job(tres={"allocated": resources, "requested": resources})).jobs.row(0, named=True)
    assert (row["gpus"], row["cores"], row["memory"], row["req_nodes"], row["req_gpus"]) == (3, 8, 4096, 2, 3)


def test_what_is_unknown_is_left_alone_and_what_is_absent_is_not_known(tmp_path: Path) -> None:
    least = {"job_id": 1, "time": {"submission": 1_767_225_600}, "tomorrow": {"a": [1, {"b": None}]}}
    row = imported(tmp_path, least, job()).jobs.row(0, named=True)
    known = {name: value for name, value in row.items() if value not in (-1, "", [], 0)}
    assert known == {"id": 1, "submit": 1_767_225_600, "label": "1"}


def test_what_is_no_job_is_counted_and_what_is_no_answer_refused(tmp_path: Path) -> None:
    trace = imported(tmp_path, job(), 7)
    assert (trace.findings.bad, trace.findings.first) == (
        1,
        f"{tmp_path}/sacct.json: job 2: expected an object, got int",
    )
    (tmp_path / "sacct.json").write_text(json.dumps({"errors": [{"error": "no such cluster"}]}))
    with pytest.raises(TraceError, match="expected an object with a list 'jobs'; it reports: no such cluster"):
        read_slurm([str(tmp_path / "sacct.json")])
