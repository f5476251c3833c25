"""Scheduling windows put together from the jobs of a workload, and the knapsacks they pose."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from transom import registry
from transom.errors import SpecError
from transom.models import Knapsack, Objective, Window
from transom.models.arrays import IntArray
from transom.traces import Workload

_LONGEST_WAIT = 12 * 3600  # [s]
_PREDECESSORS = 100  # how far back running jobs are looked for


def random_windows(
    workload: Workload, number: int, size: int, rng: np.random.Generator, binding: bool = True
) -> Iterator[Window]:
    """Windows of jobs that follow each other in a workload, at a random place and with random free nodes.

    The last job of the queue was submitted up to 12 hours ago, so that the queue has waited as a
    backlog has; earlier jobs run on nodes that are not free, each with a random rest of its
    walltime. Only a replay gives windows that a policy really met.

    Parameters
    ----------
    workload : where the jobs come from, at least ``size`` of them.
    number : how many windows, >= 0.
    size : jobs in the queue, > 0.
    rng : where places, waits and free nodes come from.
    binding : whether fewer nodes are free than the queue asks for, where the machine allows it: at
        least as many as the smallest job needs, so that there is something to choose.

    Raises
    ------
    SpecError : a number is out of range.
    """
    if number < 0:
        raise SpecError(f"windows: number must be >= 0, got {number}")
    if not 0 < size <= len(workload):
        raise SpecError(f"windows: size must be from 1 to the workload's {len(workload)} jobs, got {size}")
    return (_window(workload, size, rng, binding) for _ in range(number))


def window_knapsacks(
    workload: Workload,
    number: int,
    size: int,
    rng: np.random.Generator,
    objective: str | Objective = "nodes",
    binding: bool = True,
) -> Iterator[Knapsack]:
    """The knapsacks of :func:`random_windows`, valued by an objective.

    Parameters
    ----------
    workload, number, size, rng, binding : as in :func:`random_windows`.
    objective : a registered name, a specification (``"dras-capability:w1=1"``) or an object.

    Raises
    ------
    SpecError : a number is out of range, or the objective is unknown.
    """
    value: Objective = registry.make(registry.OBJECTIVES, objective) if isinstance(objective, str) else objective
    windows = random_windows(workload, number, size, rng, binding)
    return (Knapsack.from_window(window, value) for window in windows)


def _window(workload: Workload, size: int, rng: np.random.Generator, binding: bool) -> Window:
    jobs, cluster = workload.jobs, workload.cluster
    first = int(rng.integers(0, len(jobs) - size, endpoint=True))
    queue = jobs.take(np.arange(first, first + size))
    least, most = 0, cluster.num_nodes
    if binding:
        least = int(queue.nodes.min())
        most = max(least, min(cluster.num_nodes, int(queue.nodes.sum()) - 1))
    free = int(rng.integers(least, most, endpoint=True))
    now = int(queue.submit[-1] + rng.integers(0, _LONGEST_WAIT, endpoint=True))
    running, left = _running(workload, first, cluster.num_nodes - free)
    end = now + rng.integers(1, jobs.walltime[running], endpoint=True)
    order = np.lexsort((jobs.id[running], end))
    available = np.append(free, left)
    return Window(now, cluster, queue, jobs.take(running[order]), end[order], available)


def _running(workload: Workload, first: int, nodes: int) -> tuple[IntArray, IntArray]:
    """Latest jobs before position ``first`` that fit on ``nodes``, and the further resources they leave."""
    jobs = workload.jobs
    left = np.array([nodes, *workload.cluster.capacities])
    running = []
    for at in range(first - 1, max(first - 1 - _PREDECESSORS, -1), -1):
        asked = np.append(jobs.nodes[at], jobs.demand[at])
        if (asked <= left).all():
            left -= asked
            running.append(at)
    return np.array(running, dtype=np.int64), left[1:]
