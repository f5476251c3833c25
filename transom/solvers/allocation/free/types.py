"""Node types in a model of free allocation: how many nodes of each type a job takes below each leaf switch."""

from __future__ import annotations

from typing import Any

import numpy as np

from transom.models.allocation import Allocation
from transom.models.arrays import IntArray


def share_by_type(model: Any, problem: Allocation, leaf: IntArray, leaves: list[list[Any]]) -> IntArray:
    """Add counts by type to a model, and say where they stand.

    Parameters
    ----------
    leaf : leaf switch of each idle node, numbered from 0.
    leaves : for each job and leaf switch, how many nodes it takes there.

    Returns
    -------
    Position, job, leaf switch and type of each count, shape ``(4, counts)``.
    """
    from ortools.sat.python import cp_model

    types, accepts = problem.node_types, problem.accepts
    if types is None or accepts is None:
        return np.empty((4, 0), np.int64)
    room = np.zeros((int(leaf.max()) + 1, accepts.shape[1]), np.int64)
    np.add.at(room, (leaf, types), 1)
    counts: list[tuple[int, int, int, int]] = []
    held: dict[tuple[int, int], list[Any]] = {}
    for job, amounts in enumerate(leaves):
        for s, amount in enumerate(amounts):
            parts = []
            for kind in np.flatnonzero(room[s] * accepts[job]).tolist():
                part = model.new_int_var(0, min(int(problem.sizes[job]), int(room[s, kind])), "")
                counts.append((part.index, job, s, kind))
                held.setdefault((s, kind), []).append(part)
                parts.append(part)
            model.add(cp_model.LinearExpr.sum(parts) == amount)
    for (s, kind), parts in held.items():
        model.add(cp_model.LinearExpr.sum(parts) <= int(room[s, kind]))
    return np.array(counts, np.int64).reshape(-1, 4).T


def typed_owners(problem: Allocation, leaf: IntArray, counts: IntArray, values: IntArray) -> IntArray:
    """The solution with these counts: of the idle nodes of a leaf switch and type the first to the first job."""
    assert problem.node_types is not None
    owner = np.full(len(problem.idle), -1)
    places: dict[tuple[int, int], list[int]] = {}
    for entry, place in enumerate(zip(leaf.tolist(), problem.node_types.tolist(), strict=True)):
        places.setdefault(place, []).append(entry)
    for position, job, s, kind in counts.T.tolist():
        free = places[s, kind]
        for _ in range(int(values[position])):
            owner[free.pop(0)] = job
    return owner
