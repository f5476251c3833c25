"""How many nodes will be in service when, as far as it is known now."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from transom.models.arrays import BoolArray, IntArray
from transom.traces.outages import Outage


class Known(NamedTuple):
    """What is known at an instant.

    ``away`` ``(nodes,)``: which nodes have failed or are drained, nobody knows until when; ``taken`` ``(nodes,)``: the
    row of the window that states a number and has taken the node, or -1; ``rows``: announced windows with their rows,
    none of which is over; ``lacking``: by row, how many nodes a window that has begun has not found; ``leaving``: the
    drained nodes on which jobs run, by the expected ends of these [s], all to come.
    """

    away: BoolArray
    taken: IntArray
    rows: Sequence[tuple[int, Outage]]
    lacking: Mapping[int, int]
    leaving: Mapping[int, IntArray]


class Plan(NamedTuple):
    """When how many more (> 0) or fewer (< 0) nodes than before will be in service, and when windows begin.

    A change of 0 says that other nodes may be in service than before: a job that needs the lasting ones may fit then.
    """

    changes: tuple[tuple[int, int], ...]
    begins: tuple[int, ...]

    def after(self, now: int) -> list[tuple[int, int]]:
        """The changes of numbers that are still to come."""
        return [each for each in self.changes[bisect_right(self.changes, (now, 2**62)) :] if each[1]]

    def level(self, serving: int, time: int) -> int:
        """How many nodes will be in service at an instant, if so many are now."""
        return serving + sum(change for when, change in self.changes if when <= time)


def plan_of(known: Known, now: int) -> Plan:
    """What follows from what is known for the time after ``now``."""
    if not known.rows and not known.leaving:
        return Plan((), ())
    times = sorted(
        {time for _, row in known.rows for time in (row.begin, row.end) if time > now} | known.leaving.keys()
    )
    reasons = known.away.astype(int) + (known.taken >= 0)
    short = sum(known.lacking.values())
    for _, row in known.rows:
        if row.ranges and row.begin <= now:
            for low, high in row.ranges:
                reasons[low : high + 1] += 1
    serving = int((reasons == 0).sum())
    before, changes = max(0, serving - short), []
    for time in times:
        for k, row in known.rows:
            if time not in (row.begin, row.end):
                continue
            sign = 1 if time == row.begin else -1
            if not row.ranges:
                if row.begin > now:
                    short += sign * row.number
                else:  # it has begun, and ends
                    short -= known.lacking[k]
                    reasons[known.taken == k] -= 1
                continue
            for low, high in row.ranges:
                part = reasons[low : high + 1]
                part += sign
        if time in known.leaving:
            reasons[known.leaving[time]] += 1
        serving = int((reasons == 0).sum())
        level = max(0, serving - short)
        changes.append((time, level - before))
        before = level
    return Plan(tuple(changes), tuple(sorted({row.begin for _, row in known.rows if row.begin > now})))
