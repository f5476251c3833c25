"""A scheduling window: what a batch scheduler sees at one instant."""

from __future__ import annotations

from dataclasses import field

import numpy as np
from numpy.typing import ArrayLike

from transom.errors import ModelError
from transom.models.arrays import UNSET, BoolArray, Frozen, IntArray, Like, expected, frozen_ints, model, whole
from transom.models.cluster import Cluster, checked_types
from transom.models.job import JobTable


@model
class Window(Frozen):
    """What the scheduler knows when it decides; real runtimes are not part of it.

    Parameters
    ----------
    now : the instant [s].
    cluster : the machine.
    queue : the waiting jobs that may start now, in the site's order.
    running : the running jobs, by expected end.
    running_end : the latest end of each running job, start + walltime [s], shape ``(running jobs,)``,
        ascending; ``now + 1`` for a job that has exceeded its walltime.
    available : the free resources, shape ``(1 + resources,)``: nodes, then the further resources.
    idle : ids of the idle nodes, ascending, shape ``(free nodes,)``; None where the cluster has no topology.
    leaf_limits : the most leaf switches that each queued job may span, as ``--switches`` of Slurm, 0 where it states
        none, shape ``(queued jobs,)``; None where no job does. Allocations and joint choices keep them; what a
        knapsack or a selection starts may find no room within them.
    accepts : whether each queued job takes nodes of each type of the cluster, shape ``(queued jobs, types)``; None
        where all take every node. Allocations keep to it, as they do to limits.

    Raises
    ------
    ModelError : shapes differ, an amount is negative, or free and used exceed the cluster.
    """

    now: int
    cluster: Cluster
    queue: JobTable
    running: JobTable
    running_end: Like[IntArray]
    available: Like[IntArray]
    idle: IntArray | None = None
    leaf_limits: IntArray | None = field(default=None, metadata=UNSET)
    accepts: BoolArray | None = field(default=None, metadata=UNSET)

    def __post_init__(self) -> None:
        object.__setattr__(self, "now", whole(self.now, "window: now"))
        expected(self.cluster, Cluster, "window: cluster", "a Cluster")
        expected(self.queue, JobTable, "window: queue", "a JobTable")
        expected(self.running, JobTable, "window: running", "a JobTable")
        resources = len(self.cluster.resources)
        available = frozen_ints(self.available, "window: available", (1 + resources,))
        running_end = frozen_ints(self.running_end, "window: running_end", (len(self.running),))
        for table, name in ((self.queue, "queue"), (self.running, "running")):
            if len(table) and table.demand.shape[1] != resources:
                raise ModelError(f"window: {name} states {table.demand.shape[1]} resources, the cluster {resources}")
        late = np.flatnonzero(self.queue.submit > self.now)
        if late.size:
            job = self.queue[int(late[0])]
            raise ModelError(f"window: job {job.id} is submitted at {job.submit}, after now = {self.now}")
        if (running_end <= self.now).any() or (np.diff(running_end) < 0).any():
            raise ModelError(f"window: running_end must be > now = {self.now} and ascending")
        both = set(self.running.id.tolist()).intersection(self.queue.id.tolist())
        if both:
            raise ModelError(f"window: job {min(both)} is both queued and running")
        used = np.append(
            self.running.nodes.sum(), self.running.demand.sum(axis=0) if len(self.running) else [0] * resources
        )
        capacity = np.array([self.cluster.num_nodes, *self.cluster.capacities])
        # In floats as well: sums of hostile numbers wrap around.
        sums = np.append(self.running.nodes.sum(dtype=float), self.running.demand.sum(axis=0, dtype=float))
        beyond = available.astype(float) + sums[: 1 + resources] > 2.0**62
        if (available < 0).any() or beyond.any() or (available + used > capacity).any():
            free = f"free {available.tolist()} and used {used.astype(int).tolist()}"
            raise ModelError(f"window: {free} exceed the cluster's {capacity.tolist()}")
        object.__setattr__(self, "available", available)
        object.__setattr__(self, "running_end", running_end)
        self._check_idle()
        self._check_limits()
        shape = self.cluster.num_nodes, len(self.queue)
        types = self.cluster.node_types
        accepts = checked_types(types if self.accepts is not None else None, self.accepts, "window", shape)[1]
        object.__setattr__(self, "accepts", accepts)

    def positions(self, jobs: ArrayLike | None = None) -> IntArray:
        """Positions in the queue, by default all of them, shape ``(any,)``.

        Raises
        ------
        ModelError : there is no such position.
        """
        if jobs is None:
            return np.arange(len(self.queue))
        index = frozen_ints(jobs, "window: jobs", (-1,))
        if len(index) and not -len(self.queue) <= index.min() <= index.max() < len(self.queue):
            raise ModelError(f"window: jobs {index.tolist()} are not all positions in a queue of {len(self.queue)}")
        return index

    def limits_of(self, jobs: IntArray) -> IntArray | None:
        """The most leaf switches of jobs at some positions of the queue, shape ``(jobs,)``; None without limits.

        No job has a limit above its nodes.
        """
        if self.leaf_limits is None:
            return None
        limits, nodes = self.leaf_limits[jobs], self.queue.nodes[jobs]
        return np.where(limits > 0, np.minimum(limits, nodes), nodes) if limits.any() else None

    def types_for(self, jobs: IntArray) -> tuple[IntArray | None, BoolArray | None]:
        """The types of the idle nodes, shape ``(idle,)``, and which types jobs at some positions take, if any does not.

        The latter has the shape ``(jobs, types)``.
        """
        if self.accepts is None or self.cluster.node_types is None or self.idle is None:
            return None, None
        return self.cluster.node_types[self.idle], self.accepts[jobs]

    def _check_limits(self) -> None:
        if self.leaf_limits is None:
            return
        limits = frozen_ints(self.leaf_limits, "window: leaf_limits", (len(self.queue),))
        if self.cluster.topology is None:
            raise ModelError("window: leaf_limits are stated, but the cluster has no topology")
        if (limits < 0).any():
            at = int(np.flatnonzero(limits < 0)[0])
            raise ModelError(f"window: job {self.queue.id[at]} may span {limits[at]} leaf switches, less than 0")
        object.__setattr__(self, "leaf_limits", limits if limits.any() else None)

    def _check_idle(self) -> None:
        if self.cluster.topology is None:
            if self.idle is not None:
                raise ModelError("window: idle nodes are stated, but the cluster has no topology")
            return
        if self.idle is None:
            raise ModelError("window: the cluster has a topology; the ids of the idle nodes must be stated")
        idle = frozen_ints(self.idle, "window: idle", (self.free_nodes,))
        if (np.diff(idle) <= 0).any() or (idle < 0).any() or (idle >= self.cluster.num_nodes).any():
            raise ModelError(
                f"window: idle must be ascending and distinct ids of nodes, 0 to {self.cluster.num_nodes - 1}"
            )
        object.__setattr__(self, "idle", idle)

    @classmethod
    def _trusted(
        cls,
        now: int,
        cluster: Cluster,
        queue: JobTable,
        running: JobTable,
        running_end: IntArray,
        available: IntArray,
        idle: IntArray | None = None,
    ) -> Window:
        # For the replay, whose state is checked by other means: arrays are read-only copies already.
        window = object.__new__(cls)
        values = (now, cluster, queue, running, running_end, available, idle, None, None)
        for name, value in zip(_FIELDS, values, strict=True):
            object.__setattr__(window, name, value)
        return window

    @property
    def free_nodes(self) -> int:
        """Number of idle nodes."""
        return int(self.available[0])

    @property
    def wait(self) -> IntArray:
        """How long each queued job has waited [s], shape ``(queued jobs,)``."""
        return self.now - self.queue.submit

    def requests(self) -> IntArray:
        """What each queued job asks for, shape ``(queued jobs, 1 + resources)``: nodes first."""
        if not len(self.queue):  # a table without jobs may know nothing of the cluster's resources
            return np.zeros((0, 1 + len(self.cluster.resources)), np.int64)
        return np.column_stack((self.queue.nodes, self.queue.demand))


_FIELDS = ("now", "cluster", "queue", "running", "running_end", "available", "idle", "leaf_limits", "accepts")
