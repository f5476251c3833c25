"""Labels of the outer job's nodes: how they are compared and kept."""

from __future__ import annotations

from typing import NamedTuple

from transom._system.compiling import inlined, no_refcount
from transom.models.arrays import IntArray
from transom.solvers.allocation.dcas.bounds import Bounds
from transom.solvers.allocation.dcas.records import Labels, State, Switches, Window


class Outer(NamedTuple):
    """The outer job of the structures in question, and what counts for it."""

    at: int  # its first entry on the doubled sequence
    first: int  # the same on the sequence
    size: int
    nodes: int
    unit: int  # its set
    table: int  # of gains
    all_hops: int  # of a job whose nodes are all in different pods
    hop: float  # what one costs
    scale: float  # what a gain of 1 costs
    margin: float  # two costs rounded down, to 1 at least, differ by less than so much more than before
    back_leaf: int  # entries of the first leaf that an interval across the end can come back to
    back_pod: int


class Step(NamedTuple):
    """One more node of the outer job, behind a row of structures or none."""

    nested: int  # set of what was jumped before
    jumped: int
    paid: float  # for what is jumped now
    here: int  # the next entry of the labels
    onto: int  # that of the node, on the doubled sequence
    there: int  # the same on the sequence
    left: int  # nodes to be placed after it
    above: float  # prices less what the jobs so far cost at least


class Gains(NamedTuple):
    """The most hops that one more node saves in the leaf and pod of the next entry, and in the first ones."""

    leaf: int
    pod: int
    first_leaf: int
    first_pod: int


@no_refcount
def outer_job(window: Window, bounds: Bounds, state: State) -> Outer:
    """What counts for the outer job that the search is at."""
    places, weights = window.places, bounds.weights
    entries, total = len(places.leaf), window.sets.span[-1]
    nodes = window.sets.nodes[state.outer_size]
    first = state.at if state.at < entries else state.at - entries
    table = state.outer_size if len(bounds.units) > 1 else 0
    hop = weights[3] / nodes
    back_leaf, back_pod = 0, 0
    if state.circle:
        beyond = first + total - entries
        back_leaf, back_pod = max(0, beyond - places.leaf_start[first]), max(0, beyond - places.pod_start[first])
    return Outer(
        state.at, first, state.outer_size, nodes, window.sets.unit[state.outer_size], table,
        weights[0] * (nodes * (nodes - 1) // 2), hop, hop / bounds.units[table], 2.0 * weights[4], back_leaf, back_pod,
    )  # fmt: skip


@no_refcount
def begin_layers(labels: Labels, state: State) -> None:
    """The label of one node placed, with empty counts."""
    label = labels.arena[0]
    label.saved, label.jumped, label.parent, label.next, label.paid = 0, 0, -1, -1, 0.0
    state.count, state.placed, state.layer, state.position = 1, 1, 0, 0
    labels.heads[0, 0] = labels.sets[0, 0] = 0
    labels.numbers[0] = 1


@no_refcount
def next_layer(labels: Labels, state: State) -> None:
    """Go on to the labels with one more node."""
    layer = state.layer
    for k in range(labels.numbers[layer]):
        labels.heads[layer, labels.sets[layer, k]] = -1
    labels.numbers[layer] = 0
    state.layer, state.position = 1 - layer, 0
    state.placed += 1


@inlined
def _advantages(labels: Labels, one: int, other: int, gains: Gains) -> tuple[int, int]:
    """The most hops that a label can save more than another one on the nodes that are left, and the most less."""
    a, b = labels.arena[one], labels.arena[other]
    leaf, pod = gains.leaf * (a.leaf - b.leaf), gains.pod * (a.pod - b.pod)
    first_leaf = gains.first_leaf * (a.first_leaf - b.first_leaf)
    first_pod = gains.first_pod * (a.first_pod - b.first_pod)
    more = max(leaf, 0) + max(pod, 0) + max(first_leaf, 0) + max(first_pod, 0)
    less = max(-leaf, 0) + max(-pod, 0) + max(-first_leaf, 0) + max(-first_pod, 0)
    return more, less


@no_refcount
def _advantage(labels: Labels, switches: Switches, weights: IntArray, one: int, other: int, step: Step) -> int:
    """The most hops that a label can save more than another one where switches alternate."""
    most = 0
    for leaf in range(len(labels.latest)):
        if labels.latest[leaf] > step.onto:
            pod = switches.pod_of[leaf]
            in_leaf = labels.tally[one, leaf] - labels.tally[other, leaf]
            in_pod = labels.tally[one, pod] - labels.tally[other, pod]
            for level in range(len(switches.upper_of)):
                column = switches.upper_of[level, leaf]
                in_pod += labels.tally[one, column] - labels.tally[other, column]
            most = max(most, weights[2] * in_leaf + weights[1] * in_pod)
    return step.left * most


@no_refcount
def touched(labels: Labels, label: int) -> int:
    """How many leaf switches the nodes of a label are on."""
    number = 0
    for leaf in range(len(labels.latest)):
        number += labels.tally[label, leaf] > 0
    return number


@no_refcount
def _no_wider(labels: Labels, one: int, other: int, step: Step) -> bool:
    """Whether a label spans at most as many leaf switches as another one, whatever nodes both get."""
    more = 0
    for leaf in range(len(labels.latest)):
        more += labels.tally[one, leaf] > 0
        more -= labels.tally[other, leaf] > 0
        if labels.latest[leaf] > step.onto:
            more += labels.tally[other, leaf] > 0 and labels.tally[one, leaf] == 0
    return more <= 0


@inlined
def insert(
    window: Window, weights: IntArray, labels: Labels, state: State, outer: Outer, step: Step, gains: Gains
) -> int:
    """Keep the label after the last of the arena, and drop those of its set that it dominates, unless one dominates it.

    A label dominates another one of its set if it is as good whatever follows.

    Returns
    -------
    How many it was compared with.
    """
    layer, which, new = 1 - state.layer, step.nested + step.jumped, state.count
    candidate = labels.arena[new]
    before, other, compared = -1, labels.heads[layer, which], 0
    limits = window.demands.limits
    limited = len(limits) > 0 and limits[outer.size] < outer.nodes
    if other < 0:
        labels.sets[layer, labels.numbers[layer]] = which
        labels.numbers[layer] += 1
    while other >= 0:
        compared += 1
        if len(window.switches.leaf):
            wins = _advantage(labels, window.switches, weights, new, other, step)
            loses = _advantage(labels, window.switches, weights, other, new, step)
        else:
            wins, loses = _advantages(labels, new, other, gains)
        better = labels.arena[other].saved - candidate.saved
        dearer = candidate.paid - labels.arena[other].paid
        loses_to = (better >= wins and dearer >= 0) or dearer + outer.hop * (better - wins) >= outer.margin
        if loses_to and (not limited or _no_wider(labels, other, new, step)):
            return compared
        following = labels.arena[other].next
        drops = (-better >= loses and dearer <= 0) or -dearer - outer.hop * (better + loses) >= outer.margin
        if drops and (not limited or _no_wider(labels, new, other, step)):
            if before < 0:
                labels.heads[layer, which] = following
            else:
                labels.arena[before].next = following
        else:
            before = other
        other = following
    candidate.next = labels.heads[layer, which]
    labels.heads[layer, which] = new
    state.count += 1
    return compared
