"""Why a job waits by the walltime plan, and the smallest change of its request that gains an hour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom._system.durations import times
from transom._system.wording import counted
from transom.forecast.futures import Instant
from transom.forecast.known import Known
from transom.models.arrays import BoolArray, IntArray
from transom.traces.partitions import PREFIX

_NAMED = 10  # jobs that an answer names, at most
_GAIN = 3600  # of a change [s]
_SHORTEST = 60  # walltime that a change asks for [s]


class Plan:
    """What is free by the walltime plan, at each time.

    Parameters
    ----------
    known, at : what is known, and the instant.
    planned : when each active job starts [s], shape ``(active,)``.
    """

    def __init__(self, known: Known, at: Instant, planned: IntArray) -> None:
        table = known.jobs.take(at.active)
        self._known, self._now, self._planned, self._table = known, at.now, planned, table
        self._ends = np.where(known.end[at.active] == at.now, at.now, np.maximum(planned + table.walltime, at.now + 1))
        self._waits = planned >= at.now
        self._asked = np.column_stack((table.nodes, table.demand))
        self._nodes_too = np.array([True, *(name.startswith(PREFIX) for name in known.cluster.resources)])
        begins = np.maximum(planned, at.now)
        self._times = np.unique(np.concatenate(([at.now], begins, self._ends)))
        change = np.zeros((len(self._times), self._asked.shape[1]), np.int64)
        np.subtract.at(change, np.searchsorted(self._times, begins), self._asked)
        np.add.at(change, np.searchsorted(self._times, self._ends), self._asked)
        self._free = np.array([known.cluster.num_nodes, *known.cluster.capacities]) + np.cumsum(change, axis=0)
        self._left = self._free[0] + self._asked[planned == at.now].sum(axis=0)

    def because(self, job: int) -> dict[str, Any]:
        """The scarce resource, the jobs whose planned ends let a job start, and what would start it sooner."""
        begin, asked, now = int(self._planned[job]), self._asked[job], self._now
        if begin == now:
            return {"text": "it starts now"}
        # Of what it asks for, what is missing by the largest share; a partition rather than all nodes.
        missing = np.where(asked > 0, 1 - self._left / np.maximum(asked, 1), -np.inf)
        scarce = int(np.flatnonzero(missing == missing.max())[-1])
        what = ("nodes", *self._known.cluster.resources)[scarce]
        wanted, left = int(asked[scarce]), int(self._left[scarce])
        freed = (self._ends == begin) & (self._planned < begin)
        ids = self._table.id[freed][:_NAMED].tolist()
        ahead = int((self._waits & (self._planned < begin)).sum())
        more = int(freed.sum()) - len(ids)
        told = ending(ids) + (f" and {counted(more, 'other')}" if more else "") if ids else "jobs ahead of it"
        held = "" if wanted > left else " but held for jobs ahead of it"
        free = f"{left:,} {'is' if left == 1 else 'are'} free{held}"
        ends = "ends" if len(ids) == 1 and not more else "end"
        text = f"it asks for {_amount(wanted, what)}, {free}; by the plan it starts when {told} {ends}"
        sooner = self._sooner(job)
        if sooner is not None:
            was = {"nodes": int(asked[0]), "walltime": int(self._table.walltime[job])}
            if sooner["nodes"] != was["nodes"]:
                change = f"{counted(sooner['nodes'], 'node')} instead of {was['nodes']:,}"
            else:
                change = f"a walltime of {' instead of '.join(times(sooner['walltime'], was['walltime']))}"
            text += f"; with {change} it would start {times(begin - sooner['start'])[0]} sooner"
        return {"resource": what, "asked": wanted, "free": left, "jobs": ids, "ahead": ahead, "sooner": sooner,
                "text": text}  # fmt: skip

    def _sooner(self, job: int) -> dict[str, int] | None:
        """The request for the most node-seconds that fits beside the plan of all others an hour before."""
        begin, asked = int(self._planned[job]), self._asked[job]
        nodes, walltime, first = int(asked[0]), int(self._table.walltime[job]), self._now
        if self._known.backfilling == "none":  # nobody overtakes
            others = self._waits & (self._planned <= begin)
            others[job] = False
            first = int(self._planned[others].max(initial=first))
        low, high = np.searchsorted(self._times, (first, begin - _GAIN + 1))
        own = (self._times >= begin) & (self._times < begin + walltime)
        free = self._free + own[:, None] * asked
        most, with_nodes = _most_nodes(self._times, free, asked, self._nodes_too, walltime, (int(low), int(high)))
        long, with_time = _longest(self._times, free, asked, (int(low), int(high)))
        if most == nodes or long >= walltime:  # it fits, but the policy has others first
            return None
        if most > 0 and most * walltime >= nodes * long:
            return {"nodes": most, "walltime": walltime, "start": with_nodes}
        if _SHORTEST <= long < walltime:
            return {"nodes": nodes, "walltime": long, "start": with_time}
        return None


def ending(jobs: Sequence[object]) -> str:
    """Jobs as the sentence about their ends names them."""
    return f"job{'s' * (len(jobs) > 1)} {', '.join(map(str, jobs))}"


def _amount(count: int, resource: str) -> str:
    if resource.startswith(PREFIX):
        names = resource.removeprefix(PREFIX).split("+")
        return f"{counted(count, 'node')} of partition{'s' * (len(names) > 1)} {' and '.join(names)}"
    noun = {"nodes": "node", "gpu": "GPU", "gpus": "GPU"}.get(resource)
    return counted(count, noun) if noun else f"{count:,} of {resource}"


@compiled
def _most_nodes(
    times: IntArray, free: IntArray, asked: IntArray, nodes_too: BoolArray, walltime: int, steps: tuple[int, int]
) -> tuple[int, int]:
    """The most nodes that a job can have for its walltime from one of these steps on, and from when.

    ``nodes_too`` are the resources that count nodes, of the machine or of partitions.
    """
    most, begin = 0, -1
    for first in range(steps[0], steps[1]):
        least, k = asked[0], first
        while least > most and k < len(times) and times[k] < times[first] + walltime:
            for r in range(len(asked)):
                if nodes_too[r] and asked[r] > 0:
                    least = min(least, free[k, r])
                elif free[k, r] < asked[r]:
                    least = 0
            k += 1
        if least > most:
            most, begin = least, times[first]
    return most, begin


@no_refcount
def _suffices(free: IntArray, k: int, asked: IntArray) -> bool:
    enough = True
    for r in range(len(asked)):
        enough &= free[k, r] >= asked[r]
    return enough


@compiled
def _longest(times: IntArray, free: IntArray, asked: IntArray, steps: tuple[int, int]) -> tuple[int, int]:
    """How long a job can run, at most, from one of these steps on, and from when [s]."""
    longest, begin, first = 0, -1, steps[0]
    while first < steps[1]:
        k = first
        while k < len(times) and _suffices(free, k, asked):
            k += 1
        if k > first:
            long = times[k] - times[first] if k < len(times) else 1 << 62
            if long > longest:
                longest, begin = long, times[first]
        first = k + 1  # what begins later between the same bounds is shorter
    return longest, begin
