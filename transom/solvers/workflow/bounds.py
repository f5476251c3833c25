"""Lower bounds of makespans: the critical path, energy, and the longest tasks that have to share nodes.

Each holds for every subset of tasks, with the least head and the least tail of the subset added: no task of it starts
before its head, and its tail follows after each.

References
----------
Carlier and Latapie, Une méthode arborescente pour résoudre les problèmes cumulatifs, RAIRO 25, 1991 (subsets with heads
and tails); Haouari, Gharbi and Jemmali, Tight bounds for the identical parallel machine-scheduling problem,
International Transactions in Operational Research 13, 2006 (the longest tasks); Fernandez and Bussell, Bounds on the
number of processors and time for multiprocessor optimal schedules, IEEE Transactions on Computers C-22, 1973
(intervals).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import stable_order
from transom.models.arrays import IntArray
from transom.models.workflow import Workflow

_ENERGY = 2**58  # of amounts times ticks: sums of a few fit into 64 bits
_PARTS = 20_000_000  # per square of the number of tasks: of how many together the longest tasks are looked at
_TASKS = 2000  # up to which subsets are looked at, whose number grows with the square


class Windows(NamedTuple):
    """Tasks between what has to come before and after them, in ticks, each of shape ``(T,)``.

    Parameters
    ----------
    heads : no task starts earlier.
    durations : of the tasks.
    tails : so much follows after the end of each.
    requests : of the resources that may become scarce, shape ``(T, R)``.
    capacity : what there is of these, shape ``(R,)``.
    """

    heads: IntArray
    durations: IntArray
    tails: IntArray
    requests: IntArray
    capacity: IntArray


def windows_of(problem: Workflow) -> tuple[Windows, bool]:
    """The tasks of a workflow with heads and tails from its longest paths, and whether its resources stand as they are.

    Amounts are divided by their common divisor. Where their products with times would not fit into 64 bits, they are
    divided further and rounded down, requests as well as capacities: what fits still fits, so bounds hold.
    """
    durations, columns, amounts, exact = problem.durations, [], [], True
    longest = int(durations.sum()) + int(problem.releases.max(initial=0)) * problem.ticks
    machine = [] if problem.machine is None else problem.machine.tolist()
    for requests, capacity in zip(problem.requests().T, machine, strict=False):
        if float(requests.astype(np.float64).sum()) * (1 - 1e-9) <= capacity and int(requests.sum()) <= capacity:
            continue
        divisor = max(1, int(np.gcd.reduce(requests)))
        rounding = longest * (capacity // divisor) // _ENERGY + 1
        exact = exact and rounding == 1
        columns.append(requests // divisor // rounding)
        amounts.append(capacity // divisor // rounding)
    table = np.array(columns, np.int64).reshape(len(columns), len(problem)).T.copy()
    return Windows(problem.earliest(), durations, problem.tails(), table, np.array(amounts, np.int64)), exact


def step_of(problem: Workflow) -> int:
    """What all durations and releases are multiples of, in ticks, and so is the least makespan; 1 if there are none.

    Of some best schedule no task can start earlier alone: each starts where another ends or at a release.
    """
    return max(1, int(np.gcd.reduce(np.append(problem.durations, problem.releases * problem.ticks))))


def rounded_up(ticks: int, step: int) -> int:
    """The next multiple of a step."""
    return -(-ticks // step) * step


def path_bound(windows: Windows) -> int:
    """The longest path."""
    return int((windows.heads + windows.durations + windows.tails).max(initial=0))


def resource_bound(windows: Windows) -> int:
    """The best bound by a single resource: by subsets, or of many tasks by the energy of all."""
    if len(windows.heads) <= _TASKS:
        return max((subset_bound(windows, r) for r in range(len(windows.capacity))), default=0)
    return energy_bound(windows)


def energy_bound(windows: Windows) -> int:
    """What all tasks take of the scarcest resource."""
    energy = (windows.durations @ windows.requests).tolist()  # within 64 bits, as no task takes more than there is
    return max((-(-part // most) for part, most in zip(energy, windows.capacity.tolist(), strict=True)), default=0)


def interval_bound(windows: Windows, proved: int, makespan: int) -> int:
    """The least makespan that no interval of time excludes, by bisection.

    Parameters
    ----------
    proved : a bound so far.
    makespan : of a schedule.
    """
    low, high = proved, makespan
    while low < high:
        middle = (low + high) // 2
        if any(overloaded(windows, middle, r) for r in range(len(windows.capacity))):
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def subset_bound(windows: Windows, r: int) -> int:
    """What the tasks with at least some head and at least some tail take of a resource, for all heads and tails.

    Tasks that need more than half of the resource run one after another. Where at most k tasks run at a time (the
    capacity divided by the least request, rounded down), :func:`shared_parts` is a bound, too.
    """
    count, best, capacity = len(windows.heads), 0, int(windows.capacity[r])
    by_length = stable_order(-windows.durations)
    by_head = stable_order(-windows.heads)
    by_tail = stable_order(windows.tails)
    inside = np.zeros(count, np.int64)
    for t in range(count):
        tail = int(windows.tails[by_tail[t]])
        if t > 0 and tail == windows.tails[by_tail[t - 1]]:
            continue
        for k in range(count):
            inside[k] = windows.tails[k] >= tail
        energy, half, least = 0, 0, capacity + 1
        for k in range(count):
            task = by_head[k]
            if inside[task] == 0:
                continue
            request, duration = int(windows.requests[task, r]), int(windows.durations[task])
            energy += request * duration
            if 2 * request > capacity:
                half += duration
            if request < least and request > 0:
                least = request
            taken = half
            if energy > 0:
                taken = max(taken, (energy - 1) // capacity + 1)
            best = max(best, int(windows.heads[task]) + taken + tail)
        if least <= capacity:
            best = max(best, shared_parts(windows, r, by_length, inside, capacity // least) + tail)
    return best


@compiled
def shared_parts(windows: Windows, r: int, by_length: IntArray, inside: IntArray, parts: int) -> int:
    """What the longest tasks of a subset take where at most ``parts`` run at a time, and the least of their heads.

    Of the n longest, some k parts get at least ``k (n // parts) + min(k, n mod parts)``, which take at least as long as
    the shortest of them.
    """
    number, best, head = 0, 0, 2**62
    most = max(1, _PARTS // len(by_length) ** 2)
    sums = np.zeros(len(by_length) + 1, np.int64)
    for each in range(len(by_length)):
        task = by_length[each]
        if inside[task] == 0 or windows.requests[task, r] == 0 or windows.durations[task] == 0:
            continue
        head = min(head, int(windows.heads[task]))
        sums[number + 1] = sums[number] + windows.durations[task]
        number += 1
        if number > parts:
            for k in range(1, min(parts, most) + 1):
                least = k * (number // parts) + min(k, number % parts)
                best = max(best, head + (sums[number] - sums[number - least] - 1) // k + 1)
    return best


@compiled
def overloaded(windows: Windows, makespan: int, r: int) -> bool:
    """Whether some interval needs more of a resource than there is, if all is to end by ``makespan``.

    Of each task at least that part lies in an interval that does so both when it starts as early and as late as it can.
    """
    count, capacity = len(windows.heads), int(windows.capacity[r])
    for a in range(count):
        begin = int(windows.heads[a])
        for b in range(count):
            end = makespan - int(windows.tails[b])
            if end <= begin:
                continue
            energy = 0
            for k in range(count):
                duration = int(windows.durations[k])
                early = int(windows.heads[k]) + duration - begin
                late = end - (makespan - int(windows.tails[k]) - duration)
                part = min(min(early, late), min(duration, end - begin))
                if part > 0:
                    energy += part * int(windows.requests[k, r])
            if energy > capacity * (end - begin):
                return True
    return False
