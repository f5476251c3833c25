"""A trace written in the Standard Workload Format, with all that the format has room for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from transom._system.files import atomic_write
from transom.traces.trace_file import TraceCard, swf_fields

if TYPE_CHECKING:
    import polars as pl


def write_swf_trace(path: Path, jobs: pl.DataFrame, card: TraceCard) -> None:
    """Write a trace in the Standard Workload Format, atomically, with gzip if ``path`` ends in ``.gz``.

    What has no field there is lost: GPUs, times of eligibility, names, and all but the first of several dependencies.

    Parameters
    ----------
    path : the file.
    jobs : with the columns of :func:`~transom.traces.trace_file.complete`.
    card : its machine, partitions and repairs stand in the header.
    """
    size = card.machine.get(card.unit, 0)
    header = [
        "Version: 2.2",
        f"MaxJobs: {len(jobs)}",
        f"MaxRecords: {len(jobs)}",
        f"MaxNodes: {size}",
        f"MaxProcs: {size}",
        *([f"UnixStartTime: {zero}"] if (zero := card.source.get("epoch")) else []),
        f"Note: sizes count {card.unit}",
        *([f"Note: machine size taken from {card.told_by}"] if card.told_by else []),
        *(f"Partition: {number} {'_'.join(name.split())}" for number, name in enumerate(card.partitions, 1)),
        *(f"Note: {what}: {number} records" for what, number in card.repairs.items()),
    ]
    with atomic_write(path, "wb") as file:
        file.write("".join(f"; {line}\n" for line in header).encode())
        for piece in jobs.iter_slices(1_000_000):
            file.write(piece.select(swf_fields(card)).write_csv(separator=" ", include_header=False).encode())
