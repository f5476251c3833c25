"""WfFormat, the JSON of WfCommons: workflows as they ran; version 1.6 and the forms before it.

Tasks are named by their ids; edges are stated by parents, children or both, or follow from the files that tasks read
and write where none is stated (:mod:`.file_links`). Cores count as nodes; memory, where a task states it, is a further
resource in bytes (up to version 1.3 stated in kB of 1,000 bytes).

References
----------
Coleman et al., WfCommons: A framework for enabling scientific workflow research and development, Future Generation
Computer Systems 128, 2022; https://github.com/wfcommons/WfFormat.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from transom.errors import ModelError
from transom.io.workflows.file_links import linked, sides
from transom.models.workflow import Workflow


class _File(msgspec.Struct, frozen=True):
    """A file of a task: by its id where the specification lists it, with its side (``link``) up to version 1.4."""

    id: str | int | None = None
    name: str | int | None = None
    path: str | None = None
    link: str | None = None

    def called(self) -> str:
        """What it is called in the whole workflow."""
        name = _first(self.id, self.name)
        if name is None:
            raise ModelError("workflow: a file of a task has neither an id nor a name")
        return f"{self.path or ''}{name}"


class _Task(msgspec.Struct, frozen=True):
    """A task as its specification, its execution or, up to version 1.4, both in one state it."""

    id: str | int | None = None
    name: str | None = None
    category: str | None = None
    parents: tuple[str | int, ...] = ()
    children: tuple[str | int, ...] = ()
    command: Any = None
    runtimeInSeconds: float | None = None
    runtime: float | None = None
    coreCount: float | None = None
    cores: float | None = None
    memoryInBytes: float | None = None
    memory: float | None = None
    files: tuple[_File, ...] = ()
    inputFiles: tuple[str | int | _File, ...] = ()
    outputFiles: tuple[str | int | _File, ...] = ()


class _Part(msgspec.Struct, frozen=True):
    tasks: tuple[_Task, ...] = ()


class _Workflow(_Part, frozen=True):
    specification: _Part | None = None
    execution: _Part | None = None
    jobs: tuple[_Task, ...] = ()  # the tasks of version 1.0


class WfFormat(msgspec.Struct, frozen=True):
    """A file; what a schedule does not need is skipped."""

    workflow: _Workflow
    name: str = ""


def workflow_of(document: WfFormat) -> Workflow:
    """The workflow of a file.

    Raises
    ------
    ModelError : a task has no name or no runtime, waits for an unknown one, or breaks a condition of a workflow.
    """
    whole = document.workflow
    stated = whole.tasks + whole.jobs if whole.specification is None else whole.specification.tasks
    if not stated:
        raise ModelError("workflow: it has no tasks")
    ran = {_name(each): each for each in (whole.execution.tasks if whole.execution else ())}
    names = [_name(each) for each in stated]
    at = {str(each.name): i for i, each in enumerate(stated)} | {name: i for i, name in enumerate(names)}
    tasks = [(each, ran.get(name, each)) for each, name in zip(stated, names, strict=True)]
    memory = [_first(*(_bytes(part) for part in both)) for both in tasks]
    flow = Workflow(
        name=document.name or "workflow",
        tasks=names,
        runtimes=[_runtime(name, *both) for name, both in zip(names, tasks, strict=True)],
        edges=list(_edges(names, stated, at)),
        nodes=[max(1, math.ceil(_first(*(_first(part.coreCount, part.cores) for part in both), 1))) for both in tasks],
        resources=("memory",) if any(memory) else (),
        demands=[[math.ceil(amount or 0)] for amount in memory] if any(memory) else [],
        programs=[_program(name, *both) for name, both in zip(names, tasks, strict=True)],
    )
    return linked(flow, [[*_files(each, 0)] for each in stated], [[*_files(each, 1)] for each in stated])


def _files(task: _Task, side: int) -> Iterator[str]:
    """The names of the files that a task reads (side 0) or writes (side 1)."""
    for file in (task.inputFiles, task.outputFiles)[side]:
        yield file.called() if isinstance(file, _File) else str(file)
    yield from (file.called() for file in task.files if sides(file.link)[side])


def _name(task: _Task) -> str:
    given = task.name if task.id is None else str(task.id)
    if not given:
        raise ModelError("workflow: a task has neither an id nor a name")
    return given


def _first(*given: Any) -> Any:
    """The first that is stated."""
    return next((each for each in given if each is not None), None)


def _runtime(name: str, *parts: _Task) -> float:
    """Seconds: of the execution, of the specification."""
    stated = _first(*(_first(part.runtimeInSeconds, part.runtime) for part in reversed(parts)))
    if stated is None:
        raise ModelError(f"workflow: task {name!r} states no runtime")
    return float(stated)


def _bytes(task: _Task) -> float | None:
    if task.memoryInBytes is None and task.memory is not None:
        return 1000 * task.memory
    return task.memoryInBytes


def _edges(names: list[str], tasks: tuple[_Task, ...], at: dict[str, int]) -> Iterator[tuple[int, int]]:
    for here, task in enumerate(tasks):
        for relation, others in (("parent", task.parents), ("child", task.children)):
            for other in map(str, others):
                if other not in at:
                    raise ModelError(f"workflow: task {names[here]!r}: its {relation} {other!r} is no task")
                yield (at[other], here) if relation == "parent" else (here, at[other])


def _program(name: str, *parts: _Task) -> str:
    """What a task runs: its program without folders, its category, or its name without a number."""
    for part in reversed(parts):
        program = part.command.get("program") if isinstance(part.command, dict) else None
        if isinstance(program, str) and program:
            return program.rpartition("/")[2] or program
    category = _first(*(part.category for part in parts))
    return category or re.sub(r"[_-]?(ID)?\d+$", "", name) or name
