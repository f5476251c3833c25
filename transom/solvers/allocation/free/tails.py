"""What is still to be had from the leaf switches and pods that follow: bounds of the free dynamic programme."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import no_refcount
from transom.models.arrays import FloatArray
from transom.solvers.allocation.free_pricing import Pricing
from transom.solvers.allocation.shape import Shape


@no_refcount
def tails(shape: Shape, pricing: Pricing, values: FloatArray, inner: FloatArray, outer: FloatArray) -> None:
    """What is still to be had from each leaf on, for each type.

    ``inner[t, s, c]``: c nodes on the leaves from s to the end of its pod, without the pod's own savings;
    ``outer[t, p, m]``: m nodes in pods p and after. Minus infinity where there are not so many.
    """
    caps, first, at, pod_at, pods = shape.caps, shape.first, pricing.at, pricing.pod_at, len(shape.first) - 1
    inner[:] = -np.inf
    outer[:] = -np.inf
    for t in range(len(shape.sizes)):
        size = shape.sizes[t]
        outer[t, pods, 0] = 0.0
        beyond = 0
        for p in range(pods - 1, -1, -1):
            reach = 0
            for s in range(first[p + 1] - 1, first[p] - 1, -1):
                new = inner[t, s]
                most = min(reach + caps[s], size)
                for a in range(min(caps[s], size) + 1):
                    value = values[t, at[s] + a]
                    if s == first[p + 1] - 1:
                        new[a] = value
                        continue
                    old = inner[t, s + 1]
                    for b in range(min(reach, size - a) + 1):
                        x = old[b] + value
                        new[a + b] = x if x > new[a + b] else new[a + b]
                reach = most
            for b in range(reach + 1):
                value = inner[t, first[p], b] + pricing.savings[t, pod_at[p] + b]
                for m in range(min(beyond, size - b) + 1):
                    x = outer[t, p + 1, m] + value
                    outer[t, p, m + b] = x if x > outer[t, p, m + b] else outer[t, p, m + b]
            beyond = min(size, beyond + reach)
