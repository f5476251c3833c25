"""The joint choice: which jobs of a window start, and on which nodes of a tree of switches."""

from __future__ import annotations

import math
from dataclasses import field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from transom.errors import ModelError
from transom.models.allocation import Allocation
from transom.models.arrays import (
    UNSET,
    BoolArray,
    FloatArray,
    Frozen,
    IntArray,
    Like,
    as_array,
    expected,
    frozen_ints,
    model,
)
from transom.models.fat_tree import FatTree
from transom.models.hop_cost import PAPER, HopCost
from transom.models.knapsack import Knapsack
from transom.models.objectives import Objective
from transom.models.window import Window

COST_WEIGHT = 1e-4
"""By default: below the 10 000 that a node is worth in hops no job stays out for its cost alone (under the paper's)."""

_MOST = 2**40  # of a weight and of a size


@model
class Joint(Frozen):
    r"""Choose the jobs that start and their nodes, so that weights less communication are the most.

    .. math:: \max \sum_{j \in S} (w_j - \lambda\, C(N_j)), \quad M \subseteq S, \quad |N_j| = n_j, \quad
              N_j \cap N_k = \emptyset, \quad |\{\text{leaf switches of } N_j\}| \le \ell_j

    over the started jobs S and their nodes, any idle ones: the rule ``free`` of an
    :class:`~transom.models.Allocation`. With all jobs mandatory and :math:`\lambda = 1` it is that problem, with
    :math:`\lambda = 0` and no limits the knapsack of weights and sizes.

    A solution is the *owner* of each idle node: an int array of shape ``(idle nodes,)`` with the position of the job in
    ``sizes``, or -1 for a node that stays idle. A job starts if it owns nodes, and then owns as many as it asks for.

    Parameters
    ----------
    tree : the tree of switches, of any depth.
    idle : ids of the idle nodes, ascending and distinct, shape ``(idle nodes,)``.
    sizes : nodes of each job, >= 1, shape ``(jobs,)``; a job of one node has no cost.
    weights : what a start of each job is worth, whole numbers, shape ``(jobs,)``.
    cost_weight : :math:`\lambda`, what a unit of communication cost takes away, >= 0 and finite.
    mandatory : positions of the jobs that must start, ascending and distinct, shape ``(any,)``. The problem is
        infeasible where they do not all fit.
    cost : the cost :math:`C` of a node set.
    leaf_limits : the most leaf switches of each job, >= 1, shape ``(jobs,)``; None without limits.

    Raises
    ------
    ModelError : a condition above does not hold.

    References
    ----------
    The cost is that of Lan et al. (2023), section III-A, eq. (1).
    """

    kind: ClassVar[str] = "joint"
    sense: ClassVar[str] = "max"

    tree: FatTree
    idle: Like[IntArray]
    sizes: Like[IntArray]
    weights: Like[IntArray]
    cost_weight: float = COST_WEIGHT
    mandatory: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    cost: HopCost = PAPER
    leaf_limits: IntArray | None = field(default=None, metadata=UNSET)

    def __post_init__(self) -> None:
        expected(self.tree, FatTree, "joint: tree", "a FatTree")
        expected(self.cost, HopCost, "joint: cost", "a HopCost")
        idle, sizes = frozen_ints(self.idle, "joint: idle", (-1,)), frozen_ints(self.sizes, "joint: sizes", (-1,))
        weights = frozen_ints(self.weights, "joint: weights", (len(sizes),))
        mandatory = frozen_ints(self.mandatory, "joint: mandatory", (-1,))
        for name, numbers, below in (("idle", idle, self.tree.num_nodes), ("mandatory", mandatory, len(sizes))):
            if (numbers < 0).any() or (numbers >= below).any():
                wrong = numbers[(numbers < 0) | (numbers >= below)][0]
                raise ModelError(f"joint: {name} holds {wrong}, which is not from 0 to {below - 1}")
            if (np.diff(numbers) <= 0).any():
                at = int(np.flatnonzero(np.diff(numbers) <= 0)[0])
                raise ModelError(f"joint: {name} must be ascending and distinct; see {numbers[at + 1]}")
        for job in np.flatnonzero((sizes < 1) | (sizes > _MOST))[:1].tolist():
            raise ModelError(f"joint: job {job} asks for {sizes[job]} nodes, expected 1 to 2**40")
        for job in np.flatnonzero(np.abs(weights) > _MOST)[:1].tolist():
            raise ModelError(f"joint: job {job} has weight {weights[job]}, expected at most 2**40 either way")
        try:
            factor = float(self.cost_weight)
        except (TypeError, ValueError):
            factor = math.nan
        if not 0 <= factor <= 1e9:
            raise ModelError(f"joint: 0 <= cost_weight <= 10**9 must hold, got {self.cost_weight}")
        if self.leaf_limits is not None:
            limits = frozen_ints(self.leaf_limits, "joint: leaf_limits", (len(sizes),))
            for job in np.flatnonzero(limits < 1)[:1].tolist():
                raise ModelError(f"joint: job {job} may span {limits[job]} leaf switches, less than 1")
            object.__setattr__(self, "leaf_limits", limits)
        given = {"idle": idle, "sizes": sizes, "weights": weights, "mandatory": mandatory, "cost_weight": factor}
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_window(
        cls,
        window: Window,
        objective: Objective | None = None,
        cost_weight: float = COST_WEIGHT,
        cost: HopCost = PAPER,
    ) -> Joint:
        """All queued jobs of a window with their limits, weighted by an objective as the items of its knapsack are.

        Parameters
        ----------
        window : a window of a cluster with a topology.
        objective : the weight of each job, by default its nodes; a float objective is scaled as in
            :meth:`~transom.models.Knapsack.from_window`, and ``cost_weight`` with it.
        cost_weight, cost : as in the class.

        Raises
        ------
        ModelError : the cluster has no topology, or jobs do not take nodes of every type.
        """
        if window.accepts is not None:
            raise ModelError("joint: the window's jobs do not take nodes of every type; a joint choice knows no types")
        items = Knapsack.from_window(window, objective)
        tree, idle = window.cluster.topology, window.idle
        if tree is None or idle is None:
            raise ModelError("joint: the window's cluster has no topology")
        limits = window.limits_of(np.arange(len(window.queue)))
        return cls(tree, idle, items.weights, items.values, cost_weight * items.scale, cost=cost, leaf_limits=limits)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def levels(self) -> IntArray:
        """Switch of each idle node on each level, the leaf switches first, without the core: ``(levels, idle)``."""
        return np.vstack((self.tree.leaf[self.idle], self.tree.pod[self.idle], self.tree.upper[:, self.idle]))

    @property
    def savings(self) -> IntArray:
        """Hops that a pair of nodes saves by sharing a switch of each level, shape ``(levels,)``."""
        _, far, near, _, _ = self.cost.weights.tolist()
        return np.array([near] + [far] * (self.tree.num_levels - 2), np.int64)

    @property
    def hop_weights(self) -> IntArray:
        """Weights of the cost model for kernels, on this tree, shape ``(5,)``."""
        return self.cost.weights_above(self.tree.num_levels - 3)

    @property
    def limits(self) -> IntArray:
        """The most leaf switches of each job, in any case, shape ``(jobs,)``."""
        return self.sizes if self.leaf_limits is None else np.minimum(self.leaf_limits, self.sizes)

    @property
    def must(self) -> BoolArray:
        """Whether each job is mandatory, shape ``(jobs,)``."""
        marks: BoolArray = np.isin(np.arange(len(self)), self.mandatory)
        return marks

    @property
    def whole(self) -> bool:
        """Whether every value is a whole number."""
        return self.cost_weight == 0 or (self.cost.floored and self.cost_weight.is_integer())

    def trivial(self) -> IntArray | Literal["infeasible"] | None:
        """The answer, shape ``(idle,)``, where nothing is to search for: no job, or too large mandatory ones."""
        if not len(self):
            return np.full(len(self.idle), -1)
        return "infeasible" if sum(self.sizes[self.mandatory].tolist()) > len(self.idle) else None

    def started(self, solution: ArrayLike) -> IntArray:
        """Positions of the jobs that start, ascending, of the owners of idle nodes, shape ``(idle,)``."""
        owner = np.asarray(solution, np.int64)
        return np.unique(owner[owner >= 0])

    def job_costs(self, solution: ArrayLike) -> FloatArray:
        """Communication cost of each job, 0 where it does not start or has one node, shape ``(jobs,)``."""
        owner = np.array(solution, np.int64)
        costs = np.zeros(len(self))
        large = self.started(owner)
        large = large[self.sizes[large] > 1]
        if len(large):
            new = np.full(len(self) + 1, -1)
            new[large] = np.arange(len(large))
            posed = Allocation(self.tree, self.idle, self.sizes[large], "free", cost=self.cost)
            costs[large] = posed.job_costs(new[owner])
        return costs

    def value(self, solution: ArrayLike) -> float:
        """Weights of started jobs less the weighted costs, of the owners of idle nodes, shape ``(idle,)``.

        An int where that is exact, else a correctly rounded sum.
        """
        weight: int = sum(self.weights[self.started(solution)].tolist())
        if self.cost_weight == 0:
            return weight
        costs = self.job_costs(solution)
        if self.whole:
            return weight - int(self.cost_weight) * int(costs.sum())
        return math.fsum([weight, *(-self.cost_weight * costs).tolist()])

    def violations(self, solution: ArrayLike) -> list[str]:
        """Every condition that ``solution``, shape ``(idle,)``, breaks, in words; empty if it is feasible."""
        given = as_array(solution)
        if given.shape != self.idle.shape:
            return [f"a solution has shape {self.idle.shape}, one owner for each idle node, got {given.shape}"]
        if given.dtype.kind not in "iu":
            return [f"a solution holds positions of jobs or -1, got {given.dtype}"]
        owner, jobs = np.array(given, np.int64), len(self)
        if len(owner) and (owner.min() < -1 or owner.max() >= jobs):
            wrong = owner[(owner < -1) | (owner >= jobs)][0]
            return [f"owner {wrong} is neither -1 nor a job, 0 to {jobs - 1}"]
        held = np.bincount(owner[owner >= 0], minlength=jobs)
        broken = [
            f"job {job} asks for {self.sizes[job]} nodes and gets {held[job]}"
            for job in np.flatnonzero((held != 0) & (held != self.sizes)).tolist()
        ]
        broken += [f"job {job} is mandatory and does not start" for job in self.mandatory.tolist() if not held[job]]
        if self.leaf_limits is not None:
            spans = self.tree.leaf_spans(self.idle, owner, jobs)
            broken += [
                f"job {job} spans {spans[job]} leaf switches, and may span {self.leaf_limits[job]}"
                for job in np.flatnonzero(spans > self.leaf_limits).tolist()
            ]
        return broken

    def frozen(self, solution: ArrayLike) -> IntArray:
        """``solution`` as a read-only int64 array of its own, shape ``(idle,)``."""
        return frozen_ints(solution, "joint: solution")

    def nodes(self, solution: ArrayLike) -> list[list[int]]:
        """Ids of the nodes of each job, ascending; empty for a job that does not start.

        ``solution`` is the job of each idle node, -1 for none, shape ``(idle,)``.
        """
        owner = np.asarray(solution)
        return [self.idle[owner == job].tolist() for job in range(len(self))]
