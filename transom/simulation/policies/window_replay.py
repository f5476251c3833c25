"""The replay of a window policy under ``dp``: pass after pass inside one compiled loop.

A pass whose choice the loop leaves, as its table is too large or its judge refuses the choice, is put to the solver.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled
from transom.models import Objective, Window
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.simulation.core.drive import drive, new_log
from transom.simulation.core.events import DEMAND, NOW, QUEUED, SUBMIT, WALLTIME, State, advance, launch
from transom.simulation.core.schedule import COLUMNS
from transom.simulation.passes.knapsack_pass import Scratch, carry_out, new_scratch, offer
from transom.simulation.passes.rule_replay import after, before
from transom.simulation.policies.window_choice import (
    OBJECTIVES,
    JobValue,
    choose,
    item_values,
    scale_of,
    stands,
    weights_of,
)
from transom.solvers.knapsack.dynamic_programming import DynamicProgramming
from transom.solving import Solver
from transom.stop import Stop

if TYPE_CHECKING:
    from transom.simulation.core.replay import Progress, Replay

_WORK = 200_000_000  # cells of tables between two looks at the progress bar and Ctrl-C: a tenth of a second
_CELLS = 16_000_000  # cells of the largest table that is filled without a look at the clock: a few milliseconds
_SECONDS = 0.1  # shorter times are watched [s]

_ENDED, _REPORT, _LEFT = range(3)  # why the loop returned: end of the trace, time to report, a choice for the solver

Ask = Callable[[Window, IntArray, int], tuple[BoolArray, dict[str, Any]]]
"""Choose among jobs, by their places in the queue, of so many nodes: a mask of them, and notes."""


class Terms(NamedTuple):
    """A window policy in numbers.

    ``lengths`` of the window by jobs that wait; the last one is that of all longer queues, too. ``job_value`` is the
    objective, ``scale`` that of its values; ``memory`` [bytes] and ``cells`` limit the solver's table, ``work``
    [cells] what is done between two looks at Ctrl-C.
    """

    lengths: IntArray
    easy: bool
    job_value: JobValue
    scale: int
    memory: int
    cells: int
    work: int


class Facts(NamedTuple):
    """Of every job: priority, id, and runtime."""

    priority: IntArray
    ids: IntArray
    runtime: IntArray


class Notes(NamedTuple):
    """By decision: the log, shape ``(columns, decisions)``, jobs in the window, value of the choice, choices cut."""

    log: IntArray
    window: IntArray
    value: FloatArray
    cut: IntArray


def takes(solver: Solver, objective: Objective, stop: Stop) -> bool:
    """Whether choices of a solver can be made in the compiled loop."""
    return (
        type(solver) is DynamicProgramming
        and type(objective) in OBJECTIVES
        and stop.iterations is None
        and (stop.seconds is None or stop.seconds >= _SECONDS)
    )


def terms_of(solver: Solver, objective: Objective, easy: bool, lengths: IntArray, num_nodes: int) -> Terms:
    """A policy whose choices are taken here; ``lengths`` of the window by jobs that wait."""
    assert isinstance(solver, DynamicProgramming)
    job_value = JobValue(OBJECTIVES.index(type(objective)), *weights_of(objective), num_nodes)
    memory = min(solver.memory, 2**40) * 2**20
    return Terms(lengths, easy, job_value, scale_of(objective), memory, _CELLS, _WORK)


def run_windows(replay: Replay, terms: Terms, ask: Ask, report: Progress) -> dict[str, NDArray[Any]]:
    """Replay a window policy to the end of the trace.

    Parameters
    ----------
    replay : before its first event; its state is changed.
    terms : of the policy.
    ask : its solver, for what the loop leaves.
    report : called now and then with the number of started jobs.

    Returns
    -------
    The decisions by column: :data:`~transom.simulation.core.schedule.COLUMNS`, and what the policy notes. ``seconds``
    is the mean of up to some thousand decisions.
    """
    state, scratch = replay.state, new_scratch(replay.state)
    facts = Facts(replay.jobs.priority.copy(), replay.ids, replay.runtime)
    log = new_log()
    page = log.shape[1]
    notes = Notes(log, np.empty(page, np.int64), np.empty(page), np.empty(page, np.int64))
    columns: dict[str, NDArray[Any]] = {
        **dict(zip(COLUMNS, log, strict=True)),
        "window": notes.window,
        "status": np.empty(page, object),
        "value": notes.value,
        "bound": np.empty(page),
        "seconds": np.empty(page),
        "cut": notes.cut,
    }

    def step(row: int, until: int, arrived: bool) -> tuple[int, bool]:
        began, first = perf_counter(), row
        row, why = _run(state, terms, facts, scratch, notes, row, until, arrived)
        columns["status"][first:row], columns["bound"][first:row] = "optimal", notes.value[first:row]
        columns["seconds"][first:row] = (perf_counter() - began) / max(1, row - first)
        if why == _LEFT:
            chosen, noted = ask(replay.window(), scratch.where[: scratch.at.items].copy(), int(scratch.at.room))
            for name, said in noted.items():
                columns[name][row] = said
            _finish(state, terms, facts, scratch, notes, row, chosen)
            row += 1
        return row, why != _ENDED

    # Where the order changes as time goes by, or nodes come and go, only single passes are compiled.
    decisions = drive(replay, step, columns, report, replay.rule.timeless and not replay.stepwise)
    if not len(decisions["time"]):
        return {name: decisions[name] for name in COLUMNS}
    return decisions | {"status": np.array(decisions["status"].tolist())}


@compiled
def _run(
    s: State, terms: Terms, facts: Facts, scratch: Scratch, notes: Notes, row: int, until: int, arrived: bool
) -> tuple[int, int]:
    """Pass after pass until ``row`` reaches ``until`` or much work is done; (row, why it returned).

    ``arrived`` says that the events of the first pass have been taken in.
    """
    jobs, queue, ends, expected, ended, free, children, at = s
    work = 0
    while row < until and work < terms.work:
        if not arrived and not advance(jobs, queue, ends, expected, ended, free, children, at):
            return row, _ENDED
        arrived = False
        spent = _choose(s, terms, facts, scratch, notes, row)
        if spent < 0:
            return row, _LEFT
        work += spent
        row += 1
    return row, _REPORT


@compiled
def _choose(s: State, terms: Terms, facts: Facts, scratch: Scratch, notes: Notes, row: int) -> int:
    """One decision; the cells of the table that it took, or -1 if the choice is left and nothing was changed."""
    jobs, queue, at = s.jobs, s.queue, s.at
    waiting, now, where = at[QUEUED], at[NOW], scratch.where
    offer(s, terms.lengths[min(waiting, len(terms.lengths) - 1)], scratch)
    items, room = scratch.at.items, scratch.at.room
    values, weights, waits = np.empty(items, np.int64), np.empty(items, np.int64), np.empty(items, np.int64)
    walltimes, priorities = np.empty(items, np.int64), np.empty(items, np.int64)
    for i in range(items):
        job = queue[where[i]]
        weights[i], waits[i] = jobs[job, DEMAND], now - jobs[job, SUBMIT]
        walltimes[i], priorities[i] = jobs[job, WALLTIME], facts.priority[job]
    longest, waited = 0, 0.0
    for i in range(waiting):
        wait = now - jobs[queue[i], SUBMIT]
        longest, waited = max(longest, wait), waited + np.float64(jobs[queue[i], DEMAND]) * (wait + 1)
    if waited >= 2.0**61:
        return -1  # an objective may refuse the queue, of which these are but some items
    if not item_values(terms.job_value, waits, weights, walltimes, priorities, longest, values):
        return -1
    solved, value, chosen, cells = choose(values, weights, room, terms.cells, terms.memory)
    if not solved or not stands(values, weights, room, chosen, value):
        return -1
    notes.window[row], notes.value[row] = items, np.float64(value) / terms.scale
    _finish(s, terms, facts, scratch, notes, row, chosen)
    return cells


@compiled
def _finish(s: State, terms: Terms, facts: Facts, scratch: Scratch, notes: Notes, row: int, chosen: BoolArray) -> None:
    """Carry out a choice and fill its row."""
    before(notes.log, row, s.at, s.free)
    count, ahead, cut, begin = carry_out(s, terms.easy, scratch, chosen)
    launch(s.jobs, s.queue, s.ends, s.at, facts.runtime, scratch.picks, scratch.modes, count)
    after(notes.log, row, count, ahead, scratch.at.held, begin, facts.ids)
    notes.cut[row] = cut
