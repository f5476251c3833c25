"""Lower bounds of the makespan of a workload of tasks: what no schedule undercuts, offline ones included.

A schedule here starts instances at whole seconds, none before its submission, and never moves or stops one; it may know
everything beforehand and let machines idle. Three bounds are taken together: the longest instance (critical path), the
instances of one task that run one after another because not all fit at once (waves), and energy per resource: in an
interval of time no more can be used than there is, although every instance may be shifted to its submission or to its
deadline (energetic reasoning).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import put
from transom.models.arrays import FloatArray, IntArray
from transom.traces.tasks.workload import TaskWorkload

_GROUPS = 400  # tasks that differ in submission or duration, beyond which only ends of the schedule are looked at
_CLOSE = 1 + 1e-9  # sums of doubles differ less than that: nothing is refuted by rounding


class _Energy(NamedTuple):
    """Tasks of one submission and duration taken together: ``release``, ``length`` ``(G,)`` [s]; ``amount`` ``(G, R)``:
    shares of all machines that their instances need."""

    release: IntArray
    length: IntArray
    amount: FloatArray


def makespan_bound(workload: TaskWorkload) -> int:
    """A makespan [s] from the first submission on that no schedule undercuts.

    References
    ----------
    Baptiste, Le Pape, Nuijten, Satisfiability tests and time-bound adjustments for cumulative scheduling problems,
    Annals of Operations Research 92, 1999, section 3 (energetic reasoning).
    """
    release = (workload.submit - workload.submit[0])[workload.job]
    length = np.ceil(workload.duration).astype(np.int64)
    waves = -(-workload.instances // at_once(workload))
    low = int((release + waves * length).max())
    energy = _grouped(workload, release, length)
    if not _refuted(energy, low):
        return low
    step, high = 1, low + 1
    while _refuted(energy, high):
        low, step = high, 2 * step
        high += step
    while high - low > 1:  # low is refuted, high is not
        middle = (low + high) // 2
        low, high = (middle, high) if _refuted(energy, middle) else (low, middle)
    return high


def at_once(workload: TaskWorkload) -> IntArray:
    """How many instances of each task all machines hold at once, if nothing else runs, shape ``(T,)``."""
    held = np.zeros(len(workload), np.int64)
    for machine, count in zip(*np.unique(workload.machines, axis=0, return_counts=True), strict=True):
        fit = np.full(len(workload), 2**31)
        for amount, needed in zip(machine, workload.demands.T, strict=True):
            asked = needed > 0
            fit[asked] = np.minimum(fit[asked], amount // needed[asked])
        held += fit * count
    return held


def _grouped(workload: TaskWorkload, release: IntArray, length: IntArray) -> _Energy:
    keys, group = np.unique(np.column_stack((release, length)), axis=0, return_inverse=True)
    totals = workload.machines.astype(np.float64).sum(axis=0)
    amount = np.zeros((len(keys), len(totals)))
    np.add.at(amount, group.ravel(), workload.instances[:, None] * (workload.demands / totals))
    return _Energy(keys[:, 0].copy(), keys[:, 1].copy(), amount)


@compiled
def _refuted(energy: _Energy, makespan: int) -> bool:
    """Whether some interval needs more of a resource than there is, if all ends by ``makespan``."""
    release, length, amount = energy
    groups = len(release)
    few = groups if groups <= _GROUPS else 0
    begins, ends = np.empty(groups + few, np.int64), np.empty(few + 1, np.int64)
    put(begins[:groups], release)
    for g in range(few):
        begins[groups + g] = max(0, makespan - length[g])
        ends[g] = release[g] + length[g]
    ends[few] = makespan
    for r in range(amount.shape[1]):
        for b in range(len(begins)):
            begin = begins[b]
            if b > 0 and begin == begins[b - 1]:
                continue
            for end in ends:
                if end <= begin:
                    continue
                needed = 0.0
                for g in range(groups):
                    # What an instance cannot help to run within, be it as early or as late as it can.
                    early = min(end, release[g] + length[g]) - max(begin, release[g])
                    late = min(end, makespan) - max(begin, makespan - length[g])
                    needed += amount[g, r] * max(0, min(early, late))
                if needed > (end - begin) * _CLOSE:
                    return True
    return False
