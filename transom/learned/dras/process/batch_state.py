"""Many replays side by side, compiled: their jobs lie one after another, so that one call steps all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    """States and decision states of E replays; arrays over jobs are those of all replays one after another.

    ``rows`` ``(E + 1,)``: where the jobs of each replay begin and end; ``edges`` ``(E + 1,)``: the same in
    ``children``; ``fresh`` and ``capacity``: ``jobs`` and ``free`` before the first event; the others as in
    :class:`~transom.simulation.core.events.State` and :class:`~transom.learned.dras.process.process.DecisionState`,
    with a row for each replay where they are not over jobs.
    """

    rows: IntArray
    edges: IntArray
    fresh: IntArray
    capacity: IntArray
    jobs: IntArray
    queue: IntArray
    ends: IntArray
    expected: IntArray
    ended: IntArray
    free: IntArray
    children: IntArray
    at: IntArray
    place: IntArray
    extra: IntArray
    candidates: IntArray
    picks: IntArray
    modes: IntArray
    known: NDArray[np.float32]
    runtime: IntArray
    cost: FloatArray


def new_batch(workloads: Sequence[Workload], scheme: AgentConfig, costs: Sequence[FloatArray]) -> BatchState:
    """A batch of these workloads before their first events; ``costs`` as of :func:`~.rewards.holding_cost`."""
    replays = [Replay(workload, "fcfs") for workload in workloads]
    states = [replay.state for replay in replays]
    decision_states = [new_decision_state(r.state, scheme, r.cluster.num_nodes, r.jobs.priority) for r in replays]
    over_jobs = ("queue", "ends", "expected", "ended", "children")
    return BatchState(
        rows=_offsets([len(state.jobs) for state in states]),
        edges=_offsets([len(state.children) for state in states]),
        fresh=np.concatenate([state.jobs for state in states]),
        capacity=np.stack([state.free for state in states]),
        jobs=np.concatenate([state.jobs for state in states]),
        **{name: np.concatenate([getattr(state, name) for state in states]) for name in over_jobs},
        free=np.stack([state.free for state in states]),
        at=np.stack([state.at for state in states]),
        place=np.stack([decision_state.at for decision_state in decision_states]),
        extra=np.stack([decision_state.extra for decision_state in decision_states]),
        candidates=np.stack([decision_state.candidates for decision_state in decision_states]),
        picks=np.concatenate([decision_state.picks for decision_state in decision_states]),
        modes=np.concatenate([decision_state.modes for decision_state in decision_states]),
        known=np.concatenate([decision_state.known for decision_state in decision_states]),
        runtime=np.concatenate([workload.runtime for workload in workloads]),
        cost=np.concatenate(costs),
    )


def _offsets(lengths: Sequence[int]) -> IntArray:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


@compiled
def replay_of(batch: BatchState, env: int) -> tuple[State, DecisionState]:
    """State and decision state of one replay: views, not copies."""
    low, high = batch.rows[env], batch.rows[env + 1]
    state = State(
        batch.jobs[low:high],
        batch.queue[low:high],
        batch.ends[low:high],
        batch.expected[low:high],
        batch.ended[low:high],
        batch.free[env],
        batch.children[batch.edges[env] : batch.edges[env + 1]],
        batch.at[env],
    )
    decision_state = DecisionState(
        batch.place[env],
        batch.extra[env],
        batch.candidates[env],
        batch.picks[low:high],
        batch.modes[low:high],
        batch.known[low:high],
    )
    return state, decision_state


@compiled
def restart(batch: BatchState, env: int) -> None:
    """Put one replay back to before its first event."""
    low, high = batch.rows[env], batch.rows[env + 1]
    batch.jobs[low:high] = batch.fresh[low:high]
    batch.free[env] = batch.capacity[env]
    batch.at[env] = 0
    batch.at[env, WAKE] = NEVER
    batch.place[env] = 0
    batch.place[env, HOLDER] = batch.place[env, BEGIN] = -1


@compiled
def start_all(batch: BatchState, scheme: AgentConfig, nodes: int, reward: Reward, gathered: FloatArray) -> bool:
    """Put all replays at their first decision; False if one has none.

    ``gathered``, shape ``(E, 1)``, holds the rewards since the last decision of each.
    """
    every = True
    for env in range(len(batch.at)):
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
