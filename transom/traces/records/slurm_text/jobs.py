"""The jobs of a Slurm, from ``squeue``, ``squeue --json`` or ``scontrol show job``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from transom._system.wording import digits
from transom.traces.records.slurm_text.documents import number, number_of, stated
from transom.traces.records.slurm_text.job_fields import RECORDED, WAITING
from transom.traces.records.slurm_text.tokens import Record
from transom.traces.records.values import UNKNOWN, amount, instant, seconds, state, tres

SEPARATOR = "\x1f"
SWITCHES = "limits on switches"
"""What a job asks for that limits its leaf switches."""
HANDED = "transom"
"""The word in a job's comment that hands it over until its begin time: none that its user has set."""
_TASKS = 1 << 32  # an array's tasks that have no number of their own yet are numbered above those of all jobs
_MOST = 1 << 22  # tasks of an array

POLLED = (
    "raw", "job", "array_job", "array_task", "state", "partition", "user", "uid", "limit", "nnodes", "max_nodes",
    "ncpus", "submit", "eligible", "start", "end", "priority", "reason", "features", "node_gres", "job_gres",
    "socket_gres", "task_gres", "licences", "reservation", "dependency", "sharing", "memory_node", "nodes",
    "req_node_list", "switches", "het_job", "contiguous", "planned", "req_tres",
)  # fmt: skip
"""The fields that ``squeue -O`` is asked for; none of them holds free text."""
_FIELDS = {
    name: (RECORDED | WAITING)[name] for name in (*POLLED, "owner", "array_tasks", "excluded", "looked", "comment")
}

GENERIC = "generic resources"
"""What a job asks for that is neither cores nor memory."""
_GRES = ("node_gres", "job_gres", "socket_gres", "task_gres")
_ASKED = {
    GENERIC: _GRES, "features": ("features",), "reservations": ("reservation",), "dependencies": ("dependency",),
    "named nodes": ("req_node_list",), "excluded nodes": ("excluded",), SWITCHES: ("switches",),
    "contiguous nodes": ("contiguous",), "heterogeneous jobs": ("het_job",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """A job, or a task of an array, as Slurm reports it.

    Parameters
    ----------
    id : positive and unique: Slurm's number, or one of our own for a task that has none yet.
    name : what Slurm's commands take: ``12``, ``4_7``.
    state, reason : as Slurm words them.
    partition, user, uid : where, and whose; uid -1 where it is not reported.
    submit, eligible, start, end : times [s since 1970], -1 where unknown; those of waiting jobs are Slurm's guesses.
    limit : [s], -1 for none.
    nodes, most : the least and the most nodes it takes.
    cpus : of the whole job.
    memory : of a node [MiB], -1 where none is stated.
    priority : Slurm's; 0 for a held job.
    shares : whether its nodes may be shared with other jobs.
    held_nodes : the list of its nodes while it runs.
    planned : the list of nodes on which Slurm means to start it.
    licences : as stated.
    asks : what else it asks for, by what cannot be expressed in a window.
    looked : when Slurm last looked at it [s since 1970], -1 where unknown.
    gres : generic resources of each node, where it asks for no others.
    handed : whether its comment says that its begin time stands in for a hold.
    """

    id: int
    name: str
    state: str
    partition: str
    user: str
    uid: int
    submit: int
    eligible: int
    start: int
    end: int
    limit: int
    nodes: int
    most: int
    cpus: int
    memory: int
    priority: int
    reason: str
    shares: bool
    held_nodes: str
    planned: str
    licences: str
    asks: Mapping[str, str] = field(default_factory=dict, hash=False)
    looked: int = UNKNOWN
    handed: bool = False
    gres: str = ""

    @property
    def waits(self) -> bool:
        """Whether it has not started."""
        return self.state in ("PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD")

    @property
    def most_leaves(self) -> int | None:
        """The most leaf switches that its nodes may hang on; None where it states none that can be read."""
        most = _count(self.asks.get(SWITCHES, ""))
        return most if most > 0 else None

    @property
    def holds(self) -> bool:
        """Whether it holds nodes."""
        return self.state in ("RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "STOPPED", "SIGNALING", "STAGE_OUT")

    @property
    def held(self) -> bool:
        """Whether somebody holds it back."""
        return self.priority == 0 or self.reason.startswith("JobHeld") or "HOLD" in self.state


def hands_over(comment: str) -> bool:
    """Whether a job's comment has :data:`HANDED` as a word of its own."""
    return HANDED in re.split(r"[\s,;]+", comment)


def handed_over(lines: Iterable[str]) -> frozenset[str]:
    """The jobs of the lines of ``squeue -o '%i|%k'`` whose comments hand them over, separated like others.

    A comment is free text, and may pretend to be the line of another job: a job counts only if all lines that begin
    with its name say so, for one of them is its own.
    """
    handed_by: dict[str, bool] = {}
    for line in lines:
        name, _, comment = line.partition(SEPARATOR)
        handed_by[name] = handed_by.get(name, True) and hands_over(comment)
    return frozenset(name for name, handed in handed_by.items() if handed)


def jobs_of_squeue(
    lines: Iterable[str], excluding: frozenset[str] = frozenset(), handed: frozenset[str] = frozenset()
) -> Iterator[SlurmJob]:
    """Jobs of the lines of ``squeue -O`` with :data:`POLLED`; the others name those that exclude nodes, and those
    that are handed over.

    ``squeue -O`` does not know excluded nodes, and ``squeue -o`` not the most nodes: each is asked for its own.
    """
    for line in lines:
        name = line.split(SEPARATOR, 2)[1:2]
        yield from _jobs_of_line(line, name[0] in excluding, name[0] in handed) if name else ()


@lru_cache(maxsize=1 << 15)
def _jobs_of_line(line: str, excludes: bool, handed: bool) -> tuple[SlurmJob, ...]:
    """The jobs of a line of ``squeue``; most lines of a long queue are those of the look before."""
    values = line.split(SEPARATOR)
    if len(values) <= len(POLLED):
        return ()  # of another form, or cut short
    fields = dict(zip(POLLED, values, strict=False))
    if excludes:
        fields["excluded"] = "stated"
    fields["comment"] = HANDED if handed else ""
    if tres(fields["req_tres"]).cores >= _count(fields["nnodes"]):
        fields["req_tres"] = ""  # squeue also reports a most of sbatch -n40, whose nodes follow from its cores
    return tuple(_jobs(fields))


def jobs_of_records(records: Iterable[Record]) -> Iterator[SlurmJob]:
    """Jobs of ``scontrol show job``."""
    for record in records:
        fields = {name: record.get(names.keys[0].lower(), "") for name, names in _FIELDS.items() if names.keys}
        user = re.fullmatch(r"(.*)\((\d+)\)", fields["owner"])
        fields["user"], fields["uid"] = (user[1], user[2]) if user else (fields["owner"], "")
        fields["nnodes"], _, fields["max_nodes"] = fields["nnodes"].partition("-")
        yield from _jobs(fields)


def jobs_of_json(jobs: Iterable[Any]) -> Iterator[SlurmJob]:
    """Jobs of ``squeue --json`` or ``scontrol show jobs --json``, of any version."""
    for job in jobs:
        if not isinstance(job, dict):
            continue
        fields: dict[str, Any] = {name: _first(job, names.places) for name, names in _FIELDS.items()}
        states = job.get("job_state")
        listed = states if isinstance(states, list) else [states]
        fields["state"] = next((each for each in listed if each == "COMPLETING"), listed[0] if listed else "")
        fields["contiguous"] = "1" if job.get("contiguous") is True else ""
        sharing = {*_words(job.get("shared")), *_words(job.get("exclusive"))}
        fields["sharing"] = "TOPO" if "topo" in sharing else "NO" if sharing & _WHOLE else "OK"
        fields["limit"] = number(job.get("time_limit"))
        fields["limit"] *= 60 if fields["limit"] > 0 else 1
        if number_of(job.get("time_limit")) == "UNLIMITED" and fields["state"] in _UNENDED:
            fields["end"] = None  # that of a year is reported
        if number(fields["array_job"]) > 0 and not stated(fields["array_task"]):
            fields["array_task"] = fields["array_tasks"]
        if job.get("hold") is True:
            fields["priority"] = 0
        yield from _jobs(fields)


def _first(job: Mapping[str, Any], places: Iterable[str]) -> Any:
    """What stands in the first of some places; none of a running Slurm's jobs is within an object."""
    return next((value for place in places if (value := job.get(place)) is not None), None)


_UNENDED = frozenset(("PENDING", "RUNNING", "SUSPENDED", "CONFIGURING"))
_WHOLE = frozenset(("none", "true"))


def _words(value: Any) -> set[str]:
    return {str(each).lower() for each in (value if isinstance(value, list) else [value]) if each}


def _jobs(fields: Mapping[str, Any]) -> Iterator[SlurmJob]:
    """The job of a record, or the tasks of an array."""
    number_ = number(fields["raw"])
    if number_ <= 0:
        return
    array, tasks = number(fields.get("array_job")), stated(fields.get("array_task"))
    least, most = max(_count(fields["nnodes"]), 1), _count(fields.get("max_nodes"))
    if 0 < (asked := tres(stated(fields.get("req_tres"))).nodes) < least <= most:
        least = asked  # of a range of nodes Slurm reports the end alone, once it has planned the job
    asks = {name: value for name in _ASKED if (value := _asked(fields, name))}
    sharing = stated(fields["sharing"]).upper()
    if sharing == "TOPO":
        asks["whole leaf switches"] = sharing
    job = SlurmJob(
        id=number_,
        name=str(number_),
        state=state(stated(fields["state"])),
        partition=stated(fields["partition"]),
        user=stated(fields["user"]),
        uid=_count(fields["uid"]),
        submit=_time(fields["submit"]),
        eligible=_time(fields["eligible"]),
        start=_time(fields["start"]),
        end=_time(fields["end"]),
        limit=fields["limit"] if isinstance(fields["limit"], int) else _or_unknown(seconds(stated(fields["limit"]))),
        nodes=least,
        most=max(most, least),
        cpus=max(_count(fields["ncpus"]), 0),
        memory=_memory(fields["memory_node"]),
        priority=_count(fields["priority"]),
        reason=stated(fields["reason"]).split(",")[0],
        shares=sharing not in ("NO", "TOPO"),
        held_nodes=stated(fields["nodes"]),
        planned=stated(fields.get("planned")),
        licences=stated(fields["licences"]),
        asks=asks,
        looked=_time(fields.get("looked")),
        gres="" if any(_asks_for(fields, name) for name in _GRES[1:]) else _asks_for(fields, "node_gres"),
        handed=hands_over(stated(fields.get("comment"))),
    )
    if array <= 0 or not tasks:
        yield job
    elif digits(tasks):
        # A waiting task of an array may still share the number of the whole.
        own = number_ if number_ != array or not job.waits else array + (int(tasks) + 1) * _TASKS
        yield replace(job, id=own, name=f"{array}_{tasks}")
    else:
        for task in _expanded(tasks):
            yield replace(job, id=array + (task + 1) * _TASKS, name=f"{array}_{task}")


def task_name(id_: int) -> str:
    """How Slurm spells a job of a window: ``12_3`` for the task of an array that has no number of its own yet."""
    task, array = divmod(id_, _TASKS)
    return f"{array}_{task - 1}" if task else str(id_)


def _asked(fields: Mapping[str, Any], name: str) -> str:
    return ",".join(filter(None, (_asks_for(fields, each) for each in _ASKED[name])))


def _asks_for(fields: Mapping[str, Any], field_: str) -> str:
    value = stated(fields.get(field_))
    if field_ in _GRES:  # later versions list the cores of --cpus-per-task there
        value = ",".join(each for each in value.split(",") if not re.match(r"(?:cpu|mem)[=:]", each))
    return "" if value in ("0", "NO", "no") else value


def _expanded(tasks: str) -> Iterator[int]:
    """``2-9%3`` and ``1,4-10:3`` as numbers."""
    count = 0
    for part in tasks.strip("[]").partition("%")[0].split(","):
        found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", part.strip())
        if found is None:
            continue  # cut short by SLURM_BITSTR_LEN
        first = int(found[1])
        for task in range(first, int(found[2] or first) + 1, max(int(found[3] or 1), 1)):
            if (count := count + 1) > _MOST:
                return
            yield task


def _count(value: Any) -> int:
    if isinstance(value, str):
        found = re.match(r"\d{1,18}", value.strip())
        return int(found[0]) if found else UNKNOWN
    return number(value)


def _time(value: Any) -> int:
    if isinstance(value, str):
        return _or_unknown(instant(value)) if stated(value) else UNKNOWN
    found = number(value)
    return found if found > 0 else UNKNOWN


def _memory(value: Any) -> int:
    if isinstance(value, str):
        memory = amount(value)
        return memory.mebibytes if memory and memory.per != "c" and memory.mebibytes > 0 else UNKNOWN
    found = number(value)
    return found if found > 0 else UNKNOWN


def _or_unknown(value: int | None) -> int:
    return UNKNOWN if value is None else value
