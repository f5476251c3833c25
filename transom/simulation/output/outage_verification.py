"""The judge of replays with outages: it knows what was stated, starts, ends, attempts and node ids alone."""

from __future__ import annotations

import numpy as np

from transom.models.arrays import IntArray
from transom.simulation.core.node_runs import NodeRuns
from transom.simulation.core.outage_log import DRAIN, FAILURE, MAINTENANCE, OUTAGE_COLUMNS, OutageLog, levels_of
from transom.simulation.core.schedule import Schedule
from transom.traces.outages import Outage, Outages, failures
from transom.traces.workload import Workload


def check_outages(workload: Workload, schedule: Schedule, runs: NodeRuns, outages: Outages, seed: int) -> list[str]:
    """Everything that is wrong with outages and attempts, in words; empty if they stand.

    What was stated, and what the law draws from the seed, went out of service, and nothing else, drained nodes from
    the end of the job that ran there; no job holds a node that is down; an attempt is ended by an outage of one of its
    nodes, before the job would have ended, and the next one comes after it; jobs are requeued or lost as stated. That
    nodes in service are not oversubscribed is for
    :func:`~transom.simulation.output.verification.check_schedule`.
    """
    log = schedule.outages
    if log is None:
        return ["the replay had outages, the recording has none"]
    wrong = [] if log.on_failure == outages.on_failure else [f"jobs are stated to {log.on_failure}"]
    wrong += _wrong_rows(workload, schedule, runs, outages, seed)
    wrong += _held_while_down(schedule, runs, log)
    return wrong + _wrong_attempts(workload, schedule, log)


def _wrong_rows(workload: Workload, schedule: Schedule, runs: NodeRuns, outages: Outages, seed: int) -> list[str]:
    log, nodes = schedule.outages, workload.cluster.num_nodes
    assert log is not None
    last = int(schedule.end.max()) if len(schedule) else 0
    recorded = set(zip(*(getattr(log, name).tolist() for name in OUTAGE_COLUMNS), strict=True))
    expected = set()
    stated = outages.stated(nodes, seed)
    drains = {k: _drained(row, schedule, runs, log) for k, row in enumerate(stated) if row.kind == "drain"}
    for k, row in enumerate(stated):
        if k in drains:
            pieces = {each for each in recorded if each[:2] == (DRAIN, k)}
            recorded -= pieces
            if fault := _wrong_drain(k, row, drains[k], sorted(pieces), last):
                return [fault]
            continue
        kind = FAILURE if row.kind == "failure" else MAINTENANCE
        if row.ranges and row.begin <= last:
            expected |= {(kind, k, row.begin, row.end, *each) for each in row.ranges}
        elif not row.ranges:
            pieces = {each for each in recorded if each[:2] == (kind, k)}
            recorded -= pieces
            unavailable = _unavailable(log, [(stated[i], out) for i, out in drains.items()])
            if fault := _wrong_window(k, row, sorted(pieces), unavailable, nodes, last):
                return [fault]
    if outages.mtbf is not None and len(workload):
        for until, rows in failures(outages, nodes, int(workload.jobs.submit[0]), seed):
            expected |= {(FAILURE, -1, begin, end, node, node) for begin, end, node in rows.tolist() if begin <= last}
            if until > last:
                break
    # What happens at the very instant of the last end may have come after it, when nobody looked any more.
    odd = {each for each in recorded ^ expected if each[2] < last or each in recorded - expected}
    if odd:
        kind, row, begin, end, first, final = min(odd, key=lambda each: each[2])
        where = (
            "is recorded, but was not stated"
            if (kind, row, begin, end, first, final) in recorded
            else "is not recorded"
        )
        return [f"the outage of nodes {first} to {final} from {begin} to {end} s {where} ({len(odd)} in all)"]
    return []


def _drained(row: Outage, schedule: Schedule, runs: NodeRuns, log: OutageLog) -> IntArray:
    """From when on each node of a drain is out of service [s]: its begin, or the end of a job that ran there then."""
    ids, since = row.ids(), np.full(schedule.cluster.num_nodes, row.begin)
    for held, start, end in ((runs, schedule.start, schedule.end), (log.runs, log.start, log.stop)):
        for job in np.flatnonzero((start < row.begin) & (end > row.begin)).tolist():
            for run in range(int(held.offsets[job]), int(held.offsets[job + 1])):
                part = since[held.first[run] : held.last[run] + 1]
                np.maximum(part, end[job], out=part)
    found: IntArray = since[ids]
    return found


def _wrong_drain(k: int, row: Outage, since: IntArray, pieces: list[tuple[int, ...]], last: int) -> str:
    """What is wrong with the nodes of a drain; empty if nothing is."""
    expected = {
        int(node): int(begin) for node, begin in zip(row.ids(), since, strict=True) if begin < row.end and begin <= last
    }
    recorded: dict[int, int] = {}
    for _, _, begin, end, first, final in pieces:
        if end != row.end or not recorded.keys().isdisjoint(range(first, final + 1)):
            return f"row {k + 1} drains nodes {first} to {final} from {begin} to {end} s, twice or not until its end"
        recorded |= dict.fromkeys(range(first, final + 1), begin)
    for node in sorted(expected.keys() | recorded.keys()):
        due, noted = expected.get(node), recorded.get(node)
        # What happens at the very instant of the last end may have come after it.
        if due != noted and not (noted is None and due == last):
            says = "is never out of service" if noted is None else f"is out of service from {noted} s on"
            return f"row {k + 1} drains node {node}: it {says}, expected {'never' if due is None else f'{due} s'}"
    return ""


def _unavailable(log: OutageLog, drains: list[tuple[Outage, IntArray]]) -> tuple[IntArray, IntArray]:
    """How many nodes are out of service or drained over time, as :meth:`OutageLog.out_of_service` says it."""
    none = np.empty(0, np.int64)
    ids = [row.ids() for row, _ in drains]
    begin = np.concatenate(
        [log.begin, *(np.full(len(each), row.begin) for each, (row, _) in zip(ids, drains, strict=True))]
    )
    end = np.concatenate([log.end, *(np.minimum(since, row.end) for row, since in drains)])
    first, final = (np.concatenate([side, *ids, none]) for side in (log.first, log.last))
    return levels_of(begin, end, first, final)


def _wrong_window(
    k: int, row: Outage, pieces: list[tuple[int, ...]], unavailable: tuple[IntArray, IntArray], nodes: int, last: int
) -> str:
    """What is wrong with the nodes that a window of a stated number took; empty if nothing is."""
    (times, levels), (begin, end, count) = unavailable, row[1:4]
    borders = {begin, end} | {time for each in pieces for time in each[2:4]} | set(times.tolist())
    for time in sorted(borders):
        if time >= min(end, last) or time < begin:
            continue
        held = sum(each[5] - each[4] + 1 for each in pieces if each[2] <= time < each[3])
        place = int(np.searchsorted(times, time, side="right")) - 1
        out = int(levels[place]) if place >= 0 else 0
        if held > count or (held < count and out < nodes):
            return f"row {k + 1} states {count} nodes, {held} are out of service for it at {time} s"
    if any(each[2] < begin or each[3] > end for each in pieces):
        return f"row {k + 1} has nodes out of service that are not within {begin} to {end} s"
    return ""


def _held_while_down(schedule: Schedule, runs: NodeRuns, log: OutageLog) -> list[str]:
    counts, more = np.diff(runs.offsets), np.diff(log.runs.offsets)
    which = np.concatenate((np.repeat(np.arange(len(schedule)), counts), np.repeat(log.job, more)))
    start = np.concatenate((np.repeat(schedule.start, counts), np.repeat(log.start, more)))
    end = np.concatenate((np.repeat(schedule.end, counts), np.repeat(log.stop, more)))
    first, last = (np.concatenate((getattr(runs, side), getattr(log.runs, side))) for side in ("first", "last"))
    order = np.argsort(start, kind="stable")
    which, first, last, start, end = which[order], first[order], last[order], start[order], end[order]
    longest = int((end - start).max(initial=0))
    for k in range(len(log.begin)):
        low, high = np.searchsorted(start, (log.begin[k] - longest, log.end[k]))
        part = slice(int(low), int(high))
        clash = (end[part] > log.begin[k]) & (first[part] <= log.last[k]) & (last[part] >= log.first[k])
        if clash.any():
            job = which[part][clash.argmax()]
            nodes = f"nodes {log.first[k]} to {log.last[k]} are out of service from {log.begin[k]} to {log.end[k]} s"
            return [f"job {schedule.jobs.id[job]}: runs while its {nodes}"]
    return []


def _wrong_attempts(workload: Workload, schedule: Schedule, log: OutageLog) -> list[str]:
    ids, ending = workload.jobs.id, log.kind != DRAIN  # a drain ends no job
    ended = dict(zip(ids.tolist(), schedule.end.tolist(), strict=True))
    before: dict[int, int] = {}
    lost = set(log.lost.tolist())
    if lost and log.on_failure != "lose":
        return [f"job {ids[min(lost)]}: is lost, but jobs are requeued"]
    for k, (job, start, stop) in enumerate(zip(log.job.tolist(), log.start.tolist(), log.stop.tolist(), strict=True)):
        who, at = f"job {ids[job]}: its attempt from {start} to {stop} s", slice(*log.runs.offsets[k : k + 2])
        parents = workload.jobs.depends_on.get(int(ids[job]), ())
        earliest = max([int(workload.jobs.submit[job]), before.get(job, 0), *(ended[p] for p in parents)])
        first, last = log.runs.first[at], log.runs.last[at]
        if start < earliest:
            return [f"{who} starts before {earliest} s, when it could at the earliest"]
        if not start < stop < start + int(workload.runtime[job]):
            return [f"{who} is not within its runtime of {workload.runtime[job]} s"]
        if int((last - first + 1).sum()) != int(workload.jobs.nodes[job]):
            return [f"{who} holds another number of nodes than it asks for"]
        hit = np.flatnonzero((log.begin == stop) & ending)
        down = [(log.first[i] <= last) & (log.last[i] >= first) for i in hit.tolist()]
        if not any(each.any() for each in down):
            return [f"{who} ends though none of its nodes goes out of service then"]
        before[job] = stop
    for job, stop in before.items():
        if job in lost and int(schedule.end[job]) != stop:
            return [f"job {ids[job]}: is lost at {stop} s, but ends at {schedule.end[job]} s"]
        if job not in lost and int(schedule.start[job]) < stop:
            return [f"job {ids[job]}: starts at {schedule.start[job]} s, before its last attempt ended at {stop} s"]
    return []
