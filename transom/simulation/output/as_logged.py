"""The starts that a log states, as a schedule of their own: figures of what happened, beside those of replays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from transom.models.arrays import BoolArray
from transom.simulation.core.node_runs import NodeRuns
from transom.simulation.core.schedule import MODES, Schedule
from transom.simulation.output.calibration import missed_wait
from transom.simulation.output.job_groups import Grouping
from transom.simulation.output.metrics import OUTAGE_METRICS, TAU, Trim, summary

AS_LOGGED = "as logged"
"""What the log is called beside policies."""

_UNTOLD = (
    *OUTAGE_METRICS,
    *(f"{what}_{mode}" for what in ("job_share", "node_hour_share", "mean_wait") for mode in MODES),
)
_OF_ALL = ("utilisation", "makespan", "throughput")
_OF_ENDS = tuple(
    f"{mean}_{what}"
    for mean in ("mean", "median", "p95")
    for what in ("response", "slowdown", "bounded_slowdown", "per_processor_slowdown")
)


class Logged(NamedTuple):
    """Starts by the log, which jobs count (whose start it states), and how figures begin that it does not tell."""

    schedule: Schedule
    trim: Trim
    untold: tuple[str, ...]

    def figures(self, like: Iterable[str], tau: float = TAU) -> dict[str, float]:
        """Figures of :func:`~transom.simulation.output.metrics.summary` by the log, NaN where it does not tell.

        It does not tell how jobs came to start, nor hop costs, outages and metrics of other packages; utilisation and
        makespan only if it states the start of every job. As in the replay, the former is relative to nodes in service.

        Parameters
        ----------
        like : names of the figures.
        tau : as of ``summary``.
        """
        told = summary(self.schedule, tau, self.trim, own=False)
        return {name: nan if name.startswith(self.untold) else told.get(name, nan) for name in like}


def as_logged(schedule: Schedule, trim: Trim | None = None) -> Logged | None:
    """What the log of a replayed trace says about the same jobs; None where it states no start.

    Parameters
    ----------
    schedule : a replay of the trace.
    trim : which jobs do not count.
    """
    logged, trim = schedule.logged, trim or Trim()
    if logged is None or not (known := logged >= 0).any():
        return None
    untold, out = _UNTOLD, schedule.outages
    if not known.all():
        among = known if trim.among is None else known & trim.among
        trim, untold = replace(trim, among=among), untold + _OF_ALL
    if out is not None:
        if len(out.lost):  # these ran shorter in the replay
            untold += (*_OF_ALL, *_OF_ENDS)
        none = np.empty(0, np.int64)  # by the log no outage of the replay ended a job
        out = replace(out, job=none, start=none, stop=none, lost=none, runs=NodeRuns(np.zeros(1, np.int64), none, none))
    start = np.where(known, logged, schedule.jobs.submit)
    order = np.empty(len(start), np.int64)
    order[np.argsort(start, kind="stable")] = np.arange(len(start))
    made = replace(
        schedule,
        policy=AS_LOGGED,
        start=start,
        end=start + schedule.runtime,
        mode=np.zeros_like(start),
        order=order,
        decisions={},
        spread=None,
        runs=None,
        outages=out,
    )
    return Logged(made, trim, untold)


class WaitError(NamedTuple):
    """Mean waits [s] by the log and in a replay, of so many jobs whose start is logged, and what is missed.

    ``missed`` is that of :func:`~transom.simulation.output.calibration.missed_wait` [s], at least the distance of both.
    """

    jobs: int
    logged_wait: float
    replayed_wait: float
    missed: float

    @property
    def error(self) -> float:
        """What is missed over the mean wait of the log; NaN where nobody waited by the log."""
        return self.missed / self.logged_wait if self.logged_wait > 0 else nan

    @property
    def of_mean(self) -> float:
        """The same of the mean wait alone, in which errors of different days cancel."""
        return abs(self.replayed_wait - self.logged_wait) / self.logged_wait if self.logged_wait > 0 else nan

    def document(self) -> dict[str, float | None]:
        """The same in JSON's terms."""
        return {**self._asdict(), "error": None if isnan(self.error) else self.error}


class ReplayError(NamedTuple):
    """How far the replay of a policy is from the log: of all jobs, and of each partition where there are several."""

    policy: str
    all_jobs: WaitError
    partitions: Mapping[str, WaitError]

    def document(self) -> dict[str, Any]:
        """The same in JSON's terms."""
        found = {name: each.document() for name, each in self.partitions.items()}
        return {"policy": self.policy, **self.all_jobs.document(), "partitions": found}


def replay_error(
    policy: str, schedule: Schedule, groups: Mapping[str, Grouping], trim: Trim | None = None
) -> ReplayError | None:
    """How far mean waits of a replay are from those of the log; None where it states no start of a job that counts.

    Parameters
    ----------
    policy : what to call the policy.
    schedule : its replay of a trace.
    groups : of the workload (:func:`~transom.simulation.output.job_groups.groupings`).
    trim : which jobs do not count.
    """
    logged = as_logged(schedule, trim)
    if logged is None or not (kept := logged.trim.kept(schedule)).any():
        return None

    partition = groups.get("partition", Grouping((), np.zeros(len(kept), np.int64)))

    def of(jobs: BoolArray) -> WaitError:
        by_log, replayed = logged.schedule.wait[jobs], schedule.wait[jobs]
        missed = missed_wait(schedule.jobs.submit[jobs], replayed - by_log, partition.of[jobs])
        return WaitError(int(jobs.sum()), float(by_log.mean()), float(replayed.mean()), missed)

    masks = {name: kept & (partition.of == place) for place, name in enumerate(partition.labels)}
    return ReplayError(policy, of(kept), {name: of(jobs) for name, jobs in masks.items() if jobs.any()})
