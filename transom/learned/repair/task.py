"""What is to be repaired, how windows are gone through, and what a repair is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from transom._system.records import record
from transom._system.settings import Above, Positive, check_settings
from transom.errors import SpecError
from transom.heuristics.allocation import annealing
from transom.learned.repair import process
from transom.models import HopCost
from transom.models.arrays import BoolArray, FloatArray

Order = Literal["size", "window"]
Acceptance = Literal["metropolis", "walk", "either"]
Start = Literal["sequential", "random", "either"]
Reward = Literal["cost", "reciprocal"]


@dataclass(frozen=True, slots=True)
class RepairTask:
    """Which jobs are taken out of a window, what stays of a repair, and its reward.

    An episode is one repair. The reward is 0 for every job but the last, and then minus the total cost of the
    repaired jobs, in units of ``unit``.

    Parameters
    ----------
    rows : rows of an observation: 5 with a sign that a node is idle, as in the authors' code, or 4 as in the paper.
    remove : most jobs that are taken out at a time, > 0.
    order : they come back by falling ``size``, or in the order of the ``window``.
    acceptance : what becomes of a repair. ``metropolis``: kept or undone at a temperature that is drawn anew for every
        window; a job that no order of placing reaches any more is taken out too. ``walk``: always kept, and nobody
        asks for an order, as in the authors' code. ``either``: half of the windows each.
    tmin, tmax : least and largest temperature [cost], 0 < tmin <= tmax; drawn evenly on a logarithmic scale.
    repairs : how many repairs a window gets before another one is opened, > 0.
    start : a window begins with the first fit (``sequential``), with jobs that are placed at ``random`` first nodes in
        the order of the window, or with ``either``, half of them each.
    reward : ``cost`` as above, or ``reciprocal``: ``unit`` divided by the cost.
    unit : cost that counts as 1, > 0, so that rewards are of the size that training wants.

    Raises
    ------
    SpecError : a condition above does not hold.

    References
    ----------
    Lan et al. (2023), section V-B3, which speaks of the inverse, and of the opposite value.
    """

    rows: int = 5
    remove: Positive = 2
    order: Order = "size"
    acceptance: Acceptance = "either"
    tmin: Above = 2.5
    tmax: Above = 2500.0
    repairs: Positive = 20
    start: Start = "either"
    reward: Reward = "cost"
    unit: Above = 100_000.0

    def __post_init__(self) -> None:
        if self.rows not in process.SCHEMAS.values():
            raise SpecError(f"repair: rows must be 4 or 5, got {self.rows}")
        check_settings("repair", self)
        if self.tmin > self.tmax:
            raise SpecError(f"repair: tmin <= tmax must hold, got tmin={self.tmin}, tmax={self.tmax}")

    @property
    def schema(self) -> str:
        """Name and version of the observations."""
        return next(name for name, rows in process.SCHEMAS.items() if rows == self.rows)

    def check(self, cost: HopCost) -> None:
        """Refuse a cost model of which no reward can be made.

        Raises
        ------
        SpecError : a repair may cost nothing, and rewards are reciprocals.
        """
        if self.reward == "reciprocal" and not cost.same_leaf and not cost.floored:
            raise SpecError("repair: reward=reciprocal needs costs above 0, and nodes of one leaf switch have 0 hops")

    def options(self) -> annealing.Options:
        """The options of annealing that say what is taken out."""
        options = record(annealing.Options)
        options.wrap = True
        options.remove = self.remove
        options.by_size = self.order == "size"
        return options

    def habits(self) -> FloatArray:
        """What kernels of the process want to know, by the positions there."""
        chance = {"walk": 1.0, "random": 1.0, "either": 0.5}
        habits = np.zeros(process.REPAIRS + 1)
        habits[process.TMIN], habits[process.TMAX] = self.tmin, self.tmax
        habits[process.WALK] = chance.get(self.acceptance, 0.0)
        habits[process.SCATTERED] = chance.get(self.start, 0.0)
        habits[process.REPAIRS] = self.repairs
        return habits

    def rewards(self, costs: FloatArray, done: BoolArray) -> FloatArray:
        """Rewards of actions, shape ``(batch,)``, from the cost of what was repaired where an episode ended."""
        rewards = np.zeros(len(costs))
        rewards[done] = self.unit / costs[done] if self.reward == "reciprocal" else -costs[done] / self.unit
        return rewards
