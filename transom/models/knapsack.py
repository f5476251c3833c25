"""The 0-1 knapsack: which jobs of a window to start on one resource."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from transom.errors import ModelError, shown
from transom.models.arrays import BoolArray, Frozen, IntArray, Like, as_array, expected, frozen_ints, model
from transom.models.objectives import SCALE, Objective, UsedNodes
from transom.models.window import Window


@model
class Knapsack(Frozen):
    r"""Choose items with the largest total value that fit into a capacity.

    .. math:: \max v \cdot x \quad\text{s.t.}\quad w \cdot x \le W,\ x \in \{0, 1\}^n

    A solution is a bool array of shape ``(n,)``.

    Parameters
    ----------
    values : :math:`v`, int64, shape ``(n,)``; negative values are allowed and never worth taking.
    weights : :math:`w`, int64, >= 0, shape ``(n,)``; nodes where the items are jobs.
    capacity : :math:`W`, >= 0; free nodes where the items are jobs.
    scale : the factor by which real values were multiplied before rounding to integers.

    Raises
    ------
    ModelError : shapes differ, a weight or the capacity is negative, or a sum overflows 63 bits.
    """

    kind: ClassVar[str] = "knapsack"
    sense: ClassVar[str] = "max"

    values: Like[IntArray]
    weights: Like[IntArray]
    capacity: int
    scale: int = 1

    def __post_init__(self) -> None:
        values = frozen_ints(self.values, "knapsack: values", (-1,))
        weights = frozen_ints(self.weights, "knapsack: weights", (len(values),))
        if len(weights) and weights.min() < 0:
            item = int(weights.argmin())
            raise ModelError(f"knapsack: item {item}: weight must be >= 0, got {weights[item]}")
        capacity, scale = (
            int(frozen_ints(given, f"knapsack: {name}", ()))
            for given, name in ((self.capacity, "capacity"), (self.scale, "scale"))
        )
        if capacity < 0:
            raise ModelError(f"knapsack: capacity must be >= 0, got {capacity}")
        if scale <= 0:
            raise ModelError(f"knapsack: scale must be > 0, got {scale}")
        for array, name in ((values, "values"), (weights, "weights")):
            if np.abs(array.astype(np.float64)).sum() >= 2.0**62:
                raise ModelError(f"knapsack: the sum of the {name} does not fit into 62 bits")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "capacity", capacity)
        object.__setattr__(self, "scale", scale)

    @classmethod
    def from_window(cls, window: Window, objective: Objective | None = None, jobs: ArrayLike | None = None) -> Knapsack:
        """The knapsack of a window: items are queued jobs, weights nodes, capacity the free nodes.

        Parameters
        ----------
        window : the window; further resources than nodes are not part of this problem.
        objective : value per queued job, by default the used nodes; floats are scaled by
            :data:`~transom.models.objectives.SCALE` and rounded, positive ones to 1 at least.
        jobs : positions in the queue that become items, shape ``(items,)``, by default all.

        Raises
        ------
        ModelError : an argument is not of its type, or a value or position is out of range.
        """
        expected(window, Window, "knapsack: window", "a Window")
        if objective is not None and not callable(objective):
            raise ModelError(f"knapsack: expected an objective, got {shown(objective)}")
        values = np.asarray((objective or UsedNodes())(window))
        index = window.positions(jobs)
        values, weights = values[index], window.queue.nodes[index]
        scale = SCALE if values.dtype.kind == "f" else 1
        if scale > 1:
            # What is worth something stays worth something, or the job could never be chosen.
            values = np.where(values > 0, np.maximum(np.rint(values * SCALE), 1), np.rint(values * SCALE))
        return cls(frozen_ints(values, "knapsack: values"), weights, window.free_nodes, scale)

    def __len__(self) -> int:
        return len(self.values)

    def value(self, solution: ArrayLike) -> int:
        """Total value of the chosen items, a mask of shape ``(items,)``."""
        return int(np.einsum("i,i", self.values, np.asarray(solution, dtype=bool)))

    def weight(self, solution: ArrayLike) -> int:
        """Total weight of the chosen items, a mask of shape ``(items,)``."""
        return int(np.einsum("i,i", self.weights, np.asarray(solution, dtype=bool)))

    def violations(self, solution: ArrayLike) -> list[str]:
        """Every condition that ``solution``, shape ``(items,)``, breaks, in words; empty if it is feasible."""
        given = as_array(solution)
        if given.shape != (len(self),):
            return [f"a solution has shape ({len(self)},), got {given.shape}"]
        if given.dtype != bool and not np.isin(given, (0, 1)).all():
            return ["a solution holds only 0 and 1"]
        weight = self.weight(given)
        return [f"weight {weight} exceeds the capacity {self.capacity}"] if weight > self.capacity else []

    def frozen(self, solution: ArrayLike) -> BoolArray:
        """``solution`` as a read-only bool array of its own, shape ``(items,)``."""
        array = np.array(solution, dtype=bool)
        array.flags.writeable = False
        return array
