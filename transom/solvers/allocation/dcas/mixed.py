"""Label setting for the dynamic rule where nodes of several switches alternate along the sequence.

The search is that of ``_dcas_labels``; the outer job may come back to any switch that it has left. A label therefore
holds how many nodes are placed on each leaf switch and in each pod, and bounds look at switches instead of entries.
"""

from __future__ import annotations

from transom._system.compiling import compiled
from transom.models.hop_cost import hops_cost
from transom.solvers.allocation.dcas.labels import (
    ACTIVE,
    AT,
    CIRCLE,
    COUNT,
    DONE,
    FOUND,
    FOUND_JUMP,
    FULL,
    JUMPED,
    LABELS,
    MORE,
    NEXT,
    ONLY,
    PARENT,
    PLACED,
    ROW,
    SAVED,
    TURN,
    WANTED,
    row_of,
)
from transom.solvers.allocation.dcas.sets import ALL as EVERY
from transom.solvers.allocation.dcas.sets import GUARD, PACKED, PACKED_UNIT, SIZE, SPAN, UNIT

LEAF, POD, POD_OF = range(3)
"""Rows of ``switches``: leaf switch of each entry, the column of its pod, and the column of the pod of each leaf."""


@compiled
def begin_mixed(state, switches, total, labels, tally, latest, paid, heads, active, actives):  # type: ignore[no-untyped-def]
    """The label of one node placed; ``latest`` becomes the last entry in reach of each leaf switch, -1 if none."""
    entries = switches.shape[1]
    at = state[AT]
    end = at + total if state[CIRCLE] else min(at + total, 2 * entries)
    latest[:] = -1
    for onto in range(at, end):
        latest[switches[LEAF, onto if onto < entries else onto - entries]] = onto
    here = at if at < entries else at - entries
    tally[0, :] = 0
    tally[0, switches[LEAF, here]] = 1
    tally[0, switches[POD, here]] = 1
    labels[0, SAVED], labels[0, JUMPED], labels[0, PARENT], labels[0, NEXT] = 0, 0, -1, -1
    paid[0] = 0.0
    state[COUNT] = 1
    state[PLACED] = 1
    state[TURN] = 0
    state[ACTIVE] = 0
    heads[0, 0] = 0
    active[0, 0] = 0
    actives[0] = 1


@compiled
def _advantage(tally, one, other, after, latest, switches, left, by_leaf, by_pod):  # type: ignore[no-untyped-def]
    """The most hops that a label can save more than another one on the nodes that are left."""
    most = 0
    for leaf in range(len(latest)):
        if latest[leaf] >= after:
            pod = switches[POD_OF, leaf]
            gap = by_leaf * (tally[one, leaf] - tally[other, leaf]) + by_pod * (tally[one, pod] - tally[other, pod])
            most = max(most, gap)
    return left * most


@compiled
def extend_mixed(  # type: ignore[no-untyped-def]
    state, stop_at, limit, charged, units, weights, jobs, sets, room, low, switches, anywhere, latest, tally,
    labels, paid, heads, active, actives, cost, outer, together, lists, lengths, following,
):  # fmt: skip
    """Place the nodes of the outer job one after the other, each directly or behind structures.

    Parameters
    ----------
    switches : see :data:`LEAF`.
    anywhere : what 0, 1 ... nodes can gain on all entries, one row for each unit.
    tally : nodes placed on each leaf switch and in each pod, one row for each label.
    latest : of :func:`begin_mixed`.

    Returns
    -------
    :data:`DONE`, or why it has to be called again.
    """
    entries = switches.shape[1]
    total = sets[SPAN, sets.shape[1] - 1]
    circle, at, row = state[CIRCLE], state[AT], state[ROW]
    n, unit = jobs[SIZE, row], jobs[UNIT, row]
    by_pod, by_leaf = weights[1], weights[2]
    margin = 2.0 * weights[4]  # as in ``_dcas_labels.extend``
    table = row if len(units) > 1 else 0
    hop, all_hops = weights[3] / n, weights[0] * (n * (n - 1) // 2)
    scale = hop / units[table]
    trace = len(paid) - 1
    while state[PLACED] < n:
        turn, placed = state[TURN], state[PLACED]
        then = 1 - turn
        left = n - placed - 1
        while state[ACTIVE] < actives[turn]:
            if state[LABELS] >= stop_at:
                return MORE
            nested = active[turn, state[ACTIVE]]
            nodes = at + placed + sets[SPAN, nested]
            line = row_of(nodes, entries, total, circle)
            jumps = lengths[1, line]
            waiting = 0
            label = heads[turn, nested]
            while label >= 0:
                waiting += 1
                label = labels[label, NEXT]
            if state[COUNT] + waiting * (jumps + 1) + 1 > trace:
                return FULL
            free = room[EVERY] - sets[PACKED, nested] - jobs[PACKED_UNIT, row]
            compared = 0
            for k in range(-1, jumps):
                jumped = 0
                if k >= 0:
                    jumped = lists[1, line, k]
                    if (free - sets[PACKED, jumped]) & room[GUARD] != room[GUARD]:
                        continue
                inner = nested + jumped
                onto = nodes + sets[SPAN, jumped]
                if onto + (left > 0) >= 2 * entries or (inner == 0 and (left == 0 or following[onto + 1] >= at + n)):
                    continue
                state[LABELS] += waiting
                there = onto if onto < entries else onto - entries
                leaf, pod = switches[LEAF, there], switches[POD, there]
                above = charged[onto + 1] - charged[at] - low[inner + unit]
                more = together[line, jumped] if k >= 0 else 0.0
                if left == 0 and circle and onto < entries:
                    continue  # known from the line
                label = heads[turn, nested]
                while label >= 0:
                    saved = labels[label, SAVED] + by_leaf * tally[label, leaf] + by_pod * tally[label, pod]
                    spent = paid[label] + more
                    if left == 0:
                        value = spent + hops_cost(n, all_hops - saved, weights)
                        if state[ONLY]:
                            if inner + unit == state[WANTED] and (state[FOUND] < 0 or value < paid[trace]):
                                paid[trace] = value
                                state[FOUND], state[FOUND_JUMP] = label, jumped
                        elif value < cost[at, inner + unit] and value + above <= limit:
                            cost[at, inner + unit] = value
                            outer[at, inner + unit] = row
                        label = labels[label, NEXT]
                        continue
                    new = state[COUNT]
                    tally[new] = tally[label]
                    tally[new, leaf] += 1
                    tally[new, pod] += 1
                    joined = 0
                    for each in range(len(latest)):
                        if latest[each] > onto:
                            joined = max(
                                joined, by_leaf * tally[new, each] + by_pod * tally[new, switches[POD_OF, each]]
                            )
                    least = hop * (all_hops - saved - joined * left) - scale * anywhere[table, left]
                    if spent + above + least <= limit:
                        before, other = -1, heads[then, inner]
                        if other < 0:
                            active[then, actives[then]] = inner
                            actives[then] += 1
                        beaten = False
                        while other >= 0:
                            compared += 1
                            wins = _advantage(tally, new, other, onto + 1, latest, switches, left, by_leaf, by_pod)
                            loses = _advantage(tally, other, new, onto + 1, latest, switches, left, by_leaf, by_pod)
                            better = labels[other, SAVED] - saved
                            dearer = spent - paid[other]
                            if (better >= wins and dearer >= 0) or dearer + hop * (better - wins) >= margin:
                                beaten = True
                                break
                            if (-better >= loses and dearer <= 0) or -dearer - hop * (better + loses) >= margin:
                                other = labels[other, NEXT]
                                if before < 0:
                                    heads[then, inner] = other
                                else:
                                    labels[before, NEXT] = other
                            else:
                                before = other
                                other = labels[other, NEXT]
                        if not beaten:
                            labels[new, SAVED], labels[new, PARENT], labels[new, JUMPED] = saved, label, jumped
                            labels[new, NEXT] = heads[then, inner]
                            paid[new] = spent
                            heads[then, inner] = new
                            state[COUNT] += 1
                    label = labels[label, NEXT]
            state[LABELS] += compared // 4  # long lists take longer than labels
            state[ACTIVE] += 1
        for k in range(actives[turn]):
            heads[turn, active[turn, k]] = -1
        actives[turn] = 0
        state[TURN] = then
        state[ACTIVE] = 0
        state[PLACED] += 1
    return DONE
