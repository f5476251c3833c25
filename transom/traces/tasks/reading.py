"""Readers of machine-task workloads: CloudSimPy's file of jobs, and the batch table of the Alibaba trace of 2017."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np

from transom._system.wording import odd_number
from transom.errors import SpecError, TraceError
from transom.traces.swf_blocks import blocks
from transom.traces.tasks.amounts import FINEST, counted, units
from transom.traces.tasks.machines import Machines
from transom.traces.tasks.workload import TaskWorkload

_LONGEST = 2**40  # of a duration or submission [s]
_INSTANCES = 2**31


class _Line(NamedTuple):
    """One line of a file: its number and its fields by name."""

    where: str
    number: int
    fields: dict[str, str]

    def wrong(self, field: str, says: str) -> TraceError:
        return TraceError(f"{self.where}:{self.number}: {field}: {says}")

    def amount(self, field: str) -> Fraction:
        """A decimal number, exactly."""
        text = self.fields[field]
        try:
            return Fraction("" if "/" in text or odd_number(text) else text)
        except ValueError:
            raise self.wrong(field, f"expected a number, got {text[:40]!r}") from None

    def number_in(self, field: str, low: int, high: int) -> int:
        """A whole number from ``low`` to below ``high``."""
        value = self.amount(field)
        if value.denominator != 1 or not low <= value < high:
            raise self.wrong(field, f"must be a whole number >= {low} and < {high}, got {self.fields[field]}")
        return int(value)


class _Task(NamedTuple):
    """What a line says of a task."""

    line: _Line
    job: int
    task: int
    submit: int
    duration: Fraction
    instances: int
    amounts: dict[str, Fraction]


@dataclass(frozen=True, slots=True)
class _Format:
    """A kind of file: its columns, and what a line of it says: a task, or why it is left out."""

    columns: tuple[str, ...]
    resources: tuple[str, ...]
    task: Callable[[_Line, tuple[str, ...]], _Task | str]


def _cloudsimpy(line: _Line, resources: tuple[str, ...]) -> _Task:
    duration = line.amount("duration")
    if not 0 < duration < _LONGEST:
        raise line.wrong("duration", f"must be > 0 s and < 2**40 s, got {line.fields['duration']}")
    return _Task(
        line,
        line.number_in("job_id", 0, 2**63),
        line.number_in("task_id", 0, 2**63),
        line.number_in("submit_time", 0, _LONGEST),
        duration,
        line.number_in("instances_num", 1, _INSTANCES),
        {name: line.amount(name) for name in resources},
    )


_CPUS = "number_of_cpus_requested_per_instance_in_the_task"
_MEMORY = "normalized_memory_requested_per_instance_in_the_task"


def _alibaba(line: _Line, resources: tuple[str, ...]) -> _Task | str:
    if line.fields["status"] != "Terminated":
        return f"status {line.fields['status'][:40] or 'missing'}"
    if not line.fields[_CPUS] or not line.fields[_MEMORY]:
        return "states no request"
    for field in _ALIBABA:
        if not line.fields[field]:
            return f"{field} is empty"
    submit = line.number_in("task_create_time", -_LONGEST, _LONGEST)
    duration = line.number_in("task_end_time", -_LONGEST, _LONGEST) - submit
    if submit < 0:
        return "created before the trace begins"
    if duration <= 0:
        return "duration <= 0"
    amounts = {"cpu": line.amount(_CPUS) / 100, "memory": line.amount(_MEMORY)}  # 100 is a core
    return _Task(
        line,
        line.number_in("job_id", 0, 2**63),
        line.number_in("task_id", 0, 2**63),
        submit,
        Fraction(duration),
        line.number_in("number_of_instances", 1, _INSTANCES),
        {name: amounts[name] for name in resources},
    )


_ALIBABA = (
    "task_create_time", "task_end_time", "job_id", "task_id", "number_of_instances", "status", _CPUS, _MEMORY,
)  # fmt: skip
"""The columns in the order of the published table, which has no header."""

_DESCRIBED = (
    "create_timestamp", "modify_timestamp", "job_id", "task_id", "instance_num", "status", "plan_cpu", "plan_mem",
)  # fmt: skip
"""The same as the description of the trace calls them."""

_FORMATS = (
    _Format(
        ("submit_time", "duration", "cpu", "memory", "job_id", "task_id", "instances_num"),
        ("cpu", "memory", "disk"),
        _cloudsimpy,
    ),
    _Format(_ALIBABA, ("cpu", "memory"), _alibaba),
)


def read_tasks(path: str | os.PathLike[str], machines: Machines) -> TaskWorkload:
    """Read a workload of tasks, plain or gzip; which kind of file it is, its header says, or that it has none.

    Of a job with several submissions the last line counts, as in CloudSimPy. Jobs stand by submission, those of one
    instant in the order in which they first appear; tasks stand as in the file. In the table of Alibaba a task is
    submitted when it is created and runs until it ends; tasks that did not terminate, lack a field, state no request or
    end no later than they begin are left out and counted (``repairs``), and CPU is in hundredths of a core. It is
    published without a header: eight fields a line, the first four of which are numbers or empty.

    Parameters
    ----------
    path : the file.
    machines : where tasks are placed; what they have is what counts, further columns of the file do not.

    Raises
    ------
    TraceError : the file cannot be read, lacks a column or holds no task; a field is no number or out of range; an
        instance fits on no machine. The message names file, line and field.
    SpecError : machines state a resource that the file does not.

    References
    ----------
    Alibaba cluster trace 2017, table ``batch_task``; CloudSimPy, ``playground/*/jobs_files/jobs.csv``.
    """
    where = os.fspath(path)
    try:
        return _workload(where, machines, _lines(where))
    except UnicodeDecodeError:
        raise TraceError(f"{where}: is not text in UTF-8") from None
    except csv.Error as error:
        raise TraceError(f"{where}: is not CSV: {error}") from None


def _lines(where: str) -> Iterator[_Line]:
    """The lines of a CSV file below its header, if it has one."""
    text = (line for _, block in blocks(where) for line in block.decode().splitlines(keepends=True))
    reader = csv.reader(text, strict=True)
    header: list[str] = []
    for row in reader:
        if not row:
            continue
        cells = [cell.strip() for cell in row]
        if not header:
            if not _published(cells):
                renamed = dict(zip(_DESCRIBED, _ALIBABA, strict=True)) if {*_DESCRIBED} <= {*cells} else {}
                header = [renamed.get(name, name) for name in cells]
                continue
            header = list(_ALIBABA)
        if len(cells) != len(header):
            raise TraceError(f"{where}:{reader.line_num}: has {len(cells)} fields, expected {len(header)}")
        yield _Line(where, reader.line_num, dict(zip(header, cells, strict=True)))


def _published(cells: list[str]) -> bool:
    """Whether a line is one of Alibaba's table rather than a header: its times and ids are numbers, or not there."""
    return len(cells) == len(_ALIBABA) and all(re.fullmatch(r"-?[0-9.]*", cell) for cell in cells[:4])


def _format_of(line: _Line, machines: Machines) -> _Format:
    """The kind of file with most of these columns, if all of its columns are there."""
    kind = max(_FORMATS, key=lambda each: len(line.fields.keys() & set(each.columns)))
    absent = [name for name in kind.columns if name not in line.fields]
    if absent:
        raise TraceError(f"{line.where}:1: column {absent[0]} is missing; expected {', '.join(kind.columns)}")
    for name in machines.resources:
        if name not in kind.resources or (name not in line.fields and kind is _FORMATS[0]):
            known = ", ".join(each for each in kind.resources if each in line.fields or kind is not _FORMATS[0])
            raise SpecError(f"machines: {line.where} states nothing of resource {name!r}. Known: {known}")
    for name in ("cpu", "memory"):
        if name not in machines.resources:
            raise SpecError(
                f"machines: tasks of {line.where} need {name}; state how much a machine has, such as {name}=1"
            )
    return kind


def _workload(where: str, machines: Machines, lines: Iterator[_Line]) -> TaskWorkload:
    kind: _Format | None = None
    tasks: list[_Task] = []
    repairs: dict[str, int] = {}
    for line in lines:
        kind = kind or _format_of(line, machines)
        read = kind.task(line, machines.resources)
        if isinstance(read, str):
            repairs[read] = repairs.get(read, 0) + 1
        else:
            tasks.append(read)
    if not tasks:
        raise TraceError(f"{where}: holds no task")
    scales = [_scale(each, name, tasks, machines) for each, name in enumerate(machines.resources)]
    jobs: dict[int, list[_Task]] = {}
    for task in tasks:
        jobs.setdefault(task.job, []).append(task)
    _check_tasks(tasks, machines)
    order = sorted(jobs, key=lambda job: jobs[job][-1].submit)
    placed = [(position, task) for position, job in enumerate(order) for task in jobs[job]]
    return TaskWorkload(
        name=Path(where).name.removesuffix(".gz").removesuffix(".csv"),
        resources=machines.resources,
        units=scales,
        machines=[[counted(a, s) for a, s in zip(each, scales, strict=True)] for each in machines.capacities],
        job_ids=order,
        submit=[jobs[job][-1].submit for job in order],
        job=[position for position, _ in placed],
        task_ids=[task.task for _, task in placed],
        instances=[task.instances for _, task in placed],
        demands=[
            [counted(task.amounts[name], s) for name, s in zip(machines.resources, scales, strict=True)]
            for _, task in placed
        ],
        duration=np.array([float(task.duration) for _, task in placed]),
        repairs=repairs,
    )


def _scale(position: int, name: str, tasks: Sequence[_Task], machines: Machines) -> int:
    stated = [each[position] for each in machines.capacities]
    scale = units([*stated, *(task.amounts[name] for task in tasks)], max(stated))
    if scale is None:
        raise TraceError(f"{tasks[0].line.where}: {name}: amounts need units below 2**-{FINEST.bit_length() - 1}")
    return scale


def _check_tasks(tasks: Sequence[_Task], machines: Machines) -> None:
    """Refuse what fits nowhere and what is there twice, by the line."""
    kinds = set(machines.capacities)
    seen: dict[tuple[int, int], int] = {}
    for task in tasks:
        for position, name in enumerate(machines.resources):
            amount = task.amounts[name]
            largest = max(kind[position] for kind in kinds)
            if amount < 0 or amount > largest:
                says = "must be >= 0" if amount < 0 else f"fits on no machine, the largest has {float(largest):g}"
                raise task.line.wrong(name, f"{says}, got {float(amount):g}")
        if not any(
            all(task.amounts[name] <= has for name, has in zip(machines.resources, kind, strict=True)) for kind in kinds
        ):
            raise task.line.wrong(", ".join(machines.resources), "no machine has enough of all of them at once")
        if (task.job, task.task) in seen:
            raise task.line.wrong("task_id", f"job {task.job} has task {task.task} already in line {seen[task[1:3]]}")
        seen[task.job, task.task] = task.line.number
