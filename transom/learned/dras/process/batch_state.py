"""Many replays side by side, compiled: their jobs lie one after another, so that one call steps all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.learned.dras.process.process import BEGIN, COUNT, HOLDER, AgentConfig, DecisionState
from transom.learned.dras.process.rewards import Reward, RewardState
from transom.learned.dras.process.state_from_window import new_decision_state
from transom.learned.dras.process.stepping import step, step_to_next_decision
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.simulation.core.events import NEVER, WAKE, State
from transom.simulation.core.replay import Replay
from transom.traces.workload import Workload


class BatchState(NamedTuple):
    """E replays: ``state`` and ``decision`` of all of them, whose arrays over jobs are those of all replays one after
    another, and whose other arrays have a row for each.

    ``rows`` ``(E + 1,)``: where the jobs of each replay begin and end; ``edges`` ``(E + 1,)``: the same in
    ``state.children``; ``fresh`` and ``capacity``: ``jobs`` and ``free`` before the first event.
    """

    rows: IntArray
    edges: IntArray
    fresh: IntArray
    capacity: IntArray
    state: State
    decision: DecisionState
    runtime: IntArray
    cost: FloatArray


def new_batch(workloads: Sequence[Workload], scheme: AgentConfig, costs: Sequence[FloatArray]) -> BatchState:
    """A batch of these workloads before their first events; ``costs`` as of :func:`~.rewards.holding_cost`."""
    replays = [Replay(workload, "fcfs") for workload in workloads]
    decisions = [new_decision_state(r.state, scheme, r.cluster.num_nodes, r.jobs.priority) for r in replays]
    state = _joined([replay.state for replay in replays], ("free", "at"))
    return BatchState(
        rows=_offsets([len(replay.state.jobs) for replay in replays]),
        edges=_offsets([len(replay.state.children) for replay in replays]),
        fresh=state.jobs.copy(),
        capacity=state.free.copy(),
        state=state,
        decision=_joined(decisions, ("at", "extra", "candidates")),
        runtime=np.concatenate([workload.runtime for workload in workloads]),
        cost=np.concatenate(costs),
    )


def _joined(parts: Sequence[Any], apart: tuple[str, ...]) -> Any:
    """Records of arrays as one, field by field: one after another, or in a row each."""
    kind = type(parts[0])
    columns = zip(kind._fields, zip(*parts, strict=True), strict=True)
    return kind(*(np.stack(column) if name in apart else np.concatenate(column) for name, column in columns))


def _offsets(lengths: Sequence[int]) -> IntArray:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


@compiled
def replay_of(batch: BatchState, env: int) -> tuple[State, DecisionState]:
    """State and decision state of one replay: views, not copies."""
    low, high = batch.rows[env], batch.rows[env + 1]
    s, c = batch.state, batch.decision
    state = State(
        s.jobs[low:high],
        s.queue[low:high],
        s.ends[low:high],
        s.expected[low:high],
        s.ended[low:high],
        s.free[env],
        s.children[batch.edges[env] : batch.edges[env + 1]],
        s.at[env],
    )
    decision_state = DecisionState(
        c.at[env], c.extra[env], c.candidates[env], c.picks[low:high], c.modes[low:high], c.known[low:high]
    )
    return state, decision_state


@compiled
def restart(batch: BatchState, env: int) -> None:
    """Put one replay back to before its first event."""
    low, high = batch.rows[env], batch.rows[env + 1]
    at, place = batch.state.at, batch.decision.at
    batch.state.jobs[low:high] = batch.fresh[low:high]
    batch.state.free[env] = batch.capacity[env]
    at[env] = 0
    at[env, WAKE] = NEVER
    place[env] = 0
    place[env, HOLDER] = place[env, BEGIN] = -1


@compiled
def start_all(batch: BatchState, scheme: AgentConfig, nodes: int, reward: Reward, gathered: FloatArray) -> bool:
    """Put all replays at their first decision; False if one has none.

    ``gathered``, shape ``(E, 1)``, holds the rewards since the last decision of each.
    """
    every = True
    for env in range(len(batch.state.at)):
        gathered[env] = 0.0
        restart(batch, env)
        every &= _step_to_next_decision(batch, env, scheme, nodes, reward, gathered) > 0
    return every


@compiled
def step_all(
    batch: BatchState,
    scheme: AgentConfig,
    nodes: int,
    reward: Reward,
    gathered: FloatArray,
    actions: IntArray,
    rewards: FloatArray,
    ended: BoolArray,
) -> None:
    """One step of all replays; those that end begin anew.

    Parameters
    ----------
    batch, scheme, nodes, reward, gathered : as in :func:`start_all`.
    actions : choices, shape ``(E,)``; one that is forbidden is counted on from the first candidate.
    rewards, ended : filled: the rewards up to the next decision or the end, and whether it was the end; ``(E,)``.
    """
    for env in range(len(actions)):
        s, c = replay_of(batch, env)
        low, high = batch.rows[env], batch.rows[env + 1]
        state = RewardState(reward, batch.cost[low:high], gathered[env])
        ended[env] = step(s, c, scheme, nodes, batch.runtime[low:high], state, actions[env] % c.at[COUNT]) == 0
        rewards[env] = gathered[env, 0]
        gathered[env] = 0.0
        if ended[env]:
            restart(batch, env)
            _step_to_next_decision(batch, env, scheme, nodes, reward, gathered)


@compiled
def _step_to_next_decision(
    batch: BatchState, env: int, scheme: AgentConfig, nodes: int, reward: Reward, gathered: FloatArray
) -> int:
    s, c = replay_of(batch, env)
    low, high = batch.rows[env], batch.rows[env + 1]
    rewards = RewardState(reward, batch.cost[low:high], gathered[env])
    return step_to_next_decision(s, c, scheme, nodes, batch.runtime[low:high], rewards)
