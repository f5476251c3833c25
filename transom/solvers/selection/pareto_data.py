"""What ``pareto-dp`` searches: the undecided jobs in the smallest numbers that say the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transom.models.arrays import BoolArray, IntArray
from transom.models.selection_reduction import ReducedSelection
from transom.solvers.selection.pareto_lists import bound, empty, limits

_SUMS = 2**27  # most bits, over all jobs, for which all sums of demands are listed: some milliseconds


@dataclass(frozen=True, eq=False, slots=True)
class Data:
    """Undecided jobs.

    Parameters
    ----------
    demands, room, objectives : shapes ``(jobs, resources)``, ``(resources,)`` and ``(jobs, terms)``; each column
        divided by the greatest common divisor of its jobs.
    parents : which job requires which, shape ``(jobs, jobs)``.
    same : the resource that an objective is the demand on, or -1, shape ``(terms,)``.
    most : what no selection exceeds in each objective, shape ``(terms,)``.
    units : jobs that hang together through what they require, parents first, good ones first.
    words : 60-bit words of a selection.
    """

    demands: IntArray
    room: IntArray
    objectives: IntArray
    parents: BoolArray
    same: IntArray
    most: IntArray
    units: list[list[int]]
    words: int

    @property
    def jobs(self) -> int:
        """How many."""
        return len(self.demands)

    @property
    def terms(self) -> int:
        """Number of objectives."""
        return len(self.same)


def scaled(reduced: ReducedSelection) -> Data:
    """The data of a selection of which some jobs are undecided."""
    # Only multiples of the greatest common divisor can be asked for.
    unit = np.gcd.reduce(reduced.demands, axis=0)
    demands, room = reduced.demands // unit, reduced.room // unit
    objectives = reduced.objectives // np.maximum(1, np.gcd.reduce(reduced.objectives, axis=0))
    equal = (objectives[:, :, None] == demands[:, None, :]).all(axis=0)
    same = np.where(equal.any(axis=1), equal.argmax(axis=1), -1)
    return Data(
        demands=demands,
        room=room,
        objectives=objectives,
        parents=reduced.parents,
        same=same,
        most=_ceiling(demands, room, objectives, same),
        units=_units(demands, room, objectives, reduced.parents),
        words=len(empty(len(demands))),
    )


def _ceiling(demands: IntArray, room: IntArray, objectives: IntArray, same: IntArray) -> IntArray:
    # Demands as far as their sums come to it, else Dantzig's bound.
    most = np.empty(len(same), np.int64)
    bound(np.zeros(len(same) + len(room), np.int64), room, limits(demands, objectives, same), same, most)
    for k in np.flatnonzero((same >= 0) & (most * float(len(demands)) < _SUMS)).tolist():
        sums, within = 1, (1 << int(most[k]) + 1) - 1
        for amount in objectives[:, k].tolist():
            sums |= sums << amount & within
        most[k] = sums.bit_length() - 1
    return most


def _units(demands: IntArray, room: IntArray, objectives: IntArray, parents: BoolArray) -> list[list[int]]:
    shares = objectives / np.maximum(1, objectives.sum(axis=0))
    asked = demands / np.maximum(1, room)
    order = np.argsort(-shares.sum(axis=1) / (asked.sum(axis=1) + 1e-12), kind="stable")
    if not parents.any():
        return [[job] for job in order.tolist()]
    group = np.arange(len(demands))
    for job, other in np.argwhere(parents).tolist():
        group[group == group[other]] = group[job]
    units: dict[int, list[int]] = {}
    for job in order.tolist():
        units.setdefault(int(group[job]), []).append(job)
    for unit in units.values():
        jobs = unit.copy()
        unit.clear()
        while jobs:
            ready = [job for job in jobs if not parents[job, jobs].any()]
            unit += ready
            jobs = [job for job in jobs if job not in ready]
    return list(units.values())
