"""The judge of replays with outages: it knows what was stated, starts, ends, attempts and node ids alone."""

from __future__ import annotations

import numpy as np

from transom.simulation.core.node_runs import NodeRuns
from transom.simulation.core.outage_log import FAILURE, MAINTENANCE, OUTAGE_COLUMNS, OutageLog
from transom.simulation.core.schedule import Schedule
from transom.traces.outages import Outages, failures
from transom.traces.workload import Workload


def check_outages(workload: Workload, schedule: Schedule, runs: NodeRuns, outages: Outages, seed: int) -> list[str]:
    """Everything that is wrong with outages and attempts, in words; empty if they stand.

    What was stated, and what the law draws from the seed, went out of service, and nothing else; no job holds a node
    that is down; an attempt is ended by an outage of one of its nodes, before the job would have ended, and the next
    one comes after it; jobs are requeued or lost as stated. That nodes in service are not oversubscribed is
    for :func:`~transom.simulation.output.verification.check_schedule`.
    """
    log = schedule.outages
    if log is None:
        return ["the replay had outages, the recording has none"]
    wrong = [] if log.on_failure == outages.on_failure else [f"jobs are stated to {log.on_failure}"]
    last = int(schedule.end.max()) if len(schedule) else 0
    wrong += _wrong_rows(workload, log, outages, seed, last)
    wrong += _held_while_down(schedule, runs, log)
    return wrong + _wrong_attempts(workload, schedule, log)


def _wrong_rows(workload: Workload, log: OutageLog, outages: Outages, seed: int, last: int) -> list[str]:
    nodes = workload.cluster.num_nodes
    recorded = set(zip(*(getattr(log, name).tolist() for name in OUTAGE_COLUMNS), strict=True))
    expected = set()
    for k, row in enumerate(outages.stated(nodes, seed)):
        kind = FAILURE if row.kind == "failure" else MAINTENANCE
        if row.ranges and row.begin <= last:
            expected |= {(kind, k, row.begin, row.end, *each) for each in row.ranges}
        elif not row.ranges:
            pieces = {each for each in recorded if each[:2] == (kind, k)}
            recorded -= pieces
            if fault := _wrong_window(k, row.begin, row.end, row.number, sorted(pieces), log, nodes, last):
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


def _wrong_window(
    k: int, begin: int, end: int, count: int, pieces: list[tuple[int, ...]], log: OutageLog, nodes: int, last: int
) -> str:
    """What is wrong with the nodes that a window of a stated number took; empty if nothing is."""
    times, levels = log.out_of_service()
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
    ids, begins = workload.jobs.id, set(log.begin.tolist())
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
        hit = np.flatnonzero(log.begin == stop)
        down = [(log.first[i] <= last) & (log.last[i] >= first) for i in hit.tolist()]
        if stop not in begins or not any(each.any() for each in down):
            return [f"{who} ends though none of its nodes goes out of service then"]
        before[job] = stop
    for job, stop in before.items():
        if job in lost and int(schedule.end[job]) != stop:
            return [f"job {ids[job]}: is lost at {stop} s, but ends at {schedule.end[job]} s"]
        if job not in lost and int(schedule.start[job]) < stop:
            return [f"job {ids[job]}: starts at {schedule.start[job]} s, before its last attempt ended at {stop} s"]
    return []
