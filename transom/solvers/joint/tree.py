"""The best placement of one job at given prices on the nodes of each leaf switch, on a tree of any depth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.models.arrays import FloatArray, IntArray
from transom.models.joint import Joint


class Tree(NamedTuple):
    """Switches with idle nodes below them, children before their parent, the core last.

    Switches that look alike from below have one ``form``; leaf switches with the same forms on their way up one class.
    """

    parent: IntArray  # -1 for the core, (V,)
    before: IntArray  # the child of the same parent before each, -1 for none
    last: IntArray  # the last child of each, -1 for leaf switches
    room: IntArray  # idle nodes below each
    reach: IntArray  # idle nodes below each and the children before it
    saves: FloatArray  # hops that a pair below each saves
    leaf: IntArray  # position among the leaf switches of the problem, -1 for other switches
    cls: IntArray  # class of each leaf switch, -1 for other switches
    form: IntArray


class Tables(NamedTuple):
    """What so many nodes are worth to a job, shape ``(V, nodes + 1)`` each."""

    inside: FloatArray  # below each switch
    merged: FloatArray  # below each and the children before it
    outside: FloatArray  # elsewhere, where so many are below each
    rest: FloatArray  # scratch


def tree_of(levels: IntArray, idle: IntArray, savings: IntArray) -> Tree:
    """The tree of some leaf switches.

    Parameters
    ----------
    levels : switch of each leaf switch on each level, itself first, without the core; shape ``(levels, leaves)``.
    idle : idle nodes of each leaf switch.
    savings : hops that a pair saves by sharing a switch of each level.
    """
    names = ("parent", "before", "last", "room", "reach", "leaf", "form")
    rows: dict[str, list[int]] = {name: [] for name in names}
    saves: list[float] = []
    forms: dict[tuple[int, ...], int] = {}

    def add(leaf: int, room: int, children: list[int], saved: float) -> int:
        here = len(saves)
        before, reach = -1, 0
        for child in children:
            reach += rows["room"][child]
            rows["parent"][child], rows["before"][child], rows["reach"][child] = here, before, reach
            before = child
        key = tuple(sorted(rows["form"][child] for child in children)) if children else (-1 - room,)
        form = forms.setdefault(key, len(forms))
        for name, value in zip(names, (-1, -1, before, room, room, leaf, form), strict=True):
            rows[name].append(value)
        saves.append(saved)
        return here

    def split(level: int, leaves: IntArray) -> list[IntArray]:
        below = levels[level - 1, leaves] if level else leaves[:0]
        firsts = np.unique(below, return_index=True)[1]
        return [leaves[below == below[first]] for first in sorted(firsts.tolist(), reverse=True)]

    # Depth first: for each open switch its level, leaf switches, what is left to go into, and the children so far.
    every = np.arange(len(idle))
    open_: list[tuple[int, IntArray, list[IntArray], list[int]]] = [(len(levels), every, split(len(levels), every), [])]
    while open_:
        level, leaves, left, children = open_[-1]
        if left:
            inside = left.pop()
            open_.append((level - 1, inside, split(level - 1, inside), []))
            continue
        open_.pop()
        room = int(idle[leaves].sum())
        saved = float(savings[level]) if level < len(levels) else 0.0
        here = add(int(leaves[0]) if level == 0 else -1, room, children, saved)
        if open_:
            open_[-1][3].append(here)
    ways: dict[tuple[int, ...], int] = {}
    cls = np.full(len(saves), -1)
    paths: list[tuple[int, ...]] = [()] * len(saves)
    for here in range(len(saves) - 1, -1, -1):
        up = rows["parent"][here]
        paths[here] = (*(paths[up] if up >= 0 else ()), rows["form"][here])
        if rows["leaf"][here] >= 0:
            cls[here] = ways.setdefault(paths[here], len(ways))
    arrays = {name: np.array(values, np.int64) for name, values in rows.items()}
    return Tree(saves=np.array(saves), cls=cls.astype(np.int64), **arrays)


def joint_tree(problem: Joint) -> tuple[Tree, IntArray]:
    """The tree of a problem with idle nodes, and the leaf switch of each of these, numbered from 0."""
    levels = problem.levels
    _, first, leaf = np.unique(levels[0], return_index=True, return_inverse=True)
    leaf = leaf.astype(np.int64)
    return tree_of(levels[:, first], np.bincount(leaf), problem.savings), leaf


def tables_for(tree: Tree, size: int) -> Tables:
    """Tables for jobs of up to so many nodes."""
    return Tables(*np.empty((4, len(tree.room), min(size, int(tree.room[-1])) + 1)))


@compiled
def price(tree: Tree, tables: Tables, size: int, unit: float, prices: FloatArray, toll: float) -> float:
    """The most that a placement of ``size`` nodes is worth.

    Parameters
    ----------
    tables : ``inside`` and ``merged`` are filled in.
    size : at most the idle nodes.
    unit : worth of a saved hop.
    prices : of a node of each class of leaf switches.
    toll : for each leaf switch that is used.
    """
    for v in range(len(tree.room)):
        most, own = min(size, tree.room[v]), tables.inside[v]
        pair = unit * tree.saves[v]
        if tree.cls[v] >= 0:
            own[0] = 0.0
            for a in range(1, most + 1):
                own[a] = pair * (a * (a - 1) // 2) - prices[tree.cls[v]] * a - toll
        else:
            below = tables.merged[tree.last[v]]
            for b in range(most + 1):
                own[b] = below[b] + pair * (b * (b - 1) // 2)
        if tree.parent[v] < 0:
            continue
        new = tables.merged[v]
        if tree.before[v] < 0:
            for b in range(most + 1):
                new[b] = own[b]
            continue
        old, reach = tables.merged[tree.before[v]], min(size, tree.reach[tree.before[v]])
        total = min(size, reach + most)
        for b in range(reach + 1):
            new[b] = old[b]
        for b in range(reach + 1, total + 1):
            new[b] = -np.inf
        for a in range(1, most + 1):
            value, part = own[a], new[a:]
            for b in range(min(reach, total - a) + 1):
                x = old[b] + value
                part[b] = x if x > part[b] else part[b]
    return float(tables.inside[-1, size])


@compiled
def trace(tree: Tree, tables: Tables, size: int, nodes: IntArray) -> None:
    """Nodes below each switch in a placement that is worth most, after :func:`price`; shape ``(V,)``."""
    nodes[-1] = size
    for v in range(len(tree.room) - 1, -1, -1):
        left, child = nodes[v], tree.last[v]
        while child >= 0:
            before = tree.before[child]
            if before < 0:
                nodes[child] = left
                break
            best, taken = -np.inf, 0
            reach = tree.reach[before]
            for a in range(max(0, left - reach), min(left, tree.room[child]) + 1):
                x = tables.inside[child, a] + tables.merged[before, left - a]
                if x > best:
                    best, taken = x, a
            nodes[child] = taken
            left -= taken
            child = before


@compiled
def look_outside(tree: Tree, tables: Tables, size: int, unit: float) -> None:
    """Fill in ``outside`` after :func:`price`: with ``inside`` it makes the best placement for a number of nodes."""
    tables.outside[:] = -np.inf
    tables.outside[-1, size] = 0.0
    for v in range(len(tree.room) - 1, -1, -1):
        child = tree.last[v]
        if child < 0:
            continue
        most, rest = min(size, tree.room[v]), tables.rest[v]
        pair = unit * tree.saves[v]
        for b in range(most + 1):
            rest[b] = tables.outside[v, b] + pair * (b * (b - 1) // 2)
        while child >= 0:
            # ``rest``: worth of what is neither below this child nor below those before it, by the nodes of all these.
            before, room = tree.before[child], min(size, tree.room[child])
            if before < 0:
                for a in range(room + 1):
                    tables.outside[child, a] = rest[a]
                break
            reach = min(size, tree.reach[before])
            for a in range(room + 1):
                best = -np.inf
                for b in range(min(reach, size - a, most - a) + 1):
                    best = max(best, tables.merged[before, b] + rest[a + b])
                tables.outside[child, a] = best
            for b in range(reach + 1):
                best = -np.inf
                for a in range(min(room, size - b, most - b) + 1):
                    best = max(best, tables.inside[child, a] + rest[a + b])
                rest[b] = best
            child = before
