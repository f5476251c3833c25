"""From one decision to the next, compiled: what happens in between, and what it is rewarded with.

These take the arrays of state and course one by one: an array that is taken out of a bundle within the loop counts
references, which costs as much as a step.
"""

from __future__ import annotations

from transom._system.compiling import borrowing
from transom.learned.dras.process.process import LEVEL, OVER, Scheme, begin, candidates_of, finish, take
from transom.learned.dras.process.rewards import Reward, passed, selected
from transom.models.arrays import FloatArray, IntArray
from transom.simulation.core.events import ENDING, NEVER, NEXT, QUEUED, SUBMIT, advance


@borrowing
def settle(
    jobs: IntArray,
    queue: IntArray,
    expected: IntArray,
    free: IntArray,
    at: IntArray,
    place: IntArray,
    extra: IntArray,
    candidates: IntArray,
    picks: IntArray,
    modes: IntArray,
    scheme: Scheme,
    nodes: int,
    reward: Reward,
    gathered: FloatArray,
) -> int:
    """Go on within an instant to the next decision among two candidates or more; their number, or 0 if it is over.

    Where there is one candidate it is taken, and its reward added to ``gathered[0]``.
    """
    while place[LEVEL] != OVER:
        count = candidates_of(jobs, queue, free, at, place, extra, candidates, scheme)
        if count > 1:
            return count
        if count == 1:
            job = queue[candidates[0]]
            take(jobs, queue, expected, free, at, place, extra, candidates, picks, modes, scheme, 0)
            gathered[0] += selected(reward, jobs, queue, free, at, place, job, nodes)
    return 0


@borrowing
def go_on(
    jobs: IntArray,
    queue: IntArray,
    ends: IntArray,
    expected: IntArray,
    ended: IntArray,
    free: IntArray,
    children: IntArray,
    at: IntArray,
    place: IntArray,
    extra: IntArray,
    candidates: IntArray,
    picks: IntArray,
    modes: IntArray,
    scheme: Scheme,
    nodes: int,
    runtime: IntArray,
    cost: FloatArray,
    reward: Reward,
    gathered: FloatArray,
) -> int:
    """Go on to the next decision among two candidates or more; their number, or 0 at the end of the trace.

    Rewards on the way are added to ``gathered[0]``. Called again before the choice is taken, it stays where it is.
    """
    while True:
        if place[LEVEL] != OVER:
            count = settle(
                jobs, queue, expected, free, at, place, extra, candidates, picks, modes, scheme, nodes, reward, gathered
            )
            if count:
                return count
            finish(jobs, queue, ends, at, runtime, place, picks, modes)
        if at[QUEUED]:
            coming = ends[0, 0] if at[ENDING] else NEVER
            if at[NEXT] < len(jobs):
                coming = min(coming, jobs[at[NEXT], SUBMIT])
            gathered[0] += passed(reward, jobs, queue, at, cost, int(coming))
        if not advance(jobs, queue, ends, expected, ended, free, children, at):
            return 0
        begin(jobs, queue, expected, free, at, place, extra, candidates, picks, modes, scheme)


@borrowing
def act(
    jobs: IntArray,
    queue: IntArray,
    expected: IntArray,
    free: IntArray,
    at: IntArray,
    place: IntArray,
    extra: IntArray,
    candidates: IntArray,
    picks: IntArray,
    modes: IntArray,
    scheme: Scheme,
    nodes: int,
    reward: Reward,
    gathered: FloatArray,
    k: int,
) -> None:
    """Take the candidate ``k`` of a decision, and add its reward to ``gathered[0]``."""
    job = queue[candidates[k]]
    take(jobs, queue, expected, free, at, place, extra, candidates, picks, modes, scheme, k)
    gathered[0] += selected(reward, jobs, queue, free, at, place, job, nodes)
