"""Rollouts that a network learns from: searches with their decisions and outcomes.

Every window is searched several times from the same start. A decision is worth what the search improves on its best
solution from then on, later improvements counting less. It was good if that is more than in the other searches of the
window at that step, where a search that is behind has more to gain. What a repair gains at once is no guide: a network
that is paid for it learns to take the cheapest start, and a search that always does so is soon stuck.

References
----------
Shao et al., DeepSeekMath, arXiv 2402.03300, section 4.1, for advantages among the runs of a group without a critic.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom.heuristics.allocation.annealing_loop import OnWhatIsLeft
from transom.heuristics.allocation.arrays import first_fit
from transom.learned.repair.candidates import Choice, Log, anneal_candidates, empty_log
from transom.learned.repair.nsa_cost import NsaCost
from transom.learned.scorer import ScorerWeights
from transom.models.allocation import Allocation
from transom.models.arrays import FloatArray, IntArray

_STRETCH = 25  # steps whose improvements are compared in one unit


class Decisions(NamedTuple):
    """Decisions in any order.

    ``features``: shape ``(decisions, candidates, features)``; ``context``: ``(decisions, numbers)``; the others have
    one entry for each: how many candidates there were, which was taken, the logarithm of its chance, and how good
    that was, as :func:`group_advantages` says.
    """

    features: NDArray[np.float32]
    context: NDArray[np.float32]
    number: IntArray
    action: IntArray
    log_chance: FloatArray
    advantage: FloatArray


def collect_rollouts(
    problem: Allocation, scorer: ScorerWeights, search: NsaCost, candidates: int, runs: int, rng: np.random.Generator
) -> list[Log]:
    """Search a window several times.

    Parameters
    ----------
    problem : the window, under the dynamic or the free rule.
    scorer : the network.
    search : the parameters of the searches.
    candidates : cheapest starts that are chosen among, > 0.
    runs : how many searches.

    Returns
    -------
    What each decided, and what became of it. All begin with the first fit.
    """
    logs = []
    for _ in range(runs):
        # More jobs than one step removes are out where no order of placing reaches them.
        log, logged = empty_log(search.steps * len(problem), candidates, search.steps), np.zeros(1, np.int64)
        more = Choice(scorer, candidates, search.heat), log, logged
        walk = OnWhatIsLeft(problem, first_fit(problem), search.moves(problem, search.nested), anneal_candidates, more)
        walk.run(rng, np.array([search.tmax, search.tmin]), 0, search.steps, search.steps)
        n = int(logged[0])
        # Copies, so that the room that was not used is given back.
        logs.append(
            Log(
                log.features[:n].copy(),
                log.context[:n].copy(),
                log.number[:n].copy(),
                log.action[:n].copy(),
                log.log_chance[:n].copy(),
                log.step[:n].copy(),
                log.values,
            )
        )
    return logs


def group_advantages(values: FloatArray, discount: float) -> FloatArray:
    """How much better each step of each search was than expected, in deviations of what steps at that time are worth.

    Parameters
    ----------
    values : cost before each step, after its repair, and of the best solution after it, shape
        ``(windows, searches, steps, 3)``.
    discount : of an improvement per step by which it comes later.

    Returns
    -------
    Shape ``(windows, searches, steps)``. In the first steps a search improves by many times what it does in the last
    ones, on which the answer depends as much: so each stretch of the search has a unit of its own.
    """
    steps = values.shape[2]
    best = np.concatenate((values[:, :, :1, 0], values[:, :, :, 2]), axis=2)
    before, gains = best[:, :, :-1], best[:, :, :-1] - best[:, :, 1:]
    for step in range(steps - 2, -1, -1):
        gains[:, :, step] += discount * gains[:, :, step + 1]
    gains = gains - gains.mean(axis=1, keepdims=True)
    behind = before - before.mean(axis=1, keepdims=True)
    for stretch in np.array_split(np.arange(steps), max(1, steps // _STRETCH)):
        lag, gained = behind[:, :, stretch], gains[:, :, stretch]
        spread = float((lag * lag).sum())
        if spread > 0:
            gained = gained - lag * ((lag * gained).sum() / spread)
        gains[:, :, stretch] = gained / (gained.std() + 1e-12)
    return np.asarray(gains)
