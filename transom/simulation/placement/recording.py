"""Recordings of replays of tasks: ``jobs.parquet``, ``instances.parquet`` and ``decisions.parquet`` in a folder.

A recording may hold several chunks of a workload, each replayed by itself; every row says of which it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from transom.errors import DocumentError, ModelError
from transom.io.parquet import read_card, read_columns, whole_parquet
from transom.models.arrays import IntArray
from transom.result import versions
from transom.simulation.placement.schedule import TaskSchedule
from transom.traces.tasks.workload import TaskWorkload

if TYPE_CHECKING:
    import polars as pl

FORMAT = "transom/tasks/1"
_BATCHES = ("task", "machine", "start", "end", "instances")
_PASSES = ("time", "queued", "started")


def write_tasks(
    schedules: Sequence[TaskSchedule], folder: str | os.PathLike[str], details: Mapping[str, Any] | None = None
) -> None:
    """Write the schedules of all chunks; each file appears whole or not at all, ``jobs.parquet`` last.

    Parameters
    ----------
    schedules : one a chunk, all of one policy, workload and event rules.
    folder : made if need be.
    details : what else is needed to run it again, in JSON's terms.

    Raises
    ------
    DocumentError : a file cannot be written.
    """
    first, target = schedules[0], Path(folder)
    card = {
        "format": FORMAT,
        "policy": first.policy,
        "workload": first.workload.name,
        "resources": list(first.workload.resources),
        "units": list(first.workload.units),
        "machines": first.workload.machines.tolist(),
        "rules": first.rules,
        "digest": _digest(schedules),
        "versions": versions(),
        "details": dict(details or {}),
    }
    for name, frame in (
        ("instances", TaskSchedule.batches_frame),
        ("decisions", TaskSchedule.passes_frame),
        ("jobs", TaskSchedule.jobs_frame),
    ):
        with whole_parquet(target / f"{name}.parquet") as path:
            _chunked(schedules, frame).write_parquet(path, metadata={"transom": json.dumps(card)})


def read_tasks_card(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What stands in the metadata of a recording: policy, workload, machines, rules, versions, digest and ``details``.

    Raises
    ------
    DocumentError : ``jobs.parquet`` is missing, damaged, or no recording of tasks.
    """
    return read_card(Path(folder) / "jobs.parquet", FORMAT)


def read_task_schedules(folder: str | os.PathLike[str], chunks: Sequence[TaskWorkload]) -> list[TaskSchedule]:
    """Read what :func:`write_tasks` wrote.

    Parameters
    ----------
    folder : of the recording.
    chunks : the workloads that were replayed.

    Raises
    ------
    DocumentError : a file is missing or damaged, or the files are not of one replay of these chunks.
    """
    card = read_tasks_card(folder)
    tables = []
    for name, columns in (("instances", _BATCHES), ("decisions", _PASSES)):
        path = Path(folder) / f"{name}.parquet"
        if read_card(path, FORMAT).get("digest") != card.get("digest"):
            raise DocumentError(f"{path}: is of another replay than jobs.parquet")
        tables.append(_rows(path, columns, len(chunks)))
    try:
        schedules = [
            TaskSchedule(str(card["policy"]), each, batches, passes, str(card["rules"]))
            for each, batches, passes in zip(chunks, *tables, strict=True)
        ]
        if _digest(schedules) != card["digest"]:
            raise DocumentError(f"{folder}: the rows do not fit the digest in the metadata; a file was altered")
    except (KeyError, ModelError) as error:
        raise DocumentError(f"{folder}: not a recording of this workload: {error}") from None
    return schedules


def _rows(path: Path, names: Sequence[str], chunks: int) -> list[IntArray]:
    """The rows of each chunk."""
    table = read_columns(path)
    if missing := {"chunk", *names} - table.keys():
        raise DocumentError(f"{path}: column {min(missing)} is missing")
    chunk = table["chunk"]
    if len(chunk) and ((np.diff(chunk) < 0).any() or chunk[0] < 0 or chunk[-1] >= chunks):
        raise DocumentError(f"{path}: expected rows by chunk, 0 to {chunks - 1}")
    rows = np.column_stack([table[name] for name in names])
    return np.split(rows, np.searchsorted(chunk, np.arange(1, chunks)))


def _chunked(schedules: Sequence[TaskSchedule], frame: Callable[[TaskSchedule], pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    parts = (frame(each).with_columns(pl.lit(k, pl.Int64).alias("chunk")) for k, each in enumerate(schedules))
    whole = pl.concat(parts)
    return whole.select("chunk", pl.exclude("chunk"))


def _digest(schedules: Sequence[TaskSchedule]) -> str:
    state = blake2b(digest_size=16)
    for each in schedules:
        state.update(each.digest().encode())
    return state.hexdigest()
