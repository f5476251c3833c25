"""Depth-first search over the patterns of one machine after another, pruned by what choices lose against the bound."""

from __future__ import annotations

from typing import NamedTuple

from transom._system.compiling import compiled, no_refcount
from transom.models.arrays import BoolArray, FloatArray, IntArray

_NONE, _PLACED, _AGAIN = 0, 1, 2
_PAUSE = 4096


class Tree(NamedTuple):
    """What is searched; level i decides on instances of task ``task[i]`` on machine ``machine[i]``.

    Parameters
    ----------
    task, machine : of each level, machine by machine, shape ``(L,)``.
    twin : the level of the same task on the machine before, where that machine is identical, else -1, shape ``(L,)``.
    last : whether no later level decides on the task, shape ``(L,)``.
    cost : what an instance loses that is placed here, >= 0, shape ``(L,)``.
    unsold : what a waiting instance loses that is not placed, >= 0, shape ``(T,)``.
    price : what a unit of room loses that stays free, >= 0, shape ``(M, R)``.
    later : what the machines behind that of the level lose at least, shape ``(L,)``.
    reach : what the machine's levels from this one on can take of each resource at most, shape ``(L + 1, R)``.
    divisor : what their demands have in common, shape ``(L + 1, R)``.
    demands, values : of the tasks, shapes ``(T, R)`` and ``(T,)``.
    """

    task: IntArray
    machine: IntArray
    twin: IntArray
    last: BoolArray
    cost: FloatArray
    unsold: FloatArray
    price: FloatArray
    later: FloatArray
    reach: FloatArray
    divisor: IntArray
    demands: IntArray
    values: IntArray


class Path(NamedTuple):
    """Where the search stands.

    Parameters
    ----------
    room : what is free, shape ``(M, R)``.
    left : waiting instances that are not placed, shape ``(T,)``.
    counts : instances that each level places, shape ``(L + 1,)``.
    tried : candidates of each level that were tried, shape ``(L + 1,)``.
    most : instances that each level can place at most, shape ``(L + 1,)``.
    loss, value : of the levels before, shape ``(L + 1,)``.
    equal : whether the machine's levels before are those of its twin, shape ``(L + 1,)``.
    best : counts of the best leaf, shape ``(L + 1,)``.
    where : the level, 1 if it is entered anew, the nodes so far, the value of the best leaf.
    least : the least loss of a leaf, shape ``(1,)``.
    """

    room: IntArray
    left: IntArray
    counts: IntArray
    tried: IntArray
    most: IntArray
    loss: FloatArray
    value: IntArray
    equal: BoolArray
    best: IntArray
    where: IntArray
    least: FloatArray


@compiled
def search(tree: Tree, path: Path, goal: float, limit: float, nodes: int, by_loss: bool) -> bool:
    """Search on, until it is over or so many more nodes are visited.

    Parameters
    ----------
    goal : a better leaf loses at most this less the value of the best one.
    limit : leaves that lose more are left out.
    nodes : how many to visit, by and large.
    by_loss : whether the leaf with the least loss is looked for, rather than one that is worth more than
        ``path.where[3]``.

    Returns
    -------
    Whether the search is over: of the leaves within the limit, none is better than the best one found.
    """
    levels = len(tree.task)
    i, fresh, stop = path.where[0], path.where[1], path.where[2] + nodes
    while path.where[2] < stop:
        if i == levels:
            if path.loss[i] < path.least[0] if by_loss else path.value[i] > path.where[3]:
                path.least[0], path.where[3] = path.loss[i], path.value[i]
                path.best[:] = path.counts
            i, fresh = i - 1, 0
        if i < 0:
            break
        limit = min(limit, path.least[0] if by_loss else goal - path.where[3])
        if fresh == 1:
            _enter(tree, path, i)
        else:
            _put(tree, path, i, -path.counts[i])
            path.counts[i] = 0
        found = _next(tree, path, i, limit)
        if found == _PLACED:
            i, fresh = i + 1, 1
        else:
            i, fresh = (i - 1 if found == _NONE else i), 0
    path.where[0], path.where[1] = i, fresh
    return bool(i < 0)


@no_refcount
def _enter(tree: Tree, path: Path, i: int) -> None:
    """How many instances a level can place: what waits and fits, of identical machines no more than the one before."""
    task, machine, twin = tree.task[i], tree.machine[i], tree.twin[i]
    most = path.left[task]
    for r in range(tree.demands.shape[1]):
        needed = tree.demands[task, r]
        if needed > 0:
            most = min(most, path.room[machine, r] // needed)
    # Of solutions that differ in the order of identical machines only the lexicographically largest is looked at.
    path.equal[i] = twin >= 0
    if twin >= 0 and i > 0 and tree.machine[i - 1] == machine:
        path.equal[i] = path.equal[i - 1] and path.counts[i - 1] == path.counts[twin - 1]
    if path.equal[i]:
        most = min(most, path.counts[twin])
    path.most[i], path.tried[i], path.counts[i] = most, 0, 0


@no_refcount
def _put(tree: Tree, path: Path, i: int, count: int) -> None:
    """Place instances at a level; a negative number takes them away."""
    task, machine = tree.task[i], tree.machine[i]
    path.left[task] -= count
    for r in range(tree.demands.shape[1]):
        path.room[machine, r] -= count * tree.demands[task, r]


@no_refcount
def _next(tree: Tree, path: Path, i: int, limit: float) -> int:
    """Place the next number of instances that may lead to a leaf within the limit, those that lose less before others.

    Returns
    -------
    Whether there is one, or none, or whether to ask again, after some thousand that lead nowhere.
    """
    task, machine = tree.task[i], tree.machine[i]
    missed = tree.unsold[task] if tree.last[i] else 0.0
    falling = tree.cost[i] <= missed
    ends = i + 1 == len(tree.task) or tree.machine[i + 1] != machine
    for _ in range(_PAUSE):
        if path.tried[i] > path.most[i]:
            return _NONE
        count = path.most[i] - path.tried[i] if falling else path.tried[i]
        path.tried[i] += 1
        path.where[2] += 1
        loss = path.loss[i] + count * tree.cost[i] + (path.left[task] - count) * missed
        if loss + tree.later[i] > limit:
            return _NONE  # all others lose more
        unused = 0.0
        for r in range(tree.demands.shape[1]):
            room = path.room[machine, r] - count * tree.demands[task, r]
            if ends:
                unused += room * tree.price[machine, r]
            else:
                left = max(room - tree.reach[i + 1, r], float(room % tree.divisor[i + 1, r]))
                unused += max(0.0, left) * tree.price[machine, r]
        if loss + unused + tree.later[i] <= limit:
            _put(tree, path, i, count)
            path.counts[i] = count
            path.loss[i + 1] = loss + unused if ends else loss
            path.value[i + 1] = path.value[i] + count * tree.values[task]
            return _PLACED
    return _AGAIN
