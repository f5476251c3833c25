"""The search for structures, from the last entry to the first: which labels are set where, and what becomes of them."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom.solvers.allocation.dcas.labels import (
    AT,
    BEGIN_ENTRY,
    BEGIN_JOB,
    CIRCLE,
    DONE,
    END_ENTRY,
    FINISHED,
    LABELS,
    LAYER,
    MORE,
    ONLY,
    PHASE,
    ROW,
    WRAP,
    begin_job,
    extend,
    row_of,
)
from transom.solvers.allocation.dcas.mixed import begin_mixed, extend_mixed
from transom.solvers.allocation.dcas.sets import SIZE, SPAN, UNIT, disjoint


@compiled
def search(  # type: ignore[no-untyped-def]
    state, work, limit, places, prices, charged, units, starts, in_pod, ahead, known, stamps, weights,
    jobs, sets, room, low, single,
    labels, paid, heads, active, actives, cost, outer, together, lists, lengths, following,
    switches, anywhere, latest, tally,
):  # fmt: skip
    """Find every structure that may be part of a better solution, from the last entry to the first.

    Parameters
    ----------
    state : see :data:`AT`; changed.
    work : after about how many labels to return.
    limit : the most that a structure, its nodes' prices included, may cost above its jobs at their best.
    places, weights : of ``gains``.
    prices, charged : price of each entry, and their sums before each entry of the doubled sequence.
    units : what a hop is worth in the tables of gains, shape ``(tables,)``: one for each size, or 1 for all.
    starts : first entry of each pod.
    in_pod, ahead : the tables of ``gains`` and ``reach``, one for each unit.
    known, stamps : gains that have been asked for, shape ``(tables, 2, entries, most + 1)``, and the last pod
        that counted then, shape ``(tables, 2, entries)``.
    jobs, sets, room : of ``make_sets``.
    low : what the jobs of each set cost at least, prices included, shape ``(sets,)``.
    single : cost of each size's block from each entry, shape ``(sizes, entries)``.
    labels, paid : the arena, shapes ``(labels, 8)`` and ``(labels,)``: fields and cost of what was jumped.
    heads, active, actives : of the two layers the first label of each set, the sets that have one, how many.
    cost, outer, together : by row and set, the best structure, its outer job and the best row of structures.
    lists, lengths : the sets that have structures, and rows of structures, at each row.
    following : the next entry at which a row of structures begins, for each entry of the doubled sequence.
    switches, anywhere, latest, tally : of ``extend_mixed``, where switches alternate along the sequence; else
        ``tally`` has no columns.
    """
    mixed = tally.shape[1] > 0
    entries = places.shape[1]
    total = sets[SPAN, sets.shape[1] - 1]
    stop_at = state[LABELS] + work
    while True:
        if state[PHASE] == BEGIN_ENTRY:
            _begin_entry(state, limit, charged, jobs, low, single, cost, outer, lists, lengths)
            state[PHASE] = BEGIN_JOB
        elif state[PHASE] == BEGIN_JOB:
            row = state[ROW]
            if row == jobs.shape[1]:
                state[PHASE] = END_ENTRY
            elif following[state[AT] + 1] < state[AT] + jobs[SIZE, row] and mixed:
                begin_mixed(state, switches, total, labels, tally, latest, paid, heads, active, actives)
                state[PHASE] = LAYER
            elif following[state[AT] + 1] < state[AT] + jobs[SIZE, row] and begin_job(
                state, limit, places, prices, units, starts, in_pod, ahead, known, stamps, weights, jobs, low, total,
                labels, paid, heads, active, actives,
            ):  # fmt: skip
                state[PHASE] = LAYER
            elif state[ONLY]:
                state[PHASE] = FINISHED
            else:
                state[ROW] += 1  # no gaps, or too dear
        elif state[PHASE] == LAYER:
            if mixed:
                why = extend_mixed(
                    state, stop_at, limit, charged, units, weights, jobs, sets, room, low, switches, anywhere, latest,
                    tally, labels, paid, heads, active, actives, cost, outer, together, lists, lengths, following,
                )  # fmt: skip
            else:
                why = extend(
                    state, stop_at, limit, places, prices, charged, units, starts, in_pod, ahead, known, stamps,
                    weights, jobs, sets, room, low,
                    labels, paid, heads, active, actives, cost, outer, together, lists, lengths, following,
                )  # fmt: skip
            if why != DONE:
                return why
            if state[ONLY]:
                state[PHASE] = FINISHED
            else:
                state[PHASE] = BEGIN_JOB
                state[ROW] += 1
        elif state[PHASE] == END_ENTRY:
            at = state[AT]
            state[LABELS] += 1 + _juxtapose(
                at, limit, entries, total, state[CIRCLE], charged, sets, room, low, cost, together, lists, lengths
            )
            following[at] = at if lengths[1, at] else following[at + 1]
            state[ROW] = 0
            state[PHASE] = BEGIN_ENTRY
            if at == entries:
                if state[WRAP]:
                    state[CIRCLE] = 1
                else:
                    state[PHASE] = FINISHED
            elif at < entries and at - 1 + total <= entries:
                state[PHASE] = FINISHED
            state[AT] -= 1
            if state[LABELS] >= stop_at and state[PHASE] != FINISHED:
                return MORE
        else:
            return DONE


@compiled
def _begin_entry(state, limit, charged, jobs, low, single, cost, outer, lists, lengths):  # type: ignore[no-untyped-def]
    """The structures of one job, its plain blocks; on the circle, what is known from the line as well."""
    entries = single.shape[1]
    at = state[AT]
    here = at if at < entries else at - entries
    cost[at, :] = np.inf
    for row in range(jobs.shape[1]):
        size, unit = jobs[SIZE, row], jobs[UNIT, row]
        if at + size <= 2 * entries and (single[row, here] + charged[at + size] - charged[at] - low[unit] <= limit):
            cost[at, unit] = single[row, here]
            outer[at, unit] = row
    if state[CIRCLE]:
        line = at + entries
        for k in range(lengths[0, line]):
            which = lists[0, line, k]
            if cost[line, which] < cost[at, which]:
                cost[at, which] = cost[line, which]
                outer[at, which] = outer[line, which]


@compiled
def _juxtapose(at, limit, entries, total, circle, charged, sets, room, low, cost, together, lists, lengths):  # type: ignore[no-untyped-def]
    """Structures from entry ``at`` with rows of structures right behind them; returns the work done."""
    count = sets.shape[1]
    found = 0
    for which in range(1, count):
        if cost[at, which] < np.inf:
            lists[0, at, found] = which
            found += 1
    lengths[0, at] = found
    lengths[1, at] = 0
    if not found:
        return 0
    together[at, :] = cost[at, :]
    work = found
    for k in range(found):
        first = lists[0, at, k]
        behind = at + sets[SPAN, first]
        if behind >= 2 * entries:
            continue
        behind = row_of(behind, entries, total, circle)
        work += lengths[1, behind]
        for i in range(lengths[1, behind]):
            second = lists[1, behind, i]
            if not disjoint(first, second, sets, room):
                continue
            both = cost[at, first] + together[behind, second]
            if both < together[at, first + second] and (
                both + charged[at + sets[SPAN, first + second]] - charged[at] - low[first + second] <= limit
            ):
                together[at, first + second] = both
    found = 0
    for which in range(1, count):
        if together[at, which] < np.inf:
            lists[1, at, found] = which
            found += 1
    lengths[1, at] = found
    return work
