"""Groups of jobs whose waits are compared: partitions, size classes, groups of users, light and heavy users, users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from transom.models import Cluster, JobTable
from transom.models.arrays import BoolArray, IntArray
from transom.simulation.core.schedule import Schedule
from transom.simulation.output.breakdowns import size_edges, size_labels
from transom.simulation.output.metrics import Trim
from transom.traces.origin import Origin
from transom.traces.partitions import unique_names

KINDS = ("partition", "size", "group", "use", "user")
"""All kinds; a workload has those about which it states something."""

_USE = {"heavy users": 0.5, "medium users": 0.9, "light users": 1.0}


class Grouping(NamedTuple):
    """What the groups of one kind are called, and the position of each job's group, -1 for none, shape ``(jobs,)``."""

    labels: tuple[str, ...]
    of: IntArray


def groupings(jobs: JobTable, runtime: IntArray, cluster: Cluster, origin: Origin) -> dict[str, Grouping]:
    """The groups of a workload by kind; kinds with fewer than two groups, except users, are left out.

    Heavy users are the fewest that use half of the node-seconds together, medium users those that follow until 90 %,
    light users all others.

    Parameters
    ----------
    jobs, cluster, origin : of the workload.
    runtime : real runtimes [s], shape ``(jobs,)``.
    """
    labels = size_labels(cluster)
    size = np.searchsorted(np.array(size_edges(cluster)), jobs.nodes, side="right") - 1
    found = {"size": Grouping(tuple(f"{label} nodes" if label != "1" else "1 node" for label in labels), size)}
    if origin.partition is not None:
        found["partition"] = _numbered(origin.partition, unique_names(origin.names), "partition ")
    if origin.group is not None:
        found["group"] = _numbered(origin.group, origin.groups, "group ")
    user = _numbered(jobs.user, {}, "")
    if user.labels:
        found["use"] = _by_use(user, jobs.nodes * runtime)
        found["user"] = user
    plural = {kind: each for kind, each in found.items() if kind == "user" or len(np.unique(each.of[each.of >= 0])) > 1}
    return {kind: plural[kind] for kind in KINDS if kind in plural}


def mean_waits(
    schedule: Schedule, groups: Mapping[str, Grouping], trim: Trim | None = None
) -> dict[str, dict[str, tuple[int, float]]]:
    """Number of jobs and mean waiting time [s] of each group that has jobs, by kind and label.

    Parameters
    ----------
    schedule : what happened.
    groups : of its workload, as :func:`groupings` has them.
    trim : which jobs do not count.
    """
    kept = (trim or Trim()).kept(schedule)
    return {kind: _means(each, schedule.wait, kept) for kind, each in groups.items()}


def _means(grouping: Grouping, wait: IntArray, kept: BoolArray) -> dict[str, tuple[int, float]]:
    inside = kept & (grouping.of >= 0)
    of, number = grouping.of[inside], len(grouping.labels)
    jobs, total = np.bincount(of, minlength=number), np.bincount(of, wait[inside], number)
    return {grouping.labels[i]: (int(jobs[i]), float(total[i] / jobs[i])) for i in np.flatnonzero(jobs).tolist()}


def _numbered(numbers: IntArray, names: Mapping[int, str], prefix: str) -> Grouping:
    """Groups by number, with their names where known; jobs with numbers below 0 are in none."""
    known, of = np.unique(numbers, return_inverse=True)
    unknown = int((known < 0).sum())
    labels = [names.get(number) or f"{prefix}{number}" for number in known[unknown:].tolist()]
    if len(set(labels)) < len(labels):
        labels = [f"{prefix}{number} {names.get(number, '')}".strip() for number in known[unknown:].tolist()]
    return Grouping(tuple(labels), np.maximum(of - unknown, -1))


def _by_use(user: Grouping, area: IntArray) -> Grouping:
    known = user.of >= 0
    used = np.bincount(user.of[known], area[known], len(user.labels))
    order = np.argsort(-used, kind="stable")
    before = np.concatenate(([0.0], np.cumsum(used[order])[:-1])) / used.sum()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.searchsorted(np.array(list(_USE.values())[:-1]), before, side="right")
    return Grouping(tuple(_USE), np.where(known, rank[user.of], -1))
