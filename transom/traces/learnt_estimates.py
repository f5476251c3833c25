"""Walltimes sampled from another trace: the request of a job that ran about as long."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from transom.errors import SpecError
from transom.models.arrays import IntArray
from transom.traces.swf_lines import read_lines
from transom.traces.walltimes import round_up

_RUN, _REQUESTED, _STATUS = 4, 9, 11
_PARTIAL = (2, 4)  # first and last status of a line about a part of a job
_LEAST = 100  # jobs of a class
_TRIES = 20


@dataclass(frozen=True, slots=True)
class Learnt:
    """Estimates drawn from the joint distribution of runtimes and requests of another trace.

    A job gets the request of one of the jobs there whose runtimes are nearest to its own by rank: as many as the square
    root of their number, at least 100. Requests are taken as they are, so that round values stay as popular as they are
    there, and so does the share of jobs that end at their limit. Requests below the runtime are drawn again, at last
    from the jobs that ran longer. A job longer than all requests asks for its runtime, rounded up to a usual limit.

    Parameters
    ----------
    path : the trace; jobs with a runtime and a requested time count, a runtime at most as the request.
    """

    path: str

    def walltimes(self, runtime: IntArray, rng: np.random.Generator, /) -> IntArray:
        """Walltimes [s], >= runtime, shape ``(jobs,)``.

        Raises
        ------
        TraceError : the trace cannot be read.
        SpecError : it states no request.
        """
        ran, requested = _pairs(self.path, os.stat(self.path).st_mtime_ns if os.path.exists(self.path) else 0)
        low, high = np.searchsorted(ran, runtime), np.searchsorted(ran, runtime, side="right")
        among = min(len(ran), max(_LEAST, int(len(ran) ** 0.5)))
        walltime = np.zeros(len(runtime), np.int64)
        left = np.arange(len(runtime))
        for _ in range(_TRIES):
            # Many jobs may have run just as long, such as those that ended at a limit: begin at any of them.
            centre = rng.integers(low[left], high[left] + 1)
            first = np.clip(centre - among // 2, 0, len(ran) - among)
            drawn = requested[first + rng.integers(among, size=len(left))]
            walltime[left] = drawn
            left = left[drawn < runtime[left]]
        for_long = left[low[left] < len(ran)]
        if for_long.size:
            first = low[for_long]
            walltime[for_long] = requested[rng.integers(first, np.minimum(first + among, len(ran)))]
        beyond = left[low[left] == len(ran)]
        if beyond.size:
            limits = np.sort(requested)
            first = np.searchsorted(limits, runtime[beyond])
            drawn = limits[np.minimum(rng.integers(first, len(limits), endpoint=True), len(limits) - 1)]
            walltime[beyond] = np.where(first < len(limits), drawn, round_up(runtime[beyond]))
        return walltime


@lru_cache(maxsize=2)
def _pairs(path: str, changed: int) -> tuple[IntArray, IntArray]:
    """Runtimes, ascending, and requests of the jobs of a trace that state both."""
    runtime, requested, status = read_lines(path, (_RUN, _REQUESTED, _STATUS)).whole
    whole = (status < _PARTIAL[0]) | (status > _PARTIAL[1])
    known = whole & (runtime > 0) & (requested > 0)
    if not known.any():
        raise SpecError(f"estimates: {path}: no job states a requested time, so there is nothing to learn from")
    runtime, requested = np.minimum(runtime, requested)[known], requested[known]
    order = np.lexsort((requested, runtime))
    return runtime[order], requested[order]
