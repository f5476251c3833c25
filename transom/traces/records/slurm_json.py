"""Jobs as JSON: ``sacct --json`` of Slurm 21.08 to 25.x, ``squeue --json`` and ``scontrol show jobs --json``.

Versions differ in three ways: numbers are plain or ``{"set", "infinite", "number"}``, states a text or a list, and
some fields stand in another place. Each field has the places where it may stand; what is unknown is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from transom.errors import TraceError
from transom.traces.records.delimited import LINE
from transom.traces.records.findings import Findings

if TYPE_CHECKING:
    import polars as pl

_PLACES = {
    "raw": ("job_id",),
    "array_job": ("array.job_id", "array_job_id"),
    "array_task": ("array.task_id", "array_task_id"),
    "array_tasks": ("array.task", "array_task_string"),
    "het_job": ("het.job_id", "het_job_id"),
    "submit": ("time.submission", "submit_time"),
    "eligible": ("time.eligible", "eligible_time"),
    "start": ("time.start", "start_time"),
    "end": ("time.end", "end_time"),
    "elapsed_raw": ("time.elapsed",),
    "suspended": ("time.suspended",),
    "limit_raw": ("time.limit", "time_limit"),
    "alloc_nodes": ("allocation_nodes", "job_resources.allocated_hosts"),
    "nnodes": ("node_count",),
    "ncpus": ("cpus", "job_resources.allocated_cpus", "job_resources.allocated_cores"),
    "req_cpus": ("required.CPUs",),
    "alloc_tres": ("tres.allocated", "tres_alloc_str"),
    "req_tres": ("tres.requested", "tres_req_str"),
    "partition": ("partition",),
    "qos": ("qos",),
    "account": ("account", "association.account"),
    "user": ("user", "user_name", "association.user"),
    "uid": ("user_id",),
    "group": ("group", "group_name"),
    "state": ("state.current", "job_state", "state"),
    "name": ("name",),
    "nodes": ("nodes", "job_resources.nodes.list", "job_resources.nodes"),
    "req_node_list": ("required_nodes",),
    "reservation": ("reservation.name", "resv_name"),
    "dependency": ("dependency",),
    "restarts": ("restart_cnt",),
    "priority": ("priority",),
    "cluster": ("cluster",),
    "memory_node": ("required.memory_per_node", "memory_per_node"),
    "memory_core": ("required.memory_per_cpu", "memory_per_cpu"),
    "memory": ("required.memory",),
}
_NUMBERS = frozenset(
    ("raw", "array_job", "array_task", "het_job", "submit", "eligible", "start", "end", "elapsed_raw", "suspended",
     "limit_raw", "alloc_nodes", "nnodes", "ncpus", "req_cpus", "uid", "restarts", "priority", "memory_node",
     "memory_core", "memory")
)  # fmt: skip
_INFINITE = frozenset((2**32 - 1, 2**64 - 1))
_NOT_SET = frozenset((2**32 - 2, 2**64 - 2))
_CHUNK = 100_000


class _Answer(msgspec.Struct):
    """What the commands print, as far as it matters; a job is decoded when it is its turn."""

    jobs: list[msgspec.Raw] | None = None
    errors: Any = None


def read_json(path: str, blocks: Iterable[tuple[int, bytearray]], findings: Findings) -> Iterator[pl.DataFrame]:
    """The fields that are known, as text; a record's :data:`~transom.traces.records.delimited.LINE` is its number.

    Raises
    ------
    TraceError : the file is not JSON, or holds no list of jobs.
    """
    import polars as pl

    text = b"".join(bytes(block) for _, block in blocks)
    rows: list[list[Any]] = []
    schema = {LINE: pl.Int64, **dict.fromkeys(_columns(), pl.String)}
    for number, raw in enumerate(_jobs(path, text), 1):
        findings.records += 1
        try:
            job = msgspec.json.decode(raw)
        except (msgspec.DecodeError, RecursionError) as error:
            findings.refuse(f"{path}: job {number}", str(error))
            continue
        if not isinstance(job, dict):
            findings.refuse(f"{path}: job {number}", f"expected an object, got {type(job).__name__}")
            continue
        rows.append([number, *_row(job)])
        if len(rows) == _CHUNK:
            yield _known(pl.DataFrame(rows, schema, orient="row"))
            rows.clear()
    if rows:
        yield _known(pl.DataFrame(rows, schema, orient="row"))


def _known(frame: pl.DataFrame) -> pl.DataFrame:
    """Without the fields that no job states, except for its id."""
    return frame.select(each for each in frame.iter_columns() if each.name == "job" or each.null_count() < len(each))


def _jobs(path: str, text: bytes) -> list[Any]:
    text = text.decode("utf-8", "replace").encode() if not _is_utf8(text) else text
    try:
        if text.lstrip()[:1] == b"[":
            return msgspec.json.decode(text, type=list[msgspec.Raw])
        answer = msgspec.json.decode(text, type=_Answer)
    except (msgspec.DecodeError, RecursionError) as error:
        raise TraceError(f"{path}: is not the JSON that sacct prints: {error}") from None
    if answer.jobs is None:
        words = ""
        if isinstance(answer.errors, list) and answer.errors:
            first = answer.errors[0]
            words = (
                f"; it reports: {first.get('error') or first.get('description') if isinstance(first, dict) else first}"
            )
        raise TraceError(f"{path}: expected an object with a list 'jobs'{words}")
    return answer.jobs


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _columns() -> list[str]:
    return [name for name in _PLACES if not name.startswith("memory")] + ["req_mem", "job"]


def _row(job: dict[str, Any]) -> list[str | None]:
    found = {name: _first(job, name) for name in _PLACES}
    memory = _of_old_versions(found["memory"])
    for name, per in (("memory_node", "n"), ("memory_core", "c")):
        if found[name] not in (None, "0", "UNLIMITED"):
            memory = f"{found[name]}M{per}"
    for name in ("eligible", "start", "end"):  # 0 is no time; a submission at 0 is of a log that begins there
        found[name] = None if found[name] == "0" else found[name]
    if found["suspended"] is None:
        found["suspended"] = _suspended(job, found["start"])
    if isinstance(job.get("state"), dict) and "REQUEUED" in (found["state"] or "").split(","):
        found["state"] = "REQUEUED"  # of an execution that has ended: PENDING is the state of the job after it
    if found["array_job"] == "0":
        found["array_task"] = found["array_tasks"] = None
    columns = [text for name, text in found.items() if not name.startswith("memory")]
    return [*columns, memory, found["raw"]]


def _suspended(job: dict[str, Any], start: str | None) -> str | None:
    """How long a job of ``scontrol`` was suspended until it was suspended, or resumed, the last time."""
    last, ran = (number_of(job.get(name)) or "" for name in ("suspend_time", "pre_sus_time"))
    if not (start or "").isdecimal() or not last.isdecimal() or not ran.isdecimal() or last == "0":
        return None
    return str(max(int(last) - int(start or 0) - int(ran), 0))


def _of_old_versions(memory: str | None) -> str | None:
    """Memory of a node, or of a core where the highest of 64 bits is set, which may be written as a sign."""
    if memory is None or not memory.lstrip("-").isdecimal():
        return None
    value = int(memory) % 2**64
    return f"{value - 2**63}Mc" if value >= 2**63 else f"{value}Mn"


def _first(job: dict[str, Any], name: str) -> str | None:
    for place in _PLACES[name]:
        value: Any = job
        for key in place.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        stated = number_of(value) if name in _NUMBERS else _text(value)
        if stated:
            return stated
    return None


def number_of(value: Any) -> str | None:
    """A number as text, from all forms it has."""
    if isinstance(value, dict):
        if value.get("infinite"):
            return "UNLIMITED"
        return number_of(value.get("number")) if value.get("set", True) else None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, float):
        value = int(value) if abs(value) < 2**62 else None
    if value in _INFINITE:
        return "UNLIMITED"
    return None if value in _NOT_SET or value is None else str(value)


def _text(value: Any) -> str | None:
    if isinstance(value, list):
        if value and all(isinstance(each, dict) for each in value):
            return ",".join(filter(None, map(_resource, value))) or None
        return ",".join(str(each) for each in value) or None
    if isinstance(value, dict) or value is None or isinstance(value, bool):
        return number_of(value) if isinstance(value, dict) and "number" in value else None
    return str(value)


def _resource(value: dict[str, Any]) -> str | None:
    """``gres/gpu:a100=2`` of a resource by type, name and count; memory counts in MiB."""
    kind, name, count = (value.get(key) for key in ("type", "name", "count"))
    number = number_of(count)
    if not isinstance(kind, str) or number is None or not number.isdecimal():  # -2 is what 24.11 has not measured
        return None
    return f"{kind}{f'/{name}' if name else ''}={number}{'M' if kind == 'mem' else ''}"
