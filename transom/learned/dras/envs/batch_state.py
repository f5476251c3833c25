"""Many replays side by side, compiled: their jobs lie one after another, so that one call steps all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled
from transom.learned.dras.process.process import BEGIN, COUNT, HOLDER, Course, Scheme
from transom.learned.dras.process.rewards import Reward, RewardState
from transom.learned.dras.process.state_from_window import new_course
from transom.learned.dras.process.stepping import go_on, step
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.simulation.core.events import NEVER, WAKE, State
from transom.simulation.core.replay import Replay
from transom.traces.workload import Workload


class Lanes(NamedTuple):
    """States and courses of E replays; arrays over jobs are those of all replays one after another.

    ``rows`` ``(E + 1,)``: where the jobs of each replay begin and end; ``edges`` ``(E + 1,)``: the same in
    ``children``; ``fresh`` and ``capacity``: ``jobs`` and ``free`` before the first event; the others as in
    :class:`~transom.simulation.core.events.State` and :class:`~transom.learned.dras.process.process.Course`, with a
    row for each replay where they are not over jobs.
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


def new_lanes(workloads: Sequence[Workload], scheme: Scheme, costs: Sequence[FloatArray]) -> Lanes:
    """Lanes of these workloads before their first events; ``costs`` as of :func:`~.rewards.holding_cost`."""
    replays = [Replay(workload, "fcfs") for workload in workloads]
    states = [replay.state for replay in replays]
    courses = [new_course(r.state, scheme, r.cluster.num_nodes, r.jobs.priority) for r in replays]
    over_jobs = ("queue", "ends", "expected", "ended", "children")
    return Lanes(
        rows=_offsets([len(state.jobs) for state in states]),
        edges=_offsets([len(state.children) for state in states]),
        fresh=np.concatenate([state.jobs for state in states]),
        capacity=np.stack([state.free for state in states]),
        jobs=np.concatenate([state.jobs for state in states]),
        **{name: np.concatenate([getattr(state, name) for state in states]) for name in over_jobs},
        free=np.stack([state.free for state in states]),
        at=np.stack([state.at for state in states]),
        place=np.stack([course.at for course in courses]),
        extra=np.stack([course.extra for course in courses]),
        candidates=np.stack([course.candidates for course in courses]),
        picks=np.concatenate([course.picks for course in courses]),
        modes=np.concatenate([course.modes for course in courses]),
        known=np.concatenate([course.known for course in courses]),
        runtime=np.concatenate([workload.runtime for workload in workloads]),
        cost=np.concatenate(costs),
    )


def _offsets(lengths: Sequence[int]) -> IntArray:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


@compiled
def lane_of(lanes: Lanes, lane: int) -> tuple[State, Course]:
    """State and course of one replay: views, not copies."""
    low, high = lanes.rows[lane], lanes.rows[lane + 1]
    state = State(
        lanes.jobs[low:high],
        lanes.queue[low:high],
        lanes.ends[low:high],
        lanes.expected[low:high],
        lanes.ended[low:high],
        lanes.free[lane],
        lanes.children[lanes.edges[lane] : lanes.edges[lane + 1]],
        lanes.at[lane],
    )
    course = Course(
        lanes.place[lane],
        lanes.extra[lane],
        lanes.candidates[lane],
        lanes.picks[low:high],
        lanes.modes[low:high],
        lanes.known[low:high],
    )
    return state, course


@compiled
def restart(lanes: Lanes, lane: int) -> None:
    """Put one replay back to before its first event."""
    low, high = lanes.rows[lane], lanes.rows[lane + 1]
    lanes.jobs[low:high] = lanes.fresh[low:high]
    lanes.free[lane] = lanes.capacity[lane]
    lanes.at[lane] = 0
    lanes.at[lane, WAKE] = NEVER
    lanes.place[lane] = 0
    lanes.place[lane, HOLDER] = lanes.place[lane, BEGIN] = -1


@compiled
def start_all(lanes: Lanes, scheme: Scheme, nodes: int, reward: Reward, gathered: FloatArray) -> bool:
    """Put all replays at their first decision; False if one has none.

    ``gathered``, shape ``(E, 1)``, holds the rewards since the last decision of each.
    """
    every = True
    for lane in range(len(lanes.at)):
        gathered[lane] = 0.0
        restart(lanes, lane)
        every &= _go_on(lanes, lane, scheme, nodes, reward, gathered) > 0
    return every


@compiled
def step_all(
    lanes: Lanes,
    scheme: Scheme,
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
    lanes, scheme, nodes, reward, gathered : as in :func:`start_all`.
    actions : choices, shape ``(E,)``; one that is forbidden is counted on from the first candidate.
    rewards, ended : filled: the rewards up to the next decision or the end, and whether it was the end; ``(E,)``.
    """
    for lane in range(len(actions)):
        s, c = lane_of(lanes, lane)
        low, high = lanes.rows[lane], lanes.rows[lane + 1]
        state = RewardState(reward, lanes.cost[low:high], gathered[lane])
        ended[lane] = step(s, c, scheme, nodes, lanes.runtime[low:high], state, actions[lane] % c.at[COUNT]) == 0
        rewards[lane] = gathered[lane, 0]
        gathered[lane] = 0.0
        if ended[lane]:
            restart(lanes, lane)
            _go_on(lanes, lane, scheme, nodes, reward, gathered)


@compiled
def _go_on(lanes: Lanes, lane: int, scheme: Scheme, nodes: int, reward: Reward, gathered: FloatArray) -> int:
    s, c = lane_of(lanes, lane)
    low, high = lanes.rows[lane], lanes.rows[lane + 1]
    rewards = RewardState(reward, lanes.cost[low:high], gathered[lane])
    return go_on(s, c, scheme, nodes, lanes.runtime[low:high], rewards)
