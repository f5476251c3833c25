"""Dense rewards for repairs: the cost of each job when it is placed, with the same total and less variance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transom.learned.repair.vector_env import RepairVecEnv
from transom.models.arrays import BoolArray


class DenseRewardVecEnv(RepairVecEnv):
    """A :class:`RepairVecEnv` that gives minus the cost of every job when it is placed.

    Section V-B3 of Lan et al. (2023) gives 0 until the last job, and then minus the cost of all. For the choices made
    before a job comes that is the same sum; for the last one, what the jobs before it cost is a number that it cannot
    change and that no observation shows, so that no critic can take it off. As the mean of the gradient is the same
    and its variance is not, training is quicker. The discount apart: the cost of the first jobs comes earlier here.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._paid = np.zeros(self.num_envs)

    def reset(self) -> NDArray[np.float32]:
        self._paid[:] = 0
        return super().reset()

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], BoolArray, list[dict[str, Any]]]:
        seen, rewards, done, infos = super().step_wait()
        batch, going = self._batch, np.flatnonzero(~done)
        placed = batch.costs[going, batch.out[going, batch.at[going] - 1]] / self.task.unit
        rewards[done] += self._paid[done]
        self._paid[done] = 0
        self._paid[going] += placed
        rewards[going] = -placed
        return seen, rewards, done, infos

    def state(self) -> dict[str, NDArray[Any]]:
        return super().state() | {"paid": self._paid.copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().restore(state)
        self._paid = np.array(state["paid"])
