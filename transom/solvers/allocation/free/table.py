"""States of the dynamic programme over leaf switches: numbers packed into words, kept in a table by their words."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import inlined, no_refcount
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.solvers.allocation.free_pricing import Pricing
from transom.solvers.allocation.rank import smallest
from transom.solvers.allocation.shape import Shape


class Field:
    """Where the numbers of a job of a type stand in a state: its need, its count in the pod and its savings."""

    type: int
    word: int
    shift: int
    mask: int
    pod_word: int
    pod_shift: int
    pod_mask: int
    sum_word: int  # -1 if there are no savings to be distinguished
    sum_shift: int
    sum_mask: int


class Mark:
    """Where the mark of the leaf or pod before stands; interchangeable ones are dealt out in the order of marks."""

    radix: int
    word: int
    shift: int
    mask: int


class Rounding:
    """What rounding does to a job of a type.

    ``alone``, ``pair``: cost without savings and what a pair saves, both times its nodes and modulo its ``nodes``;
    ``most``: the largest remainder; ``free``: the pairs from which on it would cost 0, but costs 1; ``raised``: whether
    there can be so many.
    """

    alone: int
    pair: int
    most: int
    nodes: int
    free: int
    raised: int


class Program(NamedTuple):
    """What a pass over the leaves depends on."""

    shape: Shape
    pricing: Pricing
    prices: FloatArray  # of a node of each leaf, (S,)
    values: FloatArray  # what nodes of a leaf are worth to each type after their price, (T, at[S])
    inner: FloatArray  # of `tails`
    outer: FloatArray
    pod_of: IntArray  # of each leaf
    same: BoolArray  # whether a leaf and the one after it are interchangeable
    runs: IntArray  # first and last + 1 of the interchangeable pods that each pod belongs to, (P, 2)
    rooms: IntArray  # idle nodes from each leaf to the end of its pod
    memo: FloatArray  # what is still to be had, where `memo_at` (T, S) is not -1
    memo_at: IntArray
    fields: NDArray[Any]  # a `Field` for each job
    leaf_mark: Mark
    pod_mark: Mark
    rounding: NDArray[Any]  # a `Rounding` for each type
    alike: bool  # whether there are jobs of one type


class States(NamedTuple):
    """All states of a pass, layer by layer, and a hash table of those of the new layer.

    In the middle of a pod ``slack``, from which that after the pod follows, may be less than what is sure to come,
    ``bound``. Limits of slack are wider by as much as rounding may lower all costs;
    ``rounded`` is by how much less it lowers those of the jobs that are complete, or by how much it raises them to 1,
    part of the bound.
    """

    keys: IntArray  # (states, words)
    raws: IntArray  # before alike jobs were put into order; no rows where none are
    sums: IntArray  # (states, words)
    slack: FloatArray
    bound: FloatArray
    rounded: FloatArray
    parents: IntArray
    ranks: FloatArray  # scratch, as long as `bound`
    slots: IntArray


class Layer:
    """The layers of states before and after a leaf.

    ``next`` of those from ``begin`` to ``end`` is dealt out next; those after it, up to ``count``, are new. A layer has
    at most ``width`` states. States up to ``limit`` slack are of interest, those of this layer below ``cut``;
    ``dropped`` is the least slack of one that was dropped.
    """

    leaf: int
    next: int
    begin: int
    end: int
    count: int
    width: int
    limit: float
    cut: float
    dropped: float


class Candidate(NamedTuple):
    """A new state."""

    key: IntArray
    raw: IntArray
    sums: IntArray
    order: IntArray  # scratch, (jobs,)


@no_refcount
def slot_of(slots: IntArray, key: IntArray) -> int:
    h = np.uint64(0x9E3779B97F4A7C15)
    for w in range(len(key)):
        h = (h ^ np.uint64(key[w])) * np.uint64(0xBF58476D1CE4E5B9)
        h ^= h >> np.uint64(29)
    return np.int64(h & np.uint64(len(slots) - 1))  # type: ignore[return-value]


@no_refcount
def _free_slot(states: States, key: IntArray, begin: int) -> int:
    slot = slot_of(states.slots, key)
    while states.slots[slot] >= begin:
        slot = (slot + 1) & (len(states.slots) - 1)
    return slot


@no_refcount
def _apart(program: Program, one: IntArray, other: IntArray) -> float:
    """By how much rounding may change the order of two states: only where jobs not complete differ in savings."""
    apart, alike = 0.0, True
    for w in range(len(one)):
        alike &= other[w] == one[w]
    if not alike:
        for j in range(len(program.fields)):
            f = program.fields[j]
            if f.sum_word >= 0 and sum_of(one, f) != sum_of(other, f):
                r = program.rounding[f.type]
                apart += r.most / r.nodes + r.raised
    return apart


@inlined
def put_state(
    program: Program, states: States, layer: Layer, new: Candidate, slack: float, bound: float, rounded: float,
    parent: int,
) -> None:  # fmt: skip
    """Add a state unless one that is as good is there."""
    words, begin = len(new.key), layer.end
    slot = slot_of(states.slots, new.key)
    place = -1
    while states.slots[slot] >= begin:
        i = states.slots[slot]
        same = True
        for w in range(words):
            if states.keys[i, w] != new.key[w]:
                same = False
                break
        if same:
            apart = _apart(program, new.sums, states.sums[i])
            other = states.slack[i] + states.rounded[i]
            if other + apart <= slack + rounded:
                return
            if slack + rounded + apart <= other:
                place = i
                break
        slot = (slot + 1) & (len(states.slots) - 1)
    if place < 0:
        if layer.count == len(states.slack) or layer.count - begin >= 2 * layer.width:
            thin(states, layer)
            if bound >= layer.cut:
                return
            slot = _free_slot(states, new.key, begin)
        place = layer.count
        layer.count += 1
        states.slots[slot] = place
        for w in range(words):
            states.keys[place, w] = new.key[w]
    if len(states.raws):
        for w in range(words):
            states.raws[place, w] = new.raw[w]
    for w in range(len(new.sums)):
        states.sums[place, w] = new.sums[w]
    states.slack[place], states.bound[place], states.rounded[place] = slack, bound, rounded
    states.parents[place] = parent


@no_refcount
def _ranked(states: States, layer: Layer, rank: int) -> float:
    """The bound of this rank in the new layer."""
    begin, count = layer.end, layer.count
    for i in range(begin, count):
        states.ranks[i] = states.bound[i]
    return smallest(states.ranks[begin:count], rank)


@no_refcount
def thin(states: States, layer: Layer) -> None:
    """Keep the states of the new layer with the least slack, as many as a layer may have."""
    begin, count, width = layer.end, layer.count, layer.width
    if count - begin <= width:
        return
    cut = _ranked(states, layer, width)
    layer.cut = min(layer.cut, cut)
    layer.dropped = min(layer.dropped, cut)
    ties = width
    for i in range(begin, count):
        ties -= states.bound[i] < cut
    kept = begin
    for i in range(begin, count):
        bound = states.bound[i]
        if bound > cut or (bound == cut and ties <= 0):
            continue
        ties -= bound == cut
        for w in range(states.keys.shape[1]):
            states.keys[kept, w] = states.keys[i, w]
            if len(states.raws):
                states.raws[kept, w] = states.raws[i, w]
        for w in range(states.sums.shape[1]):
            states.sums[kept, w] = states.sums[i, w]
        states.slack[kept], states.bound[kept], states.rounded[kept] = states.slack[i], bound, states.rounded[i]
        states.parents[kept] = states.parents[i]
        kept += 1
    layer.count = kept
    states.slots[:] = -1
    for i in range(begin, kept):
        states.slots[_free_slot(states, states.keys[i], begin)] = i


@no_refcount
def lower_cut(states: States, layer: Layer) -> None:
    """Drop what is worse than half of the new layer."""
    number = layer.count - layer.end
    median = (_ranked(states, layer, (number - 1) // 2) + _ranked(states, layer, number // 2)) / 2
    layer.cut = min(layer.cut, median)
    layer.dropped = min(layer.dropped, layer.cut)


@no_refcount
def sort_alike(program: Program, new: Candidate) -> None:
    """Put jobs of one type into order of need and count in the pod; ``order`` becomes where each came from.

    The future of a state does not distinguish them.
    """
    fields, came, jobs = program.fields, new.order, len(program.fields)
    for j in range(jobs):
        came[j] = j
    begin = 0
    while begin < jobs:
        end = begin + 1
        while end < jobs and fields[end].type == fields[begin].type:
            end += 1
        for i in range(begin + 1, end):
            j = i
            while j > begin and _comes_before(new.key, fields[j], fields[j - 1]):
                _swap_jobs(new, fields[j], fields[j - 1])
                came[j], came[j - 1] = came[j - 1], came[j]
                j -= 1
        begin = end


@inlined
def need_of(key: IntArray, f: Field) -> int:
    """Nodes that a job still needs in a state."""
    need: int = (key[f.word] >> f.shift) & f.mask
    return need


@inlined
def held_of(key: IntArray, f: Field) -> int:
    """Nodes that it has in the current pod."""
    held: int = (key[f.pod_word] >> f.pod_shift) & f.pod_mask
    return held


@inlined
def sum_of(sums: IntArray, f: Field) -> int:
    """Hops that it saves."""
    saved: int = (sums[f.sum_word] >> f.sum_shift) & f.sum_mask
    return saved


@inlined
def mark_of(key: IntArray, mark: Mark) -> int:
    """A mark in a state."""
    code: int = (key[mark.word] >> mark.shift) & mark.mask
    return code


@inlined
def set_mark(key: IntArray, mark: Mark, code: int) -> None:
    """Replace a mark."""
    key[mark.word] &= ~(mark.mask << mark.shift)
    key[mark.word] += code << mark.shift


@no_refcount
def _comes_before(key: IntArray, f: Field, g: Field) -> bool:
    a, b = need_of(key, f), need_of(key, g)
    if a != b:
        return a > b
    return held_of(key, f) > held_of(key, g)


@no_refcount
def _swap_jobs(new: Candidate, f: Field, g: Field) -> None:
    apart = need_of(new.key, g) - need_of(new.key, f)
    new.key[f.word] += apart << f.shift
    new.key[g.word] -= apart << g.shift
    apart = held_of(new.key, g) - held_of(new.key, f)
    new.key[f.pod_word] += apart << f.pod_shift
    new.key[g.pod_word] -= apart << g.pod_shift
    if len(new.sums) and f.sum_word >= 0:
        apart = sum_of(new.sums, g) - sum_of(new.sums, f)
        new.sums[f.sum_word] += apart << f.sum_shift
        new.sums[g.sum_word] -= apart << g.sum_shift
