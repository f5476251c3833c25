"""Amounts with fewer bits, for solvers that do not hold all: rounded to one side, so that it is known what follows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom.models.arrays import IntArray
from transom.solvers.placement.reduced import Reduced


class Rounded(NamedTuple):
    """Demands and rooms in coarser units.

    Parameters
    ----------
    demands, free : shapes ``(T, R)`` and ``(M, R)``.
    exact : whether nothing was rounded.
    """

    demands: IntArray
    free: IntArray
    exact: bool


def rounded(problem: Reduced, bits: int, feasible: bool) -> Rounded:
    """Amounts of so many bits at most.

    Parameters
    ----------
    feasible : demands are rounded up and rooms down, so that what fits into these fits; else the other way round, so
        that everything that fits fits into these.
    """
    demands, free, exact = problem.demands.copy(), problem.free.copy(), True
    for r in range(free.shape[1]):
        unit = 2 ** max(0, int(free[:, r].max()).bit_length() - bits)
        common = max(1, int(np.gcd.reduce(np.append(demands[:, r], 0))))
        if unit <= common:  # in units that all demands have in common nothing is lost
            demands[:, r] //= common
            free[:, r] //= common
            continue
        exact = False
        up, down = (demands, free) if feasible else (free, demands)
        up[:, r] = -(-up[:, r] // unit)
        down[:, r] //= unit
    return Rounded(demands, free, exact)
