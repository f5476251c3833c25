"""Cheap facts about an instance.

Each takes well under a millisecond up to thousands of items, jobs or idle nodes; of more items an even share is
looked at. Sizes are on a scale of ten's logarithm: what counts is how often something doubles, not by how much it
grows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from transom.models.allocation import Allocation
from transom.models.arrays import FloatArray, IntArray
from transom.models.joint import Joint
from transom.models.knapsack import Knapsack
from transom.models.placement import Placement
from transom.models.reduction import common_divisor, reduce
from transom.models.selection import Selection
from transom.models.shortest_path import ConstrainedPath
from transom.models.workflow import Workflow
from transom.problems import known_type
from transom.solvers.allocation import scas_dp
from transom.solvers.knapsack.dynamic_programming import bytes_for

_CELLS = 2**13
"""Cells of a table of costs that are looked at; of a larger one an even share is."""

_ITEMS, _SHARE = 2**14, 2**13
"""Items of a knapsack up to which all are looked at, and how many of more: an even share."""

_KNAPSACK = {
    "items": "log10 of 1 + the undecided items",
    "table": "log10 of the bytes of the table of `dp`",
    "tightness": "capacity per total weight of the undecided items",
    "weight": "log10 of their mean weight, in units of the common divisor",
    "spread": "deviation of the weights per mean weight",
    "efficiencies": "deviation of value per weight, per its mean: 0 where value and weight go together",
    "correlation": "of value and weight, -1 to 1; 1 where one of them is constant",
    "distinct": "distinct weights per item",
}
_ALLOCATION = {
    "idle": "log10 of the idle nodes",
    "jobs": "log10 of 1 + the jobs",
    "sizes": "log10 of 1 + the distinct sizes",
    "load": "nodes asked for per idle node",
    "slack": "log10 of 1 + the nodes that stay idle",
    "sets": "log10 of the sets of jobs that differ in sizes: product of (jobs of a size + 1)",
    "table": "log10 of the bytes of the tables of `scas-dp`",
    "mean": "log10 of the mean size of a job",
    "largest": "the largest size per mean size",
    "leaves": "log10 of the leaf switches with an idle node",
    "pods": "log10 of the pods with an idle node",
    "filling": "mean size of a job per mean number of idle nodes below such a leaf switch, log10",
    "runs": "runs of consecutive idle nodes per idle node: 0 is one piece, 1 all apart",
    "wrap": "1 where blocks wrap around, else 0",
}
_PATH = {
    "length": "log10 of the entries",
    "arcs": "log10 of 1 + the arcs wanted",
    "sizes": "log10 of 1 + the distinct sizes",
    "load": "entries that the arcs span, per entry",
    "sets": "log10 of the sets of arcs that differ in sizes",
    "table": "log10 of the bytes of the tables of `csp-dp`",
    "density": "share of the arcs that exist",
    "spread": "deviation of their costs per mean cost",
    "roughness": "mean difference of the costs of neighbouring arcs, per deviation",
}
_SELECTION = {
    "jobs": "log10 of 1 + the jobs that fit alone and can be chosen",
    "resources": "resources of which these ask for more than there is",
    "objectives": "number of objectives",
    "tightness": "the least share of what these ask for that is free of a resource, at most 1",
    "fitting": "log10 of about how many of them fit at once",
    "magnitude": "log10 of the mean demand, of the resource where it is largest",
    "correlation": "mean correlation of pairs of objectives, 1 with a single one",
    "distinct": "distinct rows of demands and worth per job",
    "requires": "jobs that require another one, per job",
}
_PLACEMENT = {
    "tasks": "log10 of 1 + the tasks of which an instance fits, identical ones counted once",
    "machines": "log10 of 1 + the machines on which an instance fits",
    "kinds": "log10 of 1 + the different machines among these",
    "resources": "resources of which waiting instances ask for more than is free",
    "load": "log10 of what waiting instances ask for per free amount, of the scarcest resource",
    "fitting": "log10 of 1 + how many instances fit on a machine alone, mean over tasks and machines",
    "slots": "log10 of 1 + the instances that fit alone, summed up over tasks and machines",
    "shortage": "share of the tasks of which fewer wait than fit on the machines alone",
    "spread": "deviation of value per share of the free amounts, per mean",
}
_WORKFLOW = {
    "tasks": "log10 of 1 + the tasks",
    "edges": "edges per task",
    "levels": "log10 of 1 + the tasks of the longest path",
    "width": "log10 of 1 + tasks per level",
    "load": "log10 of the energy of the scarcest resource per its capacity and the longest path",
    "nodes": "log10 of the nodes of the machine",
    "share": "mean share of the nodes that a task takes",
    "spread": "deviation of the runtimes per mean",
}

_JOINT = {
    "idle": "log10 of 1 + the idle nodes",
    "jobs": "log10 of 1 + the jobs",
    "leaves": "log10 of 1 + the leaf switches with an idle node",
    "load": "log10 of 1 + nodes asked for per idle node",
    "mean": "log10 of the mean size of a job",
    "efficiencies": "deviation of weight per node, per its mean",
    "mandatory": "share of the jobs that must start",
    "limited": "share of the jobs whose limit on leaf switches is below their size",
}


class Features(NamedTuple):
    """The numbers of a kind of problem: by name what each is, in order, and the function that gives them."""

    meanings: Mapping[str, str]
    of: Callable[[Any], Sequence[float]]


def names_for(kind: str) -> list[str]:
    """What the numbers of a kind of problem are called, in order; none where its type has no features."""
    known = known_type(kind)
    return [] if known is None or known.features is None else list(known.part("features").meanings)


def features(problem: Any) -> dict[str, float]:
    """The numbers of a problem, by name, all finite; in the order of :func:`names_for`.

    Raises
    ------
    KeyError : there are none for this kind of problem.
    """
    known = known_type(problem.kind)
    if known is None or known.features is None:
        raise KeyError(problem.kind)
    facts: Features = known.part("features")
    return {name: float(number) for name, number in zip(facts.meanings, facts.of(problem), strict=True)}


def _knapsack(problem: Knapsack) -> tuple[float, ...]:
    if len(problem) <= _ITEMS:
        reduced = reduce(problem)
        items, whole, capacity = len(reduced.items), reduced.weights, reduced.capacity
        values, weights, distinct = reduced.values.astype(float), whole.astype(float), float(_distinct(whole))
    else:
        # An even share of the items in place of all: a million take as long as some thousands.
        step = -(-len(problem) // _SHARE)
        given, whole = problem.values[::step], problem.weights[::step]
        undecided = (given > 0) & (whole > 0) & (whole <= problem.capacity)
        items = round(np.count_nonzero(undecided) / len(whole) * len(problem))
        given, whole = given[undecided], whole[undecided]
        divisor = common_divisor(whole) or 1
        whole, capacity = whole // divisor, problem.capacity // divisor
        values, weights, distinct = given.astype(float), whole.astype(float), _distinct_of_all(whole, items)
        if weights.sum() * (items / max(1, len(weights))) <= capacity:
            items = 0  # all fit
    if not items:
        return 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0
    return (
        math.log10(1 + items),
        math.log10(bytes_for(items, capacity)),
        capacity / (weights.sum() * (items / len(weights))),
        math.log10(weights.mean()),
        _variation(weights),
        _variation(values / weights),
        _correlation(values, weights),
        distinct / items,
    )


def _allocation(problem: Allocation) -> tuple[float, ...]:
    return tuple(_of_allocation(problem, name) for name in _ALLOCATION)


def _of_allocation(problem: Allocation, name: str) -> float:
    if name == "wrap":
        return float(problem.wrap)
    return _NUMBERS[name](problem) if len(problem) and len(problem.idle) else 0.0


def _slack(problem: Allocation) -> float:
    return math.log10(1 + max(0, len(problem.idle) - int(problem.sizes.sum())))


def _sets(problem: Allocation) -> float:
    return float(np.log10(np.unique(problem.sizes, return_counts=True)[1] + 1.0).sum())


def _table(problem: Allocation) -> float:
    distinct, counts = np.unique(problem.sizes, return_counts=True)
    return math.log10(scas_dp.table_bytes(distinct, counts, len(problem.idle), problem.wrap))


_NUMBERS: dict[str, Callable[[Allocation], float]] = {
    "idle": lambda problem: math.log10(len(problem.idle)),
    "jobs": lambda problem: math.log10(1 + len(problem)),
    "sizes": lambda problem: math.log10(1 + _distinct(problem.sizes)),
    "load": lambda problem: int(problem.sizes.sum()) / len(problem.idle),
    "slack": _slack,
    "sets": _sets,
    "table": _table,
    "mean": lambda problem: math.log10(problem.sizes.mean()),
    "largest": lambda problem: float(problem.sizes.max() / problem.sizes.mean()),
    "leaves": lambda problem: math.log10(_distinct(problem.leaf)),
    "pods": lambda problem: math.log10(_distinct(problem.pod)),
    "filling": lambda problem: math.log10(problem.sizes.mean() * _distinct(problem.leaf) / len(problem.idle)),
    "runs": lambda problem: (1 + np.count_nonzero(np.diff(problem.idle) > 1)) / len(problem.idle),
}


def _path(problem: ConstrainedPath) -> tuple[float, ...]:
    sizes, counts, costs = problem.sizes, problem.counts, problem.costs
    if not len(sizes) or not problem.length:
        return (0.0,) * len(_PATH)
    step = max(1, costs.size // _CELLS)
    exists = np.isfinite(costs[:, ::step])
    some = costs[:, ::step][exists]
    smooth = costs[:, : max(2, _CELLS // len(sizes))]
    with np.errstate(invalid="ignore"):
        steps = np.abs(np.diff(smooth, axis=1))
    steps = steps[np.isfinite(steps)]
    deviation = float(some.std()) if some.size else 0.0
    return (
        math.log10(problem.length),
        math.log10(1 + int(counts.sum())),
        math.log10(1 + len(sizes)),
        float(sizes @ counts.astype(float)) / problem.length,
        float(np.log10(counts + 1.0).sum()),
        math.log10(scas_dp.table_bytes(sizes, counts, problem.length, False)),
        float(exists.mean()),
        _variation(np.abs(some)) if some.size else 0.0,
        float(steps.mean()) / deviation if steps.size and deviation > 0 else 0.0,
    )


def _selection(problem: Selection) -> tuple[float, ...]:
    room = problem.capacity - problem.demands[problem.forced].sum(axis=0)
    open_ = ~problem.forced & ~problem.excluded & (problem.demands <= room).all(axis=1)
    demands = problem.demands[open_]
    asked = demands.sum(axis=0)
    binding = asked > room
    demands, worth = demands[:, binding], problem.objectives[open_]
    jobs = len(demands)
    if not jobs or not binding.any():
        return 0.0, 0.0, float(worth.shape[1]), 1.0, 0.0, 0.0, 1.0, 1.0, 0.0
    left = room[binding] / asked[binding]
    rows = np.hstack((demands, worth))
    return (
        math.log10(1 + jobs),
        float(np.count_nonzero(binding)),
        float(worth.shape[1]),
        float(left.min()),
        math.log10(1 + jobs * float(left.min())),
        math.log10(1 + float(demands.mean(axis=0).max())),
        _mean_correlation(worth.astype(float)),
        _distinct(rows @ _mixers(rows.shape[1])) / jobs,
        len({job for job, _ in problem.requires}) / len(problem),
    )


def _placement(problem: Placement) -> tuple[float, ...]:
    fits = np.minimum(problem.fitting(problem.free), problem.waiting[:, None])
    open_, machines = fits.any(axis=1), fits.any(axis=0)
    if not open_.any():
        return (0.0,) * len(_PLACEMENT)
    _, first, same = np.unique(
        np.column_stack((problem.demands, problem.values))[open_], axis=0, return_index=True, return_inverse=True
    )
    demands, values = problem.demands[open_][first], problem.values[open_][first].astype(float)
    waiting = np.bincount(same.ravel(), weights=problem.waiting[open_])
    alone = problem.fitting(problem.free)[open_][first][:, machines].astype(float)
    free = problem.free[machines].astype(float).sum(axis=0)
    asked = np.minimum(waiting, alone.sum(axis=1)) @ demands.astype(float)
    load = asked[free > 0] / free[free > 0]
    share = (demands[:, free > 0] / free[free > 0]).sum(axis=1)
    worth = values[share > 0] / share[share > 0]
    slots = np.minimum(alone, waiting[:, None])
    return (
        math.log10(1 + len(demands)),
        math.log10(1 + int(machines.sum())),
        math.log10(1 + len(np.unique(problem.free[machines], axis=0))),
        float(np.count_nonzero(load > 1)),
        math.log10(max(1e-9, float(load.max(initial=0.0)))),
        math.log10(1 + float(slots.mean())),
        math.log10(1 + float(slots.sum())),
        float(np.mean(waiting < alone.sum(axis=1))),
        _variation(worth) if len(worth) else 0.0,
    )


def _workflow(problem: Workflow) -> tuple[float, ...]:
    path = problem.critical_path()
    if not len(problem) or problem.machine is None or path == 0:
        return (0.0,) * len(_WORKFLOW)
    steps = replace(problem, runtimes=np.ones(len(problem)), machine=None, releases=np.zeros(len(problem), np.int64))
    levels, machine = steps.critical_path(), problem.machine.astype(float)
    energy = problem.runtimes @ problem.requests()
    load = max(float(part) / (most * path) for part, most in zip(energy, machine, strict=True) if most > 0)
    return (
        math.log10(1 + len(problem)),
        len(problem.edges) / len(problem),
        math.log10(1 + levels),
        math.log10(1 + len(problem) / levels),
        math.log10(max(load, 1e-9)),
        math.log10(machine[0]),
        float(problem.nodes.mean()) / machine[0],
        _variation(problem.runtimes),
    )


def _joint(problem: Joint) -> tuple[float, ...]:
    if not len(problem) or not len(problem.idle):
        return (0.0,) * len(_JOINT)
    return (
        math.log10(1 + len(problem.idle)),
        math.log10(1 + len(problem)),
        math.log10(1 + _distinct(problem.levels[0])),
        math.log10(1 + float(problem.sizes.sum(dtype=float)) / len(problem.idle)),
        math.log10(float(problem.sizes.mean())),
        _variation(np.maximum(problem.weights, 0) / problem.sizes),
        len(problem.mandatory) / len(problem),
        float(np.mean(problem.limits < problem.sizes)),
    )


KNAPSACK = Features(_KNAPSACK, _knapsack)
ALLOCATION = Features(_ALLOCATION, _allocation)
PATH = Features(_PATH, _path)
SELECTION = Features(_SELECTION, _selection)
PLACEMENT = Features(_PLACEMENT, _placement)
WORKFLOW = Features(_WORKFLOW, _workflow)
JOINT = Features(_JOINT, _joint)


def _variation(numbers: FloatArray) -> float:
    """Deviation per mean, of numbers that are not negative."""
    mean = float(numbers.mean())
    return float(numbers.std()) / mean if mean > 0 else 0.0


def _correlation(a: FloatArray, b: FloatArray) -> float:
    a, b = a - a.mean(), b - b.mean()
    both = math.sqrt(float(a @ a)) * math.sqrt(float(b @ b))
    return min(1.0, max(-1.0, float(a @ b) / both)) if both > 0 else 1.0


def _mean_correlation(columns: FloatArray) -> float:
    """Of all pairs of columns; a pair with a constant one counts 1, as does a single column."""
    width = columns.shape[1]
    if width < 2:
        return 1.0
    centred = columns - columns.mean(axis=0)
    length = np.sqrt((centred * centred).sum(axis=0))
    varies = length > 0
    centred[:, varies] /= length[varies]
    pairs = centred.T @ centred
    pairs[~varies, :] = pairs[:, ~varies] = 1.0
    return float(pairs[np.triu_indices(width, 1)].mean())


def _distinct(numbers: IntArray) -> int:
    ordered = np.sort(numbers)
    return 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))


def _distinct_of_all(share: IntArray, items: int) -> float:
    """How many distinct numbers there are among ``items``, by those that come once and twice in a share (Chao 1984)."""
    _, counts = np.unique(share, return_counts=True)
    once, twice = np.count_nonzero(counts == 1), np.count_nonzero(counts == 2)
    return float(min(items, len(counts) + once * (once - 1) / (2 * (twice + 1))))


def _mixers(width: int) -> IntArray:
    """Odd factors whose sums of products, in 64 bits with overflow, tell rows apart: sorting rows takes far longer."""
    return np.random.default_rng(width).integers(-(2**63), 2**63 - 1, width) | 1
