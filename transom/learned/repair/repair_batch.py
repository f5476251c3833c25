"""Many repairs side by side, stepped in one compiled call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transom.errors import SpecError
from transom.learned.repair.pool import WindowPool
from transom.learned.repair.process import SEEN, BatchState, Ended, begin_all, empty_batch, step_all
from transom.learned.repair.task import RepairTask
from transom.models.arrays import BoolArray, FloatArray
from transom.rng import stream


class RepairBatch:
    """Repairs of windows of a pool, so many at a time, which all draw from one generator.

    What is seen and done is that of :class:`~transom.learned.repair.repair_env.RepairEnv`; a repair that has ended is
    followed by the next one within the same step.

    Parameters
    ----------
    pool : the windows.
    task : what is repaired, and what it is worth.
    repairs : how many at a time, > 0.
    seed : of the generator, >= 0.
    each : pay minus the cost of every job when it is placed. Section V-B3 of Lan et al. (2023) gives 0 until the last
        job, and then minus the cost of all. For the choices made before a job comes that is the same sum; for the last
        one, what the jobs before it cost is a number that it cannot change and that no observation shows. As the mean
        of the gradient is the same and its variance is not, training is quicker. The discount apart: the cost of the
        first jobs comes earlier here.

    Raises
    ------
    SpecError : a condition above does not hold, or costs may be 0 and are divided by.
    """

    def __init__(self, pool: WindowPool, task: RepairTask, repairs: int, seed: int = 0, each: bool = False) -> None:
        if repairs <= 0:
            raise SpecError(f"repair: there must be > 0 repairs at a time, got {repairs}")
        task.check(pool.cost)
        self.pool, self.task, self.repairs, self.each = pool, task, repairs, each
        self._removal, self._habits = task.options(), task.habits()
        self._batch = empty_batch(pool.windows, repairs)
        self._rng = stream(seed, "repair env")
        self._paid = np.zeros(repairs)
        self.seen = self._room()

    def reset(self) -> NDArray[np.float32]:
        """Open a window in each and begin a repair; what is seen, shape ``(repairs, rows, 100)``."""
        self._paid[:] = 0
        self.seen = self._room()
        begin_all(self._rng, self.pool.windows, self._batch, self._removal, self._habits, True, self.seen)
        return self.seen

    def step(self, actions: NDArray[np.int64]) -> tuple[NDArray[np.float32], FloatArray, BoolArray]:
        """Put the next job of each back; what is seen next, the rewards, and where repairs ended; ``(repairs,)``.

        Raises
        ------
        SpecError : a mask forbids an action.
        """
        given = np.ascontiguousarray(actions, np.int64)
        wrong = np.flatnonzero((given < 0) | (given >= np.minimum(self._batch.length, SEEN)))
        if wrong.size:
            at = int(wrong[0])
            raise SpecError(
                f"repair: environment {at}: action {given[at]} is none of the "
                f"{min(int(self._batch.length[at]), SEEN)} first entries of what is left"
            )
        self.seen = self._room()
        ended = Ended(self._room(), np.empty(self.repairs), np.empty(self.repairs, np.bool_))
        step_all(self._rng, self.pool.windows, self._batch, self._removal, self._habits, given, self.seen, ended)
        rewards, done = self.task.rewards(ended.costs, ended.done), ended.done
        if self.each:
            batch, going = self._batch, np.flatnonzero(~done)
            placed = batch.costs[going, batch.out[going, batch.at[going] - 1]] / self.task.unit
            rewards[done] += self._paid[done]
            self._paid[done] = 0
            self._paid[going] += placed
            rewards[going] = -placed
        return self.seen, rewards, done

    def action_masks(self) -> BoolArray:
        """Which entries of what is left of Q may be the first node of the next job, shape ``(repairs, 100)``."""
        allowed: BoolArray = np.arange(SEEN) < self._batch.length[:, None]
        return allowed

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that the future depends on but the parameters, as plain arrays by name."""
        generator = np.frombuffer(json.dumps(self._rng.bit_generator.state).encode(), np.uint8)
        state: dict[str, NDArray[Any]] = {name: array.copy() for name, array in self._batch._asdict().items()}
        return state | {"generator": generator, "paid": self._paid.copy(), "seen": self.seen.copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what :meth:`state` said.

        Raises
        ------
        SpecError : it is of another number of repairs.
        """
        if state["window"].shape != self._batch.window.shape:
            raise SpecError(f"repair: this state has {len(state['window'])} repairs and not {self.repairs}")
        self._batch = BatchState(*(np.array(state[name], order="C") for name in BatchState._fields))
        self._rng = stream(0, "repair env")
        self._rng.bit_generator.state = json.loads(state["generator"].tobytes())
        self._paid, self.seen = np.array(state["paid"]), np.array(state["seen"])

    def _room(self) -> NDArray[np.float32]:
        return np.empty((self.repairs, self.task.rows, SEEN), np.float32)
