"""Past questions that calibrate answers, and their forecasts, which are kept between runs."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b

import numpy as np

from transom._system.cache_folder import users_cache
from transom._system.files import atomic_write
from transom._system.source_digest import source_digest
from transom._system.trusted import trusted
from transom.forecast.conformal import Scores, quantiles, scores
from transom.forecast.futures import forecast
from transom.forecast.past import Past
from transom.models.arrays import FloatArray, IntArray
from transom.registry import weights_of
from transom.traces.workload import Workload

WAITED = 600
"""Past questions are about jobs that waited longer [s]."""

_ASKED = 40  # past questions, at least, where so many jobs waited, and about twice as many at most


def asked_before(past: Past, now: int, shown: int) -> IntArray:
    """Places of the jobs about which past questions are asked, shape ``(asked,)``, in the order of their starts.

    Their places are multiples of the largest power of two that leaves enough of them: spread over the first ``shown``
    jobs, and those at other instants are mostly the same or every other one.
    """
    start, submit = past.known.start[:shown], past.known.submit[:shown]
    waited = np.flatnonzero((start < now) & (start - submit > WAITED))
    stride = 1 << max(shown - 1, 0).bit_length()
    while stride > 1 and np.count_nonzero(waited % stride == 0) < _ASKED:
        stride //= 2
    chosen: IntArray = waited[waited % stride == 0]
    return chosen[np.argsort(start[chosen], kind="stable")]


class Calibration:
    """Forecasts of past questions, each made from what lay before it, in a file of the user's cache.

    Parameters
    ----------
    past : the replay.
    key : what the forecasts depend on; without it nothing is kept.
    seed : of the futures.
    """

    def __init__(self, past: Past, key: str = "", seed: int = 0) -> None:
        self._past, self._seed = past, seed
        self._path = users_cache() / "when" / f"{key}.npy" if key else None
        self._made: dict[int, FloatArray] = {}
        if self._path is not None and not trusted(self._path, "its forecasts are made again, and not kept"):
            self._path = None
        if self._path is not None:
            with suppress(OSError, ValueError, EOFError, IndexError):  # none yet, or damaged: made again
                kept = np.load(self._path, allow_pickle=False)
                self._made = dict(zip(kept[:, 0].astype(np.int64).tolist(), kept[:, 1:].reshape(-1, 3), strict=True))

    def make(self, places: Iterable[int]) -> None:
        """Ask about these jobs, unless they have been asked about, and keep the forecasts."""
        known = self._past.known
        missing = sorted({*places} - self._made.keys())
        moments = self._past.instants((int(known.submit[p]), p + 1) for p in missing)
        for place, moment in zip(missing, moments, strict=True):
            target = np.flatnonzero(moment.active == place)
            self._made[place] = quantiles(forecast(known, moment, target, self._seed)[0])[:, 0]
        if missing and self._path is not None:
            table = np.array([(place, *self._made[place]) for place in sorted(self._made)])
            with suppress(OSError), atomic_write(self._path, "wb") as file:  # no cache: they are made again
                np.save(file, table)

    def scores(self, places: IntArray) -> Scores:
        """How far the intervals of these jobs, shape ``(jobs,)``, in the order of their starts, missed."""
        known = self._past.known
        before = np.array([self._made[p] for p in places.tolist()]).reshape(-1, 3)
        return scores(before, (known.start - known.submit)[places].astype(np.float64))


def calibration_key(workload: Workload, name: IntArray, policy: str, seed: int) -> str:
    """What forecasts depend on: the trace, names of jobs, shape ``(jobs,)``, policy and its files, seed, program."""
    state = blake2b(name.tobytes(), digest_size=16)
    state.update(repr((workload.digest(), policy, weights_of(spec=policy), seed, source_digest())).encode())
    return state.hexdigest()
