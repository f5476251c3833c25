"""Today's policy: which one stands for the scheduler that the log is of, and how far its replay is from the log."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from transom.cli.output.console import note, progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transom.cli.output.progress_lines import ProgressLines
    from transom.simulation.output.as_logged import ReplayError
    from transom.simulation.output.metrics import Trim
    from transom.simulation.runs import Run
    from transom.traces import Workload

OF_SLURM = "slurm-backfill"
"""Today's policy of traces that were imported from Slurm."""

LONG = 200_000
"""Jobs of a trace from which on a further replay is only made if it is asked for."""


def todays_run(workload: Workload, runs: Sequence[Run], stated: str | None) -> Run | None:
    """The run of today's policy: one of ``runs``, or a further one; None where nothing is to be compared with the log.

    Parameters
    ----------
    workload : the trace.
    runs : the policies that are replayed, all on the same machine.
    stated : ``[LABEL=]SPEC``; by default slurm-backfill for traces from Slurm, else the first of ``runs``.

    Raises
    ------
    SpecError : the policy is unknown, or is stated though the trace does not say when jobs started.
    """
    from transom.errors import SpecError
    from transom.simulation.runs import parse_runs
    from transom.traces.trace_file import made_of

    if workload.origin.started is None:
        if stated is not None:
            raise SpecError(f"--today {stated}: {workload.name} does not say when jobs started, so nothing is compared")
        return None
    if stated is None:
        of_slurm = runs[0].rules == "textbook" and made_of(workload.origin.path) == "slurm"
        if not of_slurm:
            return runs[0]
    (today,) = parse_runs([stated or OF_SLURM], runs[0].seed)
    known = next((run for run in runs if run.spec == today.spec), None)
    return known or replace(today, rules=runs[0].rules, outages=runs[0].outages)


def error_of(today: Run, workload: Workload, asked: bool, trim: Trim) -> ReplayError | None:
    """How far a further replay is from the log, by what is kept or a new one; None for what takes long unless asked.

    Parameters
    ----------
    today : the run.
    workload : a trace that states when jobs started.
    asked : whether the policy was named.
    trim : which jobs do not count.
    """
    from transom.simulation.calibrated import calibrated, kept_calibration

    started = workload.origin.started
    if started is None or not (started[trim.counts(workload.jobs.submit)] >= 0).any():
        return None
    if not asked and len(workload) > LONG:
        if (kept := kept_calibration(workload, today, trim)) is not None:
            return kept.error(today.label)
        asking = f"--today {today.spec} does so, and transom calibrate"
        note(f"not compared with the log, which takes a further replay of {len(workload):,} jobs: {asking}")
        return None
    with progress() as bars:
        task = bars.add_task(f"today: {today.label}", total=len(workload))
        found = calibrated(workload, today, trim, partial(_report, bars, task))
        bars.update(task, completed=len(workload))
    return found.error(today.label)


def _report(bars: ProgressLines, task: int, done: int) -> None:
    bars.update(task, completed=done)
