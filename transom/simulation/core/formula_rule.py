"""A priority rule by formula: which names it may use, and where their values come from.

What does not change with time is computed once for all jobs, so that such a formula is as fast as a rule in NumPy; only
the rest is left to the program that runs before each pass (:mod:`~transom.simulation.core.formula_scores`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from transom import registry
from transom.errors import SpecError
from transom.heuristics.formulas import Expression, column_of, names_in, parse_formula
from transom.heuristics.priority_rules import F4, Clock, PriorityRule, Scores
from transom.models import JobTable
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.registry import Seconds
from transom.simulation.core.formula_scores import (
    COLUMN,
    FREE_NODES,
    HELD,
    NEGATIVE,
    NUMBER,
    OF_USER,
    ONE,
    PREDICTED,
    QUEUE_LENGTH,
    SHARED,
    SINCE,
    STAMP,
    TWO,
    USER_NODES,
    USER_USE,
    Program,
    score_jobs,
)
from transom.simulation.core.predictions import names_of, new_predictions
from transom.traces.further_fields import read_fields
from transom.traces.job_facts import AMOUNTS, job_facts
from transom.traces.trace_file import is_trace_file
from transom.traces.workload import Workload

_DAY = 86_400

FIXED: dict[str, Callable[[JobTable, int], FloatArray | IntArray]] = {
    "walltime": lambda jobs, origin: jobs.walltime,
    "nodes": lambda jobs, origin: jobs.nodes,
    "submit": lambda jobs, origin: jobs.submit - origin + 1,
    "hour": lambda jobs, origin: jobs.submit // 3600 % 24,
    "weekday": lambda jobs, origin: jobs.submit // _DAY % 7,
}
"""What every job states."""

STATED = ("cores", "priority", "queue", "partition")
"""What a trace may state."""

_OF_NOW = {"queue_length": (SHARED, QUEUE_LENGTH), "free_nodes": (SHARED, FREE_NODES)}
_OF_USERS = {"user_nodes": (OF_USER, USER_NODES), "user_use": (OF_USER, USER_USE)}
_STATE = {**_OF_NOW, **_OF_USERS, "predicted": (PREDICTED, 0)}
_INSTRUCTIONS = {name: NEGATIVE + k for k, name in enumerate((*ONE, *TWO))}
_QUEUE, _PARTITION = 15, 16  # fields of the Standard Workload Format


@dataclass(frozen=True, slots=True)
class Formula:
    """The score is an arithmetic expression, lowest first; a job whose score is not finite comes last.

    Parameters
    ----------
    score : numbers and names with ``+ - * / **``, ``log``, ``log2``, ``log10``, ``sqrt``, ``exp``, ``abs``, ``min`` and
        ``max``. Names are ``walltime`` [s], ``nodes``, ``submit`` (the submission since the clock began, plus 1 [s]),
        ``hour`` (0 to 23) and ``weekday`` (0 to 6) of the submission, counted from second 0 of the trace on, ``wait``
        [s], ``queue_length``, ``free_nodes``, ``user_nodes`` (on which jobs of the user run), ``user_use`` (what these
        have used, with its decay [node s]), ``predicted`` (the runtime [s]), where the trace
        states them ``cores``, ``priority``, ``queue`` and ``partition``, and the further resources of the machine.
    half_life : after which use counts half [s], > 0.
    clock : as of :class:`~transom.heuristics.priority_rules.LogRule`, for ``submit``.
    predict : the predictor of ``predicted``, by a specification (:mod:`~transom.heuristics.predictors`).

    Raises
    ------
    SpecError : the score is no such expression, or the half-life is out of range.
    """

    score: str = "submit"
    half_life: Seconds = 7.0 * _DAY
    clock: Clock | None = None
    predict: str = "shrunk"

    expression: Expression = field(init=False, repr=False, compare=False)
    names: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 < self.half_life < math.inf:
            raise SpecError(f"formula: half_life must be > 0 s, got {self.half_life}")
        object.__setattr__(self, "expression", parse_formula(self.score))
        object.__setattr__(self, "names", frozenset(names_in(self.expression)))
        if self.clock is None and "submit" in self.names:
            object.__setattr__(self, "clock", "trace")

    @property
    def timeless(self) -> bool:
        """Whether scores do not change while jobs wait."""
        return not _changes(self.expression)

    def fitted(self, workload: Workload) -> FittedFormula:
        """The formula with what only a workload states.

        Raises
        ------
        SpecError : it names what is not known.
        TraceError : the trace cannot be read any more.
        """
        resources = {re.sub(r"\W", "_", name): k for k, name in enumerate(workload.cluster.resources)}
        stated: dict[str, FloatArray] = {}
        for name in sorted(self.names - {*FIXED, *_STATE, "wait"}):
            if name in resources:
                stated[name] = workload.jobs.demand[:, resources[name]].astype(np.float64)
            elif name in STATED:
                stated[name] = _stated(workload, name)
            else:
                known = (*FIXED, "wait", *_STATE, *STATED, *resources)
                raise registry.unknown("name in a formula", name, known)
        for name in sorted(self.names & _OF_USERS.keys()):
            if len(workload) and not (workload.jobs.user >= 0).any():
                raise SpecError(f"formula: {name}: the trace states no users")
        odd = np.zeros(len(workload), np.bool_)
        return FittedFormula(self, stated, workload.jobs.id, odd, partial(names_of, workload))

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        return FittedFormula(self, {}, jobs.id, np.zeros(len(jobs), np.bool_), jobs.id.copy)(jobs, now, origin)


def with_predictions(rule: PriorityRule, predict: str) -> Formula:
    """A rule that goes by predicted runtimes where it went by walltimes.

    Parameters
    ----------
    rule : it states its formula, as all named rules do.
    predict : the predictor, by a specification.

    Raises
    ------
    SpecError : the rule states no formula, or there is no such predictor.
    """
    made = rule if isinstance(rule, Formula) else None
    score = getattr(rule, "formula", None) if made is None else made.score
    if score is None:
        raise SpecError(f"predict: {type(rule).__name__} states no formula in which predictions could stand")
    registry.load(registry.PREDICTORS, registry.parse(predict)[0])
    score = re.sub(r"\bwalltime\b", "predicted", score)
    if made is not None:
        return replace(made, score=score, predict=predict)
    return Formula(score, clock=getattr(rule, "clock", None), predict=predict)


def f4_predicted(predict: str = "shrunk", clock: Clock = "trace") -> Formula:
    """F4 by predicted runtimes."""
    return with_predictions(F4(clock), predict)


@dataclass(frozen=True, eq=False, slots=True)
class FittedFormula:
    """A formula for the jobs of a workload.

    Parameters
    ----------
    formula : the rule.
    stated : what only the workload says of its jobs, by name, shape ``(jobs,)`` each.
    ids : of the jobs, shape ``(jobs,)``.
    odd : is set for the jobs whose score was not finite at some time, shape ``(jobs,)``.
    job_names : gives the names of the jobs as numbers, shape ``(jobs,)``.
    """

    formula: Formula
    stated: Mapping[str, FloatArray]
    ids: IntArray
    odd: BoolArray
    job_names: Callable[[], IntArray]

    @property
    def timeless(self) -> bool:
        """Whether scores do not change while jobs wait."""
        return self.formula.timeless

    @property
    def clock(self) -> Clock | None:
        """When the clock of the formula began, if it asks for one."""
        return self.formula.clock

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        if known := sorted(self.formula.names & _STATE.keys()):
            raise SpecError(f"formula: {known[0]} is known in replays alone")
        scores = np.empty(len(jobs))
        facts, program = self.program(jobs, origin)
        score_jobs(program, facts, np.arange(len(jobs)), len(jobs), now, scores)
        return scores

    def program(self, jobs: JobTable, origin: int) -> tuple[FloatArray, Program]:
        """What the program reads of each job, shape ``(jobs, k)``, and the program.

        Raises
        ------
        SpecError : a name is not known outside of a replay.
        """
        values = self._values(jobs, origin)
        code: list[tuple[int, int]] = []
        numbers: list[float] = []
        columns: dict[Expression, FloatArray] = {}

        def column(of: Expression, value: FloatArray) -> int:
            columns.setdefault(of, np.broadcast_to(value, len(jobs)))
            return list(columns).index(of)

        def emit(part: Expression) -> int:
            """Append what puts the value of a part on the stack; how many places that takes."""
            if isinstance(part, float):
                numbers.append(part)
                code.append((NUMBER, len(numbers) - 1))
            elif not _changes(part):
                code.append((COLUMN, column(part, column_of(part, values))))
            elif part == "wait":
                code.append((SINCE, column("wait", jobs.submit.astype(np.float64))))
            elif isinstance(part, str):
                code.append(_STATE[part])
            else:
                places = max(k + emit(operand) for k, operand in enumerate(part[1:]))
                code.append((_INSTRUCTIONS[part[0]], 0))
                return places
            return 1

        places, n = emit(self.formula.expression), len(jobs)
        by_user, predicts = bool(self.formula.names & _OF_USERS.keys()), "predicted" in self.formula.names
        # Who differs in the facts may differ in the score.
        differ = np.arange(n) if predicts else jobs.user if by_user else np.zeros(n)
        facts = np.column_stack([*columns.values(), differ]).astype(np.float64)
        predictions = new_predictions(self.formula.predict, jobs, self.job_names) if predicts else None
        users = np.unique(jobs.user[jobs.user >= 0]) if by_user else np.empty(0, np.int64)
        user = np.where(jobs.user >= 0, np.searchsorted(users, jobs.user), -1) if by_user else np.empty(0, np.int64)
        aligned = np.array_equal(jobs.id, self.ids)
        return facts, Program(
            code=np.array(code, np.int64).reshape(-1, 2),
            numbers=np.array(numbers, np.float64),
            stack=np.empty((places, n)),
            odd=self.odd if aligned else np.zeros(n, np.bool_),
            shared=np.zeros(2),
            of_user=np.zeros((2, len(users))),
            used=np.zeros(len(users)),
            user=user,
            held=np.empty(len(user), np.int64),
            since=np.empty(len(user), np.int64),
            listed=np.empty(len(user), np.int64),
            at=np.zeros(1 + max(HELD, STAMP), np.int64),
            rate=np.array([math.log(2.0) / self.formula.half_life]),
            predictions=predictions,
            steady=predicts and not self.formula.names & {*_STATE, "wait"} - {"predicted"},
        )

    def _values(self, jobs: JobTable, origin: int) -> dict[str, FloatArray]:
        order = np.argsort(self.ids) if self.stated else np.empty(0, np.int64)
        values = {}
        for name in sorted(self.formula.names - {*_STATE, "wait"}):
            if name in FIXED:
                values[name] = FIXED[name](jobs, origin).astype(np.float64)
            elif name in self.stated:
                values[name] = self.stated[name][order[np.searchsorted(self.ids, jobs.id, sorter=order)]]
            else:
                raise SpecError(f"formula: {name} is known in replays of traces alone")
        return values


def _changes(part: Expression) -> bool:
    return any(name == "wait" or name in _STATE for name in names_in(part))


def _stated(workload: Workload, name: str) -> FloatArray:
    """What the trace states of each job, not a number where it states nothing."""
    jobs, path = workload.jobs, workload.origin.path
    column: FloatArray
    if name == "priority" and (jobs.priority >= 0).any():
        column = jobs.priority.astype(np.float64)
    elif name == "cores":
        column = job_facts(workload).amounts[:, AMOUNTS.index("cpu")].astype(np.float64)
    elif path in ("", "-") or (name == "priority" and not is_trace_file(path)):
        column = np.full(len(jobs), -1.0)
    else:
        wanted = {"queue": _QUEUE, "partition": _PARTITION}.get(name, name)
        column = read_fields(path, [wanted], jobs.id)[wanted]
    if len(jobs) and not (column >= 0).any():
        raise SpecError(f"formula: {name}: the trace states none")
    return np.where(column >= 0, column, np.nan)
