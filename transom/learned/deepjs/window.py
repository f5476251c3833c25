"""DeepJS on a single window: the network chooses one pair of task and machine after another until none fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom._system.compiling import compiled
from transom.heuristics.placement.filling import Filling, fill_first
from transom.learned.deepjs.network import SCALE, Network, room
from transom.learned.deepjs.pairs import Pairs, Seen, list_fitting, new_pairs, sight_of
from transom.learned.deepjs.policy import RESOURCES, Greedy, deepjs
from transom.learned.deepjs.rollouts import decide
from transom.models.arrays import FloatArray, IntArray, SingleArray
from transom.models.placement import Placement
from transom.simulation.placement.state import COUNT, MACHINE, TASK, Arranged, State, new_state, next_decision
from transom.solving import presolve
from transom.stop import Budget

_PAIRS = 2**21  # of task and machine, whose scores are kept
_MOST = 10**6  # instances that could be placed, each of which is a decision
_WORK = 100_000  # pairs that are scored between two looks at the clock


@dataclass(frozen=True, slots=True)
class DeepJs:
    """The policy ``deepjs`` of replays, on one window; its answer leaves out nothing that still fits.

    The network was trained on machines of 64 cores. Here an amount counts by its share of what the largest machine has.
    What is left when time is over goes where it first fits. It counts no iterations.

    Parameters
    ----------
    model : name of a shipped checkpoint, or the path of a ``.safetensors`` file.
    greedy : ``yes``: the pair with the highest score; ``no``: drawn by the softmax of the scores; ``card``: what was
        better in training.

    References
    ----------
    Li and Hu (2019), section 3.2.
    """

    name: ClassVar[str] = "deepjs"
    solves: ClassVar[type] = Placement
    skip_presolve: ClassVar[bool] = True  # where everything fits, it still matters where it goes

    model: str = "deepjs"
    greedy: Greedy = "card"

    @property
    def digest(self) -> str:
        """Of the weights: what a specification that names a file does not tell."""
        return deepjs(self.model, self.greedy).digest

    def supports(self, problem: Placement, /) -> str | None:
        """None for placements by CPU and memory that are not too large."""
        if problem.resources != RESOURCES:
            return f"the network knows cpu and memory, its resources are {', '.join(problem.resources)}"
        if problem.free.shape[0] * len(problem) > _PAIRS:
            return f"it has more than {_PAIRS:,} pairs of task and machine"
        if int(placeable(problem).sum()) > _MOST:
            return f"more than {_MOST:,} instances could be placed"
        return None

    def warm_up(self) -> None:
        """Compile the kernels."""
        problem = Placement([[2, 2], [1, 1]], [[1, 1], [0, 1]], [2, 2], resources=RESOURCES)
        decide(*self._begin(problem, np.random.default_rng(0)), 1)
        placed = np.zeros((2, 2), np.int64)
        fill_first(Filling(problem.demands.copy(), problem.free.copy(), problem.waiting.copy(), placed), np.arange(2))

    def __call__(self, problem: Placement, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        begun = self._begin(problem, rng)
        state, pairs = begun[0], begun[3]
        count = max(1, _WORK // (len(problem) + len(problem.free)))
        while pairs.now.pairs > 0 and budget.seconds_left() > 0:
            decide(*begun, count)
        placed = np.zeros((len(problem), len(problem.free)), np.int64)
        batches = state.batches[: state.at.batches]
        np.add.at(placed, (batches[:, TASK], batches[:, MACHINE]), batches[:, COUNT])
        if pairs.now.pairs > 0:
            used = placed.T @ problem.demands
            left = problem.waiting - placed.sum(axis=1)
            fill_first(Filling(problem.demands.copy(), problem.free - used, left, placed), np.arange(len(problem)))
        budget.found(placed)
        presolve(problem, budget)

    def _begin(
        self, problem: Placement, rng: np.random.Generator
    ) -> tuple[State, Network, Seen, Pairs, FloatArray, SingleArray, SingleArray]:
        policy = deepjs(self.model, self.greedy)
        most, machines = placeable(problem), len(problem.free)
        units = np.maximum(problem.capacities.max(axis=0, initial=1), 1) / SCALE[:2].astype(np.float64)
        sight = sight_of(problem.demands / units, problem.durations.astype(np.float64), units)
        none = np.zeros(len(problem), np.int64)
        amounts = (problem.demands.copy(), problem.free.copy())
        state = new_state(Arranged(*amounts, none, problem.durations.astype(np.float64), False), most)
        state.waiting[:] = problem.waiting
        pairs = new_pairs(len(problem), machines)
        if len(problem) and next_decision(state):
            begin(state, pairs)
        scratch = np.empty((pairs.place.size, 6), np.float32), room(policy.network, pairs.place.size)
        draws = rng.random(0 if policy.greedy else int(most.sum()))
        return state, policy.network, sight, pairs, draws, *scratch


def placeable(problem: Placement) -> IntArray:
    """How many instances of each task could be placed if no other task were: all of them or fewer, ``(T,)``."""
    room_ = np.repeat(problem.waiting[:, None], len(problem.free), axis=1)
    for r in range(problem.free.shape[1]):
        needs = problem.demands[:, r] > 0
        room_[needs] = np.minimum(room_[needs], problem.free[:, r] // problem.demands[needs, r, None])
    most: IntArray = np.minimum(room_.sum(axis=1), problem.waiting)
    return most


@compiled
def begin(state: State, pairs: Pairs) -> None:
    """List the pairs that fit."""
    list_fitting(state, pairs)
