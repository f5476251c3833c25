"""Label setting for the dynamic rule: the cheapest way in which a set of jobs fills an interval.

A *structure* is an interval of the sequence that a set of jobs fills exactly: one outer job, which has
the first and the last entry, and structures side by side in its gaps.
"""

from __future__ import annotations

from transom._system.compiling import inlined, no_refcount
from transom.models.arrays import IntArray
from transom.models.hop_cost import hops_cost
from transom.solvers.allocation.dcas.alternating import place_anywhere
from transom.solvers.allocation.dcas.bounds import Bounds
from transom.solvers.allocation.dcas.consecutive import counts_at, place
from transom.solvers.allocation.dcas.labels import Outer, Step, next_layer, outer_job, touched
from transom.solvers.allocation.dcas.records import DONE, FULL, MORE, Labels, State, Table, Window


@no_refcount
def line_of(at: int, entries: int, total: int, circle: bool) -> int:
    """Where the structures from entry ``at`` of the doubled sequence are kept.

    The second half of the lines is for intervals that do not cross the end; the first half for those
    that may, which only the last entries have.
    """
    if at >= entries or (circle and at + total > entries):
        return at
    return at + entries


@no_refcount
def extend(window: Window, bounds: Bounds, labels: Labels, table: Table, state: State) -> int:
    """Place the nodes of the outer job one after the other, each directly or behind structures.

    Returns
    -------
    ``DONE``, or why it has to be called again.
    """
    sets, outer = window.sets, outer_job(window, bounds, state)
    entries, total, at = len(window.places.leaf), sets.span[-1], outer.at
    alternating = len(window.switches.leaf) > 0  # then the counts of the label in question take a place of their own
    while state.placed < outer.nodes:
        left = outer.nodes - state.placed - 1
        while state.position < labels.numbers[state.layer]:
            if state.labels >= state.stop_at:
                return MORE
            nested = labels.sets[state.layer, state.position]
            nodes = at + state.placed + sets.span[nested]  # the next entry, on the doubled sequence
            line = line_of(nodes, entries, total, state.circle)
            jumps, waiting = table.row_numbers[line], _number(labels, labels.heads[state.layer, nested])
            if state.count + waiting * (jumps + 1) + alternating >= len(labels.arena):
                return FULL
            here = nodes if nodes < entries else nodes - entries
            free = sets.room - sets.packed[nested] - sets.packed_unit[outer.size]
            compared = 0
            for k in range(-1, jumps):
                jumped = 0
                if k >= 0:
                    jumped = table.row_sets[line, k]
                    if (free - sets.packed[jumped]) & sets.guard != sets.guard:
                        continue
                inner, onto = nested + jumped, nodes + sets.span[jumped]
                # There is an entry for this node and the next; a plain block is known, and must not go on as one.
                if onto + (left > 0) >= 2 * entries or (
                    inner == 0 and (left == 0 or table.following[onto + 1] >= at + outer.nodes)
                ):
                    continue
                state.labels += waiting
                there = onto if onto < entries else onto - entries
                above = bounds.charged[onto + 1] - bounds.charged[at] - bounds.low[inner + outer.unit]
                paid = table.row_cost[line, jumped] if k >= 0 else 0.0
                step = Step(nested, jumped, paid, here, onto, there, left, above)
                if left == 0:
                    if not state.circle or onto >= entries:  # else it is known from the line
                        _complete(window, bounds.weights, labels, table, state, outer, step)
                elif alternating:
                    compared += place_anywhere(window, bounds, labels, state, outer, step)
                else:
                    place(window, bounds, labels, state, outer, step)
            state.labels += compared // 4  # long lists take longer than labels
            state.position += 1
        next_layer(labels, state)
    return DONE


@inlined
def _number(labels: Labels, label: int) -> int:
    """How many labels are in a list."""
    number = 0
    while label >= 0:
        number += 1
        label = labels.arena[label].next
    return number


@inlined
def _complete(
    window: Window, weights: IntArray, labels: Labels, table: Table, state: State, outer: Outer, step: Step
) -> None:
    """The last node of the outer job ends a structure."""
    switches, at, filled = window.switches, outer.at, step.nested + step.jumped + outer.unit
    demands = window.demands
    label = labels.heads[state.layer, step.nested]
    if len(demands.limits) and not demands.accepts[outer.size, demands.types[step.there]]:
        label = -1
    while label >= 0:
        if len(demands.limits) and (
            touched(labels, label) + (labels.tally[label, switches.leaf[step.there]] == 0) > demands.limits[outer.size]
        ):
            label = labels.arena[label].next
            continue
        if len(switches.leaf):
            leaf = labels.tally[label, switches.leaf[step.there]]
            pod = labels.tally[label, switches.pod[step.there]]
            for level in range(len(switches.upper)):
                pod += labels.tally[label, switches.upper[level, step.there]]
        else:
            counts = counts_at(labels, label, step, outer, window.places)
            leaf, pod = counts.leaf, counts.pod
        saved = labels.arena[label].saved + weights[2] * leaf + weights[1] * pod
        value = labels.arena[label].paid + step.paid + hops_cost(outer.nodes, outer.all_hops - saved, weights)
        if state.traced:
            if filled == state.wanted and (state.found < 0 or value < state.least):
                state.least, state.found, state.found_jump = value, label, step.jumped
        elif value < table.cost[at, filled] and value + step.above <= state.limit:
            table.cost[at, filled] = value
            table.outer[at, filled] = outer.size
        label = labels.arena[label].next
