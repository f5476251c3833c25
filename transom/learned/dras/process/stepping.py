"""Compiled steps from one decision to the next, and their rewards."""

from __future__ import annotations

from transom._system.compiling import compiled, no_refcount
from transom.learned.dras.process.process import (
    LEVEL,
    OVER,
    AgentConfig,
    DecisionState,
    begin,
    candidates_of,
    finish,
    take,
)
from transom.learned.dras.process.rewards import RewardState, passed, selected
from transom.models.arrays import IntArray
from transom.simulation.core.events import ENDING, NEVER, NEXT, QUEUED, SUBMIT, State, advance


@no_refcount
def step_within_instant(s: State, c: DecisionState, scheme: AgentConfig, nodes: int, rewards: RewardState) -> int:
    """Go on within an instant to the next decision among two candidates or more; their number, or 0 if it is over.

    Where there is one candidate it is taken, and its reward added to ``rewards.gathered``.
    """
    while c.at[LEVEL] != OVER:
        count = candidates_of(s, c, scheme)
        if count > 1:
            return count
        if count == 1:
            act(s, c, scheme, nodes, rewards, 0)
    return 0


@no_refcount
def step_to_next_decision(
    s: State, c: DecisionState, scheme: AgentConfig, nodes: int, runtime: IntArray, rewards: RewardState
) -> int:
    """Go on to the next decision among two candidates or more; their number, or 0 at the end of the trace.

    Rewards on the way are added to ``rewards.gathered``. Called again before the choice is taken, it stays where it is.
    """
    while True:
        if c.at[LEVEL] != OVER:
            count = step_within_instant(s, c, scheme, nodes, rewards)
            if count:
                return count
            finish(s, c, runtime)
        if s.at[QUEUED]:
            coming = s.ends[0, 0] if s.at[ENDING] else NEVER
            if s.at[NEXT] < len(s.jobs):
                coming = min(coming, s.jobs[s.at[NEXT], SUBMIT])
            rewards.gathered[0] += passed(rewards.reward, s.jobs, s.queue, s.at, rewards.cost, int(coming))
        if not advance(s.jobs, s.queue, s.ends, s.expected, s.ended, s.free, s.children, s.at):
            return 0
        begin(s, c, scheme)


@no_refcount
def act(s: State, c: DecisionState, scheme: AgentConfig, nodes: int, rewards: RewardState, k: int) -> None:
    """Take the candidate ``k`` of a decision, and add its reward to ``rewards.gathered``."""
    job = s.queue[c.candidates[k]]
    take(s, c, scheme, k)
    rewards.gathered[0] += selected(rewards.reward, s, c, job, nodes)


@compiled
def step(
    s: State, c: DecisionState, scheme: AgentConfig, nodes: int, runtime: IntArray, rewards: RewardState, k: int
) -> int:
    """:func:`act`, then :func:`step_to_next_decision`: from Python, handing the arrays over takes longer than the
    step."""
    act(s, c, scheme, nodes, rewards, k)
    return step_to_next_decision(s, c, scheme, nodes, runtime, rewards)
