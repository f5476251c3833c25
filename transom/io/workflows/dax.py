"""DAX, the XML of Pegasus workflows: jobs with runtimes, and which waits for which.

The job's id names the task, its name the program. Its runtime is the attribute, or the profile ``runtime`` of the
namespace ``pegasus``; ``numcores`` or the profile ``cores`` count as nodes. Files link jobs where no ``child`` does
(:mod:`.file_links`); their sizes are not read.

References
----------
Bharathi et al., Characterization of scientific workflows, Workshop on Workflows in Support of Large-Scale
Science, 2008.
"""

from __future__ import annotations

import math
import os
from typing import Any
from xml.parsers import expat

from transom._system.wording import real_number
from transom.errors import DocumentError, ModelError, shown
from transom.io.opening import open_document
from transom.io.workflows.file_links import linked, sides
from transom.models.workflow import Workflow
from transom.reading import whole


class _Job:
    def __init__(self, name: str, program: str, runtime: float | None, cores: int) -> None:
        self.name, self.program, self.runtime, self.cores = name, program, runtime, cores
        self.files: tuple[list[str], list[str]] = [], []  # that it reads, and that it writes


class _Reader:
    """The handlers of a parser, and what they collect."""

    def __init__(self, where: str) -> None:
        self.where, self.name = where, ""
        self.jobs: dict[str, _Job] = {}
        self.edges: list[tuple[str, str, int]] = []
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.StartDoctypeDeclHandler = self.refuse
        self.profile: tuple[str, str] | None = None
        self.text = ""
        self.parser.CharacterDataHandler = self.collect
        self.inside: list[str] = []
        self.job: _Job | None = None
        self.child = ""

    def line(self) -> str:
        return f"{self.where}:{self.parser.CurrentLineNumber}"

    def refuse(self, *_: Any) -> None:
        # Entities are declared there: they could name other files, or grow beyond all bounds.
        raise DocumentError(f"{self.line()}: a document type declaration is not read")

    def start(self, tag: str, given: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if not self.inside and tag != "adag":
            raise DocumentError(f"{self.line()}: holds <{tag}>, expected <adag>, the root of a DAX file")
        self.inside.append(tag)
        if tag == "adag":
            self.name = given.get("name", "")
        elif tag == "job":
            self.start_job(given)
        elif tag == "child":
            self.child = self.attribute(given, "child", "ref")
        elif tag == "parent":
            self.edges.append((self.attribute(given, "parent", "ref"), self.child, self.parser.CurrentLineNumber))
        elif tag == "uses" and self.job is not None:
            for files, on_this_side in zip(self.job.files, sides(given.get("link")), strict=True):
                if on_this_side and (file := given.get("file") or given.get("name")):
                    files.append(file)
        elif tag == "profile" and self.job is not None:
            self.profile, self.text = (given.get("namespace", ""), given.get("key", "")), ""

    def start_job(self, given: dict[str, str]) -> None:
        name = self.attribute(given, "job", "id")
        if name in self.jobs:
            raise DocumentError(f"{self.line()}: task {name!r} stands twice")
        runtime = self.number(name, "runtime", given["runtime"]) if "runtime" in given else None
        cores = self.number(name, "numcores", given.get("numcores", "1"))
        self.job = self.jobs[name] = _Job(name, given.get("name", "") or name, runtime, int(cores))

    def collect(self, text: str) -> None:
        if self.profile is not None:
            self.text += text

    def end(self, tag: str) -> None:
        tag = self.inside.pop()
        if tag == "profile" and self.job is not None and self.profile is not None:
            if self.profile == ("pegasus", "runtime") and self.job.runtime is None:
                self.job.runtime = self.number(self.job.name, "runtime", self.text)
            elif self.profile == ("pegasus", "cores"):
                self.job.cores = int(self.number(self.job.name, "cores", self.text))
            self.profile = None
        elif tag == "job":
            self.job = None

    def attribute(self, given: dict[str, str], tag: str, name: str) -> str:
        if not given.get(name):
            raise DocumentError(f"{self.line()}: <{tag}> has no {name}")
        return given[name]

    def number(self, task: str, what: str, text: str) -> float:
        try:
            number = real_number(text.strip())
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise DocumentError(f"{self.line()}: task {task!r}: {what}: expected a number, got {shown(text)}")
        return number

    def workflow(self) -> Workflow:
        at = {name: i for i, name in enumerate(self.jobs)}
        for parent, child, line in self.edges:
            for end, other in ((parent, child), (child, parent)):
                if end not in at:
                    relation = "parent" if end == parent else "child"
                    raise DocumentError(f"{self.where}:{line}: task {other!r}: its {relation} {end!r} is no task")
        for job in self.jobs.values():
            if job.runtime is None:
                raise DocumentError(f"{self.where}: task {job.name!r} states no runtime")
        if not at:
            raise DocumentError(f"{self.where}: it has no tasks")
        flow = Workflow(
            name=self.name or "workflow",
            tasks=tuple(at),
            runtimes=[job.runtime or 0.0 for job in self.jobs.values()],
            edges=[(at[parent], at[child]) for parent, child, _ in self.edges],
            nodes=[job.cores for job in self.jobs.values()],
            programs=[job.program for job in self.jobs.values()],
        )
        return linked(flow, *zip(*(job.files for job in self.jobs.values()), strict=True))


def read_dax(path: str | os.PathLike[str]) -> Workflow:
    """Read a DAX file, also compressed with gzip.

    Raises
    ------
    DocumentError : the file cannot be read, is no DAX, declares a document type (no entity is expanded), or what it
        states breaks a condition of a workflow; the message names file, line or task.
    """
    where = os.fspath(path)
    reader = _Reader(where)
    with open_document(path) as file:
        try:
            reader.parser.Parse(whole(file), True)
        except expat.ExpatError as error:
            raise DocumentError(f"{where}:{error.lineno}: not XML: {expat.ErrorString(error.code)}") from None
    try:
        return reader.workflow()
    except ModelError as error:
        raise DocumentError(f"{where}: {error}") from None
