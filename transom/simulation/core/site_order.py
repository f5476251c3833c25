"""The order of a queue under a priority rule, and when the clock of the rule began."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from transom import registry
from transom._system.durations import seconds_in
from transom.errors import SpecError, shown
from transom.heuristics.priority_rules import MaxWait, PriorityRule
from transom.models import JobTable
from transom.simulation.core.formula_rule import with_predictions
from transom.traces.workload import Workload


def load_rule(rule: str | PriorityRule) -> PriorityRule:
    """The priority rule of a specification; a rule itself is taken as it is.

    Two settings are of every rule: ``max_wait`` (:class:`~transom.heuristics.priority_rules.MaxWait`) and ``predict``,
    a predictor (:mod:`~transom.heuristics.predictors`), by whose runtimes it orders instead of by walltimes.

    Raises
    ------
    SpecError : the name or a parameter is unknown, or it is no rule.
    """
    stated, max_wait = without_max_wait(rule) if isinstance(rule, str) else (rule, None)
    stated, predict = registry.taken_out(stated, "predict") if isinstance(stated, str) else (stated, None)
    made: PriorityRule = registry.make(registry.PRIORITY_RULES, stated) if isinstance(stated, str) else stated
    if not is_rule(made):
        raise SpecError(f"expected the name of a priority rule or a rule, which has timeless, got {shown(made)}")
    if predict is not None:
        made = with_predictions(made, predict)
    return made if max_wait is None else MaxWait(made, max_wait)


def without_max_wait(spec: str) -> tuple[str, int | None]:
    """A specification without its ``max_wait``, and that bound [s]; None where it is not set.

    Raises
    ------
    SpecError : the specification is malformed, or the bound is no time.
    """
    stated, text = registry.taken_out(spec, "max_wait")
    if text is None:
        return stated, None
    try:
        return stated, int(seconds_in(text, whole=True))
    except ValueError as error:
        raise SpecError(f"{spec}: max_wait: {error}") from None


def rule_for(rule: PriorityRule, workload: Workload) -> tuple[PriorityRule, int]:
    """A rule for the jobs of a workload without its bound on the wait, and that bound [s], 0 for none.

    A rule that goes by what only the workload says of its jobs has ``fitted(workload)``, which is the rule for these.
    """
    inner, max_wait = (rule.rule, rule.seconds) if isinstance(rule, MaxWait) else (rule, 0)
    fitted = getattr(inner, "fitted", None)
    return (inner if fitted is None else fitted(workload)), max_wait


def is_rule(thing: object) -> bool:
    """Whether something scores jobs as a :class:`~transom.heuristics.priority_rules.PriorityRule` does."""
    return callable(thing) and not isinstance(thing, type) and hasattr(thing, "timeless")


def name_of_rule(rule: str | PriorityRule) -> str:
    """What a rule is called in messages and tables: its specification, its ``name`` or that of its class."""
    return rule if isinstance(rule, str) else str(getattr(rule, "name", getattr(rule, "__name__", type(rule).__name__)))


def site_order(rule: PriorityRule, jobs: JobTable, now: int, origin: int) -> NDArray[np.intp]:
    """Positions of ``jobs`` in the order of ``rule``: by score, then submission, then id; for ``origin`` see
    :func:`clock_begins`.

    Raises
    ------
    SpecError : the rule gives no score, or several, to a job.
    """
    scores = rule(jobs, now, origin)
    if np.shape(scores) != (len(jobs),):
        raise SpecError(f"{name_of_rule(rule)}: expected a score for each of {len(jobs)} jobs, got {shown(scores)}")
    return np.lexsort((jobs.id, jobs.submit, scores))


def clock_begins(rule: PriorityRule, workload: Workload) -> int:
    """The ``origin`` of a rule's scores [s].

    It is the first submission of the trace or, where the rule's ``clock`` is ``sequence``, that of the workload, which
    may be a part of the trace.
    """
    return clock_among(rule, *clocks_of(workload))


def clocks_of(workload: Workload) -> tuple[int, int]:
    """When the clocks of the trace and of the sequence begin [s]."""
    trace = workload.first_submission or 0
    return trace, int(workload.jobs.submit[0]) if len(workload) else trace


def clock_among(rule: PriorityRule, trace: int, sequence: int) -> int:
    """The ``origin`` of a rule's scores where the clocks begin so [s]."""
    return sequence if getattr(rule, "clock", "trace") == "sequence" else trace
