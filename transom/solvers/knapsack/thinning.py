"""Giving up half of a list of states where memory is short."""

from __future__ import annotations

import numpy as np

from transom.models.arrays import BoolArray, IntArray

_SAMPLE = 1000


def lower_half(scores: IntArray) -> BoolArray:
    """Which half, rounded down, has the lower scores; of equal ones at the limit every so many, from end to end.

    That keeps a spread of weights where all scores are alike.

    Parameters
    ----------
    scores : at least one.
    """
    half = len(scores) // 2
    limit = value_of_rank(scores, half)
    kept = scores < limit
    equal = np.flatnonzero(scores == limit)
    kept[equal[np.linspace(0, len(equal) - 1, half - int(kept.sum())).astype(np.int64)]] = True
    return kept


def keep(states: IntArray, kept: BoolArray) -> int:
    """Move the states that are kept to the front of each row, in their order, and return how many they are."""
    at = np.flatnonzero(kept)
    for row in states:
        row[: len(at)] = row[at]
    return len(at)


def value_of_rank(values: IntArray, rank: int) -> int:
    """``np.partition(values, rank)[rank]``, which takes forty times as long where nearly all values are equal."""
    while True:
        sample = np.sort(values[:: max(1, len(values) // _SAMPLE)])
        pivot = sample[rank * len(sample) // len(values)]
        below, equal = int(np.count_nonzero(values < pivot)), int(np.count_nonzero(values == pivot))
        if rank < below:
            values = values[values < pivot]
        elif rank < below + equal:
            return int(pivot)
        else:
            values, rank = values[values > pivot], rank - below - equal
