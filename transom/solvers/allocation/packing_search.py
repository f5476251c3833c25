"""What the native solvers of a packing share: the blocks of a start, and how far floating point carries a bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transom.models.allocation import Allocation
from transom.models.arrays import FloatArray, IntArray
from transom.models.fat_tree import FatTree
from transom.models.shortest_path import ConstrainedPath
from transom.reductions import packing
from transom.reductions.packing import Packing
from transom.stop import Budget

_LARGE = 1e7  # up to which costs suit the absolute tolerances of linear programmes


def warm_packing() -> None:
    """Compile what packs, unpacks and judges static allocations and paths."""
    tiny = Allocation(FatTree.k_ary(2), np.arange(2), np.array([2]))
    owner = packing.invert(tiny, np.zeros(1, np.int64), np.zeros(1, np.int64))
    packing.first_fit(packing.apply(tiny))
    tiny.value(owner)
    tiny.violations(owner)


def on_paths(solver: Any, about: str) -> Any:
    """The class of a solver of static allocations, declared for constrained paths as ``csp-...`` as well.

    Parameters
    ----------
    solver : the class, called ``scas-...``.
    about : the first line of the docstring.
    """
    said = (
        f"{about}\n\nParameters, errors and further sources are those of ``{solver.name}``.\n\n"
        "References\n----------\nLan et al. (2023), section IV-B.\n"
    )
    body = {"name": solver.name.replace("scas", "csp"), "solves": ConstrainedPath}
    body |= {"__doc__": said, "__module__": solver.__module__, "__slots__": ()}
    return type(solver.__name__.replace("Scas", "Csp"), (solver,), body)


def refused_rule(problem: Allocation | ConstrainedPath) -> str | None:
    """Why a solver of packings cannot take this problem, or None."""
    rule = getattr(problem, "rule", "static")
    if rule != "static":
        return f"its rule is {rule}, not static"
    return None


def sorted_blocks(problem: Allocation | ConstrainedPath, packed: Packing, solution: Any) -> tuple[IntArray, IntArray]:
    """Row of each block's size and its first entry, by row, then entry."""
    rows, starts = packing.blocks(problem, packed, solution)
    order = np.lexsort((starts, rows))
    return rows[order], starts[order]


def has_no_arc(packed: Packing) -> bool:
    """Whether there is no block at all of some size."""
    return bool((~np.isfinite(packed.costs)).all(axis=1).any())


def answer_greedily(
    problem: Allocation | ConstrainedPath, packed: Packing, budget: Budget, why: str | None = None
) -> None:
    """Hand over blocks placed one after another, from a solver that cannot build its model within the budget.

    Parameters
    ----------
    why : what is noted where the solver ends before its time is up.
    """
    if why is not None:
        budget.notes["ended"] = why
    if budget.value is None and (placed := packing.first_fit(packed)) is not None:
        budget.found(packing.invert(problem, *placed))


def cost_unit(costs: FloatArray) -> float:
    """A power of two by which to divide costs so that tolerances for numbers around 1 suit them; mostly 1."""
    finite = np.abs(costs[np.isfinite(costs)])
    largest = float(finite.max(initial=0.0))
    if largest == 0 or 1 <= largest <= _LARGE:
        return 1.0
    return math.ldexp(1.0, math.frexp(largest)[1] - 20)


def float_slack(packed: Packing, unit: float) -> float:
    """By how much a linear programme may overstate a bound, beside a relative 1e-9.

    Reduced costs are right to 1e-7, for every variable of a solution: blocks, entries in between.
    """
    return 1e-7 * unit * (packed.length + int(packed.counts.sum()))
