"""The hosts of somebody else's machine: which are idle, which are there, and which a job gets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from transom.errors import PeerError, shown
from transom.models.arrays import BoolArray, IntArray

MOST = 1_000_000
"""Hosts of a machine, at most."""


class Hosts:
    """All start idle.

    Parameters
    ----------
    up : whether each host can be used, by its id.
    """

    def __init__(self, up: Mapping[int, bool]) -> None:
        self.ids: IntArray = np.array(sorted(up), np.int64)
        self._up: BoolArray = np.array([up[host] for host in self.ids.tolist()], bool)
        self._idle: BoolArray = np.ones(len(up), bool)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def free(self) -> int:
        """How many are idle and can be used."""
        return int((self._idle & self._up).sum())

    def take(self, count: int) -> IntArray:
        """The places of the ``count`` lowest ids that are idle; they are busy from now on."""
        places = np.flatnonzero(self._idle & self._up)[:count]
        self._idle[places] = False
        return places

    def give(self, places: IntArray) -> None:
        """These are idle again."""
        self._idle[places] = True

    def back(self, places: IntArray) -> int:
        """How many of these will be free when their job ends."""
        return int(self._up[places].sum())

    def switch(self, ids: Iterable[int], up: bool) -> None:
        """Hosts go away or come back; what runs on them runs on. Ids that are no hosts do not matter."""
        self._up[np.isin(self.ids, list(ids))] = up


def intervals(ids: Iterable[int]) -> str:
    """Ascending ids as Batsim writes them: ``0-3 7``."""
    runs: list[list[int]] = []
    for number in ids:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def ids_of(text: str) -> set[int]:
    """The ids in what :func:`intervals` writes, in any order.

    Raises
    ------
    PeerError : this is no such text, or names more hosts than a machine has.
    """
    found: set[int] = set()
    for part in text.split():
        first, dash, last = part.partition("-")
        low, high = (
            int(each) if each.isdecimal() and len(each) < 10 else -1 for each in (first, last if dash else first)
        )
        if not 0 <= low <= high or high - low + len(found) > MOST:
            raise PeerError(f"hosts {shown(text)} are no set of intervals")
        found.update(range(low, high + 1))
    return found
