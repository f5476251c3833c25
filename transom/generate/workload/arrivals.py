r"""Arrivals with a daily and weekly rhythm, fitted to a workload.

Jobs arrive in a Poisson process whose rate :math:`\lambda(t)` is constant within each of the 168
hours of a week; what arrives is drawn from the workload's own jobs, each as a whole, so that size,
walltime, runtime and user stay together. Weeks run from second 0 of the trace's clock.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from transom.errors import ModelError, SpecError
from transom.generate.memory import JOB, check_memory
from transom.models import JobTable
from transom.models.arrays import FloatArray, Frozen
from transom.traces import Workload

HOURS = 168
"""Hours of a week: the cells of the arrival rate."""

_HOUR = 3600
_WEEK = HOURS * _HOUR
_LATEST = 2**61  # [s]


@dataclass(frozen=True, eq=False, slots=True)
class ArrivalModel(Frozen):
    """The arrivals of jobs: a rate for each hour of the week, and a workload to draw jobs from.

    Parameters
    ----------
    rates : arrivals per hour in each hour of the week, finite, >= 0, not all 0, shape ``(168,)``.
    workload : the jobs that are drawn, with equal probability.

    Raises
    ------
    ModelError : the rates are not such, or the workload holds no job.
    """

    rates: FloatArray
    workload: Workload

    def __post_init__(self) -> None:
        rates = np.array(self.rates, dtype=np.float64)
        if rates.shape != (HOURS,) or not np.isfinite(rates).all() or rates.min() < 0 or rates.max() <= 0:
            raise ModelError(f"arrivals: expected {HOURS} finite rates >= 0 that are not all 0")
        if not len(self.workload):
            raise ModelError(f"arrivals: workload {self.workload.name} holds no job to draw from")
        rates.flags.writeable = False
        object.__setattr__(self, "rates", rates)

    def sample(self, jobs: int, rng: np.random.Generator, rate: float = 1.0, start: int = 0) -> Workload:
        r"""A workload of ``jobs`` arrivals, with ids from 1 in their order and no dependencies.

        Arrivals of a Poisson process of rate 1 are mapped by :math:`\Lambda^{-1}`, the inverse of
        the cumulative rate, which is exact (time rescaling).

        Parameters
        ----------
        jobs : how many, > 0.
        rng : source of random numbers.
        rate : factor on the rates, > 0: 2 offers twice the load.
        start : when the process begins [s], on the clock whose second 0 is that of the workload.

        Raises
        ------
        SpecError : a number is out of range, or the last job would come later than 2**61 s.
        """
        if jobs <= 0 or not 0 < rate < np.inf or start < 0:
            raise SpecError(f"arrivals: expected jobs > 0, rate > 0, start >= 0, got {jobs}, {rate}, {start}")
        check_memory("jobs", jobs, JOB)
        submit = start + self._clock(np.cumsum(rng.exponential(1.0 / rate, jobs)), start)
        if submit[-1] > _LATEST:
            raise SpecError(f"arrivals: {jobs} jobs at rate {rate} take more than 2**61 s")
        drawn = rng.integers(0, len(self.workload), jobs)
        data = self.workload.jobs.data[drawn]
        data[:, 0], data[:, 1] = np.arange(1, jobs + 1), submit.astype(np.int64)
        runtime = self.workload.runtime[drawn]
        name = f"{self.workload.name}-resampled"
        return replace(
            self.workload,
            name=name,
            jobs=JobTable(data),
            runtime=runtime,
            repairs={},
            origin=self.workload.origin.take(drawn),
        )

    def _clock(self, expected: FloatArray, start: int) -> FloatArray:
        """Seconds after ``start`` by which so many arrivals are expected."""
        cumulative = np.append(0.0, np.cumsum(self.rates))
        hour, rest = divmod(start % _WEEK, _HOUR)
        before = cumulative[hour] + self.rates[hour] * rest / _HOUR
        weeks, expected = np.divmod(expected + before, cumulative[-1])
        cell = np.searchsorted(cumulative, expected, side="right") - 1  # never one of rate 0
        hours = cell + (expected - cumulative[cell]) / self.rates[cell]
        clock: FloatArray = weeks * _WEEK + hours * _HOUR - start % _WEEK
        return np.maximum(clock, 0.0)


def fit_arrivals(workload: Workload, prior: float = 10.0) -> ArrivalModel:
    r"""Fit the arrival rate of each hour of the week to a workload.

    With :math:`k_c` arrivals in cell :math:`c` over :math:`e_c` hours of trace, the rate is the
    mean of a gamma posterior,

    .. math:: \lambda_c = \frac{k_c + s}{e_c + s / h_c},

    where :math:`h_c` is the rate of that hour of the day over all days, itself smoothed in this
    way towards the mean rate, and :math:`s` the strength of the prior in arrivals: cells with many
    arrivals keep their own rate, thin ones take that of their hour. All rates are then scaled so
    that as many arrivals are expected over the span of the trace as it has.

    Parameters
    ----------
    workload : at least two jobs, submitted at two instants or more.
    prior : :math:`s`, > 0.

    Raises
    ------
    ModelError : all jobs are submitted at one instant.
    SpecError : the prior is not positive.
    """
    if not 0 < prior < np.inf:
        raise SpecError(f"arrivals: prior must be finite and > 0, got {prior}")
    submit = workload.jobs.submit
    if len(submit) < 2 or submit[0] == submit[-1]:
        raise ModelError(f"arrivals: workload {workload.name} has no two submission times to fit a rate to")
    count = np.bincount(submit // _HOUR % HOURS, minlength=HOURS).astype(np.float64)
    hours = _exposure(int(submit[0]), int(submit[-1]))
    mean = count.sum() / hours.sum()
    daily = _smoothed(count.reshape(7, 24).sum(axis=0), hours.reshape(7, 24).sum(axis=0), mean, prior)
    rates = _smoothed(count, hours, np.tile(daily, 7), prior)
    return ArrivalModel(rates * (count.sum() / (rates * hours).sum()), workload)


def _smoothed(count: FloatArray, hours: FloatArray, towards: FloatArray | float, prior: float) -> FloatArray:
    rate: FloatArray = (count + prior) / (hours + prior / towards)
    return rate


def _exposure(first: int, last: int) -> FloatArray:
    """How many hours of the span from first to last fall into each hour of the week, shape (168,)."""
    edges = np.arange(HOURS + 1) * _HOUR

    def until(time: int) -> FloatArray:
        weeks, rest = divmod(time, _WEEK)
        hours: FloatArray = weeks + np.clip(rest - edges[:-1], 0, _HOUR) / _HOUR
        return hours

    return until(last) - until(first)
