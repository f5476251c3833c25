"""Branch and bound over the order in which tasks start, for workflows of up to 62 tasks.

A node is a set of tasks that have started, in the order of their starts; a child starts one more as early as that order
allows. Left out are children that start when another one could have ended, nodes whose remaining tasks need too long
(their paths, what they take of a resource, what some that exclude each other take together), and nodes of whose set
another node was no later in any task.

References
----------
Sprecher, Scheduling resource-constrained projects competitively at modest memory requirements, Management Science 46,
2000 (the tree); Demeulemeester and Herroelen, New benchmark results for the resource-constrained project scheduling
problem, Management Science 43, 1997 (sets of tasks that another node has scheduled no later); Mingozzi et al., An exact
algorithm for the resource-constrained project scheduling problem, Management Science 44, 1998 (tasks that exclude each
other).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, inlined
from transom._system.records import record
from transom.models.arrays import BoolArray, IntArray, SmallArray
from transom.models.workflow import Workflow
from transom.solvers.workflow.bounds import Windows

TASKS = 62  # that run for some time, up to which the bits of a set fit
_SETS = 262_139  # that are remembered, a prime
_SPREAD = 7919  # sets of neighbours lie apart
_TRIES = 4  # places where a set is looked for
_ACTIVE = 12  # tasks that may run at once for a set to be remembered
_LOADS, _ROUNDED = 4, 8  # resources whose energy is looked at; ways to round each, at most
_NEVER = 2**62


class Where:
    """Where a search stands: depth, whether that node is new, latest end that is looked for, nodes, sets remembered."""

    depth: int
    fresh: bool
    latest: int
    nodes: int
    kept: int


class Order(NamedTuple):
    """A search.

    Parameters
    ----------
    tasks : those that run for some time, in ticks and with what is scarce, shape ``(T,)``.
    before : whether a task waits for another, directly or by way of tasks that take no time, shape ``(T, T)``.
    loads, rooms : what tasks take of the scarcest resources and what there is, shapes ``(T, L)`` and ``(L,)``, some as
        :func:`scarcest` has changed them.
    apart : the tasks that cannot run beside each, as bits; ``by_apart`` has those with the most first, shape ``(T,)``.
    started, ends, waits : whether each has started, its end, for how many it still waits, shape ``(T,)``.
    left : what tasks that have not started take of these, shape ``(L,)``.
    chosen, sets, nows : the task that each depth starts, those before as bits, the last start, shape ``(T + 1,)``.
    running, many : the tasks that run then and their number, shapes ``(T + 1, T)`` and ``(T + 1,)``.
    children, begins, tried, number : those of each depth, when they start, how many were tried, of how many.
    seen, seen_now, seen_tasks, seen_ends : sets that were met, their last start, and who then ran how long.
    best : starts of the best schedule, shape ``(T,)``.
    """

    tasks: Windows
    before: BoolArray
    loads: IntArray
    rooms: IntArray
    apart: IntArray
    by_apart: IntArray
    started: BoolArray
    ends: IntArray
    waits: IntArray
    left: IntArray
    chosen: IntArray
    sets: IntArray
    nows: IntArray
    running: IntArray
    many: IntArray
    children: IntArray
    begins: IntArray
    tried: IntArray
    number: IntArray
    seen: IntArray
    seen_now: IntArray
    seen_tasks: SmallArray
    seen_ends: IntArray
    best: IntArray


def order_of(tasks: Windows, before: BoolArray) -> Order:
    """A search that has not begun; ``tasks`` and ``before`` are those of :class:`Order`."""
    count = len(tasks.durations)
    reach = before.copy()
    for k in range(count):
        reach |= reach[:, k : k + 1] & reach[k : k + 1]
    apart = reach | reach.T | ((tasks.requests[:, None] + tasks.requests) > tasks.capacity).any(axis=2)
    np.fill_diagonal(apart, False)
    loads, rooms = scarcest(tasks)
    by_apart = np.lexsort((-tasks.durations, -apart.sum(axis=1)))
    pairs, depths = (count + 1, count), count + 1
    return Order(
        tasks, before, loads, rooms, apart @ (1 << np.arange(count)), by_apart,
        np.zeros(count, bool), np.zeros(count, np.int64), before.sum(axis=0), tasks.durations @ loads,
        np.zeros(depths, np.int64), np.zeros(depths, np.int64), np.zeros(depths, np.int64), np.zeros(pairs, np.int64),
        np.zeros(depths, np.int64), np.zeros(pairs, np.int64), np.zeros(pairs, np.int64), np.zeros(depths, np.int64),
        np.zeros(depths, np.int64), np.zeros(_SETS + _TRIES, np.int64), np.empty(_SETS + _TRIES, np.int64),
        np.empty((_SETS + _TRIES, _ACTIVE), np.int8), np.empty((_SETS + _TRIES, _ACTIVE), np.int64),
        np.zeros(count, np.int64),
    )  # fmt: skip


def scarcest(tasks: Windows) -> tuple[IntArray, IntArray]:
    """Requests and capacities of which all tasks together take the most, as they are or made dual feasible.

    Tasks that fit beside each other still do when requests within a small one of the capacity become all of it and
    smaller ones nothing, or when all are counted in whole parts of the capacity, whole multiples of which count a part
    less (Fekete and Schepers, New classes of fast lower bounds for bin packing problems, 2001).
    """
    found: list[tuple[IntArray, int]] = []
    for requests, capacity in zip(tasks.requests.T, tasks.capacity.tolist(), strict=True):
        found.append((requests, capacity))
        for small in np.unique(requests[(requests > 0) & (2 * requests <= capacity)])[:_ROUNDED].tolist():
            found.append((np.where(requests > capacity - small, capacity, requests * (requests >= small)), capacity))
        for parts in range(1, _ROUNDED):
            whole, rest = np.divmod((parts + 1) * requests, capacity)
            found.append((np.where(rest == 0, parts * requests, whole * capacity), parts * capacity))
    found.sort(key=lambda each: -float(tasks.durations @ each[0]) / each[1])
    return np.array([each[0] for each in found[:_LOADS]]).T.copy(), np.array([each[1] for each in found[:_LOADS]])


def direct(problem: Workflow) -> tuple[IntArray, BoolArray]:
    """The tasks that run for some time, and which of them wait for which, as of :class:`Order`."""
    lasting = np.flatnonzero(problem.durations)
    place = {task: i for i, task in enumerate(lasting.tolist())}
    first, parents = (part.tolist() for part in problem.parents)
    awaited: list[set[int]] = [set() for _ in range(len(problem))]
    before = np.zeros((len(lasting), len(lasting)), bool)
    for task in problem.order().tolist():
        for parent in parents[first[task] : first[task + 1]]:
            awaited[task] |= {place[parent]} if parent in place else awaited[parent]
        if task in place:
            before[[*awaited[task]], place[task]] = True
    return lasting, before


def completed(problem: Workflow, lasting: IntArray, starts: IntArray) -> IntArray:
    """The starts of all tasks out of those that run for some time; the others start as soon as they can."""
    all_, ends = problem.releases * problem.ticks, problem.durations
    all_[lasting] = starts
    first, parents = problem.parents
    for task in problem.order().tolist():
        if ends[task] == 0:
            all_[task] = max(all_[task], ends[parents[first[task] : first[task + 1]]].max(initial=0))
        ends[task] += all_[task]
    return all_


def begin(latest: int) -> Where:
    """Where a search for a schedule that ends by ``latest`` begins."""
    where = record(Where)
    where.fresh, where.latest = True, latest
    return where


@compiled
def search(order: Order, where: Where, step: int, nodes: int) -> bool:
    """Search on, until it is over or so many more nodes are visited.

    Parameters
    ----------
    where : is changed. Whoever finds a schedule lowers ``where.latest`` by ``step`` below its end, here into
        ``order.best``.
    step : by how much a better schedule ends earlier at least.

    Returns
    -------
    Whether the search is over: no schedule ends by ``where.latest``.
    """
    count = len(order.best)
    stop = where.nodes + nodes
    while where.nodes < stop:
        depth = where.depth
        if where.fresh:
            where.fresh = False
            where.nodes += 1
            order.tried[depth], order.number[depth] = 0, 0
            if depth == count:
                end = 0
                for task in range(count):
                    end = max(end, int(order.ends[task] + order.tasks.tails[task]))
                if end <= where.latest:  # which was lowered since the first of these tasks started
                    where.latest = end - step
                    for task in range(count):
                        order.best[task] = order.ends[task] - order.tasks.durations[task]
            elif not (needs_too_long(order, where) or exclude_too_long(order, where) or met(order, where)):
                branch(order, where)
        if order.tried[depth] < order.number[depth]:
            k = order.tried[depth]
            order.tried[depth] += 1
            task, now = order.children[depth, k], order.begins[depth, k]
            if now + order.tasks.durations[task] + order.tasks.tails[task] <= where.latest:
                start(order, where, task, now)
        elif depth == 0:
            return True
        else:
            where.depth -= 1
            count_in(order, order.chosen[depth - 1], 1)
            order.started[order.chosen[depth - 1]] = False
    return False


@inlined
def count_in(order: Order, task: int, sign: int) -> None:
    """A task has started (-1) or not (1): who waits for it, and what is left to do."""
    for other in range(len(order.best)):
        if order.before[task, other]:
            order.waits[other] += sign
    for r in range(len(order.left)):
        order.left[r] += sign * order.tasks.durations[task] * order.loads[task, r]


@inlined
def start(order: Order, where: Where, task: int, now: int) -> None:
    """Start a task: the next depth."""
    depth, many = where.depth, 0
    order.started[task], order.chosen[depth] = True, task
    order.ends[task] = now + order.tasks.durations[task]
    count_in(order, task, -1)
    for k in range(order.many[depth]):
        other = order.running[depth, k]
        if order.ends[other] > now:
            order.running[depth + 1, many] = other
            many += 1
    order.running[depth + 1, many] = task
    order.many[depth + 1], order.nows[depth + 1] = many + 1, now
    order.sets[depth + 1] = order.sets[depth] | 1 << task
    where.depth, where.fresh = depth + 1, True


@inlined
def needs_too_long(order: Order, where: Where) -> bool:
    """Whether what is left takes too much of a resource."""
    depth = where.depth
    now = order.nows[depth]
    for r in range(len(order.left)):
        energy = order.left[r]
        for k in range(order.many[depth]):
            task = order.running[depth, k]
            energy += (order.ends[task] - now) * order.loads[task, r]
        if energy > order.rooms[r] * (where.latest - now):
            return True
    return False


@inlined
def exclude_too_long(order: Order, where: Where) -> bool:
    """Whether tasks that exclude each other, chosen greedily, take too long one after another."""
    depth, count = where.depth, len(order.best)
    now, total, tail = order.nows[depth], 0, _NEVER
    open_ = ((1 << count) - 1) & ~order.sets[depth]
    for k in range(order.many[depth]):
        open_ |= 1 << order.running[depth, k]
    for k in range(count):
        task = order.by_apart[k]
        if open_ >> task & 1:
            open_ &= order.apart[task]
            total += order.ends[task] - now if order.started[task] else order.tasks.durations[task]
            tail = min(tail, order.tasks.tails[task])
    return bool(now + total + tail > where.latest)


@inlined
def met(order: Order, where: Where) -> bool:
    """Whether another node has started the same tasks and is no later; else this one is remembered."""
    depth = where.depth
    which, now, many = order.sets[depth], order.nows[depth], order.many[depth]
    if depth == 0 or many > _ACTIVE:
        return False
    place = which % _SETS * _SPREAD % _SETS
    for at in range(place, place + _TRIES):
        if order.seen[at] != which or order.seen_now[at] > now:
            continue
        later = False
        for k in range(_ACTIVE):
            task = order.seen_tasks[at, k]
            if task < 0:
                break
            later = later or order.seen_ends[at, k] > max(now, order.ends[task])
        if not later:
            return True
    at = place + where.kept % _TRIES
    where.kept += 1
    order.seen[at], order.seen_now[at] = which, now
    for k in range(many):
        task = order.running[depth, k]
        order.seen_tasks[at, k], order.seen_ends[at, k] = task, order.ends[task]
    if many < _ACTIVE:
        order.seen_tasks[at, many] = -1
    return False


@inlined
def branch(order: Order, where: Where) -> None:
    """Enter the children of a node by their starts, of equal ones the longest path first."""
    depth, number, first_end = where.depth, 0, _NEVER
    children, begins = order.children[depth], order.begins[depth]
    for task in range(len(order.best)):
        if order.started[task] or order.waits[task] > 0:
            continue
        now = earliest(order, depth, task)
        if now + order.tasks.durations[task] + order.tasks.tails[task] > where.latest:
            return
        first_end = min(first_end, now + order.tasks.durations[task])
        at = number
        while at > 0 and comes_before(order, task, now, children[at - 1], begins[at - 1]):
            children[at], begins[at] = children[at - 1], begins[at - 1]
            at -= 1
        children[at], begins[at] = task, now
        number += 1
    while number > 0 and begins[number - 1] >= first_end:
        number -= 1
    if number > 1 and takes_nothing(order, children[0]):
        number = 1  # it may as well start now
    order.number[depth] = number


@inlined
def takes_nothing(order: Order, task: int) -> bool:
    """Whether a task needs nothing that is scarce."""
    most = 0
    for r in range(len(order.tasks.capacity)):
        most = max(most, int(order.tasks.requests[task, r]))
    return most == 0


@inlined
def comes_before(order: Order, task: int, now: int, other: int, then: int) -> bool:
    """Whether a task that starts ``now`` is tried before another one that starts ``then``."""
    durations, tails = order.tasks.durations, order.tasks.tails
    return bool(now < then or (now == then and durations[task] + tails[task] > durations[other] + tails[other]))


@inlined
def earliest(order: Order, depth: int, task: int) -> int:
    """When a task can start at the earliest, no earlier than the last one that started."""
    now = max(int(order.nows[depth]), int(order.tasks.heads[task]))
    for k in range(order.many[depth]):
        other = order.running[depth, k]
        if order.before[other, task]:
            now = max(now, int(order.ends[other]))
    while True:
        next_end, fits = _NEVER, True
        for r in range(len(order.tasks.capacity)):
            used = order.tasks.requests[task, r]
            for k in range(order.many[depth]):
                other = order.running[depth, k]
                if order.ends[other] > now:
                    used += order.tasks.requests[other, r]
            fits = fits and used <= order.tasks.capacity[r]
        if fits:
            return now
        for k in range(order.many[depth]):
            end = int(order.ends[order.running[depth, k]])
            if end > now:
                next_end = min(next_end, end)
        now = next_end
