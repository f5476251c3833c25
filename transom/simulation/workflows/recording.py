"""What a recorded replay of workflows has beside the files of any replay: ``tasks.parquet`` and ``workflows.parquet``.

``tasks.parquet`` has a row per task: number of its workflow, name, id of its job, program, nodes, then the columns of
:class:`TaskFigures`. Several tasks have one job where they were combined. ``workflows.parquet`` has a row per workflow:
number, name, tasks, then the columns of :class:`WorkflowFigures`. Both follow from the workflows, ``jobs.parquet`` and
the job of each task.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from transom.errors import DocumentError
from transom.io.parquet import read_card, read_columns, whole_parquet
from transom.models.arrays import IntArray
from transom.simulation.core.schedule import Schedule
from transom.simulation.output.metrics import TAU
from transom.simulation.workflows.combination import Combination
from transom.simulation.workflows.figures import task_figures, workflow_figures
from transom.simulation.workflows.stream import WorkflowStream

if TYPE_CHECKING:
    import polars as pl

FORMAT = "transom/workflows/1"
TABLES = ("tasks", "workflows")


def tasks_frame(
    stream: WorkflowStream, schedule: Schedule, tau: float = TAU, job: IntArray | None = None
) -> pl.DataFrame:
    """A row per task, in the order of the workflows; ``job`` holds the ids of their jobs where tasks were combined."""
    import polars as pl

    flows = stream.workflows
    return pl.DataFrame(
        {
            "workflow": np.repeat(np.arange(len(flows)), np.diff(stream.first)),
            "task": [name for flow in flows for name in flow.tasks],
            "job_id": np.arange(1, stream.first[-1] + 1) if job is None else job,
            "program": [name for flow in flows for name in flow.programs],
            "nodes": np.concatenate([flow.nodes for flow in flows]),
            **task_figures(stream, schedule, tau)._asdict(),
        }
    )


def workflows_frame(stream: WorkflowStream, schedule: Schedule, tau: float = TAU) -> pl.DataFrame:
    """A row per workflow."""
    import polars as pl

    flows = stream.workflows
    return pl.DataFrame(
        {
            "workflow": np.arange(len(flows)),
            "name": [flow.name for flow in flows],
            "tasks": np.diff(stream.first),
            **workflow_figures(stream, schedule, tau)._asdict(),
        }
    )


def write_workflows(
    stream: WorkflowStream,
    schedule: Schedule,
    folder: str | os.PathLike[str],
    tau: float = TAU,
    combination: Combination | None = None,
) -> None:
    """Write both tables into the folder of a recording; each appears whole or not at all.

    Parameters
    ----------
    stream : the workflows.
    schedule : of the replay, that is of combined tasks where there is a ``combination``.
    folder, tau : of the recording; as of :func:`~transom.simulation.workflows.figures.task_figures`.

    Raises
    ------
    DocumentError : a file cannot be written.
    """
    card = {"transom": json.dumps({"format": FORMAT, "digest": schedule.digest(), "tau": tau})}
    for name, frame in _frames(stream, schedule, tau, combination):
        with whole_parquet(Path(folder) / f"{name}.parquet") as path:
            frame.write_parquet(path, metadata=card)


def check_tables(
    stream: WorkflowStream,
    schedule: Schedule,
    folder: str | os.PathLike[str],
    combination: Combination | None = None,
) -> list[str]:
    """What the two tables of a recording say wrongly, computed again; empty if all is right.

    Raises
    ------
    DocumentError : a table is missing, damaged or of another replay.
    """
    wrong: list[str] = []
    for name in TABLES:
        path = Path(folder) / f"{name}.parquet"
        card = read_card(path, FORMAT)
        if card.get("digest") != schedule.digest():
            raise DocumentError(f"{path}: is of another replay than jobs.parquet")
        recorded = read_columns(path)
        right = dict(_frames(stream, schedule, _tau(card, path), combination))[name]
        for column in right:
            wrong += _differs(name, column, recorded.get(column.name))
    return wrong


def read_jobs_of_tasks(folder: str | os.PathLike[str]) -> IntArray:
    """The id of the job that each task was part of, as ``tasks.parquet`` states it, shape ``(tasks,)``.

    Raises
    ------
    DocumentError : the table is missing or damaged.
    """
    path = Path(folder) / "tasks.parquet"
    read_card(path, FORMAT)
    job = read_columns(path, ["job_id"])["job_id"]
    if job.dtype.kind not in "iu":
        raise DocumentError(f"{path}: column 'job_id' holds no whole numbers")
    return job.astype(np.int64)


def _frames(
    stream: WorkflowStream, schedule: Schedule, tau: float, combination: Combination | None
) -> list[tuple[str, pl.DataFrame]]:
    own = schedule if combination is None else combination.expanded(schedule)
    job = None if combination is None else combination.job
    return [("tasks", tasks_frame(stream, own, tau, job)), ("workflows", workflows_frame(stream, own, tau))]


def _tau(card: dict[str, Any], path: Path) -> float:
    tau = card.get("tau")
    if not isinstance(tau, (int, float)) or not tau > 0:
        raise DocumentError(f"{path}: its metadata do not state tau")
    return tau


def _differs(table: str, right: pl.Series, recorded: Any) -> list[str]:
    if recorded is None or len(recorded) != len(right):
        return [f"{table}.parquet: column {right.name!r} is missing or of another length"]
    real = right.to_numpy()
    same = np.isclose(recorded, real, rtol=1e-12, atol=0) if real.dtype.kind == "f" else recorded == real
    bad = np.flatnonzero(~np.asarray(same, bool))
    return (
        [f"{table}.parquet: row {bad[0] + 1}: {right.name} is {recorded[bad[0]]}, not {real[bad[0]]}"]
        if bad.size
        else []
    )
