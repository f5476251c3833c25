"""Links between tasks by their files, for workflows that declare none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from transom.errors import ModelError
from transom.models.workflow import Workflow

INFERRED = "links inferred from files, as no task declares a parent or a child"
APART = "tasks side by side: no task declares a parent or a child, nor does a file link two of them"


def linked(flow: Workflow, reads: Sequence[Iterable[str]], writes: Sequence[Iterable[str]]) -> Workflow:
    """The workflow as it is if it has links, else with those of its files, counted as a repair.

    Parameters
    ----------
    reads, writes : the names of the files of each task; who reads a file waits for all others that write it.

    Raises
    ------
    ModelError : by their files tasks wait for each other in a cycle.
    """
    if len(flow.edges) or len(flow) < 2:
        return flow
    writers = defaultdict(list)
    for task, files in enumerate(writes):
        for file in {*files}:
            writers[file].append(task)
    links = sorted(
        {
            (writer, task)
            for task, files in enumerate(reads)
            for file in {*files}
            for writer in writers.get(file, ())
            if writer != task
        }
    )
    if not links:
        return replace(flow, repairs={APART: len(flow)})
    try:
        return replace(flow, edges=links, repairs={INFERRED: len(links)})
    except ModelError as error:
        raise ModelError(f"{error} (by their files: no parents or children are declared)") from None


def sides(link: str | None) -> tuple[bool, bool]:
    """Whether a file with such a ``link`` is read, and whether it is written."""
    stated = (link or "").strip().lower()
    return stated in ("input", "inout"), stated in ("output", "inout")
