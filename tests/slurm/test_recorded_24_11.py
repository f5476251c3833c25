"""What a real Slurm 24.11.5 answered, as text and as JSON: both forms tell the same, field by field.

Recorded on 32 emulated nodes with slurmdbd: jobs that wait for resources, priority, a dependency, a begin time, a
reservation, a partition that is down or held by user and admin; arrays in part and with steps; heterogeneous,
suspended, requeued, cancelled, failed and killed jobs, GPUs, licences, limits on switches; drained, down and reserved
nodes, partitions with exclusive and shared nodes.
"""

from __future__ import annotations

import gzip
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from transom.io import encode
from transom.slurm.state import SlurmState, read_answers
from transom.slurm.window import window_of
from transom.traces.records.slurm import read_slurm
from transom.traces.records.slurm_conf import read_site
from transom.traces.records.slurm_text.jobs import SEPARATOR, SlurmJob, jobs_of_squeue
from transom.traces.records.slurm_text.reservations import read_reservations

RECORDED = Path(__file__).parent / "recorded" / "24.11"
NOW = 1795614207


def state_of(*names: str) -> SlurmState:
    return read_answers([RECORDED / f"{name}.gz" for name in names], NOW)


def differences(one: list[Any], other: list[Any]) -> dict[tuple[str, str], tuple[object, object]]:
    """By name and field, what two lists of the same things tell differently."""
    first, second = ({each.name: fields_of(each) for each in told} for told in (one, other))
    assert first.keys() == second.keys()
    return {
        (name, field): (told, second[name][field])
        for name, each in first.items()
        for field, told in each.items()
        if told != second[name][field]
    }


def fields_of(thing: Any) -> dict[str, Any]:
    return dict(thing._asdict()) if hasattr(thing, "_asdict") else asdict(thing)


def test_text_and_json_tell_the_same_state() -> None:
    names = ("jobs", "nodes", "partitions", "reservations", "licenses")
    text, told = (state_of(*(f"{name}.{form}" for name in names)) for form in ("txt", "json"))
    apart = differences(text.jobs, told.jobs)
    assert apart.pop(("50", "asks")) == ({"limits on switches": "1@00:05:00"}, {"limits on switches": "1"})
    assert {field for _, field in apart} == {"reason"}  # texts tell of more than the word that JSON has
    assert differences(text.nodes, told.nodes) == {}
    assert differences(text.licences, told.licences) == {}
    assert differences(text.reservations, told.reservations) == {}
    # JSON of 24.11 does not tell which partition is the default.
    assert differences(text.partitions, told.partitions) == {("main", "default"): (True, False)}
    assert next(job for job in text.jobs if job.id == 74).state == "PENDING"  # whose name says otherwise


def test_a_record_on_one_line_tells_the_same() -> None:
    assert differences(state_of("jobs.txt", "nodes.txt").jobs, state_of("jobs_o.txt", "nodes.txt").jobs) == {}


def test_commands_and_versions_of_json_tell_the_same() -> None:
    shown, queued, older = (
        state_of(name, "nodes.json").jobs for name in ("jobs.json", "squeue.json", "squeue_v0.0.41.json")
    )
    alive = [job for job in shown if job.waits or job.holds]
    assert differences(alive, queued) == {}
    assert {field for _, field in differences(queued, older)} == {"looked"}
    listed, grouped = state_of("jobs.json", "nodes.json").nodes, state_of("jobs.json", "sinfo.json").nodes
    # A group has nodes of different features, and tells those of one of them: these are not taken, nor resources.
    assert {field for _, field in differences(listed, grouped)} == {"used", "features", "gres"}
    assert {(node.features, node.gres) for node in grouped} == {(None, None)}


def test_the_poll_tells_what_json_tells_of_the_same_moment() -> None:
    lines, excluding = (
        gzip.decompress((RECORDED / f"{name}.txt.gz").read_bytes()).decode().splitlines()
        for name in ("poll", "poll_excluding")
    )
    named = frozenset(job for job, _, nodes in (each.partition(SEPARATOR) for each in excluding) if nodes)
    assert named == {"52"}
    polled = list(jobs_of_squeue(lines, named))
    apart = differences(polled, state_of("poll.json", "nodes.json").jobs)
    # The poll does not tell memory of a core from that of a node, and never when Slurm last looked at a job.
    assert {key for key in apart if key[1] not in ("looked", "reason")} == {("66", "memory"), ("52", "asks")}
    tasks = [job.name for job in polled if job.name.startswith("30_") and job.waits]
    assert tasks == [f"30_{task}" for task in range(7, 30, 2)]


@pytest.mark.parametrize("partition", ["main", "shared", "over", "gpu", "down"])
@pytest.mark.parametrize("held", [False, True])
def test_the_windows_of_both_forms_are_equal(partition: str, held: bool) -> None:
    names = ("jobs", "nodes", "partitions", "reservations", "licenses")
    text, told = (
        window_of(state_of(*(f"{name}.{form}" for name in names), "topology.txt"), partition, held=held, limits=True)
        for form in ("txt", "json")
    )
    assert encode(text.window) == encode(told.window)
    assert (text.refused, text.remarks) == (told.refused, told.remarks)
    assert text.idle.tolist() == told.idle.tolist()


def test_the_window_is_that_of_the_cluster() -> None:
    names = ("jobs.json", "nodes.json", "partitions.json", "reservations.json", "licenses.json", "topology.txt")
    seen = window_of(state_of(*names))
    assert seen.partition == "main"
    # n05 is reserved, n16 and n17 are drained, n18 is down, n19 is held by a suspended job, n20 and n21 are shared.
    assert [seen.names[i] for i in seen.idle] == ["n06", "n07", "n22", "n23"]
    assert seen.left == {
        "limit JobArrayTaskLimit": 12, "held": 8, "other partitions": 5, "not eligible yet": 3, "dependencies": 2,
        "heterogeneous jobs": 2, "features": 1, "limits on switches": 1, "reservations": 1, "excluded nodes": 1,
        "named nodes": 1, "more nodes than are in service": 1, "no fixed number of nodes": 1, "contiguous nodes": 1,
    }  # fmt: skip
    # Two of the idle nodes are reserved in half an hour.
    assert seen.window.available.tolist() == [4, 1, 2]


def rows_of(name: str) -> dict[int, dict[str, Any]]:
    trace = read_slurm([str(RECORDED / f"{name}.gz")])
    assert trace.findings.bad == 0
    return {row["id"]: row for row in trace.jobs.to_dicts()}


FIELDS = (
    "submit", "eligible", "start", "end", "runtime", "nodes", "cores", "req_nodes", "req_cores", "gpus", "req_gpus",
    "memory", "req_memory", "walltime", "state", "partition", "qos", "account", "user_name", "group", "reservation",
    "node_list", "array_job", "array_task", "array_tasks", "het_job", "restarts", "priority", "suspended",
)  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("sacct_raw.txt", "sacct.txt"), ("sacct_raw.txt", "sacct.json"), ("jobs.txt", "jobs.json"),
        ("jobs.txt", "jobs_o.txt"),
    ],
)  # fmt: skip
def test_records_of_both_forms_are_the_same_jobs(one: str, other: str) -> None:
    first, second = rows_of(one), rows_of(other)
    assert first.keys() == second.keys()
    apart = {(job, name) for job, row in first.items() for name in FIELDS if row.get(name) != second[job].get(name)}
    assert apart == set()


def test_all_versions_of_sacct_json_are_the_same_jobs() -> None:
    new, old = rows_of("sacct.json"), rows_of("sacct_v0.0.40.json")
    fields = [name for name in FIELDS if name != "restarts"]  # told since v0.0.42
    assert [{n: row[n] for n in fields} for row in new.values()] == [
        {n: row[n] for n in fields} for row in old.values()
    ]


def test_what_sacct_tells_of_odd_jobs() -> None:
    jobs = rows_of("sacct.json")
    assert (jobs[16]["state"], jobs[16]["start"], jobs[16]["runtime"]) == ("REQUEUED", 1795614126, 6)
    assert (jobs[47]["array_job"], jobs[47]["array_tasks"]) == (47, 8)
    assert (jobs[19]["runtime"], jobs[19]["suspended"], jobs[19]["end"] - jobs[19]["start"]) == (11, 5, 16)
    assert jobs[1]["tres"] == "cpu=8,node=2,billing=8"
    assert (jobs[31]["walltime"], jobs[31]["state"]) == (-1, "RUNNING")
    shown = rows_of("jobs.json")
    assert (shown[19]["runtime"], shown[19]["suspended"]) == (11, 5)


def test_text_and_json_describe_the_same_site() -> None:
    text, told = (
        read_site([str(RECORDED / f"{name}.gz") for name in (f"partitions.{form}", f"nodes.{form}", "topology.txt")])
        for form in ("txt", "json")
    )
    assert text.machine == told.machine == {"nodes": 32, "cores": 128, "gpus": 32, "memory": 128_000}
    assert text.topology == told.topology
    for name, each in text.partitions.items():
        assert {key: value for key, value in each.items() if key != "default"} == told.partitions[name]


def test_reservations_are_the_same() -> None:
    text, told = (read_reservations(str(RECORDED / f"reservations.{form}.gz")) for form in ("txt", "json"))
    assert text == told
    assert [each.name for each in text] == ["course", "now1"]


def test_jobs_are_kept_whole() -> None:
    jobs = {job.name: job for job in state_of("jobs.json", "nodes.json").jobs}
    assert isinstance(jobs["38"], SlurmJob)
    assert (jobs["38"].state, jobs["38"].holds, jobs["38"].waits) == ("SUSPENDED", True, False)
    assert (jobs["43"].held, jobs["44"].held, jobs["45"].held) == (True, True, True)
    assert (jobs["31"].limit, jobs["31"].end) == (-1, -1)
    assert (jobs["64"].nodes, jobs["64"].most) == (9, 12)
    assert [name for name in jobs if name.startswith("48_")] == ["48_1", "48_4", "48_7", "48_8", "48_9"]
