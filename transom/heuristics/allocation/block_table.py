"""Costs of blocks of the static rule for searches that may go by way of places that jobs do not take."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from transom.models.allocation import Allocation
from transom.models.arrays import FloatArray, IntArray


def table_with_fines(problem: Allocation) -> tuple[FloatArray, IntArray]:
    """Cost of each block by row and first entry, and the row of each job; what a job does not take is fined."""
    if problem.limited is None:
        sizes, rows = np.unique(problem.sizes, return_inverse=True)
        return problem.block_costs(sizes), rows
    of, first = problem.classes
    plain = replace(problem, leaf_limits=None, node_types=None, accepts=None).block_costs(problem.sizes[first])
    fined = np.isinf(problem.class_costs()) & np.isfinite(plain)
    plain[fined] += 1.0 + problem.most_cost
    return plain, of
