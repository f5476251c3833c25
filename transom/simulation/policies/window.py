"""The window policy: order, window, problem, solver, start; then EASY around a kept reservation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from transom import registry
from transom.errors import SpecError
from transom.models import Knapsack, Objective, Window
from transom.models.arrays import BoolArray, IntArray
from transom.rng import stream
from transom.simulation.core.decision import Decision
from transom.simulation.core.site_order import load_rule
from transom.simulation.passes.knapsack_pass import carry_out, new_scratch, offer
from transom.simulation.passes.window_pass import decision_of, window_state
from transom.simulation.policies import window_replay
from transom.solving import Solver, answer, warm_up
from transom.stop import Stop

if TYPE_CHECKING:
    from transom.simulation.core.replay import Progress, Replay


@dataclass(slots=True)
class WindowPolicy:
    """Solve a knapsack over the first jobs of the queue and start what was chosen.

    With ``easy`` the first job in the site's order that keeps waiting gets a reservation, which it
    keeps until it starts; a choice that would delay it is cut (``cut`` in the decisions counts
    them), and the rest of the queue is backfilled around it. Without, jobs may starve.

    Parameters
    ----------
    order : priority rule that orders the queue.
    size : jobs in the window, > 0.
    k : instead, the knob, in (0, 1]: ``ceil(k * queue)`` jobs.
    objective : a registered objective.
    solver : a registered solver or a specification.
    seconds, iterations : the solver's :class:`~transom.stop.Stop` per window.
    easy : whether to reserve and backfill.
    """

    order: str = "fcfs"
    size: int = 50
    k: float | None = None
    objective: str = "nodes"
    solver: str = "auto"
    seconds: registry.Seconds | None = 1.0
    iterations: int | None = None
    easy: bool = True

    _objective: Objective = field(init=False, repr=False)
    _solver: Solver = field(init=False, repr=False)
    _stop: Stop = field(init=False, repr=False)
    _seeds: np.random.Generator = field(init=False, repr=False)
    _protected: int = field(default=-1, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.size < 1:
            raise SpecError(f"window: size must be > 0, got {self.size}")
        if self.k is not None and not 0 < self.k <= 1:
            raise SpecError(f"window: k must be in (0, 1], got {self.k}")
        load_rule(self.order)
        self._objective = registry.make(registry.OBJECTIVES, self.objective)
        self._solver = registry.make(registry.SOLVERS, self.solver)
        self._stop = Stop(seconds=self.seconds, iterations=self.iterations)
        if not issubclass(Knapsack, self._solver.solves):
            raise SpecError(f"window: solver {self.solver!r} does not solve knapsacks")
        self.reset(stream(0, "window"))

    def reset(self, rng: np.random.Generator) -> None:
        """Forget the reservation, draw the solver's seeds from ``rng``, load the solver."""
        self._seeds = rng
        self._protected = -1
        warm_up(self._solver, Knapsack)

    @property
    def run(self) -> Callable[[Replay, Progress], dict[str, NDArray[Any]]] | None:
        """A whole replay in one compiled loop; None where solver, objective or stop are not those it knows."""
        taken = type(self) is WindowPolicy and window_replay.takes(self._solver, self._objective, self._stop)
        return self._run if taken else None

    def _run(self, replay: Replay, report: Progress) -> dict[str, NDArray[Any]]:
        longest = 0 if self.k is None else len(replay.jobs)
        lengths = np.array([min(self.length(waiting), 2**40) for waiting in range(longest + 1)], np.int64)
        nodes = replay.cluster.num_nodes
        terms = window_replay.terms_of(self._solver, self._objective, bool(self.easy), lengths, nodes)
        return window_replay.run_windows(replay, terms, self._choose, report)

    def length(self, waiting: int) -> int:
        """Jobs in the window if so many wait and all are offered."""
        return self.size if self.k is None else math.ceil(round(self.k * waiting, 9))

    def decide(self, window: Window, /) -> Decision:
        """Start the protected job if it fits, then what the solver chose, then backfill."""
        ids = window.queue.id
        state = window_state(window, np.arange(len(ids)))
        scratch = new_scratch(state)
        if (kept := np.flatnonzero(ids == self._protected)).size:
            scratch.at.held = int(kept[0])
        offer(state, min(self.length(len(ids)), len(ids)), scratch)
        chosen, notes = self._choose(window, scratch.where[: scratch.at.items].copy(), int(scratch.at.room))
        count, _, cut, begin = carry_out(state, bool(self.easy), scratch, chosen)
        held = int(scratch.at.held)
        self._protected = -1 if held < 0 else int(ids[held])
        decision = decision_of(window, state.queue[scratch.picks[:count]], scratch.modes[:count], held, begin)
        return replace(decision, notes={**notes, "cut": cut})

    def _choose(self, window: Window, jobs: IntArray, room: int) -> tuple[BoolArray, dict[str, Any]]:
        """Which of some jobs, by their places in the queue, the solver gives of so many nodes; and what it notes."""
        asked = Knapsack.from_window(window, self._objective, jobs)
        problem = Knapsack(asked.values, asked.weights, room, asked.scale)
        result = answer(problem, self._solver, self._stop, int(self._seeds.integers(2**31)))
        notes = {
            "window": len(jobs),
            "status": result.status,
            "value": math.nan if result.value is None else float(result.value) / problem.scale,
            "bound": math.nan if result.bound is None else float(result.bound) / problem.scale,
            "seconds": result.seconds,
        }
        chosen = np.zeros(len(jobs), np.bool_) if result.solution is None else np.array(result.solution, np.bool_)
        return chosen, notes


def optimization(size: int = 50, objective: str = "dras-capability", solver: str = "dp") -> WindowPolicy:
    """Optimization of the DRAS paper: its knapsack policy, without reservation and backfilling.

    Parameters
    ----------
    size : jobs in the window, 50 as in the paper.
    objective : ``dras-capability`` (eq. 1, Theta) or ``dras-capacity`` (eq. 2, Cori).
    solver : dynamic programming as in the paper.

    References
    ----------
    Fan et al., DRAS, sections IV-A and V, Table IV.
    """
    return WindowPolicy(size=size, objective=objective, solver=solver, seconds=None, easy=False)
