"""What a policy in Python sees of a replay of tasks on machines, and the policy that gives it to a solver."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from transom import registry
from transom.errors import SpecError
from transom.models import Placement
from transom.models.arrays import FloatArray, IntArray
from transom.rng import stream
from transom.solving import Solver, answer, warm_up
from transom.stop import Stop


class TaskWindow(NamedTuple):
    """The waiting tasks at an instant, in order of submission, and what is free; Q tasks, M machines, R resources.

    ``now`` [s]; ``job_ids``, ``task_ids``, ``submit`` [s], ``waiting`` and ``running`` (instances) and ``estimates``
    [s] of shape ``(Q,)``; ``demands`` of an instance ``(Q, R)``; ``free`` and ``capacities`` ``(M, R)``, in units.
    """

    now: int
    job_ids: IntArray
    task_ids: IntArray
    submit: IntArray
    waiting: IntArray
    running: IntArray
    estimates: FloatArray
    demands: IntArray
    free: IntArray
    capacities: IntArray
    resources: tuple[str, ...]

    def placement(self, objective: str = "count", maximal: bool = True) -> Placement:
        """The window as a problem (:meth:`~transom.models.Placement.with_objective`)."""
        durations = np.ceil(self.estimates).astype(np.int64)
        return Placement(
            self.free, self.demands, self.waiting, durations=durations, maximal=maximal,
            capacities=self.capacities, resources=self.resources,
        ).with_objective(objective)  # fmt: skip


class TaskPolicy(Protocol):
    """A policy written in Python; it may have ``reset(rng)``, which is called before a replay begins."""

    def decide(self, window: TaskWindow, /) -> ArrayLike:
        """How many instances of each task to start on each machine now, shape ``(Q, M)``."""


@dataclass(slots=True)
class PlacementWindow:
    """Solve the placement of everything that waits, at every instant at which something fits.

    Parameters
    ----------
    solver : a registered solver of placements or a specification.
    objective : ``count``, ``area`` or ``area-duration``.
    seconds, iterations : the solver's :class:`~transom.stop.Stop` per window.
    maximal : whether nothing that still fits may wait.
    """

    solver: str = "auto"
    objective: str = "area"
    seconds: registry.Seconds | None = 1.0
    iterations: int | None = None
    maximal: bool = True

    _solver: Solver = field(init=False, repr=False)
    _stop: Stop = field(init=False, repr=False)
    _seeds: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._solver = registry.make(registry.SOLVERS, self.solver, Placement)
        self._stop = Stop(seconds=self.seconds, iterations=self.iterations)
        if not issubclass(Placement, self._solver.solves):
            raise SpecError(f"window: solver {self.solver!r} does not solve placements")
        Placement([[1]], [[1]], [1]).with_objective(self.objective)
        self._seeds = stream(0, "window")

    def reset(self, rng: np.random.Generator) -> None:
        """Draw the solver's seeds from ``rng``, load the solver."""
        self._seeds = rng
        warm_up(self._solver, Placement)

    def decide(self, window: TaskWindow, /) -> ArrayLike:
        """What the solver places; nothing where it finds no solution."""
        problem = window.placement(self.objective, self.maximal)
        result = answer(problem, self._solver, self._stop, int(self._seeds.integers(2**31)))
        none = np.zeros((len(window.waiting), len(window.free)), np.int64)
        return none if result.solution is None else result.solution
