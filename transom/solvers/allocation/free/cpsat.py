"""CP-SAT on free allocation: how many nodes each job takes below each leaf switch and in each pod."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from transom._system.collector import collector_paused
from transom.models.allocation import Allocation
from transom.models.arrays import IntArray
from transom.models.fat_tree import FatTree
from transom.solvers.allocation.free.types import share_by_type, typed_owners
from transom.solvers.backends.cpsat import Scale, scaled, search_cpsat
from transom.solvers.backends.native import defer_destructors, import_back_end, run_deferred
from transom.solving import presolve
from transom.stop import Budget

_AT_LEAST = 1e-6  # what a binary of the model takes to make [s]


@dataclass(frozen=True, slots=True)
class FreeCpSat:
    r"""Binaries "job j takes v nodes of leaf s" and "job j takes v nodes of pod p"; the cost is linear in them.

    .. math:: \sum_v v\, x_{jsv} \text{ is the count } a_{js}, \quad \sum_v x_{jsv} \le 1, \quad
              \sum_{s \in p} a_{js} = b_{jp}, \quad \sum_p b_{jp} = n_j, \quad \sum_j a_{js} \le \text{idle}_s

    and the same for :math:`b_{jp}`, and for the switches of every level above pods, with their own binaries, so
    that :math:`\binom{a_{js}}{2}` and :math:`\binom{b_{jp}}{2}` are linear and with them the pairs of nodes that
    share a switch or a pod. Costs that are rounded down are modelled as such:
    :math:`n_j z_j \ge c\, h_j - n_j + 1, z_j \ge 1` for the cost :math:`z_j` and the hops :math:`h_j`. Levels that
    make no difference (equal hops) are merged.

    Symmetry is broken among jobs of one size (by hops), pods alike and leaf switches alike (by the count of
    the largest job). The best solution so far is the hint. An iteration is a conflict; ``stall`` does not
    apply. With node types further counts say how many nodes of each type a job takes below each leaf switch, and
    switches are not alike. Whole numbers come about as in :class:`~transom.solvers.allocation.scas_cpsat.ScasCpSat`.

    References
    ----------
    Lan et al. (2023), section III-A, eq. (1). Perron and Didier, CP-SAT, in OR-Tools (2024).
    """

    name: ClassVar[str] = "free-cpsat"
    solves: ClassVar[type] = Allocation
    needs: ClassVar[tuple[str, ...]] = ("ortools",)

    def supports(self, problem: Allocation, /) -> str | None:
        """Every free allocation."""
        return None if problem.rule == "free" else f"its rule is {problem.rule}, not free"

    def warm_up(self) -> None:
        """Import OR-Tools and compile what judges solutions."""
        import_back_end("ortools.sat.python.cp_model")
        tiny = Allocation(FatTree.k_ary(2), np.arange(2), np.array([2]), "free")
        tiny.value(np.zeros(2, np.int64))
        tiny.violations(np.zeros(2, np.int64))
        run_deferred()

    def __call__(self, problem: Allocation, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget):
            return
        places = _places(problem)
        binaries = int(np.minimum.outer(problem.sizes, places.idle).sum())
        if budget.short(binaries * _AT_LEAST):
            budget.notes["ended"] = f"a model of {binaries} binaries takes longer to build than there is time"
            _fall_back(problem, budget)
            return
        with collector_paused():
            built = _build(problem, places, budget)
        if built is None or budget.done():
            _fall_back(problem, budget)
            return  # building the model counts
        model, takes, shares, scale = built

        def read(values: IntArray) -> Any:
            counts = np.zeros((len(problem), len(places.idle)), np.int64)
            variable, job, leaf, amount = takes
            np.add.at(counts, (job, leaf), amount * values[variable])
            if problem.node_types is not None:
                return typed_owners(problem, places.leaf, shares, values)
            return _owners(problem, places, counts)

        search_cpsat(model, budget, int(rng.integers(2**31)), read, scale, probing=False)
        _fall_back(problem, budget)


def _fall_back(problem: Allocation, budget: Budget) -> None:
    """Hand over the first fit where nothing is known; with limits on leaf switches it may be no solution."""
    if budget.value is None and not budget.infeasible:
        owner = _first_fit(problem)
        if not problem.violations(owner):
            budget.found(owner)


def _first_fit(problem: Allocation) -> IntArray:
    """The jobs one after another on the nodes switch by switch, which are enough where not settled before."""
    owner = np.full(len(problem.idle), -1)
    owner[np.lexsort((problem.leaf, problem.pod))[: int(problem.sizes.sum())]] = np.repeat(
        np.arange(len(problem)), problem.sizes
    )
    return owner


class _Places(NamedTuple):
    """Leaf switches with idle nodes, and the pods that these lie in; merged where hops are equal."""

    leaf: IntArray  # of each idle node, numbered from 0
    idle: IntArray  # idle nodes below each leaf switch
    pod: IntArray  # of each leaf switch, numbered from 0
    upper: IntArray  # its switch on each level between pods and core, numbered from 0, (levels, leaves)
    own: IntArray  # 0, or with node types a number of its own, so that it is like no other: (leaves,)


def _places(problem: Allocation) -> _Places:
    _, far, near, _, _ = problem.cost.weights.tolist()
    pod = np.unique(problem.pod, return_inverse=True)[1] if far else np.zeros(len(problem.idle), np.int64)
    _, first, leaf, idle = np.unique(
        problem.leaf if near or problem.limited else pod,
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    levels = problem.upper[:, first] if far else np.empty((0, len(first)), np.int64)
    upper = np.array([np.unique(level, return_inverse=True)[1] for level in levels], np.int64).reshape(levels.shape)
    own = np.zeros(len(first), np.int64) if problem.node_types is None else np.arange(len(first))
    return _Places(leaf.astype(np.int64), idle.astype(np.int64), pod[first].astype(np.int64), upper, own)


def _build(problem: Allocation, places: _Places, budget: Budget) -> tuple[Any, IntArray, IntArray, Scale] | None:
    """The model, and of each binary of a leaf switch its position, job, leaf switch and count, ``(4, binaries)``.

    Behind them the same of the nodes of each type, of which there are none without types. None when there is too little
    time for it.
    """
    from ortools.sat.python import cp_model

    began = budget.seconds()
    weighted = cp_model.LinearExpr.weighted_sum
    model = cp_model.CpModel()
    hint = None if budget.solution is None else _canonical(problem, places, np.asarray(budget.solution))
    pods = [np.flatnonzero(places.pod == p).tolist() for p in range(int(places.pod.max()) + 1)]
    room = np.bincount(places.pod, places.idle).astype(np.int64).tolist()
    idle = places.idle.tolist()
    far, near = int(problem.cost.weights[1]), int(problem.cost.weights[2])

    def count(most: int, saving: int, hinted: int | None) -> tuple[Any, Any, list[Any]]:
        """A count up to ``most``, the hops that its pairs save, ``worth`` each, and its binaries from 1 on."""
        takes = [model.new_bool_var("") for _ in range(most)]
        model.add_at_most_one(takes)
        if hinted is not None:
            hints.extend(variable.index for variable in takes)
            hinted_values.extend(int(v == hinted) for v in range(1, most + 1))
        saves = weighted(takes, [saving * (v * (v - 1) // 2) for v in range(1, most + 1)])
        return weighted(takes, list(range(1, most + 1))), saves, takes

    taken: list[tuple[int, int, int, int]] = []
    hints: list[int] = []
    hinted_values: list[int] = []
    leaves: list[list[Any]] = []
    shares: list[list[Any]] = []
    saved: list[Any] = []
    groups = [np.flatnonzero(of == u) for of in places.upper for u in range(int(of.max()) + 1)]
    defer_destructors(model, taken, leaves, shares, saved)
    for job, size in enumerate(problem.sizes.tolist()):
        leaves.append([])
        shares.append([])
        saves, spanned = [], []
        for s, free in enumerate(idle):
            amount, hops, takes = count(min(size, free), near, None if hint is None else int(hint[job, s]))
            taken.extend((variable.index, job, s, v) for v, variable in enumerate(takes, 1))
            spanned += takes
            leaves[-1].append(amount)
            saves.append(hops)
            if budget.done():
                return None
        for p, within in enumerate(pods):
            amount, hops, _ = count(min(size, room[p]), far, None if hint is None else int(hint[job, within].sum()))
            shares[-1].append(amount)
            saves.append(hops)
            model.add(cp_model.LinearExpr.sum([leaves[-1][s] for s in within]) == amount)
            if budget.done():
                return None
        for group in groups:
            most = min(size, int(places.idle[group].sum()))
            amount, hops, _ = count(most, far, None if hint is None else int(hint[job, group].sum()))
            saves.append(hops)
            model.add(cp_model.LinearExpr.sum([leaves[-1][s] for s in group.tolist()]) == amount)
            if budget.done():
                return None
        if problem.leaf_limits is not None:
            model.add(cp_model.LinearExpr.sum(spanned) <= int(problem.leaf_limits[job]))
        model.add(cp_model.LinearExpr.sum(shares[-1]) == size)
        saved.append(cp_model.LinearExpr.sum(saves))
    if budget.short(budget.seconds() - began):
        # What remains takes nearly as long again, in a few calls that do not look at the clock.
        budget.notes["ended"] = "the model takes longer to build than there is time"
        return None
    for s, free in enumerate(idle):
        model.add(cp_model.LinearExpr.sum([of[s] for of in leaves]) <= free)
        if budget.done():
            return None
    typed = share_by_type(model, problem, places.leaf, leaves)
    # As ``add_hint`` writes it, which takes longer than to make the variables.
    model.proto.solution_hint.vars.extend(hints)
    model.proto.solution_hint.values.extend(hinted_values)
    _break_symmetry(model, problem, places, leaves, shares, saved)
    scale = _minimise(model, problem, saved)
    return model, np.array(taken).T, typed, scale


def _minimise(model: Any, problem: Allocation, saved: list[Any]) -> Scale:
    """Set the objective."""
    from ortools.sat.python import cp_model

    other, _, _, c, floored = problem.weights.tolist()
    sizes = problem.sizes.tolist()
    most = [other * (size * (size - 1) // 2) for size in sizes]
    if floored:
        costs = []
        for size, hops, saves in zip(sizes, most, saved, strict=True):
            cost = model.new_int_var(1, max(1, c * hops // size), "")
            model.add(size * cost + c * saves >= c * hops - size + 1)
            costs.append(cost)
        model.minimize(cp_model.LinearExpr.sum(costs))
        return Scale(1.0, 0.0, True)
    weights, scale = scaled(np.array([[c / size] for size in sizes]), np.array(most), problem.sizes, False)
    pairs = zip(weights[:, 0].tolist(), most, saved, strict=True)
    model.minimize(cp_model.LinearExpr.sum([weight * (hops - saves) for weight, hops, saves in pairs]))
    return scale


def _break_symmetry(
    model: Any, problem: Allocation, places: _Places, leaves: list[Any], shares: list[Any], saved: list[Any]
) -> None:
    """An order among jobs, pods and leaf switches that are alike; :func:`_canonical` brings a solution into it."""
    for job, other in _neighbours(list(map(tuple, _alike(problem).tolist())), range(len(problem))):
        model.add(saved[job] >= saved[other])
    largest = int(problem.sizes.argmax())
    for pod, other in _alike_pods(places):
        model.add(shares[largest][pod] >= shares[largest][other])
    for leaf, other in _alike_leaves(places):
        model.add(leaves[largest][leaf] >= leaves[largest][other])


def _alike(problem: Allocation) -> IntArray:
    """Size and class of each job, shape ``(jobs, 2)``: jobs that share both are alike."""
    return np.column_stack((problem.sizes, problem.classes.of))


def _neighbours(keys: list[Any], members: Any) -> list[tuple[int, int]]:
    """Each member with the next one of the same key."""
    last: dict[Any, int] = {}
    found = []
    for member in members:
        if keys[member] in last:
            found.append((last[keys[member]], member))
        last[keys[member]] = member
    return found


def _shapes(places: _Places) -> list[tuple[int, ...]]:
    """The switch above each pod, if any, and the idle nodes below each of its leaf switches, sorted."""
    within = [places.pod == p for p in range(int(places.pod.max()) + 1)]
    return [
        (*places.upper[:1, of][:, 0].tolist(), *np.sort(places.idle[of]).tolist(), *np.sort(places.own[of]).tolist())
        for of in within
    ]


def _alike_pods(places: _Places) -> list[tuple[int, int]]:
    shapes = _shapes(places)
    return _neighbours(shapes, range(len(shapes)))


def _alike_leaves(places: _Places) -> list[tuple[int, int]]:
    keys = list(zip(places.pod.tolist(), places.idle.tolist(), places.own.tolist(), strict=True))
    return _neighbours(keys, range(len(keys)))


def _canonical(problem: Allocation, places: _Places, owner: IntArray) -> IntArray:
    """Counts of a solution by job and leaf switch, jobs, pods and leaf switches that are alike in the model's order."""
    jobs, leaves = len(problem), len(places.idle)
    counts = np.zeros((jobs, leaves), np.int64)
    np.add.at(counts, (owner[owner >= 0], places.leaf[owner >= 0]), 1)
    shares = np.zeros((jobs, int(places.pod.max()) + 1), np.int64)
    np.add.at(shares.T, places.pod, counts.T)
    _, far, near, _, _ = problem.cost.weights.tolist()
    saved = near * (counts * (counts - 1) // 2).sum(axis=1) + far * (shares * (shares - 1) // 2).sum(axis=1)
    for of in places.upper:
        held = np.zeros((jobs, int(of.max()) + 1), np.int64)
        np.add.at(held.T, of, counts.T)
        saved += far * (held * (held - 1) // 2).sum(axis=1)
    sizes, classes = _alike(problem).T
    counts[np.lexsort((classes, sizes))] = counts[np.lexsort((-saved, classes, sizes))]
    largest = int(problem.sizes.argmax())

    def ranked(groups: dict[Any, list[int]], amount: Callable[[int], int]) -> list[tuple[int, int]]:
        """For each member, the one that takes its place."""
        return [
            pair
            for members in groups.values()
            for pair in zip(members, sorted(members, key=amount, reverse=True), strict=True)
        ]

    within = [np.flatnonzero(places.pod == p) for p in range(int(places.pod.max()) + 1)]
    moved = counts.copy()
    for pod, comes in ranked(_groups(_shapes(places)), lambda p: int(counts[largest, within[p]].sum())):
        to, source = (of[np.argsort(places.idle[of], kind="stable")] for of in (within[pod], within[comes]))
        moved[:, to] = counts[:, source]
    keys = list(zip(places.pod.tolist(), places.idle.tolist(), places.own.tolist(), strict=True))
    final = moved.copy()
    for leaf, comes in ranked(_groups(keys), lambda s: int(moved[largest, s])):
        final[:, leaf] = moved[:, comes]
    return final


def _groups(keys: list[Any]) -> dict[Any, list[int]]:
    groups: dict[Any, list[int]] = {}
    for member, key in enumerate(keys):
        groups.setdefault(key, []).append(member)
    return groups


def _owners(problem: Allocation, places: _Places, counts: IntArray) -> IntArray:
    """The solution with these counts, shape ``(jobs, leaves)``: the first idle nodes of a leaf to the first job."""
    owner = np.full(len(problem.idle), -1)
    order = np.argsort(places.leaf, kind="stable")
    begin = 0
    for leaf, idle in enumerate(places.idle.tolist()):
        taken = np.repeat(np.arange(len(problem)), counts[:, leaf])
        owner[order[begin : begin + len(taken)]] = taken
        begin += idle
    return owner
