"""The process before the first instant of a replay, or at a window: where policies begin and what they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.learned.dras.process.features import known_of
from transom.learned.dras.process.process import (
    AHEAD,
    BEGIN,
    COUNTERS,
    HOLDER,
    PICKED,
    AgentConfig,
    DecisionState,
    begin,
    candidates_of,
    check_config,
    close,
    take,
)
from transom.models import Window
from transom.models import job as table
from transom.models.arrays import IntArray
from transom.models.job import UNKNOWN
from transom.simulation.core.decision import Decision, Reservation
from transom.simulation.core.events import State
from transom.simulation.passes.window_pass import state_at


def new_decision_state(
    state: State, scheme: AgentConfig, nodes: int, priority: IntArray | None = None
) -> DecisionState:
    """The decision state before the first instant of a replay.

    Parameters
    ----------
    state : of the replay, of ``n`` jobs.
    scheme : how to schedule.
    nodes : of the machine.
    priority : the site's priorities of the jobs, shape ``(n,)``; unknown if None.

    Raises
    ------
    SpecError : a number of the scheme is out of range.
    """
    check_config(scheme)
    given = np.full(len(state.jobs), UNKNOWN) if priority is None else priority
    decision_state: DecisionState = _decision_state(state.jobs, len(state.free), scheme, nodes, given)
    return decision_state


@compiled
def _decision_state(jobs: IntArray, amounts: int, scheme: AgentConfig, nodes: int, priority: IntArray) -> DecisionState:
    n = len(jobs)
    at = np.zeros(COUNTERS, np.int64)
    at[HOLDER] = at[BEGIN] = -1
    known = known_of(jobs, priority, nodes, scheme.longest)
    return DecisionState(
        at,
        np.zeros(amounts, np.int64),
        np.empty(scheme.window, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        known,
    )


def state_from_window(window: Window, scheme: AgentConfig, holder: int = -1) -> tuple[State, DecisionState]:
    """State and decision state of a replay that stands at ``window``, for policies that see windows.

    Parameters
    ----------
    window : its queue by submission.
    scheme : how to schedule.
    holder : id of the job that holds a reservation since an earlier instant, -1 for none.

    Raises
    ------
    SpecError : a number of the scheme is out of range.
    """
    check_config(scheme)
    state, decision_state = state_from_arrays(parts(window), window.cluster.num_nodes, scheme, holder)
    return state, decision_state


class Parts(NamedTuple):
    """What kernels take of a window: now, data of its queue and its running jobs, their ends, what is free."""

    now: int
    queue: IntArray
    running: IntArray
    running_end: IntArray
    available: IntArray


def parts(window: Window) -> Parts:
    """The parts of a window that kernels take."""
    return Parts(window.now, window.queue.data, window.running.data, window.running_end, window.available)


@compiled
def state_from_arrays(window: Parts, nodes: int, scheme: AgentConfig, holder: int) -> tuple[State, DecisionState]:
    """:func:`state_from_window` at the :func:`parts` of a window."""
    now, queue, running, running_end, available = window
    waiting = len(queue)
    state = state_at(now, queue, running, running_end, available, np.arange(waiting))
    priority = np.concatenate((queue[:, table.PRIORITY], running[:, table.PRIORITY]))
    decision_state = _decision_state(state.jobs, len(available), scheme, nodes, priority)
    for job in range(waiting):
        if queue[job, table.ID] == holder:
            decision_state.at[HOLDER] = job
    return state, decision_state


def decide_one_by_one(
    window: Window,
    scheme: AgentConfig,
    holder: int,
    choose: Callable[[State, DecisionState, int], int],
    selected: Callable[[State, DecisionState, int], None] = lambda *_: None,
) -> tuple[State, DecisionState]:
    """Decide the instant of a window, one selection after the other, whoever chooses.

    Parameters
    ----------
    window, scheme, holder : as of :func:`state_from_window`.
    choose : gives the place of a candidate, of state, decision state and how many candidates there are, two or more.
    selected : told state, decision state and the job after each selection, also of the only candidate.

    Returns
    -------
    State and decision state of the instant, which is over, for :func:`decided`.
    """
    state, decision_state = state_from_window(window, scheme, holder)
    begin(state, decision_state, scheme)
    while count := candidates_of(state, decision_state, scheme):
        k = choose(state, decision_state, count) if count > 1 else 0
        job = int(state.queue[decision_state.candidates[k]])
        take(state, decision_state, scheme, k)
        selected(state, decision_state, job)
    close(state.queue, decision_state)
    return state, decision_state


@compiled
def decided(queue: IntArray, decision_state: DecisionState) -> tuple[IntArray, int, int, int]:
    """What was decided within an instant that is over, for :func:`decision_of`; ``queue`` is of the window.

    Returns
    -------
    Ids of the jobs that start, in order, how many of them are backfilled, the id of the job that holds a reservation,
    or -1, and its shadow time.
    """
    # At a window jobs are numbered by their places in the queue.
    place, count = decision_state.at, decision_state.at[PICKED]
    ids = np.empty(count, np.int64)
    for k in range(count):
        ids[k] = queue[decision_state.picks[k], table.ID]
    holder = queue[place[HOLDER], table.ID] if place[HOLDER] >= 0 else -1
    return ids, place[AHEAD], holder, place[BEGIN]


def decision_of(ids: IntArray, ahead: int, holder: int, begin: int) -> Decision:
    """The decision that :func:`decided` tells of."""
    chosen = ids.tolist()
    first = len(chosen) - ahead
    reserve = (Reservation(holder, begin),) if holder >= 0 else ()
    return Decision(start=tuple(chosen[:first]), backfill=tuple(chosen[first:]), reserve=reserve)
