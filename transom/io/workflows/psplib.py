"""Projects of one mode in the two formats of project scheduling, PSPLIB's ``.sm`` and Patterson's ``.rcp``.

Activities are tasks, each of a node, as many as there are tasks; renewable resources are further resources. Units of
time are seconds. The activities at the beginning and the end that take no time stay what they are.

References
----------
Kolisch and Sprecher, PSPLIB: a project scheduling problem library, European Journal of Operational Research 96, 1996.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from transom.errors import DocumentError, ModelError, shown
from transom.io.opening import open_document
from transom.models.workflow import Workflow
from transom.reading import lines as limited

_ROWS = re.compile(
    rb"\s*(PROJECT INFORMATION|PRECEDENCE RELATIONS|REQUESTS/DURATIONS|RESOURCE ?AVAILABILITIES)", re.IGNORECASE
)
_COUNT = re.compile(
    rb"\s*(jobs|- renewable|- nonrenewable|- doubly constrained|projects)\b[^:]*:\s*(\d+)", re.IGNORECASE
)

Row = tuple[int, list[int]]
"""A line: its number, and its numbers."""


def read_project(path: str | os.PathLike[str]) -> Workflow:
    """Read a project, also compressed with gzip; ``.rcp`` is Patterson's format, anything else PSPLIB's.

    Raises
    ------
    DocumentError : the file cannot be read, has several modes or resources that are used up, states another number of
        activities or resources than it announces, or breaks a condition of a workflow; the message names file and line.
    """
    where = os.fspath(path)
    with open_document(path) as file:
        # DOS ends files by 0x1a.
        lines = [(number, line.rstrip(b"\r\n\x1a ")) for number, line in enumerate(limited(file), 1)]
    try:
        if ".rcp" in Path(where).suffixes[-2:]:
            return _patterson(lines, Path(where).name.partition(".")[0])
        return _psplib(lines, Path(where).name.partition(".")[0])
    except _At as error:
        raise DocumentError(f"{where}:{error.line}: {error}") from None
    except ModelError as error:
        raise DocumentError(f"{where}: {error}") from None


class _At(Exception):
    """What is wrong, and in which line."""

    def __init__(self, line: int, says: str) -> None:
        super().__init__(says)
        self.line = line


def _psplib(lines: list[tuple[int, bytes]], name: str) -> Workflow:
    counts: dict[str, int] = {}
    rows: dict[str, list[Row]] = {}
    into = ""
    for number, line in lines:
        if found := _COUNT.match(line):
            [counts[found[1].decode().lower()]] = _numbers(number, found[2])
        elif found := _ROWS.match(line):
            into = found[1].decode().upper()[:3]
            rows[into] = []
        elif line.strip().startswith((b"*", b"-")) or not line.strip():
            into = into if line.strip().startswith(b"-") else ""
        elif into and line.split()[0].isdigit():
            rows[into].append((number, _numbers(number, line)))
    last = len(lines)
    for what, title in (
        ("PRE", "PRECEDENCE RELATIONS"),
        ("REQ", "REQUESTS/DURATIONS"),
        ("RES", "RESOURCEAVAILABILITIES"),
    ):
        if not rows.get(what):
            raise _At(last, f"holds no {title}; expected a project of PSPLIB (.sm)")
    for what in ("- nonrenewable", "- doubly constrained"):
        if counts.get(what):
            raise _At(last, f"resources that are {what[2:]} are not read; expected renewable ones only")
    if counts.get("projects", 1) > 1:
        raise _At(last, "holds several projects; expected one")
    for number, row in rows.get("PRO", []):
        if len(row) > 2 and row[2]:
            raise _At(number, f"a project that is released at {row[2]} is not read; expected 0")
    ((at, capacities), *more) = rows["RES"]
    if more:
        raise _At(more[0][0], "expected one line of availabilities")
    resources = counts.get("- renewable", len(capacities))
    if len(capacities) != resources:
        raise _At(at, f"states {len(capacities)} availabilities of {resources} renewable resources")
    tasks = counts.get("jobs", len(rows["PRE"]))
    children: dict[int, list[int]] = {}
    for number, (job, *rest) in rows["PRE"]:
        if len(rest) < 2 or len(rest) != 2 + rest[1]:
            raise _At(number, f"job {job}: expected its modes, the number of its successors and these")
        if rest[0] != 1:
            raise _At(number, f"job {job} has {rest[0]} modes; projects of several modes (.mm) are not read")
        _once(number, job, children, tasks)
        children[job] = [_known(number, job, other, tasks) for other in rest[2:]]
    needs: dict[int, list[int]] = {}
    for number, (job, *rest) in rows["REQ"]:
        if len(rest) != 2 + resources:
            raise _At(number, f"job {job}: expected mode, duration and {resources} requests, got {len(rest)} numbers")
        _once(number, job, needs, tasks)
        needs[job] = rest[1:]
    for what, of in (("PRECEDENCE RELATIONS", children), ("REQUESTS/DURATIONS", needs)):
        if missing := next((job for job in range(1, tasks + 1) if job not in of), 0):
            raise _At(last, f"job {missing} of {tasks} stands in no line of {what}")
    ordered = range(1, tasks + 1)
    return _project(name, [needs[job] for job in ordered], [children[job] for job in ordered], capacities)


def _patterson(lines: list[tuple[int, bytes]], name: str) -> Workflow:
    numbers = _stream(lines)
    last = len(lines)

    def take(what: str) -> tuple[int, int]:
        try:
            return next(numbers)
        except StopIteration:
            raise _At(last, f"ends before {what}") from None

    (_, tasks), (_, resources) = take("the number of activities"), take("the number of resources")
    capacities = [take("the availabilities")[1] for _ in range(resources)]
    needs, children = [], []
    for job in range(1, tasks + 1):
        needs.append([take(f"duration and requests of activity {job}")[1] for _ in range(1 + resources)])
        _, successors = take(f"the number of successors of activity {job}")
        stated = [take(f"the successors of activity {job}") for _ in range(successors)]
        children.append([_known(number, job, other, tasks) for number, other in stated])
    if (surplus := next(numbers, None)) is not None:
        raise _At(surplus[0], f"goes on after activity {tasks}, the last that is announced")
    return _project(name, needs, children, capacities)


def _project(name: str, needs: list[list[int]], children: list[list[int]], capacities: list[int]) -> Workflow:
    resources = [f"R{r + 1}" for r in range(len(capacities))]
    flow = Workflow(
        name=name or "project",
        tasks=[str(job) for job in range(1, len(needs) + 1)],
        runtimes=[duration for duration, *_ in needs],
        edges=[(parent, child - 1) for parent, of in enumerate(children) for child in of],
        resources=resources,
        demands=[requests for _, *requests in needs],
    )
    return flow.on(max(1, len(flow)), dict(zip(resources, capacities, strict=True)))


def _numbers(number: int, line: bytes) -> list[int]:
    found = []
    for token in line.split():
        if not token.isdigit() or len(token) > 15:
            raise _At(number, f"expected whole numbers >= 0, got {shown(token.decode(errors='replace'))}")
        found.append(int(token))
    return found


def _stream(lines: list[tuple[int, bytes]]) -> Iterator[tuple[int, int]]:
    """The numbers of a file, each with its line."""
    for number, line in lines:
        for each in _numbers(number, line):
            yield number, each


def _once(number: int, job: int, rows: dict[int, list[int]], tasks: int) -> None:
    if job in rows:
        raise _At(number, f"job {job} stands twice: projects of several modes (.mm) are not read")
    _known(number, job, job, tasks)


def _known(number: int, job: int, other: int, tasks: int) -> int:
    if not 1 <= other <= tasks:
        raise _At(number, f"job {job}: {other} is no job, there are {tasks}, from 1")
    return other
