"""Fields of a trace that a workload does not hold, for jobs that were read from it."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

from transom.errors import TraceError
from transom.models._arrays import FloatArray, IntArray
from transom.traces.swf import PARTIAL, content
from transom.traces.swf_lines import FIELDS

_STATUS = FIELDS.index("status")


def read_fields(path: str | os.PathLike[str], fields: Iterable[int], ids: IntArray) -> dict[int, FloatArray]:
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
    wanted = sorted(set(fields))
    where = os.fspath(path)
    whole: dict[int, list[float]] = {}
    partial: dict[int, list[float]] = {}
    for line in content(where).splitlines():
        if not line.strip() or line.lstrip().startswith(b";"):
            continue
        tokens = line.split()
        # A job that was interrupted has a line for the whole and one for each execution: the whole one counts.
        found = partial if float(tokens[_STATUS]) in PARTIAL else whole
        found[_id(tokens[0])] = [float(tokens[field - 1]) for field in wanted]
    rows = {**partial, **whole}
    missing = [job for job in ids.tolist() if job not in rows]
    if missing:
        raise TraceError(f"{where}: has no line for job {missing[0]}")
    table = np.array([rows[job] for job in ids.tolist()], dtype=float).reshape(len(ids), len(wanted))
    return {field: np.ascontiguousarray(table[:, position]) for position, field in enumerate(wanted)}


def _id(token: bytes) -> int:
    try:
        return int(token)
    except ValueError:
        return int(float(token))  # such as 17.0, which the format's reader takes
