"""Which jobs of a trace run the same application."""

from __future__ import annotations

import os

import numpy as np

from transom.models.arrays import IntArray
from transom.traces.swf_columns import read_fields
from transom.traces.trace_file import is_trace_file, read_trace_frame


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
