"""Random placements, and windows of a replay of tasks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from transom.errors import SpecError
from transom.models import Placement
from transom.simulation.placement.replay import simulate_tasks
from transom.simulation.placement.window import PlacementWindow, TaskWindow
from transom.traces.tasks import TaskWorkload

PLACEMENT_FAMILIES = ("uniform", "alibaba")

_CORES, _CORE, _MEMORY = 64, 20, 2**61  # of a machine; units of a core and of all memory
_BUSY = 3  # how many tasks run for each that waits

_CPU = ((10, 0.69), (20, 0.30), (8, 0.005), (15, 0.005))
"""CPU of an instance in units of 1/20 of a core, and its share of the tasks."""


def uniform_placement(
    rng: np.random.Generator, tasks: int, machines: int, resources: int, largest: int, tightness: float, kinds: int = 2
) -> Placement:
    """Demands uniform on [1, ``largest``], up to nine instances of each task, machines of several sizes.

    Parameters
    ----------
    tasks, machines, resources : how many, > 0.
    largest : demand of an instance, > 0.
    tightness : what all machines together have of a resource, as a share of what all instances ask for, > 0; each
        machine has room for the largest instance.
    kinds : sizes of machines, > 0: one, and others from half to one and a half times as large.

    Raises
    ------
    SpecError : a condition above does not hold.
    """
    if min(tasks, machines, resources, largest, kinds) < 1 or not 0 < tightness < np.inf:
        raise SpecError("placement: tasks, machines, number, largest, tightness and kinds must be > 0")
    demands, waiting = rng.integers(1, largest, (tasks, resources), endpoint=True), rng.integers(1, 10, tasks)
    sizes = np.append(1.0, rng.uniform(0.5, 1.5, kinds - 1))
    shares = sizes[kinds - 1 - kinds * np.arange(machines)[::-1] // machines]
    mean = tightness * (waiting @ demands) / machines
    free = np.maximum(np.rint(np.outer(shares, mean)).astype(np.int64), demands.max(axis=0))
    return Placement(free, demands, waiting, durations=rng.integers(1, 3600, tasks, endpoint=True))


def alibaba_placement(rng: np.random.Generator, tasks: int, machines: int, busy: float) -> Placement:
    """A window like those of the chunks of Alibaba's trace of 2017 that DeepJS was trained on.

    Machines have 64 cores and one memory, in units of 1/20 of a core and 2**-61 of the memory. CPU is half a core or
    one for nearly all tasks; memory, instances and durations are lognormal, as fitted to the 31,756 tasks of the trace.
    Machines are filled with other tasks first-fit, each batch of which has ended with probability ``1 - busy``.

    Parameters
    ----------
    tasks, machines : how many, > 0.
    busy : 0 <= busy <= 1.

    Raises
    ------
    SpecError : a condition above does not hold.
    """
    if min(tasks, machines) < 1 or not 0 <= busy <= 1:
        raise SpecError("placement: tasks and machines must be > 0, and busy from 0 to 1")
    total = tasks * (1 + _BUSY)
    demands = np.column_stack((
        rng.choice([units for units, _ in _CPU], total, p=[share for _, share in _CPU]),
        np.clip(rng.lognormal(-5.09, 0.40, total), 0.0027, 0.075) * _MEMORY,
    )).astype(np.int64)  # fmt: skip
    instances = np.clip(rng.lognormal(1.7, 2.1, total), 1, 36_000).astype(np.int64)
    durations = np.clip(rng.lognormal(2.7, 1.5, total), 1, 3600).astype(np.int64)
    capacities = np.tile(np.array([_CORES * _CORE, _MEMORY]), (machines, 1))
    running = Placement(capacities, demands[tasks:], instances[tasks:])
    placed = running.completed(np.zeros((len(running), machines), np.int64))
    free = capacities - running.used(placed * (rng.random(placed.shape) < busy))
    return Placement(
        free, demands[:tasks], instances[:tasks], durations=durations[:tasks], capacities=capacities,
        resources=("cpu", "memory"),
    )  # fmt: skip


class _Collected:
    """A solver's policy, and the windows that it was asked about."""

    def __init__(self, solver: str) -> None:
        self._policy = PlacementWindow(solver, seconds=None)
        self.windows: list[TaskWindow] = []

    def reset(self, rng: np.random.Generator) -> None:
        self._policy.reset(rng)

    def decide(self, window: TaskWindow, /) -> ArrayLike:
        self.windows.append(window)
        return self._policy.decide(window)


def replayed_windows(workload: TaskWorkload, solver: str, every: int = 1) -> list[TaskWindow]:
    """The windows of a replay of tasks under a rule in which at least one task fits.

    Parameters
    ----------
    solver : solver that places the tasks in the replay; it must end by itself, such as ``first-fit``.
    every : minimum time between two windows [s].
    """
    policy = _Collected(solver)
    simulate_tasks(workload, policy)
    kept: list[TaskWindow] = []
    for window in policy.windows:
        if not kept or window.now - kept[-1].now >= every:
            kept.append(window)
    return kept
