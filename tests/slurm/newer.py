"""Recorded answers of Slurm 22.05 in the form of 24.11: numbers as objects, states as lists, grouped nodes."""

from __future__ import annotations

from typing import Any

_NUMBERS = (
    "array_task_id", "array_job_id", "node_count", "max_nodes", "cpus", "time_limit", "priority", "submit_time",
    "start_time", "end_time", "eligible_time", "last_sched_evaluation", "het_job_id", "memory_per_node",
)  # fmt: skip


def told(value: Any, infinite: bool = False) -> dict[str, Any]:
    """A number as 24.11 tells it."""
    return {"set": value is not None and not infinite, "infinite": infinite, "number": value or 0}


def newer_jobs(answer: dict[str, Any]) -> dict[str, Any]:
    """``squeue --json``, with fields that nobody knows yet."""
    jobs = []
    for job in answer["jobs"]:
        made = {**job, "job_state": [job["job_state"]], "shared": [job["shared"]], "hold": job["priority"] == 0}
        made |= {name: told(job[name]) for name in _NUMBERS}
        made["time_limit"] = told(job["time_limit"], job["time_limit"] is None)
        made["a_field_of_tomorrow"] = {"deep": [{"er": None}]}
        jobs.append(made)
    return {"jobs": jobs, "last_update": told(1), "warnings": [], "errors": [], "meta": {"slurm": {"release": "24.11"}}}


def newer_nodes(answer: dict[str, Any]) -> dict[str, Any]:
    """``scontrol show nodes --json``."""
    nodes = [{**each, "state": _states(each), "free_mem": told(1), "unheard_of": []} for each in answer["nodes"]]
    return {"nodes": [{k: v for k, v in each.items() if k != "state_flags"} for each in nodes]}


def newer_groups(answer: dict[str, Any]) -> dict[str, Any]:
    """``sinfo --json``."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for each in answer["nodes"]:
        groups.setdefault(tuple(_states(each)), []).append(each["name"])
    size = {"cpus": {"minimum": 4, "maximum": 4}, "memory": {"minimum": 4000}, "partition": {"name": "main"}}
    return {"sinfo": [{"node": {"state": list(s)}, "nodes": {"nodes": names}, **size} for s, names in groups.items()]}


def _states(node: dict[str, Any]) -> list[str]:
    return [node["state"].upper(), *node["state_flags"]]
