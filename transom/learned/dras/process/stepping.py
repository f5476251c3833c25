"""From one decision to the next, compiled: what happens in between, and what it is rewarded with."""

from __future__ import annotations

from transom._system.compiling import borrowing
from transom.learned.dras.process.process import LEVEL, OVER, Course, Scheme, begin, candidates_of, finish, take
from transom.learned.dras.process.rewards import Reward, passed, selected
from transom.models.arrays import FloatArray, IntArray
from transom.simulation.core.events import ENDING, NEVER, NEXT, QUEUED, SUBMIT, State, advance


@borrowing
def settle(s: State, c: Course, scheme: Scheme, nodes: int, reward: Reward, gathered: FloatArray) -> int:
    """Go on within an instant to the next decision among two candidates or more; their number, or 0 if it is over.

    Where there is one candidate it is taken, and its reward added to ``gathered[0]``.
    """
    while c.at[LEVEL] != OVER:
        count = candidates_of(s, c, scheme)
        if count > 1:
            return count
        if count == 1:
            act(s, c, scheme, nodes, reward, gathered, 0)
    return 0


@borrowing
def go_on(
    s: State,
    c: Course,
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
        if c.at[LEVEL] != OVER:
            count = settle(s, c, scheme, nodes, reward, gathered)
            if count:
                return count
            finish(s, c, runtime)
        if s.at[QUEUED]:
            coming = s.ends[0, 0] if s.at[ENDING] else NEVER
            if s.at[NEXT] < len(s.jobs):
                coming = min(coming, s.jobs[s.at[NEXT], SUBMIT])
            gathered[0] += passed(reward, s.jobs, s.queue, s.at, cost, int(coming))
        if not advance(s.jobs, s.queue, s.ends, s.expected, s.ended, s.free, s.children, s.at):
            return 0
        begin(s, c, scheme)


@borrowing
def act(s: State, c: Course, scheme: Scheme, nodes: int, reward: Reward, gathered: FloatArray, k: int) -> None:
    """Take the candidate ``k`` of a decision, and add its reward to ``gathered[0]``."""
    job = s.queue[c.candidates[k]]
    take(s, c, scheme, k)
    gathered[0] += selected(reward, s, c, job, nodes)
