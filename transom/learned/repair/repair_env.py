"""The repair of one destroyed window as an environment of Gymnasium."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium import Env
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from transom.errors import SpecError
from transom.learned.repair.pool import WindowPool
from transom.learned.repair.process import SEEN, act, begin_all, empty_batch
from transom.learned.repair.task import RepairTask
from transom.models.arrays import BoolArray
from transom.rng import stream


class RepairEnv(Env):
    """Repairs of windows of a pool, one after another.

    An episode is one repair: jobs were taken out of a window and come back one by one. What is seen is described at
    :func:`~transom.learned.repair.process.observe`. An action is the entry of what is left of Q where the next job
    begins; :meth:`action_masks` says which there are. One that is forbidden is counted on from the first entry again,
    so that an agent without masks can act too.

    ``reset`` goes on with the same window, which annealing then holds; with a seed, or after so many repairs as the
    task says, it opens another one. A repair that is broken off by it is undone.

    Parameters
    ----------
    pool : the windows.
    task : what is repaired, and what it is worth.

    Raises
    ------
    SpecError : costs may be 0 and are divided by.

    References
    ----------
    Lan et al. (2023), section V-B.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self, pool: WindowPool, task: RepairTask | None = None) -> None:
        self.pool, self.task = pool, task or RepairTask()
        self.task.check(pool.cost)
        self.observation_space = Box(0.0, 1.0, (self.task.rows, SEEN), np.float32)
        self.action_space = Discrete(SEEN)
        self._removal, self._habits = self.task.options(), self.task.habits()
        self._batch = empty_batch(pool.windows, 1)
        self._rng = stream(0, "repair env")
        self._action, self._cost, self._done = np.zeros(1, np.int64), np.zeros(1), np.ones(1, np.bool_)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Take jobs out of the window, or out of another one; what is seen, and nothing else."""
        super().reset(seed=seed)
        if seed is not None:
            self._rng = stream(seed, "repair env")
        seen = self._room()
        begin_all(self._rng, self.pool.windows, self._batch, self._removal, self._habits, seed is not None, seen)
        self._done[0] = False
        return seen[0], {}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Put the next job back; what is seen, the reward, whether it was the last one; with it, ``cost`` is returned.

        Raises
        ------
        SpecError : all jobs are back; ``reset`` takes others out.
        """
        if self._done[0]:
            raise SpecError("repair: no job is out; reset comes first")
        self._action[0] = int(action) % min(int(self._batch.length[0]), SEEN)
        seen = self._room()
        act(self.pool.windows, self._batch, self._action, seen, self._cost, self._done)
        ended = bool(self._done[0])
        reward = float(self.task.rewards(self._cost, self._done)[0])
        return seen[0], reward, ended, False, {"cost": float(self._cost[0])} if ended else {}

    def action_masks(self) -> BoolArray:
        """Which entries of what is left of Q may be the first node of the next job, shape ``(100,)``."""
        allowed: BoolArray = np.arange(SEEN) < self._batch.length[0]
        return allowed

    def _room(self) -> NDArray[np.float32]:
        return np.empty((1, self.task.rows, SEEN), np.float32)
