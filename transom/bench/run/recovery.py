"""The row of a terminated run, with its last incumbent."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec

from transom.bench.plan.documents import problem_of
from transom.bench.plan.failures import one_line
from transom.bench.plan.task import Outcome, Row, Task
from transom.bench.run.curves import Curve, number, thinned
from transom.bench.run.incumbents import Answer, handed_over
from transom.result import Result, Status
from transom.solving import check

UNFINISHED: tuple[Outcome, ...] = ("error", "timeout", "memory", "crash")
"""Outcomes of runs that count with what they had handed over."""


def recovered(row: Row, task: Task, folder: Path) -> Row:
    """A row with the curve and the best answer that its run had handed over, where it says nothing of an answer.

    The answer is judged here, with a copy of the instance that no solver ever held; one that does not stand makes the
    run ``wrong``. Its value is the judge's; the bound is the word of the solver, as ever.

    Parameters
    ----------
    row : of a run that was ended, raised, or whose process died; any other is given back as it is.
    task : the run.
    folder : of its worker.
    """
    if row.outcome not in UNFINISHED or row.what != "solve" or row.value is not None or row.curve:
        return row
    answer, curve = handed_over(folder)
    if answer is None and not curve:
        return row
    try:
        result = _claimed(task, answer, curve)
        wrong = check(problem_of(task), result)
    except Exception as fault:  # what came across can be anything
        result, wrong = None, [f"it cannot be judged: {type(fault).__name__}: {fault}"]
    if wrong or result is None:
        cause = f"what it handed over before its end did not stand: {'; '.join(wrong)}; then {row.outcome}: {row.cause}"
        return msgspec.structs.replace(row, outcome="wrong", cause=one_line(cause))
    return msgspec.structs.replace(
        row, status=result.status, value=number(result.value), bound=number(result.bound), curve=thinned(result.curve)
    )


def _claimed(task: Task, answer: Answer | None, curve: Curve) -> Result:
    """What came across as a result, so that it is judged as any other."""
    solution = None if answer is None else answer.solution()
    value = None if answer is None or solution is None else answer.value
    bound = next((bound for _, _, bound in reversed(curve) if bound is not None), None)
    status: Status = "unknown" if solution is None else "optimal" if bound == value else "feasible"
    if answer is not None and answer.infeasible and solution is None:
        status = "infeasible"
    return Result(
        instance=task.instance,
        problem=task.problem,
        solver=task.name,
        parameters={},
        status=status,
        reason="error",
        solution=solution,
        value=value,
        bound=bound,
        seconds=0.0,
        seed=task.seed,
        curve=_up_to(curve, None if answer is None or value is None else (answer.seconds, value)),
    )


def _up_to(curve: Curve, found: tuple[float, float] | None) -> Curve:
    """A curve with no better values than that of the answer that came across, and with its step."""
    when, value = (-math.inf, None) if found is None else found
    before = [step for step in curve if step[0] <= when]
    if found is not None and (not before or before[-1][1] != value):
        before.append((when, value, before[-1][2] if before else None))
    return (*before, *((later, value, bound) for later, _, bound in curve if later > when))
