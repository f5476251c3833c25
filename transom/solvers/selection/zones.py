"""Where points of a front can still be: zones above local lower bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transom.models.arrays import BoolArray, IntArray


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
        bounds = np.repeat(self._bounds[hit], objectives, axis=0)
        tops = np.repeat(self._tops[hit], objectives, axis=0)
        most = np.repeat(self._most[hit], objectives)
        for k in range(objectives):
            bounds[k::objectives, k] = value[k]
            if objectives == 2:
                tops[k::objectives, 1 - k] = np.minimum(tops[k::objectives, 1 - k], value[1 - k])
        # A zone within another one, or within one that is empty, is no zone; of equal ones the first stays.
        twins = _within(bounds, bounds)
        twins &= ~(twins & twins.T) | np.tri(len(bounds), k=-1, dtype=bool)
        old = self._bounds[~hit]
        kept = (bounds[:, 0] < most) & ~np.any(twins, axis=1)
        kept &= ~np.any(_within(bounds, old), axis=1) & ~np.any(_within(bounds, self._closed), axis=1)
        left = ~np.any(_within(old, bounds[kept]), axis=1)
        self._bounds = np.concatenate((old[left], bounds[kept]))
        self._most = np.concatenate((self._most[~hit][left], most[kept]))
        self._tops = np.concatenate((self._tops[~hit][left], tops[kept]))

    def close(self, bound: IntArray, first: int) -> None:
        """Take away what is above ``bound``, and in the first objective above ``first``: it is empty."""
        corner = bound.copy()
        corner[0] = first
        self._closed = np.vstack((self._closed[~np.all(self._closed >= corner, axis=1)], corner))
        inside = np.all(self._bounds[:, 1:] >= bound[1:], axis=1)
        self._most[inside] = np.minimum(self._most[inside], first)
        kept = self._bounds[:, 0] < self._most
        self._bounds, self._most, self._tops = self._bounds[kept], self._most[kept], self._tops[kept]


def _within(inner: IntArray, outer: IntArray) -> BoolArray:
    """Which zone lies within which other one, shape ``(len(inner), len(outer))``."""
    within: BoolArray = np.all(inner[:, None, :] >= outer[None, :, :], axis=2)
    return within
