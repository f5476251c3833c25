"""A queue whose order changes with time, ordered anew before each pass, compiled.

A rule that says how to score waiting jobs in a kernel (:class:`~transom.heuristics.priority_rules.KernelRule`) is
asked inside the loop of the replay. From one pass to the next few jobs change places: merging skips what is in order.

Long queues with few kinds of jobs, as tasks of workflows are, are not even looked at: jobs of which the rule reads the
same facts have the same score, so one of each kind shows whether the queue is still in order, and jobs that are new to
it are inserted.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from transom._system.compiling import as_argument, inlined, no_refcount
from transom._system.signals import interrupt_behind
from transom.errors import SpecError
from transom.heuristics.priority_rules import KERNEL_ARGUMENTS
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.simulation.core.due_times import DueTimes, begin_due, due_times, move_due
from transom.simulation.core.events import NOW, PASSED, QUEUED, RANK, STARTED, State
from transom.simulation.core.formula_rule import FittedFormula
from transom.simulation.core.formula_scores import Program, begin_again, foresee, observe, score_jobs
from transom.simulation.core.site_order import name_of_rule

if TYPE_CHECKING:
    from transom.heuristics.priority_rules import KernelRule, PriorityRule
    from transom.models import JobTable


_LONG = 256  # jobs, from which on kinds are looked at
_PER_KIND = 4  # jobs of a kind, on average, from which on that is worth it
_ALIKE = 8  # kinds of equal score that are compared before one may be listed twice

# Places in QueueOrder.at: kinds that are listed, 0 if they are not; jobs that were in order, and how many had started.
KINDS, ORDERED, BEFORE = range(3)


class QueueOrder(NamedTuple):
    """What it takes to order a queue.

    ``fill`` is the rule's kernel or, where that is None, ``program`` its formula, and ``facts`` ``(jobs, k)`` what
    these read; ``scores`` ``(jobs,)`` is by place in the queue, ``of_job`` ``(jobs,)`` by job where they
    seldom change. ``left`` and ``left_scores`` ``(jobs,)`` hold the left
    part of a merge. ``kinds`` ``(jobs,)`` is a job of each kind, in the order of the queue, ``kind_scores`` are their
    scores, and ``tied`` says whether a kind had the score of the one before it; ``one`` and ``score``
    ``(1,)`` are for single jobs. ``due``: when jobs go to the head, whatever their scores.
    """

    fill: Any
    program: Program | None
    facts: FloatArray
    scores: FloatArray
    of_job: FloatArray
    left: IntArray
    left_scores: FloatArray
    kinds: IntArray
    kind_scores: FloatArray
    tied: BoolArray
    one: IntArray
    score: FloatArray
    at: IntArray
    due: DueTimes


def queue_order(rule: PriorityRule, jobs: JobTable, origin: int) -> QueueOrder | None:
    """The order of a rule whose scores change with time; None if they do not, or if it has no kernel.

    Raises
    ------
    SpecError : the rule does not give one row of facts per job, or its kernel cannot be compiled.
    """
    if rule.timeless:
        return None
    n = len(jobs)
    if isinstance(rule, FittedFormula):
        facts, program = rule.program(jobs, origin)
        fill = None
    elif getattr(rule, "kernel", None) is not None:
        timed, program = cast("KernelRule", rule), None
        facts = np.array(timed.facts(jobs, origin), np.float64, order="C")
        if facts.ndim != 2 or len(facts) != n:
            raise SpecError(f"{name_of_rule(rule)}: expected facts of shape ({n}, k), got {facts.shape}")
        fill = _compiled_kernel(timed)
    else:
        return None
    return QueueOrder(
        fill, program, facts, scores=np.empty(n), of_job=np.empty(n), left=np.empty(n, np.int64),
        left_scores=np.empty(n), kinds=np.empty(n, np.int64), kind_scores=np.empty(n), tied=np.empty(n, np.bool_),
        one=np.empty(1, np.int64), score=np.empty(1), at=np.zeros(3, np.int64),
        due=due_times(rule, n),
    )  # fmt: skip


def _compiled_kernel(rule: KernelRule) -> Any:
    wanted = f"{name_of_rule(rule)}: kernel must be a function (facts, queue, count, now, scores)"
    if inspect.ismethod(rule.kernel):
        raise SpecError(f"{wanted}, not a method: it needs @staticmethod")
    try:
        return as_argument(rule.kernel, KERNEL_ARGUMENTS)
    except Exception as error:  # whatever the compiler says, in many lines
        if pressed := interrupt_behind(error):
            raise pressed from None
        why = next((line for line in map(str.strip, str(error).splitlines()[1:]) if line), str(error))
        raise SpecError(f"{wanted} that Numba can compile: {why}") from None


@no_refcount
def reorder(
    o: QueueOrder,
    jobs: IntArray,
    queue: IntArray,
    expected: IntArray,
    ended: IntArray,
    free: IntArray,
    at: IntArray,
) -> None:
    """Bring the queue into the order that holds now: by score, then by job, which is by submission, then by id.

    New jobs stand at the end of it, as they do where all have the same rank; jobs that started stood in front of those.
    Jobs that have waited longer than the bound, or are overdue, stay at its head.
    """
    move_due(o.due, jobs, queue, expected, free, at)
    _observe(o.program, jobs, queue, free, at)
    head = 0
    while head < at[QUEUED] and jobs[queue[head], RANK] < 0:
        head += 1
    ordered = max(o.at[ORDERED] - (at[STARTED] - o.at[BEFORE]) - head, 0)
    o.at[ORDERED], o.at[BEFORE] = at[QUEUED], at[STARTED]
    kept = _foresee(o.program, jobs, queue[head : at[QUEUED]], ordered, ended, at, o.left)
    if kept >= 0:
        for place in range(head + kept, at[QUEUED]):
            o.of_job[queue[place]] = _score(o, queue[place], at[NOW])
            at[PASSED] = min(at[PASSED], _insert_known(o.of_job, queue, head, place))
        return
    at[PASSED] = 0
    _reorder(o, queue[head:], at[QUEUED] - head, ordered, at)
    _keep_scores(o.program, o.scores, queue[head : at[QUEUED]], o.of_job)


@no_refcount
def _reorder(o: QueueOrder, queue: IntArray, count: int, ordered: int, at: IntArray) -> None:
    """Order a queue whose first ``ordered`` jobs were in order at the last pass."""
    if o.at[KINDS] > 0 and _still_ordered(o, count, at[NOW]):
        while ordered < count and _insert(o, queue, ordered, at[NOW]):
            ordered += 1
        if ordered == count:
            return
    _fill(o.fill, o.program, o.facts, queue, count, at[NOW], o.scores)
    sort_by_score(queue, o.scores, o.left, o.left_scores, count)
    _list_kinds(o, queue, count)


# What is None is not compiled: a rule with a kernel is as fast as if there were no formulas.


@no_refcount
def _fill(
    fill: Any,
    program: Program | None,
    facts: FloatArray,
    queue: IntArray,
    count: int,
    now: int,
    scores: FloatArray,
) -> None:
    if fill is not None:
        fill(facts, queue, count, now, scores)
    if program is not None:
        score_jobs(program, facts, queue, count, now, scores)


@no_refcount
def _observe(program: Program | None, jobs: IntArray, queue: IntArray, free: IntArray, at: IntArray) -> None:
    if program is not None:
        observe(program, jobs, queue, free, at)


@no_refcount
def _foresee(
    program: Program | None,
    jobs: IntArray,
    queue: IntArray,
    known: int,
    ended: IntArray,
    at: IntArray,
    aside: IntArray,
) -> int:
    kept = -1
    if program is not None:
        kept = foresee(program.predictions, program.steady, jobs, queue, known, ended, at, aside)
    return kept


@no_refcount
def _keep_scores(program: Program | None, scores: FloatArray, queue: IntArray, of_job: FloatArray) -> None:
    if program is not None and program.steady:
        for i in range(len(queue)):
            of_job[queue[i]] = scores[i]


@no_refcount
def _begin_again(program: Program | None, jobs: IntArray, now: int) -> None:
    if program is not None:
        begin_again(program, jobs, now)


@no_refcount
def begin_future(o: QueueOrder, s: State) -> None:
    """Order the next queue anew: it is that of another state, and not the one that the last pass left."""
    o.at[KINDS] = 0
    begin_due(o.due)
    _begin_again(o.program, s.jobs, s.at[NOW])


@no_refcount
def _still_ordered(o: QueueOrder, count: int, now: int) -> bool:
    """Whether the kinds of jobs are in the order that they were in, with the same ones equal."""
    kinds = o.at[KINDS]
    if kinds * _PER_KIND > count:
        return False
    _fill(o.fill, o.program, o.facts, o.kinds, kinds, now, o.kind_scores)
    for k in range(1, kinds):
        if o.tied[k]:
            if o.kind_scores[k] != o.kind_scores[k - 1]:
                return False
        elif not o.kind_scores[k] > o.kind_scores[k - 1]:
            return False
    return True


@no_refcount
def _insert(o: QueueOrder, queue: IntArray, place: int, now: int) -> bool:
    """Move the job at a place, up to which the queue is in order, to where it belongs; False if that takes too long."""
    job = queue[place]
    score = _score(o, job, now)
    low, high = 0, place
    while low < high:
        middle = (low + high) // 2
        if _before(_score(o, queue[middle], now), queue[middle], score, job):
            low = middle + 1
        else:
            high = middle
    for i in range(place, low, -1):
        queue[i] = queue[i - 1]
    queue[low] = job
    low, high = 0, o.at[KINDS]
    while low < high:
        middle = (low + high) // 2
        if o.kind_scores[middle] < score:
            low = middle + 1
        else:
            high = middle
    tied = False
    while low < o.at[KINDS] and o.kind_scores[low] == score:
        if _alike(o, o.kinds[low], job):
            return True
        tied = True
        low += 1
    if o.at[KINDS] == len(o.kinds):
        return False
    for k in range(o.at[KINDS], low, -1):
        o.kinds[k], o.kind_scores[k], o.tied[k] = o.kinds[k - 1], o.kind_scores[k - 1], o.tied[k - 1]
    o.kinds[low], o.kind_scores[low], o.tied[low] = job, score, tied
    o.at[KINDS] += 1
    return True


@no_refcount
def _insert_known(scores: FloatArray, queue: IntArray, low: int, place: int) -> int:
    """Move the job at a place to where it belongs, from ``low`` on; ``scores`` are by job. Where that is."""
    job, high = queue[place], place
    while low < high:
        middle = (low + high) // 2
        if _before(scores[queue[middle]], queue[middle], scores[job], job):
            low = middle + 1
        else:
            high = middle
    for i in range(place, low, -1):
        queue[i] = queue[i - 1]
    queue[low] = job
    return low


@inlined
def _score(o: QueueOrder, job: int, now: int) -> float:
    o.one[0] = job
    _fill(o.fill, o.program, o.facts, o.one, 1, now, o.score)
    return float(o.score[0])


@inlined
def _alike(o: QueueOrder, job: int, other: int) -> bool:
    """Whether the rule reads the same of two jobs."""
    same = True
    for k in range(o.facts.shape[1]):
        same = same and o.facts[job, k] == o.facts[other, k]
    return same


@no_refcount
def _list_kinds(o: QueueOrder, queue: IntArray, count: int) -> None:
    """List the kinds of jobs of a queue in order, unless it is short or they are many."""
    kinds, first = 0, 0  # the first kind of the score at hand
    o.at[KINDS] = 0
    if count < _LONG:
        return
    for i in range(count):
        tied = kinds > 0 and o.scores[i] == o.kind_scores[kinds - 1]
        if not tied:
            first = kinds
        known = False
        for k in range(max(first, kinds - _ALIKE), kinds):
            known = known or _alike(o, o.kinds[k], queue[i])
        if known:
            continue
        o.kinds[kinds], o.kind_scores[kinds], o.tied[kinds] = queue[i], o.scores[i], tied
        kinds += 1
        if kinds * _PER_KIND > count:
            return
    o.at[KINDS] = kinds


@no_refcount
def sort_by_score(queue: IntArray, scores: FloatArray, left: IntArray, left_scores: FloatArray, count: int) -> None:
    """Sort the first ``count`` jobs of a queue, and their scores, by score, then by job.

    ``left`` and ``left_scores`` are scratch, as long as the queue.
    """
    width = 1
    while width < count:
        for low in range(0, count - width, 2 * width):
            middle = low + width
            if _before(scores[middle], queue[middle], scores[middle - 1], queue[middle - 1]):
                _merge(queue, scores, left, left_scores, low, middle, min(middle + width, count))
        width *= 2


@no_refcount
def _merge(
    queue: IntArray,
    scores: FloatArray,
    left: IntArray,
    left_scores: FloatArray,
    low: int,
    middle: int,
    high: int,
) -> None:
    """Merge the ordered places from ``low`` to ``middle`` with those from there to ``high``."""
    while not _before(scores[middle], queue[middle], scores[low], queue[low]):
        low += 1
    size = middle - low
    for i in range(size):
        left[i], left_scores[i] = queue[low + i], scores[low + i]
    i, k = 0, low
    while i < size:
        if middle < high and _before(scores[middle], queue[middle], left_scores[i], left[i]):
            queue[k], scores[k] = queue[middle], scores[middle]
            middle += 1
        else:
            queue[k], scores[k] = left[i], left_scores[i]
            i += 1
        k += 1


@inlined
def _before(score: float, job: int, other_score: float, other: int) -> bool:
    return score < other_score or (score == other_score and job < other)
