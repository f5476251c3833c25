"""What imported records call jobs and users, for recordings and pages."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transom.models.arrays import IntArray
from transom.traces.trace_file import is_trace_file, read_trace_frame

JOB_TEXTS = ("label", "name", "user_name")
"""Columns of a trace: the id as the resource manager writes it, the name of the job, and that of its user."""


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
    import polars as pl

    where = os.fspath(path)
    if not is_trace_file(where):
        return {}
    stated = read_trace_frame(where, ("id", *JOB_TEXTS)).unique("id", keep="last")
    rows = pl.DataFrame({"id": ids}).join(stated, "id", "left", maintain_order="left")
    texts = {name: rows[name].fill_null("").to_numpy() for name in JOB_TEXTS}
    if (texts["label"] == ids.astype(str)).all():
        del texts["label"]
    return {name: column for name, column in texts.items() if np.any(column != "")}
