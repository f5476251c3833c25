"""Event rules by name: the textbook's, and those of other programs, for cross-checks with their results.

``textbook`` is what the engine does. ``cqsim`` and ``rlscheduler`` do what the programs of that name do where that
is not textbook (:mod:`~transom.simulation.cqsim`, :mod:`~transom.simulation.rlscheduler`), so that figures
published with them can be checked. Figures made under different rules never share a table.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from transom import registry
from transom.errors import SpecError
from transom.models import JobTable
from transom.simulation.decision import Policy
from transom.simulation.outcome import Outcome, Report
from transom.simulation.policies import RulePolicy
from transom.simulation.schedule import COLUMNS, Schedule
from transom.traces.workload import Workload

_WORD = 2**32


@dataclass(frozen=True, slots=True)
class Textbook:
    """All events of an instant before one pass; walltimes alone. What :func:`~transom.simulation.simulate` does."""

    name: ClassVar[str] = "textbook"

    @property
    def stated(self) -> str:
        """What a schedule says about the rules that made it."""
        return self.name

    @property
    def replayed(self) -> str:
        """The specification of these rules as far as a replay depends on it."""
        return self.name


@dataclass(frozen=True, slots=True)
class CqSim:
    """One pass per event, and backfilling by real runtimes."""

    name: ClassVar[str] = "cqsim"

    @property
    def stated(self) -> str:
        """What a schedule says about the rules that made it."""
        return self.name

    @property
    def replayed(self) -> str:
        """The specification of these rules as far as a replay depends on it."""
        return self.name

    def replay(self, workload: Workload, policy: RulePolicy, report: Report) -> Outcome:
        """Replay a workload of jobs that ask for nodes alone."""
        from transom.simulation.cqsim import replay_cqsim

        return replay_cqsim(workload, policy, report)


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
    seed : what they are drawn from, >= 0.
    unasked : ids of jobs that ask for -1 s in the environment, with slashes between: those without a requested time
        and a runtime in the log (:mod:`~transom.traces.locked_reading` finds them).
    """

    name: ClassVar[str] = "rlscheduler"

    sign: Literal["real", "published"] = "real"
    sequences: int = 10
    length: int = 1024
    first: int = 10_000
    seed: int = 1
    unasked: str = ""

    def __post_init__(self) -> None:
        if any(not part.isdecimal() for part in self.unasked.split("/") if self.unasked):
            raise SpecError(f"rlscheduler: unasked must be ids with slashes between, got {self.unasked!r}")
        for name in ("sequences", "length", "first"):
            if getattr(self, name) <= 0:
                raise SpecError(f"rlscheduler: {name} must be > 0, got {getattr(self, name)}")
        if self.seed < 0:
            raise SpecError(f"rlscheduler: seed must be >= 0, got {self.seed}")
        if self.first <= (least := 2 * self.length + 1):
            raise SpecError(f"rlscheduler: first must be > {least}, twice the length + 1, got {self.first}")

    @property
    def stated(self) -> str:
        """What a schedule says about the rules that made it: how sequences are drawn is not one of them."""
        return self.name if self.sign == "real" else f"{self.name}:sign={self.sign}"

    @property
    def replayed(self) -> str:
        """The specification of these rules as far as a replay depends on it."""
        settings = [] if self.sign == "real" else [f"sign={self.sign}"]
        settings += [f"unasked={self.unasked}"] if self.unasked else []
        return ":".join([self.name, ",".join(settings)]) if settings else self.name

    def starts(self, jobs: int) -> list[int]:
        """Where the sequences begin among ``jobs`` jobs by id, from 0.

        Positions from ``length`` to ``jobs - length - 2``, drawn by NumPy's legacy generator, whose state is
        that of gym's environments: two words of the SHA-512 of the seed's digits.

        Raises
        ------
        SpecError : there are too few jobs.
        """
        jobs = min(jobs, self.first)
        if jobs <= 2 * self.length + 1:
            raise SpecError(f"rlscheduler: sequences of {self.length} need > {2 * self.length + 1} jobs, got {jobs}")
        number = int.from_bytes(hashlib.sha512(str(self.seed).encode()).digest()[:8], "little")
        words = [number % _WORD, number // _WORD] if number >= _WORD else [number]
        rng = np.random.RandomState(words)  # the published draws are of this generator
        return [int(rng.randint(self.length, jobs - self.length - 1)) for _ in range(self.sequences)]

    def replay(self, workload: Workload, policy: RulePolicy, report: Report) -> Outcome:
        """Replay a workload of jobs that ask for nodes alone, all of them as one sequence."""
        from transom.simulation.rlscheduler import replay_locked

        unasked = [int(job) for job in self.unasked.split("/")] if self.unasked else []
        return replay_locked(workload, policy, self.sign == "published", unasked, report)


EventRules = Textbook | CqSim | RLScheduler

_KNOWN: dict[str, type[EventRules]] = {each.name: each for each in (Textbook, CqSim, RLScheduler)}


def parse_rules(text: str) -> EventRules:
    """The event rules that a specification names: ``textbook``, ``cqsim``, ``rlscheduler:sign=published`` ...

    Raises
    ------
    SpecError : the name or a parameter is unknown, or a value does not fit.
    """
    name, settings = registry.parse(text)
    if name not in _KNOWN:
        raise registry.unknown("event rules", name, _KNOWN)
    rules: EventRules = registry.build(_KNOWN[name], name, settings)
    return rules


def suited_policy(rules: CqSim | RLScheduler, policy: Policy, title: str) -> RulePolicy:
    """The policy, if it can be replayed under rules that are not the textbook's.

    Raises
    ------
    SpecError : it is not a priority rule without or with EASY backfilling.
    """
    if not isinstance(policy, RulePolicy) or policy.backfilling == "conservative":
        raise SpecError(f"{rules.name} rules take priority rules without or with -easy, not {title!r}")
    return policy


def replay_under(
    rules: CqSim | RLScheduler, workload: Workload, policy: Policy, title: str, report: Report
) -> Schedule:
    """Replay a workload under rules that are not the textbook's.

    Parameters
    ----------
    rules, workload : what to replay, and how.
    policy : a priority rule without or with EASY backfilling.
    title : what to call it in the schedule.
    report : called with the number of started jobs.

    Raises
    ------
    SpecError : it is another policy, or the workload has further resources, a topology, or dependencies, of which the
        other program knows nothing.
    """
    rule = suited_policy(rules, policy, title)
    if workload.cluster.resources:
        raise SpecError(f"{rules.name} rules know nodes alone, not {', '.join(workload.cluster.resources)}")
    if workload.cluster.topology is not None:
        raise SpecError(f"{rules.name} rules know no topology of the nodes")
    if workload.jobs.depends_on:
        raise SpecError(f"{rules.name} rules know no dependencies, but job {min(workload.jobs.depends_on)} has one")
    outcome = rules.replay(workload, rule, report)
    report(len(workload))
    return Schedule(
        policy=title,
        workload=workload.name,
        cluster=workload.cluster,
        jobs=workload.jobs,
        start=outcome.start,
        end=outcome.start + workload.runtime,
        mode=outcome.mode,
        order=outcome.order,
        decisions=dict(zip(COLUMNS, outcome.log, strict=True)),
        rules=rules.stated,
        remarks=workload.remarks,
    )


def without_dependencies(rules: EventRules, workload: Workload) -> Workload:
    """The workload as the program takes it: under rules that know no dependencies, ``repairs`` counts those dropped."""
    waiting = len(workload.jobs.depends_on)
    if isinstance(rules, Textbook) or not waiting:
        return workload
    repairs = {**workload.repairs, f"dependency dropped: {rules.name} knows none": waiting}
    return replace(workload, jobs=JobTable(workload.jobs.data), repairs=repairs)
