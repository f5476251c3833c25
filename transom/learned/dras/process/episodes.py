"""Workloads that an agent learns on, one episode each, and where that stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from transom.errors import DocumentError, ModelError
from transom.learned.dras.process.process import INSTANT, AgentConfig
from transom.learned.dras.process.rewards import Reward, RewardState, holding_cost
from transom.learned.dras.process.state_from_window import new_decision_state
from transom.simulation.core.replay import Replay
from transom.traces.workload import Workload


class Episodes:
    """Workloads that are replayed one after another, over and over, and where that stands.

    Parameters
    ----------
    workloads : one episode each.
    shuffled : whether each round takes them in another random order.

    Raises
    ------
    ModelError : there is none, or they are of different machines.
    """

    def __init__(self, workloads: Sequence[Workload], shuffled: bool = False) -> None:
        if not workloads:
            raise ModelError("episodes: at least one workload is needed")
        nodes = {workload.cluster.num_nodes for workload in workloads}
        if len(nodes) > 1:
            raise ModelError(f"episodes: workloads of one machine are needed, got machines of {sorted(nodes)} nodes")
        self.workloads = tuple(workloads)
        self.shuffled = shuffled
        self.nodes = nodes.pop()
        self.order: list[int] = []  # the episodes that are still to come in this round
        self.finished = 0
        self.current: Episode | None = None
        self.instants = 0

    def next(self, scheme: AgentConfig, reward: Reward, rng: Generator) -> Episode:
        """Begin the next episode."""
        if not self.order:
            count = len(self.workloads)
            self.order = rng.permutation(count).tolist() if self.shuffled else list(range(count))
        which = self.order.pop(0)
        self.current = Episode(self.workloads[which], which, scheme, reward, self.instants)
        return self.current

    def snapshot(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """All that :meth:`restore` needs to go on from here: arrays by name, and plain values."""
        facts: dict[str, Any] = {"order": list(self.order), "finished": self.finished, "instants": self.instants}
        episode = self.current
        if episode is None:
            return {}, facts
        facts |= {"which": episode.which, "scheme": list(episode.scheme), "reward": list(episode.reward)}
        return {name: array.copy() for name, array in episode.arrays().items()}, facts

    def restore(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> None:
        """Go back to where :meth:`snapshot` was taken of episodes of the same workloads.

        Raises
        ------
        DocumentError : it was taken of others.
        """
        self.order = [int(which) for which in facts["order"]]
        self.finished, self.instants = int(facts["finished"]), int(facts["instants"])
        self.current = None
        if any(not 0 <= which < len(self.workloads) for which in [*self.order, facts.get("which", 0)]):
            raise DocumentError(f"these are not the episodes of {len(self.workloads)} workloads")
        if "which" not in facts:
            return
        which = int(facts["which"])
        episode = Episode(self.workloads[which], which, AgentConfig(*facts["scheme"]), Reward(*facts["reward"]))
        for name, array in episode.arrays().items():
            if name not in arrays or arrays[name].shape != array.shape:
                raise DocumentError(f"these are not the episodes of these workloads: {name} has another shape")
            array[...] = arrays[name]
        self.current = episode


class Episode:
    """A replay in progress under a scheme and a reward."""

    def __init__(self, workload: Workload, which: int, scheme: AgentConfig, reward: Reward, instants: int = 0) -> None:
        replay = Replay(workload, "fcfs")
        self.which = which
        self.scheme = scheme
        self.reward = reward
        self.state = replay.state
        self.runtime = workload.runtime
        self.decision_state = new_decision_state(replay.state, scheme, workload.cluster.num_nodes, replay.jobs.priority)
        self.decision_state.at[INSTANT] = instants
        self.gathered = np.zeros(1)  # reward since the last decision
        self.rewards = RewardState(reward, holding_cost(reward, workload.runtime), self.gathered)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that change as the episode goes on, by name."""
        state = {f"state.{name}": array for name, array in self.state._asdict().items() if name != "children"}
        decision_state = {
            f"course.{name}": array for name, array in self.decision_state._asdict().items() if name != "known"
        }
        return {**state, **decision_state, "gathered": self.gathered}
