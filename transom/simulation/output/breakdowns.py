"""Metrics by group of jobs: by start mode, by size class, by week, and over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from transom.errors import ModelError
from transom.models import Cluster
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.simulation.core.schedule import MODES, Schedule
from transom.simulation.output.metrics import WEEK, Trim, node_seconds


class Group(NamedTuple):
    """The jobs of one mode, size class, week, partition, account or user.

    Waiting times are NaN where there is no job; shares are of the jobs that count, NaN without any.
    """

    jobs: int
    job_share: float
    node_hours: float
    node_hour_share: float
    mean_wait: float
    max_wait: float


def by_mode(schedule: Schedule, trim: Trim | None = None) -> dict[str, Group]:
    """The jobs by how they came to start, one group for each of :data:`MODES`.

    References
    ----------
    Fan et al., DRAS, Table IV and Figure 8.
    """
    kept = (trim or Trim()).kept(schedule)
    return {name: _group(schedule, kept, schedule.mode == position) for position, name in enumerate(MODES)}


def size_edges(cluster: Cluster) -> tuple[int, ...]:
    """Lower bounds of size classes [nodes]: 1 and the seven largest powers of two on the machine.

    On a machine of 4,360 nodes: 1, 64, 128, 256, 512, 1024, 2048, 4096.
    """
    top = cluster.num_nodes.bit_length() - 1
    return tuple(sorted({1, *(1 << k for k in range(max(0, top - 6), top + 1))}))


def size_class(schedule: Schedule, edges: Sequence[int] | None = None) -> IntArray:
    """The size class of each job: position of the largest edge not above its nodes, shape ``(jobs,)``.

    Raises
    ------
    ModelError : the edges are not ascending from 1.
    """
    bounds = size_edges(schedule.cluster) if edges is None else tuple(edges)
    if not bounds or bounds[0] != 1 or any(a >= b for a, b in pairwise(bounds)):
        raise ModelError(f"size classes: edges must ascend from 1, got {list(bounds)}")
    return np.searchsorted(np.array(bounds), schedule.jobs.nodes, side="right").astype(np.int64) - 1


def size_labels(cluster: Cluster, edges: Sequence[int] | None = None) -> tuple[str, ...]:
    """What to call the size classes, such as ``"128-255"``."""
    bounds = size_edges(cluster) if edges is None else tuple(edges)
    lasts = [*(edge - 1 for edge in bounds[1:]), max(cluster.num_nodes, bounds[-1])]
    return tuple(str(a) if a == b else f"{a}-{b}" for a, b in zip(bounds, lasts, strict=True))


def by_size(schedule: Schedule, edges: Sequence[int] | None = None, trim: Trim | None = None) -> dict[str, Group]:
    """The jobs by size class.

    Parameters
    ----------
    schedule : what happened.
    edges : smallest size of each class [nodes], ascending from 1; by default :func:`size_edges`.
    trim : which jobs do not count.

    References
    ----------
    Fan et al., DRAS, Figures 2 and 7.
    """
    kept = (trim or Trim()).kept(schedule)
    of = size_class(schedule, edges)
    labels = size_labels(schedule.cluster, edges)
    return {label: _group(schedule, kept, of == position) for position, label in enumerate(labels)}


def by_group(schedule: Schedule, labels: Sequence[str], of: IntArray, trim: Trim | None = None) -> dict[str, Group]:
    """The jobs by groups such as their partitions, those with the most node-hours first; groups without jobs are none.

    Parameters
    ----------
    schedule : what happened.
    labels, of : what the groups are called, and the position of each job's group, -1 for none, shape ``(jobs,)``.
    trim : which jobs do not count.
    """
    kept = (trim or Trim()).kept(schedule)
    work, wait = node_seconds(schedule), schedule.wait
    total = (kept.sum(), work[kept].sum())
    mine = kept & (of >= 0)
    of, work, wait, count = of[mine], work[mine], wait[mine], len(labels)
    longest = np.zeros(count, np.int64)
    np.maximum.at(longest, of, wait)
    jobs, worked, waited = (np.bincount(of, each, count) for each in (None, work, wait))
    order = [k for k in np.argsort(-worked, kind="stable").tolist() if jobs[k]]
    return {labels[k]: _group_of(jobs[k], worked[k], waited[k], longest[k], total) for k in order}


class Hops(NamedTuple):
    """Means over jobs on a cluster with a topology: hop cost, leaf switches and pods; NaN where there is no job."""

    hop_cost: float
    leaves: float
    pods: float


def hops_by_size(schedule: Schedule, edges: Sequence[int] | None = None, trim: Trim | None = None) -> dict[str, Hops]:
    """How far the nodes of a job lie apart, by size class as in :func:`by_size`; empty without a topology."""
    if schedule.spread is None:
        return {}
    kept, of = (trim or Trim()).kept(schedule), size_class(schedule, edges)
    found = {}
    for position, label in enumerate(size_labels(schedule.cluster, edges)):
        mine = kept & (of == position)
        columns = (getattr(schedule.spread, name)[mine] for name in Hops._fields)
        found[label] = Hops(*(float(column.mean()) if mine.any() else float("nan") for column in columns))
    return found


class Week(NamedTuple):
    """A week from the first submission on: its number from 1, start [s], jobs submitted in it, utilisation."""

    number: int
    start: int
    group: Group
    utilisation: float


def by_week(schedule: Schedule, trim: Trim | None = None) -> list[Week]:
    """The jobs by the week of their submission, counted from the first one; weeks without jobs are left out.

    References
    ----------
    Fan et al., DRAS, Figure 9.
    """
    if len(schedule) == 0:
        return []
    kept, submit = (trim or Trim()).kept(schedule), schedule.jobs.submit
    week = (submit - submit[0]) // WEEK
    begins = np.flatnonzero(np.diff(week, prepend=-1))  # jobs are in the order of their submissions
    number, count = week[begins], len(begins)
    wait, work = schedule.wait * kept, node_seconds(schedule) * kept
    jobs, waited, worked = (np.add.reduceat(each, begins) for each in (kept.astype(np.int64), wait, work))
    longest, total = np.maximum.reduceat(wait, begins), (jobs.sum(), worked.sum())
    start = submit[0] + WEEK * number
    edges = np.unique(np.append(start, start + WEEK))
    used = busy_seconds(used_nodes(schedule), edges)[np.searchsorted(edges, start)]
    offered = np.full(count, schedule.cluster.num_nodes * WEEK)
    if (log := schedule.outages) is not None:
        offered -= [log.node_seconds(each, each + WEEK) for each in start.tolist()]
    return [
        Week(
            number=int(number[i]) + 1,
            start=int(start[i]),
            group=_group_of(jobs[i], worked[i], waited[i], longest[i], total),
            utilisation=float(used[i] / offered[i]) if offered[i] else float("nan"),
        )
        for i in range(count)
    ]


class Intervals(NamedTuple):
    """What counts for a time: from when and until when [s], and how much, each of shape ``(intervals,)``."""

    begin: IntArray
    end: IntArray
    amount: IntArray


def queue_length(schedule: Schedule) -> Intervals:
    """Jobs while they wait."""
    return Intervals(schedule.jobs.submit, schedule.start, np.ones(len(schedule), np.int64))


def used_nodes(schedule: Schedule, mode: int | None = None) -> Intervals:
    """Nodes while they are used.

    Parameters
    ----------
    schedule : what happened.
    mode : count only the jobs of that start mode, by its position in :data:`MODES`.
    """
    start, end, nodes, modes = schedule.start, schedule.end, schedule.jobs.nodes, schedule.mode
    if (log := schedule.outages) is not None:
        again = log.requeued()
        start, end = np.append(start, log.start[again]), np.append(end, log.stop[again])
        nodes, modes = (np.append(each, each[log.job[again]]) for each in (nodes, modes))
    chosen = slice(None) if mode is None else modes == mode
    return Intervals(start[chosen], end[chosen], nodes[chosen])


def busy_seconds(intervals: Intervals, edges: IntArray) -> FloatArray:
    """How much there is of intervals in each bin between ``edges`` [s], ascending: amounts times seconds.

    The shape is ``(edges - 1,)``.
    Nothing is sorted but into the bins, of which there are few: a long trace costs some seconds for ten million jobs.
    """
    begun, ended = (_since(times, intervals.amount, edges) for times in (intervals.begin, intervals.end))
    return begun - ended


def means_over_time(intervals: Intervals, edges: IntArray) -> FloatArray:
    """Means over time of how much there is at an instant, in the bins between ``edges`` [s], shape ``(edges - 1,)``."""
    means: FloatArray = busy_seconds(intervals, edges) / np.diff(edges)
    return means


def _since(times: IntArray, amount: IntArray, edges: IntArray) -> FloatArray:
    """In each bin, amounts times the seconds that have passed since their times."""
    at = np.searchsorted(edges, times, side="right")  # 0 before the first bin
    levels = np.cumsum(np.bincount(at, amount, len(edges) + 1))
    inside = (at > 0) & (at < len(edges))
    left = edges[at[inside]] - times[inside]
    own = np.bincount(at[inside], amount[inside] * left, len(edges) + 1)[1:-1]
    return (levels[:-2] * np.diff(edges) + own).astype(np.float64)


def limits_held(schedule: Schedule) -> dict[str, int]:
    """In how many decisions each limit held back the first of the jobs that limits hold back, by Slurm's reason."""
    reasons = schedule.decisions.get("limit", ())
    return dict(sorted(Counter(each for each in map(str, reasons) if each).items()))


def _group(schedule: Schedule, kept: BoolArray, chosen: BoolArray) -> Group:
    chosen = kept & chosen
    waits, work = schedule.wait[chosen], node_seconds(schedule)
    total = (kept.sum(), work[kept].sum())
    return _group_of(chosen.sum(), work[chosen].sum(), waits.sum(), waits.max(initial=0), total)


def _group_of(jobs: int, work: int, waited: int, longest: int, total: tuple[int, int]) -> Group:
    """So many jobs with so many node-seconds and seconds of waiting; ``total``: the jobs and node-seconds of all."""
    all_jobs, all_work = total
    return Group(
        jobs=int(jobs),
        job_share=float(jobs / all_jobs) if all_jobs else float("nan"),
        node_hours=float(work / 3600),
        node_hour_share=float(work / all_work) if all_work else float("nan"),
        mean_wait=float(waited / jobs) if jobs else float("nan"),
        max_wait=float(longest) if jobs else float("nan"),
    )
