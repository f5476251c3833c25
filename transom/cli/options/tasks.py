"""Options of commands that read tasks on machines, and what becomes of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from transom.traces.tasks import TaskWorkload

MachinesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--machines",
        metavar="count=N,RESOURCE=AMOUNT,...",
        help="The trace holds tasks, which are placed on such machines: count=5,cpu=64,memory=1; again for others.",
    ),
]
ChunksOption = Annotated[
    int | None,
    typer.Option("--chunks", min=1, help="Of tasks: replay so many consecutive jobs at a time, each by themselves."),
]
SUITED = {
    "traces", "machines", "chunks", "policy", "rules", "out", "seed", "start", "jobs", "figures", "formats", "force",
    "json", "instances", "result", "reference",
}  # fmt: skip
"""Parameters of commands that go with tasks."""


def read_chunks(
    trace: Path, machines: list[str], chunks: int | None, start: int = 0, jobs: int | None = None
) -> list[TaskWorkload]:
    """The workload of a trace of tasks, or some of its jobs, cut into chunks of so many jobs each.

    Raises
    ------
    TransomError : the trace or the machines cannot be read, or there is no such job.
    """
    from transom.traces.tasks import parse_machines, read_tasks

    workload = read_tasks(trace, parse_machines(machines))
    if start or jobs is not None:
        workload = workload.take(start, len(workload.job_ids) if jobs is None else jobs)
    return [workload] if chunks is None else list(workload.chunks(chunks))
