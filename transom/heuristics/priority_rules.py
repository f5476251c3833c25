r"""The site's order of the queue: priority rules, lowest score first, ties by submission, then id.

Symbols: :math:`s` submission time since the rule's clock began, plus 1 [s], :math:`r` walltime [s], :math:`n` nodes,
:math:`w` waiting time [s]. Walltimes are positive and :math:`s \ge 1` by construction, so no logarithm and no division
meets a zero.

F1 to F4 weigh the logarithm of :math:`s`, so that what they score depends on when the clock began: ``clock`` says.

References
----------
Zhang et al., RLScheduler, SC'20, Table II, and the MARS paper's Table II for WFP3, UNICEP and F1;
Carastan-Santos and de Camargo, SC'17, for F1 to F4; Tang et al., CLUSTER'09, for WFP3 and UNICEP.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import no_refcount
from transom.errors import SpecError
from transom.heuristics.cubes import cube, cube_each
from transom.models import JobTable
from transom.models.arrays import FloatArray, IntArray, whole

Scores = NDArray[np.float64]

_LONGEST = 10**9  # bound on a wait [s]

Clock = Literal["trace", "sequence"]
"""When the clock of a rule began: at the first submission of the trace, or at that of the jobs that are replayed."""


class PriorityRule(Protocol):
    """A rule scores jobs; the queue is ordered by score, then by submission, then by id.

    ``timeless`` says that scores do not depend on ``now``, which lets a replay rank all jobs once. A rule that also has
    ``formula``, the same as a text, can go by predicted runtimes (``predict=``).
    """

    @property
    def timeless(self) -> bool:
        """Whether scores do not change while jobs wait."""

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        """Score per job, shape ``(jobs,)``; ``origin`` is when the rule's clock began [s]."""


class KernelRule(PriorityRule, Protocol):
    """A rule whose order changes with time and that a replay asks inside its compiled loop, much faster.

    The kernel gives the same scores as a call of the rule, bit by bit, and none that is not a number.
    """

    @property
    def kernel(self) -> Callable[..., None]:
        """A function ``(facts, queue, count, now, scores)`` that the compiler takes and that makes no arrays.

        It sets ``scores[i]`` for the job ``queue[i]``, which is a row of ``facts``, for every ``i < count``; ``now`` is
        an integer [s].
        """

    def facts(self, jobs: JobTable, origin: int, /) -> Scores:
        """What the kernel reads of each job and time does not change, shape ``(jobs, k)`` with any ``k``."""


KERNEL_ARGUMENTS = "void(float64[:, ::1], int64[::1], int64, int64, float64[::1])"
"""The types of what a :class:`KernelRule` hands its kernel."""


@dataclass(frozen=True, slots=True)
class MaxWait:
    """The order of a rule, but jobs that have waited for too long come first, among them first come, first served.

    Replays order by the rule alone and move those jobs to the head of the queue as their time comes, which costs next
    to nothing (:func:`~transom.simulation.core.events.overtake`).

    Parameters
    ----------
    rule : scores all other jobs.
    seconds : a job that has waited longer, from its submission on, comes first [s], 1 to 10**9.

    Raises
    ------
    SpecError : the bound is out of range.
    """

    timeless: ClassVar[bool] = False

    rule: PriorityRule
    seconds: int

    def __post_init__(self) -> None:
        check_max_wait(self.seconds)

    @property
    def clock(self) -> Clock | None:
        """When the clock of the rule began, if it has one."""
        return getattr(self.rule, "clock", None)

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        scores = self.rule(jobs, now, origin)
        if np.shape(scores) != (len(jobs),):
            return scores  # an error that is reported where jobs are ordered
        least = np.maximum(scores, np.finfo(np.float64).min)  # of a rule's own infinity
        return np.where(now - jobs.submit > self.seconds, -np.inf, least)


def check_max_wait(seconds: int) -> None:
    """Check a bound on waiting.

    Raises
    ------
    SpecError : it is out of range.
    """
    if not 0 < whole(seconds, "max_wait") <= _LONGEST:
        raise SpecError(f"max_wait must be from 1 to {_LONGEST} s, got {seconds}")


@dataclass(frozen=True, slots=True)
class Fcfs:
    """First come, first served: :math:`s`."""

    timeless: ClassVar[bool] = True
    formula: ClassVar[str] = "submit"

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        return jobs.submit.astype(np.float64)


@dataclass(frozen=True, slots=True)
class Sjf:
    """Shortest job first: :math:`r`."""

    timeless: ClassVar[bool] = True
    formula: ClassVar[str] = "walltime"

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        return jobs.walltime.astype(np.float64)


@dataclass(frozen=True, slots=True)
class Ljf:
    """Longest job first: :math:`-r`."""

    timeless: ClassVar[bool] = True
    formula: ClassVar[str] = "-walltime"

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        return (-jobs.walltime).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Smallest:
    """Fewest nodes first: :math:`n`."""

    timeless: ClassVar[bool] = True
    formula: ClassVar[str] = "nodes"

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        return jobs.nodes.astype(np.float64)


@dataclass(frozen=True, slots=True)
class Largest:
    """Most nodes first: :math:`-n`."""

    timeless: ClassVar[bool] = True
    formula: ClassVar[str] = "-nodes"

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        return (-jobs.nodes).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Saf:
    """Smallest area first: :math:`r n`."""

    timeless: ClassVar[bool] = True
    formula: ClassVar[str] = "walltime * nodes"

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        return np.multiply(jobs.walltime, jobs.nodes, dtype=np.float64)


@no_refcount
def _score_wfp3(facts: FloatArray, queue: IntArray, count: int, now: float, scores: FloatArray) -> None:
    for i in range(count):
        job = queue[i]
        scores[i] = -cube((now - facts[job, 0]) / facts[job, 1]) * facts[job, 2]


@dataclass(frozen=True, slots=True)
class Wfp3:
    r""":math:`-(w/r)^3 n`, with the real waiting time."""

    timeless: ClassVar[bool] = False
    formula: ClassVar[str] = "-(wait / walltime)**3 * nodes"
    kernel: ClassVar[Callable[..., None]] = _score_wfp3

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        scores: Scores = (now - jobs.submit) / jobs.walltime
        cube_each(scores)
        return -scores * jobs.nodes

    def facts(self, jobs: JobTable, origin: int, /) -> Scores:
        """Submission and walltime [s], and nodes."""
        return np.column_stack((jobs.submit, jobs.walltime, jobs.nodes)).astype(np.float64)


@no_refcount
def _score_unicep(facts: FloatArray, queue: IntArray, count: int, now: float, scores: FloatArray) -> None:
    for i in range(count):
        job = queue[i]
        scores[i] = -(now - facts[job, 0] + 1e-15) / facts[job, 1]


@dataclass(frozen=True, slots=True)
class Unicep:
    r""":math:`-(w + 10^{-15}) / (\log_2(n + 10^{-15})\, r)`, with the real waiting time.

    The small constants keep :math:`n = 1` from dividing by zero: a job of one node goes first.
    """

    timeless: ClassVar[bool] = False
    formula: ClassVar[str] = "-(wait + 1e-15) / (log2(nodes + 1e-15) * walltime)"
    kernel: ClassVar[Callable[..., None]] = _score_unicep

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        scores: Scores = -(now - jobs.submit + 1e-15) / (np.log2(jobs.nodes + 1e-15) * jobs.walltime)
        return scores

    def facts(self, jobs: JobTable, origin: int, /) -> Scores:
        """Submission [s], and the divisor."""
        return np.column_stack((jobs.submit, np.log2(jobs.nodes + 1e-15) * jobs.walltime))


@no_refcount
def _score_bounded(facts: FloatArray, queue: IntArray, count: int, now: float, scores: FloatArray) -> None:
    for i in range(count):
        job = queue[i]
        scores[i] = -((now - facts[job, 0]) / facts[job, 1] + facts[job, 2]) / facts[job, 3]


@dataclass(frozen=True, slots=True)
class Bounded:
    r"""For machines that nobody has tuned for: :math:`-(w/r + h) / \sqrt[3]{n}`, and a bound on the wait.

    A job that has waited longer than ``backlogs`` times what the machine had to do when it came (all that waited and
    the rest of what ran, by walltimes, over the nodes in service) goes to the head, among such jobs first come, first
    served (:mod:`~transom.simulation.core.due_times`). Outside of a replay that is not known, and jobs are ordered by
    their scores alone. All is relative: no setting has a unit.

    Parameters
    ----------
    backlogs : after how many of them a job goes to the head, > 0.
    head_start : :math:`h`, the wait in walltimes that every job is taken to have had before, >= 0: the larger, the more
        smallness counts beside waiting.

    Raises
    ------
    SpecError : a setting is out of range.
    """

    timeless: ClassVar[bool] = False
    kernel: ClassVar[Callable[..., None]] = _score_bounded

    backlogs: float = 1.5
    head_start: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.backlogs <= _LONGEST:
            raise SpecError(f"bounded: backlogs must be > 0 and at most {_LONGEST}, got {self.backlogs}")
        if not 0 <= self.head_start <= _LONGEST:
            raise SpecError(f"bounded: head_start must be from 0 to {_LONGEST}, got {self.head_start}")

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        scores: Scores = -((now - jobs.submit) / jobs.walltime + self.head_start) / np.cbrt(jobs.nodes)
        return scores

    def facts(self, jobs: JobTable, origin: int, /) -> Scores:
        """Submission and walltime [s], the head start, and the cube root of the nodes."""
        start = np.full(len(jobs), self.head_start)
        return np.column_stack((jobs.submit, jobs.walltime, start, np.cbrt(jobs.nodes))).astype(np.float64)


@dataclass(frozen=True, slots=True)
class LogRule:
    """What F1 to F4 share: scores that depend on the logarithm of the submission time.

    Parameters
    ----------
    clock : ``trace`` counts submissions from the trace's first one, as RLScheduler does, ``sequence`` from that of the
        jobs that are replayed. They differ where these are a part of a trace.
    """

    timeless: ClassVar[bool] = True

    clock: Clock = "trace"

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        return self.scored(jobs, np.log10(jobs.submit - origin + 1.0))

    def scored(self, jobs: JobTable, log_submit: Scores) -> Scores:
        """Score per job, shape ``(jobs,)``, from :math:`\\log_{10}(s)`."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class F1(LogRule):
    r""":math:`\log_{10}(r)\, n + 870 \log_{10}(s)`."""

    formula: ClassVar[str] = "log10(walltime) * nodes + 870 * log10(submit)"

    def scored(self, jobs: JobTable, log_submit: Scores) -> Scores:
        """See :class:`LogRule`; a walltime of -1 s, which RLScheduler knows, counts as 0.1 s."""
        return np.log10(np.maximum(jobs.walltime, 0.1)) * jobs.nodes + 870.0 * log_submit


@dataclass(frozen=True, slots=True)
class F2(LogRule):
    r""":math:`\sqrt{r}\, n + 25600 \log_{10}(s)`."""

    formula: ClassVar[str] = "sqrt(walltime) * nodes + 25600 * log10(submit)"

    def scored(self, jobs: JobTable, log_submit: Scores) -> Scores:
        """See :class:`LogRule`."""
        return np.sqrt(jobs.walltime) * jobs.nodes + 25_600.0 * log_submit


@dataclass(frozen=True, slots=True)
class F3(LogRule):
    r""":math:`r n + 6.86 \cdot 10^6 \log_{10}(s)`."""

    formula: ClassVar[str] = "walltime * nodes + 6.86e6 * log10(submit)"

    def scored(self, jobs: JobTable, log_submit: Scores) -> Scores:
        """See :class:`LogRule`."""
        return np.multiply(jobs.walltime, jobs.nodes, dtype=np.float64) + 6.86e6 * log_submit


@dataclass(frozen=True, slots=True)
class F4(LogRule):
    r""":math:`r \sqrt{n} + 5.3 \cdot 10^5 \log_{10}(s)`."""

    formula: ClassVar[str] = "walltime * sqrt(nodes) + 5.3e5 * log10(submit)"

    def scored(self, jobs: JobTable, log_submit: Scores) -> Scores:
        """See :class:`LogRule`."""
        scores: Scores = jobs.walltime * np.sqrt(jobs.nodes) + 5.3e5 * log_submit
        return scores
