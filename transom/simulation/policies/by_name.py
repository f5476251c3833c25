"""Policies by name: every priority rule, plain and with backfilling, and whatever is registered."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any, cast, get_args

from transom import registry
from transom.class_files import headed, names_a_file
from transom.errors import SpecError, shown
from transom.heuristics.priority_rules import MaxWait, PriorityRule
from transom.models import Window
from transom.models.arrays import whole
from transom.simulation.core.decision import Backfilling, Decision, Policy
from transom.simulation.core.site_order import is_rule, load_rule, name_of_rule, without_max_wait
from transom.simulation.policies.max_wait import MaxWaitPolicy
from transom.simulation.policies.predicted import By, PredictedBackfill


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
    ``f4-easy:clock=sequence``. ``RULE-conservative`` takes a ``depth``, all take ``predict``, and
    ``RULE-easy:predict=PREDICTOR`` what predictions are used for: ``use``, that is ``order``, ``backfill`` or ``both``,
    and ``reserve`` (:class:`PredictedBackfill`). All take ``max_wait``
    (:class:`~transom.heuristics.priority_rules.MaxWait`), as do other policies
    (:class:`~transom.simulation.policies.max_wait.MaxWaitPolicy`). ``./mine.py:NAME`` is a policy, or a rule with the
    same endings (:mod:`transom.class_files`).

    Raises
    ------
    SpecError : the name or a parameter is unknown, or a value does not fit.
    """
    stated, _ = registry.parse(spec)
    name = stated if names_a_file(stated) else _known_as(stated)
    spec = name + spec.removeprefix(stated)
    own = name in registry.names(registry.POLICIES)
    if own or (names_a_file(name) and not name.endswith(("-easy", "-conservative"))):
        factory = registry.load(registry.POLICIES, name)
        if not own and hasattr(factory, "timeless"):
            return RulePolicy(spec)
        takes_it = callable(factory) and "max_wait" in inspect.signature(factory).parameters
        stated, max_wait = (spec, None) if takes_it else without_max_wait(spec)
        made = registry.make(registry.POLICIES, stated)
        if not own and is_rule(made):
            return RulePolicy(spec)
        policy = made if own else policy_of(made)
        return policy if max_wait is None else with_max_wait(policy, max_wait)
    rules = registry.names(registry.PRIORITY_RULES)
    for tail, backfilling in _TAILS.items():
        rule = name.removesuffix(tail) if tail else name
        if rule + tail == name and (rule in rules or (names_a_file(rule) and tail)):
            stated, use = registry.taken_out(rule + spec.removeprefix(name), "use")
            stated, reserve = registry.taken_out(stated, "reserve")
            if use is not None or reserve is not None:
                return _by_prediction(stated, backfilling, use, reserve)
            stated, depth = registry.taken_out(stated, "depth")
            if depth is not None and not depth.isdecimal():
                raise SpecError(f"{spec}: depth must be a number of jobs, got {depth!r}")
            return RulePolicy(stated, backfilling, None if depth is None else int(depth))
    raise registry.unknown("policy", name, policy_names())


def with_max_wait(policy: Policy, seconds: int) -> Policy:
    """A policy under which jobs that have waited longer, from their submission on [s], go first.

    Raises
    ------
    SpecError : the bound is out of range, or the policy has one.
    """
    if not isinstance(policy, (RulePolicy, PredictedBackfill)):
        return MaxWaitPolicy(policy, seconds)
    rule = load_rule(policy.order)
    if isinstance(rule, MaxWait):
        raise SpecError(f"{policy.name}: max_wait is set twice")
    bounded = MaxWait(rule, seconds)
    return replace(policy, rule=bounded) if isinstance(policy, RulePolicy) else replace(policy, order=bounded)


def _by_prediction(rule: str, backfilling: Backfilling, use: str | None, reserve: str | None) -> Policy:
    """The policy of a rule whose settings say what predictions are used for."""
    order, predict = registry.taken_out(rule, "predict")
    predict = predict or getattr(load_rule(rule), "predict", None)
    if backfilling != "easy" or predict is None:
        raise SpecError(f"{rule}: use and reserve are of RULE-easy with predict=")
    if use not in _USES:
        raise SpecError(f"{rule}: use must be {', '.join(_USES[:-1])} or {_USES[-1]}, got {use!r}")
    if use == "order":
        if reserve is not None:
            raise SpecError(f"{rule}: reserve goes with use=backfill and use=both")
        return RulePolicy(rule, backfilling)
    by = cast("By", reserve or "walltime")
    return PredictedBackfill(order if use == "backfill" else rule, predict, by)


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

_USES = ("order", "backfill", "both")
"""What predictions of a rule may be used for."""

_TAILS: dict[str, Backfilling] = {"": "none", "-easy": "easy", "-conservative": "conservative"}
