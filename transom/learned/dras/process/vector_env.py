"""Many workloads to schedule side by side, stepped by one compiled call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from transom._system.compiling import compiled
from transom.errors import ModelError
from transom.learned.dras.process.batch_state import BatchState, new_batch, replay_of, start_all, step_all
from transom.learned.dras.process.features import observe
from transom.learned.dras.process.observing import Observation, Observer
from transom.learned.dras.process.paper_state import paper_state
from transom.learned.dras.process.process import COUNT, AgentConfig
from transom.learned.dras.process.rewards import holding_cost, parse_reward
from transom.models.arrays import BoolArray, FloatArray, SingleArray
from transom.traces.workload import Workload


class SchedulingVectorEnv(VectorEnv):
    """One :class:`~transom.learned.dras.process.scheduling_env.SchedulingEnv` for each workload, stepped together.

    A workload that has ended begins anew within the same step: its observation is then that of its first decision.

    Parameters
    ----------
    workloads, scheme, reward, observation : as there.

    Raises
    ------
    SpecError : the reward or the observation is unknown.
    ModelError : there is no workload, they are of different machines or further resources, or there is nothing to
        choose in one.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(
        self,
        workloads: Sequence[Workload],
        scheme: AgentConfig | None = None,
        reward: str = "waiting",
        observation: Observation = "paper",
    ) -> None:
        if len({(workload.cluster.num_nodes, workload.cluster.resources) for workload in workloads}) != 1:
            raise ModelError("batch: at least one workload is needed, and all of one machine")
        self.num_envs = len(workloads)
        self.scheme = scheme or AgentConfig()
        self.reward = parse_reward(reward)
        self._nodes = workloads[0].cluster.num_nodes
        self._observer = Observer(observation, self.scheme, self._nodes)
        self.single_observation_space, self.single_action_space = self._observer.space, self._observer.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        costs = [holding_cost(self.reward, workload.runtime) for workload in workloads]
        self.batch = new_batch(workloads, self.scheme, costs)
        self._gathered = np.zeros((self.num_envs, 1))
        if not start_all(self.batch, self.scheme, self._nodes, self.reward, self._gathered):
            raise ModelError("batch: in one of the workloads there is nothing to choose")

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin all workloads; nothing here is random."""
        super().reset(seed=seed)
        start_all(self.batch, self.scheme, self._nodes, self.reward, self._gathered)
        return self._seen(), {}

    def step(self, actions: Any) -> tuple[Any, FloatArray, BoolArray, BoolArray, dict[str, Any]]:
        """Select a candidate in each; what is seen, the rewards, which have ended, which were cut off, and nothing."""
        rewards, ended = np.zeros(self.num_envs), np.zeros(self.num_envs, np.bool_)
        chosen = np.asarray(actions, np.int64)
        step_all(self.batch, self.scheme, self._nodes, self.reward, self._gathered, chosen, rewards, ended)
        return self._seen(), rewards, ended, np.zeros_like(ended), {}

    def action_masks(self) -> BoolArray:
        """Which actions there are, shape ``(E, W)``."""
        allowed: BoolArray = np.arange(self.scheme.window) < self.batch.decision.at[:, COUNT, None]
        return allowed

    def _seen(self) -> Any:
        made = self._observer.room(self.num_envs)
        if self._observer.kind == "paper":
            _see_paper(self.batch, self.scheme, self._nodes, made)
        else:
            _see_compact(self.batch, self.scheme, self._nodes, made["features"], made["context"])
        return made


@compiled
def _see_paper(batch: BatchState, scheme: AgentConfig, nodes: int, made: SingleArray) -> None:
    for env in range(len(made)):
        s, c = replay_of(batch, env)
        paper_state(s, c, scheme, nodes, made[env])


@compiled
def _see_compact(
    batch: BatchState, scheme: AgentConfig, nodes: int, features: SingleArray, context: SingleArray
) -> None:
    for env in range(len(features)):
        s, c = replay_of(batch, env)
        observe(s, c, scheme, nodes, features[env], context[env])
