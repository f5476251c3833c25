"""An instant decided by a scorer, compiled: the one loop that rollouts, replays and policies share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled
from transom.learned.dras.process.features import CONTEXT, FEATURES, observe
from transom.learned.dras.process.process import AgentConfig, DecisionState, begin, candidates_of, take
from transom.learned.dras.process.state_from_window import Parts, decided, state_from_arrays
from transom.learned.scorer import ScorerWeights, highest, sample, score, softmax
from transom.models.arrays import FloatArray, IntArray, SingleArray
from transom.simulation.core.events import State


class Workspace(NamedTuple):
    """Preallocated arrays of a decision; ``W`` candidates at most.

    ``features`` ``(W, F)`` and ``context`` ``(G,)``: the observation; ``scores`` ``(W,)``, ``chances`` ``(W,)``: what
    the scorer made of it.
    """

    features: NDArray[np.float32]
    context: NDArray[np.float32]
    scores: NDArray[np.float32]
    chances: FloatArray


def new_workspace(window: int) -> Workspace:
    """Room for decisions among so many candidates."""
    return Workspace(
        np.zeros((window, len(FEATURES)), np.float32),
        np.zeros(len(CONTEXT), np.float32),
        np.zeros(window, np.float32),
        np.zeros(window),
    )


@compiled
def picked(
    scores: SingleArray, count: int, chances: FloatArray, rng: np.random.Generator, epsilon: float
) -> tuple[int, float]:
    """What :func:`choose` chooses from scores that are there already; ``chances`` is scratch."""
    if epsilon < 0:
        softmax(scores, count, chances)
        k = sample(rng, chances, count)
        return k, np.log(chances[k])
    best = highest(scores, count)
    k = best
    if epsilon > 0 and rng.random() < epsilon:
        k = int(rng.random() * count)
    return k, np.log(epsilon / count + (1 - epsilon if k == best else 0.0))


@compiled
def choose(
    weights: ScorerWeights,
    features: SingleArray,
    context: SingleArray,
    count: int,
    scores: SingleArray,
    chances: FloatArray,
    rng: np.random.Generator | None,
    epsilon: float,
) -> tuple[int, float]:
    """Choose among ``count`` candidates and say with which log-probability that choice was made.

    ``epsilon`` < 0: drawn from the softmax of the scores; else the highest score with probability 1 - epsilon, any
    candidate with epsilon. With 0 no random number is drawn. Without a generator it is the highest score in any case:
    handing one to a kernel costs more than a decision.
    """
    score(weights, features, context, count, scores)
    if rng is None:
        return highest(scores, count), 0.0
    return picked(scores, count, chances, rng, epsilon)


@compiled
def decide(
    s: State,
    c: DecisionState,
    scheme: AgentConfig,
    nodes: int,
    weights: ScorerWeights,
    workspace: Workspace,
    rng: np.random.Generator | None,
    epsilon: float,
) -> int:
    """Decide one instant to its end, after :func:`~transom.learned.dras.process.process.begin`.

    Parameters
    ----------
    s, c : state and decision state; the jobs that start are placed in it, and stand in ``c.picks``.
    scheme, nodes : how to schedule, and the nodes of the machine.
    weights : of the scorer.
    workspace : room for the decision.
    rng, epsilon : see :func:`choose`; ``rng`` may be None.

    Returns
    -------
    The number of decisions among two candidates or more.
    """
    features, context, scores, chances = workspace
    asked = 0
    while True:
        count = candidates_of(s, c, scheme)
        if count == 0:
            return asked
        k = 0
        if count > 1:
            observe(s, c, scheme, nodes, features, context)
            k, _ = choose(weights, features, context, count, scores, chances, rng, epsilon)
            asked += 1
        take(s, c, scheme, k)


@compiled
def decide_window(
    window: Parts,
    nodes: int,
    scheme: AgentConfig,
    holder: int,
    weights: ScorerWeights,
    workspace: Workspace,
    rng: np.random.Generator | None,
    epsilon: float,
) -> tuple[int, tuple[IntArray, int, int, int]]:
    """Decide a window in one call: steps apart, handing arrays over takes longer than the decision.

    Parameters
    ----------
    window : its :func:`~transom.learned.dras.process.state_from_window.parts`.
    nodes, scheme, weights, workspace, rng, epsilon : as in :func:`decide`.
    holder : id of the job that holds a reservation since an earlier instant, -1 for none.

    Returns
    -------
    The number of decisions among two candidates or more, and what
    :func:`~transom.learned.dras.process.state_from_window.decided` tells.
    """
    s, c = state_from_arrays(window, nodes, scheme, holder)
    begin(s, c, scheme)
    return decide(s, c, scheme, nodes, weights, workspace, rng, epsilon), decided(window.queue, c)
