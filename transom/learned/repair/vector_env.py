"""Many repairs as one vectorised environment of stable-baselines3, stepped in one compiled call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from transom.errors import SpecError
from transom.learned.repair.pool import WindowPool
from transom.learned.repair.process import SEEN, BatchState, Ended, begin_all, empty_batch, look_all, step_all
from transom.learned.repair.task import RepairTask
from transom.models.arrays import BoolArray
from transom.rng import stream

_WORD = 2**64


class RepairVecEnv(VecEnv):
    """Repairs of windows of a pool, so many at a time.

    What is seen and done is that of :class:`~transom.learned.repair.repair_env.RepairEnv`. All repairs draw from one
    generator: what comes in one depends on the actions in all.

    Parameters
    ----------
    pool : the windows.
    task : what is repaired, and what it is worth.
    num_envs : how many repairs at a time, > 0.
    seed : of the generator, >= 0; ``seed()`` before a reset makes it anew.

    Raises
    ------
    SpecError : a condition above does not hold, or costs may be 0 and are divided by.
    """

    def __init__(self, pool: WindowPool, task: RepairTask, num_envs: int, seed: int = 0) -> None:
        if num_envs <= 0:
            raise SpecError(f"repair: there must be > 0 repairs at a time, got {num_envs}")
        task.check(pool.cost)
        self.pool, self.task = pool, task
        self._digest = pool.digest()
        self._removal, self._habits = task.options(), task.habits()
        self._batch = empty_batch(pool.windows, num_envs)
        self._rng = _generator(seed)
        self._actions = np.zeros(num_envs, np.int64)
        self._plain: list[dict[str, Any]] = [{} for _ in range(num_envs)]
        self.render_mode = None
        shape = (task.rows, SEEN)
        super().__init__(num_envs, Box(0.0, 1.0, shape, np.float32), Discrete(SEEN))

    def reset(self) -> NDArray[np.float32]:
        """Open a window in every environment and begin a repair; what is seen, shape ``(num_envs, rows, 100)``."""
        if self._seeds[0] is not None:
            self._rng = _generator(self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        seen = self._room()
        begin_all(self._rng, self.pool.windows, self._batch, self._removal, self._habits, True, seen)
        return seen

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Hand in the actions of all environments, shape ``(num_envs,)``.

        Raises
        ------
        SpecError : a mask forbids one of them.
        """
        given = np.ascontiguousarray(actions, np.int64)
        wrong = np.flatnonzero((given < 0) | (given >= np.minimum(self._batch.length, SEEN)))
        if wrong.size:
            env = int(wrong[0])
            raise SpecError(
                f"repair: environment {env}: action {given[env]} is none of the "
                f"{min(int(self._batch.length[env]), SEEN)} first entries of what is left"
            )
        self._actions = given

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], BoolArray, list[dict[str, Any]]]:
        """What is seen next, rewards, where episodes ended, and for those the last that was seen and the totals."""
        seen, ended = self._room(), Ended(self._room(), np.empty(self.num_envs), np.empty(self.num_envs, np.bool_))
        final, costs, done = ended
        moved = self._batch.moved.copy()
        step_all(self._rng, self.pool.windows, self._batch, self._removal, self._habits, self._actions, seen, ended)
        rewards = self.task.rewards(costs, done)
        infos = self._plain.copy()
        # An episode's only reward is its last, so that it is the sum too.
        for env, reward, jobs in zip(
            np.flatnonzero(done).tolist(), rewards[done].tolist(), moved[done].tolist(), strict=True
        ):
            infos[env] = {"terminal_observation": final[env], "episode": {"r": reward, "l": jobs}}
        return seen, rewards.astype(np.float32), done, infos

    def action_masks(self) -> BoolArray:
        """Which entries of what is left of Q may be the first node of the next job, shape ``(num_envs, 100)``."""
        allowed: BoolArray = np.arange(SEEN) < self._batch.length[:, None]
        return allowed

    def observations(self) -> NDArray[np.float32]:
        """What is seen now, shape ``(num_envs, rows, 100)``."""
        seen = self._room()
        look_all(self.pool.windows, self._batch, seen)
        return seen

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that the future depends on but pool and task, as plain arrays by name."""
        inner: Mapping[str, Any] = self._rng.bit_generator.state
        numbers = [number for name in ("state", "inc") for number in divmod(inner["state"][name], _WORD)]
        numbers += [inner["has_uint32"], inner["uinteger"]]
        state: dict[str, NDArray[Any]] = {name: array.copy() for name, array in self._batch._asdict().items()}
        return state | {
            "generator": np.array(numbers, np.uint64),
            "pool": np.frombuffer(bytes.fromhex(self._digest), np.uint8).copy(),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what :meth:`state` said.

        Raises
        ------
        SpecError : it is of another pool, or of another number of environments.
        """
        if bytes(state["pool"]).hex() != self._digest:
            raise SpecError("repair: this state is of another pool of windows")
        if state["window"].shape != self._batch.window.shape:
            raise SpecError(f"repair: this state has {len(state['window'])} environments and not {self.num_envs}")
        self._batch = BatchState(*(np.array(state[name], order="C") for name in BatchState._fields))
        high, low, inc_high, inc_low, has_uint32, uinteger = (int(number) for number in state["generator"])
        generator = _generator(0)
        generator.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": high * _WORD + low, "inc": inc_high * _WORD + inc_low},
            "has_uint32": has_uint32,
            "uinteger": uinteger,
        }
        self._rng = generator

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute of this environment, for each environment."""
        return [getattr(self, attr_name)] * len(self._chosen(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Lanes have no attributes of their own.

        Raises
        ------
        SpecError : always.
        """
        raise SpecError(f"repair: {attr_name} of single repairs cannot be set")

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """What a method says, environment by environment; of an environment of many it is asked once.

        Raises
        ------
        SpecError : it is not ``action_masks``.
        """
        if method_name != "action_masks":
            raise SpecError(f"repair: single repairs have no method {method_name}")
        masks = self.action_masks()
        return [masks[env] for env in self._chosen(indices)]

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """No environment is wrapped."""
        return [False] * len(self._chosen(indices))

    def close(self) -> None:
        """There is nothing to close."""

    def _room(self) -> NDArray[np.float32]:
        return np.empty((self.num_envs, self.task.rows, SEEN), np.float32)

    def _chosen(self, indices: Any) -> Sequence[int]:
        chosen: Sequence[int] = self._get_indices(indices)
        return chosen


def _generator(seed: int) -> np.random.Generator:
    return stream(seed, "repair env")
