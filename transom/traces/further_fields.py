"""What a trace says of jobs that a workload does not hold: fields, applications, what jobs and users are called."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transom.errors import TraceError
from transom.models.arrays import FloatArray, IntArray
from transom.traces.swf import PARTIAL
from transom.traces.swf_header import Field
from transom.traces.swf_lines import read_lines
from transom.traces.trace_file import is_trace_file, read_trace_frame

JOB_TEXTS = ("label", "name", "user_name")
"""Columns of a trace: the id as the resource manager writes it, the name of the job, and that of its user."""


def read_fields(path: str | os.PathLike[str], fields: Iterable[Field], ids: IntArray) -> dict[Field, FloatArray]:
    """Fields of the lines of some jobs, of a file that :func:`~transom.traces.read_swf` has taken.

    Parameters
    ----------
    path : the trace.
    fields : their numbers, from 1, as the format counts them.
    ids : the jobs, shape ``(jobs,)``.

    Returns
    -------
    Each field by its number, shape ``(jobs,)``; what is not known is -1 in the format.

    Raises
    ------
    TraceError : the file cannot be read, or has no line for a job.

    References
    ----------
    Standard Workload Format, version 2.2, of the Parallel Workloads Archive.
    """
    where, asked = os.fspath(path), list(dict.fromkeys(fields))
    lines = read_lines(where, (1, 11), asked)
    known, status = lines.whole
    # A job that was interrupted has a line for the whole and one for each execution. The whole counts: it comes last.
    partial = (status >= PARTIAL[0]) & (status <= PARTIAL[-1])
    order = np.lexsort((~partial, known))
    at = np.searchsorted(known, ids, side="right", sorter=order) - 1
    found = order[np.maximum(at, 0)]
    missing = np.flatnonzero(known[found] != ids)
    if missing.size:
        raise TraceError(f"{where}: has no line for job {ids[missing[0]]}")
    return {field: column[found] for field, column in zip(asked, lines.real, strict=True)}


def read_applications(path: str | os.PathLike[str], ids: IntArray) -> IntArray:
    """A number for the application of each job, -1 where unknown, shape ``(jobs,)``.

    It is field 14 of the Standard Workload Format, and in traces of :mod:`~transom.traces.trace_file` the name of the
    job without its digits: ``run_17`` and ``run_18`` are one application.

    Parameters
    ----------
    path : the trace.
    ids : the jobs, shape ``(jobs,)``.

    Raises
    ------
    TraceError : the file cannot be read, or has no line for a job.
    """
    where = os.fspath(path)
    if not is_trace_file(where):
        return read_fields(where, [14], ids)[14].astype(np.int64)
    import polars as pl

    frame = read_trace_frame(where, ("id", "name")).unique("id", keep="last")
    name = pl.col("name").str.replace_all(r"\d+", "")
    number = pl.when(name == "").then(-1).otherwise(name.rank("dense").cast(pl.Int64))
    numbers = frame.select("id", number.alias("number"))
    asked = pl.DataFrame({"id": ids}).join(numbers, on="id", how="left", maintain_order="left")
    found: IntArray = asked["number"].fill_null(-1).to_numpy()
    return found


def read_job_texts(path: str | os.PathLike[str], ids: IntArray) -> dict[str, NDArray[Any]]:
    """The columns of :data:`JOB_TEXTS` that say something, for some jobs of a Parquet trace; none of other traces.

    Parameters
    ----------
    path : the trace.
    ids : the jobs, shape ``(jobs,)``.

    Raises
    ------
    TraceError : the file cannot be read.
    """
    where = os.fspath(path)
    if not is_trace_file(where):
        return {}
    import polars as pl

    stated = read_trace_frame(where, ("id", *JOB_TEXTS)).unique("id", keep="last")
    rows = pl.DataFrame({"id": ids}).join(stated, "id", "left", maintain_order="left")
    texts = {name: rows[name].fill_null("").to_numpy() for name in JOB_TEXTS}
    if (texts["label"] == ids.astype(str)).all():
        del texts["label"]
    return {name: column for name, column in texts.items() if np.any(column != "")}
