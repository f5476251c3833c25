"""Standard Workload Format: the traces of the Parallel Workloads Archive, in and out."""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from transom.errors import ModelError, TraceError
from transom.files import whole_file
from transom.traces.rules import LoggedJobs, ReadingRules, repaired
from transom.traces.swf_lines import parse_lines
from transom.traces.workload import Workload

_SIZE = re.compile(rb"^;[ \t]*(MaxNodes|MaxProcs)[ \t]*:[ \t]*(\d+(?:,\d{3})*)", re.MULTILINE | re.IGNORECASE)
_GZIP = b"\x1f\x8b"
_BLOCK = 1 << 20

PARTIAL = (2, 3, 4)
"""The statuses of a line that tells one execution of a job that was interrupted."""


def read_swf(
    path: str | os.PathLike[str],
    rules: ReadingRules = ReadingRules(),  # noqa: B008  (frozen data)
    nodes: int | None = None,
) -> Workload:
    """Read a trace in Standard Workload Format, plain or gzip (told by its content, not its name).

    A node is what the file counts sizes in, as a rule processors. Field 17, the preceding job,
    becomes ``depends_on``; field 18, the think time after it, is not used: the trace's submission
    stands. Wait, queue, partition and all other fields that the models do not know are checked to
    be numbers and left.

    Parameters
    ----------
    path : the file.
    rules : what to do with jobs that are incomplete or impossible; ``repairs`` of the result
        counts what was done.
    nodes : size of the machine; None takes the header's MaxProcs, else its MaxNodes, else the
        largest job (which ``repairs`` then says).

    Raises
    ------
    TraceError : the file cannot be read, is empty or not in this format, holds no usable job or
        one id twice, or breaks a rule; the message names file, line and condition.

    References
    ----------
    Chapin et al., Benchmarks and standards for the evaluation of parallel job schedulers, JSSPP
    1999, section 2.2; version 2.2 of the format in the Parallel Workloads Archive.
    """
    where = os.fspath(path)
    if nodes is not None and nodes <= 0:
        raise ModelError(f"{where}: the machine must have > 0 nodes, got {nodes}")
    log, stated = read_log(where)
    return repaired(log, rules, nodes or stated, trace_name(where), where)


def read_log(path: str | os.PathLike[str]) -> tuple[LoggedJobs, int | None]:
    """The jobs of a trace as they stand in the file, and the size of the machine if the header states it.

    Raises
    ------
    TraceError : the file cannot be read, is empty or not in this format, or holds no job.
    """
    where = os.fspath(path)
    data = content(where)
    if not data.strip():
        raise TraceError(f"{where}: line 1: the file is empty")
    if (zero := data.find(b"\0")) >= 0:
        raise TraceError(f"{where}: line {_line(data, zero)}: a zero byte: this is not a text file")
    fields, line = parse_lines(data, where)
    if not len(line):
        raise TraceError(f"{where}: line {len(data.splitlines())}: the file ends without any job")
    id_, submit, runtime, allocated, requested, walltime, status, user, parent = fields.T
    partial = np.isin(status, PARTIAL)
    log = LoggedJobs(line, id_, submit, runtime, allocated, requested, walltime, user, parent, partial)
    return log, _machine_size(data, where)


def trace_name(path: str) -> str:
    """What to call the workload of a file."""
    return Path(path).name.removesuffix(".gz").removesuffix(".swf")


def write_swf(workload: Workload, path: str | os.PathLike[str], notes: Sequence[str] = ()) -> None:
    """Write a workload in Standard Workload Format, gzip where ``path`` ends in ``.gz``.

    Jobs stand by submission, then id; requested and allocated size are the job's nodes, what a
    workload does not hold is -1. Priorities have no field and are not written. Reading the file
    gives the same jobs back; a runtime above its walltime needs ``long_runs="keep"`` for that.

    Parameters
    ----------
    workload : what to write.
    path : the file; it appears whole or not at all.
    notes : what a reader of the file should know, one line of the header each.

    Raises
    ------
    TraceError : the format cannot hold the workload: further resources, a job that depends on
        several others, or no job at all.
    """
    where, jobs, nodes = os.fspath(path), workload.jobs, workload.cluster.num_nodes
    if not len(jobs):
        raise TraceError(f"{where}: a workload without jobs cannot be written")
    if workload.cluster.resources:
        names = ", ".join(workload.cluster.resources)
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
        *(f"Note: {' '.join(note.split())}" for note in notes),
        *(f"Note: {what}: {number} jobs" for what, number in workload.repairs.items()),
    ]
    columns = (jobs.id, jobs.submit, workload.runtime, jobs.nodes, jobs.walltime, jobs.user)
    with whole_file(path) as file:
        file.writelines(f"; {line}\n" for line in header)
        file.writelines(
            f"{i} {s} -1 {r} {n} -1 -1 {n} {w} -1 -1 {u} -1 -1 -1 -1 {parent.get(i, -1)} -1\n"
            for i, s, r, n, w, u in zip(*(column.tolist() for column in columns), strict=True)
        )


def content(path: str) -> bytes:
    """What a file holds, unpacked if need be.

    Raises
    ------
    TraceError : it cannot be read, or the gzip stream is broken.
    """
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise TraceError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if data.startswith(_GZIP):
        data = _unpacked(data, path)
    return data.removeprefix(b"\xef\xbb\xbf")  # a byte-order mark of UTF-8


def _unpacked(data: bytes, path: str) -> bytes:
    blocks: list[bytes] = []
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while block := file.read1(_BLOCK):  # read() would lose what comes before the break
                blocks.append(block)
    except (EOFError, OSError, zlib.error) as error:
        line = sum(block.count(b"\n") for block in blocks) + 1
        raise TraceError(f"{path}: line {line}: the gzip stream is broken or cut off here: {error}") from error
    return b"".join(blocks)


def _machine_size(data: bytes, path: str) -> int | None:
    sizes: dict[bytes, int] = {}
    for found in _SIZE.finditer(data):
        size = int(found[2].replace(b",", b"")[:20])
        if size >= 2**63:
            line = _line(data, found.start())
            raise TraceError(f"{path}: line {line}: {found[1].decode()} does not fit into 63 bits")
        sizes.setdefault(found[1].lower(), size)
    # Sizes of jobs are in processors; 0 stands for unknown, as -1 does.
    return sizes.get(b"maxprocs") or sizes.get(b"maxnodes") or None


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1
