"""How close a replay comes to what a cluster did: its starts beside those that the trace states."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from transom.errors import ModelError
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.simulation.core.schedule import Schedule
from transom.simulation.output.metrics import Trim
from transom.traces.partitions import unique_names
from transom.traces.workload import Workload

ALL = "all"
"""The group of all jobs."""

_DAY = 86_400  # [s]


class Calibration(NamedTuple):
    """A replay beside the log, for a group of jobs whose start is logged; times in seconds.

    Parameters
    ----------
    jobs : how many these are.
    error_median, error_p90, error_mean : of the distance between replayed and logged start.
    order_agreement : of the pairs of jobs that start one after the other by the log, the share that the replay starts
        in the same order; pairs that it starts together count half. NaN where there is no such pair.
    order_agreement_queued : the same among pairs that waited at one time by the log. Jobs that never met start in
        the same order whatever the scheduler does.
    logged_wait, replayed_wait : mean waiting times.
    logged_quantiles, replayed_quantiles : the waiting times that a half, 90 % and 99 % of the jobs do not exceed.
    wait_distance : largest distance between the two distributions of waiting times, 0 to 1 (Kolmogorov-Smirnov).
    missed : mean error of the waits, see :func:`missed_wait`.
    """

    jobs: int
    error_median: float
    error_p90: float
    error_mean: float
    order_agreement: float
    order_agreement_queued: float
    logged_wait: float
    replayed_wait: float
    logged_quantiles: tuple[float, float, float]
    replayed_quantiles: tuple[float, float, float]
    wait_distance: float
    missed: float

    @property
    def wait_ratio(self) -> float:
        """Mean wait of the replay over that of the log; NaN where nobody waited."""
        return self.replayed_wait / self.logged_wait if self.logged_wait > 0 else math.nan

    @property
    def wait_error(self) -> float:
        """``missed`` over the mean wait of the log; NaN where nobody waited."""
        return self.missed / self.logged_wait if self.logged_wait > 0 else math.nan


def calibration(workload: Workload, schedule: Schedule, trim: Trim | None = None) -> dict[str, Calibration]:
    """A replay beside the log: all jobs (:data:`ALL`), then each partition where there are several.

    Parameters
    ----------
    workload : a trace that states when jobs started.
    schedule : its replay.
    trim : which jobs do not count.

    Raises
    ------
    ModelError : no start is logged, or that of no job that counts.
    """
    started = workload.origin.started
    if started is None or not (known := started >= 0).any():
        raise ModelError(f"{workload.name}: the trace does not say when jobs started, so nothing can be compared")
    known = known & (trim or Trim()).kept(schedule)
    if not known.any():
        raise ModelError(f"{workload.name}: the trace does not say when the jobs started that count")
    groups: dict[str, BoolArray] = {ALL: known}
    partition = workload.origin.partition
    if partition is not None:
        names = unique_names(workload.origin.names)
        for number in np.unique(partition[known]).tolist():
            name = names.get(number) or f"partition {number}"
            groups[f"partition {name}" if name == ALL else name] = known & (partition == number)
    submit = workload.jobs.submit
    apart = np.zeros(len(submit), np.int64) if partition is None else partition
    return {name: _compared(submit[of], started[of], schedule.start[of], apart[of]) for name, of in groups.items()}


def missed_wait(submit: IntArray, error: IntArray, group: IntArray) -> float:
    """Mean error of waits [s] in which too long and too short cancel only among jobs of one day and one group.

    What a replay gets wrong comes and goes with the queue. Over weeks it cancels in the mean, which may then be right
    by chance, and says nothing of how far another policy is off.

    Parameters
    ----------
    submit : submissions [s]; days count from the first one.
    error : of the wait of each job [s].
    group : a number for each job, such as that of its partition.
    """
    days = np.stack((group, (submit - submit.min()) // _DAY), axis=1)
    cells = np.unique(days, axis=0, return_inverse=True)[1].reshape(-1)
    return float(np.abs(np.bincount(cells, error)).sum() / len(error))


def start_after_end(workload: Workload) -> float | None:
    """How long after an end somebody starts, by the log [s].

    Of the jobs during whose wait another one ended, the time from the last such end to their start: the mean of the
    shorter nine tenths. Where most jobs start as soon as they can, it is how long nodes stay busy after a job
    (``completing`` of ``slurm-backfill``). Further ends make it shorter, starts that do not follow an end longer.

    Parameters
    ----------
    workload : a trace; None where it does not say when jobs started, or no job waited for an end.
    """
    started = workload.origin.started
    if started is None:
        return None
    known = started >= 0
    ends = np.sort((started + workload.runtime)[known])
    before = np.concatenate(([-1], ends))[np.searchsorted(ends, started, side="right")]
    after = np.sort((started - before)[known & (before > workload.jobs.submit)])
    return round(float(after[: -(-9 * len(after) // 10)].mean()), 2) if len(after) else None


def _compared(submit: IntArray, logged: IntArray, replayed: IntArray, group: IntArray) -> Calibration:
    error = np.abs(replayed - logged)
    waits = np.sort(logged - submit), np.sort(replayed - submit)
    quantiles = [tuple(np.quantile(each, (0.5, 0.9, 0.99)).tolist()) for each in waits]
    return Calibration(
        jobs=len(submit),
        error_median=float(np.median(error)),
        error_p90=float(np.quantile(error, 0.9)),
        error_mean=float(error.mean()),
        order_agreement=agreement(logged, replayed),
        order_agreement_queued=agreement_of_those_that_met(submit, logged, replayed),
        logged_wait=float(waits[0].mean()),
        replayed_wait=float(waits[1].mean()),
        logged_quantiles=quantiles[0],
        replayed_quantiles=quantiles[1],
        wait_distance=_distance(*waits),
        missed=missed_wait(submit, replayed - logged, group),
    )


def agreement(logged: IntArray, replayed: IntArray) -> float:
    """The share of pairs with different logged starts that the replay starts in the same order; ties count half."""
    from scipy.stats import kendalltau

    pairs, tied, tied_too = math.comb(len(logged), 2), _tied(logged), _tied(replayed)
    if pairs == tied:
        return math.nan
    if pairs == tied_too:
        return 0.5
    # Kendall's tau-b is the surplus of pairs in the same order over the mean number of pairs that are not tied.
    surplus = float(kendalltau(logged, replayed).statistic) * math.sqrt((pairs - tied) * (pairs - tied_too))
    return (1 + surplus / (pairs - tied)) / 2


def agreement_of_those_that_met(submit: IntArray, logged: IntArray, replayed: IntArray) -> float:
    """:func:`agreement` over the pairs of jobs that waited at one time by the log; ``submit`` is ascending."""
    waiting, same, pairs = np.empty(0, np.int64), 0, 0
    for job, (time, start) in enumerate(zip(submit.tolist(), logged.tolist(), strict=True)):
        waiting = waiting[logged[waiting] > time]
        if start > time:
            by_log = np.sign(start - logged[waiting])
            same += int((by_log * np.sign(replayed[job] - replayed[waiting])).sum())
            pairs += int(np.count_nonzero(by_log))
            waiting = np.append(waiting, job)
    return (1 + same / pairs) / 2 if pairs else math.nan


def _tied(values: IntArray) -> int:
    counts = np.unique(values, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def _distance(a: IntArray, b: IntArray) -> float:
    grid: IntArray = np.union1d(a, b)
    shares: list[FloatArray] = [np.searchsorted(each, grid, side="right") / len(each) for each in (a, b)]
    return float(np.abs(shares[0] - shares[1]).max())
