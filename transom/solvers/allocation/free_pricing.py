"""Prices on the idle nodes of leaf switches, and what each job would choose at these prices."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom.models.hop_cost import hop_cost

SUM, LEAST, THETA, TARGET, NORM = range(5)
"""Fields of ``real``: the dual value as far as it is added up; the least one so far; the step's factor; the value
aimed at, which is at most the optimum; squared length of the last direction."""

TYPE, ITERATIONS, POOR, CONVERGED, FRESH, MEAN = range(6)
"""Fields of ``whole``: the next type to price; iterations so far; those since the last progress; whether there is
nothing more to gain; whether the last direction counts; whether
directions are running means, which helps where choices tie so much that single slopes lead nowhere."""


@compiled
def price(size, caps, first, values, at, worth, pod_at, inner, outer, counts):  # type: ignore[no-untyped-def]
    """The best choice of one job at given values: leaf knapsacks inside pods, then a knapsack over pods.

    Parameters
    ----------
    size : nodes of the job.
    caps, first : nodes of each leaf, first leaf of each pod.
    values, at : ``values[at[s] + a]`` is what a nodes of leaf s are worth.
    worth, pod_at : ``worth[pod_at[p] + b]`` is what b nodes in pod p are worth beside that.
    inner, outer : scratch, shapes ``(S + P, size + 1)`` and ``(P + 1, size + 1)`` at least.
    counts : nodes chosen on each leaf, shape ``(S,)``; changed in place.

    Returns
    -------
    What the choice is worth; minus infinity where there are fewer nodes than ``size``.
    """
    pods = len(first) - 1
    left = caps.sum()
    taken = 0
    outer[0, 0] = 0.0
    if left < size:
        return -np.inf
    for p in range(pods):
        row = first[p] + p
        inner[row, 0] = 0.0
        reach = 0
        for s in range(first[p], first[p + 1]):
            old, new = inner[row], inner[row + 1]
            most = min(reach + caps[s], size)
            for b in range(reach + 1):
                new[b] = old[b]
            for b in range(reach + 1, most + 1):
                new[b] = -np.inf
            for a in range(1, min(caps[s], size) + 1):
                value = values[at[s] + a]
                part = new[a : min(most, reach + a) + 1]
                for b in range(len(part)):
                    x = old[b] + value
                    part[b] = x if x > part[b] else part[b]
            reach = most
            left -= caps[s]
            row += 1
        # The pod's own savings; then how many nodes come from this pod and those before.
        of = inner[row]
        for b in range(reach + 1):
            of[b] += worth[pod_at[p] + b]
        least = max(0, size - left)
        most = min(taken + reach, size)
        old, new = outer[p], outer[p + 1]
        for m in range(least, most + 1):
            new[m] = -np.inf
        known = max(0, size - left - reach)
        for b in range(reach + 1):
            low, high = max(least, known + b), min(most, taken + b)
            for m in range(low, high + 1):
                x = old[m - b] + of[b]
                new[m] = x if x > new[m] else new[m]
        for m in range(most + 1, size + 1):
            new[m] = -np.inf
        taken = most
    _trace(size, caps, first, values, at, inner, outer, counts)
    return outer[pods, size]


@compiled
def _trace(size, caps, first, values, at, inner, outer, counts):  # type: ignore[no-untyped-def]
    # Which choices gave the best value; those with the largest result are found again. Sums that were rounded
    # twice may differ in the last digit, so that nearest stands for equal.
    pods = len(first) - 1
    m = size
    before = np.zeros(pods + 1, np.int64)
    for p in range(pods):
        before[p + 1] = before[p] + caps[first[p] : first[p + 1]].sum()
    after = before[pods]
    for p in range(pods - 1, -1, -1):
        held = before[p + 1] - before[p]
        of = inner[first[p + 1] + p]
        best, b = -np.inf, 0
        for take in range(max(0, m - before[p]), min(held, m) + 1):
            if m - take < size - (after - before[p]):
                break
            x = outer[p, m - take] + of[take]
            if x > best:
                best, b = x, take
        m -= b
        reach = held
        for s in range(first[p + 1] - 1, first[p] - 1, -1):
            reach -= caps[s]
            row = s + p
            best, chosen = -np.inf, 0
            for a in range(max(0, b - reach), min(caps[s], b) + 1):
                x = inner[row, b - a] + (values[at[s] + a] if a else 0.0)
                if x > best:
                    best, chosen = x, a
            counts[s] = chosen
            b -= chosen


@compiled
def linear_values(unit, steps, caps, cls, prices, at, values):  # type: ignore[no-untyped-def]
    """Fill in what nodes of a leaf are worth: their savings minus their price."""
    for s in range(len(caps)):
        for a in range(caps[s] + 1):
            values[at[s] + a] = unit * steps[1] * (a * (a - 1) // 2) - prices[cls[s]] * a


@compiled
def descend(  # type: ignore[no-untyped-def]
    caps, first, cls, members, sizes, mult, units, steps, at, worth, pod_at, prices, best, direction, used, values,
    inner, outer, counts, real, whole, iterations, work,
):  # fmt: skip
    """Subgradient steps on the prices, until so many are done or so many types are priced.

    Steps have Polyak's length towards ``real[TARGET]`` along directions deflected as by Camerini, Fratta and
    Maffioli; ``real[THETA]`` is lowered, and the best prices are taken up again, where progress ends.
    ``prices``, ``best``, ``direction``, ``used`` ``(C,)``; ``counts`` ``(T, S)``: the choices at ``prices``.
    """
    while iterations > 0 and work > 0 and not whole[CONVERGED]:
        t = whole[TYPE]
        if t == 0:
            real[SUM] = 0.0
            used[:] = 0.0
            for s in range(len(caps)):
                real[SUM] += prices[cls[s]] * caps[s]
        if t < len(sizes):
            linear_values(units[t], steps, caps, cls, prices, at, values)
            real[SUM] += mult[t] * price(sizes[t], caps, first, values, at, worth[t], pod_at, inner, outer, counts[t])
            for s in range(len(caps)):
                used[cls[s]] += mult[t] * counts[t, s]
            whole[TYPE] += 1
            work -= 1
            continue
        whole[TYPE] = 0
        whole[ITERATIONS] += 1
        iterations -= 1
        value = real[SUM]
        if value < real[LEAST]:
            if value < real[LEAST] - 1e-4 * (real[LEAST] - real[TARGET]):
                whole[POOR] = 0
            real[LEAST] = value
            best[:] = prices
        else:
            whole[POOR] += 1
        if real[LEAST] <= real[TARGET]:
            whole[CONVERGED] = 1
            break
        if whole[POOR] >= (60 if whole[MEAN] else 12):
            real[THETA] *= 0.6
            whole[POOR] = 0
            whole[FRESH] = 0
            prices[:] = best
            if real[THETA] < 5e-3:
                if whole[MEAN] or best.any():
                    whole[CONVERGED] = 1
                else:
                    whole[MEAN] = 1
                    real[THETA] = 0.1
            continue
        _step(caps, cls, members, prices, direction, used, real, whole, value)
    return work


@compiled
def _step(caps, cls, members, prices, direction, used, real, whole, value):  # type: ignore[no-untyped-def]
    # used: becomes the slope of each class, per leaf.
    across, slope = 0.0, 0.0
    room = np.zeros(len(prices))
    for s in range(len(caps)):
        room[cls[s]] = caps[s]
    for k in range(len(prices)):
        used[k] = room[k] - used[k] / members[k]
        if prices[k] <= 0.0 and used[k] > 0.0:
            used[k] = 0.0  # a price of 0 stays
        across += members[k] * used[k] * direction[k]
        slope += members[k] * used[k] * used[k]
    if slope == 0.0:
        whole[CONVERGED] = 1
        return
    deflect = 0.0
    if whole[FRESH] and across < 0.0:
        deflect = -1.5 * across / real[NORM]
    norm = 0.0
    for k in range(len(prices)):
        if whole[MEAN] and whole[FRESH]:
            direction[k] = 0.05 * used[k] + 0.95 * direction[k]
        else:
            direction[k] = used[k] + deflect * direction[k]
        norm += members[k] * direction[k] * direction[k]
    real[NORM] = norm
    whole[FRESH] = 1
    gap = real[LEAST] - real[TARGET]  # not that of this value: a step too far must not make the next one longer
    length = real[THETA] * (min(value - real[LEAST], gap) + gap) / norm
    for k in range(len(prices)):
        prices[k] = max(0.0, prices[k] - length * direction[k])


@compiled
def fill(  # type: ignore[no-untyped-def]
    order, left, caps, first, cls, sizes, types, units, steps, at, worth, pod_at, prices, values, inner, outer, held
):
    """Jobs in an order take their best choice of what is left, at given prices.

    ``left`` ``(S,)``, what is free on each leaf, is lowered; ``held`` ``(J, S)`` becomes the nodes of each job on each
    leaf.

    Returns
    -------
    The savings of all that have nodes.
    """
    for job in order:
        t = types[job]
        linear_values(units[t], steps, caps, cls, prices, at, values)
        price(sizes[t], left, first, values, at, worth[t], pod_at, inner, outer, held[job])
        left -= held[job]
    return savings(first, types, units, steps, held)


@compiled
def savings(first, types, units, steps, held):  # type: ignore[no-untyped-def]
    """What jobs save with ``held[j, s]`` nodes on each leaf."""
    total = 0.0
    for job in range(len(types)):
        leaf_pairs, pod_pairs = count_pairs(first, held[job])
        total += units[types[job]] * (steps[0] * pod_pairs + steps[1] * leaf_pairs)
    return total


@compiled
def rounded_costs(first, sizes, mult, weights, held):  # type: ignore[no-untyped-def]
    """Total cost, as it is rounded, of jobs of each type with ``held[t, s]`` nodes on each leaf."""
    total = 0.0
    for t in range(len(sizes)):
        leaf_pairs, pod_pairs = count_pairs(first, held[t])
        total += mult[t] * hop_cost(sizes[t], leaf_pairs, pod_pairs, weights)
    return total


@compiled
def count_pairs(first, held):  # type: ignore[no-untyped-def]
    """Pairs of nodes of one job on a leaf and in a pod."""
    leaf_pairs, pod_pairs = 0, 0
    for p in range(len(first) - 1):
        of = 0
        for s in range(first[p], first[p + 1]):
            leaf_pairs += held[s] * (held[s] - 1) // 2
            of += held[s]
        pod_pairs += of * (of - 1) // 2
    return leaf_pairs, pod_pairs
