"""What the rules go by when they place instances of tasks on machines, compiled: for a window and at every instant of a
replay alike.

Amounts are integers or floats, of T tasks, M machines and R resources; ``weight`` states what a unit of each resource
on each machine counts, shape ``(M, R)``.
"""

from __future__ import annotations

from transom._system.compiling import no_refcount
from transom.models.arrays import FloatArray, IntArray


@no_refcount
def room(free: IntArray | FloatArray, machine: int, weight: FloatArray) -> float:
    """How much is free on a machine, summed over the resources: best fit wants the least of it, others the most.

    Parameters
    ----------
    free : what is left of each resource, shape ``(M, R)``.
    """
    total = 0.0
    for r in range(free.shape[1]):
        total += free[machine, r] * weight[machine, r]
    return total


@no_refcount
def alignment(
    free: IntArray | FloatArray, machine: int, demands: IntArray | FloatArray, task: int, weight: FloatArray
) -> float:
    """Tetris: what is free on a machine times what an instance needs, summed over the resources.

    Parameters
    ----------
    free, demands : shapes ``(M, R)`` and ``(T, R)``.
    weight : of the products: 1 over the square of a capacity where both count as shares of it.
    """
    total = 0.0
    for r in range(free.shape[1]):
        total += free[machine, r] * weight[machine, r] * demands[task, r]
    return total


@no_refcount
def dominant_share(held: IntArray, demands: IntArray | FloatArray, first: int, last: int, share: FloatArray) -> float:
    """Dominant-resource fairness: the largest share of a resource that a user holds.

    Parameters
    ----------
    held : instances of each task that hold their demand, shape ``(T,)``.
    demands : of an instance, shape ``(T, R)``.
    first, last : the user's tasks are those from ``first`` to ``last - 1``.
    share : what part of all machines a unit of each resource is, shape ``(R,)``.
    """
    largest = 0.0
    for r in range(demands.shape[1]):
        total = 0.0
        for task in range(first, last):
            total += held[task] * (demands[task, r] * share[r])
        largest = max(largest, total)
    return largest
