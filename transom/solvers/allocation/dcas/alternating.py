"""Labels where nodes of several switches alternate along the sequence.

The outer job may come back to any switch that it has left. A label therefore counts its nodes on each leaf switch and
in each pod, and bounds look at switches instead of entries.
"""

from __future__ import annotations

from transom._system.compiling import no_refcount
from transom.solvers.allocation.dcas.bounds import Bounds
from transom.solvers.allocation.dcas.labels import Gains, Outer, Step, begin_layers, insert, touched
from transom.solvers.allocation.dcas.records import Labels, State, Window


@no_refcount
def begin_anywhere(window: Window, labels: Labels, state: State) -> bool:
    """The label of one node placed, and the last entry in reach of each leaf switch, if the job takes that node."""
    switches, demands, total = window.switches, window.demands, window.sets.span[-1]
    entries, at = len(switches.leaf), state.at
    first = at if at < entries else at - entries
    if len(demands.limits) and not demands.accepts[state.outer_size, demands.types[first]]:
        return False
    end = at + total if state.circle else min(at + total, 2 * entries)
    for leaf in range(len(labels.latest)):
        labels.latest[leaf] = -1
    for onto in range(at, end):
        labels.latest[switches.leaf[onto if onto < entries else onto - entries]] = onto
    here = at if at < entries else at - entries
    begin_layers(labels, state)
    for column in range(labels.tally.shape[1]):
        labels.tally[0, column] = column == switches.leaf[here] or column == switches.pod[here]
    for level in range(len(switches.upper)):
        labels.tally[0, switches.upper[level, here]] = 1
    return True


@no_refcount
def place_anywhere(window: Window, bounds: Bounds, labels: Labels, state: State, outer: Outer, step: Step) -> int:
    """Set the labels of one more node at an entry; returns how many pairs of labels were compared."""
    switches, weights, tally, latest = window.switches, bounds.weights, labels.tally, labels.latest
    leaf, pod = switches.leaf[step.there], switches.pod[step.there]
    compared, demands = 0, window.demands
    if len(demands.limits) and not demands.accepts[outer.size, demands.types[step.there]]:
        return 0
    label = labels.heads[state.layer, step.nested]
    while label >= 0:
        new = state.count
        if len(demands.limits) and touched(labels, label) + (tally[label, leaf] == 0) > demands.limits[outer.size]:
            label = labels.arena[label].next
            continue
        for column in range(tally.shape[1]):
            tally[new, column] = tally[label, column]
        tally[new, leaf] += 1
        tally[new, pod] += 1
        shared = tally[label, pod]
        for level in range(len(switches.upper)):
            column = switches.upper[level, step.there]
            shared += tally[label, column]
            tally[new, column] += 1
        joined = 0
        for each in range(len(latest)):
            if latest[each] > step.onto:
                inside = tally[new, switches.pod_of[each]]
                for level in range(len(switches.upper_of)):
                    inside += tally[new, switches.upper_of[level, each]]
                joined = max(joined, weights[2] * tally[new, each] + weights[1] * inside)
        candidate = labels.arena[new]
        candidate.saved = labels.arena[label].saved + weights[2] * tally[label, leaf] + weights[1] * shared
        candidate.parent, candidate.jumped = label, step.jumped
        candidate.paid = labels.arena[label].paid + step.paid
        hops = outer.all_hops - candidate.saved - joined * step.left
        least = outer.hop * hops - outer.scale * bounds.anywhere[outer.table, step.left]
        if candidate.paid + step.above + least <= state.limit:
            compared += insert(window, weights, labels, state, outer, step, Gains(0, 0, 0, 0))
        label = labels.arena[label].next
    return compared
