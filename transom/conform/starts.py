"""Start times that another program writes: CSV, the Standard Workload Format, or Parquet as ``simulate`` records it."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from transom._system.wording import counted
from transom.errors import TraceError
from transom.models.arrays import IntArray
from transom.traces.swf_blocks import pieces
from transom.traces.swf_lines import read_lines
from transom.traces.workload import Workload

if TYPE_CHECKING:
    import polars as pl

NEVER = -1
"""A start or end that is not there."""

_SPELLINGS = {
    "job": ("job", "jobid", "id", "jobnumber", "jobname"),
    "start": ("start", "starttime", "startingtime", "started", "startat", "begin", "begintime"),
    "end": ("end", "endtime", "finish", "finishtime", "finishedtime", "finished", "completiontime", "stop"),
    "submit": ("submit", "submittime", "submissiontime", "submitted", "arrival", "arrivaltime", "queuedtime"),
    "wait": ("wait", "waittime", "waitingtime"),
    "nodes": ("nodes", "numnodes", "procs", "numprocs", "processors", "cores", "requestednumberofresources"),
}
_NAME = re.compile(r"[^a-z]")
_NUMBER = r"^(?:[^!]*!)?(-?\d+)(?:\.0*)?$"  # Batsim writes WORKLOAD!JOB
_LAST = 2**53  # instants beyond are not those of a clock [s]


class Starts(NamedTuple):
    """Rows of start times by start, those without one last.

    ``job``: its id in the trace; ``start``, ``end`` [s], :data:`NEVER` where there is none; ``submit`` [s] and
    ``nodes`` likewise, if the file has such a column. All of shape ``(rows,)``. ``notes``: what was repaired.
    """

    job: IntArray
    start: IntArray
    end: IntArray
    submit: IntArray | None
    nodes: IntArray | None
    notes: tuple[str, ...] = ()


def read_starts(path: str | os.PathLike[str], labels: Mapping[str, int] | None = None) -> Starts:
    """The start times in a file, plain or gzip, or of standard input (``-``).

    The content shows whether it is Parquet, CSV (by a comma, semicolon or tab in its first line), or in the Standard
    Workload Format. Columns are ``job``, ``start`` or ``wait`` with ``submit``, and optionally ``end`` and
    ``nodes`` (how many), in any common spelling: ``job_id``, ``Job ID``, ``starting_time``, ``finish_time``, ``procs``
    Several rows of one job are several attempts.

    Parameters
    ----------
    path : the file.
    labels : ids of jobs by what the trace calls them, where these are no numbers, such as ``12_3``.

    Raises
    ------
    TraceError : the file cannot be read, has no such columns or no rows, or holds what is no number; the message names
        file and row.
    """
    where = os.fspath(path)
    data = b"".join(pieces(where))
    if data.startswith(b"PAR1"):
        return _of_columns(_frame(where, data, "parquet"), where, labels or {})
    first = next((line for line in data[:65536].splitlines() if line.strip() and line.lstrip()[:1] not in b";#"), b"")
    separator = next((each for each in ",\t;" if each.encode() in first), None)
    if separator is not None or re.search(rb"[A-Za-z]", first):
        return _of_columns(_frame(where, data, separator or ","), where, labels or {})
    if where == "-":
        raise TraceError("-: start times in the Standard Workload Format are read from files, not from standard input")
    return _of_swf(where)


def _frame(where: str, data: bytes, kind: str) -> pl.DataFrame:
    import polars as pl

    try:
        if kind == "parquet":
            return pl.read_parquet(io.BytesIO(data))
        return pl.read_csv(data, separator=kind, infer_schema=False, comment_prefix="#")
    except (pl.exceptions.PolarsError, OSError) as error:
        said = str(error).strip().splitlines()
        raise TraceError(f"{where}: no table of start times: {said[0] if said else 'it is empty'}") from None


def _of_swf(where: str) -> Starts:
    lines = read_lines(where, (1, 2), (3, 4, 8))
    (job, submit), (wait, runtime, nodes) = lines.whole, lines.real
    start = np.where(wait >= 0, submit + wait, NEVER)
    end = np.where((start >= 0) & (runtime >= 0), start + runtime, NEVER)
    return _sorted(job, np.rint(start), np.rint(end), submit, nodes.astype(np.int64), _rounded(where, start, end))


def _of_columns(frame: pl.DataFrame, where: str, labels: Mapping[str, int]) -> Starts:
    short = {_NAME.sub("", name.lower()): name for name in reversed(frame.columns)}
    named = {kind: next((short[each] for each in known if each in short), None) for kind, known in _SPELLINGS.items()}
    if named["job"] is None or (named["start"] is None and (named["wait"] is None or named["submit"] is None)):
        stated = ", ".join(f"{name!r:.40}" for name in frame.columns[:12]) or "none"
        raise TraceError(f"{where}: expected the columns job and start, or job, submit and wait; got {stated}")
    if not len(frame):
        raise TraceError(f"{where}: holds no start times")
    values = {kind: _numbers(frame, name, where) for kind, name in named.items() if name and kind != "job"}
    submit = values.get("submit")
    start = values["start"] if "start" in values else np.asarray(submit) + values["wait"]
    end = values.get("end", np.full(len(frame), np.nan))
    for kind, numbers in (*values.items(), ("start", start)):
        bad = np.flatnonzero(np.abs(numbers) > _LAST)
        if bad.size:
            raise TraceError(f"{where}: row {bad[0] + 1}: {kind} must be at most 2**53, got {numbers[bad[0]]:g}")
    # Without a start, or with a negative one, a job never ran; so it is with an end.
    start, end = (np.where(np.isnan(times) | (times < 0), NEVER, times) for times in (start, end))
    nodes = None if "nodes" not in values else np.nan_to_num(values["nodes"], nan=-1).astype(np.int64)
    jobs = _jobs(frame, str(named["job"]), where, labels)
    rounded = None if submit is None else np.rint(np.nan_to_num(submit, nan=NEVER)).astype(np.int64)
    return _sorted(jobs, np.rint(start), np.rint(end), rounded, nodes, _rounded(where, start, end))


def _numbers(frame: pl.DataFrame, name: str, where: str) -> Any:
    """A column as float64; what is empty or says that there is nothing is NaN."""
    import polars as pl

    column = frame[name]
    if column.dtype == pl.String:
        text = column.str.strip_chars().str.to_lowercase()
        nothing = text.is_in(["", "na", "nan", "none", "null", "-"])
        numbers = text.cast(pl.Float64, strict=False)
        bad = (numbers.is_null() & ~nothing & text.is_not_null()).arg_true()
        if len(bad):
            raise TraceError(f"{where}: row {bad[0] + 1}: {name} must be a number, got {column[bad[0]]!r:.60}")
        column = numbers
    elif not column.dtype.is_numeric():
        raise TraceError(f"{where}: {name} must be a number, got {column.dtype}")
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _jobs(frame: pl.DataFrame, name: str, where: str, labels: Mapping[str, int]) -> IntArray:
    import polars as pl

    try:
        text = frame[name].cast(pl.String).str.strip_chars()
    except pl.exceptions.PolarsError:
        raise TraceError(f"{where}: {name} must be a number or text, got {frame[name].dtype}") from None
    jobs = text.str.extract(_NUMBER).cast(pl.Int64, strict=False)
    if jobs.null_count():
        known = text.replace_strict(labels, default=None, return_dtype=pl.Int64) if labels else jobs
        jobs = jobs.fill_null(known)
    if jobs.null_count():
        row = jobs.is_null().arg_true()[0]
        raise TraceError(f"{where}: row {row + 1}: the trace has no job {frame[name][row]!r:.60}")
    found: IntArray = jobs.to_numpy()
    return found


def _rounded(where: str, *columns: Any) -> list[str]:
    odd = sum(int((np.abs(times - np.rint(times)) > 0).sum()) for times in columns)
    return [f"{where}: {counted(odd, 'time')} rounded to whole seconds"] if odd else []


def _sorted(
    job: IntArray, start: Any, end: Any, submit: IntArray | None, nodes: IntArray | None, notes: list[str]
) -> Starts:
    start, end = start.astype(np.int64), end.astype(np.int64)
    order = np.lexsort((job, np.where(start < 0, _LAST, start)))
    submit, nodes = (None if column is None else column[order] for column in (submit, nodes))
    return Starts(job[order], start[order], end[order], submit, nodes, tuple(notes))


class Aligned(NamedTuple):
    """What a program did with the jobs of a workload, in their order, shape ``(jobs,)``.

    ``start`` [s]: of the first attempt, :data:`NEVER` without one; ``again`` [s]: of the second one, likewise;
    ``workload``: the same jobs, each with the runtime that it had there. ``left``: rows of other jobs; ``notes``: what
    differs otherwise.
    """

    workload: Workload
    start: IntArray
    again: IntArray
    left: int
    notes: tuple[str, ...]


def aligned(workload: Workload, starts: Starts) -> Aligned:
    """Start times beside the jobs of a workload.

    If the file states submissions and all lie equally far from those of the workload, times are shifted by that.

    Raises
    ------
    TraceError : the file and the workload have no job in common.
    """
    ids, submit, notes = workload.jobs.id, workload.jobs.submit, list(starts.notes)
    by_id = np.argsort(ids, kind="stable")
    at = by_id[np.minimum(np.searchsorted(ids, starts.job, sorter=by_id), len(ids) - 1)]
    known = ids[at] == starts.job
    if not known.any():
        raise TraceError(f"no job of the start times is one of {workload.name}, such as job {starts.job[0]}")
    if left := int((~known).sum()):
        one = starts.job[~known].min()
        notes.append(f"{counted(left, 'row')} left out: the trace as it is read has no such job, such as {one}")
    at, start, end = at[known], starts.start[known], starts.end[known]
    if starts.submit is not None and len(later := np.unique(submit[at] - starts.submit[known])):
        if len(later) > 1:
            notes.append(
                f"{counted(int((submit[at] != starts.submit[known]).sum()), 'submission')} not as in the trace"
            )
        elif later[0]:
            start, end = (np.where(times < 0, NEVER, times + later[0]) for times in (start, end))
            notes.append(f"times moved by {later[0]:,} s to the clock of the trace, by the first submission")
    held = starts.nodes[known] if starts.nodes is not None else workload.jobs.nodes[at]
    if odd := int(((held > 0) & (held != workload.jobs.nodes[at])).sum()):
        notes.append(f"{counted(odd, 'row')} with another number of nodes than the trace")
    first, again, ended = (np.full(len(ids), NEVER) for _ in range(3))
    ran = np.flatnonzero(start >= 0)
    jobs, rows = np.unique(at[ran], return_index=True)  # rows stand by start: these are first attempts
    first[jobs], ended[jobs] = start[ran[rows]], end[ran[rows]]
    ran = np.delete(ran, rows)
    jobs, rows = np.unique(at[ran], return_index=True)
    again[jobs] = start[ran[rows]]
    runtime = np.where(ended > first, ended - first, workload.runtime)
    if odd := int((runtime != workload.runtime).sum()):
        job = ids[(runtime != workload.runtime).argmax()]
        notes.append(f"{counted(odd, 'job')} with another runtime than in the trace, such as {job}: theirs counts")
    return Aligned(replace(workload, runtime=runtime) if odd else workload, first, again, left, tuple(notes))
