"""The replay of a window policy under ``dp``: pass after pass inside one compiled loop.

Decisions are those of :meth:`~transom.simulation.policies.window.WindowPolicy.decide`, which also takes every pass that
the loop leaves: one with a table that is too large, or a choice that its judge refuses.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled
from transom.models.arrays import FloatArray, IntArray
from transom.simulation.core.drive import drive, new_log
from transom.simulation.core.events import (
    DEMAND,
    HELD,
    NEVER,
    NOW,
    PASSED,
    QUEUED,
    SUBMIT,
    WALLTIME,
    State,
    advance,
    launch,
    occupy,
)
from transom.simulation.core.schedule import BACKFILLED, COLUMNS, READY, RESERVED
from transom.simulation.passes.easy_backfill import Starts, easy_pass, fits, shadow_time
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

if TYPE_CHECKING:
    from transom.simulation.core.replay import Progress, Replay
    from transom.simulation.policies.window import WindowPolicy

_WORK = 200_000_000  # cells of tables between two looks at the progress bar and Ctrl-C: a tenth of a second
_CELLS = 16_000_000  # cells of the largest table that is filled without a look at the clock: a few milliseconds
_SECONDS = 0.1  # shorter times are watched [s]
_SHARES = 100_000  # longest queue of which shares are tabulated

_ENDED, _REPORT, _LEFT = range(3)  # why the loop returned: end of the trace, time to report, a pass for `decide`


class Terms(NamedTuple):
    """A window policy in numbers.

    ``lengths`` of the window by jobs that wait; empty: ``size`` for all. ``job_value`` is the
    objective, ``scale`` that of its values; ``memory`` [bytes] and ``cells`` limit the solver's table, ``work``
    [cells] what is done between two looks at Ctrl-C.
    """

    size: int
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


class Scratch(NamedTuple):
    """Arrays of a replay of ``n`` jobs: starts of a pass, the queue without them, and the reserved job."""

    picks: IntArray
    modes: IntArray
    rest: IntArray
    where: IntArray
    found: IntArray
    how: IntArray
    extra: IntArray
    held: IntArray


class Notes(NamedTuple):
    """By decision: the log, shape ``(columns, decisions)``, jobs in the window, value of the choice, choices cut."""

    log: IntArray
    window: IntArray
    value: FloatArray
    cut: IntArray


def takes(policy: WindowPolicy) -> bool:
    """Whether the decisions of a policy can be taken in the compiled loop."""
    stop = policy._stop
    return (
        type(policy._solver) is DynamicProgramming
        and type(policy._objective) in OBJECTIVES
        and stop.iterations is None
        and (stop.seconds is None or stop.seconds >= _SECONDS)
    )


def run_windows(replay: Replay, policy: WindowPolicy, report: Progress) -> dict[str, NDArray[Any]]:
    """Replay a window policy that is taken here to the end of the trace.

    Parameters
    ----------
    replay : before its first event; its state is changed.
    policy : the policy, after its reset.
    report : called now and then with the number of started jobs.

    Returns
    -------
    The decisions by column: :data:`~transom.simulation.core.schedule.COLUMNS`, and what the policy notes. ``seconds``
    is the mean of up to some thousand decisions.
    """
    state, terms, scratch = replay.state, _terms(replay, policy), _scratch(replay)
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
            for name, said in _decide(replay, policy, scratch, log[:, row]).items():
                columns[name][row] = said
            row += 1
        return row, why != _ENDED

    # Where the order changes as time goes by, or nodes come and go, only single passes are compiled.
    decisions = drive(replay, step, columns, report, replay.rule.timeless and not replay.stepwise)
    if not len(decisions["time"]):
        return {name: decisions[name] for name in COLUMNS}
    return decisions | {"status": np.array(decisions["status"].tolist())}


def _terms(replay: Replay, policy: WindowPolicy) -> Terms:
    objective, knob = policy._objective, policy.k
    longest = min(len(replay.state.jobs), _SHARES) if knob is not None else -1
    lengths = [policy.length(waiting) for waiting in range(longest + 1)]
    solver = policy._solver
    assert isinstance(solver, DynamicProgramming)
    job_value = JobValue(OBJECTIVES.index(type(objective)), *weights_of(objective), replay.cluster.num_nodes)
    memory, size = min(solver.memory, 2**40) * 2**20, min(policy.size, 2**40)
    lengths_of = np.array(lengths, np.int64)
    return Terms(size, lengths_of, bool(policy.easy), job_value, scale_of(objective), memory, _CELLS, _WORK)


def _scratch(replay: Replay) -> Scratch:
    jobs = len(replay.state.jobs)
    picks, modes, rest, where, found, how = (np.empty(jobs, np.int64) for _ in range(6))
    extra, held = np.empty(len(replay.state.free), np.int64), np.full(1, -1, np.int64)
    return Scratch(picks, modes, rest, where, found, how, extra, held)


def _decide(replay: Replay, policy: WindowPolicy, scratch: Scratch, log: IntArray) -> dict[str, Any]:
    """Have the policy decide a pass that the loop left."""
    ids, held = replay.ids, int(scratch.held[0])
    policy._protected = -1 if held < 0 else int(ids[held])
    decision = policy.decide(replay.window())
    replay.apply(decision, log)
    scratch.held[0] = -1 if policy._protected < 0 else int(np.flatnonzero(ids == policy._protected)[0])
    return dict(decision.notes)


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
        if not terms.easy:
            scratch.held[0] = -1
        spent = _pass(s, terms, facts, scratch, notes, row)
        if spent < 0:
            return row, _LEFT
        work += spent
        row += 1
    return row, _REPORT


@compiled
def _pass(s: State, terms: Terms, facts: Facts, scratch: Scratch, notes: Notes, row: int) -> int:
    """One decision; the cells of the table that it took, or -1 if it is left to the policy and nothing was changed."""
    jobs, queue, ends, expected, _, free, _, at = s
    picks, modes, _, where, _, _, extra, held = scratch
    waiting, now, length = at[QUEUED], at[NOW], terms.size
    if len(terms.lengths):
        if waiting >= len(terms.lengths):
            return -1
        length = terms.lengths[waiting]
    reserved, ready, shadow = -1, -1, NEVER
    if held[0] >= 0:
        for i in range(waiting):
            if queue[i] == held[0]:
                reserved = i
                break
    capacity = free[0]
    if reserved >= 0 and fits(jobs, held[0], free):
        ready, reserved = reserved, -1
        capacity -= jobs[held[0], DEMAND]
    items = 0
    for i in range(min(length, waiting)):
        if i != ready and i != reserved:
            where[items] = i
            items += 1
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
    solved, value, chosen, cells = choose(values, weights, capacity, terms.cells, terms.memory)
    if not solved or not stands(values, weights, capacity, chosen, value):
        return -1

    before(notes.log, row, at, free)
    count, cut = 0, 0
    if ready >= 0:
        occupy(jobs, expected, free, at, queue[ready])
        picks[0], modes[0], count = ready, RESERVED if jobs[queue[ready], HELD] else READY, 1
    elif reserved >= 0:
        shadow = shadow_time(jobs, expected, free, at, queue[reserved], extra, True)
    ahead = 0
    for i in range(items):
        if not chosen[i]:
            continue
        job = queue[where[i]]
        fitting = fits(jobs, job, free)  # a further resource may run out, which the knapsack does not know
        if fitting and reserved >= 0 and now + jobs[job, WALLTIME] > shadow:
            fitting = fits(jobs, job, extra)
            if fitting:
                for r in range(len(extra)):
                    extra[r] -= jobs[job, DEMAND + r]
        if not fitting:
            cut += 1
            continue
        occupy(jobs, expected, free, at, job)
        picks[count] = where[i]
        modes[count] = BACKFILLED if reserved >= 0 else RESERVED if jobs[job, HELD] else READY
        ahead += reserved >= 0
        count += 1
    head, begin = -1, -1
    if terms.easy:
        count, behind, head, begin = _backfill(jobs, queue, expected, free, at, scratch, count, reserved)
        ahead += behind
        held[0] = head
    launch(jobs, queue, ends, at, facts.runtime, picks, modes, count)
    after(notes.log, row, count, ahead, head, begin, facts.ids)
    notes.window[row], notes.value[row], notes.cut[row] = items, np.float64(value) / terms.scale, cut
    return cells


@compiled
def _backfill(
    jobs: IntArray,
    queue: IntArray,
    expected: IntArray,
    free: IntArray,
    at: IntArray,
    scratch: Scratch,
    count: int,
    reserved: int,
) -> tuple[int, int, int, int]:
    """EASY over the jobs that are not among the ``count`` picked ones, the reserved one first.

    Returns the number of picks, how many were backfilled, and who holds the reservation from when on.
    """
    picks, modes, rest, where, found, how, extra, _ = scratch
    waiting, left = at[QUEUED], 0
    for i in range(waiting):
        where[i] = i
    for k in range(count):
        where[picks[k]] = -1
    if reserved >= 0:
        where[reserved] = -1
        rest[0], left = reserved, 1
    for i in range(waiting):
        if where[i] >= 0:
            rest[left] = i
            left += 1
    for i in range(left):
        where[i] = rest[i]
        rest[i] = queue[where[i]]
    at[QUEUED], at[PASSED] = left, 0
    more, behind, head, begin = easy_pass(jobs, rest, expected, free, at, Starts(found, how), extra, True)
    at[QUEUED], at[PASSED] = waiting, 0
    for k in range(more):
        picks[count + k], modes[count + k] = where[found[k]], how[k]
    return count + more, behind, head, begin
