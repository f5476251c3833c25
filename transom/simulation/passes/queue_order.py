"""A queue whose order changes with time, ordered anew before each pass, compiled.

A rule that says how to score waiting jobs in a kernel (:class:`~transom.heuristics.priority_rules.KernelRule`) is
asked inside the loop of the replay. From one pass to the next few jobs change places: merging skips what is in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from transom._system.compiling import as_argument, inlined, no_refcount
from transom.errors import SpecError
from transom.heuristics.priority_rules import KERNEL_ARGUMENTS
from transom.models.arrays import FloatArray, IntArray
from transom.simulation.core.events import NOW, PASSED, QUEUED

if TYPE_CHECKING:
    from transom.heuristics.priority_rules import KernelRule, PriorityRule
    from transom.models import JobTable


class QueueOrder(NamedTuple):
    """What it takes to order a queue.

    ``fill`` is the rule's kernel and ``facts`` ``(jobs, k)`` what it reads; ``scores`` ``(jobs,)`` is by place in the
    queue. ``left`` and ``left_scores`` ``(jobs,)`` hold the left part of a merge.
    """

    fill: Any
    facts: FloatArray
    scores: FloatArray
    left: IntArray
    left_scores: FloatArray


def queue_order(rule: PriorityRule, jobs: JobTable, origin: int) -> QueueOrder | None:
    """The order of a rule whose scores change with time; None if they do not, or if it has no kernel.

    Raises
    ------
    SpecError : the rule does not give one row of facts per job.
    """
    if rule.timeless or getattr(rule, "kernel", None) is None:
        return None
    n, timed = len(jobs), cast("KernelRule", rule)
    facts = np.array(timed.facts(jobs, origin), np.float64, order="C")
    if facts.ndim != 2 or len(facts) != n:
        raise SpecError(f"{type(rule).__name__}: expected facts of shape ({n}, k), got {facts.shape}")
    fill = as_argument(timed.kernel, KERNEL_ARGUMENTS)
    return QueueOrder(fill, facts, scores=np.empty(n), left=np.empty(n, np.int64), left_scores=np.empty(n))


@no_refcount
def reorder(o: QueueOrder, queue: IntArray, at: IntArray) -> None:
    """Bring the queue into the order that holds now: by score, then by job, which is by submission, then by id."""
    count = at[QUEUED]
    o.fill(o.facts, queue, count, at[NOW], o.scores)
    at[PASSED] = 0
    width = 1
    while width < count:
        for low in range(0, count - width, 2 * width):
            middle = low + width
            if _before(o.scores[middle], queue[middle], o.scores[middle - 1], queue[middle - 1]):
                _merge(o, queue, low, middle, min(middle + width, count))
        width *= 2


@no_refcount
def _merge(o: QueueOrder, queue: IntArray, low: int, middle: int, high: int) -> None:
    """Merge the ordered places from ``low`` to ``middle`` with those from there to ``high``."""
    while not _before(o.scores[middle], queue[middle], o.scores[low], queue[low]):
        low += 1
    size = middle - low
    for i in range(size):
        o.left[i], o.left_scores[i] = queue[low + i], o.scores[low + i]
    i, k = 0, low
    while i < size:
        if middle < high and _before(o.scores[middle], queue[middle], o.left_scores[i], o.left[i]):
            queue[k], o.scores[k] = queue[middle], o.scores[middle]
            middle += 1
        else:
            queue[k], o.scores[k] = o.left[i], o.left_scores[i]
            i += 1
        k += 1


@inlined
def _before(score: float, job: int, other_score: float, other: int) -> bool:
    return score < other_score or (score == other_score and job < other)
