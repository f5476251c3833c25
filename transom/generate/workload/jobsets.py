"""Jobsets that an agent learns from: sampled, real and synthetic ones, in the order of growing difficulty.

Sampled jobsets have random jobs of a trace that arrive at a constant rate; real ones are its weeks; synthetic ones
follow its rhythm of arrivals by hour and day, with jobs like its own. Schedules are chaotic: to see how far a figure
depends on chance, move the submissions with :meth:`transom.traces.Workload.jittered`.

References
----------
Fan et al., Deep reinforcement agent for scheduling in HPC, IPDPS 2021, sections III-C and IV-D, figure 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from transom.errors import ModelError, SpecError
from transom.generate.workload.arrivals import HOURS, ArrivalModel, fit_arrivals
from transom.models import JobTable
from transom.traces import Workload

Phase = Literal["sampled", "real", "synthetic"]
Draw = Literal["joint", "independent"]

PHASES: tuple[Phase, ...] = get_args(Phase)
"""The phases of a training in the paper's order."""

JOBS = 3200
"""Jobs of a sampled or synthetic jobset: the paper states 320,000 jobs in 100 jobsets, and no lengths."""

COUNTS = {"sampled": 9, "synthetic": 82}
"""How many jobsets the paper makes; of real ones there are as many as the trace has weeks."""

_DAY = 86_400
_WEEK = 7 * _DAY


def jobsets(
    workload: Workload,
    phase: Phase,
    rng: np.random.Generator,
    count: int | None = None,
    jobs: int = JOBS,
    draw: Draw = "joint",
) -> Iterator[Workload]:
    """The jobsets of one phase, each from its own random stream, so the number of sets does not change them.

    Parameters
    ----------
    workload : the training part of a trace.
    phase : one of :data:`PHASES`.
    rng : where they come from; real weeks need none.
    count : how many, by default as in the paper (:data:`COUNTS`) or all weeks; real weeks start over after the last.
    jobs : in each sampled or synthetic one.
    draw : of synthetic ones, see :func:`synthetic`.

    Raises
    ------
    SpecError : the phase or the draw is unknown, or a number is not positive.
    ModelError : the workload has no two instants of submission.
    """
    if phase not in PHASES:
        raise SpecError(f"unknown phase {phase!r}. Known: {', '.join(PHASES)}")
    if count is not None and count <= 0:
        raise SpecError(f"jobsets: count must be > 0, got {count}")
    if phase == "real":
        weeks = real_weeks(workload)
        for number in range(count or len(weeks)):
            yield weeks[number % len(weeks)]
        return
    streams = rng.spawn(count or COUNTS[phase])
    for number, own in enumerate(streams, 1):
        made = sampled(workload, jobs, own) if phase == "sampled" else synthetic(workload, jobs, own, draw)
        yield replace(made, name=f"{made.name}-{number}")


def sampled(workload: Workload, jobs: int, rng: np.random.Generator, rate: float = 1.0) -> Workload:
    """Random jobs of a workload, each as a whole, that arrive in a Poisson process of its mean rate.

    Parameters
    ----------
    workload : where the jobs are drawn from with equal probability, with replacement.
    jobs : how many, > 0; ids from 1 in their order, no dependencies.
    rng : source of random numbers.
    rate : factor on the rate of arrivals, > 0.

    Raises
    ------
    SpecError : a number is out of range.
    ModelError : the workload has no two instants of submission.
    """
    submit = workload.jobs.submit
    if len(submit) < 2 or submit[0] == submit[-1]:
        raise ModelError(f"sampled jobs: workload {workload.name} has no two submission times to take a mean gap of")
    hourly = 3600 * (len(submit) - 1) / int(submit[-1] - submit[0])
    made = ArrivalModel(np.full(HOURS, hourly), workload).sample(jobs, rng, rate)
    return replace(made, name=f"{workload.name}-sampled")


def real_weeks(workload: Workload) -> list[Workload]:
    """The weeks of a workload from its first submission on, each on its own; weeks without jobs are left out.

    Dependencies on jobs of other weeks are dropped; submission times stay.
    """
    submit = workload.jobs.submit
    week = (submit - submit[0]) // _WEEK if len(submit) else submit
    return [
        replace(workload.take(week == number), name=f"{workload.name}-week-{number + 1}")
        for number in np.unique(week).tolist()
    ]


def synthetic(
    workload: Workload,
    jobs: int,
    rng: np.random.Generator,
    draw: Draw = "joint",
    rate: float = 1.0,
) -> Workload:
    r"""Jobs like those of a workload, arriving in its rhythm of hours and days.

    Arrivals are those of :func:`~transom.generate.workload.arrivals.fit_arrivals`, a rate for each hour of the week.

    Parameters
    ----------
    workload : the workload to imitate.
    jobs : how many, > 0; ids from 1 in their order, no dependencies.
    rng : source of random numbers.
    draw : ``joint`` draws each job as a whole, so that size, walltime and runtime stay together; ``independent`` draws
        size, walltime and accuracy (the share of the walltime that is used) each from its own distribution, as figure 3
        shows them. The load is then another than that of the workload, for large jobs are no longer the long ones.
    rate : factor on the rates of arrivals, > 0.

    Raises
    ------
    SpecError : the draw is unknown, or a number is out of range.
    ModelError : the workload has no two instants of submission.
    """
    if draw not in get_args(Draw):
        raise SpecError(f"unknown draw {draw!r}. Known: {', '.join(get_args(Draw))}")
    made = fit_arrivals(workload).sample(jobs, rng, rate)
    if draw == "independent":
        made = _remixed(made, workload, rng)
    return replace(made, name=f"{workload.name}-synthetic")


def by_months(workload: Workload, first: int, last: int, epoch: int = 0) -> Workload:
    """The jobs that were submitted in some months of a trace, counted from 1.

    Month 1 begins at midnight (UTC) of the day of the first submission, the others on the same day of the calendar
    months that follow, or on the last day of a shorter month.

    Parameters
    ----------
    workload : the whole trace.
    first, last : the first and the last month, both included; dependencies on jobs of others are dropped.
    epoch : second 0 of the trace's clock in Unix time [s], which the header of a trace states as ``UnixStartTime``.

    Raises
    ------
    ModelError : no such months, or no job was submitted in them.
    """
    if not 1 <= first <= last:
        raise ModelError(f"months must ascend from 1, got {first} to {last}")
    chosen = np.zeros(0, bool)
    if len(workload):
        time = workload.jobs.submit + epoch
        chosen = (time >= _month(int(time[0]), first)) & (time < _month(int(time[0]), last + 1))
    if not chosen.any():
        raise ModelError(f"{workload.name}: no job was submitted in months {first} to {last}")
    return replace(workload.take(chosen), name=f"{workload.name}-months-{first}-{last}")


def count_months(workload: Workload, epoch: int = 0) -> int:
    """The month in which the last job was submitted, counted as by :func:`by_months`; 0 without jobs."""
    if not len(workload):
        return 0
    first, last = int(workload.jobs.submit[0]) + epoch, int(workload.jobs.submit[-1]) + epoch
    number = 1
    while last >= _month(first, number + 1):
        number += 1
    return number


def _month(start: int, number: int) -> int:
    """When a month begins [s, Unix time] of a trace whose first job was submitted at ``start``."""
    day = np.datetime64(start // _DAY, "D")
    month = day.astype("datetime64[M]")
    of_month = day - month.astype("datetime64[D]")
    wanted = month + (number - 1)
    begin = min(wanted.astype("datetime64[D]") + of_month, (wanted + 1).astype("datetime64[D]") - 1)
    return int(begin.astype(np.int64)) * _DAY


def _remixed(made: Workload, like: Workload, rng: np.random.Generator) -> Workload:
    """The same arrivals with size, walltime and accuracy drawn one by one from the jobs of ``like``."""
    sizes, walltimes, accuracies = rng.integers(0, len(like), (3, len(made)))
    data = like.jobs.data[sizes]  # users and further resources go with the size
    data[:, :2] = made.jobs.data[:, :2]
    data[:, 3] = like.jobs.walltime[walltimes]
    used = like.runtime[accuracies] / like.jobs.walltime[accuracies]
    runtime = np.maximum(np.rint(used * data[:, 3]), 1).astype(np.int64)
    return replace(made, jobs=JobTable(data), runtime=runtime)
