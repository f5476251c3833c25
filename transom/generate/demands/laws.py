r"""Distributions of the demands for a further resource, by name; :data:`LAWS` lists them all.

A law with a ``mean`` of None leaves the size of its amounts open: they come with a mean of about 1, to be scaled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Protocol, Self

import numpy as np
from msgspec import Meta

from transom import registry
from transom._system.settings import Above, AtLeast, check_settings
from transom.errors import SpecError
from transom.models.arrays import FloatArray
from transom.traces import Workload
from transom.traces.swf_header import FIELDS, standard_name

Columns = Mapping[int | str, FloatArray]
"""Fields of a trace for the jobs of a workload, by what they were asked for: a number from 1, or a name."""

_PER_PROCESSOR = (7, 10)  # fields of a trace that are stated for each processor of a job: memory
_STANDARD = {standard_name(number): number for number in range(1, len(FIELDS) + 1)}


class Law(Protocol):
    """The demand of each job of a workload."""

    @property
    def mean(self) -> float | None:
        """The mean that is stated; None where the amounts are to be scaled."""

    def amounts(self, workload: Workload, columns: Columns, rng: np.random.Generator, /) -> FloatArray:
        """Amounts of the jobs, real numbers >= 0, shape ``(jobs,)``; ``columns`` are fields of the trace, by number."""

    def sized(self, mean: float, /) -> Law:
        """The law with a mean that it leaves open, and what goes with it: the same amounts, that many times."""


class _Marginal:
    """Amounts that are independent of everything else, each from a uniform number of its own."""

    __slots__ = ()

    def amounts(self, workload: Workload, columns: Columns, rng: np.random.Generator, /) -> FloatArray:
        """Amounts of the jobs, shape ``(jobs,)``; those of the first jobs do not depend on how many follow."""
        return self.quantile(rng.random(len(workload)))

    def quantile(self, share: FloatArray) -> FloatArray:
        """The amounts that shares of all amounts, from 0 to 1 exclusive, shape ``(n,)``, do not exceed."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class _Spread:
    """A law of a mean, open by default, and a deviation, by default a multiple of it."""

    name: ClassVar[str]
    ratio: ClassVar[float]
    """The deviation over the mean, by default."""

    mean: Above | None = None
    deviation: AtLeast | None = None

    def __post_init__(self) -> None:
        check_settings(self.name, self)
        if self.mean is None and self.deviation is not None:
            raise SpecError(f"{self.name}: deviation={self.deviation:g} needs a mean")

    def sized(self, mean: float, /) -> Self:
        """The law with a mean that it leaves open, and the deviation that goes with it."""
        return type(self)(mean, self.ratio * mean)

    def sizes(self) -> tuple[float, float]:
        """Mean and deviation; a mean of 1 where it is open."""
        mean = 1.0 if self.mean is None else self.mean
        return mean, self.ratio * mean if self.deviation is None else self.deviation


@dataclass(frozen=True, slots=True)
class Normal(_Spread, _Marginal):
    """Normal amounts, truncated at zero by drawing again.

    Parameters
    ----------
    mean : of the normal distribution before it is truncated, > 0; open by default.
    deviation : its standard deviation, >= 0; half of the mean by default, which lifts the mean of what is left by 3 %.

    Raises
    ------
    SpecError : a number is out of range, or there is a deviation without a mean.

    References
    ----------
    Fan, Lan, MultiSched, section 3, which states neither mean nor deviation.
    """

    name: ClassVar[str] = "normal"
    ratio: ClassVar[float] = 0.5

    def quantile(self, share: FloatArray) -> FloatArray:
        """The amount that each share of all amounts does not exceed; both of shape ``(jobs,)``."""
        from scipy.special import ndtr, ndtri  # late: it takes longer than most commands that never sample

        mean, deviation = self.sizes()
        if deviation == 0:
            return np.full(len(share), mean)
        # From the upper tail, where a share next to 1 stays a number; x = m - s * Phi^-1((1 - u) * Phi(m / s)).
        amounts: FloatArray = np.maximum(mean - deviation * ndtri((1 - share) * ndtr(mean / deviation)), 0)
        return amounts


@dataclass(frozen=True, slots=True)
class Lognormal(_Spread, _Marginal):
    """Lognormal amounts: many small ones and a few large ones.

    Parameters
    ----------
    mean : of the amounts, > 0; open by default.
    deviation : their standard deviation, >= 0; twice the mean by default.

    Raises
    ------
    SpecError : a number is out of range, or there is a deviation without a mean.
    """

    name: ClassVar[str] = "lognormal"
    ratio: ClassVar[float] = 2.0

    def quantile(self, share: FloatArray) -> FloatArray:
        """The amount that each share of all amounts does not exceed; both of shape ``(jobs,)``."""
        from scipy.special import ndtri

        mean, deviation = self.sizes()
        variance = math.log1p((deviation / mean) ** 2)  # of the logarithms
        amounts: FloatArray = mean * np.exp(math.sqrt(variance) * -ndtri(1 - share) - variance / 2)
        return amounts


@dataclass(frozen=True, slots=True)
class Pareto(_Marginal):
    r"""Pareto amounts, of which the largest may be as much as all others: :math:`P(X > x) = (x_m / x)^a`.

    Parameters
    ----------
    mean : of the amounts, > 0; open by default. The least one is :math:`x_m = mean\,(a - 1) / a`.
    shape : :math:`a`, > 1; up to 2 the variance is infinite. 1.5 by default.

    Raises
    ------
    SpecError : a number is out of range.
    """

    mean: Above | None = None
    shape: Annotated[float, Meta(gt=1)] = 1.5

    def __post_init__(self) -> None:
        check_settings("pareto", self)

    def sized(self, mean: float, /) -> Pareto:
        """The law with a mean that it leaves open."""
        return Pareto(mean, self.shape)

    def quantile(self, share: FloatArray) -> FloatArray:
        """The amount that each share of all amounts does not exceed; both of shape ``(jobs,)``."""
        least = (1.0 if self.mean is None else self.mean) * (self.shape - 1) / self.shape
        amounts: FloatArray = least * (1 - share) ** (-1 / self.shape)
        return amounts


@dataclass(frozen=True, slots=True)
class Correlated:
    r"""Amounts of one of the laws above that go with the nodes of the jobs, by a Gaussian copula.

    .. math:: x_j = F^{-1}\left(\Phi\left(\rho z_j + \sqrt{1 - \rho^2}\, e_j\right)\right), \quad e_j \sim N(0, 1)

    with :math:`z_j` the normal score of the job's place among all jobs by nodes; equal ones are ordered by lot.

    Parameters
    ----------
    correlation : :math:`\rho`, from -1 to 1, of the normal scores; 0.8 by default.
    law : :math:`F`, with its parameters: ``normal`` (default), ``lognormal`` or ``pareto``.

    Raises
    ------
    SpecError : the correlation is out of range, or the law is none of these.
    """

    correlation: Annotated[float, Meta(ge=-1, le=1)] = 0.8
    law: str = "normal"

    def __post_init__(self) -> None:
        check_settings("correlated", self)
        self._marginal()

    @property
    def mean(self) -> float | None:
        """The mean that is stated; None where the amounts are to be scaled."""
        stated: float | None = self._marginal().mean
        return stated

    def sized(self, mean: float, /) -> Correlated:
        """The law with a mean that its marginal leaves open."""
        return Correlated(self.correlation, specified(self._marginal().sized(mean)))

    def amounts(self, workload: Workload, columns: Columns, rng: np.random.Generator, /) -> FloatArray:
        """Amounts of the jobs, shape ``(jobs,)``."""
        from scipy.special import ndtr, ndtri

        number = len(workload)
        noise, lot = rng.standard_normal(number), rng.random(number)
        place = np.empty(number)
        place[np.lexsort((lot, workload.jobs.nodes))] = np.arange(number)
        score = self.correlation * ndtri((place + 0.5) / max(number, 1))
        score += math.sqrt(1 - self.correlation**2) * noise
        amounts: FloatArray = self._marginal().quantile(np.minimum(ndtr(score), 1 - 2.0**-53))
        return amounts

    def _marginal(self) -> Any:
        name, settings = registry.parse(self.law)
        marginals = {name: law for name, law in LAWS.items() if issubclass(law, _Marginal)}
        if name not in marginals:
            raise registry.unknown("law of correlated amounts", name, marginals)
        return registry.build(marginals[name], name, settings)


@dataclass(frozen=True, slots=True)
class PerNode(_Spread):
    """An amount per node, such as memory or power: a normal amount, truncated at zero, times the nodes of the job.

    Parameters
    ----------
    mean, deviation : of the amount for a node, as of :class:`Normal`; by default open, and a quarter of the mean.

    Raises
    ------
    SpecError : a number is out of range, or there is a deviation without a mean.
    """

    name: ClassVar[str] = "per-node"
    ratio: ClassVar[float] = 0.25

    def amounts(self, workload: Workload, columns: Columns, rng: np.random.Generator, /) -> FloatArray:
        """Amounts of the jobs, shape ``(jobs,)``."""
        each = Normal(*self.sizes()).amounts(workload, columns, rng)
        return each * workload.jobs.nodes


@dataclass(frozen=True, slots=True)
class Column:
    """A field of the trace, below 0 for jobs without a demand.

    Parameters
    ----------
    field : number of the field, from 1, its name in the format (``requested-memory``), the name that the header gives
        it, or ``column19`` ...; 10 by default, the requested memory [KB for each processor].
    unit : what amounts are divided by, > 0, such as 1048576 for GB out of KB; the result is rounded up.
    per : ``node`` where the field states the amount for each node of the job, ``job`` where for all of them; by default
        for each node for memory (fields 7 and 10), else for the job.

    Raises
    ------
    SpecError : there is no such field, or another parameter is out of range.
    """

    field: int | str = 10
    unit: float = 1.0
    per: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.field, str):
            object.__setattr__(self, "field", _STANDARD.get(self.field.lower(), self.field))
        elif self.field < 1:
            raise SpecError(f"column: field must be >= 1 or a name, got {self.field}")
        if not 0 < self.unit < math.inf:
            raise SpecError(f"column: unit must be > 0, got {self.unit:g}")
        if self.per not in ("", "node", "job"):
            raise SpecError(f"column: per must be node or job, got {self.per!r}")
        if not self.per:
            object.__setattr__(self, "per", "node" if self.field in _PER_PROCESSOR else "job")

    @property
    def mean(self) -> float | None:
        """Not a number: amounts are as they stand, and are not scaled."""
        return math.nan

    def sized(self, mean: float, /) -> Column:
        """The law itself."""
        return self

    def amounts(self, workload: Workload, columns: Columns, rng: np.random.Generator, /) -> FloatArray:
        """Amounts of the jobs, shape ``(jobs,)``.

        Raises
        ------
        SpecError : the column is not given, or states nothing for any job.
        """
        number = self.field if isinstance(self.field, int) else 0
        name = f"field {self.field} ({FIELDS[number - 1]})" if 0 < number <= len(FIELDS) else f"field {self.field!r}"
        if self.field not in columns:
            raise SpecError(f"column: {name} of the trace is needed and not given")
        column = columns[self.field]
        if len(column) != len(workload):
            raise SpecError(f"column: {name} is given for {len(column)} jobs, the workload has {len(workload)}")
        if not (column >= 0).any():
            raise SpecError(f"column: {name} is not stated for any of the {len(workload)} jobs")
        amounts = np.maximum(column, 0) * (workload.jobs.nodes if self.per == "node" else 1)
        return np.ceil(amounts / self.unit)


LAWS: dict[str, Any] = {
    "normal": Normal,
    "lognormal": Lognormal,
    "pareto": Pareto,
    "correlated": Correlated,
    "per-node": PerNode,
    "column": Column,
}
"""The laws by the names that specifications give them."""


def specified(law: Law) -> str:
    """A law with its parameters, as a specification writes it."""
    name = next((name for name, known in LAWS.items() if type(law) is known), None)
    if name is None:
        return type(law).__name__
    stated = {each.name: getattr(law, each.name) for each in fields(law)}  # type: ignore[arg-type]
    parameters = {key: value for key, value in stated.items() if value is not None}
    parts = [f"{key}=[{value}]" if ":" in str(value) else f"{key}={_plain(value)}" for key, value in parameters.items()]
    return f"{name}:{','.join(parts)}" if parts else name


def _plain(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
