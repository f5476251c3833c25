"""How long a job will run, by what the jobs that have ended did: nothing of the future is read.

A predictor is asked inside the compiled loop of a replay. What it says counts from 1 s to the walltime, which also
stands in where it says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from transom._system.compiling import no_refcount
from transom.errors import SpecError
from transom.models import JobTable
from transom.models.arrays import FloatArray, IntArray


class Predictor(Protocol):
    """Learns from every job that ends and predicts the runtimes of those that wait.

    ``learn`` and ``predict`` are plain functions that the compiler takes and that make no arrays. All that they know is
    in ``memory``, which ``learn`` changes, and ``facts``.
    """

    @property
    def learn(self) -> Callable[..., None]:
        """A function ``(memory, facts, job, runtime)`` that takes in the end of a job, a row of ``facts``.

        ``runtime`` is how long it ran, an integer [s].
        """

    @property
    def predict(self) -> Callable[..., float]:
        """A function ``(memory, facts, job)``: how long a job will run [s], not a number where nothing is known."""

    def facts(self, jobs: JobTable, names: Callable[[], IntArray], /) -> FloatArray:
        """What time does not change of each job, shape ``(jobs, k)`` with any ``k`` >= 1.

        The end of a job changes the predictions of those jobs only whose first fact is equal, such as the user.
        ``names`` reads the names of the jobs as numbers, -1 for none, shape ``(jobs,)``.
        """

    def memory(self, facts: FloatArray, /) -> FloatArray:
        """What is known before any job has ended, shape ``(m,)`` with any ``m``."""


LEARN_ARGUMENTS = "void(float64[::1], float64[:, ::1], int64, int64)"
PREDICT_ARGUMENTS = "float64(float64[::1], float64[:, ::1], int64)"
"""The types of what a :class:`Predictor` hands its functions, and of what it gets."""


def grouped(*columns: IntArray) -> IntArray:
    """The number of each job's group, from 0 on, of jobs that agree in all columns, shape ``(jobs,)``; -1 where the
    first column, such as the user, is unknown, that is below 0."""
    of = np.unique(columns[0], return_inverse=True)[1]
    for column in columns[1:]:
        values, place = np.unique(column, return_inverse=True)
        of = np.unique(of * len(values) + place, return_inverse=True)[1]
    return np.where(columns[0] >= 0, of, -1)


@no_refcount
def _learn_recent(memory: FloatArray, facts: FloatArray, job: int, runtime: int) -> None:
    user = int(facts[job, 0])
    if user >= 0:
        memory[2 * user] = memory[2 * user + 1]
        memory[2 * user + 1] = runtime


@no_refcount
def _predict_recent(memory: FloatArray, facts: FloatArray, job: int) -> float:
    user = int(facts[job, 0])
    if user < 0:
        return math.nan
    before, last = memory[2 * user], memory[2 * user + 1]
    return float(last) if math.isnan(before) else float(0.5 * (before + last))


@dataclass(frozen=True, slots=True)
class Recent:
    """The mean runtime of the last two jobs of the same user that have ended, or of one where there is one.

    References
    ----------
    Tsafrir, Etsion and Feitelson, Backfilling using system-generated predictions rather than user runtime estimates,
    IEEE TPDS 18(6), 2007, section 3.
    """

    learn: ClassVar[Callable[..., None]] = _learn_recent
    predict: ClassVar[Callable[..., float]] = _predict_recent

    def facts(self, jobs: JobTable, names: Callable[[], IntArray], /) -> FloatArray:
        """The user's number, from 0 on."""
        return grouped(jobs.user).astype(np.float64)[:, None]

    def memory(self, facts: FloatArray, /) -> FloatArray:
        """The last runtime but one and the last one of each user [s], not a number before."""
        return np.full(2 * (1 + int(facts.max(initial=-1))), np.nan)


@no_refcount
def _learn_shrunk(memory: FloatArray, facts: FloatArray, job: int, runtime: int) -> None:
    walltime = facts[job, facts.shape[1] - 1]
    used = math.log(max(runtime, 10.0) / walltime)
    for k in range(facts.shape[1] - 1):
        group = 2 + 2 * int(facts[job, k])
        if group >= 2:
            memory[group] = memory[0] * memory[group] + used
            memory[group + 1] = memory[0] * memory[group + 1] + 1.0


@no_refcount
def _predict_shrunk(memory: FloatArray, facts: FloatArray, job: int) -> float:
    used, last = 0.0, facts.shape[1] - 1
    for k in range(last):
        group = 2 + 2 * int(facts[job, k])
        if group >= 2:
            used = (memory[group] + memory[1] * used) / (memory[group + 1] + memory[1])
    return float(facts[job, last] * math.exp(used))


@dataclass(frozen=True, slots=True)
class Shrunk:
    r"""The geometric mean of the share of the walltime that jobs like this one have used, times its walltime.

    Jobs like it are those of the user, among these those with the same walltime, and among these those of the same
    name. The mean of a group, in which a job counts :math:`d^j` when :math:`j` others have ended since, is shrunk
    towards that of the wider one by ``prior`` jobs, and that of a user towards all of the walltime. Runtimes below
    10 s count as 10 s.

    Parameters
    ----------
    decay : :math:`d`, from 0 to 1.
    prior : > 0, in jobs.

    Raises
    ------
    SpecError : a parameter is out of range.
    """

    learn: ClassVar[Callable[..., None]] = _learn_shrunk
    predict: ClassVar[Callable[..., float]] = _predict_shrunk

    decay: float = 0.8
    prior: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.decay <= 1 or not 0 < self.prior < math.inf:
            raise SpecError(f"shrunk: expected decay from 0 to 1 and prior > 0, got {self.decay} and {self.prior}")

    def facts(self, jobs: JobTable, names: Callable[[], IntArray], /) -> FloatArray:
        """The number of each group that the job belongs to, -1 for none, and the walltime [s]."""
        name = names()
        alike = grouped(jobs.user, jobs.walltime)
        groups = [grouped(jobs.user), alike]
        if (name >= 0).any():
            groups.append(grouped(np.where(name >= 0, alike, -1), name))
        sizes = [1 + int(group.max(initial=-1)) for group in groups]
        first = np.cumsum([0, *sizes[:-1]])
        of = [np.where(group >= 0, group + begin, -1) for group, begin in zip(groups, first, strict=True)]
        return np.column_stack([*of, jobs.walltime]).astype(np.float64)

    def memory(self, facts: FloatArray, /) -> FloatArray:
        """Decay and prior; then of each group the sums of logarithms and of weights."""
        memory = np.zeros(4 + 2 * int(facts[:, :-1].max(initial=-1)))
        memory[:2] = self.decay, self.prior
        return memory
