"""What slurmdbd kept of jobs, by ``sacct`` as text and as JSON, beside what the controller tells of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.slurm.cluster import EmulatedSlurm
from transom.traces.records.slurm import read_slurm

COLUMNS = (
    "JobID,JobIDRaw,Submit,Eligible,Start,End,ElapsedRaw,Suspended,NNodes,ReqNodes,NCPUS,ReqCPUS,AllocTRES,ReqTRES,"
    "ReqMem,TimelimitRaw,Partition,QOS,Account,User,UID,State,Reservation,NodeList,Restarts,Priority,JobName"
)
SHARED = (
    "submit", "start", "end", "runtime", "nodes", "cores", "req_nodes", "req_cores", "walltime", "state", "partition",
    "qos", "account", "user_name", "node_list", "array_job", "array_task", "name",
)  # fmt: skip
SACCT = (
    *SHARED,
    "eligible",
    "array_tasks",
    "gpus",
    "memory",
    "req_memory",
    "het_job",
    "restarts",
    "priority",
    "suspended",
)


def rows(folder: Path, name: str, text: str) -> dict[int, dict[str, Any]]:
    (folder / name).write_text(text)
    trace = read_slurm([str(folder / name)])
    assert trace.findings.bad == 0
    return {row["id"]: row for row in trace.jobs.to_dicts()}


def apart(one: dict[int, dict[str, Any]], other: dict[int, dict[str, Any]], fields: tuple[str, ...]) -> set[Any]:
    return {(i, each) for i in one.keys() & other.keys() for each in fields if one[i].get(each) != other[i].get(each)}


@pytest.mark.long
def test_sacct_tells_the_same_in_both_forms(emulated_slurm: Callable[..., EmulatedSlurm], tmp_path: Path) -> None:
    slurm = emulated_slurm(nodes=8, leaf=4, account=True, settings={"AccountingStorageEnforce": "associations,qos"})
    for command in (
        "add qos short Priority=10",
        "add account physics",
        "add user root account=physics qos=normal,short",
    ):
        slurm.run("sacctmgr", "-i", *command.split())
    done = slurm.submit("srun -N2 -n2 true", "-N2", "-t10", "-A", "physics", "-q", "short")
    failed = slurm.submit("exit 3", "-N1", "-t10")
    array = slurm.submit("exit $SLURM_ARRAY_TASK_ID", "-N1", "-t10", "--array=0-5:2")
    both = slurm.submit("true", "-N1", "-t5", ":", "-N2", "-t6")
    waits = slurm.submit("true", "-N8", "-t10", "--array=1-9:2", "--begin=now+1hour")
    held = slurm.submit("true", "-H", "-N2", "-t10")
    stopped, again, cancelled = (slurm.submit("sleep 1000", "-N1", "-t30") for _ in range(3))
    running = {stopped, again, cancelled}
    slurm.wait(lambda: {job for job, state in slurm_states(slurm).items() if state == "RUNNING"} >= running, "jobs run")
    queued = slurm.submit("true", "-N8", "-t10")
    part = slurm.submit("true", "-N8", "-t10", "--array=1-4%2")
    slurm.wait(lambda: slurm.run("squeue", "-h", "-j", str(queued), "-o", "%r").strip() == "Resources", "the job waits")
    slurm.run("scontrol", "suspend", str(stopped))
    slurm.run("scontrol", "requeue", str(again))
    slurm.run("scancel", str(cancelled), str(held), str(queued), f"{part}_2")
    before = slurm.now()
    slurm.wait(lambda: slurm.now() >= before + 2, "the job was suspended for a while")
    slurm.run("scontrol", "resume", str(stopped))
    slurm.run("scancel", str(stopped))
    ended = {done, failed, both, both + 1, stopped, cancelled, queued}
    sacct = ("sacct", "--allusers", "--duplicates", "--starttime=2020-01-01")

    def kept() -> bool:
        lines = slurm.run(*sacct, "-X", "-n", "-P", "--format=JobIDRaw,End,State").splitlines()
        told = [line.split("|") for line in lines]
        known = {int(job) for job, end, state in told if end != "Unknown" and state != "REQUEUED"}
        return known >= ended and [str(again), "REQUEUED"] in [[job, state] for job, _, state in told]

    slurm.wait(kept, "slurmdbd knows all ends")
    text = rows(tmp_path, "sacct.txt", slurm.run(*sacct, "-P", f"--format={COLUMNS}"))
    told = rows(tmp_path, "sacct.json", slurm.run(*sacct, "--json"))
    shown = rows(tmp_path, "jobs.txt", slurm.run("scontrol", "show", "job"))
    assert text.keys() == told.keys()
    assert apart(text, told, SACCT) == set()
    of_ended = {
        job: row for job, row in text.items() if row["end"] >= 0 and job != again and row["state"] != "REQUEUED"
    }
    assert of_ended.keys() >= ended
    assert apart(of_ended, shown, SHARED) == set()
    assert apart(shown, rows(tmp_path, "jobs.json", slurm.run("scontrol", "show", "jobs", "--json")), SHARED) == set()
    assert (text[stopped]["suspended"] >= 2, text[stopped]["state"]) == (True, "CANCELLED")
    assert [row["state"] for row in text.values() if row["label"] == str(again)].count("REQUEUED") == 1
    assert {row["array_task"]: row["state"] for row in text.values() if row["array_job"] == array} == {
        0: "COMPLETED", 2: "FAILED", 4: "FAILED",
    }  # fmt: skip
    assert (text[both]["het_job"], text[both + 1]["het_job"]) == (both, both)
    assert (text[queued]["state"], text[queued]["start"], text[queued]["runtime"]) == ("CANCELLED", -1, -1)
    assert shown[waits]["array_tasks"] == 5
    assert held in shown
    assert json.loads(slurm.run(*sacct, "--json"))["errors"] == []


def slurm_states(slurm: EmulatedSlurm) -> dict[int, str]:
    lines = slurm.run("squeue", "-h", "-o", "%A %T").splitlines()
    return {int(job): state for job, state in (line.split() for line in lines)}
