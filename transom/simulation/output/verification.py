"""The judge of schedules: it knows the workload and looks at nothing but starts, ends and node ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.errors import SpecError
from transom.models import HopCost
from transom.models.arrays import IntArray
from transom.simulation.core.node_runs import NodeRuns
from transom.simulation.core.outage_log import OutageLog
from transom.simulation.core.promise_log import Changes
from transom.simulation.core.schedule import Schedule
from transom.simulation.nodes.sections import sections_of
from transom.simulation.nodes.spread import spread_of
from transom.traces.workload import Workload


def check_schedule(workload: Workload, schedule: Schedule) -> list[str]:
    """Everything that is wrong with a schedule, in words; empty if it stands.

    Every job of the workload starts once, not before its submission nor before its parents have
    ended, and runs for its runtime; nodes and further resources are never oversubscribed. With outages that is
    the last attempt of each job, and nodes out of service count as used.
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
    log = schedule.outages
    cut = np.zeros(len(jobs), bool)
    if log is not None:
        cut[log.lost] = True
    report((end - start != workload.runtime) & ~cut, "does not run for its runtime")
    report((end - start >= workload.runtime) & cut, "is lost, but runs for its runtime")
    report(schedule.jobs.nodes != jobs.nodes, "holds another number of nodes than it asked for")
    report((schedule.jobs.demand != jobs.demand).any(axis=1), "holds another demand than it asked for")
    if jobs.depends_on:
        ended = dict(zip(jobs.id.tolist(), end.tolist(), strict=True))
        latest = np.array([max((ended[p] for p in jobs.depends_on.get(j, ())), default=0) for j in jobs.id.tolist()])
        report(start < latest, "starts before a job it depends on has ended")

    # At every instant ends come before starts, so sort by (time, end first) and add up.
    time = np.concatenate((end, start))
    kind = np.concatenate((np.zeros(len(jobs)), np.ones(len(jobs))))
    asked = np.column_stack((jobs.nodes, jobs.demand))
    change = np.concatenate((-asked, asked))
    if log is not None:
        # Attempts that were followed by others used what they asked for; nodes out of service are nobody's.
        again = log.requeued()
        times, levels = log.out_of_service()
        out = np.zeros((len(times), asked.shape[1]), np.int64)
        out[:, 0] = np.diff(levels, prepend=0)
        time = np.concatenate((time, log.stop[again], log.start[again], times))
        kind = np.concatenate((kind, np.zeros(again.sum()), np.ones(again.sum()), np.full(len(times), 0.5)))
        change = np.concatenate((change, -asked[log.job[again]], asked[log.job[again]], out))
    order = np.lexsort((kind, time))
    used = change[order].cumsum(axis=0)
    capacities = (workload.cluster.num_nodes, *workload.cluster.capacities)
    for name, amount, capacity in zip(("nodes", *workload.cluster.resources), used.T, capacities, strict=True):
        if (amount > capacity).any():
            when = time[order][(amount > capacity).argmax()]
            beside = "" if log is None else " or out of service"
            wrong.append(f"{name}: {amount.max()} of {capacity} are used{beside} at once, first at {when} s")
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
    whose, start, end, order = np.arange(len(jobs)), schedule.start, schedule.end, schedule.order
    if schedule.outages is not None:
        whose, start, end, order, runs = _with_attempts(schedule, schedule.outages, runs)
    # Ends of an instant come before its starts.
    by_start, by_end = np.lexsort((order, start)), np.argsort(end, kind="stable")
    if (job := _outside_its_partition(schedule, owner, runs)) is not None:
        wrong.append(f"job {jobs.id[job]}: holds nodes of another partition or tree")
    node, first, second = _first_clash(by_start, by_end, start, end, runs.offsets, runs.first, runs.last, nodes)
    if node >= 0:
        one, other = whose[first], whose[second]
        who = f"twice by job {jobs.id[one]}"
        if one != other:
            who = f"by jobs {jobs.id[one]} and {jobs.id[other]} at once"
        wrong.append(f"node {node} is held {who}, at {start[second]} s")
    return wrong


def _outside_its_partition(schedule: Schedule, owner: IntArray, runs: NodeRuns) -> int | None:
    """The first job with a node that its partition does not have, where nodes are placed by partition; or None."""
    if schedule.cluster.topology is None or schedule.outages is not None:
        return None
    try:
        sections = sections_of(schedule.cluster, schedule.jobs)
    except SpecError:  # nobody says which nodes are whose
        return None
    if sections is None:
        return None
    of = sections.of[owner]
    stretch = np.concatenate(([0], np.cumsum(np.diff(sections.of_node) != 0)))  # of nodes of one section
    wrong = np.flatnonzero((sections.of_node[runs.first] != of) | (stretch[runs.first] != stretch[runs.last]))
    return int(owner[wrong[0]]) if wrong.size else None


def _with_attempts(
    schedule: Schedule, log: OutageLog, runs: NodeRuns
) -> tuple[IntArray, IntArray, IntArray, IntArray, NodeRuns]:
    """Whose, start, end, order of start and nodes of every attempt: the last one of each job, then the others."""
    again = np.flatnonzero(log.requeued())
    counts = np.diff(log.runs.offsets)
    part = np.repeat(log.requeued(), counts)
    offsets = np.concatenate((runs.offsets, runs.offsets[-1] + np.cumsum(counts[again])))
    first, last = np.append(runs.first, log.runs.first[part]), np.append(runs.last, log.runs.last[part])
    return (
        np.append(np.arange(len(schedule)), log.job[again]),
        np.append(schedule.start, log.start[again]),
        np.append(schedule.end, log.stop[again]),
        np.append(schedule.order, np.full(len(again), -1)),
        NodeRuns(offsets, first, last),
    )


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
        f"job {schedule.jobs.id[bad.argmax()]}: says {name} {recorded[bad.argmax()]:.12g}, its nodes make "
        f"{right[bad.argmax()]:.12g} ({int(bad.sum())} in all)"
        for name, (recorded, right, bad) in columns.items()
        if bad.any()
    ]


def check_promises(schedule: Schedule, changes: Iterable[Changes]) -> list[str]:
    """The first thing that is wrong with what passes promised, in words; empty if all is right.

    A promise is made to a job that waits, for no instant in the past, and is over when the job starts; the job that a
    row of the decisions names holds the start that it states. Under textbook events a job starts no later than it was
    promised last, unless a job of the schedule outran its walltime or nodes went out of service.
    """
    jobs, decisions = schedule.jobs, schedule.decisions
    by_id = np.argsort(jobs.id)
    ids = jobs.id[by_id]

    def places(named: np.ndarray) -> np.ndarray:
        at = np.minimum(np.searchsorted(ids, named), len(ids) - 1) if len(ids) else np.zeros(len(named), np.int64)
        return np.where(ids[at] == named, by_id[at], -1) if len(ids) else at - 1

    textbook = schedule.rules == "textbook"
    kept = textbook and schedule.outages is None and not (schedule.runtime > jobs.walltime).any()
    held, passes = np.full(len(jobs), -1, np.int64), 0
    passes_of = _Passes(decisions["time"], places(decisions["reserved_job"]), decisions["reserved_start"])
    jobs_of = _Jobs(jobs.submit, schedule.start, held)
    for each in changes:
        job = places(each.jobs)
        if (job < 0).any():
            return [f"job {each.jobs[job.argmin()]}: is promised a start, but there is no such job"]
        row, fault, says = _first_broken(each._replace(jobs=job), passes_of, jobs_of, textbook, kept)
        if fault >= 0:
            return [f"at {decisions['time'][row]} s: job {jobs.id[fault]} {_BROKEN[says]}"]
        passes = each.first + len(each.offsets) - 1
    if passes != len(decisions["time"]):
        return [f"promises of {passes} passes are recorded, there are {len(decisions['time'])}"]
    if (held >= 0).any():
        return [f"job {jobs.id[held.argmax()]}: holds a promise after the last pass"]
    return []


_BROKEN = (
    "is promised a start, but does not wait",
    "is promised a start in the past",
    "starts later than it was promised",
    "loses a promise that it does not hold",
    "has started and still holds a promise",
    "is not promised the start that the decision states",
)


class _Passes(NamedTuple):
    """Of every pass: when it was, the row of the job that its decision names (-1: none), and the start it states."""

    time: IntArray
    reserved: IntArray
    promised: IntArray


class _Jobs(NamedTuple):
    """Of every job: its submission, its start, and the start that it is promised (-1: none), which goes along."""

    submit: IntArray
    start: IntArray
    held: IntArray


@compiled
def _first_broken(changes: Changes, passes: _Passes, jobs: _Jobs, textbook: bool, kept: bool) -> tuple[int, int, int]:
    # Row, job and kind of the first fault; (-1, -1, -1) if there is none. ``changes`` names rows of jobs.
    first, offsets, job, starts = changes
    time, reserved, promised = passes
    submit, start, held = jobs
    for row in range(first, first + len(offsets) - 1):
        now = time[row]
        for i in range(offsets[row - first], offsets[row - first + 1]):
            j = job[i]
            if starts[i] < 0:
                if held[j] < 0:
                    return row, j, 3
                if start[j] < now:
                    return row, j, 4
                if kept and start[j] == now and now > held[j]:
                    return row, j, 2
                held[j] = -1
                continue
            # Other programs decide several times at one instant.
            if submit[j] > now or start[j] < now or (textbook and start[j] == now):
                return row, j, 0
            if starts[i] < now:
                return row, j, 1
            held[j] = starts[i]
        j = reserved[row]
        if j >= 0 and held[j] != promised[row]:
            return row, j, 5
    return -1, -1, -1


@compiled
def _first_clash(
    by_start: IntArray,
    by_end: IntArray,
    start: IntArray,
    end: IntArray,
    offsets: IntArray,
    first: IntArray,
    last: IntArray,
    nodes: int,
) -> tuple[int, int, int]:
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
