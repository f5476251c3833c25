"""Allocation on a fat tree: which idle nodes each job of a window gets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from transom._system.wording import counted
from transom.errors import ModelError, shown
from transom.models.allocation_kernels import job_costs, leaf_spans, placing_order
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
from transom.models.cluster import checked_types
from transom.models.fat_tree import FatTree
from transom.models.hop_cost import PAPER, HopCost, block_cost_table, slide_costs_on_levels
from transom.models.window import Window

Rule = Literal["static", "dynamic", "free"]
"""What a job may be given.

With the idle nodes in ascending order as the sequence Q, ``static`` (SCAS): consecutive entries of Q.
``dynamic`` (DCAS): jobs are placed one after another, each on consecutive entries of what is then left
of Q. ``free``: any idle nodes, the optimum that contiguity only approximates.
"""

KINDS: dict[str, str] = {"static": "scas", "dynamic": "dcas", "free": "free"}
"""The problem's name under each rule."""

RULES: dict[str, Rule] = {"scas": "static", "dcas": "dynamic", "free": "free"}
"""The rule of each problem's name."""


class JobClasses(NamedTuple):
    """Jobs that are alike: the class of each job, and the first job of each class."""

    of: IntArray
    first: IntArray


@model
class Allocation(Frozen):
    r"""Give every job its number of idle nodes at the least total communication-hop cost.

    .. math:: \min \sum_j C(N_j), \quad |N_j| = n_j, \quad N_j \cap N_k = \emptyset

    A solution is the *owner* of each idle node: an int array of shape ``(idle nodes,)`` with the
    position of the job in ``sizes``, or -1 for a node that stays idle.

    *Feasibility under the dynamic rule.* Placing a job only removes entries of Q, so consecutive entries
    remain consecutive. Therefore a greedy test suffices: place any job that is consecutive, and repeat; all
    jobs are placed exactly if an order exists. Equivalently, no two blocks cross on the circle (on the
    line without wrap-around), and at most one of the gaps between the nodes of a block contains a node that
    stays idle (without wrap-around: none but the outer one). Tests compare both forms with each other and
    with all orders.

    Parameters
    ----------
    tree : the fat tree.
    idle : ids of the idle nodes, ascending and distinct, shape ``(idle nodes,)``: the sequence Q.
    sizes : nodes of each job, >= 2, in the window's order, shape ``(jobs,)``. Jobs of one node have no hops
        and are not part of the problem: any remaining node serves them.
    rule : ``static``, ``dynamic`` or ``free``.
    wrap : whether a block that reaches the end of Q continues at its head; irrelevant for ``free``.
    cost : the cost of a node set.
    leaf_limits : the most leaf switches that each job may span, >= 1, shape ``(jobs,)``, as ``--switches`` of Slurm;
        None without limits. The problem may then be infeasible although there are enough idle nodes.
    node_types : the type of each idle node, 0, 1, 2 ..., shape ``(idle nodes,)``: partitions, features, sizes of
        memory, whatever jobs ask for; None where all nodes are alike. Nodes keep their places in Q.
    accepts : whether each job takes nodes of each type, shape ``(jobs, types)``; stated with ``node_types``.

    Raises
    ------
    ModelError : an idle node is outside the tree, duplicate or out of order, a size is below 2, or
        the rule is unknown. Requests beyond the idle nodes are no error: the problem is infeasible.

    References
    ----------
    Lan et al. (2023), sections III-B and IV-A.
    """

    sense: ClassVar[str] = "min"

    tree: FatTree
    idle: Like[IntArray]
    sizes: Like[IntArray]
    rule: Rule = "static"
    wrap: bool = True
    cost: HopCost = PAPER
    leaf_limits: IntArray | None = field(default=None, metadata=UNSET)
    node_types: IntArray | None = field(default=None, metadata=UNSET)
    accepts: BoolArray | None = field(default=None, metadata=UNSET)

    def __post_init__(self) -> None:
        expected(self.tree, FatTree, "allocation: tree", "a FatTree")
        expected(self.cost, HopCost, "allocation: cost", "a HopCost")
        if not isinstance(self.rule, str) or self.rule not in KINDS:
            raise ModelError(f"allocation: rule must be one of {', '.join(KINDS)}, got {shown(self.rule)}")
        idle = frozen_ints(self.idle, "allocation: idle", (-1,))
        sizes = frozen_ints(self.sizes, "allocation: sizes", (-1,))
        outside = np.flatnonzero((idle < 0) | (idle >= self.tree.num_nodes))
        if outside.size:
            raise ModelError(
                f"allocation: idle node {idle[outside[0]]} is outside the tree of {self.tree.num_nodes} nodes, 0 to "
                f"{self.tree.num_nodes - 1}"
            )
        wrong = np.flatnonzero(np.diff(idle) <= 0)
        if wrong.size:
            i = int(wrong[0])
            twice = "is named twice" if idle[i] == idle[i + 1] else f"stands before {idle[i + 1]}"
            raise ModelError(f"allocation: idle nodes must be ascending and distinct; node {idle[i]} {twice}")
        small = np.flatnonzero(sizes < 2)
        if small.size:
            job = int(small[0])
            raise ModelError(
                f"allocation: job {job} asks for {counted(sizes[job], 'node')}, less than 2; one-node jobs have no "
                "hops and go on any node that is left"
            )
        if len(sizes) and int(sizes.max()) > 2**40:
            raise ModelError(
                f"allocation: job {int(sizes.argmax())} asks for {sizes.max()} nodes, more than any system has"
            )
        if self.leaf_limits is not None:
            limits = frozen_ints(self.leaf_limits, "allocation: leaf_limits", (len(sizes),))
            if (limits < 1).any():
                job = int(np.flatnonzero(limits < 1)[0])
                raise ModelError(f"allocation: job {job} may span {limits[job]} leaf switches, less than 1")
            object.__setattr__(self, "leaf_limits", limits)
        types, accepts = checked_types(self.node_types, self.accepts, "allocation", (len(idle), len(sizes)))
        object.__setattr__(self, "node_types", types)
        object.__setattr__(self, "accepts", accepts)
        object.__setattr__(self, "idle", idle)
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "wrap", bool(self.wrap))

    @classmethod
    def _trusted(
        cls, tree: FatTree, idle: IntArray, sizes: IntArray, rule: Rule, wrap: bool, cost: HopCost
    ) -> Allocation:
        # For the replay, which knows what is idle: int64 arrays that nobody changes while the problem is in use.
        problem, idle, sizes = object.__new__(cls), idle.view(), sizes.view()
        idle.flags.writeable = sizes.flags.writeable = False
        for name, value in zip(cls.__slots__, (tree, idle, sizes, rule, wrap, cost, None, None, None), strict=True):
            object.__setattr__(problem, name, value)
        return problem

    @classmethod
    def from_window(
        cls,
        window: Window,
        rule: Rule = "static",
        wrap: bool = True,
        cost: HopCost = PAPER,
        jobs: ArrayLike | None = None,
    ) -> Allocation:
        """The allocation of the multi-node jobs of a window, with their limits on leaf switches and node types.

        Parameters
        ----------
        window : a window that states its idle nodes, of a cluster with a topology.
        rule, wrap, cost : as in the class.
        jobs : positions in the queue, shape ``(jobs,)``, by default the longest prefix that fits into the idle nodes;
            one-node jobs count against them and are left out of the problem.

        Raises
        ------
        ModelError : the cluster has no topology.
        """
        tree, idle = window.cluster.topology, window.idle
        if tree is None or idle is None:
            raise ModelError("allocation: the window's cluster has no topology")
        nodes = window.queue.nodes
        if jobs is None:
            chosen = np.arange(int(np.searchsorted(np.cumsum(nodes), len(idle), side="right")))
        else:
            chosen = np.asarray(jobs, dtype=np.int64)
        chosen = chosen[nodes[chosen] > 1]
        limits, (types, accepts) = window.limits_of(chosen), window.types_for(chosen)
        return cls(tree, idle, nodes[chosen], rule, wrap, cost, limits, types, accepts)

    @property
    def kind(self) -> str:
        """``scas``, ``dcas`` or ``free``."""
        return KINDS[self.rule]

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def leaf(self) -> IntArray:
        """Leaf switch of each entry of Q, shape ``(idle nodes,)``."""
        return self.tree.leaf[self.idle]

    @property
    def pod(self) -> IntArray:
        """Pod of each entry of Q, shape ``(idle nodes,)``."""
        return self.tree.pod[self.idle]

    @property
    def upper(self) -> IntArray:
        """Switch of each entry of Q on each level between pods and core, shape ``(levels, idle nodes)``."""
        if self.tree.above is None:
            return np.empty((0, len(self.idle)), np.int64)
        return np.ascontiguousarray(self.tree.above[:, self.idle])

    @property
    def weights(self) -> IntArray:
        """Weights of the cost model for kernels, on this tree, shape ``(5,)``."""
        return self.cost.weights_above(0 if self.tree.above is None else len(self.tree.above))

    @property
    def limited(self) -> str | None:
        """Why a method refuses that knows no limits on leaf switches and no node types; None if it does not."""
        return self.typed if self.leaf_limits is None else "it takes no limits on leaf switches"

    @property
    def typed(self) -> str | None:
        """Why a method refuses that knows no node types; None if it does not."""
        return None if self.node_types is None else "it takes no node types"

    @property
    def not_plain(self) -> str | None:
        """Why a method refuses that knows leaf switches, pods and core alone, no limits and no types; or None."""
        levels = self.tree.num_levels
        deep = None if levels == 3 else f"it takes trees of up to three levels of switches, this one has {levels}"
        return self.limited or deep

    @property
    def allowed(self) -> BoolArray:
        """Whether each job takes each idle node, by its type, shape ``(jobs, idle nodes)``."""
        if self.node_types is None or self.accepts is None:
            return np.ones((len(self), len(self.idle)), np.bool_)
        return self.accepts[:, self.node_types]

    def with_rule(self, rule: Rule) -> Allocation:
        """The same window under another rule."""
        return replace(self, rule=rule)

    def trivial(self) -> IntArray | Literal["infeasible"] | None:
        """The answer, shape ``(idle,)``, where nothing is to search for: no job, or more nodes asked for than idle."""
        if not len(self):
            return np.full(len(self.idle), -1)
        return "infeasible" if int(self.sizes.sum()) > len(self.idle) else None

    def block_costs(self, sizes: ArrayLike | None = None) -> FloatArray:
        """Cost of every block of consecutive entries of Q, shape ``(sizes, idle nodes)``, by first entry.

        Infinite where there is no such block, or where it spans more leaf switches than the jobs of that size may, or
        holds a node that they do not take. ``sizes`` are those of the jobs unless given.

        Raises
        ------
        ModelError : sizes are given, and jobs of one size have different limits or node types.
        """
        if sizes is None:
            return self._costs_for(np.arange(len(self)))
        wanted = np.asarray(sizes, dtype=np.int64)
        if self.limited is None:
            return self._block_costs(wanted)
        if self.unlike:
            raise ModelError(f"allocation: {self.unlike}")
        table = self._block_costs(wanted)
        of_size = {size: job for job, size in enumerate(self.sizes.tolist())}
        for row, size in enumerate(wanted.tolist()):
            if size in of_size:
                table[row] = self._costs_for(np.array([of_size[size]]))[0]
        return table

    @property
    def classes(self) -> JobClasses:
        """The jobs that are alike in size, limit on leaf switches and node types; classes by size."""
        limits = np.zeros_like(self.sizes) if self.leaf_limits is None else self.leaf_limits
        accepts = np.empty((len(self), 0), np.bool_) if self.accepts is None else self.accepts
        keys = np.column_stack((self.sizes, limits, accepts))
        _, first, of = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        return JobClasses(of.reshape(-1).astype(np.int64), first.astype(np.int64))

    def class_costs(self) -> FloatArray:
        """As :meth:`block_costs`, of the jobs of each class, shape ``(classes, idle nodes)``."""
        return self._costs_for(self.classes.first)

    @property
    def unlike(self) -> str | None:
        """Why a method refuses for which jobs of one size are alike: their limits or node types differ."""
        if self.limited is None:
            return None
        of = self.sizes[self.classes.first]
        twice = of[1:][np.diff(of) == 0]
        what = "limits on leaf switches" if self.node_types is None else "limits on leaf switches or node types"
        return f"jobs of {twice[0]} nodes have different {what}" if twice.size else None

    def _costs_for(self, jobs: IntArray) -> FloatArray:
        table = self._block_costs(self.sizes[jobs])
        if self.leaf_limits is not None:
            table[leaf_spans(self.leaf, self.sizes[jobs], self.wrap) > self.leaf_limits[jobs][:, None]] = np.inf
        if self.node_types is not None:
            starts, n = np.arange(len(self.idle)), len(self.idle)
            for row, job in enumerate(jobs.tolist()):
                wrong = ~self.allowed[job]
                before = np.concatenate(([0], np.cumsum(np.concatenate((wrong, wrong)))))
                table[row, before[np.minimum(starts + self.sizes[job], 2 * n)] > before[starts]] = np.inf
        return table

    def _block_costs(self, wanted: IntArray) -> FloatArray:
        if self.tree.above is None:
            return block_cost_table(self.leaf, self.pod, wanted, self.cost, self.wrap)
        weights, switches = self.weights, np.vstack((self.leaf, self.pod, self.upper))
        saved = np.full(len(switches), weights[1])
        saved[0] = weights[2]
        table: FloatArray = slide_costs_on_levels(switches, saved, wanted, weights, self.wrap)
        return table

    def job_costs(self, solution: ArrayLike) -> FloatArray:
        """Cost of each job, shape ``(jobs,)``."""
        owner = _own(solution)
        return job_costs(self.leaf, self.pod, owner, self.sizes, self.weights, self.upper)

    def value(self, solution: ArrayLike) -> float:
        """Total cost of the owners of idle nodes, shape ``(idle,)``; an int where costs are rounded down."""
        costs = self.job_costs(solution)
        return int(costs.sum()) if self.cost.floored else math.fsum(costs)

    @property
    def most_cost(self) -> float:
        """What all jobs cost where no two nodes of a job share a switch: no solution costs more."""
        size, weights = self.sizes.astype(float), self.weights.astype(float)
        return float(np.maximum(weights[3] / size * weights[0] * size * (size - 1) / 2, 1.0).sum())

    def violations(self, solution: ArrayLike) -> list[str]:
        """Every condition that ``solution``, shape ``(idle,)``, breaks, in words; empty if it is feasible."""
        given = as_array(solution)
        if given.shape != self.idle.shape:
            return [f"a solution has shape {self.idle.shape}, one owner for each idle node, got {given.shape}"]
        if given.dtype.kind not in "iu":
            return [f"a solution holds positions of jobs or -1, got {given.dtype}"]
        owner = _own(given)
        jobs = len(self)
        if len(owner) and (owner.min() < -1 or owner.max() >= jobs):
            wrong = owner[(owner < -1) | (owner >= jobs)][0]
            return [f"owner {wrong} is neither -1 nor a job, 0 to {jobs - 1}"]
        held = np.bincount(owner[owner >= 0], minlength=jobs)
        short = np.flatnonzero(held != self.sizes)
        if short.size:
            return [f"job {job} asks for {self.sizes[job]} nodes and gets {held[job]}" for job in short.tolist()]
        if self.leaf_limits is not None:
            spans = self.tree.leaf_spans(self.idle, owner, jobs)
            wide = np.flatnonzero(spans > self.leaf_limits)
            if wide.size:
                job = int(wide[0])
                return [f"job {job} spans {spans[job]} leaf switches, and may span {self.leaf_limits[job]}"]
        if self.node_types is not None:
            held_by = np.flatnonzero(owner >= 0)
            wrong = held_by[~self.allowed[owner[held_by], held_by]]
            if wrong.size:
                i = int(wrong[0])
                return [f"job {owner[i]} gets node {self.idle[i]} of type {self.node_types[i]}, which it does not take"]
        if self.rule == "free" or not jobs:
            return []
        rank = placing_order(owner, self.sizes, self.wrap, self.rule == "static")
        where = "Q" if self.rule == "static" else "what is left of Q, in whatever order jobs are placed"
        return [f"the nodes of job {job} are not consecutive in {where}" for job in np.flatnonzero(rank < 0).tolist()]

    def frozen(self, solution: ArrayLike) -> IntArray:
        """``solution`` as a read-only int64 array of its own, shape ``(idle,)``."""
        return frozen_ints(solution, "allocation: solution")

    def order(self, solution: ArrayLike) -> list[int]:
        """Jobs in an order in which each is consecutive when it is placed; the window's order under ``free``.

        Parameters
        ----------
        solution : the job of each idle node, -1 for none, shape ``(idle,)``.

        Raises
        ------
        ModelError : the solution is not feasible.
        """
        if broken := self.violations(solution):
            raise ModelError(f"allocation: {broken[0]}")
        if self.rule == "free":
            return list(range(len(self)))
        owner = _own(solution)
        return np.argsort(placing_order(owner, self.sizes, self.wrap, False), kind="stable").tolist()  # type: ignore[no-any-return]

    def nodes(self, solution: ArrayLike) -> list[list[int]]:
        """Ids of the nodes of each job, ascending."""
        owner = np.asarray(solution)
        return [self.idle[owner == job].tolist() for job in range(len(self))]

    def owners(self, nodes: Sequence[Iterable[int]]) -> IntArray:
        """The solution, shape ``(idle,)``, that gives each job these nodes: the inverse of :meth:`nodes`.

        Raises
        ------
        ModelError : a node is not idle or given twice, or there are more jobs than the problem has.
        """
        if len(nodes) > len(self):
            raise ModelError(f"allocation: nodes for {len(nodes)} jobs, the problem has {len(self)}")
        owner = np.full(len(self.idle), -1)
        for job, ids in enumerate(nodes):
            for node in ids:
                i = int(np.searchsorted(self.idle, node))
                if i == len(self.idle) or self.idle[i] != node:
                    raise ModelError(f"allocation: job {job} gets node {node}, which is not idle")
                if owner[i] >= 0:
                    raise ModelError(f"allocation: node {node} is given to jobs {owner[i]} and {job}")
                owner[i] = job
        return owner

    def from_starts(self, starts: ArrayLike) -> IntArray:
        """The static solution in which each job begins at that entry of Q, shape ``(jobs,)``.

        It is not checked; of blocks that overlap the last one stands.
        """
        owner = np.full(len(self.idle), -1)
        for job, start in enumerate(np.asarray(starts).tolist()):
            owner[np.arange(start, start + self.sizes[job]) % len(owner)] = job
        return owner

    def starts(self, solution: ArrayLike) -> IntArray:
        """The first entry of Q of each job's block in a static solution, shape ``(jobs,)``."""
        owner = np.asarray(solution, dtype=np.int64)
        first: BoolArray = (owner != np.roll(owner, 1)) & (owner >= 0)
        starts = np.zeros(len(self), np.int64)  # a job that holds all of Q begins anywhere
        starts[owner[first]] = np.flatnonzero(first)
        return starts


def _own(solution: ArrayLike) -> IntArray:
    """A solution in an array of its own: kernels would be compiled once more for one that is read-only or strided."""
    return np.array(solution, dtype=np.int64, order="C")
