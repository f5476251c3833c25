r"""The Lublin-Feitelson model of rigid jobs: sizes, runtimes that depend on them, a daily cycle.

Sizes are two-stage uniform in their logarithm with extra serial and power-of-two jobs; the
logarithm of a runtime is hyper-gamma, mixed in a proportion that falls with the size; the
logarithm of a gap between arrivals is gamma, and gaps are measured in a time that runs faster
at the busy hours.

References
----------
Lublin and Feitelson, The workload on parallel supercomputers: modeling the characteristics of
rigid jobs, Journal of Parallel and Distributed Computing 63(11), 1105-1122, 2003. The constants
are those that the authors publish for all jobs together (batch and interactive).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from transom._system.settings import Share, check_settings
from transom.errors import SpecError
from transom.generate.memory import JOB, check_memory
from transom.models import Cluster, JobTable
from transom.models.arrays import FloatArray, IntArray
from transom.models.job import UNKNOWN
from transom.traces import Workload
from transom.traces.estimates import parse_estimates

BUCKETS = 48
"""Half hours of a day: the resolution of the daily cycle."""

_BUCKET = 1800  # [s]
_DAY = BUCKETS * _BUCKET
_FIRST_BUCKET = 11  # the model's day runs from 5:30 to 5:30, where arrivals are fewest
_LATEST = 2**61  # [s]


@dataclass(frozen=True, slots=True)
class LublinModel:
    """Parameters of the model; the defaults are the published ones for all jobs together.

    Parameters
    ----------
    serial, power2 : share of jobs on one node, and of parallel jobs on a power of two, of all jobs.
    size_low : log2 of the smallest parallel size.
    size_bend : how far the bend of the two-stage uniform lies below log2 of the machine's size
        (1.5 to 3.5).
    size_first : share of the first stage, below the bend.
    runtime_short, runtime_long : shape and scale of the two gammas of ln(runtime / s).
    runtime_slope, runtime_offset : the share of short jobs is slope x nodes + offset, within [0, 1].
    runtime_limit : largest ln(runtime / s); larger ones are drawn again.
    gap : shape and scale of the gamma of ln(gap / s) at the rush hours.
    gap_all_day : factor on that shape for the whole day.
    gap_limit : largest ln(gap / s); larger ones are drawn again.
    day : shape and scale of the gamma over half hours that gives the daily cycle.

    Raises
    ------
    SpecError : a share does not lie in [0, 1], or a shape, scale or limit is not positive.
    """

    serial: Share = 0.244
    power2: Share = 0.576
    size_low: float = 0.8
    size_bend: float = 2.5
    size_first: Share = 0.86
    runtime_short: tuple[float, float] = (4.2, 0.94)
    runtime_long: tuple[float, float] = (312.0, 0.03)
    runtime_slope: float = -0.0054
    runtime_offset: float = 0.78
    runtime_limit: float = 12.0
    gap: tuple[float, float] = (10.2303, 0.4871)
    gap_all_day: float = 1.0225
    gap_limit: float = 13.0
    day: tuple[float, float] = (8.1737, 3.9631)

    def __post_init__(self) -> None:
        check_settings("lublin", self)
        if self.serial + self.power2 > 1:
            raise SpecError(f"lublin: serial + power2 must be <= 1, got {self.serial + self.power2}")
        positive = ("runtime_short", "runtime_long", "runtime_limit", "gap", "gap_all_day", "gap_limit", "day")
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in positive and not all(0 < x < np.inf for x in np.atleast_1d(value)):
                raise SpecError(f"lublin: {field.name} must be finite and > 0, got {value}")


def generate_lublin(
    jobs: int,
    nodes: int,
    rng: np.random.Generator,
    load: float | None = None,
    walltimes: str = "overestimated",
    model: LublinModel = LublinModel(),
    name: str = "lublin",
) -> Workload:
    r"""A workload of the Lublin-Feitelson model, from midnight of its first day on.

    Parameters
    ----------
    jobs : how many, > 0.
    nodes : size of the machine, > 0. The constants come from machines of about 100 to 1,000
        nodes; on a far larger one most large jobs are long, and the load is best stated.
    rng : source of all random numbers.
    load : offered load :math:`\sum_j n_j r_j / (N s_{\max})` (section 6 of the paper) that the
        gaps are scaled to, the daily cycle kept; None leaves them as the model has them. The
        result is exact but for the rounding of times to seconds.
    walltimes : a model of estimates (:mod:`~transom.traces.estimates`), such as ``overestimated`` or
        ``exact``, equal to the runtimes. The model of Lublin and Feitelson itself has none.
    model : the parameters.
    name : what to call the workload.

    Raises
    ------
    SpecError : a number is out of range, or the last job would come later than 2**61 s.
    """
    if jobs <= 0 or nodes <= 0:
        raise SpecError(f"lublin: jobs and nodes must be > 0, got {jobs} and {nodes}")
    if load is not None and not 0 < load < np.inf:
        raise SpecError(f"lublin: load must be finite and > 0, got {load}")
    check_memory("jobs", jobs, JOB)
    estimates = parse_estimates(walltimes)
    size = sample_sizes(jobs, nodes, rng, model)
    runtime = sample_runtimes(size, rng, model)
    walltime = estimates.walltimes(runtime, rng)
    gaps = np.exp(_gamma_below(model.gap[0] * model.gap_all_day, model.gap[1], model.gap_limit, jobs, rng))
    busy, cycle = np.cumsum(gaps), _DailyCycle(model)
    if load is not None:
        span = float((size * runtime.astype(np.float64)).sum()) / (nodes * load)
        busy *= cycle.busy_time(span) / busy[-1]
    if busy[-1] > _LATEST:
        raise SpecError(f"lublin: {jobs} jobs at load {load} take more than 2**61 s")
    submit = np.floor(cycle.clock_time(busy)).astype(np.int64)
    unknown = np.full(jobs, UNKNOWN)
    data = np.column_stack((np.arange(1, jobs + 1), submit, size, walltime, unknown, unknown))
    return Workload(name, Cluster(nodes), JobTable(data), runtime)


def sample_sizes(jobs: int, nodes: int, rng: np.random.Generator, model: LublinModel) -> IntArray:
    """Sizes of jobs on a machine of ``nodes`` nodes, shape ``(jobs,)``, from 1 to ``nodes``."""
    high = np.log2(nodes)
    low = min(model.size_low, high)
    bend = max(low, high - model.size_bend)
    first = rng.random(jobs) < model.size_first
    log = rng.uniform(np.where(first, low, bend), np.where(first, bend, high))
    kind = rng.random(jobs)
    # Half up as in the paper; on a machine whose size is no power of two, none above it.
    rounded = np.minimum(np.floor(log + 0.5), np.floor(high))
    log = np.where(kind < model.serial + model.power2, rounded, log)
    size = np.floor(np.exp2(log) + 0.5).astype(np.int64)
    sizes: IntArray = np.where(kind < model.serial, 1, np.clip(size, 1, nodes))
    return sizes


def sample_runtimes(size: IntArray, rng: np.random.Generator, model: LublinModel) -> IntArray:
    """Runtimes [s] of jobs of given sizes, shape ``(jobs,)``, from 1 to exp(``runtime_limit``)."""
    share = np.clip(model.runtime_slope * size + model.runtime_offset, 0.0, 1.0)
    log = np.full(len(size), np.inf)
    again = np.arange(len(size))
    while again.size:  # the mixture is drawn again as a whole, not only the gamma
        short = rng.random(again.size) <= share[again]
        shape, scale = (np.where(short, a, b) for a, b in zip(model.runtime_short, model.runtime_long, strict=True))
        log[again] = rng.gamma(shape, scale)
        again = again[log[again] > model.runtime_limit]
    runtime: IntArray = np.exp(log).astype(np.int64)
    return runtime


def daily_cycle(model: LublinModel) -> FloatArray:
    """Arrival rate of each half hour from midnight on, relative to the mean, shape ``(48,)``."""
    from scipy.special import gammainc

    bucket = np.arange(_FIRST_BUCKET, _FIRST_BUCKET + BUCKETS)
    edges = np.append(bucket - 0.5, bucket[-1] + 0.5)
    rate = np.empty(BUCKETS)
    rate[(bucket - 1) % BUCKETS] = np.diff(gammainc(model.day[0], edges / model.day[1]))
    rate /= rate.mean()
    return rate


class _DailyCycle:
    """Clock time [s] against busy time, in which arrivals have no daily cycle; both from midnight."""

    def __init__(self, model: LublinModel) -> None:
        self.clock = np.arange(BUCKETS + 1) * float(_BUCKET)
        self.busy = np.append(0.0, np.cumsum(daily_cycle(model))) * _BUCKET  # a day is as long in both

    def clock_time(self, busy: FloatArray) -> FloatArray:
        day, rest = np.divmod(busy, _DAY)
        clock: FloatArray = day * _DAY + np.interp(rest, self.busy, self.clock)
        return clock

    def busy_time(self, clock: float) -> float:
        day, rest = divmod(clock, _DAY)
        return float(day * _DAY + np.interp(rest, self.clock, self.busy))


def _gamma_below(shape: float, scale: float, limit: float, number: int, rng: np.random.Generator) -> FloatArray:
    drawn = rng.gamma(shape, scale, number)
    while (above := np.flatnonzero(drawn > limit)).size:
        drawn[above] = rng.gamma(shape, scale, above.size)
    return drawn
