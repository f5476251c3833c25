"""The figures that policies are compared by, of replays and of the log.

A figure is named as a metric, such as ``p95_wait``, and may be that of one group of jobs, ``p95_wait[size 1 node]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from transom.errors import SpecError
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.simulation.core.schedule import Schedule
from transom.simulation.engine import simulate
from transom.simulation.output.as_logged import as_logged
from transom.simulation.output.job_groups import groupings
from transom.simulation.output.metrics import TAU, Trim, summary
from transom.traces.workload import Workload

LOGGED = "logged"
"""What the log is called among policies."""

FIGURES = {"mean_bounded_slowdown": "bounded_slowdown", "mean_wait": "wait", "max_wait": "max_wait"}
"""Metrics that are known of every replay, and what they are called."""

_ANY = "fcfs-easy"  # the log needs a replay to stand beside, whichever


class Figures(NamedTuple):
    """Of all jobs of a part: mean bounded slowdown, mean and longest wait [s], and further figures by name."""

    bounded_slowdown: float
    wait: float
    max_wait: float
    further: Mapping[str, float] = {}

    def get(self, name: str) -> float:
        """A figure by its name, NaN where there is none."""
        name = FIGURES.get(name, name)
        return float(getattr(self, name)) if name in FIGURES.values() else self.further.get(name, nan)

    def document(self) -> dict[str, Any]:
        """The same in JSON's terms."""
        return {name: self.get(name) for name in (*FIGURES.values(), *self.further)}


def slowdowns(waited: IntArray, runtime: IntArray) -> FloatArray:
    """The bounded slowdown of each job, as in :func:`~transom.simulation.output.metrics.bounded_slowdown`.

    Parameters
    ----------
    waited, runtime : of each job [s], shape ``(jobs,)``.
    """
    found: FloatArray = np.maximum((waited + runtime) / np.maximum(runtime, TAU), 1.0)
    return found


def figures(workload: Workload, policy: str, seed: int = 0, names: Sequence[str] = ()) -> Figures:
    """The figures of a policy, from an empty machine on; those of the log are of the jobs whose start it states.

    Parameters
    ----------
    workload : the jobs.
    policy : its specification, or :data:`LOGGED`.
    seed : of policies that draw random numbers.
    names : of further figures; those that there are not are left out.

    Raises
    ------
    SpecError : there is no such policy, or the trace does not state when its jobs started.
    PolicyError : jobs never start.
    """
    if policy != LOGGED:
        schedule = simulate(workload, policy, seed=seed)
        return _with_further(figures_of(workload, schedule.wait), schedule, workload, names, policy)
    started = workload.origin.started
    if started is None or not (started >= 0).any():
        raise SpecError(f"{workload.name}: the trace does not state when its jobs started: name a policy with --today")
    found = figures_of(workload, np.where(started >= 0, started - workload.jobs.submit, -1))
    return _with_further(found, simulate(workload, _ANY), workload, names, policy) if names else found


def figures_of(workload: Workload, waited: IntArray) -> Figures:
    """The figures of known waits [s], shape ``(jobs,)``, -1 where one is not known."""
    known = waited >= 0
    waited = waited[known]
    mean = slowdowns(waited, workload.runtime[known]).mean()
    return Figures(float(mean), float(waited.mean()), float(waited.max()))


def _with_further(found: Figures, schedule: Schedule, workload: Workload, names: Sequence[str], policy: str) -> Figures:
    if not names:
        return found
    groups = job_masks(workload) if any("[" in name for name in names) else {}
    told: dict[str, Mapping[str, float]] = {}
    further = {}
    for name in names:
        metric, _, group = name.rstrip("]").partition("[")
        if group not in told:
            trim = Trim(among=groups.get(group, np.zeros(len(workload), np.bool_))) if group else Trim()
            told[group] = _told(schedule, trim, policy)
        if not isnan(value := told[group].get(metric, nan)):
            further[name] = value
    return found._replace(further=further)


def _told(schedule: Schedule, trim: Trim, policy: str) -> Mapping[str, float]:
    if policy != LOGGED:
        return summary(schedule, trim=trim)
    logged = as_logged(schedule, trim)
    return {} if logged is None else logged.figures(summary(schedule, trim=trim, own=False))


def job_masks(workload: Workload) -> dict[str, BoolArray]:
    """Which jobs are in each group, by its kind and label, such as ``size 1 node``: partitions, size classes, groups of
    users, and users by use of the machine."""
    kinds = groupings(workload.jobs, workload.runtime, workload.cluster, workload.origin)
    return {
        f"{kind} {label}": each.of == k
        for kind, each in kinds.items()
        if kind != "user"
        for k, label in enumerate(each.labels)
    }
