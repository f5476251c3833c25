"""Policy backends of training: how each kind of network records decisions and schedules.

The compact one records and replays in compiled kernels. Those of Table III are asked decision by decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from transom.errors import ModelError
from transom.learned.dras.process.episodes import Episode, Episodes
from transom.learned.dras.process.features import CONTEXT, FEATURES, SCHEMA
from transom.learned.dras.process.inference import picked
from transom.learned.dras.process.paper_scorer import SCHEMA as PAPER_SCHEMA
from transom.learned.dras.process.paper_scorer import PaperScorer, PaperShape
from transom.learned.dras.process.paper_state import paper_state
from transom.learned.dras.process.process import INSTANT, AgentConfig
from transom.learned.dras.process.rewards import parse_reward
from transom.learned.dras.process.stepping import act, step_to_next_decision
from transom.learned.dras.training.collect import Batch, collect, replay
from transom.learned.scorer import highest
from transom.rng import stream
from transom.simulation.core import events
from transom.simulation.core.schedule import Schedule
from transom.traces import Workload

if TYPE_CHECKING:
    from torch import nn


class PolicyBackend(Protocol):
    """How a network records decisions and schedules; ``name`` and ``schema`` are those of checkpoints."""

    name: str
    schema: str
    network: nn.Module

    def record(self, episodes: Episodes, decisions: int, rng: Generator, epsilon: float, reward: str) -> Batch:
        """See :func:`~transom.learned.dras.training.collect.collect`."""

    def schedule(self, workload: Workload) -> Schedule:
        """What comes of a workload if the highest score is taken everywhere."""


class CompiledBackend:
    """The shared encoder with a critic.

    Parameters
    ----------
    scheme : how it schedules.
    hidden : units of the two hidden layers.
    seed : of its first weights.
    device : of torch.
    """

    schema = SCHEMA

    def __init__(self, scheme: AgentConfig, hidden: tuple[int, int], seed: int, device: str) -> None:
        from transom.learned.dras.training.scorer_network import ScorerNetwork

        self.name = "scorer-{}x{}".format(*hidden)
        self.network = ScorerNetwork(len(FEATURES), len(CONTEXT), hidden, stream(seed, "weights")).to(device)
        self._scheme = scheme

    def record(self, episodes: Episodes, decisions: int, rng: Generator, epsilon: float, reward: str) -> Batch:
        """See :class:`PolicyBackend`."""
        return collect(episodes, self._scheme, self.network.scorer(), decisions, rng, epsilon, reward)

    def schedule(self, workload: Workload) -> Schedule:
        """See :class:`PolicyBackend`."""
        return replay(workload, self._scheme, self.network.scorer())


class TorchBackend:
    """A network of Table III.

    Parameters
    ----------
    scheme : how it schedules.
    shape : sizes of the network.
    seed : of its first weights.
    device : of torch.
    """

    schema = PAPER_SCHEMA

    def __init__(self, scheme: AgentConfig, shape: PaperShape, seed: int, device: str) -> None:
        from transom.learned.dras.training.paper_network import PaperNetwork

        self.name = shape.name
        self.network = PaperNetwork(shape, stream(seed, "weights")).to(device)
        self._scheme = scheme
        self._shape = shape

    def record(self, episodes: Episodes, decisions: int, rng: Generator, epsilon: float, reward: str) -> Batch:
        """See :class:`PolicyBackend`."""
        numbers = parse_reward(reward)
        rows: list[list[Any]] = []
        unfinished = False  # whether the last row is of this episode
        while True:
            episode = episodes.current or episodes.next(self._scheme, numbers, rng)
            count = self._step_to_next_decision(episode)
            episodes.instants = int(episode.decision_state.at[INSTANT])
            if unfinished:
                rows[-1][_REWARD] += float(episode.gathered[0])
                episode.gathered[0] = 0.0
            if count == 0:
                if unfinished:
                    rows[-1][_DONE] = True
                unfinished = False
                episodes.current = None
                episodes.finished += 1
                if not rows and episodes.finished > len(episodes.workloads):
                    raise ModelError("episodes: in none of the workloads there is anything to choose")
                continue
            if len(rows) == decisions:
                return Batch(*(np.array(column) for column in zip(*rows, strict=True)))
            features, context = self._observe(episode)
            k, log_probability = picked(
                self.network.scores(features, context, count), count, np.empty(count), rng, epsilon
            )
            instant = int(episode.decision_state.at[INSTANT])
            rows.append([features, context, count, k, log_probability, 0.0, False, instant])
            self._act(episode, k)
            unfinished = True

    def schedule(self, workload: Workload) -> Schedule:
        """See :class:`PolicyBackend`."""
        weights = {name: weight.detach().cpu().numpy() for name, weight in self.network.state_dict().items()}
        scorer = PaperScorer(self._shape, weights)
        episode = Episode(workload, 0, self._scheme, parse_reward("waiting"))
        while count := self._step_to_next_decision(episode):
            features, context = self._observe(episode)
            self._act(episode, int(highest(scorer.scores(features, context, count), count)))
        jobs = episode.state.jobs
        start, end, mode, order = (jobs[:, column] for column in (events.START, events.END, events.MODE, events.ORDER))
        return Schedule(self.name, workload.name, workload.cluster, workload.jobs, start, end, mode, order)

    def _step_to_next_decision(self, episode: Episode) -> int:
        now = episode.state, episode.decision_state, self._scheme, self._shape.nodes
        return int(step_to_next_decision(*now, episode.runtime, episode.rewards))

    def _observe(self, episode: Episode) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        window, nodes = self._scheme.window, self._shape.nodes
        rows = np.zeros((2 * window + nodes, 2), np.float32)
        paper_state(episode.state, episode.decision_state, self._scheme, nodes, rows)
        return rows[: 2 * window].reshape(-1, 4), rows[2 * window :].reshape(-1)

    def _act(self, episode: Episode, k: int) -> None:
        now = episode.state, episode.decision_state, self._scheme, self._shape.nodes
        act(*now, episode.rewards, k)


_REWARD, _DONE = Batch._fields.index("reward"), Batch._fields.index("done")
