"""Payments of jobs to pods beside prices of nodes: each pod serves the jobs together, so that not all can have it."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom.solvers.allocation.free_pricing import (
    CONVERGED,
    FRESH,
    ITERATIONS,
    LEAST,
    POOR,
    SUM,
    TARGET,
    THETA,
    TYPE,
    linear_values,
    price,
)

_PATIENCE = 200
_SHORTER = 0.5
_SHORTEST = 0.01
_MEMORY = 0.95
"""Share of the last direction in the next. At the best prices alone hundreds of choices tie, and single slopes lead
nowhere; their running mean does."""


@compiled
def serve(room, jobs, sizes, pay, at, best, chosen):  # type: ignore[no-untyped-def]
    """The most that jobs pay together for at most ``room`` nodes.

    ``jobs``: the type of each; ``pay[t, at + b]``: what type t pays for b nodes; ``best``
    ``(J + 1, room + 1)``: scratch; ``chosen`` ``(J,)`` becomes the nodes of each job.
    """
    best[0, : room + 1] = 0.0
    for j in range(len(jobs)):
        t = jobs[j]
        old, new = best[j], best[j + 1]
        new[: room + 1] = old[: room + 1]
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
        chosen[j] = choice
        left -= choice
    return best[len(jobs), room]


@compiled
def descend_both(  # type: ignore[no-untyped-def]
    caps, first, cls, members, sizes, mult, types, units, steps, at, worth, pod_at, pod_cls, pod_members, class_at,
    leaf_duals, pod_duals, values, offer, inner, outer, counts, scratch, chosen, real, whole, iterations, work,
):  # fmt: skip
    """Subgradient steps as in :func:`transom.solvers.allocation.free_pricing.descend`, on prices and payments.

    ``leaf_duals`` ``(4, C)``: prices, the best ones, direction, slope; ``pod_duals`` ``(4, T, class_at[-1])``: the same
    of the payments for b nodes in a pod of each class.
    """
    pods = len(first) - 1
    prices, best, slope = leaf_duals[0], leaf_duals[1], leaf_duals[3]
    pay, best_pay, pay_slope = pod_duals[0], pod_duals[1], pod_duals[3]
    while iterations > 0 and work > 0 and not whole[CONVERGED]:
        t = whole[TYPE]
        if t == 0:
            real[SUM] = 0.0
            slope[:] = 0.0
            pay_slope[:] = 0.0
            for s in range(len(caps)):
                real[SUM] += prices[cls[s]] * caps[s]
            for k in range(len(pod_members)):
                room = class_at[k + 1] - class_at[k] - 1
                real[SUM] += pod_members[k] * serve(room, types, sizes, pay, class_at[k], scratch, chosen)
                for j in range(len(types)):
                    if chosen[j]:
                        pay_slope[types[j], class_at[k] + chosen[j]] += 1.0 / mult[types[j]]
        if t < len(sizes):
            linear_values(units[t], steps, caps, cls, prices, at, values)
            for p in range(pods):
                begin = class_at[pod_cls[p]]
                for b in range(pod_at[p + 1] - pod_at[p]):
                    offer[pod_at[p] + b] = worth[t, pod_at[p] + b] - pay[t, begin + b]
            real[SUM] += mult[t] * price(sizes[t], caps, first, values, at, offer, pod_at, inner, outer, counts[t])
            for p in range(pods):
                b = 0
                for s in range(first[p], first[p + 1]):
                    slope[cls[s]] += mult[t] * counts[t, s]
                    b += counts[t, s]
                if b:
                    pay_slope[t, class_at[pod_cls[p]] + b] -= 1.0 / pod_members[pod_cls[p]]
            whole[TYPE] += 1
            work -= 1
            continue
        whole[TYPE] = 0
        whole[ITERATIONS] += 1
        iterations -= 1
        value = real[SUM]
        if value < real[LEAST]:
            if value < real[LEAST] - 1e-3 * (real[LEAST] - real[TARGET]):
                whole[POOR] = 0
            real[LEAST] = value
            best[:] = prices
            best_pay[:] = pay
        else:
            whole[POOR] += 1
        if real[LEAST] <= real[TARGET]:
            whole[CONVERGED] = 1
            break
        if whole[POOR] >= _PATIENCE:
            real[THETA] *= _SHORTER
            whole[POOR] = 0
            prices[:] = best
            pay[:] = best_pay
            if real[THETA] < _SHORTEST:
                whole[CONVERGED] = 1
            continue
        _step(caps, cls, members, mult, pod_members, class_at, leaf_duals, pod_duals, real, whole, value)
    return work


@compiled
def _step(caps, cls, members, mult, pod_members, class_at, leaf_duals, pod_duals, real, whole, value):  # type: ignore[no-untyped-def]
    prices, direction, slope = leaf_duals[0], leaf_duals[2], leaf_duals[3]
    pay, pay_direction, pay_slope = pod_duals[0], pod_duals[2], pod_duals[3]
    room = np.zeros(len(prices))
    for s in range(len(caps)):
        room[cls[s]] = caps[s]
    square = 0.0
    for k in range(len(prices)):
        slope[k] = room[k] - slope[k] / members[k]
        if prices[k] <= 0.0 and slope[k] > 0.0:
            slope[k] = 0.0
        square += slope[k] * slope[k]
    if square + (pay_slope * pay_slope).sum() == 0.0:
        whole[CONVERGED] = 1
        return
    kept = _MEMORY if whole[FRESH] else 0.0
    whole[FRESH] = 1
    norm = 0.0
    for k in range(len(prices)):
        direction[k] = (1 - kept) * slope[k] + kept * direction[k]
        norm += members[k] * direction[k] * direction[k]
    for t in range(len(mult)):
        for k in range(len(pod_members)):
            weight = mult[t] * pod_members[k]
            for i in range(class_at[k] + 1, class_at[k + 1]):
                pay_direction[t, i] = (1 - kept) * pay_slope[t, i] + kept * pay_direction[t, i]
                norm += weight * pay_direction[t, i] * pay_direction[t, i]
    if norm == 0.0:
        return
    gap = real[LEAST] - real[TARGET]  # not that of this value: a step too far must not make the next one longer
    length = real[THETA] * (min(value - real[LEAST], gap) + gap) / norm
    for k in range(len(prices)):
        prices[k] = max(0.0, prices[k] - length * direction[k])
    for t in range(len(mult)):
        for i in range(pay.shape[1]):
            pay[t, i] -= length * pay_direction[t, i]
