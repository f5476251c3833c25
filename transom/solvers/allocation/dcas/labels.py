"""Label setting for the dynamic rule: the cheapest way in which a set of jobs fills an interval.

A *structure* is an interval of the sequence that a set of jobs fills exactly: one outer job, which has
the first and the last entry, and structures side by side in its gaps.
"""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom.models.hop_cost import hops_cost
from transom.solvers.allocation.dcas.bounds import (
    IN_LEAF,
    IN_POD,
    LEAF,
    LEAF_START,
    POD,
    POD_START,
    best_split,
    from_entry,
    reach,
)
from transom.solvers.allocation.dcas.sets import ALL, GUARD, PACKED, PACKED_UNIT, SIZE, SPAN, UNIT

IN_A, IN_B, IN_A0, IN_B0, SAVED, PARENT, JUMPED, NEXT = range(8)
"""A label: placed in the leaf and in the pod of the next entry, and of the first entry once they have been
left; hops saved; the label before, the set jumped, the next label of its list."""

(AT, ROW, PLACED, TURN, ACTIVE, COUNT, LABELS, CIRCLE, WRAP, PHASE, ONLY, WANTED, FOUND, FOUND_JUMP, LAST, FILLED) = (
    range(16)
)
"""State of a search: first entry, row of the outer job's size, how many of its nodes are placed, which of
the two layers, position in its sets, labels in the arena, labels so far, whether intervals may cross the
end now and later, what comes next; whether it only traces one structure, its set, the label and the last
jump that reach it; the last pod in reach, and the pods from which on gains up to it are known."""

FIELDS = 16

BEGIN_ENTRY, BEGIN_JOB, LAYER, END_ENTRY, FINISHED = range(5)
"""Values of ``PHASE``."""

MORE, FULL, DONE = range(3)
"""Why :func:`search` returns: out of work, out of room for labels, at its end."""


@compiled
def row_of(at, entries, total, circle):  # type: ignore[no-untyped-def]
    """Where the structures from entry ``at`` of the doubled sequence are kept.

    The second half of the rows is for intervals that do not cross the end; the first half for those
    that may, which only the last entries have.
    """
    if at >= entries or (circle and at + total > entries):
        return at
    return at + entries


@compiled
def _returns(at, places, total, circle):  # type: ignore[no-untyped-def]
    """How many entries of the first entry's leaf, and of its pod, an interval across the end can come back to."""
    if not circle:
        return 0, 0
    beyond = at + total - places.shape[1]
    return max(0, beyond - places[LEAF_START, at]), max(0, beyond - places[POD_START, at])


@compiled
def _move(a, b, a0, b0, here, there, first, back_leaf, back_pod, leaf_of, pod_of):  # type: ignore[no-untyped-def]
    """The counts of a label when its next entry becomes ``there`` instead of ``here``: another leaf, another pod."""
    if leaf_of[here] != leaf_of[there]:
        if back_leaf and leaf_of[here] == leaf_of[first]:
            a0 = a
        a = 0
        if back_leaf and leaf_of[there] == leaf_of[first]:
            a, a0 = a0, 0
        if pod_of[here] != pod_of[there]:
            if back_pod and pod_of[here] == pod_of[first]:
                b0 = b
            b = 0
            if back_pod and pod_of[there] == pod_of[first]:
                b, b0 = b0, 0
    return a, b, a0, b0


@compiled
def begin_job(  # type: ignore[no-untyped-def]
    state, limit, places, prices, units, starts, in_pod, ahead, known, stamps, weights, jobs, low, total,
    labels, paid, heads, active, actives,
):  # fmt: skip
    """The label of one node placed, unless the job's block from there costs too much at best."""
    entries = places.shape[1]
    at, row, circle = state[AT], state[ROW], state[CIRCLE]
    n = jobs[SIZE, row]
    pods = len(starts)
    here = at if at < entries else at - entries
    end = at + total - 1 if circle else min(at + total, 2 * entries) - 1
    last = places[POD, end] if end < entries else pods + places[POD, end - entries]
    pod = places[POD, here] if at < entries else pods + places[POD, here]
    if last != state[LAST]:
        state[LAST], state[FILLED] = last, last + 1
    if pod < state[FILLED]:
        for table in range(len(units)):
            reach(last, pod, state[FILLED], places, starts, units[table], weights, in_pod[table], ahead[table])
        state[FILLED] = pod
    back_leaf, back_pod = _returns(here, places, total, circle)
    table = row if len(units) > 1 else 0
    unit, hop = units[table], weights[3] / n
    most = min(n, places[IN_POD, here] + back_pod)
    if circle and pod == pods - 1 and not back_pod:
        most = min(n - 1, most)  # one node at least is across the end
    within = in_pod[table, starts[places[POD, here]]]
    if not back_pod:
        within = from_entry(here, places, prices, unit, weights, in_pod[table])
    gain = best_split(1, most, n, 0, 0, 0, within, ahead[table, pod + 1], 0.0, unit * weights[1])
    if hop * (weights[0] * (n * (n - 1) // 2)) - hop / unit * gain - low[jobs[UNIT, row]] > limit:
        return False
    follows = at + 1 if at + 1 < entries else at + 1 - entries
    a, b, a0, b0 = _move(1, 1, 0, 0, here, follows, here, back_leaf, back_pod, places[LEAF], places[POD])
    labels[0, IN_A], labels[0, IN_B], labels[0, IN_A0], labels[0, IN_B0] = a, b, a0, b0
    labels[0, SAVED], labels[0, JUMPED], labels[0, PARENT], labels[0, NEXT] = 0, 0, -1, -1
    paid[0] = 0.0
    state[COUNT] = 1
    state[PLACED] = 1
    state[TURN] = 0
    state[ACTIVE] = 0
    heads[0, 0] = 0
    active[0, 0] = 0
    actives[0] = 1
    return True


@compiled
def extend(  # type: ignore[no-untyped-def]
    state, stop_at, limit, places, prices, charged, units, starts, in_pod, ahead, known, stamps,
    weights, jobs, sets, room, low,
    labels, paid, heads, active, actives, cost, outer, together, lists, lengths, following,
):  # fmt: skip
    """Place the nodes of the outer job one after the other, each directly or behind structures.

    One function, because calls with so many arrays cost more than what most of them would do.

    Returns
    -------
    :data:`DONE`, or why it has to be called again.
    """
    entries = places.shape[1]
    total = sets[SPAN, sets.shape[1] - 1]
    leaf_of, pod_of, in_leaf, pod_left = places[LEAF], places[POD], places[IN_LEAF], places[IN_POD]
    circle, at, row = state[CIRCLE], state[AT], state[ROW]
    n, unit = jobs[SIZE, row], jobs[UNIT, row]
    first = at if at < entries else at - entries
    back_leaf, back_pod = _returns(first, places, total, circle)
    by_pod, by_leaf = weights[1], weights[2]
    margin = 2.0 * weights[4]  # two costs rounded down, to 1 at least, differ by less than so much more than before
    table = row if len(units) > 1 else 0
    hop, all_hops = weights[3] / n, weights[0] * (n * (n - 1) // 2)
    scale = hop / units[table]
    gains, farther = in_pod[table], ahead[table]
    pod_pair, leaf_pair = units[table] * by_pod, units[table] * by_leaf
    self_packed = jobs[PACKED_UNIT, row]
    trace = len(paid) - 1  # the last place takes the value of a trace
    while state[PLACED] < n:
        turn, placed = state[TURN], state[PLACED]
        then = 1 - turn
        left = n - placed - 1
        ahead_leaf, ahead_pod = by_leaf * min(back_leaf, left), by_pod * min(back_pod, left)
        while state[ACTIVE] < actives[turn]:
            if state[LABELS] >= stop_at:
                return MORE
            nested = active[turn, state[ACTIVE]]
            nodes = at + placed + sets[SPAN, nested]  # the next entry, on the doubled sequence
            line = row_of(nodes, entries, total, circle)
            jumps = lengths[1, line]
            waiting = 0
            label = heads[turn, nested]
            while label >= 0:
                waiting += 1
                label = labels[label, NEXT]
            if state[COUNT] + waiting * (jumps + 1) > trace:
                return FULL
            here = nodes if nodes < entries else nodes - entries
            free = room[ALL] - sets[PACKED, nested] - self_packed
            for k in range(-1, jumps):
                jumped = 0
                if k >= 0:
                    jumped = lists[1, line, k]
                    if (free - sets[PACKED, jumped]) & room[GUARD] != room[GUARD]:
                        continue
                inner = nested + jumped
                onto = nodes + sets[SPAN, jumped]
                # There is an entry for this node and the next; a plain block is known, and must not go on as one.
                if onto + (left > 0) >= 2 * entries or (inner == 0 and (left == 0 or following[onto + 1] >= at + n)):
                    continue
                state[LABELS] += waiting
                there = onto if onto < entries else onto - entries
                above = charged[onto + 1] - charged[at] - low[inner + unit]
                more = together[line, jumped] if k >= 0 else 0.0
                if left == 0:
                    if circle and onto < entries:
                        continue  # known from the line
                    filled = inner + unit
                    label = heads[turn, nested]
                    while label >= 0:
                        a, b, _, _ = _move(
                            labels[label, IN_A], labels[label, IN_B], labels[label, IN_A0], labels[label, IN_B0],
                            here, there, first, back_leaf, back_pod, leaf_of, pod_of,
                        )  # fmt: skip
                        saved = labels[label, SAVED] + by_leaf * a + by_pod * b
                        value = paid[label] + more + hops_cost(n, all_hops - saved, weights)
                        if state[ONLY]:
                            if filled == state[WANTED] and (state[FOUND] < 0 or value < paid[trace]):
                                paid[trace] = value
                                state[FOUND], state[FOUND_JUMP] = label, jumped
                        elif value < cost[at, filled] and value + above <= limit:
                            cost[at, filled] = value
                            outer[at, filled] = row
                        label = labels[label, NEXT]
                    continue
                follows = there + 1 if there + 1 < entries else 0
                deep, wide = in_leaf[follows], pod_left[follows]
                lap = 0 if onto + 1 < entries else 1
                elsewhere = farther[pod_of[follows] + lap * len(starts) + 1]
                again = back_pod and not lap and pod_of[follows] == pod_of[first]
                if again:
                    # The rest of the first pod and what an interval across the end comes back to are one pod.
                    wide += back_pod
                    if leaf_of[follows] == leaf_of[first]:
                        deep += back_leaf
                    within = gains[starts[pod_of[first]]]
                    rest = best_split(0, min(wide, left), left, 0, 0, 0, within, elsewhere, 0.0, pod_pair)
                else:
                    within = gains[follows]
                    if within[0] != within[0]:
                        from_entry(follows, places, prices, units[table], weights, gains)
                    if stamps[table, lap, follows] != state[LAST]:
                        stamps[table, lap, follows] = state[LAST]
                        known[table, lap, follows, :] = np.nan
                    rest = known[table, lap, follows, left]
                    if rest != rest:
                        rest = best_split(0, min(wide, left), left, 0, 0, 0, within, elsewhere, 0.0, pod_pair)
                        known[table, lap, follows, left] = rest
                deep, wide = min(deep, left), min(wide, left)
                above += more + hop * all_hops
                if above - scale * rest - limit > hop * all_hops:
                    continue  # there is no room for so many, or they are too dear
                label = heads[turn, nested]
                while label >= 0:
                    a, b, a0, b0 = _move(
                        labels[label, IN_A], labels[label, IN_B], labels[label, IN_A0], labels[label, IN_B0],
                        here, there, first, back_leaf, back_pod, leaf_of, pod_of,
                    )  # fmt: skip
                    saved = labels[label, SAVED] + by_leaf * a + by_pod * b
                    a, b, a0, b0 = _move(
                        a + 1, b + 1, a0, b0, there, follows, first, back_leaf, back_pod, leaf_of, pod_of
                    )
                    spent = paid[label] + more
                    most = hop * (saved + a0 * ahead_leaf + b0 * ahead_pod)
                    joined = hop * (by_leaf * a * deep + by_pod * b * wide)
                    # First what is quick to tell, then how many of the nodes that are left can join those placed.
                    fits = paid[label] + above - most - joined - scale * rest <= limit
                    if fits and b:
                        gain = best_split(0, wide, left, deep, a, b, within, elsewhere, leaf_pair, pod_pair)
                        fits = paid[label] + above - most - scale * gain <= limit
                    if fits:
                        # Unless another label of the same set is as good whatever follows.
                        before, other = -1, heads[then, inner]
                        if other < 0:
                            active[then, actives[then]] = inner
                            actives[then] += 1
                        beaten = False
                        while other >= 0:
                            wins, loses = 0, 0  # what the new label can save more than the other one, and less
                            gap = by_leaf * deep * (a - labels[other, IN_A])
                            wins, loses = wins + max(gap, 0), loses + max(-gap, 0)
                            gap = by_pod * wide * (b - labels[other, IN_B])
                            wins, loses = wins + max(gap, 0), loses + max(-gap, 0)
                            gap = ahead_leaf * (a0 - labels[other, IN_A0])
                            wins, loses = wins + max(gap, 0), loses + max(-gap, 0)
                            gap = ahead_pod * (b0 - labels[other, IN_B0])
                            wins, loses = wins + max(gap, 0), loses + max(-gap, 0)
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
                            new = state[COUNT]
                            labels[new, IN_A], labels[new, IN_B] = a, b
                            labels[new, IN_A0], labels[new, IN_B0] = a0, b0
                            labels[new, SAVED], labels[new, PARENT], labels[new, JUMPED] = saved, label, jumped
                            labels[new, NEXT] = heads[then, inner]
                            paid[new] = spent
                            heads[then, inner] = new
                            state[COUNT] += 1
                    label = labels[label, NEXT]
            state[ACTIVE] += 1
        for k in range(actives[turn]):
            heads[turn, active[turn, k]] = -1
        actives[turn] = 0
        state[TURN] = then
        state[ACTIVE] = 0
        state[PLACED] += 1
    return DONE
