"""The order of a queue under a priority rule, and when the clock of the rule began."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from transom import registry
from transom.heuristics.priority_rules import PriorityRule
from transom.models import JobTable
from transom.traces.workload import Workload


def load_rule(name: str) -> PriorityRule:
    """The priority rule of that name.

    Raises
    ------
    SpecError : the name or a parameter is unknown.
    """
    rule: PriorityRule = registry.make(registry.PRIORITY_RULES, name)
    return rule


def site_order(rule: PriorityRule, jobs: JobTable, now: int, origin: int) -> NDArray[np.intp]:
    """Positions of ``jobs`` in the order of ``rule``: by score, then submission, then id; for ``origin`` see
    :func:`clock_begins`."""
    return np.lexsort((jobs.id, jobs.submit, rule(jobs, now, origin)))


def clock_begins(rule: PriorityRule, workload: Workload) -> int:
    """The ``origin`` of a rule's scores [s].

    It is the first submission of the trace or, where the rule's ``clock`` is ``sequence``, that of the workload, which
    may be a part of the trace.
    """
    if getattr(rule, "clock", "trace") == "sequence" and len(workload):
        return int(workload.jobs.submit[0])
    return workload.first_submission or 0
