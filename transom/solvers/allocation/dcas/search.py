"""The search for structures, from the last entry to the first: which labels are set where, and what becomes of them."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import no_refcount
from transom.solvers.allocation.dcas.alternating import begin_anywhere
from transom.solvers.allocation.dcas.bounds import Bounds
from transom.solvers.allocation.dcas.consecutive import begin
from transom.solvers.allocation.dcas.layers import extend, line_of
from transom.solvers.allocation.dcas.records import (
    BEGIN_ENTRY,
    BEGIN_JOB,
    DONE,
    END_ENTRY,
    FINISHED,
    LAYER,
    MORE,
    Labels,
    State,
    Table,
    Window,
)
from transom.solvers.allocation.dcas.sets import disjoint


@no_refcount
def search(window: Window, bounds: Bounds, labels: Labels, table: Table, state: State, work: int) -> int:
    """Find every structure that may be part of a better solution, from the last entry to the first.

    Parameters
    ----------
    work : after about how many labels to return.

    Returns
    -------
    ``MORE``, ``FULL`` or ``DONE``.
    """
    entries, total, alternating = len(window.places.leaf), window.sets.span[-1], len(window.switches.leaf) > 0
    state.stop_at = state.labels + work
    while state.phase != FINISHED:
        if state.phase == BEGIN_ENTRY:
            _begin_entry(window, bounds, table, state)
            state.phase = BEGIN_JOB
        elif state.phase == BEGIN_JOB:
            if state.outer_size == len(window.sets.nodes):
                state.phase = END_ENTRY
            elif table.following[state.at + 1] < state.at + window.sets.nodes[state.outer_size] and (
                begin_anywhere(window, labels, state) if alternating else begin(window, bounds, labels, state)
            ):
                state.phase = LAYER
            else:  # no gaps, or too dear
                state.phase = FINISHED if state.traced else BEGIN_JOB
                state.outer_size += 1
        elif state.phase == LAYER:
            why = extend(window, bounds, labels, table, state)
            if why != DONE:
                return why
            state.phase = FINISHED if state.traced else BEGIN_JOB
            state.outer_size += 1
        else:
            at = state.at
            state.labels += 1 + _juxtapose(window, bounds, table, state)
            table.following[at] = at if table.row_numbers[at] else table.following[at + 1]
            state.outer_size = 0
            state.phase = BEGIN_ENTRY
            if at == entries:
                if state.wrap:
                    state.circle = True
                else:
                    state.phase = FINISHED
            elif at < entries and at - 1 + total <= entries:
                state.phase = FINISHED
            state.at -= 1
            if state.labels >= state.stop_at and state.phase != FINISHED:
                return MORE
    return DONE


@no_refcount
def _begin_entry(window: Window, bounds: Bounds, table: Table, state: State) -> None:
    """The structures of one job, its plain blocks; on the circle, what is known from the line as well."""
    sets, charged, at = window.sets, bounds.charged, state.at
    entries = len(window.places.leaf)
    here = at if at < entries else at - entries
    table.cost[at, :] = np.inf
    for size in range(len(sets.nodes)):
        end, unit, cost = at + sets.nodes[size], sets.unit[size], window.single[size, here]
        if end <= 2 * entries and (cost + charged[end] - charged[at] - bounds.low[unit] <= state.limit):
            table.cost[at, unit] = cost
            table.outer[at, unit] = size
    if state.circle:
        line = at + entries
        for k in range(table.numbers[line]):
            which = table.sets[line, k]
            if table.cost[line, which] < table.cost[at, which]:
                table.cost[at, which] = table.cost[line, which]
                table.outer[at, which] = table.outer[line, which]


@no_refcount
def _juxtapose(window: Window, bounds: Bounds, table: Table, state: State) -> int:
    """Structures from an entry with rows of structures right behind them; returns the work done."""
    sets, charged, at = window.sets, bounds.charged, state.at
    entries, count, total = len(window.places.leaf), len(sets.span), sets.span[-1]
    found = 0
    for which in range(1, count):
        table.row_cost[at, which] = table.cost[at, which]
        if table.cost[at, which] < np.inf:
            table.sets[at, found] = which
            found += 1
    table.numbers[at] = found
    table.row_numbers[at] = 0
    if not found:
        return 0
    work = found
    for k in range(found):
        first = table.sets[at, k]
        behind = at + sets.span[first]
        if behind >= 2 * entries:
            continue
        line = line_of(behind, entries, total, state.circle)
        work += table.row_numbers[line]
        for i in range(table.row_numbers[line]):
            second = table.row_sets[line, i]
            if not disjoint(first, second, sets):
                continue
            which, both = first + second, table.cost[at, first] + table.row_cost[line, second]
            if both < table.row_cost[at, which] and (
                both + charged[at + sets.span[which]] - charged[at] - bounds.low[which] <= state.limit
            ):
                table.row_cost[at, which] = both
    found = 0
    for which in range(1, count):
        if table.row_cost[at, which] < np.inf:
            table.row_sets[at, found] = which
            found += 1
    table.row_numbers[at] = found
    return work
