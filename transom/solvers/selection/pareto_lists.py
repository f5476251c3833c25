"""Compiled growth of a list of choices by one job, with an upper bound of what each choice can come to.

A choice among the jobs of one half stands in a row: what it is worth in each objective, then what it takes of each
resource; beside it the chosen jobs as bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom.models.arrays import BoolArray, IntArray
from transom.solvers.selection.front_archive import ArchiveTree, beaten

BITS = 60  # jobs per word: no bit near the sign


class Choices(NamedTuple):
    """A list of choices: their rows, shape ``(choices, columns)``, and words, shape ``(choices, words)``."""

    rows: IntArray
    words: IntArray


class Candidate(NamedTuple):
    """The job by which a list grows: its row, and the words of it and of what it requires of those before it."""

    row: IntArray
    words: IntArray
    needs: IntArray


class Growth:
    """How far a list has grown by a job."""

    at: int  # the next choice
    count: int  # new ones


class Limits(NamedTuple):
    """What the undecided jobs can still add to a choice.

    Parameters
    ----------
    room : of each resource, shape ``(resources,)``.
    rest : what all of them ask for together, shape ``(resources,)``.
    table : of :func:`limits`.
    same : the resource that an objective is the demand on, or -1, shape ``(objectives,)``.
    """

    room: IntArray
    rest: IntArray
    table: IntArray
    same: IntArray


def empty(jobs: int) -> IntArray:
    """Words of no job at all, shape ``(words,)``."""
    return np.zeros(jobs // BITS + 1, np.int64)


def bits(jobs: IntArray, total: int) -> IntArray:
    """Words in which the bits of these jobs are set, shape ``(words,)``."""
    words = empty(total)
    for job in jobs.tolist():
        words[job // BITS] |= 1 << job % BITS
    return words


def chosen(words: IntArray, total: int) -> BoolArray:
    """Choices of shape ``(points, total)`` for words of shape ``(points, words)``."""
    job = np.arange(total)
    taken: BoolArray = (words[:, job // BITS] >> (job % BITS) & 1).astype(np.bool_)
    return taken


def limits(demands: IntArray, objectives: IntArray, same: IntArray) -> IntArray:
    """What undecided jobs add at most to an objective within a resource, by what they take of it.

    Parameters
    ----------
    demands, objectives : of the undecided jobs, shapes ``(jobs, resources)`` and ``(jobs, objectives)``.
    same : the resource that an objective is the demand on, or -1; of those only the last sum is filled in.

    Returns
    -------
    Sums of demand and worth over the jobs by falling worth per demand, shape
    ``(objectives, resources, jobs + 1, 2)``.
    """
    table = np.zeros((objectives.shape[1], demands.shape[1], len(demands) + 1, 2), np.int64)
    table[:, 0, -1, 1] = objectives.sum(axis=0)
    for k in np.flatnonzero(same < 0).tolist():
        for r in range(demands.shape[1]):
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(demands[:, r] > 0, objectives[:, k] / demands[:, r], np.inf)
            order = np.argsort(-ratio, kind="stable")
            np.cumsum(demands[order, r], out=table[k, r, 1:, 0])
            np.cumsum(objectives[order, k], out=table[k, r, 1:, 1])
    return table


@no_refcount
def bound(row: IntArray, room: IntArray, table: IntArray, same: IntArray, best: IntArray) -> None:
    """Put into ``best`` what a choice can come to in each objective (Dantzig's bound for each resource).

    ``same[k]`` is the resource that objective k is the demand on, or -1.
    """
    objectives, resources = table.shape[0], table.shape[1]
    last = table.shape[2] - 1
    for k in range(objectives):
        more = table[k, 0, last, 1]
        if same[k] >= 0:
            more = min(more, room[same[k]] - row[k])
        else:
            for r in range(resources):
                left = room[r] - row[objectives + r]
                if table[k, r, last, 0] <= left:
                    continue
                low, high = 0, last  # sums up to low fit, those from high on do not
                while high - low > 1:
                    middle = (low + high) // 2
                    if table[k, r, middle, 0] <= left:
                        low = middle
                    else:
                        high = middle
                part = float(left - table[k, r, low, 0]) * float(table[k, r, high, 1] - table[k, r, low, 1])
                part /= float(table[k, r, high, 0] - table[k, r, low, 0])
                # Rounded a little up, so that no rounding makes it less than the bound.
                more = min(more, table[k, r, low, 1] + int(part * (1 + 1e-12)))
        best[k] = row[k] + more


@compiled
def extend(
    source: Choices,
    target: Choices,
    keys: IntArray,
    growth: Growth,
    candidate: Candidate,
    limits: Limits,
    known: ArchiveTree,
    work: int,
) -> None:
    """Every choice without and with a job, as far as it fits and may come to something that is not known yet.

    ``keys`` say how good the new ones are: worth, and what they leave of each resource, where nothing beyond the
    ``rest`` that all undecided jobs ask for counts.
    """
    old, old_words = source
    new, new_words = target
    job, own, needs = candidate
    room, rest, table, same = limits
    objectives, columns = len(same), old.shape[1]
    best = np.empty(objectives, np.int64)
    at, count = growth.at, growth.count
    while at < len(old) and work > 0:
        work -= 1
        for take in range(2):
            fine = True
            if take:
                for w in range(len(needs)):
                    if old_words[at, w] & needs[w] != needs[w]:
                        fine = False
                for c in range(objectives, columns):
                    if old[at, c] + job[c] > room[c - objectives]:
                        fine = False
            if not fine:
                continue
            for c in range(columns):
                new[count, c] = old[at, c] + take * job[c]
            bound(new[count], room, table, same, best)
            if beaten(best, objectives, known):
                continue
            for w in range(len(needs)):
                new_words[count, w] = old_words[at, w] | take * own[w]
            for c in range(objectives):
                keys[count, c] = new[count, c]
            for c in range(objectives, columns):
                keys[count, c] = min(room[c - objectives] - new[count, c], rest[c - objectives])
            count += 1
        at += 1
    growth.at, growth.count = at, count
