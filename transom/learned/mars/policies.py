"""The learned policy of MARS in the simulator, and the decision maker that chooses when to ask it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from transom._system.compiling import compiled
from transom.errors import SpecError
from transom.learned.checkpoints import Card, load
from transom.learned.kernel.scoring import KernelWeights, VisibleJobs
from transom.learned.kernel.weights import first_weights, read_weights
from transom.learned.mars.softmax import likeliest, node_seconds
from transom.models import Window
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.models.job import NODES, SUBMIT, WALLTIME
from transom.simulation.core.decision import Decision
from transom.simulation.passes.window_pass import pass_over, window_state
from transom.simulation.policies.by_size import BySize

LEARNED = "learned"
"""What ``large=`` calls the network of the checkpoint."""


@dataclass(frozen=True)
class MarsLearned:
    r"""Start the likeliest jobs, one after the other; the first that does not fit gets a reservation (EASY).

    Parameters
    ----------
    weights : of the network.
    slots : how many waiting jobs it is shown, the first ones by submission.
    cost : weight :math:`\lambda` of what jobs cost: what they state, else their node-seconds by walltime.
    name, digest, card : of the checkpoint.
    """

    order: ClassVar[str] = "fcfs"

    weights: KernelWeights = field(repr=False, compare=False)
    slots: int = 128
    cost: float = 0.0
    name: str = "mars"
    digest: str = ""
    card: Card | None = field(default=None, repr=False, compare=False)
    costs: dict[int, float] = field(default_factory=dict, init=False, repr=False, compare=False)

    def see_costs(self, costs: Mapping[int, float]) -> None:
        """Before a replay: what its jobs cost, by id; nothing where they state no costs."""
        self.costs.clear()
        self.costs.update(costs)

    def decide(self, window: Window, /) -> Decision:
        """Decide one instant."""
        waiting = np.ascontiguousarray(window.queue.data[:, [SUBMIT, WALLTIME, NODES]])
        fits: BoolArray = np.asarray((window.queue.demand <= window.available[1:]).all(axis=1))
        ends = np.column_stack((window.running_end, window.running.nodes)).astype(np.int64)
        at = np.array([window.now, window.available[0], window.cluster.num_nodes], np.int64)
        shown = VisibleJobs(waiting, np.ascontiguousarray(ends), at)
        costs = node_seconds(shown)
        if self.costs:
            costs = np.array([self.costs.get(job, 0.0) for job in window.queue.id.tolist()])
        order = _order(self.weights, shown, fits, costs, self.slots, self.cost)
        return pass_over(window, "easy", window_state(window, order))


@compiled
def _order(
    weights: KernelWeights, shown: VisibleJobs, fits: BoolArray, stated: FloatArray, slots: int, weight: float
) -> IntArray:
    """Places in the queue: those that are picked, the last of which may not fit, then the others in their order."""
    total, busy, picked = len(shown.queue), len(shown.ends), 0
    order, left = np.empty(total, np.int64), np.arange(total)
    queue, ends = shown.queue.copy(), np.empty((busy + total, 2), np.int64)
    ends[:busy] = shown.ends
    at, costs = shown.at.copy(), stated.copy()
    while picked < total:
        waiting = total - picked
        row = 0
        if waiting > 1:
            shown_now = VisibleJobs(queue[: min(slots, waiting)], ends[:busy], at)
            row = likeliest(weights, shown_now, costs, weight)
        job, walltime, nodes = left[row], queue[row, 1], queue[row, 2]
        order[picked] = job
        picked += 1
        for k in range(row, waiting - 1):
            left[k] = left[k + 1]
            queue[k] = queue[k + 1]
            costs[k] = costs[k + 1]
        if nodes > at[1] or not fits[job]:
            break
        at[1] -= nodes
        place = busy
        while place > 0 and ends[place - 1, 0] > at[0] + walltime:
            ends[place] = ends[place - 1]
            place -= 1
        ends[place, 0], ends[place, 1] = at[0] + walltime, nodes
        busy += 1
    for k in range(total - picked):
        order[picked + k] = left[k]
    return order


def mars_learned(model: str = "", cost: float = 0.0) -> MarsLearned:
    r"""The network of a checkpoint that ``transom train mars`` trained, without the decision maker.

    Parameters
    ----------
    model : path of a ``.safetensors`` file; without it, the network is one that trainings may begin with: short jobs
        first that need not wait long for their nodes.
    cost : weight :math:`\lambda` of what jobs cost, >= 0.

    Raises
    ------
    SpecError : there is no such checkpoint, or the weight is out of range.
    DocumentError : the checkpoint cannot be read, or is of something else.
    """
    if not (math.isfinite(cost) and cost >= 0):
        raise SpecError(f"mars: cost must be >= 0 and finite, got {cost}")
    if model and Path(model).is_dir():
        raise SpecError(
            f"mars: {model} is a folder, of which `transom simulate WORKFLOWS` alone takes the file that fits"
        )
    if not model:
        return MarsLearned(first_weights(np.random.default_rng(0), "walltime and delay"), cost=cost)
    checkpoint = load(model, "mars")
    card = checkpoint.card
    return MarsLearned(read_weights(checkpoint.weights), card.settings["slots"], cost, card.name, card.weights, card)


def mars(
    min: int | None = None,
    median: int | None = None,
    max: int = 20_000,
    small: str = "",
    medium: str = "",
    large: str = "",
    model: str = "",
    cost: float = 0.0,
) -> BySize:
    r"""The decision maker of MARS over heuristics and, with a checkpoint, what was learnt.

    Parameters
    ----------
    min, median, max : numbers of waiting jobs; by default as the checkpoint says, else 128, 512 and 20,000.
    small, medium, large : policies for fewer than ``min`` jobs, fewer than ``median``, and more; by default as the
        checkpoint says, else ``sjf-easy``, ``unicep-easy`` and ``f1-easy``. ``large=learned`` is the network of
        the checkpoint, even where it says otherwise.
    model : path of a checkpoint of ``transom train mars``, whose decision maker was chosen on what it was trained on.
    cost : weight :math:`\lambda` of what jobs cost where the network picks, >= 0.

    Raises
    ------
    SpecError : the numbers do not ascend, a policy is unknown or decides by period, or something of a checkpoint is
        stated without one.
    DocumentError : the checkpoint cannot be read, or is of something else.

    References
    ----------
    MARS, Algorithm 3.
    """
    said: dict[str, Any] = {"min": 128, "median": 512, "small": "sjf-easy", "medium": "unicep-easy", "large": "f1-easy"}
    if model:
        mars_learned(model, cost)
        said = {name: load(model, "mars").card.settings[name] for name in said}
    elif cost or large == LEARNED:
        raise SpecError(f"mars: {'cost' if cost else 'large=learned'} needs model=PATH.safetensors")
    stated = {"min": min, "median": median, "small": small, "medium": medium, "large": large}
    said |= {name: value for name, value in stated.items() if value is not None and value != ""}
    if said["large"] == LEARNED:
        said["large"] = f"mars-learned:model=[{model}],cost={cost}"
    return BySize(max=max, **said)
