"""The process before the first instant of a replay, or at a window: where policies begin and what they say."""

from __future__ import annotations

import numpy as np

from transom.errors import SpecError
from transom.learned.dras.features import known_of
from transom.learned.dras.process import AHEAD, BEGIN, COUNTERS, HOLDER, PICKED, RANGES, Course, Scheme
from transom.models import Window
from transom.models._arrays import IntArray
from transom.simulation import events
from transom.simulation.decision import Decision, Reservation
from transom.simulation.events import State
from transom.simulation.window_pass import window_state


def new_course(state: State, scheme: Scheme, nodes: int, priority: IntArray | None = None) -> Course:
    """A course before the first instant of a replay.

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
    for name, (least, most) in RANGES.items():
        if not least <= getattr(scheme, name) <= most:
            raise SpecError(f"scheme: {name} must be from {least} to {most}, got {getattr(scheme, name)}")
    n = len(state.jobs)
    course = Course(
        at=np.zeros(COUNTERS, np.int64),
        extra=np.zeros(len(state.free), np.int64),
        candidates=np.empty(scheme.window, np.int64),
        picks=np.empty(n, np.int64),
        modes=np.empty(n, np.int64),
        known=known_of(state.jobs, np.full(n, -1) if priority is None else priority, nodes, scheme.longest),
    )
    course.at[HOLDER] = course.at[BEGIN] = -1
    return course


def standing(window: Window, scheme: Scheme, holder: int = -1) -> tuple[State, Course]:
    """State and course of a replay that stands at ``window``, for policies that see windows.

    Parameters
    ----------
    window : its queue by submission.
    scheme : how to schedule.
    holder : id of the job that holds a reservation since an earlier instant, -1 for none.
    """
    waiting = len(window.queue)
    state = window_state(window, np.arange(waiting))
    state.jobs[:waiting, events.SUBMIT] = window.queue.submit
    priority = np.concatenate((window.queue.priority, window.running.priority))
    course = new_course(state, scheme, window.cluster.num_nodes, priority)
    if holder >= 0:
        found = np.flatnonzero(window.queue.id == holder)
        course.at[HOLDER] = found[0] if found.size else -1
    return state, course


def decision_of(window: Window, state: State, course: Course) -> Decision:
    """What was decided within an instant that is over and closed (:func:`close`)."""
    count, ahead = int(course.at[PICKED]), int(course.at[AHEAD])
    ids = window.queue.id[state.queue[course.picks[:count]]].tolist()
    holder = int(course.at[HOLDER])
    reserve = (Reservation(int(window.queue.id[holder]), int(course.at[BEGIN])),) if holder >= 0 else ()
    return Decision(start=tuple(ids[: count - ahead]), backfill=tuple(ids[count - ahead :]), reserve=reserve)
