"""Fields of a trace that a workload does not hold, for jobs that were read from it."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

from transom.errors import TraceError
from transom.models.arrays import FloatArray, IntArray
from transom.traces.swf import PARTIAL
from transom.traces.swf_header import Field
from transom.traces.swf_lines import read_lines


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
