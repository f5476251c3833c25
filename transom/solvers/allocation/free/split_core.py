"""Compiled inner loops of the search over splits of jobs among pods (:mod:`transom.solvers.allocation.free.splits`)."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled


@compiled
def splits(size, rooms, gains, gap, out, values):  # type: ignore[no-untyped-def]
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
        out[count], values[count] = taken, gain
        count += 1
    return count, best


@compiled
def place_of(table, keys, key):  # type: ignore[no-untyped-def]
    """Where a key stands in a hash table, or where it belongs."""
    mask = len(table) - 1
    place = (((key % 1_000_000_007) * 2_654_435_761) >> 7) & mask
    while table[place] >= 0 and keys[table[place]] != key:
        place = (place + 1) & mask
    return place


@compiled
def rehash(table, keys, count):  # type: ignore[no-untyped-def]
    """Fill a larger table with the states that are known."""
    table[:] = -1
    for i in range(count):
        table[place_of(table, keys, keys[i])] = i


@compiled
def taking(key, split, rooms, strides):  # type: ignore[no-untyped-def]
    """The state after a job that takes so many nodes of each pod, shape ``(pods,)``; -1 where a pod has no room."""
    new = key
    for p in range(len(rooms)):
        if (key // strides[p]) % (rooms[p] + 1) + split[p] > rooms[p]:
            return np.int64(-1)
        new += split[p] * strides[p]
    return new


@compiled
def extend(  # type: ignore[no-untyped-def]
    begin, keys, values, jobs, gains, rooms, strides, rest, least, table, new_keys, new_values, count, work
):
    """Give the next job to each state: a state says how many nodes of each pod are taken.

    Parameters
    ----------
    begin : first state to extend.
    keys, values : the states and the most that the jobs so far gain in them.
    jobs, gains : splits of the next job and what they gain, best first.
    rest : what the jobs after it gain at most.
    least : states that cannot gain as much are left out.
    table, new_keys, new_values, count : the next layer.
    work : about how many steps to take.

    Returns
    -------
    The state to go on with, states of the next layer, steps left; ends early where the layer might be full.
    """
    most = len(gains)
    for i in range(begin, len(keys)):
        if work <= 0 or count + most > len(new_keys):
            return i, count, work
        key, value = keys[i], values[i]
        work -= 1
        for k in range(most):
            after = value + gains[k]
            if after + rest < least:
                break
            work -= 1
            new = taking(key, jobs[k], rooms, strides)
            if new < 0:
                continue
            place = place_of(table, new_keys, new)
            at = table[place]
            if at < 0:
                table[place] = count
                new_keys[count], new_values[count] = new, after
                count += 1
            elif after > new_values[at]:
                new_values[at] = after
    return len(keys), count, work


@compiled
def complete(begin, keys, values, jobs, gains, rooms, strides, rest, least, table, later, bests, ahead, work):  # type: ignore[no-untyped-def]
    """What this job and those after it gain at most from each state, exactly; parameters as in :func:`extend`.

    ``later``, ``bests``: the states of the next layer and what the jobs after this one gain from them; ``ahead``:
    the result, shape of ``keys``.

    Returns
    -------
    The state to go on with, and steps left.
    """
    for i in range(begin, len(keys)):
        if work <= 0:
            return i, work
        key, value, best = keys[i], values[i], -np.inf
        work -= 1
        for k in range(len(gains)):
            if value + gains[k] + rest < least or gains[k] + rest < best:
                break
            work -= 1
            new = taking(key, jobs[k], rooms, strides)
            if new >= 0:
                at = table[place_of(table, later, new)]
                if at >= 0:
                    best = max(best, gains[k] + bests[at])
        ahead[i] = best
    return len(keys), work


@compiled
def descend(  # type: ignore[no-untyped-def]
    depth, turn, at, gained, firsts, jobs, gains, alike, rooms, strides, layer_at, keys, ahead, table_at, tables,
    least, found, worths, count, work,
):  # fmt: skip
    """Enumerate what all jobs together may have, depth first, as far as it gains enough.

    ``turn``, ``at``, ``gained`` are the stack; layers, tables and splits of the jobs stand one after another.
    Of jobs that are ``alike`` the earlier one has the earlier split.

    Returns
    -------
    Depth (-1 at the end), how many were found, and steps left.
    """
    last = len(alike) - 1
    while depth >= 0:
        if work <= 0 or count == len(worths):
            return depth, count, work
        work -= 1
        turn[depth] += 1
        k = turn[depth]
        if k >= firsts[depth + 1]:
            depth -= 1
            continue
        # States of the layer after this job.
        begin, end = layer_at[depth + 1], layer_at[depth + 2]
        new = taking(keys[layer_at[depth] + at[depth]], jobs[k], rooms, strides)
        if new < 0:
            continue
        table = tables[table_at[depth + 1] : table_at[depth + 2]]
        state = table[place_of(table, keys[begin:end], new)]
        if state < 0 or gained[depth] + gains[k] + ahead[begin + state] < least:
            continue
        if depth == last:
            for j in range(last + 1):
                found[count, j] = turn[j]
            worths[count] = gained[depth] + gains[k]
            count += 1
            continue
        gained[depth + 1] = gained[depth] + gains[k]
        at[depth + 1] = state
        depth += 1
        # Splits of jobs of one type are the same list.
        turn[depth] = firsts[depth] - 1 + (turn[depth - 1] - firsts[depth - 1] if alike[depth] else 0)
    return depth, count, work


@compiled
def pack_leaf(cap, before, after, need, strides, options, savings, old, new):  # type: ignore[no-untyped-def]
    """What jobs save at most on the leaves from one on, for all numbers of nodes that they still need.

    Parameters
    ----------
    cap : idle nodes of the leaf.
    before, after : idle nodes of the pod on the leaves before it, and after it.
    need : nodes of each job in the pod, ``(m,)``; a state is ``sum(strides * still needed)``.
    options, savings : nodes of each job on the leaf, ``(K, m)``, and what they save.
    old, new : values of all states after the leaf, and from it on (changed in place).
    """
    jobs, total = len(need), need.sum()
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
        for k in range(len(savings)):
            fits, taken, step = True, 0, 0
            for j in range(jobs):
                if options[k, j] > still[j]:
                    fits = False
                    break
                taken += options[k, j]
                step += options[k, j] * strides[j]
            if fits and rest - taken <= after:
                best = max(best, savings[k] + old[state - step])
        new[state] = best
