"""What a checkpoint of DRAS says and how its network sees and scores candidates, one decision at a time."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from transom.errors import DocumentError
from transom.learned.checkpoints import Card, Checkpoint
from transom.learned.dras.deciding import new_view
from transom.learned.dras.features import CONTEXT, FEATURES, SCHEMA, observe
from transom.learned.dras.paper_scorer import SCHEMA as PAPER_SCHEMA
from transom.learned.dras.paper_scorer import Agent as PaperAgentKind
from transom.learned.dras.paper_scorer import PaperScorer, PaperShape
from transom.learned.dras.paper_state import paper_state
from transom.learned.dras.process import RANGES, Course, Scheme
from transom.learned.scorer import ScorerWeights, score, scorer_weights
from transom.simulation.events import State

Floats = NDArray[np.float32]


class Agent(Protocol):
    """Sees the candidates of a decision and scores them."""

    def observe(self, state: State, course: Course, nodes: int) -> tuple[Floats, Floats]:
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

    def __init__(self, scheme: Scheme, weights: ScorerWeights) -> None:
        self.weights = weights
        self.view = new_view(scheme.window)
        self._scheme = scheme

    def observe(self, state: State, course: Course, nodes: int) -> tuple[Floats, Floats]:
        """See :class:`Agent`."""
        jobs, queue, _, expected, _, free, _, at = state
        place, extra, candidates, _, _, known = course
        features, context = self.view.features, self.view.context
        observe(
            jobs, queue, expected, free, at, place, extra, candidates, known, self._scheme, nodes, features, context
        )
        return features, context

    def score(self, features: Floats, context: Floats, count: int) -> Floats:
        """See :class:`Agent`."""
        score(self.weights, features, context, count, self.view.scores)
        return self.view.scores


class PaperAgent:
    """A network of Table III on the paper's observations.

    Parameters
    ----------
    scheme : how it schedules.
    scorer : the network.
    """

    def __init__(self, scheme: Scheme, scorer: PaperScorer) -> None:
        self._scheme = scheme
        self._scorer = scorer
        self._rows = np.zeros((2 * scheme.window + scorer.shape.nodes, 2), np.float32)

    def observe(self, state: State, course: Course, nodes: int) -> tuple[Floats, Floats]:
        """See :class:`Agent`."""
        jobs, queue, _, expected, _, free, _, at = state
        place, _, candidates, _, _, known = course
        paper_state(jobs, queue, expected, free, at, place, candidates, known, self._scheme, nodes, self._rows)
        jobs_end = 2 * self._scheme.window
        return self._rows[:jobs_end].reshape(-1, 4), self._rows[jobs_end:].reshape(-1)

    def score(self, features: Floats, context: Floats, count: int) -> Floats:
        """See :class:`Agent`."""
        return self._scorer.scores(features, context, count)


def agent_of(checkpoint: Checkpoint) -> Agent:
    """The agent that a checkpoint holds.

    Raises
    ------
    DocumentError : its observations are of another schema, or weights and card do not fit.
    """
    card, scheme = checkpoint.card, scheme_of(checkpoint.card)
    if card.schema == SCHEMA:
        try:
            return CompactAgent(scheme, scorer_weights(checkpoint.weights, len(FEATURES), len(CONTEXT)))
        except DocumentError as error:
            raise DocumentError(f"checkpoint {card.name}: {error}") from None
    if card.schema == PAPER_SCHEMA:
        return PaperAgent(scheme, PaperScorer(paper_shape(checkpoint), checkpoint.weights))
    raise DocumentError(
        f"checkpoint {card.name}: was made for observations {card.schema!r}; agents see {SCHEMA!r} or {PAPER_SCHEMA!r}"
    )


def scheme_of(card: Card) -> Scheme:
    """How the agent of a card schedules.

    Raises
    ------
    DocumentError : its settings lack a number, or one is out of range.
    """
    return Scheme(**{name: _whole(card, name, *ends) for name, ends in RANGES.items()})


def paper_shape(checkpoint: Checkpoint) -> PaperShape:
    """Sizes of the network of Table III in a checkpoint.

    Raises
    ------
    DocumentError : its card lacks the number of nodes, or it holds no second layer.
    """
    card, second = checkpoint.card, checkpoint.weights.get("second")
    nodes = card.cluster.get("nodes", 0)
    if second is None or second.ndim != 2 or nodes < 1:
        raise DocumentError(f"checkpoint {card.name}: not the weights of a network of Table III")
    agents: dict[str, PaperAgentKind] = {"paper-pg": "pg", "paper-dql": "dql"}
    if card.network not in agents:
        raise DocumentError(f"checkpoint {card.name}: {card.network!r} is not a network of Table III")
    return PaperShape(agents[card.network], nodes, scheme_of(card).window, *second.shape)


def _whole(card: Card, name: str, least: int, most: int) -> int:
    value = card.settings.get(name)
    if not isinstance(value, int) or not least <= value <= most:
        raise DocumentError(f"checkpoint {card.name}: setting {name} must be from {least} to {most}, got {value!r}")
    return int(value)
