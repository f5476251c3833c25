"""The judge of schedules: it knows the workload and looks at nothing but starts, ends and node ids."""

from __future__ import annotations

import numpy as np

from transom.compiling import compiled
from transom.models import HopCost
from transom.simulation.nodes import NodeRuns
from transom.simulation.schedule import Schedule
from transom.simulation.spread import spread_of
from transom.traces.workload import Workload


def check_schedule(workload: Workload, schedule: Schedule) -> list[str]:
    """Everything that is wrong with a schedule, in words; empty if it stands.

    Every job of the workload starts once, not before its submission nor before its parents have
    ended, and runs for its runtime; nodes and further resources are never oversubscribed.
    """
    jobs = workload.jobs
    if not np.array_equal(schedule.jobs.id, jobs.id):
        odd = np.setxor1d(schedule.jobs.id, jobs.id)
        which = f"job {odd[0]}" if odd.size else "the order of the jobs"
        return [f"the schedule and the workload differ in {which}"]
    if len(jobs) and schedule.jobs.demand.shape != jobs.demand.shape:
        stated, real = schedule.jobs.demand.shape[1], jobs.demand.shape[1]
        return [f"the jobs of the schedule state {stated} further resources, those of the workload {real}"]
    wrong: list[str] = []
    start, end = schedule.start, schedule.end

    def report(bad: np.ndarray, says: str) -> None:
        if bad.any():
            wrong.append(f"job {jobs.id[bad.argmax()]}: {says} ({int(bad.sum())} in all)")

    report(start < jobs.submit, "starts before its submission")
    report(end - start != workload.runtime, "does not run for its runtime")
    report(schedule.jobs.nodes != jobs.nodes, "holds another number of nodes than it asked for")
    report((schedule.jobs.demand != jobs.demand).any(axis=1), "holds another demand than it asked for")
    if jobs.depends_on:
        ended = dict(zip(jobs.id.tolist(), end.tolist(), strict=True))
        latest = np.array([max((ended[p] for p in jobs.depends_on.get(j, ())), default=0) for j in jobs.id.tolist()])
        report(start < latest, "starts before a job it depends on has ended")

    # At every instant ends come before starts, so sort by (time, end first) and add up.
    time = np.concatenate((end, start))
    kind = np.concatenate((np.zeros(len(jobs)), np.ones(len(jobs))))
    order = np.lexsort((kind, time))
    asked = np.column_stack((jobs.nodes, jobs.demand))
    used = np.concatenate((-asked, asked))[order].cumsum(axis=0)
    capacities = (workload.cluster.num_nodes, *workload.cluster.capacities)
    for name, amount, capacity in zip(("nodes", *workload.cluster.resources), used.T, capacities, strict=True):
        if (amount > capacity).any():
            when = time[order][(amount > capacity).argmax()]
            wrong.append(f"{name}: {amount.max()} of {capacity} are used at once, first at {when} s")
    return wrong


def check_nodes(schedule: Schedule, runs: NodeRuns) -> list[str]:
    """Everything that is wrong with the nodes that jobs held, in words; empty if they stand.

    Every job holds as many nodes as it asks for, each of them exists and is listed once, and none is
    held by two jobs at once.
    """
    jobs, nodes = schedule.jobs, schedule.cluster.num_nodes
    if runs.offsets.shape != (len(jobs) + 1,):
        return [f"nodes are listed for {len(runs.offsets) - 1} jobs, the schedule has {len(jobs)}"]
    owner = np.repeat(np.arange(len(jobs)), np.diff(runs.offsets))
    outside = np.flatnonzero((runs.first < 0) | (runs.last < runs.first) | (runs.last >= nodes))
    if outside.size:
        run = outside[0]
        ids = f"{runs.first[run]} to {runs.last[run]}"
        return [f"job {jobs.id[owner[run]]}: holds nodes {ids}, the machine has 0 to {nodes - 1}"]
    held = np.zeros(len(jobs), np.int64)
    np.add.at(held, owner, runs.last - runs.first + 1)
    wrong: list[str] = []
    bad = np.flatnonzero(held != jobs.nodes)
    if bad.size:
        job = bad[0]
        says = f"holds {held[job]} nodes, asks for {jobs.nodes[job]}"
        wrong.append(f"job {jobs.id[job]}: {says} ({bad.size} in all)")
    # Ends of an instant come before its starts.
    by_start, by_end = np.lexsort((schedule.order, schedule.start)), np.argsort(schedule.end, kind="stable")
    node, first, second = _first_clash(
        by_start, by_end, schedule.start, schedule.end, runs.offsets, runs.first, runs.last, nodes
    )
    if node >= 0:
        who = f"twice by job {jobs.id[first]}"
        if first != second:
            who = f"by jobs {jobs.id[first]} and {jobs.id[second]} at once"
        wrong.append(f"node {node} is held {who}, at {schedule.start[second]} s")
    return wrong


def check_spread(schedule: Schedule, runs: NodeRuns, cost: HopCost) -> list[str]:
    """What is said wrongly about hops, leaf switches and pods of jobs on nodes that exist; empty if all is right.

    Nothing is said, and nothing wrong, on a cluster without a topology.
    """
    tree, said = schedule.cluster.topology, schedule.spread
    if tree is None or said is None:
        return []
    true = spread_of(runs, tree, cost)
    columns = {
        "hop_cost": (said.hop_cost, true.hop_cost, ~np.isclose(said.hop_cost, true.hop_cost, rtol=1e-12, atol=0)),
        "leaves": (said.leaves, true.leaves, said.leaves != true.leaves),
        "pods": (said.pods, true.pods, said.pods != true.pods),
    }
    return [
        f"job {schedule.jobs.id[bad.argmax()]}: says {name} {told[bad.argmax()]:.12g}, its nodes make "
        f"{right[bad.argmax()]:.12g} ({int(bad.sum())} in all)"
        for name, (told, right, bad) in columns.items()
        if bad.any()
    ]


@compiled
def _first_clash(by_start, by_end, start, end, offsets, first, last, nodes):  # type: ignore[no-untyped-def]
    # The first node that a starting job finds held, and the two jobs; (-1, -1, -1) if there is none.
    holder = np.full(nodes, -1, np.int64)
    e = 0
    for job in by_start:
        while e < len(by_end) and end[by_end[e]] <= start[job]:
            leaving = by_end[e]
            for run in range(offsets[leaving], offsets[leaving + 1]):
                for node in range(first[run], last[run] + 1):
                    if holder[node] == leaving:
                        holder[node] = -1
            e += 1
        for run in range(offsets[job], offsets[job + 1]):
            for node in range(first[run], last[run] + 1):
                if holder[node] >= 0:
                    return node, holder[node], job
                holder[node] = job
    return -1, -1, -1
