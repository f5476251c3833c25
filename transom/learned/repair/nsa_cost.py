"""Annealing with a learned repair that knows what every start costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from transom.errors import SpecError
from transom.heuristics.allocation.annealing_loop import OnWhatIsLeft
from transom.learned.checkpoints import Checkpoint
from transom.learned.repair.candidates import CONTEXT, FEATURES, SCHEMA, Choice, anneal_candidates, empty_log
from transom.learned.repair.trained_annealing import TrainedAnnealing
from transom.learned.scorer import ScorerWeights, scorer_weights
from transom.models.allocation import Allocation
from transom.models.arrays import IntArray

_COLDEST = 1e-6  # heat; far below it, quotients are beyond what float32 holds
_SCORED = 300  # entries that could be looked at while one candidate is scored


@dataclass(frozen=True, slots=True)
class NsaCost(TrainedAnnealing):
    r"""Simulated annealing whose repair is learned and knows the exact cost of every start.

    For each job that comes back, the cost of the blocks from all idle nodes that are left follows from one slide over
    them. The cheapest starts (their number is in the card: 32 in the shipped one) are the candidates; the shared
    scorer sees of each what it costs, also against the temperature and together with the next job at the start that
    is then cheapest, what it leaves of the leaf switches and pods at its ends, and whether it spans other jobs. The
    start is drawn with chances proportional to :math:`e^{\text{score} / \text{heat}}`. All else is ``sa``.

    Nothing that it sees depends on the size of the cluster; the shipped weights are for any.

    Parameters
    ----------
    acceptance, tmax, tmin, steps, remove, order, restarts, nested : as in ``sa``.
    model : the name of a checkpoint that comes with the package, or the path of a ``.safetensors`` file.
    heat : what scores are divided by, 0 or at least a millionth; 0 always takes the highest score. The network
        learnt at 1; whole searches end a little lower where it chooses less surely.
    anywhere : whether weights may be used on a cluster that they were not trained for, where their card names one.

    Raises
    ------
    SpecError : a condition above or of ``sa`` does not hold.

    References
    ----------
    Lan et al. (2023), section V, whose network does not see costs.
    """

    name: ClassVar[str] = "nsa-cost"
    schemas: ClassVar[tuple[str, ...]] = (SCHEMA,)

    model: str = "nsa-cost"
    heat: float = 2.0

    def __post_init__(self) -> None:
        TrainedAnnealing.__post_init__(self)
        if self.heat != 0 and not _COLDEST <= self.heat < math.inf:
            raise SpecError(f"nsa-cost: heat must be 0, or at least {_COLDEST:g} and finite, got {self.heat}")

    @staticmethod
    def network(checkpoint: Checkpoint, /) -> tuple[ScorerWeights, int]:
        """The scorer, and how many candidates it chooses among."""
        return scorer_weights(checkpoint.weights, len(FEATURES), len(CONTEXT)), checkpoint.card.settings["candidates"]

    def walk(self, problem: Allocation, owner: IntArray, network: tuple[ScorerWeights, int], /) -> OnWhatIsLeft:
        """The search from a solution on."""
        nothing = empty_log(0, 1, 0)
        scorer, candidates = network[0], min(network[1], len(owner))
        more = Choice(scorer, candidates, self.heat), nothing, np.zeros(1, np.int64)
        # For each candidate the idle nodes are gone over once more, for the next job.
        work = (12 * len(owner) + _SCORED) * candidates
        return OnWhatIsLeft(problem, owner, self.moves(problem, self.nested), anneal_candidates, more, work)
