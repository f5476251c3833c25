"""What a policy is: it sees a window and says which jobs to start and which to reserve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from transom.models import Window

Backfilling = Literal["none", "easy", "conservative"]
"""Ways of starting jobs ahead of one that does not fit."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """A promise: job id and the instant [s] at which it starts at the latest, by walltimes."""

    job: int
    start: int


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with a window.

    Parameters
    ----------
    start : ids of queued jobs to start now, in this order.
    backfill : ids of queued jobs to start now ahead of a job that holds a reservation, after ``start``.
    reserve : the reservations that hold from now on.
    notes : further columns for the row of this decision, with the same keys in every decision.
    nodes : on a cluster with a topology, ids of the nodes that started jobs get, by job id; jobs that are not
        stated get theirs from the replay's allocator, by default the lowest idle ids.
    """

    start: tuple[int, ...] = ()
    backfill: tuple[int, ...] = ()
    reserve: tuple[Reservation, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)
    nodes: Mapping[int, Sequence[int]] = field(default_factory=dict)


class Policy(Protocol):
    """Anything that decides over windows.

    A policy may have ``order``, the priority rule or the name of the one that orders the queue it sees
    (default ``fcfs``), and ``reset(rng)``, which is called before a replay begins. A policy with
    ``period`` [s], > 0, is not asked at every event but at the multiples of that time, on the trace's
    clock, at which jobs wait. ``see_costs(costs)``, of a policy or of what it asks, is called before a replay with what
    jobs cost by id, an empty mapping where they state nothing; ``see_clocks(trace, sequence)`` with when the clocks of
    rules begin [s]. A policy that goes by which jobs it has seen before has ``own_bound``, a text that says what
    it has in place of ``max_wait``.

    A policy may also have ``run(replay, report)``, which takes a whole
    :class:`~transom.simulation.core.replay.Replay` to its end at once and starts the jobs that ``decide`` would start,
    such as in one compiled loop. It calls ``report`` now and then with the number of started jobs and returns the
    columns of its decisions (:data:`~transom.simulation.core.schedule.COLUMNS`). None means that there is no such way;
    with a ``period`` it is not used. ``digest``, if there is one, is a text that differs where the policy decides
    differently for reasons that its specification does not say, such as weights in a file.
    """

    def decide(self, window: Window, /) -> Decision:
        """Choose among ``window.queue``; what does not fit is an error."""
