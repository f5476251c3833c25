"""A trace played through a Slurm: jobs that sleep, submitted when they were; and what happened, as a trace."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from transom.errors import SlurmError, SpecError
from transom.slurm.commands import run_slurm
from transom.slurm.state import slurm_clock
from transom.traces import Workload
from transom.traces.records.importing import Imported, ImportRules
from transom.traces.records.slurm import read_slurm
from transom.traces.records.slurm_conf import read_site

_SITE = ("nodes", "partition", "topology")
NAME = "transom-"
"""Begins the name of a job that is played; its id in the trace follows."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How a trace is played.

    Parameters
    ----------
    faster : times of the trace are divided by this, > 0.
    smaller : sizes are divided by this and rounded up, > 0.
    held : submit held jobs, for `transom slurm run`.
    at_once : submit all jobs at once, each with its begin time, and do not wait.
    clock : how fast Slurm's clock is; more than 1 for an emulated Slurm whose jobs sleep on our clock.
    options : further ones of sbatch.

    Raises
    ------
    SpecError : a number is not positive, or held jobs are to have begin times.
    """

    faster: float = 1.0
    smaller: float = 1.0
    held: bool = False
    at_once: bool = False
    clock: float = 1.0
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("faster", "smaller", "clock"):
            if not 0 < getattr(self, name) < float("inf"):
                raise SpecError(f"play: {name} must be > 0, got {getattr(self, name)}")
        if self.held and self.at_once:
            raise SpecError("play: held jobs are submitted when they arrive, not at once")


def play(workload: Workload, manner: Manner, report: Callable[[int], None] = lambda count: None) -> Iterator[str]:
    """Submit the jobs of a workload in order; yields Slurm's number of each.

    A job sleeps for its runtime under its walltime, which counts whole minutes.

    Raises
    ------
    SlurmError : Slurm refuses a job; the message names it.
    """
    jobs, begun, base = workload.jobs, time.monotonic(), slurm_clock()
    first = int(jobs.submit[0]) if len(jobs) else 0
    for i, job in enumerate(jobs):
        after = (job.submit - first) / manner.faster
        if not manner.at_once:
            time.sleep(max(after / manner.clock - (time.monotonic() - begun), 0))
        limit = max(-(-int(job.walltime / manner.faster) // 60), 1)
        nodes = max(-(-job.nodes // manner.smaller), 1)
        seconds = workload.runtime[i] / manner.faster / manner.clock
        options = ["-N", f"{nodes:.0f}", "-t", str(limit), "-J", f"{NAME}{job.id}", *manner.options]
        options += ["-H"] if manner.held else []
        if manner.at_once and after >= 1:
            begin = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(base + int(after)))
            options += [f"--begin={begin}"]
        script = f"#!/bin/sh\nexec sleep {seconds:.3f}\n"
        try:
            yield run_slurm("sbatch", "--parsable", "--output=/dev/null", *options, stdin=script).split(";")[0].strip()
        except SlurmError as error:
            raise SlurmError(f"job {job.id}: {error}") from None
        report(i + 1)


def record(eligible: bool = False, unit: str = "auto") -> Imported:
    """What Slurm remembers of all jobs, as a trace with the nodes of each.

    Jobs that were played have the ids of their trace.

    Parameters
    ----------
    eligible : count a job as submitted when it became eligible, as after playing at once.
    unit : what sizes count.

    Raises
    ------
    SlurmError : there is no Slurm, or it does not answer.
    TraceError : it remembers no job.
    """
    with tempfile.TemporaryDirectory() as folder:
        site = []
        for what in _SITE:
            try:
                text = run_slurm("scontrol", "-a", "show", what)
            except SlurmError:
                if what != "topology":
                    raise
                continue
            if text.strip() and not text.startswith("No "):
                site.append(str(Path(folder) / f"{what}.txt"))
                Path(site[-1]).write_text(text)
        answer = Path(folder) / "jobs.txt"
        answer.write_text(run_slurm("scontrol", "-a", "show", "job"))
        trace = read_slurm([str(answer)], ImportRules(unit=unit), "scontrol", (), read_site(site))
    frame = trace.jobs
    if eligible and "eligible" in frame.columns:
        later = pl.when(pl.col("eligible") > pl.col("submit")).then(pl.col("eligible")).otherwise(pl.col("submit"))
        frame = frame.with_columns(later.alias("submit"))
    if "name" in frame.columns:
        own = pl.col("name").str.extract(f"^{NAME}(\\d{{1,9}})$", 1).cast(pl.Int64)
        ids = frame.select(own.fill_null(pl.col("id"))).to_series()
        if ids.n_unique() == len(ids):
            frame = frame.with_columns(ids.alias("id"))
    return trace._replace(jobs=frame.sort("submit", "id"))
