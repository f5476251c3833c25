"""Compiled inner loops of the search over splits of jobs among pods (:mod:`transom.solvers.allocation.free.splits`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom._system.sorting import put, sum_of
from transom.models.arrays import BoolArray, FloatArray, IntArray


class Pods(NamedTuple):
    """A state is how many nodes of each pod are taken, ``sum(strides * taken)``."""

    rooms: IntArray  # idle nodes, (P,)
    strides: IntArray


class Options(NamedTuple):
    """Splits of a job among pods, or of jobs on a leaf, and what they gain."""

    nodes: IntArray  # (K, P), or (K, jobs)
    gains: FloatArray  # best first where they are splits


class Layer(NamedTuple):
    """States after some jobs, in a hash table of their places."""

    keys: IntArray
    values: FloatArray  # the most that the jobs so far gain
    ahead: FloatArray  # what those after them gain at most
    table: IntArray


class Goal(NamedTuple):
    """What cannot gain so much is left out."""

    rest: float  # what the jobs after the next one gain at most
    least: float


class Tree(NamedTuple):
    """Options of all jobs, one after another, and all layers."""

    firsts: IntArray  # where the options of each job begin
    options: Options
    alike: BoolArray  # whether a job is of the type of the one before
    layers: Layer
    keys_at: IntArray  # where each layer begins
    tables_at: IntArray


class Found(NamedTuple):
    """The stack of an enumeration, and what was found: option of each job ``(K, J)``, and what all gain."""

    turn: IntArray
    at: IntArray
    gained: FloatArray
    options: IntArray
    worths: FloatArray


@compiled
def splits(
    size: int, rooms: IntArray, gains: FloatArray, gap: float, out: IntArray, values: FloatArray
) -> tuple[int, float]:
    """All splits of one job among pods whose gain is within a gap of the best one.

    Parameters
    ----------
    size : nodes of the job.
    rooms : idle nodes of each pod, ``(P,)``.
    gains : ``gains[p, b]``, what b nodes in pod p gain; minus infinity where they do not fit.
    out, values : the splits, ``(K, P)``, and their gains, ``(K,)``; changed in place.

    Returns
    -------
    How many there are, -1 if more than K, and the best gain.
    """
    pods = len(rooms)
    rest = np.full((pods + 1, size + 1), -np.inf)
    rest[pods, 0] = 0.0
    for p in range(pods - 1, -1, -1):
        for n in range(size + 1):
            for b in range(min(n, rooms[p]) + 1):
                rest[p, n] = max(rest[p, n], gains[p, b] + rest[p + 1, n - b])
    best = rest[0, size]
    count, p = 0, 0
    taken = np.zeros(pods, np.int64)
    left = np.full(pods + 1, size)
    gained = np.zeros(pods + 1)
    taken[0] = -1
    while p >= 0:
        taken[p] += 1
        b = taken[p]
        if b > min(left[p], rooms[p]):
            p -= 1
            continue
        gain = gained[p] + gains[p, b]
        most = gain + rest[p + 1, left[p] - b]
        if most == -np.inf or most < best - gap:
            continue
        if p < pods - 1:
            gained[p + 1], left[p + 1] = gain, left[p] - b
            p += 1
            taken[p] = -1
            continue
        if count == len(values):
            return -1, best
        put(out[count], taken)
        values[count] = gain
        count += 1
    return count, best


@no_refcount
def place_of(table: IntArray, keys: IntArray, key: int) -> int:
    """Where a key stands in a hash table, or where it belongs."""
    mask = len(table) - 1
    place = (((key % 1_000_000_007) * 2_654_435_761) >> 7) & mask
    while table[place] >= 0 and keys[table[place]] != key:
        place = (place + 1) & mask
    return place


@no_refcount
def rehash(table: IntArray, keys: IntArray, count: int) -> None:
    """Fill a larger table with the states that are known."""
    table[:] = -1
    for i in range(count):
        table[place_of(table, keys, keys[i])] = i


@no_refcount
def taking(key: int, split: IntArray, pods: Pods) -> int:
    """The state after a job that takes so many nodes of each pod, shape ``(P,)``; -1 where a pod has no room."""
    rooms, strides = pods.rooms, pods.strides
    new = key
    for p in range(len(rooms)):
        if (key // strides[p]) % (rooms[p] + 1) + split[p] > rooms[p]:
            return -1
        new += split[p] * strides[p]
    return new


@no_refcount
def extend(
    pods: Pods, options: Options, layer: Layer, after: Layer, goal: Goal, begin: int, count: int, work: int
) -> tuple[int, int, int]:
    """Give the next job to each state.

    Parameters
    ----------
    options : of the next job.
    layer, after : states before and after it; the latter has ``count`` so far.
    begin : first state to extend.
    work : about how many steps to take.

    Returns
    -------
    The state to go on with, states of the next layer, steps left; ends early where the layer might be full.
    """
    most = len(options.gains)
    for i in range(begin, len(layer.keys)):
        if work <= 0 or count + most > len(after.keys):
            return i, count, work
        work -= 1
        for k in range(most):
            value = layer.values[i] + options.gains[k]
            if value + goal.rest < goal.least:
                break
            work -= 1
            new = taking(layer.keys[i], options.nodes[k], pods)
            if new < 0:
                continue
            place = place_of(after.table, after.keys, new)
            at = after.table[place]
            if at < 0:
                after.table[place] = count
                after.keys[count], after.values[count] = new, value
                count += 1
            elif value > after.values[at]:
                after.values[at] = value
    return len(layer.keys), count, work


@no_refcount
def complete(
    pods: Pods, options: Options, layer: Layer, after: Layer, goal: Goal, begin: int, work: int
) -> tuple[int, int]:
    """Fill in what this job and those after it gain at most from each state, exactly; parameters as in :func:`extend`.

    Returns
    -------
    The state to go on with, and steps left.
    """
    gains = options.gains
    for i in range(begin, len(layer.keys)):
        if work <= 0:
            return i, work
        value, best = layer.values[i], -np.inf
        work -= 1
        for k in range(len(gains)):
            if value + gains[k] + goal.rest < goal.least or gains[k] + goal.rest < best:
                break
            work -= 1
            new = taking(layer.keys[i], options.nodes[k], pods)
            if new >= 0:
                at = after.table[place_of(after.table, after.keys, new)]
                if at >= 0:
                    best = max(best, gains[k] + after.ahead[at])
        layer.ahead[i] = best
    return len(layer.keys), work


@no_refcount
def descend(
    pods: Pods, tree: Tree, found: Found, least: float, depth: int, count: int, work: int
) -> tuple[int, int, int]:
    """Enumerate what all jobs together may have, depth first, as far as it gains at least so much.

    Of jobs that are alike the earlier one has the earlier split.

    Returns
    -------
    Depth (-1 at the end), how many were found, and steps left.
    """
    turn, at, gained, firsts, alike = found.turn, found.at, found.gained, tree.firsts, tree.alike
    last = len(alike) - 1
    while depth >= 0:
        if work <= 0 or count == len(found.worths):
            return depth, count, work
        work -= 1
        turn[depth] += 1
        k = turn[depth]
        if k >= firsts[depth + 1]:
            depth -= 1
            continue
        # States of the layer after this job.
        begin, end = tree.keys_at[depth + 1], tree.keys_at[depth + 2]
        new = taking(tree.layers.keys[tree.keys_at[depth] + at[depth]], tree.options.nodes[k], pods)
        if new < 0:
            continue
        table = tree.layers.table[tree.tables_at[depth + 1] : tree.tables_at[depth + 2]]
        state = table[place_of(table, tree.layers.keys[begin:end], new)]
        gain = gained[depth] + tree.options.gains[k]
        if state < 0 or gain + tree.layers.ahead[begin + state] < least:
            continue
        if depth == last:
            for j in range(last + 1):
                found.options[count, j] = turn[j]
            found.worths[count] = gain
            count += 1
            continue
        gained[depth + 1] = gain
        at[depth + 1] = state
        depth += 1
        # Splits of jobs of one type are the same list.
        turn[depth] = firsts[depth] - 1 + (turn[depth - 1] - firsts[depth - 1] if alike[depth] else 0)
    return depth, count, work


@compiled
def pack_leaf(
    cap: int,
    before: int,
    after: int,
    need: IntArray,
    strides: IntArray,
    options: Options,
    old: FloatArray,
    new: FloatArray,
) -> None:
    """What jobs save at most on the leaves from one on, for all numbers of nodes that they still need.

    Parameters
    ----------
    cap : idle nodes of the leaf.
    before, after : idle nodes of the pod on the leaves before it, and after it.
    need : nodes of each job in the pod, ``(m,)``; a state is ``sum(strides * still needed)``.
    options : nodes of each job on the leaf, and what they save.
    old, new : values of all states after the leaf, and from it on (changed in place).
    """
    jobs, total = len(need), sum_of(need)
    still = np.zeros(jobs, np.int64)
    for state in range(len(new)):
        new[state] = -np.inf
        rest = 0
        for j in range(jobs):
            still[j] = (state // strides[j]) % (need[j] + 1)
            rest += still[j]
        if rest > cap + after or rest < total - before:
            continue
        best = -np.inf
        for k in range(len(options.gains)):
            fits, taken, step = True, 0, 0
            for j in range(jobs):
                if options.nodes[k, j] > still[j]:
                    fits = False
                    break
                taken += options.nodes[k, j]
                step += options.nodes[k, j] * strides[j]
            if fits and rest - taken <= after:
                best = max(best, options.gains[k] + old[state - step])
        new[state] = best
