"""``learned-priority`` as a policy of replays of tasks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from transom.errors import SpecError
from transom.learned.checkpoints import load
from transom.learned.priority.replay import new_agent, run_priorities
from transom.models.arrays import FloatArray
from transom.simulation.placement.state import Arranged, State
from transom.traces.tasks.workload import TaskWorkload

ROLLOUTS, NOISE = 32, 0.15
_MOST = 10_000


class PriorityRule:
    """Tasks by falling score, each instance on the machine with the highest score.

    Parameters
    ----------
    weights : of task features, then of machine features, both of length 1.
    rollouts : at each submission so many changed orders are tried on what is known, >= 0; 0: the scorer's order alone.
    noise : how much a rollout changes the score of a task (standard deviation), >= 0.

    Raises
    ------
    SpecError : a number is out of range.
    """

    def __init__(self, weights: FloatArray, rollouts: int = 0, noise: float = NOISE) -> None:
        if not 0 <= rollouts <= _MOST:
            raise SpecError(f"learned-priority: rollouts must be from 0 to {_MOST:,}, got {rollouts}")
        if not 0 <= noise < float("inf"):
            raise SpecError(f"learned-priority: noise must be >= 0, got {noise}")
        self._weights, self._rollouts, self._noise = weights, rollouts, noise

    def advance(self, workload: TaskWorkload, arranged: Arranged, rng: np.random.Generator) -> Callable[[State], bool]:
        """What goes on with a replay."""
        agent = new_agent(self._weights, workload, arranged, self._rollouts, self._noise, rng)
        return lambda state: run_priorities(state, agent)


class LearnedPriority(PriorityRule):
    """The rule of a checkpoint.

    Parameters
    ----------
    model : the name of a checkpoint that comes with the package, or the path of a ``.safetensors`` file.
    rollouts, noise : as of :class:`PriorityRule`.

    Raises
    ------
    SpecError : a number is out of range, or there is no checkpoint of that name.
    DocumentError : the checkpoint cannot be read or is of something else.
    """

    def __init__(self, model: str = "learned-priority", rollouts: int = ROLLOUTS, noise: float = NOISE) -> None:
        checkpoint = load(model, "priority")
        self.card, self.digest = checkpoint.card, checkpoint.card.weights
        held = checkpoint.weights
        super().__init__(np.concatenate((held["task"], held["machine"])).astype(np.float64), rollouts, noise)
