"""Standard Workload Format: the traces of the Parallel Workloads Archive, in and out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from transom._system.files import atomic_write
from transom._system.notices import timed
from transom._system.wording import counted
from transom.errors import ModelError, SpecError, TraceError
from transom.models.arrays import FloatArray, IntArray, expected, whole
from transom.traces.origin import unix_epoch
from transom.traces.partitions import PREFIX, partition_sizes, selected
from transom.traces.rules import LARGER, LoggedJobs, ReadingRules, repaired
from transom.traces.swf_header import Field, Header
from transom.traces.swf_lines import read_lines
from transom.traces.workload import Workload

_READ = (1, 2, 4, 5, 8, 9, 11, 12, 17)
_WAIT, _GROUP, _PARTITION = 3, 13, 16
_PROCESSORS = ("5", "8", "allocated-processors", "requested-processors")

COMPLETED = 1
"""The status of a job that ran to its end."""

PARTIAL = (2, 3, 4)
"""The statuses of a line that states one execution of a job that was interrupted."""


def read_swf(
    path: str | os.PathLike[str],
    rules: ReadingRules = ReadingRules(),  # noqa: B008  (frozen data)
    nodes: int | None = None,
) -> Workload:
    """Read a trace in the Standard Workload Format, plain or gzip, or a Parquet file of ``transom import``.

    The content shows which.

    A node is the unit in which the file counts sizes, usually a processor. Field 17, the preceding job,
    becomes ``depends_on``; field 18, the think time after it, is not used, because the trace states
    submissions. All other fields must be numbers and are otherwise ignored. Lines may have further fields
    after the 18 of the format; a comment names them, ``; Columns: gpus energy``. They may contain anything
    unless a rule refers to them.

    Parameters
    ----------
    path : the file.
    rules : how to repair or omit incomplete and impossible jobs; ``repairs`` of the result
        counts both.
    nodes : size of the machine; None takes the header's MaxProcs, else its MaxNodes, else the
        largest job (then noted in ``repairs``).

    Raises
    ------
    TraceError : the file cannot be read, is empty or not in this format, holds no usable job or
        one id twice, or breaks a rule; the message names file, line and condition.
    SpecError : the rules name a field or partition that does not exist, or the size of the machine is required.
    ModelError : ``nodes`` is not a number > 0.

    References
    ----------
    Chapin et al., Benchmarks and standards for the evaluation of parallel job schedulers, JSSPP
    1999, section 2.2; version 2.2 of the format in the Parallel Workloads Archive.
    """
    expected(path, (str, os.PathLike), "read_swf: path", "the path of a file")
    expected(rules, ReadingRules, "read_swf: rules", "ReadingRules")
    where = os.fspath(path)
    if nodes is not None and whole(nodes, "read_swf: nodes") <= 0:
        raise ModelError(f"{where}: the machine must have > 0 nodes, got {nodes}")
    with timed(f"reading {where}"):
        log, header = read_log(where, rules.size_field)
        if nodes and header.partition_nodes.sizes and rules.partition_nodes is None and header.machine() != nodes:
            rules = replace(rules, merge_partitions=True)  # the sizes of partitions are those of another machine
        workload = repaired(log, rules, nodes or _machine(log, header, rules), trace_name(where), where)
    doubt, epoch = _doubt(workload, header, rules, nodes), unix_epoch(header.epoch, int(workload.jobs.submit[0]))
    workload = replace(workload, origin=replace(workload.origin, machine=doubt, epoch=epoch))
    if nodes or not header.told_by:
        return workload
    repairs = {f"machine size taken from {header.told_by} ({counted(workload.cluster.num_nodes, 'node')})": 1}
    return replace(workload, repairs=repairs | dict(workload.repairs))


def read_log(path: str | os.PathLike[str], size_field: Field | None = None) -> tuple[LoggedJobs, Header]:
    """The jobs of a trace as they stand in the file, and what its header says.

    Parameters
    ----------
    path : the file.
    size_field : a further field to read, which states the size of jobs.

    Raises
    ------
    TraceError : the file cannot be read, is empty or not in this format, or holds no job.
    SpecError : there is no such field.
    """
    where = os.fspath(path)
    lines = read_lines(where, _READ if size_field is None else (*_READ, size_field), (_WAIT, _GROUP, _PARTITION))
    id_, submit, runtime, allocated, requested, walltime, status, user, parent, *sized = lines.whole
    log = LoggedJobs(
        line=lines.line,
        id=id_,
        submit=submit,
        runtime=runtime,
        allocated=allocated,
        requested=requested,
        walltime=walltime,
        user=user,
        parent=parent,
        group=_clipped(lines.real[1]),
        partition=_clipped(lines.real[2]),
        partial=(status >= PARTIAL[0]) & (status <= PARTIAL[-1]),
        completed=status == COMPLETED,
        unfinished=(status < 0) & (runtime < 0),
        wait=_clipped(lines.real[0]),
        sized=sized[0] if sized else None,
        partitions=lines.header.partitions,
        groups=lines.header.groups,
        partition_nodes=lines.header.partition_nodes,
    )
    return log, lines.header


def _clipped(values: FloatArray) -> IntArray:
    """Whole numbers from -1 on; a log may state anything in fields that no replay reads."""
    return np.clip(np.nan_to_num(values, nan=-1), -1, 2.0**53).astype(np.int64)


def _machine(log: LoggedJobs, header: Header, rules: ReadingRules) -> int | None:
    """The size of the machine by the header, in what the sizes of jobs are counted in."""
    size, where, wanted = header.machine(), header.path, rules.partitions
    if (counted := header.counted.get(str(rules.size_field).lower())) is not None and not wanted:
        return counted
    if size is not None and not selected(log.partition, log.partitions, wanted, where).all():
        only = np.unique(log.partition[selected(log.partition, log.partitions, wanted, where)])
        if len(only) == 1 and log.sized is None and int(only[0]) in header.partition_nodes.sizes:
            return header.partition_nodes.sizes[int(only[0])]
        text = f"not that of partition {', '.join(map(str, wanted))}"
        raise SpecError(
            f"{where}: the header states the size of the whole machine ({size:,}), {text}: state it (--nodes)"
        )
    nodes = header.sizes.get("maxnodes")
    if log.sized is not None and str(rules.size_field).lower() not in _PROCESSORS and nodes and nodes != size:
        text = f"{size:,} processors and {nodes:,} nodes, and field {rules.size_field!r} may count either"
        raise SpecError(f"{where}: the header states {text}: state the size of the machine (--nodes)")
    return size


def _doubt(workload: Workload, header: Header, rules: ReadingRules, stated: int | None) -> str:
    """What the header and ``--nodes`` contradict, and what counts instead; empty where they agree."""
    taken, left = workload.cluster.num_nodes, workload.repairs.get(LARGER, 0)
    nodes = counted(taken, "node")
    without = f"; larger jobs left out: {left:,}" if left else ""
    if stated and header.faults:
        return f"the header states a size of no machine; {nodes} by --nodes or --cluster count{without}"
    if rules.partitions or rules.size_field is not None or header.told_by:
        return ""
    size = header.machine()
    if stated:
        if size is None or size == stated:
            return ""
        return f"the header states {counted(size, 'node')}, but {taken:,} by --nodes or --cluster count{without}"
    if size is None and header.unsaid:
        return f"the header states {' and '.join(header.unsaid)}; the size of the largest job counts, {nodes}"
    return f"the header states {nodes}{without} (--nodes states another size)" if left else ""


def trace_name(path: str) -> str:
    """What to call the workload of a file."""
    return Path(path).name.removesuffix(".gz").removesuffix(".swf").removesuffix(".parquet")


def write_swf(workload: Workload, path: str | os.PathLike[str], notes: Sequence[str] = ()) -> None:
    """Write a workload in the Standard Workload Format, with gzip if ``path`` ends in ``.gz``.

    Jobs are sorted by submission, then id. Requested and allocated size are the job's nodes; the wait is that of the
    log, missing values are -1. Priorities have no field and are not written. Where jobs keep to the nodes of
    partitions, these are written with their names, and their sizes as comments. Reading the file returns the same
    jobs; runtimes above the walltime require ``long_runs="keep"``.

    Parameters
    ----------
    workload : the workload.
    path : the file, written atomically.
    notes : comments for the header, one line each.

    Raises
    ------
    TraceError : the format cannot represent the workload: further resources, a job that depends on
        several others, or no job.
    """
    where, jobs, nodes = os.fspath(path), workload.jobs, workload.cluster.num_nodes
    if not len(jobs):
        raise TraceError(f"{where}: a workload without jobs cannot be written")
    sizes, partition = partition_sizes(workload.cluster), workload.origin.partition
    if names := ", ".join(name for name in workload.cluster.resources if not name.startswith(PREFIX)):
        raise TraceError(f"{where}: the format has no field for the further resources ({names})")
    parent = {}
    for job, parents in jobs.depends_on.items():
        if len(parents) > 1:
            raise TraceError(f"{where}: job {job}: the format holds one preceding job, got {len(parents)}")
        parent[job] = parents[0]
    header = [
        "Version: 2.2",
        f"Computer: {' '.join(workload.name.split()) or 'unknown'}",
        f"MaxJobs: {len(jobs)}",
        f"MaxRecords: {len(jobs)}",
        f"MaxNodes: {nodes}",
        f"MaxProcs: {nodes}",
        *([f"UnixStartTime: {epoch}"] if (epoch := workload.origin.epoch) else []),
        *(f"Partition: {number} {name}" for number, name in workload.origin.names.items() if sizes),
        *(f"Note: nodes of partitions, to which their jobs keep: {name} {size}" for name, size in sizes.items()),
        *(f"Note: {' '.join(note.split())}" for note in notes),
        *(f"Note: {each.text}" for each in workload.diagnostics),
        *(f"Note: {what}: {counted(number, 'job')}" for what, number in workload.repairs.items()),
    ]
    started = workload.origin.started
    wait = np.full(len(jobs), -1) if started is None else np.where(started >= 0, started - jobs.submit, -1)
    part = np.full(len(jobs), -1) if partition is None or not sizes else partition
    columns = (jobs.id, jobs.submit, wait, workload.runtime, jobs.nodes, jobs.walltime, jobs.user, part)
    with atomic_write(path) as file:
        file.writelines(f"; {line}\n" for line in header)
        file.writelines(
            f"{i} {s} {d} {r} {n} -1 -1 {n} {w} -1 -1 {u} -1 -1 -1 {p} {parent.get(i, -1)} -1\n"
            for i, s, d, r, n, w, u, p in zip(*(column.tolist() for column in columns), strict=True)
        )
