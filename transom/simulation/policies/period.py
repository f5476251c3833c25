"""Windows by period: decisions at the multiples of a period, by the number of periods that jobs have waited."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

import numpy as np

from transom.errors import SpecError
from transom.models import Window
from transom.models.arrays import IntArray
from transom.registry import WholeSeconds
from transom.simulation.core.decision import Decision

WindowRule = Literal["paper", "code"]
"""Which jobs of the order a window takes."""

CODE_LIMIT = 5
"""Jobs of more than one node in a window of the authors' code."""
_LONGEST = 10**9  # [s]


@dataclass(slots=True)
class PeriodPolicy:
    """Start jobs only at the multiples of a period, those that have waited for most periods first.

    At each multiple of ``period`` on the trace's clock at which jobs wait, they are ordered by their number
    of waiting periods (NWP) descending, nodes ascending, then submission and id. Jobs of the window that
    this order gives start; the NWP of the others grows by one.

    Parameters
    ----------
    period : length of a period [s], from 1 to 10**9.
    window : ``paper``: every job that still fits, in that order; ``code``: the jobs up to the first that does
        not fit, as in the authors' public code.
    limit : jobs of more than one node that a window takes at most, > 0; by default 5 under ``code`` and any
        number under ``paper``. The next one ends the window under ``code`` and is left out under ``paper``.

    Raises
    ------
    SpecError : a condition above does not hold.

    References
    ----------
    Lan et al. (2023), section III-C.
    """

    own_bound: ClassVar[str] = "those that have waited for most periods go first"

    period: WholeSeconds = 60
    window: WindowRule = "paper"
    limit: int | None = None

    _waited: dict[int, int] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.period <= _LONGEST:
            raise SpecError(f"nwp: period must be from 1 to {_LONGEST} s, got {self.period}")
        if self.window not in get_args(WindowRule):
            raise SpecError(f"nwp: window must be one of {', '.join(get_args(WindowRule))}, got {self.window!r}")
        if self.limit is not None and self.limit < 1:
            raise SpecError(f"nwp: limit must be > 0, got {self.limit}")

    @property
    def _most(self) -> int | None:
        return CODE_LIMIT if self.limit is None and self.window == "code" else self.limit

    def reset(self, rng: np.random.Generator) -> None:
        """Forget how long jobs have waited."""
        self._waited = {}

    def decide(self, window: Window, /) -> Decision:
        """Start the jobs of the window that stands first in the order."""
        ids = window.queue.id
        waited = np.array([self._waited.get(job, 0) for job in ids.tolist()], np.int64)
        order = np.lexsort((ids, window.queue.submit, window.queue.nodes, -waited))
        chosen = order[take_window(window.requests()[order], window.available, self.window, self._most)].tolist()
        started = set(chosen)
        # Only those who wait are kept: what is not in the queue any more has started.
        self._waited = {int(ids[at]): int(waited[at]) + 1 for at in range(len(ids)) if at not in started}
        return Decision(
            start=tuple(ids[chosen].tolist()), notes={"longest_nwp": int(waited.max()) if len(waited) else 0}
        )


def take_window(requests: IntArray, free: IntArray, window: WindowRule, limit: int | None) -> list[int]:
    """The jobs that a window takes of a queue in order of priority.

    Parameters
    ----------
    requests : what each job asks for, nodes first, shape ``(jobs, 1 + resources)``.
    free : what is free of each, shape ``(1 + resources,)``.
    window : ``paper``: every job that still fits; ``code``: those up to the first that does not.
    limit : jobs of more than one node that it takes at most; None is no limit.

    Returns
    -------
    Positions in the queue, ascending.

    References
    ----------
    Lan et al. (2023), section III-C.
    """
    left, several = free.copy(), 0
    taken: list[int] = []
    for at, wanted in enumerate(requests):
        many = int(wanted[0] > 1)
        if (wanted > left).any() or (many and limit is not None and several >= limit):
            if window == "code":
                break
            continue
        left -= wanted
        several += many
        taken.append(at)
        if not left[0]:
            break
    return taken
