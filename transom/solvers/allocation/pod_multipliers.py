"""Payments of jobs to pods beside prices of nodes: each pod serves the jobs together, so that not all can have it."""

from __future__ import annotations

from typing import NamedTuple

from transom._system.compiling import no_refcount
from transom.models.arrays import FloatArray, IntArray
from transom.solvers.allocation.free_pricing import (
    Dual,
    Multipliers,
    Pricing,
    at_prices,
    copy,
    fill_values,
    improves,
    price,
    project,
    step_prices,
)
from transom.solvers.allocation.shape import Shape

_PATIENCE = 200
_SHORTER = 0.5
_SHORTEST = 0.01
_MEMORY = 0.95
"""Share of the last direction in the next. At the best prices alone hundreds of choices tie, and single slopes lead
nowhere; their running mean does."""


class Pods(NamedTuple):
    """Classes of pods that are alike, and scratch."""

    cls: IntArray  # of each pod, (P,)
    members: FloatArray  # pods of each class
    at: IntArray  # what types pay for b nodes of a pod of class k stands at ``at[k] + b``
    jobs: IntArray  # type of each job, ascending
    offer: FloatArray  # what nodes of a pod are worth to a type after its payment, as ``worth``
    best: FloatArray  # (J + 1, largest room + 1)
    chosen: IntArray  # nodes of each job in a pod


@no_refcount
def serve(shape: Shape, pods: Pods, cls: int, pay: FloatArray) -> float:
    """The most that jobs pay together to a pod of a class; ``pods.chosen`` becomes the nodes of each job."""
    jobs, sizes, best, at, room = pods.jobs, shape.sizes, pods.best, pods.at[cls], pods.at[cls + 1] - pods.at[cls] - 1
    best[0, : room + 1] = 0.0
    for j in range(len(jobs)):
        t = jobs[j]
        old, new = best[j], best[j + 1]
        copy(old[: room + 1], new)
        for b in range(1, min(room, sizes[t]) + 1):
            pays = pay[t, at + b]
            part = new[b : room + 1]
            for c in range(len(part)):
                x = old[c] + pays
                part[c] = x if x > part[c] else part[c]
    left = room
    for j in range(len(jobs) - 1, -1, -1):
        t = jobs[j]
        top, choice = best[j, left], 0
        for b in range(1, min(left, sizes[t]) + 1):
            x = best[j, left - b] + pay[t, at + b]
            if x > top:
                top, choice = x, b
        pods.chosen[j] = choice
        left -= choice
    return float(best[len(jobs), room])


@no_refcount
def subgradient_steps_with_pods(
    shape: Shape,
    pricing: Pricing,
    pods: Pods,
    prices: Multipliers,
    payments: Multipliers,
    dual: Dual,
    iterations: int,
    work: int,
) -> None:
    """Subgradient steps as in :func:`transom.solvers.allocation.free_pricing.subgradient_steps`, on prices and
    payments.

    ``payments`` ``(T, at[K])``: of each type for b nodes in a pod of each class.
    """
    first, mult, members = shape.first, shape.mult, pods.members
    while iterations > 0 and work > 0 and not dual.converged:
        t = dual.type
        if t == 0:
            prices.slope[:] = 0.0
            payments.slope[:] = 0.0
            dual.value = at_prices(shape, prices.now)
            for k in range(len(members)):
                dual.value += members[k] * serve(shape, pods, k, payments.now)
                for j in range(len(pods.jobs)):
                    if pods.chosen[j]:
                        payments.slope[pods.jobs[j], pods.at[k] + pods.chosen[j]] += 1.0 / mult[pods.jobs[j]]
        if t < len(shape.sizes):
            fill_values(shape, pricing, t, prices.now)
            for p in range(len(first) - 1):
                begin = pods.at[pods.cls[p]]
                for b in range(pricing.pod_at[p + 1] - pricing.pod_at[p]):
                    place = pricing.pod_at[p] + b
                    pods.offer[place] = pricing.savings[t, place] - payments.now[t, begin + b]
            choice = pricing.choices[t]
            dual.value += mult[t] * price(shape, pricing, shape.sizes[t], shape.caps, pods.offer, choice)
            for p in range(len(first) - 1):
                b = 0
                for s in range(first[p], first[p + 1]):
                    prices.slope[shape.cls[s]] += mult[t] * choice[s]
                    b += choice[s]
                if b:
                    payments.slope[t, pods.at[pods.cls[p]] + b] -= 1.0 / members[pods.cls[p]]
            dual.type += 1
            work -= 1
            continue
        iterations -= 1
        if improves(dual, 1e-3):
            copy(prices.now, prices.best)
            _copy_all(payments.now, payments.best)
        if dual.least <= dual.target:
            dual.converged = True
        elif dual.poor >= _PATIENCE:
            dual.factor *= _SHORTER
            dual.poor = 0
            copy(prices.best, prices.now)
            _copy_all(payments.best, payments.now)
            dual.converged = dual.factor < _SHORTEST
        else:
            _step(shape, pricing, pods, prices, payments, dual)


@no_refcount
def _copy_all(of: FloatArray, to: FloatArray) -> None:
    for row in range(len(of)):
        copy(of[row], to[row])


@no_refcount
def _step(shape: Shape, pricing: Pricing, pods: Pods, prices: Multipliers, payments: Multipliers, dual: Dual) -> None:
    project(shape, pricing, prices)
    square = 0.0
    for slope in prices.slope:
        square += slope * slope
    for row in payments.slope:
        for slope in row:
            square += slope * slope
    if square == 0.0:
        dual.converged = True
        return
    kept = _MEMORY if dual.fresh else 0.0
    dual.fresh = True
    norm = 0.0
    for k in range(len(prices.now)):
        prices.direction[k] = (1 - kept) * prices.slope[k] + kept * prices.direction[k]
        norm += shape.members[k] * prices.direction[k] * prices.direction[k]
    for t in range(len(shape.mult)):
        slopes, direction = payments.slope[t], payments.direction[t]
        for k in range(len(pods.members)):
            weight = shape.mult[t] * pods.members[k]
            for i in range(pods.at[k] + 1, pods.at[k + 1]):
                direction[i] = (1 - kept) * slopes[i] + kept * direction[i]
                norm += weight * direction[i] * direction[i]
    if norm == 0.0:
        return
    length = step_prices(prices, dual, norm)
    for t in range(len(shape.mult)):
        for i in range(payments.now.shape[1]):
            payments.now[t, i] -= length * payments.direction[t, i]
