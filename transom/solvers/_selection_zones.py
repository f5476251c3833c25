"""Where points of a front can still be: zones above local lower bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transom.models._arrays import BoolArray, IntArray


@dataclass(frozen=True, eq=False, slots=True)
class Zone:
    """All values :math:`f > u`, in every objective.

    Parameters
    ----------
    bound : :math:`u`, shape ``(objectives,)``.
    most : no value in it has a larger first objective.
    """

    bound: IntArray
    most: int


class Zones:
    """The zones that cover every value no known point is at least as good as.

    Parameters
    ----------
    ceiling : an upper bound of each objective, shape ``(objectives,)``.

    References
    ----------
    Klamroth, Lacour, Vanderpooten, European Journal of Operational Research 245 (2015), algorithm 3.
    """

    def __init__(self, ceiling: IntArray) -> None:
        objectives = len(ceiling)
        self._bounds = np.full((1, objectives), -1, np.int64)
        self._most = ceiling[:1].copy()
        self._tops = ceiling[None, :].copy()  # about the largest values in each zone, for the order only
        self._closed = np.empty((0, objectives), np.int64)

    def __len__(self) -> int:
        return len(self._bounds)

    def largest(self) -> Zone | None:
        """The zone in which the most can be gained, None if there is none left."""
        if not len(self._bounds):
            return None
        sides = (self._tops - self._bounds).astype(np.float64)
        at = int(np.prod(np.maximum(sides, 0.5), axis=1).argmax())
        return Zone(self._bounds[at].copy(), int(self._most[at]))

    def add(self, value: IntArray) -> None:
        """Take away what a known value is at least as good as."""
        hit: BoolArray = np.all(self._bounds < value, axis=1)
        if not hit.any():
            return
        objectives = len(value)
        bounds, most, tops = [self._bounds[~hit]], [self._most[~hit]], [self._tops[~hit]]
        for k in range(objectives):
            child, top = self._bounds[hit].copy(), self._tops[hit].copy()
            child[:, k] = value[k]
            if objectives == 2:
                top[:, 1 - k] = np.minimum(top[:, 1 - k], value[1 - k])
            bounds.append(child)
            most.append(self._most[hit])
            tops.append(top)
        self._keep(np.concatenate(bounds), np.concatenate(most), np.concatenate(tops))

    def close(self, bound: IntArray, first: int) -> None:
        """Take away what is above ``bound``, and in the first objective above ``first``: it is empty."""
        corner = bound.copy()
        corner[0] = first
        self._closed = np.vstack((self._closed[~(self._closed >= corner).all(axis=1)], corner))
        inside = np.all(self._bounds[:, 1:] >= bound[1:], axis=1)
        self._most[inside] = np.minimum(self._most[inside], first)
        self._keep(self._bounds, self._most, self._tops)

    def _keep(self, bounds: IntArray, most: IntArray, tops: IntArray) -> None:
        kept: BoolArray = bounds[:, 0] < most
        bounds, most, tops = bounds[kept], most[kept], tops[kept]
        for corner in self._closed if len(bounds) else ():
            kept = ~np.all(bounds >= corner, axis=1)
            bounds, most, tops = bounds[kept], most[kept], tops[kept]
        # A zone within another one is no zone; of equal ones the first stays.
        within: BoolArray = np.all(bounds[:, None, :] >= bounds[None, :, :], axis=2)
        equal = within & within.T
        within &= ~equal | np.tri(len(bounds), k=-1, dtype=bool)
        kept = ~np.any(within, axis=1)
        self._bounds, self._most, self._tops = bounds[kept], most[kept], tops[kept]
