"""Workloads as a resource manager would have recorded them, had each job started ``wait`` after its submission."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from transom.traces import Workload

COLUMNS = (
    "JobID", "JobIDRaw", "Submit", "Eligible", "Start", "End", "ElapsedRaw", "NNodes", "ReqNodes", "NCPUS", "AllocTRES",
    "ReqMem", "Timelimit", "Partition", "QOS", "Account", "User", "UID", "State", "NodeList", "JobName",
)  # fmt: skip
CORES = 4


def stamp(seconds: int) -> str:
    """A time as sacct prints it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def span(seconds: int) -> str:
    """A duration as sacct prints it."""
    days, rest = divmod(seconds, 86_400)
    text = f"{rest // 3600:02}:{rest % 3600 // 60:02}:{rest % 60:02}"
    return f"{days}-{text}" if days else text


def records(workload: Workload, wait: int = 60) -> list[dict[str, str]]:
    """A record of each job by the names of sacct's columns; submissions lie in 2020."""
    made = []
    jobs = workload.jobs
    columns = (jobs.id, jobs.submit, jobs.nodes, jobs.walltime, jobs.user, workload.runtime)
    for id_, submit, nodes, walltime, user, runtime in zip(*(each.tolist() for each in columns), strict=True):
        start = submit + wait
        made.append(
            {
                "JobID": str(id_), "JobIDRaw": str(id_), "Submit": stamp(submit), "Eligible": stamp(submit + 1),
                "Start": stamp(start), "End": stamp(start + runtime), "Elapsed": span(runtime),
                "ElapsedRaw": str(runtime), "NNodes": str(nodes), "ReqNodes": str(nodes), "NCPUS": str(nodes * CORES),
                "AllocTRES": f"billing={nodes},cpu={nodes * CORES},gres/gpu={nodes},mem={nodes * 2}G,node={nodes}",
                "ReqMem": "2Gn", "Timelimit": span(walltime), "TimelimitRaw": str(walltime // 60), "Partition": "batch",
                "QOS": "normal", "Account": f"account{user % 3}", "User": f"user{user}", "UID": str(user),
                "State": "COMPLETED", "NodeList": f"n[1-{nodes}]", "JobName": f"job{id_}",
            }
        )  # fmt: skip
    return made


def text(rows: Sequence[dict[str, str]], columns: Sequence[str] = COLUMNS, delimiter: str = "|") -> str:
    """What ``sacct --parsable2`` prints of records."""
    lines = (delimiter.join(row[name] for name in columns) for row in rows)
    return "\n".join([delimiter.join(columns), *lines, ""])


def json_text(workload: Workload, version: str, wait: int = 60) -> str:
    """What ``sacct --json`` prints: of Slurm 22.05 with plain numbers, of 24.11 with numbers as objects."""
    new = version == "24.11"

    def number(value: int | None) -> Any:
        if not new:
            return value
        return {"set": value is not None, "infinite": False, "number": value or 0}

    jobs = []
    columns = (workload.jobs.id, workload.jobs.submit, workload.jobs.nodes, workload.jobs.walltime, workload.jobs.user)
    for (id_, submit, nodes, walltime, user), runtime in zip(
        zip(*(each.tolist() for each in columns), strict=True), workload.runtime.tolist(), strict=True
    ):
        start = submit + wait
        resources = [
            {"type": "cpu", "name": "" if new else None, "id": 1, "count": nodes * CORES},
            {"type": "mem", "name": "" if new else None, "id": 2, "count": nodes * 2048},
            {"type": "node", "name": "" if new else None, "id": 4, "count": nodes},
            {"type": "gres", "name": "gpu", "id": 1001, "count": nodes},
        ]
        memory = {"memory_per_node": number(2048), "memory_per_cpu": number(None)} if new else {"memory": 2048}
        jobs.append(
            {
                "account": f"account{user % 3}",
                "allocation_nodes": nodes,
                "array": {
                    "job_id": 0,
                    "limits": {"max": {"running": {"tasks": 0}}},
                    "task": "" if new else None,
                    "task_id": number(None),
                },
                "association": {"account": f"account{user % 3}", "cluster": "c", "partition": None, "user": "x"},
                "het": {"job_id": 0, "job_offset": number(None)},
                "job_id": id_,
                "name": f"job{id_}",
                "nodes": f"n[1-{nodes}]",
                "partition": "batch",
                "qos": "normal",
                "required": {"CPUs": nodes * CORES, **memory},
                "reservation": {"id": 0, "name": ""},
                "state": {"current": ["COMPLETED"] if new else "COMPLETED", "reason": "None"},
                "steps": [{"nodes": {"count": nodes}, "state": "COMPLETED"}],
                "time": {
                    "elapsed": runtime,
                    "eligible": submit + 1,
                    "end": start + runtime,
                    "start": start,
                    "submission": submit,
                    "suspended": 0,
                    "limit": number(walltime // 60),
                    "planned": number(wait),
                },
                "tres": {"allocated": resources, "requested": resources},
                "user": f"user{user}",
            }
        )
    return json.dumps({"meta": {"Slurm": {"version": {"major": version[:2]}}}, "errors": [], "jobs": jobs})
