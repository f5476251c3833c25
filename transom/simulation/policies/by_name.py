"""Policies by name: every priority rule, plain and with backfilling, and whatever is registered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast, get_args

from transom import registry
from transom.class_files import headed, names_a_file
from transom.errors import SpecError, shown
from transom.heuristics.priority_rules import PriorityRule
from transom.models import Window
from transom.models.arrays import whole
from transom.simulation.core.decision import Backfilling, Decision, Policy
from transom.simulation.core.site_order import is_rule, load_rule, name_of_rule


@dataclass(frozen=True, slots=True)
class RulePolicy:
    """Start jobs in the order of a priority rule, with or without backfilling.

    Parameters
    ----------
    rule : specification of a registered priority rule, or a rule.
    backfilling : ``none`` stops at the first job that does not fit; ``easy`` and ``conservative``
        as in :mod:`~transom.simulation.passes.easy_backfill` and
        :mod:`~transom.simulation.passes.conservative_backfill`.
    depth : how many waiting jobs, the first in the order, hold reservations under conservative backfilling, >= 1; by
        default all. With 1 it is EASY backfilling.

    Raises
    ------
    SpecError : the rule or the backfilling is unknown, or a depth is not valid or goes with other backfilling.
    """

    rule: str | PriorityRule
    backfilling: Backfilling = "none"
    depth: int | None = None

    def __post_init__(self) -> None:
        load_rule(self.rule)
        if self.backfilling not in get_args(Backfilling):
            raise SpecError(f"unknown backfilling {self.backfilling!r}. Known: {', '.join(get_args(Backfilling))}")
        if self.depth is None:
            return
        if self.backfilling != "conservative":
            raise SpecError(f"{self.name}: depth is of conservative backfilling, where so many jobs hold reservations")
        if whole(self.depth, "depth") < 1:
            raise SpecError(f"{self.name}: depth must be at least 1 job that holds a reservation")

    @property
    def name(self) -> str:
        """The name under which ``make_policy`` finds it."""
        rule, _, settings = headed(name_of_rule(self.rule))
        stated = [settings] if settings else []
        if self.depth is not None:
            stated.append(f"depth={self.depth}")
        tail = "" if self.backfilling == "none" else f"-{self.backfilling}"
        return rule + tail + (":" + ",".join(stated) if stated else "")

    @property
    def order(self) -> str | PriorityRule:
        """The rule, which orders the queue."""
        return self.rule

    def decide(self, window: Window, /) -> Decision:
        """Decide over one window; conservative reservations are made afresh in queue order."""
        from transom.simulation.passes.window_pass import pass_over

        return pass_over(window, self.backfilling, depth=self.depth)


def policy_names() -> list[str]:
    """The names of all policies."""
    rules = registry.names(registry.PRIORITY_RULES)
    return sorted([*registry.names(registry.POLICIES), *(rule + tail for rule in rules for tail in _TAILS)])


def make_policy(spec: str) -> Policy:
    """Build the policy that a specification describes.

    ``RULE``, ``RULE-easy`` and ``RULE-conservative`` exist for every registered priority rule, and take its parameters:
    ``f4-easy:clock=sequence``. All take ``max_wait`` (:class:`~transom.heuristics.priority_rules.MaxWait`), and
    ``RULE-conservative`` a ``depth``. ``./mine.py:NAME`` is a policy, or a rule with the same endings
    (:mod:`transom.class_files`).

    Raises
    ------
    SpecError : the name or a parameter is unknown, or a value does not fit.
    """
    stated, _ = registry.parse(spec)
    name = stated if names_a_file(stated) else _known_as(stated)
    spec = name + spec.removeprefix(stated)
    if name in registry.names(registry.POLICIES):
        policy: Policy = registry.make(registry.POLICIES, spec)
        return policy
    if names_a_file(name) and not name.endswith(("-easy", "-conservative")):
        if hasattr(registry.load(registry.POLICIES, name), "timeless"):
            return RulePolicy(spec)
        made = registry.make(registry.POLICIES, spec)
        return RulePolicy(spec) if is_rule(made) else policy_of(made)
    rules = registry.names(registry.PRIORITY_RULES)
    for tail, backfilling in _TAILS.items():
        rule = name.removesuffix(tail) if tail else name
        if rule + tail == name and (rule in rules or (names_a_file(rule) and tail)):
            stated, depth = registry.taken_out(rule + spec.removeprefix(name), "depth")
            if depth is not None and not depth.isdecimal():
                raise SpecError(f"{spec}: depth must be a number of jobs, got {depth!r}")
            return RulePolicy(stated, backfilling, None if depth is None else int(depth))
    raise registry.unknown("policy", name, policy_names())


def _known_as(name: str) -> str:
    """A name as it is registered, whatever its case, and where it is short for another one."""
    known = policy_names()
    return next((each for each in (name, name.lower(), _SHORT.get(name.lower())) if each in known), name)


def policy_of(policy: str | Policy | PriorityRule) -> Policy:
    """A policy: that of a specification, itself, or that of a priority rule without backfilling.

    Raises
    ------
    SpecError : it is none of these, or as :func:`make_policy`.
    """
    if isinstance(policy, str):
        return make_policy(policy)
    if callable(getattr(policy, "decide", None)):
        return cast("Policy", policy)
    if not is_rule(policy):
        raise SpecError(f"expected the name of a policy, a policy or a priority rule, got {shown(policy)}")
    return RulePolicy(cast("PriorityRule", policy))


def deciding(policy: Policy) -> list[Any]:
    """A policy with the rule that orders its queue and whatever it asks, such as solvers and objectives."""
    return registry.parts_of(policy, load_rule(getattr(policy, "order", "fcfs")))


_SHORT = {"easy": "fcfs-easy", "backfill": "fcfs-easy", "conservative": "fcfs-conservative"}
"""What some programs and papers call them."""

_TAILS: dict[str, Backfilling] = {"": "none", "-easy": "easy", "-conservative": "conservative"}
