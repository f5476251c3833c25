"""Models of requested walltimes, for jobs whose request the trace lacks.

==================  ====================================================================================
``exact``           the runtime itself: perfect estimates, which no scheduler has
``factor:F``        F times the runtime
``overestimated``   a uniform share of the walltime is used; rounded up to usual limits
``tsafrir``         few round values, most jobs ask for one of twenty (:class:`Tsafrir`)
``trace:FILE``      as in another trace, given the runtime (:class:`Learnt`)
==================  ====================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, get_args

import numpy as np

from transom import registry
from transom._system.wording import real_number
from transom.errors import ModelError, SpecError
from transom.models import JobTable
from transom.models.arrays import IntArray
from transom.models.job import WALLTIME
from transom.rng import stream
from transom.traces.learnt_estimates import Learnt
from transom.traces.modal_estimates import Tsafrir
from transom.traces.origin import EXACT
from transom.traces.walltimes import overestimated
from transom.traces.workload import Workload

Whose = Literal["missing", "all"]
"""Whose walltimes a model gives: those of jobs that request none, or all."""

TAKEN = "walltime taken from the runtime"
"""What ``repairs`` says of jobs with exact estimates."""


class EstimateModel(Protocol):
    """What jobs ask for, given how long they run."""

    def walltimes(self, runtime: IntArray, rng: np.random.Generator, /) -> IntArray:
        """Walltimes [s], none below its runtime, shape ``(jobs,)``."""


@dataclass(frozen=True, slots=True)
class Exact:
    """Every job asks for its runtime."""

    def walltimes(self, runtime: IntArray, rng: np.random.Generator, /) -> IntArray:
        """The runtimes [s], shape ``(jobs,)``."""
        return runtime.copy()


@dataclass(frozen=True, slots=True)
class Factor:
    """Every job asks for so many times its runtime, rounded up to seconds.

    Parameters
    ----------
    factor : >= 1.
    """

    factor: float

    def __post_init__(self) -> None:
        if not 1 <= self.factor <= 1e6:
            raise SpecError(f"estimates: the factor must be from 1 to 1e6, got {self.factor:g}")

    def walltimes(self, runtime: IntArray, rng: np.random.Generator, /) -> IntArray:
        """Walltimes [s], shape ``(jobs,)``."""
        longer: IntArray = np.minimum(np.ceil(runtime * self.factor), 2.0**62).astype(np.int64)
        return np.maximum(longer, runtime)


@dataclass(frozen=True, slots=True)
class Overestimated:
    """Every job uses a uniform share of what it asks for (:func:`~transom.traces.walltimes.overestimated`)."""

    def walltimes(self, runtime: IntArray, rng: np.random.Generator, /) -> IntArray:
        """Walltimes [s], >= runtime, shape ``(jobs,)``."""
        return overestimated(runtime, rng)


_PLAIN: dict[str, Callable[..., EstimateModel]] = {
    EXACT: Exact,
    "overestimated": Overestimated,
    "tsafrir": Tsafrir,
}
_KNOWN = (*_PLAIN, "factor:F", "trace:FILE")


def parse_estimates(spec: str) -> EstimateModel:
    """The model that a specification names: ``exact``, ``factor:2``, ``tsafrir:longest=64800``, ``trace:OTHER.swf.gz``.

    Raises
    ------
    SpecError : the model or a parameter is unknown, or a value does not fit.
    """
    name, _, rest = spec.partition(":")
    if name == "factor":
        try:
            return Factor(real_number(rest))
        except ValueError as error:
            if isinstance(error, SpecError):
                raise
            raise SpecError(f"estimates: expected factor:F with a number F, got {spec!r}") from None
    if name == "trace":
        if not rest:
            raise SpecError("estimates: expected trace:FILE, got no file")
        return Learnt(rest)
    if name not in _PLAIN:
        raise registry.unknown("estimate model", name, _KNOWN)
    _, settings = registry.parse(spec)
    model: EstimateModel = registry.build(_PLAIN[name], name, settings)
    return model


def with_estimates(workload: Workload, spec: str, seed: int = 0, whose: Whose = "missing") -> Workload:
    """A workload with walltimes by a model.

    Parameters
    ----------
    workload : the jobs; its ``origin`` records which of them request no time.
    spec : the model (:func:`parse_estimates`).
    seed : of the walltimes, >= 0.
    whose : jobs whose walltime is modelled.

    Returns
    -------
    The same jobs; ``repairs`` and ``origin`` record the change. No modelled walltime is below its runtime.

    Raises
    ------
    SpecError : the model is unknown, or ``whose`` is.
    ModelError : the walltimes are too large to schedule.
    TraceError : the trace to learn from cannot be read.
    """
    model = parse_estimates(spec)
    if whose not in get_args(Whose):
        raise SpecError(f"estimates: expected them for {' or '.join(get_args(Whose))}, got {whose!r}")
    jobs, runtime = workload.jobs, workload.runtime
    chosen = np.ones(len(jobs), bool) if whose == "all" else workload.origin.modelled
    if chosen is None or not chosen.any():
        return workload
    label = label_of(spec, seed)
    data = jobs.data.copy()
    data[chosen, WALLTIME] = model.walltimes(runtime[chosen], stream(seed, "estimates"))
    repairs = {what: count for what, count in workload.repairs.items() if what != TAKEN}
    data.flags.writeable = False
    table = JobTable._trusted(data, jobs.depends_on)
    try:
        origin = replace(workload.origin, modelled=chosen, estimates=label)
        modelled = replace(workload, jobs=table, repairs=repairs, origin=origin)
        return modelled.with_repair(TAKEN if label == EXACT else f"walltime modelled: {label}", chosen)
    except ModelError as error:
        raise ModelError(f"estimates {spec!r}: {error}") from None


def label_of(spec: str, seed: int) -> str:
    """The name of a model in titles: a trace by its name, with the seed where one is used."""
    name, _, rest = spec.partition(":")
    if name in (EXACT, "factor"):
        return spec
    return f"{f'trace:{Path(rest).name}' if name == 'trace' else spec}, seed {seed}"
