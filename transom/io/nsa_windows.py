"""The windows of a topology-aware stream as plain JSON lines: one period each, with the jobs already selected.

``{"epoch": 1, "period": 2, "nodes": 1000, "leaf_nodes": 10, "pod_nodes": 100, "idle": [...],
"jobs": [{"id": 5, "nodes": 30}, ...]}``, without a tag: how the windows of Lan et al. (2023) are passed on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from transom.errors import ModelError
from transom.models import PAPER, Allocation, FatTree, HopCost, Knapsack
from transom.models.allocation import Rule
from transom.models.arrays import Frozen, IntArray, frozen_ints, whole


@dataclass(frozen=True, eq=False, slots=True)
class PeriodWindow(Frozen):
    """What is to be allocated in one period: the idle nodes, and the jobs that were selected.

    Parameters
    ----------
    tree : the fat tree, a regular one.
    idle : ids of the idle nodes, distinct; kept ascending, shape ``(idle nodes,)``.
    ids : id of each job, distinct, in the order of priority, shape ``(jobs,)``.
    nodes : how many nodes each job asks for, > 0, shape ``(jobs,)``.
    epoch, period : where the window stands in its stream; None if that is not known.

    Raises
    ------
    ModelError : a condition above does not hold, or an idle node is outside the tree.
    """

    tree: FatTree
    idle: IntArray
    ids: IntArray
    nodes: IntArray
    epoch: int | None = None
    period: int | None = None

    def __post_init__(self) -> None:
        idle = frozen_ints(self.idle, "window: idle", (-1,))
        ids = frozen_ints(self.ids, "window: ids of jobs", (-1,))
        nodes = frozen_ints(self.nodes, "window: nodes of jobs", (len(ids),))
        if self.tree.regular is None:
            raise ModelError("window: its lines can only state a regular tree")
        last = self.tree.num_nodes - 1
        for what, values in (("idle node", idle), ("job", ids)):
            distinct, times = np.unique(values, return_counts=True)
            if (times > 1).any():
                at = int(times.argmax())
                raise ModelError(f"window: {what} {distinct[at]}: this id stands {times[at]} times")
        outside = idle[(idle < 0) | (idle > last)]
        if outside.size:
            raise ModelError(f"window: idle node {outside[0]} is outside the tree of {last + 1} nodes, 0 to {last}")
        if (nodes <= 0).any():
            job = int((nodes <= 0).argmax())
            raise ModelError(f"window: job {ids[job]} asks for {nodes[job]} nodes; it must be > 0")
        object.__setattr__(self, "idle", frozen_ints(np.sort(idle), "window: idle"))
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "nodes", nodes)
        for name in ("epoch", "period"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, whole(getattr(self, name), f"window: {name}"))

    @property
    def allocated(self) -> IntArray:
        """Ids of the jobs that the allocation is about, shape ``(n,)``: those of more than one node, in their order."""
        return self.ids[self.nodes > 1]

    def allocation(self, rule: Rule = "static", wrap: bool = True, cost: HopCost = PAPER) -> Allocation:
        """The allocation of the jobs of more than one node.

        One-node jobs go on nodes that are left and are not part of the problem. More nodes asked for than
        idle make an infeasible problem.

        Raises
        ------
        ModelError : it is only the one-node jobs that find no node.
        """
        several = self.nodes[self.nodes > 1]
        ones = len(self.nodes) - len(several)
        if several.sum(dtype=float) <= len(self.idle) < several.sum() + ones:
            raise ModelError(
                f"window: its jobs ask for {several.sum() + ones} nodes, {ones} of them for one-node jobs, "
                f"but {len(self.idle)} are idle"
            )
        return Allocation(self.tree, self.idle, several, rule, wrap, cost)

    def knapsack(self) -> Knapsack:
        """Which of the jobs fit: items are jobs, worth their nodes."""
        return Knapsack(self.nodes, self.nodes, len(self.idle))


class _Job(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    id: int
    nodes: int


class PeriodLine(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True, frozen=True):
    """A line of the stream; it carries no tag."""

    epoch: int | None = None
    period: int | None = None
    nodes: Annotated[int, Meta(le=10_000_000)]
    leaf_nodes: int
    pod_nodes: int
    idle: tuple[int, ...]
    jobs: tuple[_Job, ...]


class LineHead(msgspec.Struct):
    """What tells a line of the stream from something else without a tag: that it has one of these."""

    leaf_nodes: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    pod_nodes: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    idle: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    jobs: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET

    def recognised(self) -> bool:
        """Whether one of them is there."""
        stated = (self.leaf_nodes, self.pod_nodes, self.idle, self.jobs)
        return any(not isinstance(value, msgspec.UnsetType) for value in stated)


def line_of(window: PeriodWindow) -> PeriodLine:
    """The line of a window."""
    leaf_nodes, pod_nodes = window.tree.regular or (0, 0)
    return PeriodLine(
        epoch=window.epoch,
        period=window.period,
        nodes=window.tree.num_nodes,
        leaf_nodes=leaf_nodes,
        pod_nodes=pod_nodes,
        idle=tuple(window.idle.tolist()),
        jobs=tuple(_Job(job, nodes) for job, nodes in zip(window.ids.tolist(), window.nodes.tolist(), strict=True)),
    )


def window_of(line: PeriodLine) -> PeriodWindow:
    """The window of a line.

    Raises
    ------
    ModelError : what it states breaks a condition.
    """
    tree = _uniform(line.nodes, line.leaf_nodes, line.pod_nodes)
    ids, nodes = [job.id for job in line.jobs], [job.nodes for job in line.jobs]
    return PeriodWindow(tree, line.idle, ids, nodes, line.epoch, line.period)  # type: ignore[arg-type]


@lru_cache(maxsize=8)
def _uniform(nodes: int, leaf_nodes: int, pod_nodes: int) -> FatTree:
    # A stream states the same tree line after line.
    return FatTree.uniform(nodes, leaf_nodes, pod_nodes)
