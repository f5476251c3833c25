"""What a checkpoint of DRAS says and how its network sees and scores candidates, one decision at a time."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from transom.errors import DocumentError
from transom.learned.checkpoints import Checkpoint
from transom.learned.dras.cards import check, paper_shape, scheme_of
from transom.learned.dras.process.features import CONTEXT, FEATURES, SCHEMA, observe
from transom.learned.dras.process.inference import new_workspace
from transom.learned.dras.process.paper_scorer import PaperScorer
from transom.learned.dras.process.paper_state import paper_state
from transom.learned.dras.process.process import AgentConfig, DecisionState
from transom.learned.scorer import ScorerWeights, score, scorer_weights
from transom.simulation.core.events import State

Floats = NDArray[np.float32]


class Agent(Protocol):
    """Sees the candidates of a decision and scores them."""

    def observe(self, state: State, decision_state: DecisionState, nodes: int) -> tuple[Floats, Floats]:
        """Rows of the candidates and what they have in common; valid until the next call."""

    def score(self, features: Floats, context: Floats, count: int) -> Floats:
        """Scores of the first ``count`` candidates; valid until the next call."""


class CompactAgent:
    """The shared encoder (:mod:`transom.learned.scorer`) on the observations of ``features``.

    Parameters
    ----------
    scheme : how it schedules.
    weights : of the scorer.
    """

    def __init__(self, scheme: AgentConfig, weights: ScorerWeights) -> None:
        self.weights = weights
        self.workspace = new_workspace(scheme.window)
        self._scheme = scheme

    def observe(self, state: State, decision_state: DecisionState, nodes: int) -> tuple[Floats, Floats]:
        """See :class:`Agent`."""
        features, context = self.workspace.features, self.workspace.context
        observe(state, decision_state, self._scheme, nodes, features, context)
        return features, context

    def score(self, features: Floats, context: Floats, count: int) -> Floats:
        """See :class:`Agent`."""
        score(self.weights, features, context, count, self.workspace.scores)
        return self.workspace.scores


class PaperAgent:
    """A network of Table III on the paper's observations.

    Parameters
    ----------
    scheme : how it schedules.
    scorer : the network: a :class:`~transom.learned.dras.process.paper_scorer.PaperScorer`, or that of a training.
    """

    def __init__(self, scheme: AgentConfig, scorer: Any) -> None:
        self._scheme = scheme
        self._scorer = scorer
        self._rows = np.zeros((2 * scheme.window + scorer.shape.nodes, 2), np.float32)

    def observe(self, state: State, decision_state: DecisionState, nodes: int) -> tuple[Floats, Floats]:
        """See :class:`Agent`."""
        paper_state(state, decision_state, self._scheme, nodes, self._rows)
        jobs_end = 2 * self._scheme.window
        return self._rows[:jobs_end].reshape(-1, 4), self._rows[jobs_end:].reshape(-1)

    def score(self, features: Floats, context: Floats, count: int) -> Floats:
        """See :class:`Agent`."""
        scores: Floats = self._scorer.scores(features, context, count)
        return scores


def agent_of(checkpoint: Checkpoint) -> Agent:
    """The agent that a checkpoint holds.

    Raises
    ------
    DocumentError : weights, card and code do not fit together.
    """
    card, weights = checkpoint.card, checkpoint.weights
    try:
        check(card, weights)
    except DocumentError as error:
        raise DocumentError(f"checkpoint {card.name!r}: {error}") from None
    scheme = scheme_of(card)
    if card.schema == SCHEMA:
        return CompactAgent(scheme, scorer_weights(weights, len(FEATURES), len(CONTEXT)))
    return PaperAgent(scheme, PaperScorer(paper_shape(card, weights), weights))
