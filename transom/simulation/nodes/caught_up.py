"""Nodes for the jobs that compiled loops have started and ended, while no node went out of service or came back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.models.arrays import BoolArray, IntArray

_ROOM = 4096  # runs of nodes that are found before they are put away

NOBODY = -1


class Changes(NamedTuple):
    """Starts and ends of jobs in the order of time, ends of an instant first; shape ``(changes,)`` each.

    ``job``; ``starts``: whether it starts; ``until``: when it would end by its walltime [s]; ``asks``: its nodes.
    """

    job: IntArray
    starts: BoolArray
    until: IntArray
    asks: IntArray


class Nodes(NamedTuple):
    """``M`` nodes: whether each is ``busy`` or out of service, the job that is its ``owner``, and when it ``leaves``
    service next [s]; ``low`` and ``high`` ``(n,)``: the first and the last node of each job that runs."""

    busy: BoolArray
    owner: IntArray
    leaves: IntArray
    low: IntArray
    high: IntArray


def catch_up(changes: Changes, nodes: Nodes) -> Iterator[tuple[int, IntArray, IntArray]]:
    """Give nodes to jobs that start and take back those of jobs that end.

    A job gets the idle nodes that leave service first, of those that stay as long as it may run, the lowest ids first.

    Yields
    ------
    (job, first nodes, last nodes) of the runs of nodes that a job gets.
    """
    order = np.lexsort((np.arange(len(nodes.leaves)), nodes.leaves))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    runs = np.empty((_ROOM + len(order), 3), np.int64)
    done, hint = 0, 0
    while done < len(changes.job):
        done, hint, count = _catch_up(changes, nodes, order, place, runs, done, hint)
        found = runs[:count].copy()
        cuts = np.flatnonzero(np.diff(found[:, 0])) + 1
        for piece in np.split(found, cuts) if count else ():
            yield int(piece[0, 0]), piece[:, 1], piece[:, 2]


@compiled
def _catch_up(
    changes: Changes, nodes: Nodes, order: IntArray, place: IntArray, runs: IntArray, done: int, hint: int
) -> tuple[int, int, int]:
    """Go on from change ``done`` until the room for runs is nearly used up.

    ``hint`` is a place in ``order`` before which no node is idle. Returns the next change, the hint, and how many runs
    were found.
    """
    count = 0
    while done < len(changes.job) and count < _ROOM:
        job, asks = changes.job[done], changes.asks[done]
        if not changes.starts[done]:
            for node in range(nodes.low[job], nodes.high[job] + 1):
                if nodes.owner[node] == job:
                    nodes.owner[node], nodes.busy[node] = NOBODY, False
                    hint = min(hint, place[node])
            done += 1
            continue
        low, high, found, at = len(order), -1, 0, hint
        while found < asks and at < len(order):
            node = order[at]
            if not nodes.busy[node] and nodes.leaves[node] >= changes.until[done]:
                nodes.busy[node], nodes.owner[node] = True, job
                low, high, found = min(low, node), max(high, node), found + 1
            at += 1
        while hint < len(order) and nodes.busy[order[hint]]:
            hint += 1
        nodes.low[job], nodes.high[job] = low, high
        node = low
        while node <= high:
            if nodes.owner[node] == job:
                runs[count, 0], runs[count, 1] = job, node
                while node <= high and nodes.owner[node] == job:
                    node += 1
                runs[count, 2] = node - 1
                count += 1
            node += 1
        done += 1
    return done, hint, count
