"""The event rules of RLScheduler, and its protocol of random sequences."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np

from transom._system.wording import digits
from transom.adapters.rules.locked_reading import read_locked
from transom.errors import SpecError
from transom.models.arrays import IntArray
from transom.simulation.core.decision import Policy
from transom.simulation.event_rules import Outcome, Report
from transom.simulation.policies.by_name import RulePolicy
from transom.traces.workload import Workload

_WORD = 2**32


@dataclass(frozen=True, slots=True)
class RLScheduler:
    """The locked environment of RLScheduler, and its protocol of random sequences.

    Parameters
    ----------
    sign : ``real`` ranks WFP3 and UNICEP by the time that jobs have waited; ``published`` by -1 - submission
        in its place, the fault behind the published figures of the two.
    sequences : how many sequences the protocol draws, > 0.
    length : consecutive jobs of a sequence, by id, > 0.
    first : sequences lie within so many jobs of the trace, the first ones by id.
    after : sequences begin at this position of the trace or later, >= 0.
    seed : what they are drawn from, >= 0.
    backfill : whether jobs are backfilled while the picked one waits, under any policy; under ``RULE-easy`` they are.
    unasked : ids of jobs that ask for -1 s in the environment, with slashes between: those without a requested time
        and a runtime in the log (:mod:`~transom.adapters.rules.locked_reading` finds them).
    """

    name: ClassVar[str] = "rlscheduler"
    protocol: ClassVar[tuple[str, ...]] = ("sequences", "length", "first", "after", "seed")
    takes_policies: ClassVar[bool] = True

    sign: Literal["real", "published"] = "real"
    sequences: int = 10
    length: int = 1024
    first: int = 10_000
    after: int = 0
    seed: int = 1
    backfill: Literal["none", "easy"] = "none"
    unasked: str = ""

    def __post_init__(self) -> None:
        if any(not digits(part) for part in self.unasked.split("/") if self.unasked):
            raise SpecError(f"rlscheduler: unasked must be ids with slashes between, got {self.unasked!r}")
        for name in ("sequences", "length", "first"):
            if getattr(self, name) <= 0:
                raise SpecError(f"rlscheduler: {name} must be > 0, got {getattr(self, name)}")
        for name in ("after", "seed"):
            if getattr(self, name) < 0:
                raise SpecError(f"rlscheduler: {name} must be >= 0, got {getattr(self, name)}")
        if self.first <= (least := 2 * self.length + 1):
            raise SpecError(f"rlscheduler: first must be > {least}, twice the length + 1, got {self.first}")

    @property
    def stated(self) -> str:
        """What a schedule says about the rules that made it: how sequences are drawn is not one of them."""
        return self._said("sign", "backfill")

    @property
    def replayed(self) -> str:
        """The specification of these rules as far as a replay depends on it."""
        return self._said("sign", "backfill", "unasked")

    def starts(self, jobs: int) -> list[int]:
        """Where the sequences begin among ``jobs`` jobs by id, from 0.

        Positions from ``length`` (or ``after``, if that is more) to ``jobs - length - 2``, drawn by NumPy's legacy
        generator, whose state is that of gym's environments: two words of the SHA-512 of the seed's digits.

        Raises
        ------
        SpecError : there are too few jobs.
        """
        jobs, least = min(jobs, self.first), max(self.length, self.after)
        if jobs <= least + self.length + 1:
            behind = f" after {self.after}" if self.after > self.length else ""
            raise SpecError(
                f"rlscheduler: sequences of {self.length}{behind} need > {least + self.length + 1} jobs, got {jobs}"
            )
        number = int.from_bytes(hashlib.sha512(str(self.seed).encode()).digest()[:8], "little")
        words = [number % _WORD, number // _WORD] if number >= _WORD else [number]
        rng = np.random.RandomState(words)  # the published draws are of this generator
        return [int(rng.randint(least, jobs - self.length - 1)) for _ in range(self.sequences)]

    def replay(self, workload: Workload, policy: Policy, report: Report) -> Outcome:
        """Replay a workload of jobs that ask for nodes alone, all of them as one sequence."""
        from transom.adapters.rules.locked_environment import replay_locked

        easy = self.backfill == "easy" or (isinstance(policy, RulePolicy) and policy.backfilling == "easy")
        return replay_locked(workload, policy, self.sign == "published", self._unasked(), easy, report)

    def arrivals(self, workload: Workload) -> IntArray:
        """The jobs as the environment takes them, for trainings, shape ``(jobs, 7)``: the columns of
        :attr:`~transom.simulation.locked.process.LockedState.jobs`."""
        from transom.adapters.rules.locked_environment import arrivals

        return arrivals(workload, self._unasked())

    def read(self, trace: Path, nodes: int | None) -> tuple[Workload, Self]:
        """The jobs of a trace by the job rules of the environment, and these rules, told which of them ask for no time.

        Raises
        ------
        SpecError : the rules say already which jobs do.
        ModelError, TraceError : as of :func:`~transom.adapters.rules.locked_reading.read_locked`.
        """
        if self.unasked:
            raise SpecError("rlscheduler: which jobs ask for no time is found in the trace")
        locked = read_locked(trace, nodes)
        return locked.workload, replace(self, unasked="/".join(map(str, locked.unasked)))

    def within(self, workload: Workload) -> Self:
        """These rules for some of the jobs: which of those ask for no time."""
        here = set(workload.jobs.id.tolist())
        return replace(self, unasked="/".join(str(job) for job in self._unasked() if job in here))

    def _said(self, *names: str) -> str:
        usual = {each.name: each.default for each in fields(self)}
        said = [f"{name}={value}" for name in names if (value := getattr(self, name)) != usual[name]]
        return ":".join([self.name, ",".join(said)]) if said else self.name

    def _unasked(self) -> list[int]:
        return [int(job) for job in self.unasked.split("/")] if self.unasked else []
