"""Event rules by name: the textbook's, and those of other programs, for cross-checks with their results.

``textbook`` is what the engine does. Others come in by entry points (``transom.event_rules``) and do what a program
does where that is not textbook, so that figures published with it can be checked. Figures made under different rules
never share a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from transom import registry
from transom.errors import SpecError
from transom.heuristics.priority_rules import Bounded, MaxWait
from transom.models import JobTable
from transom.models.arrays import IntArray
from transom.simulation.core.decision import Policy
from transom.simulation.core.formula_rule import Formula
from transom.simulation.core.schedule import COLUMNS, Schedule
from transom.simulation.core.site_order import load_rule
from transom.simulation.policies.by_name import RulePolicy
from transom.simulation.policies.max_wait import MaxWaitPolicy
from transom.traces.workload import Workload

Report = Callable[[int], None]
"""Called now and then with the number of jobs that have started."""


class Outcome(NamedTuple):
    """Start [s], mode and order of start of each job, shape ``(jobs,)``; and a column per pass, shape ``(7, passes)``.

    The rows of ``log`` are :data:`~transom.simulation.core.schedule.COLUMNS`.
    """

    start: IntArray
    mode: IntArray
    order: IntArray
    log: IntArray


class EventRules(Protocol):
    """When events are taken in, and what a pass sees: those of this project, or of another program."""

    name: ClassVar[str]

    @property
    def stated(self) -> str:
        """What a schedule says about the rules that made it."""

    @property
    def replayed(self) -> str:
        """The specification of these rules as far as a replay depends on it."""


@runtime_checkable
class ForeignRules(EventRules, Protocol):
    """Event rules of another program."""

    def replay(self, workload: Workload, policy: Any, report: Report) -> Outcome:
        """Replay a workload of jobs that ask for nodes alone, under a rule without or with EASY backfilling.

        Rules with ``takes_policies = True`` replay any policy, except those by period.
        """


@runtime_checkable
class SequenceRules(ForeignRules, Protocol):
    """Rules of a program that reads traces in its own way, and whose protocol are sequences drawn from a trace."""

    protocol: ClassVar[tuple[str, ...]]
    """Names of the settings that say how sequences are drawn."""

    length: int
    """Consecutive jobs of a sequence, by id."""

    seed: int
    """What sequences are drawn from."""

    def read(self, trace: Path, nodes: int | None) -> tuple[Workload, Self]:
        """The jobs of a trace as the program reads them, and these rules with what it must know of the trace."""

    def within(self, workload: Workload) -> Self:
        """These rules as far as they concern some of the jobs that were read."""

    def starts(self, jobs: int) -> list[int]:
        """Where the sequences begin among ``jobs`` jobs by id, from 0."""


@dataclass(frozen=True, slots=True)
class Textbook:
    """All events of an instant before one pass; walltimes alone. What :func:`~transom.simulation.simulate` does."""

    name: ClassVar[str] = "textbook"
    stated: ClassVar[str] = name
    replayed: ClassVar[str] = name


def rules_by_name(text: str) -> EventRules:
    """The event rules that a specification names, whatever they are rules of.

    Raises
    ------
    SpecError : the name or a parameter is unknown, or a value does not fit.
    """
    rules: EventRules = registry.make(registry.EVENT_RULES, text)
    return rules


def parse_rules(text: str) -> EventRules:
    """The event rules of jobs on nodes that a specification names: ``textbook``, ``cqsim``, ``rlscheduler:seed=1`` ...

    Raises
    ------
    SpecError : the name or a parameter is unknown, a value does not fit, or these are rules for tasks on machines.
    """
    rules = rules_by_name(text)
    if not isinstance(rules, (Textbook, ForeignRules)):
        raise SpecError(f"{rules.name} rules are for tasks on machines (--machines), not for jobs on nodes")
    return rules


def suited_policy(rules: EventRules, policy: Policy, title: str) -> Policy:
    """The policy, if it can be replayed under rules that are not the textbook's.

    Raises
    ------
    SpecError : it plans conservatively, decides by period, has a ``max_wait``, is ``bounded`` or a formula, or is no
        priority rule, where the rules take no other.
    """
    any_policy = getattr(rules, "takes_policies", False)
    rule = load_rule(policy.rule) if isinstance(policy, RulePolicy) else policy
    if isinstance(rule, (MaxWait, MaxWaitPolicy, Formula, Bounded)):
        what = "formula" if isinstance(rule, Formula) else "backlog" if isinstance(rule, Bounded) else "max_wait"
        raise SpecError(f"{rules.name} rules know no {what}, not {title!r}")
    if isinstance(policy, RulePolicy):
        suits = policy.backfilling != "conservative"
    else:
        suits = any_policy and getattr(policy, "period", None) is None
    if not suits:
        taken = "no policy by period or with -conservative" if any_policy else "priority rules without or with -easy"
        raise SpecError(f"{rules.name} rules take {taken}, {'got' if any_policy else 'not'} {title!r}")
    return policy


def replay_under(rules: ForeignRules, workload: Workload, policy: Policy, title: str, report: Report) -> Schedule:
    """Replay a workload under rules that are not the textbook's.

    Parameters
    ----------
    rules, workload : what to replay, and how.
    policy : a priority rule without or with EASY backfilling, or any that the rules take.
    title : what to call it in the schedule.
    report : called with the number of started jobs.

    Raises
    ------
    SpecError : the rules do not take the policy, or the workload has further resources, a topology, or dependencies, of
        which the other program knows nothing.
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
        diagnostics=workload.diagnostics,
        logged=workload.origin.started,
        epoch=workload.origin.epoch,
    )


def without_dependencies(rules: EventRules, workload: Workload) -> Workload:
    """The workload as the program takes it: under rules that know no dependencies, ``repairs`` counts those dropped."""
    if isinstance(rules, Textbook) or not workload.jobs.depends_on:
        return workload
    waiting = np.isin(workload.jobs.id, list(workload.jobs.depends_on))
    independent = replace(workload, jobs=JobTable(workload.jobs.data))
    return independent.with_repair(f"dependency dropped: {rules.name} knows none", waiting)
