"""Policies that start runnable jobs until none fits, without reservations (Fan et al. 2021, section IV-A)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from transom.models import Window
from transom.simulation.core.decision import Decision


@dataclass(frozen=True, slots=True)
class LargestFirst:
    """BinPacking of the DRAS paper: the largest runnable job first, until no waiting job fits.

    Jobs of one size start in queue order.
    """

    def decide(self, window: Window, /) -> Decision:
        """Start runnable jobs by falling size."""
        return _start_while_fit(window, np.argsort(-window.queue.nodes, kind="stable").tolist())


@dataclass(slots=True)
class RandomRunnable:
    """Random of the DRAS paper: any runnable job, each equally likely, until no waiting job fits.

    A random order in which every job that fits is started draws from the same distribution.
    """

    _rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0), init=False, repr=False)

    def reset(self, rng: np.random.Generator) -> None:
        """Draw from ``rng`` from now on."""
        self._rng = rng

    def decide(self, window: Window, /) -> Decision:
        """Start runnable jobs in a random order."""
        return _start_while_fit(window, self._rng.permutation(len(window.queue)).tolist())


def _start_while_fit(window: Window, order: Iterable[int]) -> Decision:
    requests = window.requests()
    free = window.available.copy()
    runnable: NDArray[np.bool_] = np.all(requests <= free, axis=1)
    started: list[int] = []
    for position in order:
        if runnable[position] and (requests[position] <= free).all():
            free -= requests[position]
            started.append(position)
            if free[0] == 0:
                break
    return Decision(start=tuple(window.queue.id[started].tolist()))
