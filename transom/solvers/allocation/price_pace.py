"""How long prices take until they have converged, to judge in time whether a budget is enough for it."""

from __future__ import annotations

import math

_PASSES_PER_SIZE = 2  # shortest paths that prices take to their end, at least about
_CONVERGED = 1e-5  # what prices may still gain, as a share of the cost, where they soon come to their end


class Pace:
    """How fast prices converge.

    Parameters
    ----------
    began : when they did [s].
    kinds : sizes of blocks.
    """

    def __init__(self, began: float, kinds: int) -> None:
        self._began, self._kinds = began, kinds
        self._first: tuple[float, float] | None = None

    def seconds_to_end(self, gain: float, passes: int, seconds: float, trusted: bool) -> float:
        """How long prices take to their end at least [s]; infinite where what they may gain does not fall.

        Parameters
        ----------
        gain : what the prices may still gain at most, as a share of the cost.
        passes : shortest paths so far.
        seconds : the time now, as ``began``.
        trusted : whether enough of the way is known to judge by how far the gain has fallen.
        """
        if gain <= _CONVERGED:
            return 0.0
        if self._first is None:
            self._first = gain, seconds
        each = (seconds - self._began) / max(1, passes)
        least = each * (_PASSES_PER_SIZE * self._kinds - passes)
        before, since = self._first
        if not trusted:
            return least
        if not gain < before < math.inf:
            return math.inf
        return max(least, (seconds - since) * math.log(gain / _CONVERGED) / math.log(before / gain))
