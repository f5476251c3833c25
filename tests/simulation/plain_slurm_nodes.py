"""A second, slow replay of Slurm's backfill that reserves single nodes; shares nothing with ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

Nodes = frozenset[int]


class PlainJob(NamedTuple):
    """Times in seconds."""

    submit: int
    nodes: int
    walltime: int
    runtime: int


class Reservation(NamedTuple):
    """What a cycle reserves."""

    begin: int
    end: int
    nodes: Nodes


def plain_slurm_nodes(
    jobs: Sequence[PlainJob],
    leaves: Sequence[Sequence[int]],
    interval: int,
    resolution: int,
    window: int,
    completing: int = 0,
) -> tuple[list[int], list[Nodes]]:
    """The start and the nodes of each job; jobs are in the order of the queue, nodes stay busy ``completing`` more."""
    start: dict[int, int] = {}
    on: dict[int, Nodes] = {}
    machine = frozenset(node for leaf in leaves for node in leaf)
    now = 0
    while len(start) < len(jobs):
        running = {i for i in start if start[i] + jobs[i].runtime + completing > now}
        queue = [i for i, job in enumerate(jobs) if i not in start and job.submit <= now]

        def idle(running: set[int] = running) -> Nodes:
            return machine.difference(*(on[i] for i in running))

        def launch(i: int, nodes: Nodes, now: int = now, running: set[int] = running) -> None:
            start[i], on[i] = now, nodes
            running.add(i)

        for i in queue:
            found = chosen(leaves, idle(), jobs[i].nodes)
            if found is None:
                break
            launch(i, found)
        if now % interval == 0:
            reserved: list[Reservation] = []
            for i in queue:
                if i in start:
                    continue
                ends = [(start[j] + jobs[j].walltime, j) for j in running]
                planned = _planned(jobs[i], leaves, idle(), sorted((end, on[j]) for end, j in ends), reserved, now,
                                   resolution)  # fmt: skip
                if planned is None:
                    continue
                begin, nodes = planned
                if begin == now:
                    launch(i, nodes)
                elif begin < now + window:
                    reserved.append(Reservation(*_rounded(begin, jobs[i].walltime, resolution), nodes))
        now += 1
    return [start[i] for i in range(len(jobs))], [on[i] for i in range(len(jobs))]


def chosen(leaves: Sequence[Sequence[int]], among: Nodes, wanted: int) -> Nodes | None:
    """The nodes that topology/tree gives a job, of those it may have."""
    if len(among) < wanted:
        return None
    left = [[node for node in leaf if node in among] for leaf in leaves]
    found: list[int] = []
    while len(found) < wanted:
        enough = [leaf for leaf in left if len(leaf) >= wanted - len(found)]
        best = min(enough, key=len) if enough else max(left, key=len)
        left.remove(best)
        found += best[: wanted - len(found)]
    return frozenset(found)


def _rounded(begin: int, walltime: int, resolution: int) -> tuple[int, int]:
    return begin // resolution * resolution, (begin + walltime) // resolution * resolution


def _planned(
    job: PlainJob, leaves: Sequence[Sequence[int]], idle: Nodes, ends: Sequence[tuple[int, Nodes]],
    reserved: Sequence[Reservation], now: int, resolution: int,
) -> tuple[int, Nodes] | None:  # fmt: skip
    machine = frozenset(node for leaf in leaves for node in leaf)
    edges = sorted({edge for each in reserved for edge in (each.begin, each.end)})
    for after in [now, *(edge for edge in edges if edge > now)]:
        meanwhile = [each.nodes for each in reserved if each.begin <= after + job.walltime and each.end > after]
        found = _when_free(job.nodes, leaves, machine.difference(*meanwhile), idle, ends, now)
        if found is None:
            continue
        begin, nodes = max(found[0], after), found[1]
        if begin <= now:
            return now, nodes
        if any(after < edge < begin for edge in edges):
            continue
        first, last = _rounded(begin, job.walltime, resolution)
        if not any(each.begin < last and each.end > first and each.nodes & nodes for each in reserved):
            return begin, nodes
    return None


def _when_free(
    wanted: int,
    leaves: Sequence[Sequence[int]],
    usable: Nodes,
    idle: Nodes,
    ends: Sequence[tuple[int, Nodes]],
    now: int,
) -> tuple[int, Nodes] | None:
    free = idle & usable
    if (found := chosen(leaves, free, wanted)) is not None:
        return now, found
    base, window, at = None, 30, 0
    while at < len(ends):
        last = None
        while at < len(ends):
            end, nodes = ends[at]
            at += 1
            if nodes & usable:
                base = end - end % 30 + 30 if base is None else base
                last, free = end, free | nodes & usable
                if at < len(ends) and ends[at][0] > base + window:
                    break
        if last is None or base is None:
            return None
        window *= 2
        while at < len(ends) and ends[at][0] > base + window:
            window *= 2
        if (found := chosen(leaves, free, wanted)) is not None:
            return max(last, now + 1), found
    return None
