"""Prices on the idle nodes of leaf switches, and what each job would choose at these prices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import no_refcount
from transom._system.sorting import put
from transom.models.arrays import FloatArray, IntArray
from transom.models.hop_cost import hop_cost
from transom.solvers.allocation.shape import Shape


class Pricing(NamedTuple):
    """Where numbers of nodes stand in tables, what they are worth, and scratch."""

    at: IntArray  # a nodes of leaf s at ``at[s] + a``, (S + 1,)
    pod_at: IntArray  # b nodes of pod p at ``pod_at[p] + b``, (P + 1,)
    room: IntArray  # idle nodes of the leaves of each class, (C,)
    savings: FloatArray  # what the pairs in a pod save, of each type, (T, pod_at[P])
    values: FloatArray  # what nodes of a leaf are worth to the type in question, (at[S],)
    choices: IntArray  # nodes of each leaf that a job of each type chose last, (T, S)
    inner: FloatArray  # scratch, (S + P, widest + 1)
    outer: FloatArray  # scratch, (P + 1, most + 1)


class Multipliers(NamedTuple):
    """Lagrangian multipliers: now, at the least dual value, and the direction and subgradient of the last step."""

    now: FloatArray
    best: FloatArray
    direction: FloatArray
    slope: FloatArray


class Dual:
    """The subgradient method.

    ``value`` is the dual value as far as it is added up, up to ``type``, the next to be priced; ``least`` the least one
    so far; ``target`` the one aimed at, at most the optimum; ``factor`` that of the step; ``norm`` the squared length
    of the last direction. ``poor`` counts iterations since the last progress. ``converged``: there is nothing more to
    gain; ``fresh``: the last direction counts; ``averaged``: directions are running means, which helps where choices
    tie so much that single subgradients lead nowhere.
    """

    value: float
    least: float
    factor: float
    target: float
    norm: float
    type: int
    iterations: int
    poor: int
    converged: bool
    fresh: bool
    averaged: bool


@no_refcount
def price(shape: Shape, pricing: Pricing, size: int, caps: IntArray, offer: FloatArray, counts: IntArray) -> float:
    """The best choice of one job at given values: leaf knapsacks inside pods, then a knapsack over pods.

    Parameters
    ----------
    pricing : whose ``values`` count.
    size : nodes of the job.
    caps : nodes of each leaf.
    offer : ``offer[pod_at[p] + b]`` is what b nodes in pod p are worth beside that.
    counts : nodes chosen on each leaf, shape ``(S,)``; changed in place.

    Returns
    -------
    What the choice is worth; minus infinity where there are fewer nodes than ``size``.
    """
    first, at, pod_at, values = shape.first, pricing.at, pricing.pod_at, pricing.values
    inner, outer = pricing.inner, pricing.outer
    pods, left = len(first) - 1, _total(caps, 0, len(caps))
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
            of[b] += offer[pod_at[p] + b]
        least = max(0, size - left)
        most = min(taken + reach, size)
        old, new = outer[p], outer[p + 1]
        for m in range(least, most + 1):
            new[m] = -np.inf
        known = max(0, size - left - reach)
        for b in range(reach + 1):
            low, high = max(least, known + b), min(most, taken + b)
            if low > high:
                continue
            value, part, rest = of[b], new[low : high + 1], old[low - b : high - b + 1]
            for k in range(len(part)):
                x = rest[k] + value
                part[k] = x if x > part[k] else part[k]
        for m in range(most + 1, size + 1):
            new[m] = -np.inf
        taken = most
    _trace(shape, pricing, size, caps, counts)
    return float(outer[pods, size])


@no_refcount
def _total(caps: IntArray, begin: int, end: int) -> int:
    total = 0
    for s in range(begin, end):
        total += caps[s]
    return total


@no_refcount
def _trace(shape: Shape, pricing: Pricing, size: int, caps: IntArray, counts: IntArray) -> None:
    # Which choices gave the best value; those with the largest result are found again. Sums that were rounded
    # twice may differ in the last digit, so that nearest stands for equal.
    first, at, values, inner, outer = shape.first, pricing.at, pricing.values, pricing.inner, pricing.outer
    before, after = _total(caps, 0, len(caps)), 0  # nodes of the pods before this one, and of those from it on
    m = size
    for p in range(len(first) - 2, -1, -1):
        held = _total(caps, first[p], first[p + 1])
        before -= held
        after += held
        of = inner[first[p + 1] + p]
        best, b = -np.inf, 0
        for take in range(max(0, m - before), min(held, m) + 1):
            if m - take < size - after:
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


@no_refcount
def _fill_values(shape: Shape, pricing: Pricing, type: int, prices: FloatArray) -> None:
    """Fill in what nodes of a leaf are worth to a type: their savings minus their price."""
    unit = shape.units[type]
    for s in range(len(shape.caps)):
        for a in range(shape.caps[s] + 1):
            saved = unit * shape.steps[1] * (a * (a - 1) // 2)
            pricing.values[pricing.at[s] + a] = saved - prices[shape.cls[s]] * a


@no_refcount
def subgradient_steps(
    shape: Shape, pricing: Pricing, prices: Multipliers, dual: Dual, iterations: int, work: int
) -> None:
    """Subgradient steps on the prices, ``(C,)``, until so many are done or so many types are priced.

    Steps have Polyak's length towards the target along directions deflected as by Camerini, Fratta and
    Maffioli; the step's factor is lowered, and the best prices are taken up again, where progress ends.
    """
    caps, cls, used = shape.caps, shape.cls, prices.slope
    while iterations > 0 and work > 0 and not dual.converged:
        t = dual.type
        if t == 0:
            used[:] = 0.0
            dual.value = _at_prices(shape, prices.now)
        if t < len(shape.sizes):
            _fill_values(shape, pricing, t, prices.now)
            choice = pricing.choices[t]
            dual.value += shape.mult[t] * price(shape, pricing, shape.sizes[t], caps, pricing.savings[t], choice)
            for s in range(len(caps)):
                used[cls[s]] += shape.mult[t] * choice[s]
            dual.type += 1
            work -= 1
            continue
        iterations -= 1
        dual.type = 0
        dual.iterations += 1
        if dual.value >= dual.least:
            dual.poor += 1
        else:
            if dual.value < dual.least - 1e-4 * (dual.least - dual.target):
                dual.poor = 0
            dual.least = dual.value
            put(prices.best, prices.now)
        if dual.least <= dual.target:
            dual.converged = True
        elif dual.poor >= (60 if dual.averaged else 12):
            dual.factor *= 0.6
            dual.poor = 0
            dual.fresh = False
            put(prices.now, prices.best)
            if dual.factor < 5e-3:
                if dual.averaged or _at_prices(shape, prices.best) > 0.0:
                    dual.converged = True
                else:
                    dual.averaged = True
                    dual.factor = 0.1
        else:
            _step(shape, pricing, prices, dual)


@no_refcount
def _at_prices(shape: Shape, prices: FloatArray) -> float:
    """What all nodes of all leaves cost."""
    total = 0.0
    for s in range(len(shape.caps)):
        total += prices[shape.cls[s]] * shape.caps[s]
    return total


@no_refcount
def _step(shape: Shape, pricing: Pricing, prices: Multipliers, dual: Dual) -> None:
    now, slope, direction, members = prices.now, prices.slope, prices.direction, shape.members
    across, square = 0.0, 0.0
    for k in range(len(slope)):
        # From the use of each class of leaves, per leaf; a price of 0 does not fall.
        slope[k] = pricing.room[k] - slope[k] / members[k]
        if now[k] <= 0.0 and slope[k] > 0.0:
            slope[k] = 0.0
        across += members[k] * slope[k] * direction[k]
        square += members[k] * slope[k] * slope[k]
    if square == 0.0:
        dual.converged = True
        return
    deflect = 0.0
    if dual.fresh and across < 0.0:
        deflect = -1.5 * across / dual.norm
    norm = 0.0
    for k in range(len(slope)):
        if dual.averaged and dual.fresh:
            direction[k] = 0.05 * slope[k] + 0.95 * direction[k]
        else:
            direction[k] = slope[k] + deflect * direction[k]
        norm += members[k] * direction[k] * direction[k]
    dual.norm = norm
    dual.fresh = True
    gap = dual.least - dual.target  # not that of this value: a step too far must not make the next one longer
    length = dual.factor * (min(dual.value - dual.least, gap) + gap) / norm
    for k in range(len(now)):
        now[k] = max(0.0, now[k] - length * direction[k])


@no_refcount
def fill(shape: Shape, pricing: Pricing, prices: FloatArray, order: IntArray, left: IntArray, held: IntArray) -> float:
    """Jobs in an order take their best choice of what is left, at given prices.

    ``left`` ``(S,)``, what is free on each leaf, is lowered; ``held`` ``(J, S)`` becomes the nodes of each job on each
    leaf.

    Returns
    -------
    The savings of all that have nodes.
    """
    for job in order:
        t = shape.types[job]
        _fill_values(shape, pricing, t, prices)
        price(shape, pricing, shape.sizes[t], left, pricing.savings[t], held[job])
        for s in range(len(left)):
            left[s] -= held[job, s]
    total = 0.0
    for job in range(len(shape.types)):
        leaf_pairs, pod_pairs = count_pairs(shape.first, held[job])
        total += shape.units[shape.types[job]] * (shape.steps[0] * pod_pairs + shape.steps[1] * leaf_pairs)
    return total


@no_refcount
def rounded_costs(shape: Shape, held: IntArray) -> float:
    """Total cost, as it is rounded, of jobs of each type with ``held[t, s]`` nodes on each leaf."""
    total = 0.0
    for t in range(len(shape.sizes)):
        leaf_pairs, pod_pairs = count_pairs(shape.first, held[t])
        total += shape.mult[t] * hop_cost(shape.sizes[t], leaf_pairs, pod_pairs, shape.weights)
    return total


@no_refcount
def count_pairs(first: IntArray, held: IntArray) -> tuple[int, int]:
    """Pairs of nodes of one job on a leaf and in a pod."""
    leaf_pairs, pod_pairs = 0, 0
    for p in range(len(first) - 1):
        of = 0
        for s in range(first[p], first[p + 1]):
            leaf_pairs += held[s] * (held[s] - 1) // 2
            of += held[s]
        pod_pairs += of * (of - 1) // 2
    return leaf_pairs, pod_pairs
