"""The figures that policies are compared by, of replays and of the log."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom.errors import SpecError
from transom.models.arrays import FloatArray, IntArray
from transom.simulation.engine import simulate
from transom.simulation.output.metrics import TAU
from transom.traces.workload import Workload

LOGGED = "logged"
"""What the log is called among policies."""

FIGURES = ("bounded_slowdown", "wait", "max_wait")


class Figures(NamedTuple):
    """Of all jobs of a part: mean bounded slowdown, mean and longest wait [s]."""

    bounded_slowdown: float
    wait: float
    max_wait: float


def waits(workload: Workload, policy: str, seed: int = 0) -> IntArray:
    """How long each job waits [s], shape ``(jobs,)``, from an empty machine on; -1 where the log does not say.

    Raises
    ------
    SpecError : there is no such policy, or the trace does not state when its jobs started.
    PolicyError : jobs never start.
    """
    if policy != LOGGED:
        return simulate(workload, policy, seed=seed).wait
    started = workload.origin.started
    if started is None or not (started >= 0).any():
        raise SpecError(f"{workload.name}: the trace does not state when its jobs started: name a policy with --today")
    logged: IntArray = np.where(started >= 0, started - workload.jobs.submit, -1)
    return logged


def slowdowns(waited: IntArray, runtime: IntArray) -> FloatArray:
    """The bounded slowdown of each job, as in :func:`~transom.simulation.output.metrics.bounded_slowdown`.

    Parameters
    ----------
    waited, runtime : of each job [s], shape ``(jobs,)``.
    """
    found: FloatArray = np.maximum((waited + runtime) / np.maximum(runtime, TAU), 1.0)
    return found


def figures(workload: Workload, policy: str, seed: int = 0) -> Figures:
    """The figures of a policy; raises as :func:`waits`."""
    return figures_of(workload, waits(workload, policy, seed))


def figures_of(workload: Workload, waited: IntArray) -> Figures:
    """The figures of known waits."""
    known = waited >= 0
    waited = waited[known]
    mean = slowdowns(waited, workload.runtime[known]).mean()
    return Figures(float(mean), float(waited.mean()), float(waited.max()))
