"""An agent that goes on learning while it schedules: Fan et al. (2021), sections III-C and V-D.

It remembers its decisions and what followed from them, updates its weights after some scheduling instances by the rule
that trained it, and forgets. Everything that an update uses is known to a scheduler by then: a reward that is made of
runtimes takes walltimes instead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from transom.errors import DocumentError, SpecError
from transom.learned.checkpoints import Checkpoint
from transom.learned.dras.agent.agents import Agent, CompactAgent, Floats, PaperAgent, agent_of
from transom.learned.dras.cards import paper_shape, scheme_of
from transom.learned.dras.process.features import CONTEXT, FEATURES
from transom.learned.dras.process.process import DecisionState
from transom.learned.dras.process.rewards import holding_cost, parse_reward, passed, selected
from transom.learned.dras.training.collect import Batch
from transom.learned.dras.training.learner import Learner
from transom.learned.dras.training.ppo import Ppo
from transom.learned.dras.training.q_learning import QLearning
from transom.learned.dras.training.settings import RULES, rule_of
from transom.models.arrays import FloatArray
from transom.simulation.core.events import QUEUED, WALLTIME, State

_LEAST = {"ppo": 256}
"""Decisions that an update waits for, where more than two: PPO standardises advantages and measures its critic within
an update, where a handful would be noise."""


class _Remembered(NamedTuple):
    """A decision, until its update."""

    features: Floats
    context: Floats
    candidates: int
    action: int
    log_probability: float
    instant: int


class Adaptation:
    """What a policy has seen since its last update, and the updates.

    Parameters
    ----------
    checkpoint : where learning begins, at every replay anew.
    instances : of scheduling between two updates, > 0; PPO also waits for 256 decisions.
    learning_rate : >= 0.
    reward : a specification (:func:`~transom.learned.dras.process.rewards.parse_reward`); None: as in the training.

    Raises
    ------
    SpecError : a number is out of range, or the reward is unknown.
    DocumentError : the card does not say by which rule the agent was trained.

    References
    ----------
    Fan et al. (2021), section III-C (an update after ten scheduling instances) and section V-D.
    """

    def __init__(
        self, checkpoint: Checkpoint, instances: int = 10, learning_rate: float = 1e-4, reward: str | None = None
    ) -> None:
        if instances < 1:
            raise SpecError(f"instances must be > 0, got {instances}")
        if not 0 <= learning_rate < 1:
            raise SpecError(f"learning_rate must be from 0 to below 1, got {learning_rate}")
        card = checkpoint.card
        spec = str(card.settings.get("agent"))
        name = spec.partition(":")[0]
        if name not in RULES:
            raise DocumentError(
                f"checkpoint {card.name}: to go on learning, setting agent must be one of {', '.join(RULES)}, "
                f"got {name!r}"
            )
        self._checkpoint = checkpoint
        self._every = instances
        self._reward = parse_reward(reward or str(card.settings.get("reward", "waiting")))
        self._rule, settings = rule_of(spec)
        self._settings, self._least = replace(settings, learning_rate=learning_rate), _LEAST.get(name, 2)
        self._scheme = scheme_of(card)

    def reset(self, rng: Generator) -> Agent:
        """Begin a replay: the agent of the checkpoint, which later updates change."""
        self._rng = rng
        self._learner = self._begun(rng)
        self._agent = self._first_agent()
        self._memory: list[_Remembered] = []
        self._rewards: list[float] = []
        self._left: tuple[State, FloatArray] | None = None
        self._gathered = 0.0
        self._instants = 0
        self._due = self._every
        self.updates = 0
        return self._agent

    def arrive(self, now: int) -> None:
        """An instant begins: who was left has waited since the last one."""
        self._instants += 1
        if self._left is not None:
            (jobs, queue, _, _, _, _, _, at), cost = self._left
            self._gathered += float(passed(self._reward, jobs, queue, at, cost, now))

    def decided(self, features: Floats, context: Floats, count: int, action: int, log_probability: float) -> None:
        """A candidate was chosen among two or more."""
        if self._rewards:  # what comes before the first decision counts to that one
            self._rewards[-1] += self._gathered
            self._gathered = 0.0
        seen = features[:count].copy(), context.copy()
        self._memory.append(_Remembered(*seen, count, action, log_probability, self._instants))
        self._rewards.append(0.0)

    def selected(self, state: State, decision_state: DecisionState, job: int, nodes: int) -> None:
        """A job was selected, among others or alone."""
        self._gathered += float(selected(self._reward, state, decision_state, job, nodes))

    def leave(self, state: State, decision_state: DecisionState, started: int) -> None:
        """An instant is over and closed; ``started`` jobs stand in the decision state's picks. Now and then, learn."""
        left = np.delete(state.queue, decision_state.picks[:started])
        at = state.at.copy()
        at[QUEUED] = len(left)
        self._left = state._replace(queue=left, at=at), holding_cost(self._reward, state.jobs[:, WALLTIME])
        if self._instants >= self._due and len(self._memory) > self._least:
            self._update()
            self._due = self._instants + self._every

    def _update(self) -> None:
        # The last decision is still without its reward: it is the first of the next update, and shows rules that look
        # ahead where the one before it led to.
        rows = len(self._memory) if self._learner.looks_ahead else len(self._memory) - 1
        self._learner.update(self._batch(rows), self._rng)
        self.updates += 1
        del self._memory[:-1], self._rewards[:-1]
        if isinstance(self._agent, CompactAgent):
            self._agent.weights = self._learner.network.scorer()

    def _batch(self, rows: int) -> Batch:
        """The first so many decisions that are remembered."""
        memory = self._memory[:rows]
        features = np.zeros((rows, self._scheme.window, memory[0].features.shape[1]), np.float32)
        for row, each in enumerate(memory):
            features[row, : each.candidates] = each.features
        return Batch(
            features=features,
            context=np.array([each.context for each in memory], np.float32),
            count=np.array([each.candidates for each in memory], np.int64),
            action=np.array([each.action for each in memory], np.int64),
            log_probability=np.array([each.log_probability for each in memory]),
            reward=np.array(self._rewards[:rows]),
            done=np.zeros(rows, np.bool_),
            instant=np.array([each.instant for each in memory], np.int64),
        )

    def _begun(self, rng: Generator) -> Learner:
        """The rule on the network of the checkpoint."""
        card, weights = self._checkpoint.card, self._checkpoint.weights
        if isinstance(agent_of(self._checkpoint), PaperAgent):
            from transom.learned.dras.training.paper_network import PaperNetwork

            if self._rule is Ppo:
                raise DocumentError(f"checkpoint {card.name}: a network of Table III has no critic for PPO")
            network: Any = PaperNetwork(paper_shape(self._checkpoint.card, self._checkpoint.weights))
        else:
            from transom.learned.dras.training.scorer_network import ScorerNetwork

            hidden = weights["actor.hidden"].shape
            network = ScorerNetwork(len(FEATURES), len(CONTEXT), hidden, rng)
        settings = self._settings
        if self._rule is QLearning and not hasattr(network, "values"):
            settings = replace(settings, dueling=False)
        learner: Learner = self._rule(network, settings)
        # What the checkpoint leaves out, such as a critic, begins as drawn.
        kept = {f"weights.{name}": array for name, array in weights.items()}
        learner.restore({**learner.state(), **kept})
        return learner

    def _first_agent(self) -> Agent:
        agent = agent_of(self._checkpoint)
        # Weights of the size of Table III are not worth copying: the network that learns decides as well.
        return agent if isinstance(agent, CompactAgent) else PaperAgent(self._scheme, self._learner.network)
