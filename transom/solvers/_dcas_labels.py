"""Label setting for the dynamic rule: the cheapest way in which a set of jobs fills an interval.

A *structure* is an interval of the sequence that a set of jobs fills exactly: one outer job, which has
the first and the last entry, and structures side by side in its gaps. Sets are numbers in mixed
radix, one digit per size, so that the union of two is their sum.
"""

from __future__ import annotations

import numpy as np

from transom.compiling import compiled
from transom.solvers._dcas_bounds import IN_LEAF, IN_POD, LEAF, LEAF_START, POD, POD_START, cost_of, rest_savings

IN_A, IN_B, SAVED, IN_A0, IN_B0, PARENT, JUMPED, NEXT = range(8)
"""A label: placed in the leaf and in the pod of the next entry; hops saved; placed in the leaf and in the
pod of the first entry, once they have been left; the label before, the set jumped; the next of its list."""

(AT, ROW, PLACED, TURN, ACTIVE, COUNT, LABELS, CIRCLE, WRAP, PHASE, ONLY, WANTED, FOUND, FOUND_JUMP) = range(14)
"""State of a search: first entry, row of the outer job's size, how many of its nodes are placed, which of
the two layers, position in its sets, labels in the arena, labels so far, whether intervals may cross the
end now and later, what comes next; whether it only traces one structure, its set, the label and the last
jump that reach it."""

FIELDS = 14

BEGIN_ENTRY, BEGIN_JOB, LAYER, END_ENTRY, FINISHED = range(5)
"""Values of ``PHASE``."""

MORE, FULL, DONE = range(3)
"""Why :func:`search` returns: out of work, out of room for labels, at its end."""

SIZE, UNIT, PACKED_UNIT = range(3)
"""Rows of ``jobs``: nodes, the set of one such job, and that set packed."""

PACKED, SPAN = range(2)
"""Rows of ``sets``: digits as bit fields, nodes of all jobs."""


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
def search(  # type: ignore[no-untyped-def]
    state, work, limit, places, free, inside, rest, rooms, weights, jobs, sets, room, low, single,
    labels, paid, heads, active, actives, cost, outer, together, lists, lengths, following,
):  # fmt: skip
    """Find every structure that may be part of a better solution, from the last entry to the first.

    Parameters
    ----------
    state : see :data:`AT`; changed.
    work : after about how many labels to return.
    limit : by how much a structure may cost more than its jobs at their best, each alone.
    places, free, inside, rest, rooms, weights : of :func:`rest_savings`.
    jobs, sets : see :data:`SIZE` and :data:`PACKED`; shapes ``(3, sizes)`` and ``(2, sets)``.
    room : all jobs packed, with the guard bit of each field set; and the guard bits alone.
    low : what the jobs of each set cost at least, shape ``(sets,)``.
    single : cost of each size's block from each entry, shape ``(sizes, entries)``.
    labels, paid : the arena, shapes ``(labels, 8)`` and ``(labels,)``: fields and cost of what was jumped.
    heads, active, actives : of the two layers the first label of each set, the sets that have one, how many.
    cost, outer, together : by row and set, the best structure, its outer job and the best row of structures.
    lists, lengths : the sets that have structures, and rows of structures, at each row.
    following : the next entry at which a row of structures begins, for each entry of the doubled sequence.
    """
    entries = places.shape[1]
    all_jobs = sets.shape[1] - 1
    total = sets[SPAN, all_jobs]
    stop_at = state[LABELS] + work
    while True:
        if state[PHASE] == BEGIN_ENTRY:
            at = state[AT]
            if not state[ONLY]:
                cost[at, :] = np.inf
                lengths[0, at] = 0
                for row in range(jobs.shape[1]):
                    if single[row, at % entries] - low[jobs[UNIT, row]] <= limit and (
                        at + jobs[SIZE, row] <= 2 * entries
                    ):
                        cost[at, jobs[UNIT, row]] = single[row, at % entries]
                        outer[at, jobs[UNIT, row]] = row
                if state[CIRCLE]:
                    for k in range(lengths[0, at + entries]):
                        which = lists[0, at + entries, k]
                        if cost[at + entries, which] < cost[at, which]:
                            cost[at, which] = cost[at + entries, which]
                            outer[at, which] = outer[at + entries, which]
            state[PHASE] = BEGIN_JOB
        elif state[PHASE] == BEGIN_JOB:
            at, row = state[AT], state[ROW]
            if row == jobs.shape[1]:
                state[PHASE] = END_ENTRY
                continue
            if _begin(state, limit, places, free, inside, rest, rooms, weights, jobs, low, total,
                      labels, paid, heads, active, actives, following):  # fmt: skip
                state[PHASE] = LAYER
            elif state[ONLY]:
                state[PHASE] = FINISHED
            else:
                state[ROW] += 1
        elif state[PHASE] == LAYER:
            turn = state[TURN]
            while state[ACTIVE] < actives[turn]:
                if state[LABELS] >= stop_at:
                    return MORE
                if not _extend(state, limit, places, free, inside, rest, rooms, weights, jobs, sets, room, low,
                               labels, paid, heads, active, actives, cost, outer, together, lists, lengths,
                               following):  # fmt: skip
                    return FULL
                state[ACTIVE] += 1
            for k in range(actives[turn]):
                heads[turn, active[turn, k]] = -1
            actives[turn] = 0
            state[TURN] = 1 - turn
            state[ACTIVE] = 0
            state[PLACED] += 1
            if state[PLACED] == jobs[SIZE, state[ROW]]:
                if state[ONLY]:
                    state[PHASE] = FINISHED
                else:
                    state[PHASE] = BEGIN_JOB
                    state[ROW] += 1
        elif state[PHASE] == END_ENTRY:
            at = state[AT]
            state[LABELS] += _juxtapose(at, limit, entries, total, state[CIRCLE], sets, room, low,
                                        cost, together, lists, lengths)  # fmt: skip
            following[at] = at if lengths[1, at] else following[at + 1]
            state[ROW] = 0
            if at == entries:
                if not state[WRAP]:
                    state[PHASE] = FINISHED
                    continue
                state[CIRCLE] = 1
            elif at < entries and at - 1 + total <= entries:
                state[PHASE] = FINISHED
                continue
            state[AT] -= 1
            state[PHASE] = BEGIN_ENTRY
            state[LABELS] += 1
            if state[LABELS] >= stop_at:
                return MORE
        else:
            return DONE


@compiled
def _juxtapose(at, limit, entries, total, circle, sets, room, low, cost, together, lists, lengths):  # type: ignore[no-untyped-def]
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
            if (room[0] - sets[PACKED, first] - sets[PACKED, second]) & room[1] != room[1]:
                continue
            both = cost[at, first] + together[behind, second]
            if both < together[at, first + second] and both - low[first + second] <= limit:
                together[at, first + second] = both
    found = 0
    for which in range(1, count):
        if together[at, which] < np.inf:
            lists[1, at, found] = which
            found += 1
    lengths[1, at] = found
    return work


@compiled
def _returns(at, places, total):  # type: ignore[no-untyped-def]
    """How many entries of the first entry's leaf, and of its pod, an interval across the end can come back to."""
    entries = places.shape[1]
    beyond = at + total - entries
    return max(0, beyond - places[LEAF_START, at]), max(0, beyond - places[POD_START, at])


@compiled
def _begin(  # type: ignore[no-untyped-def]
    state, limit, places, free, inside, rest, rooms, weights, jobs, low, total,
    labels, paid, heads, active, actives, following,
):  # fmt: skip
    """The label of one node placed, if the job's block from there may have gaps at all."""
    entries = places.shape[1]
    at, row = state[AT], state[ROW]
    n = jobs[SIZE, row]
    if following[at + 1] >= at + n:
        return False
    here = at if at < entries else at - entries
    back_leaf, back_pod = 0, 0
    if state[CIRCLE]:
        back_leaf, back_pod = _returns(at, places, total)
    if back_pod == 0:
        saved = rest_savings(here, n, 0 if state[CIRCLE] else 1, places, free, inside, rest, rooms, weights)
        if saved < 0:
            return False
        least = cost_of(n, weights[0] * (n * (n - 1) // 2) - saved, weights)
        if least - low[jobs[UNIT, row]] > limit:
            return False
    for k in range(8):
        labels[0, k] = 0
    labels[0, IN_A] = 1
    labels[0, IN_B] = 1
    labels[0, PARENT] = -1
    labels[0, NEXT] = -1
    _move(labels, 0, here, at + 1 if at + 1 < entries else at + 1 - entries, here, back_leaf, back_pod, places)
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
def _move(labels, label, here, there, first, back_leaf, back_pod, places):  # type: ignore[no-untyped-def]
    """The next entry of a label becomes ``there`` instead of ``here``: other counts hold in its leaf and pod."""
    if there >= places.shape[1]:
        there -= places.shape[1]  # right behind the last entry
    if places[LEAF, here] != places[LEAF, there]:
        if back_leaf and places[LEAF, here] == places[LEAF, first]:
            labels[label, IN_A0] = labels[label, IN_A]
        labels[label, IN_A] = 0
        if back_leaf and places[LEAF, there] == places[LEAF, first]:
            labels[label, IN_A] = labels[label, IN_A0]
            labels[label, IN_A0] = 0
    if places[POD, here] != places[POD, there]:
        if back_pod and places[POD, here] == places[POD, first]:
            labels[label, IN_B0] = labels[label, IN_B]
        labels[label, IN_B] = 0
        if back_pod and places[POD, there] == places[POD, first]:
            labels[label, IN_B] = labels[label, IN_B0]
            labels[label, IN_B0] = 0


@compiled
def _extend(  # type: ignore[no-untyped-def]
    state, limit, places, free, inside, rest, rooms, weights, jobs, sets, room, low,
    labels, paid, heads, active, actives, cost, outer, together, lists, lengths, following,
):  # fmt: skip
    """Place one more node behind each label of one set, directly or behind structures; False if there is no room."""
    entries = places.shape[1]
    total = sets[SPAN, sets.shape[1] - 1]
    circle = state[CIRCLE]
    at, row, placed, turn = state[AT], state[ROW], state[PLACED], state[TURN]
    n, unit = jobs[SIZE, row], jobs[UNIT, row]
    nested = active[turn, state[ACTIVE]]
    nodes = at + placed + sets[SPAN, nested]  # the next entry, on the doubled sequence
    if nodes >= 2 * entries or nodes >= at + entries:
        return True
    line = row_of(nodes, entries, total, circle)
    jumps = lengths[1, line]
    label = heads[turn, nested]
    waiting = 0
    while label >= 0:
        waiting += 1
        label = labels[label, NEXT]
    if state[COUNT] + waiting * (jumps + 1) >= len(paid):
        return False
    first = at if at < entries else at - entries
    here = nodes if nodes < entries else nodes - entries
    back_leaf, back_pod = 0, 0
    if circle:
        back_leaf, back_pod = _returns(at, places, total)
    left = n - placed - 1
    all_hops = weights[0] * (n * (n - 1) // 2)
    full = room[0] - sets[PACKED, nested] - jobs[PACKED_UNIT, row]
    label = heads[turn, nested]
    while label >= 0:
        for k in range(-1, jumps):
            jumped = 0
            if k >= 0:
                jumped = lists[1, line, k]
                if (full - sets[PACKED, jumped]) & room[1] != room[1]:
                    continue
            elif nested == 0 and left == 0:
                continue  # the plain block
            onto = nodes + sets[SPAN, jumped]
            if onto >= 2 * entries:
                continue
            state[LABELS] += 1
            new = state[COUNT]
            spent = paid[label]
            for field in range(5):
                labels[new, field] = labels[label, field]
            there = onto if onto < entries else onto - entries
            if k >= 0:
                spent += together[line, jumped]
                _move(labels, new, here, there, first, back_leaf, back_pod, places)
            labels[new, SAVED] += weights[2] * labels[new, IN_A] + weights[1] * labels[new, IN_B]
            inner = nested + jumped
            if left == 0:
                if circle and onto < entries:
                    continue  # known from the line
                value = spent + cost_of(n, all_hops - labels[new, SAVED], weights)
                filled = inner + unit
                if state[ONLY]:
                    if filled == state[WANTED] and (state[FOUND] < 0 or value < paid[-1]):
                        paid[-1] = value
                        state[FOUND], state[FOUND_JUMP] = label, jumped
                elif value < cost[at, filled] and value - low[filled] <= limit:
                    cost[at, filled] = value
                    outer[at, filled] = row
                continue
            if onto + 1 >= 2 * entries or (inner == 0 and following[onto + 1] >= at + n):
                continue
            labels[new, IN_A] += 1
            labels[new, IN_B] += 1
            follows = there + 1 if there + 1 < entries else 0
            _move(labels, new, there, follows, first, back_leaf, back_pod, places)
            # What the nodes that are left can save at most.
            wide, deep = places[IN_POD, follows], places[IN_LEAF, follows]
            if back_pod and places[POD, follows] == places[POD, first] and onto + 1 < entries:
                wide += back_pod
                if places[LEAF, follows] == places[LEAF, first]:
                    deep += back_leaf
                saved = free[0, left]
            else:
                saved = rest_savings(
                    follows, left, 0 if circle else 1, places, free, inside, rest, rooms, weights
                )
                if saved < 0:
                    continue
            wide, deep = min(wide, left), min(deep, left)
            ahead_leaf, ahead_pod = min(back_leaf, left), min(back_pod, left)
            saved += labels[new, SAVED] + weights[2] * labels[new, IN_A] * deep + weights[1] * labels[new, IN_B] * wide
            saved += weights[2] * labels[new, IN_A0] * ahead_leaf + weights[1] * labels[new, IN_B0] * ahead_pod
            least = spent + cost_of(n, max(0, all_hops - saved), weights)
            if least - low[inner] - low[unit] > limit:
                continue
            labels[new, PARENT] = label
            labels[new, JUMPED] = jumped
            paid[new] = spent
            _insert(state, new, inner, n, deep, wide, ahead_leaf, ahead_pod, weights, labels, paid, heads, active, actives)
        label = labels[label, NEXT]
    return True


@compiled
def _insert(  # type: ignore[no-untyped-def]
    state, new, inner, n, deep, wide, ahead_leaf, ahead_pod, weights, labels, paid, heads, active, actives
):
    """Keep the newest label of the arena unless another of its set is as good whatever follows."""
    turn = 1 - state[TURN]
    before = -1
    label = heads[turn, inner]
    if label < 0:
        active[turn, actives[turn]] = inner
        actives[turn] += 1
    hop = weights[3] / n
    while label >= 0:
        more, less = 0, 0  # what the new label can save more than the old one from here on, and the reverse
        gap = labels[new, IN_A] - labels[label, IN_A]
        more += weights[2] * deep * max(gap, 0)
        less += weights[2] * deep * max(-gap, 0)
        gap = labels[new, IN_B] - labels[label, IN_B]
        more += weights[1] * wide * max(gap, 0)
        less += weights[1] * wide * max(-gap, 0)
        gap = labels[new, IN_A0] - labels[label, IN_A0]
        more += weights[2] * ahead_leaf * max(gap, 0)
        less += weights[2] * ahead_leaf * max(-gap, 0)
        gap = labels[new, IN_B0] - labels[label, IN_B0]
        more += weights[1] * ahead_pod * max(gap, 0)
        less += weights[1] * ahead_pod * max(-gap, 0)
        gap = labels[label, SAVED] - labels[new, SAVED]
        dearer = paid[new] - paid[label]
        if _no_worse(gap - more, dearer, hop, weights):
            return
        if _no_worse(-gap - less, -dearer, hop, weights):
            label = labels[label, NEXT]
            if before < 0:
                heads[turn, inner] = label
            else:
                labels[before, NEXT] = label
        else:
            before = label
            label = labels[label, NEXT]
    labels[new, NEXT] = heads[turn, inner]
    heads[turn, inner] = new
    state[COUNT] += 1


@compiled
def _no_worse(hops, money, hop, weights):  # type: ignore[no-untyped-def]
    """Whether saving so many hops more and paying so much less is no loss, rounding down included."""
    if hops >= 0 and money >= 0:
        return True
    # Two costs rounded down, to 1 at least, differ by less than 2 more than before.
    return money + hop * hops >= (2.0 if weights[4] else 0.0)
