"""Jobs by the instant of an event, compiled: rows of instant and job, ascending or as a binary heap."""

from __future__ import annotations

from transom._system.compiling import no_refcount
from transom.models.arrays import IntArray


@no_refcount
def place_of(pairs: IntArray, length: int, time: int, job: int) -> int:
    """Where a pair stands, or belongs, among the first ``length`` ones, which are ascending."""
    low, high = 0, length
    while low < high:
        middle = (low + high) // 2
        if pairs[middle, 0] < time or (pairs[middle, 0] == time and pairs[middle, 1] < job):
            low = middle + 1
        else:
            high = middle
    return low


@no_refcount
def push(heap: IntArray, length: int, time: int, job: int) -> None:
    """Add a pair to a binary heap of ``length`` pairs."""
    i = length
    while i > 0:
        parent = (i - 1) // 2
        if heap[parent, 0] < time or (heap[parent, 0] == time and heap[parent, 1] < job):
            break
        heap[i, 0] = heap[parent, 0]
        heap[i, 1] = heap[parent, 1]
        i = parent
    heap[i, 0] = time
    heap[i, 1] = job


@no_refcount
def pop(heap: IntArray, length: int) -> int:
    """Take the least pair out of a binary heap of ``length`` pairs; its job."""
    top = heap[0, 1]
    last = length - 1
    time, job = heap[last, 0], heap[last, 1]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= last:
            break
        if child + 1 < last and (
            heap[child + 1, 0] < heap[child, 0]
            or (heap[child + 1, 0] == heap[child, 0] and heap[child + 1, 1] < heap[child, 1])
        ):
            child += 1
        if time < heap[child, 0] or (time == heap[child, 0] and job < heap[child, 1]):
            break
        heap[i, 0] = heap[child, 0]
        heap[i, 1] = heap[child, 1]
        i = child
    heap[i, 0] = time
    heap[i, 1] = job
    return int(top)
