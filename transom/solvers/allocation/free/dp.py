"""Compiled inner loops of the dynamic programme over leaf switches (:mod:`transom.solvers.allocation.free.states`).

A state says how many nodes each job still needs and how many it has in the current pod, packed into words. Its
*slack* is by how much every completion stays behind the dual value at least: what the jobs lose against their own
best choices, plus what the leaves so far lose against their best use. Only states within a limit of slack are kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, inlined, no_refcount
from transom._system.sorting import put
from transom.models.arrays import FloatArray, IntArray
from transom.solvers.allocation.free.table import (
    Candidate,
    Layer,
    Program,
    States,
    held_of,
    lower_cut,
    mark_of,
    need_of,
    put_state,
    set_mark,
    sort_alike,
    sum_of,
    thin,
)

_TRIES = 3  # after which the rest of a state's choices is dropped


class Scratch(NamedTuple):
    """Of the state that is dealt out: its jobs that need nodes are ``active``, and numbered from 0."""

    new: Candidate
    active: IntArray
    need: IntArray  # (jobs,)
    held: IntArray
    totals: IntArray  # nodes in the pod of jobs of each type, large ones first
    now: IntArray
    before: FloatArray  # the best that each active job can still make
    loss: FloatArray  # least losses of jobs that share a pod, (2, nodes + 1)
    option: IntArray  # nodes of this leaf that an active job may take, (jobs, cap + 1)
    cost: FloatArray  # what that costs
    options: IntArray  # how many these are
    suffix: FloatArray  # least cost of the jobs from each one on with so many nodes, (jobs + 1, cap + 1)
    turn: IntArray  # the stack of the enumeration, (jobs + 1,)
    chosen: IntArray
    left: IntArray
    spent: FloatArray


class Parent:
    """The state that is dealt out, and the steps that are left.

    ``count`` jobs need nodes; ``slack`` has the price of the whole leaf in it, which what is used lowers; ``rounded``
    is that of the state, and no completion has less slack than ``floor``. Of leaves that are alike the one before has
    ``mark``; of such pods the one before has ``pod_mark``: the type of rank ``lead`` had ``most`` nodes there.
    """

    state: int
    count: int
    slack: float
    rounded: float
    floor: float
    mark: int
    pod_mark: int
    lead: int
    most: int
    work: int


@inlined
def _rest(program: Program, t: int, s: int, need: int, held: int) -> float:
    """The best that a job can still make of nodes from a leaf on, with some in the pod."""
    p, memo, place = program.pod_of[s], program.memo, -1
    if program.memo_at[t, s] >= 0:
        place = program.memo_at[t, s] + held * (program.shape.sizes[t] + 1) + need
        if not np.isnan(memo[place]):
            return float(memo[place])
    savings, best = program.pricing.savings[t, program.pricing.pod_at[p] + held :], -np.inf
    inner, outer = program.inner[t, s], program.outer[t, p + 1]
    for c in range(min(need, program.rooms[s]) + 1):
        x = inner[c] + savings[c] + outer[need - c]
        best = x if x > best else best
    if place >= 0:
        memo[place] = best
    return best


@no_refcount
def expand(
    program: Program, states: States, layer: Layer, scratch: Scratch, parent: Parent, work: int
) -> tuple[bool, int]:
    """Deal out the current leaf in every state of the layer.

    Parameters
    ----------
    work : after about how many steps to return.

    Returns
    -------
    Whether the layer is complete, and what is left of ``work``.
    """
    parent.work = work
    while layer.next < layer.end:
        if parent.work <= 0:
            return False, parent.work
        parent.state = layer.next
        layer.next += 1
        limit = min(layer.limit, layer.cut)
        if states.bound[parent.state] > limit:
            continue
        _read(program, states, layer.leaf, scratch, parent)
        if _shared(program, layer.leaf, scratch, parent, limit) <= limit:
            _weigh(program, layer.leaf, scratch, parent, limit)
            _enumerate(program, states, layer, scratch, parent)
    return True, parent.work


@no_refcount
def _read(program: Program, states: States, s: int, scratch: Scratch, parent: Parent) -> None:
    """What the jobs of a state need and have, and what they can still make of it."""
    shape, state, fields = program.shape, parent.state, program.fields
    key, p = states.keys[state], program.pod_of[s]
    opening, count = s == shape.first[p], 0
    scratch.totals[:] = 0
    for j in range(len(fields)):
        f = fields[j]
        scratch.need[j] = need_of(key, f)
        held = held_of(key, f)
        scratch.totals[len(shape.sizes) - 1 - f.type] += held
        if scratch.need[j] > 0:
            scratch.held[j] = held
            scratch.active[count] = j
            count += 1
    parent.count, parent.mark, parent.pod_mark, parent.lead, parent.most = count, 0, 0, 0, 0
    if not opening and program.same[s - 1]:
        parent.mark = mark_of(key, program.leaf_mark)
    # Of pods that are alike, those come first in which the largest job (all of one size) has nodes, more of them
    # before less; then those of the next one.
    if program.runs[p, 1] - program.runs[p, 0] > 1:
        base, mark = program.pod_mark.radix, mark_of(key, program.pod_mark)
        parent.pod_mark, parent.lead, parent.most = mark, mark // base, base - 1 - mark % base
    parent.floor, parent.rounded = states.bound[state], states.rounded[state]
    parent.slack = states.slack[state] + program.prices[s] * shape.caps[s]
    for k in range(count):
        j = scratch.active[k]
        t = fields[j].type
        scratch.before[k] = _rest(program, t, s, scratch.need[j], scratch.held[j])
        if opening:
            parent.slack += program.outer[t, p, scratch.need[j]] - scratch.before[k]
    parent.work -= 1 + count


@no_refcount
def _shared(program: Program, s: int, scratch: Scratch, parent: Parent, limit: float) -> float:
    """The floor of the state's slack: with what is lost at least because the jobs share the nodes of this pod.

    A node left over loses its price.
    """
    shape, p, room = program.shape, program.pod_of[s], program.rooms[s]
    if s + 1 == shape.first[p + 1] or parent.count < 2:
        return parent.floor
    slack = parent.slack - program.prices[s] * shape.caps[s] + parent.rounded
    margin = limit - slack + 1e-9
    cheapest = np.inf
    for leaf in range(s, shape.first[p + 1]):
        cheapest = min(cheapest, program.prices[leaf])
    old, new = scratch.loss[0], scratch.loss[1]
    old[: room + 1] = np.inf
    old[0] = 0.0
    for k in range(parent.count):
        j = scratch.active[k]
        t, n = program.fields[j].type, scratch.need[j]
        inner, outer = program.inner[t, s], program.outer[t, p + 1]
        savings = program.pricing.savings[t, program.pricing.pod_at[p] + scratch.held[j] :]
        new[: room + 1] = np.inf
        for c in range(min(n, room) + 1):
            loss = scratch.before[k] - (inner[c] + savings[c] + outer[n - c])
            if loss <= margin:
                for m in range(c, room + 1):
                    x = old[m - c] + loss
                    new[m] = x if x < new[m] else new[m]
        old, new = new, old
    least = np.inf
    for m in range(room + 1):
        least = min(least, old[m] + (room - m) * cheapest)
    parent.work -= parent.count * room // 4
    parent.floor = max(parent.floor, slack + least)
    return parent.floor


@no_refcount
def _weigh(program: Program, s: int, scratch: Scratch, parent: Parent, limit: float) -> None:
    """What each choice of each job costs, as far as it is within the limit; the least cost of the jobs from each on."""
    shape, p, cap = program.shape, program.pod_of[s], program.shape.caps[s]
    closing, types, price = s + 1 == shape.first[p + 1], len(shape.sizes), program.prices[s]
    alone = program.runs[p, 1] - program.runs[p, 0] == 1
    margin = limit - parent.rounded - parent.slack + price * cap + 1e-9
    scratch.suffix[parent.count, :] = 0.0
    for k in range(parent.count - 1, -1, -1):
        j = scratch.active[k]
        t, n, b = program.fields[j].type, scratch.need[j], scratch.held[j]
        found, top, rank = 0, min(cap, n), types - 1 - program.fields[j].type
        if not alone and rank <= parent.lead:
            top = 0 if rank < parent.lead else min(top, parent.most - scratch.totals[parent.lead])
        for a in range(top + 1):
            after = program.values[t, program.pricing.at[s] + a]
            if closing:
                savings = program.pricing.savings[t, program.pricing.pod_at[p] + b + a]
                after += savings + program.outer[t, p + 1, n - a]
            else:
                after += _rest(program, t, s + 1, n - a, b + a)
            loss = scratch.before[k] - after
            if loss <= margin:
                scratch.option[k, found] = a
                scratch.cost[k, found] = loss - price * a
                found += 1
        scratch.options[k] = found
        parent.work -= 1 + found
        for c in range(cap + 1):
            best = np.inf
            for i in range(found):
                a = scratch.option[k, i]
                if a > c:
                    break
                x = scratch.cost[k, i] + scratch.suffix[k + 1, c - a]
                best = x if x < best else best
            scratch.suffix[k, c] = best


@no_refcount
def _enumerate(program: Program, states: States, layer: Layer, scratch: Scratch, parent: Parent) -> None:
    """All choices within the limit, depth first."""
    turn, left, spent, option = scratch.turn, scratch.left, scratch.spent, scratch.option
    patience = min(8_000 + layer.width, 500_000)
    limit = min(layer.limit, layer.cut)
    k, visits, tries = 0, 0, 0
    turn[0], left[0], spent[0] = -1, program.shape.caps[layer.leaf], parent.slack
    while k >= 0:
        visits += 1
        if visits == patience:
            # One state alone has more choices than the clock allows: what is worse than half of this layer goes,
            # and in the end the rest of its choices.
            visits = 0
            tries += 1
            parent.work -= patience
            if tries == _TRIES:
                layer.dropped = min(layer.dropped, parent.floor)
                return
            if layer.count > layer.end:
                lower_cut(states, layer)
                limit = min(layer.limit, layer.cut)
        if k == parent.count:
            parent.work -= 1
            _add(program, states, layer, scratch, parent)
            limit = min(layer.limit, layer.cut)
            k -= 1
            continue
        turn[k] += 1
        if turn[k] >= scratch.options[k] or option[k, turn[k]] > left[k]:
            k -= 1
            continue
        a = option[k, turn[k]]
        x = spent[k] + scratch.cost[k, turn[k]]
        if x + scratch.suffix[k + 1, left[k] - a] + parent.rounded > limit:
            continue
        scratch.chosen[k] = a
        spent[k + 1], left[k + 1] = x, left[k] - a
        k += 1
        turn[k] = -1


@no_refcount
def _marks(program: Program, s: int, scratch: Scratch, parent: Parent) -> tuple[int, int, int]:
    """The marks of this leaf and of its pod after the choices made, and the rank of the first type in the pod."""
    shape, p, types = program.shape, program.pod_of[s], len(program.shape.sizes)
    # Who is first on this leaf, and with how many nodes.
    base = program.leaf_mark.radix
    code = len(program.fields) * base
    for i in range(parent.count):
        if scratch.chosen[i] > 0:
            code = scratch.active[i] * base + base - 1 - scratch.chosen[i]
            break
    if s + 1 < shape.first[p + 1] or program.runs[p, 1] - program.runs[p, 0] == 1:
        return code, 0, types
    for rank in range(types):
        scratch.now[rank] = scratch.totals[rank]
    for i in range(parent.count):
        scratch.now[types - 1 - program.fields[scratch.active[i]].type] += scratch.chosen[i]
    base = program.pod_mark.radix
    for rank in range(types):
        if scratch.now[rank] > 0:
            return code, rank * base + base - 1 - scratch.now[rank], rank
    return code, types * base, types


@inlined
def _add(program: Program, states: States, layer: Layer, scratch: Scratch, parent: Parent) -> None:
    """Add the state that the choices of the jobs lead to, unless its marks are out of order."""
    shape, s, fields, new = program.shape, layer.leaf, program.fields, scratch.new
    p, types = program.pod_of[s], len(shape.sizes)
    closing, end_run = s + 1 == shape.first[p + 1], program.runs[p, 1]
    alone, again = end_run - program.runs[p, 0] == 1, p + 1 < end_run
    code, pod_code, first_rank = _marks(program, s, scratch, parent)
    if (pod_code < parent.pod_mark and closing) or code < parent.mark:
        return
    for w in range(len(new.key)):
        new.key[w] = states.keys[parent.state, w]
    for w in range(len(new.sums)):
        new.sums[w] = states.sums[parent.state, w]
    set_mark(new.key, program.leaf_mark, code if program.same[s] else 0)
    if closing and not alone:
        set_mark(new.key, program.pod_mark, pod_code if again else 0)
        for j in range(len(fields)):
            new.key[fields[j].pod_word] &= ~(fields[j].pod_mask << fields[j].pod_shift)
    rounded, later = parent.rounded, 0.0
    for i in range(parent.count):
        j, a = scratch.active[i], scratch.chosen[i]
        f, n = fields[j], scratch.need[j] - a
        if again and closing and types - 1 - f.type < first_rank:
            # The other pods of this kind are not for it any more.
            later += program.outer[f.type, p + 1, n] - program.outer[f.type, end_run, n]
        if a:
            new.key[f.word] -= a << f.shift
            if len(new.sums) and f.sum_word >= 0:
                b = scratch.held[j]
                pairs = np.int64(shape.steps[0]) * (((b + a) * (b + a - 1) - b * (b - 1)) // 2)
                pairs += np.int64(shape.steps[1]) * (a * (a - 1) // 2)
                new.sums[f.sum_word] += pairs << f.sum_shift
                if n == 0:
                    pairs = sum_of(new.sums, f)
                    new.sums[f.sum_word] -= pairs << f.sum_shift
                    r = program.rounding[f.type]
                    remainder = (r.alone - r.pair * (pairs % r.nodes)) % r.nodes
                    rounded += (r.most - remainder) / r.nodes
                    rounded += pairs >= r.free
        if closing or (n == 0 and alone):
            new.key[f.pod_word] &= ~(f.pod_mask << f.pod_shift)
        else:
            new.key[f.pod_word] += a << f.pod_shift
    if program.alike:
        for w in range(len(new.key)):
            new.raw[w] = new.key[w]
        if not program.same[s]:
            sort_alike(program, new)
    slack = scratch.spent[parent.count]
    bound = max(slack + rounded + later, parent.floor)
    if bound <= min(layer.limit, layer.cut):
        put_state(program, states, layer, new, slack, bound, rounded, parent.state)


@no_refcount
def close_layer(states: States, layer: Layer) -> None:
    """Go on to the next leaf."""
    thin(states, layer)
    layer.leaf += 1
    layer.begin, layer.end = layer.end, layer.count
    layer.next = layer.begin
    layer.cut = np.inf


@compiled
def trace(program: Program, states: States, new: Candidate, state: int, held: IntArray) -> None:
    """The nodes of each job on each leaf in the solution that a state of the last layer stands for."""
    fields, leaves = program.fields, len(program.shape.caps)
    path = np.empty(leaves + 1, np.int64)
    for s in range(leaves, -1, -1):
        path[s] = state
        state = states.parents[state]
    job = np.arange(len(fields))
    for s in range(leaves):
        before = states.keys[path[s]]
        after = states.raws[path[s + 1]] if program.alike else states.keys[path[s + 1]]
        for j in range(len(fields)):
            held[job[j], s] = need_of(before, fields[j]) - need_of(after, fields[j])
        if program.alike and not program.same[s]:
            put(new.key, after)
            sort_alike(program, new)
            job = job[new.order]
