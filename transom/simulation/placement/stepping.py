"""A replay of tasks step by step, for training: one decision after another, each a pair of task and machine.

All of it is compiled and works on the :class:`~transom.simulation.placement.state.State` of a replay, so that a loop
over episodes may be compiled, too: :func:`~transom.simulation.placement.state.next_decision` goes on to an instant at
which something fits, :func:`pairs` lists what fits with its features, :func:`start` carries a choice out and says
whether the instant has another one. Replays of the same workload begin from :func:`restart`; a state that is made with
room for all instances needs no more of it.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom._system.records import records
from transom.models.arrays import FloatArray, IntArray
from transom.simulation.placement.state import Numbers, State, fits, note_pass, place

FEATURES = 4
"""Features of a pair beside those that count resources: the estimate of the duration [s], instances that wait and that
run of the task, and seconds since its submission; before them stand what is free of each of R resources on the machine
and what the task needs of each, as shares of the machine."""


@compiled
def pairs(state: State, machines: FloatArray, estimate: FloatArray, found: IntArray, features: FloatArray) -> int:
    """List every waiting task with every machine that it fits on, machine by machine, tasks in order of submission.

    Parameters
    ----------
    state : at an instant of :func:`~transom.simulation.placement.state.next_decision`.
    machines : capacities, shape ``(M, R)``.
    estimate : durations as schedulers know them [s], shape ``(T,)``.
    found : filled with rows of task and machine, shape ``(M T, 2)`` or more rows.
    features : filled with a row for each, shape ``(M T, 2 R + FEATURES)``.

    Returns
    -------
    How many there are.
    """
    count, resources = 0, state.free.shape[1]
    for machine in range(len(state.free)):
        for i in range(state.at.queued):
            task = state.queue[i]
            if state.waiting[task] == 0 or not fits(state, task, machine):
                continue
            found[count, 0], found[count, 1] = task, machine
            row = features[count]
            for r in range(resources):
                row[r] = state.free[machine, r] / machines[machine, r]
                row[resources + r] = state.demands[task, r] / machines[machine, r]
            row[2 * resources] = estimate[task]
            row[2 * resources + 1] = state.waiting[task]
            row[2 * resources + 2] = state.running[task]
            row[2 * resources + 3] = state.at.now - state.visible[task]
            count += 1
    return count


@compiled
def start(state: State, task: int, machine: int) -> bool:
    """Start an instance of a pair; whether anything still fits at this instant. If not, the pass is recorded."""
    at = state.at
    if at.batches == at.fresh:
        at.before = at.waiting
    place(state, task, machine)
    for i in range(at.queued):
        if state.waiting[state.queue[i]] > 0:
            for other in range(len(state.free)):
                if fits(state, state.queue[i], other):
                    return True
    note_pass(state, at.before)
    return False


@no_refcount
def restart(state: State, machines: IntArray, instances: IntArray) -> None:
    """Back to before anything happened; what was recorded is forgotten."""
    at = state.at
    at.now, at.arrived, at.queued, at.ordered, at.waiting = 0, 0, 0, 0, 0
    at.ending, at.batches, at.fresh, at.started, at.passes = 0, 0, 0, 0, 0
    for machine in range(len(machines)):
        for r in range(machines.shape[1]):
            state.free[machine, r] = machines[machine, r]
    for task in range(len(instances)):
        state.waiting[task], state.running[task] = instances[task], 0


def several(state: State, count: int) -> State:
    """So many episodes side by side: what changes has a place for each of them first.

    A kernel makes the state of one of them where it needs it, of ``states.free[episode]`` and so on.
    """
    at = records(Numbers, count)
    at[:] = state.at
    each = {
        name: np.repeat(getattr(state, name)[None], count, axis=0)
        for name in ("free", "waiting", "running", "queue", "heap", "batches", "ends", "log")
    }
    return state._replace(at=cast(Numbers, at), **each)
