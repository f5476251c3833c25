"""When the clock of a priority rule began, and what tables say about it.

F1 to F4 weigh the logarithm of the submission time. On sequences of 1,024 jobs of the trace Lublin-1, F4 without
backfilling has a mean bounded slowdown of 20.7 on the trace's clock and of 280.6 on a clock that starts with each
sequence: figures without the clock mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from transom.heuristics.priority_rules import PriorityRule
from transom.simulation.policies import load_rule, make_policy
from transom.traces.workload import Workload

_STARTS = {"trace": "on the trace's clock", "sequence": "on a clock that starts with the jobs that are replayed"}


def clock_begins(rule: PriorityRule, workload: Workload) -> int:
    """The ``origin`` of a rule's scores [s].

    It is the first submission of the trace or, where the rule's ``clock`` is ``sequence``, that of the workload, which
    may be a part of the trace.
    """
    if getattr(rule, "clock", "trace") == "sequence" and len(workload):
        return int(workload.jobs.submit[0])
    return workload.first_submission or 0


def clock_of(spec: str) -> str | None:
    """``trace`` or ``sequence`` if a policy orders the queue by a rule that depends on it, else None.

    Raises
    ------
    SpecError : there is no such policy.
    """
    clock: str | None = getattr(load_rule(getattr(make_policy(spec), "order", "fcfs")), "clock", None)
    return clock


def clock_remarks(policies: Iterable[tuple[str, str | None]]) -> list[str]:
    """What belongs below a table of policies, given as (label, :func:`clock_of`): a line for each clock."""
    found: dict[str, list[str]] = {}
    for label, clock in policies:
        if clock is not None:
            found.setdefault(clock, []).append(label)
    return [
        f"{', '.join(labels)}: log10 of the submission {_STARTS.get(clock, clock)} (clock={clock})"
        for clock, labels in sorted(found.items(), reverse=True)
    ]
