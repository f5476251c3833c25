"""An archive of choices that never loses one that is not dominated."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import put
from transom.models.arrays import BoolArray, IntArray

_CAPACITY = 256  # rows of an archive's first arrays


class Archive:
    """The choices met so far that no other one met is at least as good as; of equal values the first.

    Parameters
    ----------
    objectives : int64, shape ``(k, p)``: what each job is worth.

    Attributes
    ----------
    additions : how many choices have come in so far.
    """

    def __init__(self, objectives: IntArray) -> None:
        jobs, count = objectives.shape
        self._objectives = objectives.astype(np.float64)  # exact: sums stay below 2**53
        self._values: IntArray = np.empty((_CAPACITY, count), np.int64)
        self._chosen: BoolArray = np.empty((_CAPACITY, jobs), np.bool_)
        self._size = 0
        self.additions = 0

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> IntArray:
        """What they are worth, int64, shape ``(size, p)``; a view, good until the next addition."""
        return self._values[: self._size]

    @property
    def chosen(self) -> BoolArray:
        """The choices, bool, shape ``(size, k)``; a view, good until the next addition."""
        return self._chosen[: self._size]

    def add(self, chosen: BoolArray) -> BoolArray:
        """Let choices of shape ``(n, k)`` in, one by one; which of them came in, shape ``(n,)``."""
        chosen = np.ascontiguousarray(chosen)  # columns picked from a front are not, and would compile a kernel again
        values: IntArray = (chosen @ self._objectives).astype(np.int64)
        need = self._size + len(chosen)
        if need > len(self._values):
            rows = max(need, 2 * len(self._values))
            self._values = np.resize(self._values, (rows, self._values.shape[1]))
            self._chosen = np.resize(self._chosen, (rows, self._chosen.shape[1]))
        entered = np.zeros(len(chosen), np.bool_)
        self._size = int(_merge(self._values, self._chosen, self._size, values, chosen, entered))
        self.additions += int(entered.sum())
        return entered


@compiled
def _merge(
    values: IntArray, chosen: BoolArray, size: int, new_values: IntArray, new_chosen: BoolArray, entered: BoolArray
) -> int:
    objectives = values.shape[1]
    for new in range(len(new_values)):
        beaten = False
        kept = 0
        # A point that is beaten beats none itself, so nothing has moved when it is turned away.
        for old in range(size):
            no_worse, no_better = True, True
            for k in range(objectives):
                if values[old, k] < new_values[new, k]:
                    no_worse = False
                    if not no_better:
                        break
                elif values[old, k] > new_values[new, k]:
                    no_better = False
                    if not no_worse:
                        break
            if no_worse:
                beaten = True
                break
            if no_better:
                continue
            if kept != old:
                put(values[kept], values[old])
                put(chosen[kept], chosen[old])
            kept += 1
        if beaten:
            continue
        put(values[kept], new_values[new])
        put(chosen[kept], new_chosen[new])
        size = kept + 1
        entered[new] = True
    return size
