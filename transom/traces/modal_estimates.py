r"""The modal model of Tsafrir, Etsion and Feitelson: users ask for few round values, most of them for one of twenty.

With :math:`n` jobs there are :math:`K(n)` values. The *head* are the 20 most popular ones, which 89 % of the jobs ask
for: the longest time that is allowed, values that all sites know (5 minutes to 18 hours), and round ones beside these.
By popularity rank :math:`x` from 2 on, a value of the head is asked for by

.. math:: 14.0491\,e^{-0.177531 x} + 0.462513

per cent of the jobs; the first takes what is left of the 89 %. The *tail* are the other values, the one of time rank
:math:`x` among :math:`K` at

.. math:: \frac{t}{t_{\max}} = \frac{(a - 1)\,x/K}{a - x/K}, \qquad a = 1 + 12.1039\,K^{-0.6026},

with sizes as :math:`795.6\,x^{-2.267}`. Values go to jobs at random, but none to a job that runs longer.

References
----------
Tsafrir, Etsion and Feitelson, Modeling user runtime estimates, JSSPP 2005, LNCS 3834; constants, the table of ranks and
how values are given to jobs as in the program that the authors publish with it in the Parallel Workloads Archive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transom._system.compiling import no_refcount
from transom.errors import SpecError
from transom.models.arrays import FloatArray, IntArray
from transom.registry import WholeSeconds
from transom.traces.walltimes import round_up

HEAD = 20
"""How many values hold most of the estimates."""

_MINUTE, _HOUR = 60, 3600
_HEAD_SHARE = 89.0  # of the jobs [%]
_KNOWN = tuple(m * _MINUTE for m in (5, 10, 15, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 720, 1080))
_ROUND = (200 * _HOUR, 100 * _HOUR, 50 * _HOUR, 10 * _HOUR, 5 * _HOUR, 2 * _HOUR, _HOUR, 1200, 600, 300)
_JOBS = (0, 20, 200, 1000, 10_000, 70_000, 250_000)
_VALUES = (0, 10, 20, 35, 90, 340, 565)
_OFFSETS = (0, 30, -30, 20, -20, 10, -10)

# Popularity rank by time rank in four logs (SDSC-SP2, CTC, KTH, SDSC-BLUE); time rank 0 is the longest allowed.
_RANKS = (
    (3, 1, 1, 1), (1, 3, 4, 6), (4, 4, 10, 5), (17, 2, 14, 3), (13, 12, 20, 7), (7, 9, 2, 2), (8, 8, 3, 18),
    (18, 18, 7, 19), (2, 6, 12, 4), (6, 7, 6, 11), (16, 11, 19, 20), (10, 20, 5, 9), (5, 16, 18, 10), (15, 5, 16, 14),
    (14, 14, 9, 13), (19, 13, 17, 16), (11, 10, 15, 15), (12, 15, 13, 17), (9, 17, 8, 8), (20, 19, 11, 12),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tsafrir:
    """Estimates by the modal model.

    Parameters
    ----------
    longest : the longest time that is allowed [s], at least an hour; by default what 99.9 % of the jobs need, rounded
        up to a usual limit. Jobs that run longer ask for their runtime, rounded up so.
    share : share of the jobs that ask for it, above 0 and up to 0.89; by default what the model leaves for it (22 %).

    Raises
    ------
    SpecError : a number is out of range.
    """

    longest: WholeSeconds | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        if self.longest is not None and not _HOUR <= self.longest < 2**40:
            raise SpecError(f"tsafrir: longest must be from 3600 s to below 2**40 s, got {self.longest}")
        if self.share is not None and not 0 < self.share <= _HEAD_SHARE / 100:
            raise SpecError(f"tsafrir: share must be above 0 and at most {_HEAD_SHARE / 100}, got {self.share:g}")

    def walltimes(self, runtime: IntArray, rng: np.random.Generator, /) -> IntArray:
        """Walltimes [s], >= runtime, shape ``(jobs,)``.

        Where too many jobs run long for the distribution, as many estimates are raised to the next value as are needed.
        """
        jobs = len(runtime)
        if not jobs:
            return runtime.copy()
        most = np.sort(runtime)[max(int(0.999 * jobs), 1) - 1 :][:1] if jobs >= 1000 else runtime.max(keepdims=True)
        longest = self.longest or max(int(round_up(most)[0]), _HOUR)
        value, weight = self._distribution(jobs, longest, rng)
        order = np.argsort(-runtime, kind="stable")
        least = runtime[order]
        at = np.searchsorted(value, least)
        cover = np.where(at < len(value), value[np.minimum(at, len(value) - 1)], round_up(least))
        estimate = np.maximum(np.repeat(value, _counts(weight, jobs))[::-1], cover)
        deal(estimate, least, rng.random(jobs))
        walltime = np.empty(jobs, np.int64)
        walltime[order] = estimate
        return walltime

    def _distribution(self, jobs: int, longest: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """The values [s], ascending, and their weights."""
        head = head_values(longest)
        weights = dict(zip(head, _head_sizes(len(head), self.share)[_popularity(len(head), rng)], strict=True))
        number = round(float(np.interp(jobs, _JOBS, _VALUES)))
        tail = tail_values(longest, number, set(head))
        sizes = 795.6 * np.arange(HEAD + 1, HEAD + 1 + len(tail)) ** -2.267
        sizes *= (100 - _HEAD_SHARE) / max(sizes.sum(), 1e-300)
        weights |= dict(zip(tail, rng.permutation(sizes), strict=True))
        value = np.array(sorted(weights), np.int64)
        return value, np.array([weights[each] for each in value.tolist()])


def head_values(longest: int) -> list[int]:
    """The popular values [s]: the longest, then the others, ascending; 20 of them, or less where there is no room."""
    values = [longest, *(each for each in _KNOWN if each < longest)]
    for step in _ROUND:
        for value in range(longest // step * step, 0, -step):
            if len(values) < HEAD and value not in values:
                values.append(value)
    return [longest, *sorted(values[1:])]


def tail_values(longest: int, number: int, taken: set[int]) -> list[int]:
    """The other values [s] of ``number`` in all, ascending and whole minutes, some seconds off where two would meet."""
    steepness = 1 + 12.1039 * max(number, 1) ** -0.6026
    count, found = max(number - len(taken), 0), set()
    for rank in range(1, count + 1):
        x = rank / count
        time = round((steepness - 1) * x / (steepness - x) * longest / _MINUTE) * _MINUTE
        for offset in _OFFSETS:
            value = time + offset
            if 0 < value < longest and value not in found and value not in taken:
                found.add(value)
                break
    return sorted(found)


def _head_sizes(number: int, share: float | None) -> FloatArray:
    """How many per cent of the jobs ask for each value of the head, the longest first, then by popularity."""
    others = 14.0491 * np.exp(-0.177531 * np.arange(2, number + 1)) + 0.462513
    if share is not None:
        others *= (_HEAD_SHARE - 100 * share) / max(others.sum(), 1e-300)
    first = _HEAD_SHARE - others.sum() if share is None else 100 * share
    return np.append(first, others)


def _popularity(number: int, rng: np.random.Generator) -> IntArray:
    """The popularity, from 0, of each value of the head by time rank: at random, much as in one of the four logs."""
    latest: dict[int, int] = {rank: row for row, ranks in enumerate(_RANKS) for rank in ranks}
    left, pool, found = set(range(2, number + 1)), [], [0]  # the longest is the most popular
    pool += [rank for rank in _RANKS[0] if rank in left]
    for row in range(1, number):
        pool = [rank for rank in (*pool, *_RANKS[row]) if rank in left]
        due = [rank for rank in sorted(left) if latest[rank] <= row]
        drawn = due[:1] or [min(pool[i] for i in rng.integers(len(pool), size=2))] if due or pool else [min(left)]
        left.remove(drawn[0])
        found.append(drawn[0] - 1)
    return np.array(found)


def _counts(weight: FloatArray, jobs: int) -> IntArray:
    """Whole numbers of jobs in proportion to weights, by largest remainders."""
    exact = weight / weight.sum() * jobs
    counts: IntArray = np.floor(exact).astype(np.int64)
    counts[np.argsort(counts - exact, kind="stable")[: jobs - counts.sum()]] += 1
    return counts


@no_refcount
def deal(estimate: IntArray, runtime: IntArray, draw: FloatArray) -> None:
    """Deal out estimates at random, in place: to each job, the longest first, one of those that are long enough.

    Parameters
    ----------
    estimate, runtime : both descending, no estimate below the runtime at its place, shape ``(jobs,)``.
    draw : uniform numbers from 0 to below 1, shape ``(jobs,)``.
    """
    last = 0
    for job in range(len(runtime)):
        last = max(last, job)
        while last + 1 < len(estimate) and estimate[last + 1] >= runtime[job]:
            last += 1
        chosen = job + int(draw[job] * (last + 1 - job))
        estimate[job], estimate[chosen] = estimate[chosen], estimate[job]
