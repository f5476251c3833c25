"""When the clock of a priority rule began, and what tables say about it.

F1 to F4 weigh the logarithm of the submission time. On sequences of 1,024 jobs of the trace Lublin-1, F4 without
backfilling has a mean bounded slowdown of 20.7 on the trace's clock and of 280.6 on a clock that starts with each
sequence: figures without the clock mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from transom.simulation.core.decision import Policy
from transom.simulation.core.site_order import load_rule
from transom.simulation.policies.by_name import policy_of

_STARTS = {"trace": "on the trace's clock", "sequence": "on a clock that starts with the jobs that are replayed"}


def clock_of(policy: str | Policy) -> str | None:
    """``trace``, ``sequence`` or both if a policy, or that of a specification, orders the queue by rules that depend on
    it, else None.

    Raises
    ------
    SpecError : there is no such policy.
    """
    policy = policy_of(policy)
    rules = getattr(policy, "rules", None) or (load_rule(getattr(policy, "order", "fcfs")),)
    clocks: set[str] = {clock for rule in rules if (clock := getattr(rule, "clock", None)) is not None}
    return " and ".join(sorted(clocks, reverse=True)) or None


def clock_remarks(policies: Iterable[tuple[str, str | None]]) -> list[str]:
    """What belongs below a table of policies, given as (label, :func:`clock_of`): a line for each clock."""
    found: dict[str, list[str]] = {}
    for label, clock in policies:
        if clock is not None:
            found.setdefault(clock, []).append(label)
    return [
        f"{', '.join(labels)}: submission times {_STARTS.get(clock, clock)} (clock={clock})"
        for clock, labels in sorted(found.items(), reverse=True)
    ]
