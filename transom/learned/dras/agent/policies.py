"""DRAS-PG, DRAS-DQL and Decima-PG as policies of the simulator, from checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from transom.errors import DocumentError, SpecError
from transom.learned.checkpoints import Checkpoint, load, misfit, require
from transom.learned.dras.agent.agents import Agent, CompactAgent, agent_of
from transom.learned.dras.cards import scheme_of
from transom.learned.dras.process.inference import decide_window, picked
from transom.learned.dras.process.process import PICKED, DecisionState
from transom.learned.dras.process.state_from_window import decide_one_by_one, decided, decision_of, parts
from transom.learned.dras.training.collect import run_scorer
from transom.models import Cluster, Window
from transom.models.arrays import IntArray
from transom.rng import stream
from transom.simulation.core.decision import Decision
from transom.simulation.core.events import State

if TYPE_CHECKING:
    from transom.learned.dras.agent.adaptation import Adaptation
    from transom.simulation.core.replay import Progress, Replay

Choice = Literal["best", "sample"]
"""Take the candidate with the highest score, or draw one by the softmax of the scores."""

INSTANCES, LEARNING_RATE = 10, 1e-4
"""Scheduling instances between two updates of an agent that goes on learning, and their learning rate."""


class LearnedPolicy:
    """An agent that selects job after job, reserves, and backfills around the reservation.

    The reservation that is kept from instant to instant is part of it; ``reset`` forgets it. ``choices`` counts how
    often ``decide`` has chosen among two candidates or more.

    Parameters
    ----------
    checkpoint : what was trained.
    epsilon : < 0: candidates are drawn by the softmax of their scores; else the highest score is taken, but any
        candidate with this probability.
    anywhere : decide for machines of other sizes, too.
    adaptation : learns while it decides; None: does not.

    Raises
    ------
    DocumentError : the checkpoint is not an agent's, or does not fit its own card.
    SpecError : it cannot decide for machines of other sizes.
    """

    order = "fcfs"

    def __init__(
        self,
        checkpoint: Checkpoint,
        epsilon: float = 0.0,
        anywhere: bool = False,
        adaptation: Adaptation | None = None,
    ) -> None:
        self.name = checkpoint.card.name
        self.digest = checkpoint.card.weights
        self._agent: Agent = agent_of(checkpoint)
        self.scheme = scheme_of(checkpoint.card)
        self.card = checkpoint.card
        self._epsilon = epsilon
        self._anywhere = anywhere
        self._adaptation = adaptation
        self._checked: Cluster | None = None
        if anywhere and not isinstance(self._agent, CompactAgent):
            raise SpecError(f"checkpoint {self.name!r}: the network has an input for every node: anywhere=no")
        # Each decision alone where something besides the compiled loop has to see it.
        whole = isinstance(self._agent, CompactAgent) and adaptation is None
        self.run: Callable[[Replay, Progress], dict[str, NDArray[Any]]] | None = self._run if whole else None
        self.reset(stream(0))

    def reset(self, rng: Generator) -> None:
        """Begin a replay: no reservation, choices drawn from ``rng``, and nothing learned since the checkpoint."""
        self._holder = -1
        self._rng = rng
        self.choices = 0
        if self._adaptation is not None:
            self._agent = self._adaptation.reset(rng)

    def decide(self, window: Window, /) -> Decision:
        """Decide one instant.

        Raises
        ------
        DocumentError : the machine is not the one that the agent was trained for.
        """
        self._check(window.cluster)
        nodes = window.cluster.num_nodes
        agent = self._agent
        if isinstance(agent, CompactAgent) and self._adaptation is None:
            rng = self._rng if self._epsilon else None
            at = parts(window), nodes, self.scheme, self._holder
            choices, outcome = decide_window(*at, agent.weights, agent.workspace, rng, self._epsilon)
            self.choices += choices
        else:
            outcome = self._decide_one_by_one(window, nodes)
        self._holder = outcome[2]
        return decision_of(*outcome)

    def _decide_one_by_one(self, window: Window, nodes: int) -> tuple[IntArray, int, int, int]:
        """What ``decide_window`` tells, with any agent, which may learn from it."""
        agent, learning = self._agent, self._adaptation

        def choose(state: State, decision_state: DecisionState, count: int) -> int:
            self.choices += 1
            features, context = agent.observe(state, decision_state, nodes)
            scores = agent.score(features, context, count)
            k, log_probability = picked(scores, count, np.empty(count), self._rng, self._epsilon)
            if learning is not None:
                learning.decided(features, context, count, k, log_probability)
            return int(k)

        def selected(state: State, decision_state: DecisionState, job: int) -> None:
            if learning is not None:
                learning.selected(state, decision_state, job, nodes)

        if learning is not None:
            learning.arrive(window.now)
        state, decision_state = decide_one_by_one(window, self.scheme, self._holder, choose, selected)
        if learning is not None:
            learning.leave(state, decision_state, int(decision_state.at[PICKED]))
        outcome: tuple[IntArray, int, int, int] = decided(window.queue.data, decision_state)
        return outcome

    def _run(self, replay: Replay, report: Progress) -> dict[str, NDArray[Any]]:
        self._check(replay.cluster)
        assert isinstance(self._agent, CompactAgent)
        return run_scorer(replay, self.scheme, self._agent.weights, self._rng, self._epsilon, report)

    def _check(self, cluster: Cluster) -> None:
        if not self._anywhere and cluster is not self._checked:
            if (wrong := misfit(self.card, {"nodes": cluster.num_nodes})) is not None:
                cure = "; anywhere=yes uses it all the same" if isinstance(self._agent, CompactAgent) else ""
                raise DocumentError(f"checkpoint {self.name!r}: {wrong}{cure}")
            self._checked = cluster


def dras_pg(
    model: str = "dras-pg",
    choose: Choice = "best",
    anywhere: bool = False,
    adapt: bool = False,
    instances: int = INSTANCES,
    learning_rate: float = LEARNING_RATE,
    reward: str = "",
) -> LearnedPolicy:
    """A network that was trained by policy gradient selects jobs, reserves for the first that does not fit, and
    backfills around that.

    Parameters
    ----------
    model : name of a shipped checkpoint, or the path of a ``.safetensors`` file.
    choose : ``best``: the candidate with the highest score; ``sample``: drawn by the softmax of the scores.
    anywhere : also decide for machines of another size than that of the training.
    adapt : go on learning while it decides, by the rule that trained it (:class:`Adaptation`).
    instances : of scheduling between two updates, > 0.
    learning_rate : of these updates, >= 0.
    reward : what they reward, by default what the checkpoint was trained for.

    Raises
    ------
    SpecError : there is no such checkpoint, packages are missing, or a number is out of range.
    DocumentError : the checkpoint cannot be read, or is none of an agent.

    References
    ----------
    Fan et al. (2021), section III.
    """
    checkpoint = _trained(model, ("pg", "ppo"), 2)
    return _policy(checkpoint, -1.0 if choose == "sample" else 0.0, anywhere, adapt, instances, learning_rate, reward)


def dras_dql(
    model: str = "dras-dql",
    epsilon: float = 0.0,
    anywhere: bool = False,
    adapt: bool = False,
    instances: int = INSTANCES,
    learning_rate: float = LEARNING_RATE,
    reward: str = "",
) -> LearnedPolicy:
    """The same with a network that was trained by Q-learning: it selects the job that is expected to be worth most.

    Parameters
    ----------
    model, anywhere, adapt, instances, learning_rate, reward : as in :func:`dras_pg`.
    epsilon : any candidate is taken instead with this probability, 0 to 1.

    Raises
    ------
    SpecError, DocumentError : as in :func:`dras_pg`.

    References
    ----------
    Fan et al. (2021), section III.
    """
    if not 0 <= epsilon <= 1:
        raise SpecError(f"dras-dql: epsilon must be from 0 to 1, got {epsilon}")
    return _policy(_trained(model, ("dql",), 2), epsilon, anywhere, adapt, instances, learning_rate, reward)


def decima_pg(
    model: str = "decima-pg",
    choose: Choice = "best",
    anywhere: bool = False,
    adapt: bool = False,
    instances: int = INSTANCES,
    learning_rate: float = LEARNING_RATE,
    reward: str = "",
) -> LearnedPolicy:
    """The paper's comparison: a network selects among the jobs that fit now, without reservation and backfilling.

    Parameters
    ----------
    model, choose, anywhere, adapt, instances, learning_rate, reward : as in :func:`dras_pg`.

    Raises
    ------
    SpecError, DocumentError : as in :func:`dras_pg`.

    References
    ----------
    Fan et al. (2021), section IV-A.
    """
    checkpoint = _trained(model, ("pg", "ppo"), 1)
    return _policy(checkpoint, -1.0 if choose == "sample" else 0.0, anywhere, adapt, instances, learning_rate, reward)


def _trained(model: str, rules: tuple[str, ...], levels: int) -> Checkpoint:
    """A checkpoint that was trained by one of the rules, for so many levels.

    Raises
    ------
    SpecError, DocumentError : as in :func:`dras_pg`.
    """
    checkpoint = load(model, "dras")
    card = checkpoint.card
    rule, found = str(card.settings.get("agent")).partition(":")[0], scheme_of(card).levels
    if rule not in rules or found != levels:
        raise DocumentError(
            f"checkpoint {card.name!r}: was trained by {rule!r} on {found} level(s); "
            f"this policy takes {' or '.join(rules)} on {levels}"
        )
    return checkpoint


def _policy(
    checkpoint: Checkpoint,
    epsilon: float,
    anywhere: bool,
    adapt: bool,
    instances: int,
    learning_rate: float,
    reward: str,
) -> LearnedPolicy:
    if not adapt:
        if (instances, learning_rate, reward) != (INSTANCES, LEARNING_RATE, ""):
            raise SpecError("instances, learning_rate and reward are about learning: adapt=yes")
        return LearnedPolicy(checkpoint, epsilon, anywhere)
    require("adapt=yes", "torch")
    from transom.learned.dras.agent.adaptation import Adaptation

    return LearnedPolicy(
        checkpoint, epsilon, anywhere, Adaptation(checkpoint, instances, learning_rate, reward or None)
    )
