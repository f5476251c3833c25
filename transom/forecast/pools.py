"""How long jobs may run: as long as jobs that are alike ran, given that they have run for some time already.

Jobs are alike in five ways, the closest first: same user, application, nodes and walltime; the same whatever the
application; same user; same walltime and about as many nodes; about the same walltime. Of each the latest that have
ended count, by the share of the walltime that they used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.models import JobTable
from transom.models.arrays import IntArray

SIZE = 24
"""How many runtimes stand for a job's."""

_QUOTAS = np.array([10, 16, 18, 20, SIZE])  # of the closest jobs, with the next, with all
_LOOKED_AT = 256  # jobs of each kind, at most


class Pools(NamedTuple):
    """Jobs that are alike, for five kinds of likeness.

    ``code`` ``(3, jobs)``: jobs with the same number are alike; ``begin`` ``(3, codes + 1)``: where those of each
    number stand in ``listed`` ``(3, jobs)``, in their order. ``walltime``, ``runtime`` ``(jobs,)`` [s].
    """

    code: IntArray
    begin: IntArray
    listed: IntArray
    walltime: IntArray
    runtime: IntArray


def new_pools(jobs: JobTable, name: IntArray, runtime: IntArray) -> Pools:
    """The pools of jobs with these applications and runtimes [s], both of shape ``(jobs,)``."""
    n, size = len(jobs), np.log2(jobs.walltime).astype(np.int64)
    code, begin, listed = np.empty((5, n), np.int64), np.zeros((5, n + 1), np.int64), np.empty((5, n), np.int64)
    kinds = (
        (jobs.walltime, jobs.nodes, name, jobs.user),
        (jobs.walltime, jobs.nodes, jobs.user),
        (jobs.user,),
        (jobs.walltime, np.log2(jobs.nodes).astype(np.int64)),
        (size,),
    )
    for k, columns in enumerate(kinds):
        order = np.lexsort(columns)
        first = np.zeros(n, bool)
        for column in columns:
            first[1:] |= np.diff(column[order]) != 0
        code[k, order] = np.cumsum(first)
        begin[k, 1:] = np.cumsum(np.bincount(code[k], minlength=n))
        listed[k] = order
    return Pools(code, begin, listed, np.ascontiguousarray(jobs.walltime), np.ascontiguousarray(runtime))


def runtimes_of(pools: Pools, end: IntArray, now: int, count: int, jobs: IntArray, elapsed: IntArray) -> IntArray:
    """Equally likely runtimes of jobs.

    Parameters
    ----------
    pools : of all jobs.
    end : of all jobs [s]; those that end after ``now`` are not read.
    now : the instant [s].
    count : so many of the jobs, the first ones, are known.
    jobs : which to look at.
    elapsed : how long each of these has run [s], -1 if it has not started.

    Returns
    -------
    Runtimes above ``elapsed``, ascending, shape ``(jobs, SIZE)`` [s].
    """
    found = np.empty((len(jobs), SIZE), np.int64)
    _fill(pools, end, now, count, jobs, elapsed, _QUOTAS, found)
    return found


@compiled
def _fill(
    p: Pools, end: IntArray, now: int, count: int, jobs: IntArray, elapsed: IntArray, quotas: IntArray, found: IntArray
) -> None:
    for j in range(len(jobs)):
        job, k = jobs[j], 0
        least = elapsed[j] + 1
        for kind in range(len(quotas)):
            low, high = p.begin[kind, p.code[kind, job]], p.begin[kind, p.code[kind, job] + 1]
            bottom = low
            while low < high:  # the first that is not known
                middle = (low + high) // 2
                if p.listed[kind, middle] < count:
                    low = middle + 1
                else:
                    high = middle
            last = low - 1
            while last >= bottom and last >= low - _LOOKED_AT and k < quotas[kind]:
                other = p.listed[kind, last]
                last -= 1
                if other == job or end[other] > now:
                    continue
                # Rounded up, in integers: the same on every machine.
                long = -(-p.runtime[other] * p.walltime[job] // p.walltime[other])
                if long >= least:
                    found[j, k] = long
                    k += 1
        room, left = p.walltime[job] - elapsed[j], found.shape[1] - k
        for i in range(left):  # nothing like it ran so long: any time up to the walltime
            found[j, k] = max(least, elapsed[j] + room * (i + 1) // left)
            k += 1
        for i in range(1, k):
            value, h = found[j, i], i
            while h > 0 and found[j, h - 1] > value:
                found[j, h] = found[j, h - 1]
                h -= 1
            found[j, h] = value
