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
        ({"memory": "--5"}, -1),
        ({"memory": "9" * 5000}, -1),
        ({}, -1),
    ],
)
def test_memory_of_all_versions(required: Any, mebibytes: int, tmp_path: Path) -> None:
    assert imported(tmp_path, job(required={"CPUs": 8, **required})).jobs["req_memory"].item() == mebibytes


def test_a_suspension_at_no_time_is_none(tmp_path: Path) -> None:
    told = job(suspend_time="9" * 5000, pre_sus_time=1)
    del told["time"]["suspended"]
    trace = imported(tmp_path, told)
    assert (trace.jobs["suspended"].item(), trace.jobs["runtime"].item()) == (0, 60)


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


def texts(*ids: int, indent: int | None = None) -> list[str]:
    """The text of a job each."""
    return [json.dumps(job(job_id=number), indent=indent) for number in ids]


@pytest.mark.parametrize("indent", [None, 4])
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_lines_arrays_and_several_documents(
    indent: int | None, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transom.traces.swf_blocks._BLOCK", size)
    answer = '{"meta": {"jobs": "jobs", "list": [{"a": [1]}]}, "jobs": [%s], "warnings": [], "errors": [{"x": []}]}'
    lines, two, three = (
        "\n".join(texts(1, 2)),
        ", ".join(texts(3, 4, indent=indent)),
        ",\n".join(texts(5, indent=indent)),
    )
    (tmp_path / "all").write_text(f"{lines}\n{answer % two}{answer % three}\n[{texts(6)[0]}]\n[]\x1e{answer % ''}\n")
    trace = read_slurm([str(tmp_path / "all")], kind="json")
    assert trace.jobs["id"].to_list() == [1, 2, 3, 4, 5, 6]
    assert trace.findings.records == 6


def test_answers_in_an_array(tmp_path: Path) -> None:
    (tmp_path / "slurped").write_text(json.dumps([{"jobs": [job(job_id=1), 3]}, {"jobs": [job(job_id=2)]}]))
    trace = read_slurm([str(tmp_path / "slurped")], ImportRules(bad=0.5))
    assert (trace.jobs["id"].to_list(), trace.findings.records, trace.findings.bad) == ([1, 2], 3, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"jobs": [{"job_id": 1', "it is cut off behind job 0"),
        ('{"jobs": [{"job_id": 1}, {"a": "', "it is cut off behind job 1"),
        ('{"jobs": []} nonsense', "unexpected 'n' behind job 0"),
        ('{"jobs": []}}', "unexpected '}' behind job 0"),
        ('{"jobs": [' + "[" * 300, "nested more than 200 levels deep behind job 0"),
        ('{"job_id": 1, "x": }', "is not the JSON that sacct prints"),
        ("{}", "expected an object with a list 'jobs'"),
    ],
)
def test_what_is_no_json_ends_in_one_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad").write_text(text)
    with pytest.raises(TraceError, match=message) as raised:
        read_slurm([str(tmp_path / "bad")])
    assert str(raised.value).startswith(f"{tmp_path}/bad: ")


def test_a_job_has_a_longest_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transom.traces.swf_blocks._BLOCK", 100)
    monkeypatch.setattr("transom.traces.records.slurm_text.job_documents.DOCUMENT", 1000)
    (tmp_path / "long").write_text('{"jobs": [' + texts(1)[0] + ', {"name": "' + "x" * 2000 + '"}]}')
    with pytest.raises(TraceError, match="job 2 is longer than"):
        read_slurm([str(tmp_path / "long")])


def test_odd_objects_numbers_and_bytes_are_not_known(tmp_path: Path) -> None:
    odd = job(time=[1], submit_time=1_767_225_600, association=None, required={"CPUs": [1, 2]}, name="a\udcff")
    (tmp_path / "odd").write_bytes(
        json.dumps({"jobs": [odd, job(job_id=8)]}, ensure_ascii=False).encode("utf-8", "surrogateescape")
    )
    row = read_slurm([str(tmp_path / "odd")]).jobs.row(0, named=True)
    assert (row["start"], row["req_cores"], row["name"]) == (-1, -1, "a\ufffd")


LIVE = {
    "job_id": 11, "job_state": ["RUNNING"], "submit_time": {"set": True, "infinite": False, "number": 1_767_225_600},
    "start_time": {"set": True, "infinite": False, "number": 1_767_225_610}, "cpus": {"set": True, "number": 4},
    "node_count": {"set": True, "infinite": False, "number": 2}, "tasks": {"set": True, "number": 4}, "nodes": "g[1-2]",
    "sockets_per_node": 2, "tres_req_str": "cpu=4,mem=1G,node=2,billing=2", "gres_detail": [],
    "tres_alloc_str": "cpu=4,mem=1G,node=2,billing=2",
    "tres_per_job": "", "tres_per_node": "", "tres_per_socket": "", "tres_per_task": "",
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "gpus"),
    [
        ({"gres_detail": ["gpu:h100:4(IDX:0-3)", "gpu:h100:2(IDX:0-1)"], "tres_per_job": "gres/gpu:6"}, (6, 6)),
        ({"gres_detail": ["gpu:4(IDX:0-3)", "gpu:1080:4(IDX:0-3),shard:8"], "tres_per_node": "gres/gpu:4"}, (8, 8)),
        ({"tres_per_job": "gres/gpu:4"}, (4, 4)),
        ({"tres_per_node": "gres:gpu:2,gres:craynetwork:1"}, (4, 4)),
        ({"tres_per_task": "cpu=1,gres/gpu=2"}, (8, 8)),
        ({"tres_per_socket": "gres/gpu:1", "gres_detail": ["gpu:1(IDX:0)", "gpu:1(IDX:0)"]}, (2, 4)),
        ({"tres_alloc_str": "cpu=4,gres/gpu=3,gres/gpu:a100=3", "tres_req_str": "cpu=4,gres/gpu:a100=3"}, (3, 3)),
        ({"job_state": ["PENDING"], "start_time": {"set": False, "number": 0}, "tres_per_node": "gpu:1"}, (-1, 2)),
        ({"tres_per_node": "gres/shard:2"}, (0, 0)),
    ],
)
def test_gpus_of_live_jobs(changed: dict[str, Any], gpus: tuple[int, int], tmp_path: Path) -> None:
    other = LIVE | {"job_id": 12, "tres_per_job": "gres/gpu:1"}  # so that the file tracks them
    trace = imported(tmp_path, LIVE | changed, other)
    assert trace.jobs.select("gpus", "req_gpus").row(0) == gpus


def test_gpus_that_ended_jobs_used(tmp_path: Path) -> None:
    found = imported(tmp_path, job(used_gres="gpu:a100:4"), job(job_id=8, used_gres="")).jobs
    assert found["gpus"].to_list() == [4, -1]
