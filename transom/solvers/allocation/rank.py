"""The value of a rank: ``np.partition`` takes seconds to compile, and memory."""

from __future__ import annotations

from transom._system.compiling import no_refcount
from transom.models.arrays import FloatArray


@no_refcount
def smallest(values: FloatArray, rank: int) -> float:
    """The value of this rank, 0 the smallest; disorders the array."""
    low, high = 0, len(values) - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return float(values[rank])
