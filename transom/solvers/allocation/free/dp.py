"""Compiled inner loops of the dynamic programme over leaf switches (:mod:`transom.solvers.allocation.free.states`).

A state says how many nodes each job still needs and how many it has in the current pod, packed into words. Its
*slack* is by how much every completion stays behind the dual value at least: what the jobs lose against their own
best choices, plus what the leaves so far lose against their best use. Only states within a limit of slack are kept.
"""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom.solvers.allocation.free.table import (
    ALONE,
    BEGIN,
    BOUND,
    COUNT,
    CUT,
    DROPPED,
    END,
    EXACT,
    FREE,
    LEAF,
    LIMIT,
    MASK,
    MOST,
    NEXT,
    NODES,
    PAIR,
    POD_MASK,
    POD_SHIFT,
    POD_WORD,
    ROUNDED,
    SHIFT,
    SUM_MASK,
    SUM_SHIFT,
    SUM_WORD,
    TYPE,
    WIDEST,
    WIDTH,
    WORD,
    field_of,
    put_state,
    sort_alike,
    thin,
)


@compiled
def tails(sizes, caps, first, at, values, pod_at, worth, pay, inner, outer):  # type: ignore[no-untyped-def]
    """What is still to be had from each leaf on, for each type.

    ``inner[t, s, c]``: c nodes on the leaves from s to the end of its pod, without the pod's own savings;
    ``outer[t, p, m]``: m nodes in pods p and after, payments counted. Minus infinity where there are not so many.
    """
    pods = len(first) - 1
    inner[:] = -np.inf
    outer[:] = -np.inf
    for t in range(len(sizes)):
        size = sizes[t]
        outer[t, pods, 0] = 0.0
        beyond = 0
        for p in range(pods - 1, -1, -1):
            reach = 0
            for s in range(first[p + 1] - 1, first[p] - 1, -1):
                new = inner[t, s]
                most = min(reach + caps[s], size)
                for a in range(min(caps[s], size) + 1):
                    value = values[t, at[s] + a]
                    if s == first[p + 1] - 1:
                        new[a] = value
                        continue
                    old = inner[t, s + 1]
                    for b in range(min(reach, size - a) + 1):
                        x = old[b] + value
                        new[a + b] = x if x > new[a + b] else new[a + b]
                reach = most
            for b in range(reach + 1):
                value = inner[t, first[p], b] + worth[t, pod_at[p] + b] - pay[t, pod_at[p] + b]
                for m in range(min(beyond, size - b) + 1):
                    x = outer[t, p + 1, m] + value
                    outer[t, p, m + b] = x if x > outer[t, p, m + b] else outer[t, p, m + b]
            beyond = min(size, beyond + reach)


@compiled
def pod_best(types, sizes, pod_at, pay, best):  # type: ignore[no-untyped-def]
    """The most that the jobs can pay to each pod together."""
    for p in range(len(best)):
        room = pod_at[p + 1] - pod_at[p] - 1
        row = np.zeros(room + 1)
        for t in types:
            for c in range(room, 0, -1):
                for b in range(1, min(c, sizes[t]) + 1):
                    x = row[c - b] + pay[t, pod_at[p] + b]
                    row[c] = x if x > row[c] else row[c]
        best[p] = row[room]


@compiled
def _rest(t, s, p, need, held, size, room, inner, outer, worth, pod_at, memo, memo_at):  # type: ignore[no-untyped-def]
    # The best that a job of type t can still make of `need` nodes from leaf s on, with `held` in this pod, to which it
    # pays nothing.
    place = -1
    if memo_at[t, s] >= 0:
        place = memo_at[t, s] + held * (size + 1) + need
        if not np.isnan(memo[place]):
            return memo[place]
    best = -np.inf
    for c in range(min(need, room) + 1):
        x = inner[t, s, c] + worth[t, pod_at[p] + held + c] + outer[t, p + 1, need - c]
        best = x if x > best else best
    if place >= 0:
        memo[place] = best
    return best


@compiled
def expand(  # type: ignore[no-untyped-def]
    caps, first, pod_of, same, runs, rooms, sizes, steps, at, values, prices, pod_at, worth, pod_bests, inner, outer,
    memo, memo_at, fields, alike, keys, raws, all_sums, slacks, parents, table, rounding, whole, real, work,
):  # fmt: skip
    """Deal out the current leaf in every state of the layer.

    Parameters
    ----------
    same : whether a leaf and the one after it are interchangeable.
    runs : first and last + 1 of the interchangeable pods that each pod belongs to, shape ``(P, 2)``.
    rooms : idle nodes from each leaf to the end of its pod.
    values, prices : what a nodes of a leaf are worth to a type after their price, and the price of a node there.
    alike : whether there are jobs of one type.
    work : after about how many steps to return.

    Returns
    -------
    Whether the layer is complete, and what is left of ``work``.
    """
    s = whole[LEAF]
    p = pod_of[s]
    cap, opening, closing = caps[s], s == first[p], s + 1 == first[p + 1]
    jobs, words, sum_words = len(fields) - 2, keys.shape[1], all_sums.shape[1]
    mark_field = fields[jobs]
    base = mark_field[TYPE]
    pod_field = fields[jobs + 1]
    pod_base, types = pod_field[TYPE], len(sizes)
    end_run = runs[p, 1]
    alone, again = end_run - runs[p, 0] == 1, p + 1 < end_run
    totals, now = np.zeros(types, np.int64), np.zeros(types, np.int64)
    key, raw, sums = np.empty(words, np.int64), np.empty(words, np.int64), np.empty(sum_words, np.int64)
    need, held = np.empty(jobs, np.int64), np.empty(jobs, np.int64)
    active = np.empty(jobs, np.int64)
    cost = np.empty((jobs, cap + 1))
    option = np.empty((jobs, cap + 1), np.int64)
    options, turn = np.empty(jobs, np.int64), np.empty(jobs + 1, np.int64)
    suffix = np.empty((jobs + 1, cap + 1))
    befores = np.empty(jobs)
    losses = np.empty((2, rooms[s] + 1))
    chosen = np.zeros(jobs + 1, np.int64)
    spent = np.empty(jobs + 1)
    left = np.empty(jobs + 1, np.int64)
    patience = min(8_000 + whole[WIDTH], 500_000)
    while whole[NEXT] < whole[END]:
        if work <= 0:
            return False, work
        parent = whole[NEXT]
        whole[NEXT] += 1
        limit = min(real[LIMIT], real[CUT])
        floor = slacks[parent, BOUND]
        if floor > limit:
            continue
        count = 0
        for j in range(jobs):
            f = fields[j]
            need[j] = (keys[parent, f[WORD]] >> f[SHIFT]) & f[MASK]
            if need[j] > 0:
                held[j] = (keys[parent, f[POD_WORD]] >> f[POD_SHIFT]) & f[POD_MASK]
                active[count] = j
                count += 1
        mark = 0
        if not opening and same[s - 1]:
            mark = (keys[parent, mark_field[WORD]] >> mark_field[SHIFT]) & mark_field[MASK]
        # Of pods that are alike, those come first in which the largest job (all of one size) has nodes, more of them
        # before less; then those of the next one.
        pod_mark, lead, most = 0, 0, 0
        if not alone:
            pod_mark = (keys[parent, pod_field[WORD]] >> pod_field[SHIFT]) & pod_field[MASK]
            lead, most = pod_mark // pod_base, pod_base - 1 - pod_mark % pod_base
            totals[:] = 0
            for j in range(jobs):
                f = fields[j]
                totals[types - 1 - f[TYPE]] += (keys[parent, f[POD_WORD]] >> f[POD_SHIFT]) & f[POD_MASK]
        excess = slacks[parent, ROUNDED]
        here = slacks[parent, EXACT] + prices[s] * cap
        if opening:
            here += pod_bests[p]
        for k in range(count):
            t = fields[active[k], TYPE]
            n = need[active[k]]
            befores[k] = _rest(
                t, s, p, n, held[active[k]], sizes[t], rooms[s], inner, outer, worth, pod_at, memo, memo_at
            )
            if opening:
                here += outer[t, p, n] - befores[k]
        work -= 1 + count
        if not closing and count > 1:
            # What is lost at least because the jobs share the nodes of this pod.
            open_slack = here - prices[s] * cap + excess
            cheapest = prices[s : first[p + 1]].min()
            floor = max(floor, open_slack + _sharing(
                s, p, count, active, fields, need, held, befores, rooms[s], limit - open_slack + 1e-9, cheapest, inner,
                outer, worth, pod_at, losses,
            ))  # fmt: skip
            work -= count * rooms[s] // 4
            if floor > limit:
                continue
        # What each choice of each job costs, as far as it is within the limit; the least cost of the jobs from each
        # on with so many nodes.
        margin = limit - excess - here + prices[s] * cap + 1e-9
        suffix[count, :] = 0.0
        for k in range(count - 1, -1, -1):
            j = active[k]
            t = fields[j, TYPE]
            n, b = need[j], held[j]
            found = 0
            top = min(cap, n)
            if not alone and types - 1 - t <= lead:
                top = 0 if types - 1 - t < lead else min(top, most - totals[lead])
            for a in range(top + 1):
                after = values[t, at[s] + a]
                if closing:
                    after += worth[t, pod_at[p] + b + a] + outer[t, p + 1, n - a]
                else:
                    after += _rest(
                        t, s + 1, p, n - a, b + a, sizes[t], rooms[s + 1], inner, outer, worth, pod_at, memo, memo_at
                    )
                loss = befores[k] - after
                if loss <= margin:
                    option[k, found] = a
                    cost[k, found] = loss - prices[s] * a
                    found += 1
            options[k] = found
            work -= 1 + found
            for c in range(cap + 1):
                best = np.inf
                for i in range(found):
                    a = option[k, i]
                    if a > c:
                        break
                    x = cost[k, i] + suffix[k + 1, c - a]
                    best = x if x < best else best
                suffix[k, c] = best
        # All choices within the limit, depth first.
        k = 0
        spent[0] = here
        left[0] = cap
        turn[0] = -1
        visits, tries = 0, 0
        while k >= 0:
            visits += 1
            if visits == patience:
                # One state alone has more choices than the clock allows: what is worse than half of this layer goes,
                # and in the end the rest of its choices.
                visits = 0
                tries += 1
                work -= patience
                if tries == 3:
                    real[DROPPED] = min(real[DROPPED], floor)
                    break
                if whole[COUNT] > whole[END]:
                    real[CUT] = min(real[CUT], np.median(slacks[whole[END] : whole[COUNT], BOUND]))
                    real[DROPPED] = min(real[DROPPED], real[CUT])
                    limit = min(real[LIMIT], real[CUT])
            if k == count:
                # Who is first on this leaf, and with how many nodes.
                code = jobs * base
                for i in range(count):
                    if chosen[i] > 0:
                        code = active[i] * base + base - 1 - chosen[i]
                        break
                work -= 1
                pod_code, first_rank = 0, types
                if closing and not alone:
                    now[:] = totals
                    for i in range(count):
                        now[types - 1 - fields[active[i], TYPE]] += chosen[i]
                    pod_code = types * pod_base
                    for rank in range(types):
                        if now[rank] > 0:
                            first_rank = rank
                            pod_code = rank * pod_base + pod_base - 1 - now[rank]
                            break
                    if pod_code < pod_mark:
                        k -= 1
                        continue
                if code >= mark:
                    for w in range(words):
                        key[w] = keys[parent, w]
                    for w in range(sum_words):
                        sums[w] = all_sums[parent, w]
                    rounded = excess
                    key[mark_field[WORD]] &= ~(mark_field[MASK] << mark_field[SHIFT])
                    if same[s]:
                        key[mark_field[WORD]] += code << mark_field[SHIFT]
                    later = 0.0
                    if closing and not alone:
                        key[pod_field[WORD]] &= ~(pod_field[MASK] << pod_field[SHIFT])
                        if again:
                            key[pod_field[WORD]] += pod_code << pod_field[SHIFT]
                        for j in range(jobs):
                            f = fields[j]
                            key[f[POD_WORD]] &= ~(f[POD_MASK] << f[POD_SHIFT])
                    for i in range(count):
                        j, a = active[i], chosen[i]
                        f = fields[j]
                        if again and closing and types - 1 - f[TYPE] < first_rank:
                            # The other pods of this kind are not for it any more.
                            n = need[j] - a
                            later += outer[f[TYPE], p + 1, n] - outer[f[TYPE], end_run, n]
                        if a:
                            key[f[WORD]] -= a << f[SHIFT]
                            if sum_words and f[SUM_WORD] >= 0:
                                b = held[j]
                                pairs = np.int64(steps[0]) * (((b + a) * (b + a - 1) - b * (b - 1)) // 2)
                                pairs += np.int64(steps[1]) * (a * (a - 1) // 2)
                                sums[f[SUM_WORD]] += pairs << f[SUM_SHIFT]
                                if a == need[j]:
                                    pairs = (sums[f[SUM_WORD]] >> f[SUM_SHIFT]) & f[SUM_MASK]
                                    sums[f[SUM_WORD]] -= pairs << f[SUM_SHIFT]
                                    r = rounding[f[TYPE]]
                                    remainder = (r[ALONE] - r[PAIR] * (pairs % r[NODES])) % r[NODES]
                                    rounded += (r[MOST] - remainder) / r[NODES]
                                    rounded += pairs >= r[FREE]
                        if closing or (a == need[j] and alone):
                            key[f[POD_WORD]] &= ~(f[POD_MASK] << f[POD_SHIFT])
                        else:
                            key[f[POD_WORD]] += a << f[POD_SHIFT]
                    if alike:
                        for w in range(words):
                            raw[w] = key[w]
                        if not same[s]:
                            sort_alike(key, sums, fields, jobs)
                    bound = max(spent[k] + rounded + later, floor)
                    if bound > limit:
                        k -= 1
                        continue
                    put_state(
                        key, raw, sums, spent[k], bound, rounded, parent, keys, raws, all_sums, slacks, parents, table,
                        fields, rounding, whole, real,
                    )  # fmt: skip
                    limit = min(real[LIMIT], real[CUT])
                k -= 1
                continue
            turn[k] += 1
            if turn[k] >= options[k]:
                k -= 1
                continue
            a = option[k, turn[k]]
            if a > left[k]:
                k -= 1
                continue
            x = spent[k] + cost[k, turn[k]]
            bound = x + suffix[k + 1, left[k] - a]
            if bound + excess > limit:
                continue
            chosen[k] = a
            spent[k + 1] = x
            left[k + 1] = left[k] - a
            k += 1
            turn[k] = -1
    return True, work


@compiled
def _sharing(  # type: ignore[no-untyped-def]
    s, p, count, active, fields, need, held, befores, room, margin, cheapest, inner, outer, worth, pod_at, losses
):
    # The least that jobs lose with at most `room` nodes for all in this pod; a node left over loses its price.
    old, new = losses[0], losses[1]
    old[:] = np.inf
    old[0] = 0.0
    for k in range(count):
        j = active[k]
        t, n, b = fields[j, TYPE], need[j], held[j]
        new[:] = np.inf
        for c in range(min(n, room) + 1):
            loss = befores[k] - (inner[t, s, c] + worth[t, pod_at[p] + b + c] + outer[t, p + 1, n - c])
            if loss <= margin:
                for m in range(c, room + 1):
                    x = old[m - c] + loss
                    new[m] = x if x < new[m] else new[m]
        old, new = new, old
    least = np.inf
    for m in range(room + 1):
        least = min(least, old[m] + (room - m) * cheapest)
    return least


@compiled
def close_layer(keys, raws, all_sums, slacks, parents, table, whole, real):  # type: ignore[no-untyped-def]
    """Go on to the next leaf."""
    thin(keys, raws, all_sums, slacks, parents, table, whole, real)
    whole[LEAF] += 1
    whole[BEGIN], whole[END] = whole[END], whole[COUNT]
    whole[NEXT] = whole[BEGIN]
    whole[WIDEST] = max(whole[WIDEST], whole[END] - whole[BEGIN])
    real[CUT] = np.inf


@compiled
def trace(state, leaves, keys, raws, all_sums, parents, fields, same, held):  # type: ignore[no-untyped-def]
    """The nodes of each job on each leaf in the solution that a state of the last layer stands for."""
    jobs, alike = len(fields) - 2, len(raws) > 0
    path = np.empty(leaves + 1, np.int64)
    for s in range(leaves, -1, -1):
        path[s] = state
        state = parents[state]
    job = np.arange(jobs)
    none = np.zeros(0, np.int64)
    for s in range(leaves):
        old = keys[path[s]]
        new = raws[path[s + 1]] if alike else keys[path[s + 1]]
        for j in range(jobs):
            f = fields[j]
            held[job[j], s] = field_of(old, f[WORD], f[SHIFT], f[MASK]) - field_of(new, f[WORD], f[SHIFT], f[MASK])
        if alike and not same[s]:
            key = new.copy()
            job = job[sort_alike(key, none, fields, jobs)]
