"""Labels where the entries of each switch are consecutive: they count nodes in the current leaf and pod."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import inlined, no_refcount
from transom.solvers.allocation.dcas.bounds import Ahead, Bounds, Places, best_split, fill_from, reach
from transom.solvers.allocation.dcas.labels import Gains, Outer, Step, begin_layers, insert, outer_job
from transom.solvers.allocation.dcas.records import Labels, State, Window


class Counts(NamedTuple):
    """Nodes in the leaf and in the pod of an entry, and in those of the first entry once they have been left."""

    leaf: int
    pod: int
    first_leaf: int
    first_pod: int


@inlined
def _moved(counts: Counts, here: int, there: int, outer: Outer, places: Places) -> Counts:
    """The counts when the next entry becomes ``there`` instead of ``here``: another leaf, another pod."""
    leaf, pod, first_leaf, first_pod = counts
    if places.leaf[here] != places.leaf[there]:
        if outer.back_leaf and places.leaf[here] == places.leaf[outer.first]:
            first_leaf = leaf
        leaf = 0
        if outer.back_leaf and places.leaf[there] == places.leaf[outer.first]:
            leaf, first_leaf = first_leaf, 0
        if places.pod[here] != places.pod[there]:
            if outer.back_pod and places.pod[here] == places.pod[outer.first]:
                first_pod = pod
            pod = 0
            if outer.back_pod and places.pod[there] == places.pod[outer.first]:
                pod, first_pod = first_pod, 0
    return Counts(leaf, pod, first_leaf, first_pod)


@inlined
def counts_at(labels: Labels, label: int, step: Step, outer: Outer, places: Places) -> Counts:
    """The counts of a label when its next entry is that of the step's node."""
    has = labels.arena[label]
    counts = Counts(has.leaf, has.pod, has.first_leaf, has.first_pod)
    return _moved(counts, step.here, step.there, outer, places)


@no_refcount
def begin(window: Window, bounds: Bounds, labels: Labels, state: State) -> bool:
    """The label of one node placed, unless the job's block from there costs too much at best."""
    places, outer = window.places, outer_job(window, bounds, state)
    entries, pods, total = len(places.leaf), len(places.starts), window.sets.span[-1]
    at, here, table, nodes = outer.at, outer.first, outer.table, outer.nodes
    end = at + total - 1 if state.circle else min(at + total, 2 * entries) - 1
    last = places.pod[end] if end < entries else pods + places.pod[end - entries]
    pod = places.pod[here] if at < entries else pods + places.pod[here]
    if last != state.last:
        state.last, state.filled = last, last + 1
    if pod < state.filled:
        for each in range(len(bounds.units)):
            reach(last, pod, state.filled, each, places, bounds)
        state.filled = pod
    most = min(nodes, places.in_pod[here] + outer.back_pod)
    if state.circle and pod == pods - 1 and not outer.back_pod:
        most = min(nodes - 1, most)  # one node at least is across the end
    start = places.starts[places.pod[here]]
    if not outer.back_pod:
        start = here
        fill_from(here, table, places, bounds)
    pair = bounds.units[table] * bounds.weights[1]
    ahead = Ahead(bounds.in_pod[table, start], bounds.ahead[table, pod + 1], pair, 0.0)
    gain = best_split(ahead, 1, most, nodes, 0, 0, 0)
    if outer.hop * outer.all_hops - outer.scale * gain - bounds.low[outer.unit] > state.limit:
        return False
    begin_layers(labels, state)
    follows = here + 1 if here + 1 < entries else 0
    counts, label = _moved(Counts(1, 1, 0, 0), here, follows, outer, places), labels.arena[0]
    label.leaf, label.pod, label.first_leaf, label.first_pod = counts
    return True


@no_refcount
def place(window: Window, bounds: Bounds, labels: Labels, state: State, outer: Outer, step: Step) -> None:
    """Set the labels of one more node at an entry, unless there is no room for those left or they cost too much."""
    places, weights, left, table = window.places, bounds.weights, step.left, outer.table
    by_pod, by_leaf, unit = weights[1], weights[2], bounds.units[outer.table]
    entries, pods, first = len(places.leaf), len(places.starts), outer.first
    follows = step.there + 1 if step.there + 1 < entries else 0
    in_leaf, in_pod = places.in_leaf[follows], places.in_pod[follows]
    lap = 0 if step.onto + 1 < entries else 1
    elsewhere = bounds.ahead[table, places.pod[follows] + lap * pods + 1]
    back = outer.back_pod > 0 and lap == 0 and places.pod[follows] == places.pod[first]
    if back:
        # The rest of the first pod and what an interval across the end comes back to are one pod.
        in_pod += outer.back_pod
        if places.leaf[follows] == places.leaf[first]:
            in_leaf += outer.back_leaf
        start = places.starts[places.pod[first]]
    else:
        start = follows
        fill_from(follows, table, places, bounds)
        if bounds.stamps[table, lap, follows] != state.last:
            bounds.stamps[table, lap, follows] = state.last
            for x in range(bounds.known.shape[3]):
                bounds.known[table, lap, follows, x] = np.nan
    in_leaf, in_pod = min(in_leaf, left), min(in_pod, left)
    ahead = Ahead(bounds.in_pod[table, start], elsewhere, unit * by_pod, unit * by_leaf)
    rest = np.nan if back else bounds.known[table, lap, follows, left]
    if rest != rest:
        rest = best_split(ahead, 0, in_pod, left, 0, 0, 0)
        if not back:
            bounds.known[table, lap, follows, left] = rest
    above = step.above + (step.paid + outer.hop * outer.all_hops)
    if above - outer.scale * rest - state.limit > outer.hop * outer.all_hops:
        return  # there is no room for so many, or they are too dear
    gains = Gains(
        by_leaf * in_leaf, by_pod * in_pod, by_leaf * min(outer.back_leaf, left), by_pod * min(outer.back_pod, left)
    )
    label = labels.heads[state.layer, step.nested]
    while label >= 0:
        here = counts_at(labels, label, step, outer, places)
        saved = labels.arena[label].saved + by_leaf * here.leaf + by_pod * here.pod
        counts = _moved(
            Counts(here.leaf + 1, here.pod + 1, here.first_leaf, here.first_pod), step.there, follows, outer, places
        )
        paid = labels.arena[label].paid
        most = outer.hop * (saved + gains.first_leaf * counts.first_leaf + gains.first_pod * counts.first_pod)
        joined = outer.hop * (gains.leaf * counts.leaf + gains.pod * counts.pod)
        # First what is quick to compute, then how many of the nodes that are left can join those placed.
        fits = paid + above - most - joined - outer.scale * rest <= state.limit
        if fits and counts.pod:
            gain = best_split(ahead, 0, in_pod, left, in_leaf, counts.leaf, counts.pod)
            fits = paid + above - most - outer.scale * gain <= state.limit
        if fits:
            new = labels.arena[state.count]
            new.leaf, new.pod, new.first_leaf, new.first_pod = counts
            new.saved, new.parent, new.jumped, new.paid = saved, label, step.jumped, paid + step.paid
            insert(window, weights, labels, state, outer, step, gains)
        label = labels.arena[label].next
