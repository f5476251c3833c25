r"""Metrics: functions of a :class:`Schedule`.

With :math:`s_j, b_j, e_j` submission, start and end of job :math:`j`, :math:`n_j` its nodes and
:math:`N` the nodes of the machine: waiting time :math:`w_j = b_j - s_j`, runtime
:math:`r_j = e_j - b_j`, response :math:`e_j - s_j`. All times are in seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, NamedTuple, Protocol

import numpy as np

from transom import registry
from transom.errors import ModelError, SpecError
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.simulation.core.outage_log import FAILURE, OutageLog
from transom.simulation.core.schedule import MODES, Schedule

TAU = 10
"""Default bound [s] below which a runtime does not count for less."""

WEEK = 7 * 86_400
"""Seconds of a week."""


class Metric(NamedTuple):
    """What a figure of :func:`summary` is: unit, which way is better (or neither), and meaning."""

    unit: str
    better: Literal["lower", "higher", None]
    description: str


METRICS: dict[str, Metric] = {
    "jobs": Metric("", None, "jobs that count"),
    "mean_wait": Metric("s", "lower", "mean waiting time"),
    "median_wait": Metric("s", "lower", "median waiting time"),
    "p95_wait": Metric("s", "lower", "95th percentile of the waiting times"),
    "max_wait": Metric("s", "lower", "longest waiting time"),
    "mean_response": Metric("s", "lower", "mean time from submission to end"),
    "median_response": Metric("s", "lower", "median time from submission to end"),
    "mean_slowdown": Metric("", "lower", "mean of response over runtime"),
    "median_slowdown": Metric("", "lower", "median of response over runtime"),
    "mean_bounded_slowdown": Metric("", "lower", "mean slowdown, short runtimes counted as tau"),
    "median_bounded_slowdown": Metric("", "lower", "median slowdown, short runtimes counted as tau"),
    "p95_bounded_slowdown": Metric("", "lower", "95th percentile of the bounded slowdowns"),
    "mean_per_processor_slowdown": Metric("", "lower", "mean of bounded slowdown per node"),
    "utilisation": Metric("", "higher", "used share of the node-seconds, first submission to last end"),
    "utilisation_submitting": Metric("", "higher", "used share of the node-seconds, first to last submission"),
    "makespan": Metric("s", "lower", "first submission to last end"),
    "throughput": Metric("1/h", "higher", "jobs per hour of the makespan"),
    **{f"job_share_{mode}": Metric("", None, f"share of the jobs that started {mode}") for mode in MODES},
    **{f"node_hour_share_{mode}": Metric("", None, f"share of the node-hours that started {mode}") for mode in MODES},
    **{f"mean_wait_{mode}": Metric("s", "lower", f"mean waiting time of those that started {mode}") for mode in MODES},
}
"""Every figure of :func:`summary`, in the order of tables."""

HOP_METRICS: dict[str, Metric] = {
    "mean_hop_cost": Metric("", "lower", "mean communication-hop cost of a job, 0 for jobs of one node"),
    "median_hop_cost": Metric("", "lower", "median communication-hop cost of a job"),
    "total_hop_cost": Metric("", "lower", "communication-hop cost of all jobs"),
    "mean_leaves": Metric("", "lower", "mean number of leaf switches of a job"),
    "mean_pods": Metric("", "lower", "mean number of pods of a job"),
}
"""What :func:`summary` adds on a cluster with a topology."""


OUTAGE_METRICS: dict[str, Metric] = {
    "failures": Metric("", None, "failures of nodes"),
    "out_of_service": Metric("", None, "share of the node-seconds out of service, first submission to last end"),
    "requeued": Metric("", "lower", "attempts of jobs that an outage ended and that were repeated"),
    "lost_jobs": Metric("", "lower", "jobs that an outage ended for good"),
    "lost_node_seconds": Metric("node s", "lower", "node-seconds of attempts that an outage ended"),
}
"""What :func:`summary` adds where nodes go out of service; these are of all jobs."""

_OURS = {**METRICS, **HOP_METRICS, **OUTAGE_METRICS}


class OwnMetric(Protocol):
    """A metric of another package, registered under its name as an entry point ``transom.metrics``."""

    unit: str
    better: Literal["lower", "higher", None]
    description: str

    def __call__(self, schedule: Schedule, kept: BoolArray, /) -> float:
        """The figure; ``kept``, shape ``(jobs,)``, says which jobs count. NaN where there is nothing to measure."""


@cache
def own_metrics() -> dict[str, OwnMetric]:
    """The metrics that other packages have registered, by name.

    Raises
    ------
    SpecError : one cannot be loaded, or has the name of a figure of :func:`summary`.
    """
    found: dict[str, OwnMetric] = {}
    for name in registry.names(registry.METRICS):
        if name in _OURS:
            raise SpecError(f"metric {name!r}: a figure of Transom has this name")
        found[name] = registry.make(registry.METRICS, name)
    return found


def known_metrics() -> dict[str, Metric]:
    """What the figures of :func:`summary` are, those of other packages among them, by name."""
    own = {name: Metric(each.unit, each.better, each.description) for name, each in own_metrics().items()}
    return {**_OURS, **own}


def wait(schedule: Schedule) -> IntArray:
    """Waiting time of each job [s], shape ``(jobs,)``."""
    return schedule.wait


def response(schedule: Schedule) -> IntArray:
    """Time from submission to end of each job [s], shape ``(jobs,)``."""
    return schedule.end - schedule.jobs.submit


def slowdown(schedule: Schedule) -> FloatArray:
    """Response over runtime of each job, >= 1, shape ``(jobs,)``."""
    return response(schedule) / schedule.runtime


def bounded_slowdown(schedule: Schedule, tau: float = TAU) -> FloatArray:
    r""":math:`\max\left(\frac{w_j + r_j}{\max(r_j, \tau)}, 1\right)` of each job, shape ``(jobs,)``.

    Parameters
    ----------
    schedule : what happened.
    tau : runtimes below it count as this long [s], > 0.

    References
    ----------
    Feitelson and Rudolph, Metrics and benchmarking for parallel job scheduling, JSSPP 1998.
    """
    return np.maximum(response(schedule) / np.maximum(schedule.runtime, _positive(tau)), 1.0)


def per_processor_slowdown(schedule: Schedule, tau: float = TAU) -> FloatArray:
    r""":math:`\max\left(\frac{w_j + r_j}{n_j \max(r_j, \tau)}, 1\right)` of each job, shape ``(jobs,)``.

    References
    ----------
    Zotkin and Keleher, Job-length estimation and performance in backfilling schedulers, HPDC 1999;
    MARS, Table III.
    """
    return np.maximum(response(schedule) / (schedule.jobs.nodes * np.maximum(schedule.runtime, _positive(tau))), 1.0)


def node_seconds(schedule: Schedule) -> IntArray:
    """Nodes times runtime of each job [node-seconds], shape ``(jobs,)``."""
    return schedule.jobs.nodes * schedule.runtime


def span(schedule: Schedule) -> tuple[int, int]:
    """First submission and last end [s]; (0, 0) without jobs."""
    if len(schedule) == 0:
        return 0, 0
    return int(schedule.jobs.submit.min()), int(schedule.end.max())


def makespan(schedule: Schedule) -> int:
    """Time from the first submission to the last end [s]."""
    first, last = span(schedule)
    return last - first


def utilisation(
    schedule: Schedule, t0: float | None = None, t1: float | None = None, resource: str | None = None
) -> float:
    """Used share of what the machine offers between two instants: of nodes, of those in service.

    Parameters
    ----------
    schedule : what happened.
    t0, t1 : the instants [s], by default the first submission and the last end.
    resource : name of a further resource; by default the nodes.

    Returns
    -------
    A number from 0 to 1; NaN if ``t1 <= t0``.

    Raises
    ------
    ModelError : the cluster has no such resource.
    """
    first, last = span(schedule)
    t0 = first if t0 is None else t0
    t1 = last if t1 is None else t1
    amount, capacity = schedule.jobs.nodes, schedule.cluster.num_nodes
    if resource is not None:
        if resource not in schedule.cluster.resources:
            known = ", ".join(schedule.cluster.resources) or "none"
            raise ModelError(f"the cluster has no resource {resource!r}. Known: {known}")
        at = schedule.cluster.resources.index(resource)
        amount, capacity = schedule.jobs.demand[:, at], schedule.cluster.capacities[at]
    if t1 <= t0 or capacity == 0:
        return float("nan")
    inside = np.maximum(np.minimum(schedule.end, t1) - np.maximum(schedule.start, t0), 0)
    used, offered = int((amount * inside).sum()), capacity * int(t1 - t0)
    if (log := schedule.outages) is not None:
        again = log.requeued()
        before = np.maximum(np.minimum(log.stop[again], t1) - np.maximum(log.start[again], t0), 0)
        used += int((amount[log.job[again]] * before).sum())
        offered -= log.node_seconds(t0, t1) if resource is None else 0
    return float(used / offered) if offered else float("nan")


@dataclass(frozen=True, slots=True)
class Trim:
    """Which jobs do not count: those submitted while the machine fills up or drains.

    Jobs left out still occupied the machine: they count for the utilisation while the others run.

    Parameters
    ----------
    head_seconds, tail_seconds : jobs submitted so soon after the first or so late before the last
        submission do not count [s], >= 0.
    head_fraction, tail_fraction : shares of the jobs, by submission, that do not count, >= 0.
    among : which jobs may count at all, shape ``(jobs,)``; all by default.

    Raises
    ------
    ModelError : a number is negative, or both shares leave no job.
    """

    head_seconds: float = 0.0
    tail_seconds: float = 0.0
    head_fraction: float = 0.0
    tail_fraction: float = 0.0
    among: BoolArray | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("head_seconds", "tail_seconds", "head_fraction", "tail_fraction"):
            if not getattr(self, name) >= 0:
                raise ModelError(f"trim: {name} must be >= 0, got {getattr(self, name)}")
        if self.head_fraction + self.tail_fraction >= 1:
            raise ModelError(f"trim: {self.head_fraction} and {self.tail_fraction} of the jobs leave none")

    def kept(self, schedule: Schedule) -> BoolArray:
        """Which jobs of a schedule count, shape ``(jobs,)``."""
        return self.counts(schedule.jobs.submit)

    def counts(self, submit: IntArray) -> BoolArray:
        """Which jobs count by their submissions [s], ascending, shape ``(jobs,)``."""
        count = len(submit)
        if count == 0:
            return np.zeros(0, bool)
        kept: BoolArray = (submit - submit[0] >= self.head_seconds) & (submit[-1] - submit >= self.tail_seconds)
        kept[: int(self.head_fraction * count)] = False
        kept[count - int(self.tail_fraction * count) :] = False
        return kept if self.among is None else kept & self.among


def summary(schedule: Schedule, tau: float = TAU, trim: Trim | None = None, own: bool = True) -> dict[str, float]:
    """The figures of :data:`METRICS`, by name and in that order; then those of :data:`HOP_METRICS` with a topology, and
    `utilisation_NAME` and `utilisation_submitting_NAME` of each further resource, those of :data:`OUTAGE_METRICS` with
    outages and those of :func:`own_metrics`.

    Parameters
    ----------
    schedule : what happened.
    tau : bound of the slowdowns [s], > 0.
    trim : which jobs do not count; utilisation and makespan are then those from the first
        submission of the jobs that count to their last end or submission.
    own : whether those of other packages are among them.

    Returns
    -------
    Floats; NaN where there is nothing to take the mean of.
    """
    kept = (trim or Trim()).kept(schedule)
    waits, responses = schedule.wait[kept], response(schedule)[kept]
    slow, bounded = slowdown(schedule)[kept], bounded_slowdown(schedule, tau)[kept]
    per_processor = per_processor_slowdown(schedule, tau)[kept]
    work, mode = node_seconds(schedule)[kept], schedule.mode[kept]
    submit, end = schedule.jobs.submit[kept], schedule.end[kept]
    count = len(waits)
    first, last_submit, last = (submit.min(), submit.max(), end.max()) if count else (0, 0, 0)
    figures = {
        "jobs": count,
        "mean_wait": _mean(waits),
        "median_wait": _quantile(waits, 0.5),
        "p95_wait": _quantile(waits, 0.95),
        "max_wait": waits.max() if count else np.nan,
        "mean_response": _mean(responses),
        "median_response": _quantile(responses, 0.5),
        "mean_slowdown": _mean(slow),
        "median_slowdown": _quantile(slow, 0.5),
        "mean_bounded_slowdown": _mean(bounded),
        "median_bounded_slowdown": _quantile(bounded, 0.5),
        "p95_bounded_slowdown": _quantile(bounded, 0.95),
        "mean_per_processor_slowdown": _mean(per_processor),
        "utilisation": utilisation(schedule, first, last),
        "utilisation_submitting": utilisation(schedule, first, last_submit),
        "makespan": last - first,
        "throughput": count * 3600 / (last - first) if last > first else np.nan,
    }
    for position, name in enumerate(MODES):
        figures[f"job_share_{name}"] = _share(mode == position, np.ones(count))
    for position, name in enumerate(MODES):
        figures[f"node_hour_share_{name}"] = _share(mode == position, work)
    for position, name in enumerate(MODES):
        figures[f"mean_wait_{name}"] = _mean(waits[mode == position])
    if schedule.spread is not None:
        costs = schedule.spread.hop_cost[kept]
        figures["mean_hop_cost"] = _mean(costs)
        figures["median_hop_cost"] = _quantile(costs, 0.5)
        figures["total_hop_cost"] = costs.sum()
        figures["mean_leaves"] = _mean(schedule.spread.leaves[kept])
        figures["mean_pods"] = _mean(schedule.spread.pods[kept])
    for tail, until in (("", last), ("_submitting", last_submit)):
        for name in schedule.cluster.resources:
            figures[f"utilisation{tail}_{name}"] = utilisation(schedule, first, until, name)
    if schedule.outages is not None:
        figures |= _outage_figures(schedule, schedule.outages)
    if own:
        figures |= {name: metric(schedule, kept) for name, metric in own_metrics().items()}
    return {name: float(figure) for name, figure in figures.items()}


def _outage_figures(schedule: Schedule, log: OutageLog) -> dict[str, float]:
    first, last = span(schedule)
    failed = (log.kind == FAILURE) & (log.begin < last) & (log.end > first)
    again, all_seconds = log.requeued(), schedule.cluster.num_nodes * (last - first)
    return {
        "failures": int((log.last - log.first + 1)[failed].sum()),
        "out_of_service": log.node_seconds(first, last) / all_seconds if all_seconds else float("nan"),
        "requeued": int(again.sum()),
        "lost_jobs": len(log.lost),
        "lost_node_seconds": int((schedule.jobs.nodes[log.job] * (log.stop - log.start)).sum()),
    }


class Aggregate(NamedTuple):
    """Mean and sample standard deviation of one figure over repetitions."""

    mean: float
    deviation: float


def aggregate(summaries: Sequence[dict[str, float]]) -> dict[str, Aggregate]:
    """Mean and sample standard deviation of each figure over repetitions.

    Parameters
    ----------
    summaries : what :func:`summary` gave for each repetition, at least one. A repetition in which
        a figure is NaN (no job of that mode, say) does not count for that figure.

    Raises
    ------
    ModelError : there is no summary, or they hold different figures.
    """
    if not summaries:
        raise ModelError("aggregate: there is no summary")
    if len({tuple(each) for each in summaries}) > 1:
        raise ModelError("aggregate: the summaries hold different figures")
    found = {}
    for name in summaries[0]:
        values = np.array([each[name] for each in summaries])
        values = values[~np.isnan(values)]
        # One run says nothing about how far the next one would be.
        deviation = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
        found[name] = Aggregate(_mean(values), deviation)
    return found


def _positive(tau: float) -> float:
    if not 0 < tau < np.inf:
        raise ModelError(f"tau must be > 0 s and finite, got {tau}")
    return tau


def _mean(values: IntArray | FloatArray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _quantile(values: IntArray | FloatArray, share: float) -> float:
    return float(np.quantile(values, share)) if len(values) else float("nan")


def _share(chosen: BoolArray, weight: IntArray | FloatArray) -> float:
    total = weight.sum()
    return float(weight[chosen].sum() / total) if total else float("nan")
