"""SCIP on placements, through PySCIPOpt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom import registry
from transom._system.collector import collector_paused
from transom.models.arrays import IntArray
from transom.models.placement import Placement
from transom.solvers.backends.native import import_back_end, run_deferred
from transom.solvers.backends.scip import scip_model, search_scip
from transom.solvers.placement.reduced import Reduced
from transom.solvers.placement.rounding import Rounded, to_search
from transom.stop import Budget

_EXACT = 2**53
_PROVABLE = 1e10
"""Up to which sum of values the rounding errors of linear programmes are far below a unit."""
_BITS = 30  # of amounts
_PER_PAIR = 5e-5  # what it takes to build the model, for each pair of task and machine that fit [s]


@dataclass(frozen=True, slots=True)
class PlacementScip:
    """Branch and cut in floating point; identical tasks are merged, and an iteration is a node.

    Amounts of more than 30 bits are rounded so that everything that fits still fits, which SCIP's tolerance allows
    anyway: bounds hold, and answers count as far as they fit in truth, so that an optimum is proved only where both
    meet. Where the best one does not fit, a second model is searched, in which amounts are rounded the other way. Where
    the values of all add up to more than 1e10 a bound is raised by one, so that nothing is proved optimal. SCIP runs in
    one thread.

    References
    ----------
    Bolusani et al., The SCIP Optimization Suite 9.0 (2024).
    """

    name: ClassVar[str] = "scip"
    solves: ClassVar[type] = Placement
    needs: ClassVar[tuple[str, ...]] = ("pyscipopt",)

    def supports(self, problem: Placement, /) -> str | None:
        """None if values are exact in double precision."""
        total = int(problem.values @ problem.waiting)
        if total >= _EXACT:
            return f"the values add up to {total}, which double precision does not hold exactly (2**53)"
        return None

    def warm_up(self) -> None:
        """Import SCIP."""
        import_back_end("pyscipopt")
        registry.make(registry.SOLVERS, "greedy", Placement).warm_up()
        run_deferred()

    def __call__(self, problem: Placement, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        for reduced, amounts in to_search(problem, budget, rng, _BITS, _PER_PAIR):
            _search(problem, reduced, amounts, budget, int(rng.integers(2**31)))


def _search(problem: Placement, reduced: Reduced, amounts: Rounded, budget: Budget, seed: int) -> None:
    from pyscipopt import quicksum

    model = scip_model(seed)
    tasks, machines = np.nonzero(reduced.fits)
    unit = int(np.gcd.reduce(reduced.values))
    total = float(reduced.values @ reduced.waiting) / unit
    with collector_paused():
        pairs = list(zip(tasks.tolist(), machines.tolist(), strict=True))
        chosen = {
            (task, machine): model.addVar(
                "", vtype="I", lb=0, ub=int(reduced.fits[task, machine]), obj=-float(reduced.values[task] // unit)
            )
            for task, machine in pairs
        }
        for task, count in enumerate(reduced.waiting.tolist()):
            there = np.flatnonzero(reduced.fits[task]).tolist()
            model.addCons(quicksum(chosen[task, machine] for machine in there) <= count)
        for machine, limits in enumerate(amounts.free.tolist()):
            here = np.flatnonzero(reduced.fits[:, machine]).tolist()
            for r, limit in enumerate(limits):
                model.addCons(quicksum(int(amounts.demands[task, r]) * chosen[task, machine] for task in here) <= limit)
            if budget.done():
                return  # building the model counts
    model.setParam("numerics/epsilon", min(1e-9, max(1e-11, 0.1 / max(total, 1.0))))
    model.setParam("numerics/feastol", 1e-7)
    # Beside a small epsilon it can end the process (SCIP 10.0, numbers from 2**30 on).
    model.setParam("constraints/linear/simplifyinequalities", False)
    first = model.createSol()
    for pair, count in zip(pairs, reduced.merged(problem, budget.solution)[tasks, machines].tolist(), strict=True):
        model.setSolVal(first, chosen[pair], float(count))
    model.addSol(first)

    def read(value: Callable[[Any], float]) -> IntArray | None:
        placed = np.zeros(reduced.fits.shape, np.int64)
        for pair, variable in chosen.items():
            placed[pair] = round(value(variable))
        return reduced.solution(problem, placed) if reduced.holds(placed) else None

    slack = 0.01 if total <= _PROVABLE else 1.0
    search_scip(model, budget, read, True, slack, ceiling=None if amounts.bounding else -np.inf, gain=unit)
