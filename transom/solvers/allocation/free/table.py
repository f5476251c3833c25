"""States of the dynamic programme over leaf switches: numbers packed into words, kept in a table by their words."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled

LEAF, NEXT, BEGIN, END, COUNT, WIDTH, WORK, WIDEST = range(8)
"""Fields of ``whole``: the leaf that is being dealt out; the next state; where the layers of states before and after it
begin and end; how many a layer may have; work done; the most states a layer had."""

LIMIT, CUT, DROPPED = range(3)
"""Fields of ``real``: the largest slack of interest; the slack from which states of this layer are dropped; the least
slack of a dropped state."""

TYPE, WORD, SHIFT, MASK, POD_WORD, POD_SHIFT, POD_MASK, SUM_WORD, SUM_SHIFT, SUM_MASK = range(10)
"""Columns of ``fields``: a job's type, where its need, its count in the pod and its savings stand in a state. Two
more rows say where the mark of the leaf before and that of the pod before stand; their column TYPE holds the base of
marks. Interchangeable leaves and pods are dealt out in the order of their marks."""


ALONE, PAIR, MOST, NODES, FREE, RAISED = range(6)
"""Columns of ``rounding``: cost of a job of each type without savings and what a pair saves, both times its nodes and
modulo its nodes; the largest remainder; its nodes; the pairs from which on it would cost 0, but costs 1; whether there
can be so many."""

EXACT, BOUND, ROUNDED = range(3)
"""Columns of ``slacks``. In the middle of a pod nothing has been paid to it: the slack from which that after the pod
follows is then less than what is sure to come, the bound. Limits of slack are wider by as much as rounding may lower
all costs; the last column is by how much less it lowers those of the jobs that are complete, or by how much it raises
them to 1, part of the bound."""


@compiled
def slot_of(table, begin, key, words):  # type: ignore[no-untyped-def]
    h = np.uint64(0x9E3779B97F4A7C15)
    for w in range(words):
        h = (h ^ np.uint64(key[w])) * np.uint64(0xBF58476D1CE4E5B9)
        h ^= h >> np.uint64(29)
    return np.int64(h & np.uint64(len(table) - 1))


@compiled
def put_state(  # type: ignore[no-untyped-def]
    key, raw, sums, slack, bound, rounded, parent, keys, raws, all_sums, slacks, parents, table, fields, rounding,
    whole, real,
):  # fmt: skip
    # Add a state unless one that is as good is there.
    words, begin = len(key), whole[END]
    slot = slot_of(table, begin, key, words)
    place = -1
    while table[slot] >= begin:
        i = table[slot]
        same = True
        for w in range(words):
            if keys[i, w] != key[w]:
                same = False
                break
        if same:
            # By how much rounding may change their order: only where jobs that are not complete differ in savings.
            apart, alike = 0.0, True
            for w in range(len(sums)):
                alike &= all_sums[i, w] == sums[w]
            if not alike:
                for j in range(len(fields) - 2):
                    f = fields[j]
                    if f[SUM_WORD] >= 0 and (
                        field_of(sums, f[SUM_WORD], f[SUM_SHIFT], f[SUM_MASK])
                        != field_of(all_sums[i], f[SUM_WORD], f[SUM_SHIFT], f[SUM_MASK])
                    ):
                        apart += rounding[f[TYPE], MOST] / rounding[f[TYPE], NODES] + rounding[f[TYPE], RAISED]
            other = slacks[i, EXACT] + slacks[i, ROUNDED]
            if other + apart <= slack + rounded:
                return
            if slack + rounded + apart <= other:
                place = i
                break
        slot = (slot + 1) & (len(table) - 1)
    if place < 0:
        if whole[COUNT] == len(slacks) or whole[COUNT] - begin >= 2 * whole[WIDTH]:
            thin(keys, raws, all_sums, slacks, parents, table, whole, real)
            if bound >= real[CUT]:
                return
            slot = slot_of(table, begin, key, words)
            while table[slot] >= begin:
                slot = (slot + 1) & (len(table) - 1)
        place = whole[COUNT]
        whole[COUNT] += 1
        table[slot] = place
        for w in range(words):
            keys[place, w] = key[w]
    if len(raws):
        for w in range(words):
            raws[place, w] = raw[w]
    for w in range(len(sums)):
        all_sums[place, w] = sums[w]
    slacks[place, EXACT], slacks[place, BOUND], slacks[place, ROUNDED] = slack, bound, rounded
    parents[place] = parent


@compiled
def thin(keys, raws, all_sums, slacks, parents, table, whole, real):  # type: ignore[no-untyped-def]
    """Keep the states of the new layer with the least slack, as many as a layer may have."""
    begin, count, width = whole[END], whole[COUNT], whole[WIDTH]
    if count - begin <= width:
        return
    cut = np.partition(slacks[begin:count, BOUND], width)[width]
    real[CUT] = min(real[CUT], cut)
    real[DROPPED] = min(real[DROPPED], cut)
    ties = width
    for i in range(begin, count):
        ties -= slacks[i, BOUND] < cut
    kept = begin
    for i in range(begin, count):
        bound = slacks[i, BOUND]
        if bound > cut or (bound == cut and ties <= 0):
            continue
        ties -= bound == cut
        keys[kept] = keys[i]
        if len(raws):
            raws[kept] = raws[i]
        for w in range(all_sums.shape[1]):
            all_sums[kept, w] = all_sums[i, w]
        slacks[kept] = slacks[i]
        parents[kept] = parents[i]
        kept += 1
    whole[COUNT] = kept
    table[:] = -1
    for i in range(begin, kept):
        slot = slot_of(table, begin, keys[i], keys.shape[1])
        while table[slot] >= begin:
            slot = (slot + 1) & (len(table) - 1)
        table[slot] = i


@compiled
def sort_alike(key, sums, fields, jobs):  # type: ignore[no-untyped-def]
    """Put jobs of one type into order of need and count in the pod; returns where each slot came from.

    The future of a state does not tell them apart.
    """
    came = np.arange(jobs)
    begin = 0
    while begin < jobs:
        end = begin + 1
        while end < jobs and fields[end, TYPE] == fields[begin, TYPE]:
            end += 1
        if end - begin > 1:
            for i in range(begin + 1, end):
                j = i
                while j > begin and comes_before(key, fields, j, j - 1):
                    swap_jobs(key, sums, fields, j, j - 1)
                    came[j], came[j - 1] = came[j - 1], came[j]
                    j -= 1
        begin = end
    return came


@compiled
def field_of(key, word, shift, mask):  # type: ignore[no-untyped-def]
    return (key[word] >> shift) & mask


@compiled
def comes_before(key, fields, i, j):  # type: ignore[no-untyped-def]
    f, g = fields[i], fields[j]
    a, b = field_of(key, f[WORD], f[SHIFT], f[MASK]), field_of(key, g[WORD], g[SHIFT], g[MASK])
    if a != b:
        return a > b
    a, b = field_of(key, f[POD_WORD], f[POD_SHIFT], f[POD_MASK]), field_of(key, g[POD_WORD], g[POD_SHIFT], g[POD_MASK])
    return a > b


@compiled
def swap_jobs(key, sums, fields, i, j):  # type: ignore[no-untyped-def]
    f, g = fields[i], fields[j]
    exchange_bits(key, f[WORD], f[SHIFT], g[WORD], g[SHIFT], f[MASK])
    exchange_bits(key, f[POD_WORD], f[POD_SHIFT], g[POD_WORD], g[POD_SHIFT], f[POD_MASK])
    if len(sums) and f[SUM_WORD] >= 0:
        exchange_bits(sums, f[SUM_WORD], f[SUM_SHIFT], g[SUM_WORD], g[SUM_SHIFT], f[SUM_MASK])


@compiled
def exchange_bits(words, w, shift, v, other, mask):  # type: ignore[no-untyped-def]
    a, b = field_of(words, w, shift, mask), field_of(words, v, other, mask)
    words[w] += (b - a) << shift
    words[v] += (a - b) << other
