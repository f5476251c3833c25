"""The nodes of a replay on a cluster with a topology: who gets which, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from transom.errors import PolicyError, SpecError, UnsupportedError
from transom.models import FatTree
from transom.models.arrays import IntArray
from transom.simulation.core.node_runs import NodeRuns
from transom.simulation.core.schedule import Schedule
from transom.simulation.nodes.allocator import Allocator, Placed, Placer
from transom.simulation.nodes.lowest_idle import assign_nodes
from transom.simulation.nodes.occupancy import Occupancy
from transom.simulation.nodes.sections import sections_of
from transom.simulation.nodes.spread import spread_of
from transom.traces.workload import Workload

_COLUMNS = ("allocated", "allocation_cost", "allocation_proved")


def tracker_of(workload: Workload, allocator: Allocator | None, seed: int) -> NodeTracker | None:
    """The node tracker of a workload; None where the cluster has no topology.

    Raises
    ------
    SpecError : there is an allocator but no topology, or one that does not fit it.
    """
    tree = workload.cluster.topology
    if tree is None:
        if allocator is not None:
            raise SpecError("allocate: the cluster has no topology")
        return None
    return NodeTracker(workload, tree, Placer(tree, allocator or Allocator(), seed))


class NodeTracker:
    """Which nodes every job of a workload gets; jobs are numbered by their place in it.

    Either job by job while a replay goes on (:meth:`release`, :meth:`start`), so that a policy sees which nodes
    are idle, or all at once afterwards (:meth:`place_all`): which nodes jobs get never changes when they run,
    and under every rule jobs fit wherever their number of nodes does. Where jobs keep to the nodes of their partition,
    each partition has consecutive nodes, and is placed by itself.
    """

    def __init__(self, workload: Workload, tree: FatTree, placer: Placer) -> None:
        self._placer = placer
        self._occupancy = Occupancy(tree.num_nodes, len(workload))
        self._ids, self._nodes = workload.jobs.id, workload.jobs.nodes
        self._allocated: dict[int, Placed] = {}
        self._sections = sections_of(workload.cluster, workload.jobs)
        self._runs: NodeRuns | None = None

    def idle(self) -> IntArray:
        """Ids of the idle nodes, ascending, read-only."""
        return self._occupancy.idle()

    def release(self, jobs: IntArray) -> None:
        """Take back the nodes of jobs that ended."""
        for job in jobs.tolist():
            self._occupancy.release(job)

    def start(self, now: int, jobs: IntArray, stated: Mapping[int, Sequence[int]]) -> None:
        """Give nodes to jobs that start: those stated by job id, else what the placer finds.

        Raises
        ------
        PolicyError : stated nodes are not idle, or not as many distinct ones as the job asks for.
        UnsupportedError : the placer's solver cannot take that many jobs together.
        """
        rest = []
        for job in jobs.tolist():
            id_ = int(self._ids[job])
            if id_ in stated:
                if self._sections is not None:
                    self._sections.check(job, np.asarray(stated[id_]), f"at {now} s: job {id_}")
                self._occupancy.take_stated(job, stated[id_], int(self._nodes[job]), f"at {now} s: job {id_}")
            else:
                rest.append(job)
        if rest:
            placed = self._placed(now, np.array(rest), self.idle())
            for job, nodes in zip(rest, placed.nodes, strict=True):
                self._occupancy.take(job, nodes)
            self._allocated[now] = placed

    def place_all(self, schedule: Schedule, progress: Callable[[int], None]) -> None:
        """Place the jobs of a finished schedule, instant by instant in their order of starts.

        Parameters
        ----------
        schedule : when jobs start and end; ends of an instant come before its starts.
        progress : called with the number of jobs placed so far.
        """
        if self._placer.allocator.solver is None and self._sections is None:
            self._runs = assign_nodes(schedule)
            return
        start, end = schedule.start, schedule.end
        leaving = np.argsort(end, kind="stable")
        ends = end[leaving]
        gone = done = 0
        for now, group in groupby(np.argsort(schedule.order, kind="stable").tolist(), lambda job: int(start[job])):
            until = int(np.searchsorted(ends, now, side="right"))
            self.release(leaving[gone:until])
            gone, jobs = until, np.array(list(group))
            self.start(now, jobs, {})
            done += len(jobs)
            progress(done)

    def _placed(self, now: int, jobs: IntArray, idle: IntArray) -> Placed:
        def place(some: IntArray, among: IntArray) -> Placed:
            return self._placer.place(among, self._nodes[some])

        try:
            return place(jobs, idle) if self._sections is None else self._sections.place(jobs, idle, place)
        except UnsupportedError as error:
            raise UnsupportedError(f"at {now} s, {len(jobs)} jobs start: {error}") from None

    def completed(self, schedule: Schedule) -> Schedule:
        """The schedule with its nodes, what they cost, and what the allocator said at each decision."""
        return completed(schedule, self._runs or self._occupancy.runs(), self._placer, self._allocated)


def completed(schedule: Schedule, runs: NodeRuns, placer: Placer, placed: Mapping[int, Placed]) -> Schedule:
    """A schedule with its nodes, what they cost, and at each decision what the allocator said (``placed``, by time).

    Raises
    ------
    PolicyError : the notes of a policy are called as those of an allocator.
    """
    decisions = dict(schedule.decisions)
    if placer.allocator.solver is not None:
        if taken := decisions.keys() & set(_COLUMNS):
            raise PolicyError(f"a policy writes no notes called {min(taken)}")
        nothing = Placed([], 0, 0.0, True)
        said = [placed.get(now, nothing) for now in decisions["time"].tolist()]
        jobs, costs, proved = ([row[k] for row in said] for k in (1, 2, 3))
        columns = np.array(jobs, np.int64), np.array(costs, np.float64), np.array(proved, np.bool_)
        decisions |= dict(zip(_COLUMNS, columns, strict=True))
    spread = spread_of(runs, placer.tree, placer.allocator.cost)
    return replace(schedule, decisions=decisions, spread=spread, runs=runs)
