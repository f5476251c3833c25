r"""The site's order of the queue: priority rules, lowest score first, ties by submission, then id.

Symbols: :math:`s` submission time since the trace's first submission, plus 1 [s], :math:`r`
walltime [s], :math:`n` nodes, :math:`w` waiting time [s]. Walltimes are positive and
:math:`s \ge 1` by construction, so no logarithm and no division meets a zero.

References
----------
Zhang et al., RLScheduler, SC'20, Table II, and the MARS paper's Table II for WFP3, UNICEP and F1;
Carastan-Santos and de Camargo, SC'17, for F1 to F4; Tang et al., CLUSTER'09, for WFP3 and UNICEP.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from transom.models import JobTable

Scores = NDArray[np.float64]


class PriorityRule(Protocol):
    """A rule scores jobs; the queue is ordered by score, then by submission, then by id.

    ``timeless`` says that scores do not depend on ``now``, which lets a replay rank all jobs once.
    """

    @property
    def timeless(self) -> bool:
        """Whether scores do not change while jobs wait."""

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        """Score per job, shape ``(jobs,)``; ``origin`` is the trace's first submission [s]."""


@dataclass(frozen=True, slots=True)
class Fcfs:
    """First come, first served: :math:`s`."""

    timeless: ClassVar[bool] = True

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        return jobs.submit.astype(np.float64)


@dataclass(frozen=True, slots=True)
class Sjf:
    """Shortest job first: :math:`r`."""

    timeless: ClassVar[bool] = True

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        return jobs.walltime.astype(np.float64)


@dataclass(frozen=True, slots=True)
class Ljf:
    """Longest job first: :math:`-r`."""

    timeless: ClassVar[bool] = True

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        return (-jobs.walltime).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Smallest:
    """Fewest nodes first: :math:`n`."""

    timeless: ClassVar[bool] = True

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        return jobs.nodes.astype(np.float64)


@dataclass(frozen=True, slots=True)
class Largest:
    """Most nodes first: :math:`-n`."""

    timeless: ClassVar[bool] = True

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        return (-jobs.nodes).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Saf:
    """Smallest area first: :math:`r n`."""

    timeless: ClassVar[bool] = True

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        return np.multiply(jobs.walltime, jobs.nodes, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Wfp3:
    r""":math:`-(w/r)^3 n`, with the real waiting time."""

    timeless: ClassVar[bool] = False

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        scores: Scores = -(((now - jobs.submit) / jobs.walltime) ** 3) * jobs.nodes
        return scores


@dataclass(frozen=True, slots=True)
class Unicep:
    r""":math:`-(w + 10^{-15}) / (\log_2(n + 10^{-15})\, r)`, with the real waiting time.

    The small constants keep :math:`n = 1` from dividing by zero: a job of one node goes first.
    """

    timeless: ClassVar[bool] = False

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        scores: Scores = -(now - jobs.submit + 1e-15) / (np.log2(jobs.nodes + 1e-15) * jobs.walltime)
        return scores


@dataclass(frozen=True, slots=True)
class F1:
    r""":math:`\log_{10}(r)\, n + 870 \log_{10}(s)`."""

    timeless: ClassVar[bool] = True

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        return np.log10(jobs.walltime) * jobs.nodes + 870.0 * _log_submit(jobs, origin)


@dataclass(frozen=True, slots=True)
class F2:
    r""":math:`\sqrt{r}\, n + 25600 \log_{10}(s)`."""

    timeless: ClassVar[bool] = True

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        return np.sqrt(jobs.walltime) * jobs.nodes + 25_600.0 * _log_submit(jobs, origin)


@dataclass(frozen=True, slots=True)
class F3:
    r""":math:`r n + 6.86 \cdot 10^6 \log_{10}(s)`."""

    timeless: ClassVar[bool] = True

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        return np.multiply(jobs.walltime, jobs.nodes, dtype=np.float64) + 6.86e6 * _log_submit(jobs, origin)


@dataclass(frozen=True, slots=True)
class F4:
    r""":math:`r \sqrt{n} + 5.3 \cdot 10^5 \log_{10}(s)`."""

    timeless: ClassVar[bool] = True

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        scores: Scores = jobs.walltime * np.sqrt(jobs.nodes) + 5.3e5 * _log_submit(jobs, origin)
        return scores


def _log_submit(jobs: JobTable, origin: int) -> Scores:
    since: Scores = np.log10(jobs.submit - origin + 1.0)
    return since
