"""Local times that a change of clocks makes ambiguous: which reading agrees with the other times of the record."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from zoneinfo import ZoneInfo

import numpy as np

from transom.models.arrays import IntArray
from transom.traces.records.findings import Findings
from transom.traces.records.values import instant

_SLACK = 60  # seconds by which an elapsed time may differ from start to end
_REPEATED = "a time that a change of clocks repeats"
_SKIPPED = "a time that a change of clocks skips: is --timezone right?"


def both_readings(text: str, zone: ZoneInfo) -> tuple[int, int] | None:
    """Both instants of a time that clocks show twice (the earlier first) or never; None for every other text.

    Of a time that is skipped the first is the one by the clock before the change, the second by the one after it.

    Parameters
    ----------
    text : a time.
    zone : of times that state none.
    """
    first, second = instant(text, zone), instant(text, zone, fold=1)
    if first is None or second is None or first == second:
        return None
    return first, second


def settled(
    first: Sequence[IntArray], second: Sequence[IntArray], elapsed: IntArray, suspended: IntArray, findings: Findings
) -> list[IntArray]:
    """The times of records some of whose times have two readings.

    The elapsed time and the order of the times decide. Of readings that agree with these equally well the shortest
    wait counts, then the first reading; such records are counted.

    Parameters
    ----------
    first, second : submission, eligible time, start and end by each reading [s], -1 where unknown, each of shape
        ``(records,)``; they are equal where there is one reading.
    elapsed : from start to end without suspensions [s], -1 where unknown.
    suspended : how long a record was suspended [s].
    findings : takes how many were settled, and how many were not.

    Returns
    -------
    The four times, each of shape ``(records,)``.
    """
    one, other = np.array(first), np.array(second)
    choices = np.array(list(product((False, True), repeat=len(one))))
    times = np.where(choices[:, :, None], other, one)  # shape (choices, times, records)
    known = one > 0
    faults = np.zeros((len(choices), one.shape[1]), np.int64)
    for a, b in combinations(range(len(one)), 2):
        faults += (times[:, a] > times[:, b]) & known[a] & known[b]
    submit, _, start, end = times.transpose(1, 0, 2)
    between = end - start - suspended
    ran = known[2] & known[3] & (elapsed >= 0)
    faults += len(choices) * (ran & (np.abs(between - elapsed) > _SLACK))
    best = faults == faults.min(axis=0)
    wait = np.where(known[0] & known[2], np.abs(start - submit), 0)
    chosen = np.where(best, wait, np.iinfo(np.int64).max).argmin(axis=0)
    found = np.take_along_axis(times, chosen[None, None], axis=0)[0]
    sure = ((times == found) | ~best[:, None]).all(axis=(0, 1))
    skipped = (other < one).any(axis=0)
    findings.count(_SKIPPED, int(skipped.sum()))
    findings.count(f"{_REPEATED}: settled by the elapsed time and the other times", int((sure & ~skipped).sum()))
    what = f"{_REPEATED}: not settled, the shortest wait counts, then the first reading"
    findings.count(what, int((~sure & ~skipped).sum()))
    return list(found)
