"""A trace in parts: what tuning may read, its slices and variants, and what it may not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from transom.errors import SpecError
from transom.models import JobTable
from transom.simulation.engine import simulate
from transom.traces.workload import Workload

WHOLE = "whole"
"""The tuning part as it is, as one of the parts that policies are compared on."""

GAUGE = "fcfs-easy"
"""The policy whose waits say how busy a machine is: it is fast, and what is tuned does not change it."""

SLICE = "slice"
"""How names of its slices begin."""

FEWEST = 50
"""Jobs of a slice, at least."""

_SLICES = 4
_LOADS = {"quieter": 1 / 3, "busier": 3.0}  # mean waits under the gauge, relative to those of the trace
_SLOWEST, _FASTEST, _HALVINGS = 0.3, 3.0, 8  # of the search for the pace of submissions


class Split(NamedTuple):
    """The first part of a trace, on which policies are chosen, and the rest, on which the choice is judged."""

    tuning: Workload
    test: Workload


def split(workload: Workload, share: float) -> Split:
    """Split a trace by submissions.

    Parameters
    ----------
    workload : the trace.
    share : of the jobs, the last ones, that are kept for the test, > 0 and < 1.

    Raises
    ------
    SpecError : the share is out of range, or a part would hold too few jobs.
    """
    if not 0 < share < 1:
        raise SpecError(f"--test must be above 0 and below 1, got {share:g}")
    n = len(workload)
    first = n - round(n * share)
    if min(first, n - first) < FEWEST:
        raise SpecError(f"{n:,} jobs are too few: with --test {share:g} a part would hold less than {FEWEST}")
    return Split(workload.take(slice(0, first)), workload.take(slice(first, n)))


def parts(tuning: Workload, variants: bool = True) -> dict[str, Workload]:
    """What policies are compared on, each replayed alone from an empty machine, cheap ones first.

    These are slices of the tuning part, the whole of it, and variants in which jobs are submitted more slowly and
    faster, so that they wait a third and three times as long under :data:`GAUGE`. The next months need not be as busy
    as the last ones, and what depends on how long jobs waited then does not carry over.

    Parameters
    ----------
    tuning : the jobs.
    variants : whether there are such variants.
    """
    count = max(1, min(_SLICES, len(tuning) // FEWEST))
    cuts = np.linspace(0, len(tuning), count + 1).astype(int)
    found = {f"{SLICE} {k}": tuning.take(slice(cuts[k - 1], cuts[k])) for k in range(1, count + 1)} | {WHOLE: tuning}
    if variants:
        mean = float(simulate(tuning, GAUGE).wait.mean())
        found |= {name: _at_pace(tuning, _pace(tuning, mean * times)) for name, times in _LOADS.items()}
    return found


def rungs(names: Sequence[str]) -> list[list[str]]:
    """The parts that are added from one comparison to the next: a slice, all slices, all parts.

    The slice is the last one, whose months are nearest to those to come.
    """
    slices = [name for name in names if name.startswith(SLICE)]
    return [each for each in (slices[-1:], slices[:-1], [name for name in names if name not in slices]) if each]


def _pace(workload: Workload, mean: float) -> float:
    """How fast jobs have to be submitted, relative to the trace, to wait so long in the mean [s]."""
    low, high = _SLOWEST, _FASTEST
    for _ in range(_HALVINGS):
        pace = math.sqrt(low * high)
        if simulate(_at_pace(workload, pace), GAUGE).wait.mean() > mean:
            high = pace
        else:
            low = pace
    return math.sqrt(low * high)


def _at_pace(workload: Workload, pace: float) -> Workload:
    data = workload.jobs.data.copy()
    begin = data[0, 1]
    data[:, 1] = begin + ((data[:, 1] - begin) / pace).astype(np.int64)
    return replace(workload, jobs=JobTable(data, workload.jobs.depends_on))
