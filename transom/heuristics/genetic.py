"""pymoo's genetic algorithm on rows of genes: one loop for all problems with a single value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from transom.models.arrays import BoolArray, FloatArray
from transom.stop import Budget

_PATIENCE = 100  # generations without a better value, where the budget has no limit at all


class TimeOver(Exception):
    """Leaves a generation in the making."""


class Genes(NamedTuple):
    """What rows of genes mean, and how they change.

    Parameters
    ----------
    first : the first population, bool or random keys in [0, 1], shape ``(rows, genes)``.
    costs : what rows cost, shape ``(rows,)``; for selection only. It may raise :class:`TimeOver`.
    mutation : an operator of pymoo.
    repair : makes children feasible; it may raise :class:`TimeOver`. None: every row is.
    matings : attempts to find children that are not in the population yet; None: pymoo's number.
    """

    first: BoolArray | FloatArray
    costs: Callable[[Any], FloatArray]
    mutation: Any
    repair: Callable[[Any], Any] | None = None
    matings: int | None = None


def evolve(genes: Genes, budget: Budget, seed: int, found: Callable[[Any], bool], long: float = math.inf) -> None:
    """Breed generations until the budget is done, no new children come about, or, without a limit, nothing improves.

    Tournaments, uniform crossover, and no twins of living rows. An iteration is a generation, the first population
    included; time only ever ends the search.

    Parameters
    ----------
    found : hands over what the best child of a generation stands for; whether it is better than all before.
    long : a generation that takes longer is not begun where it would not end in time [s].
    """
    algorithm = _algorithm(genes, seed)
    unlimited = budget.seconds_left() == math.inf and budget.iterations_left() is None
    better_at, took = 0, 0.0
    while not budget.done() and not (unlimited and budget.iterations - better_at >= _PATIENCE):
        if took > long and budget.short(took):
            return
        began = budget.seconds()
        try:
            children = algorithm.ask()
            if children is None or not len(children):
                return
            algorithm.evaluator.eval(algorithm.problem, children)
        except TimeOver:
            return
        algorithm.tell(infills=children)
        budget.spend()
        if found(children[int(children.get("F")[:, 0].argmin())].X):
            better_at = budget.iterations
        took = budget.seconds() - began


def import_pymoo() -> None:
    """Import pymoo without its hint on optional C modules."""
    from pymoo.config import Config

    Config.warnings["not_compiled"] = False


def _algorithm(genes: Genes, seed: int) -> Any:
    from pymoo.algorithms.soo.nonconvex.ga import GA
    from pymoo.core.duplicate import DuplicateElimination
    from pymoo.core.problem import Problem
    from pymoo.core.repair import Repair
    from pymoo.core.termination import NoTermination
    from pymoo.operators.crossover.ux import UniformCrossover

    class Rows(Problem):
        def _evaluate(self, x: Any, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
            out["F"] = genes.costs(x)[:, None]

    class ToFeasible(Repair):
        def _do(self, problem: Any, x: Any, **kwargs: Any) -> Any:
            return x if genes.repair is None else genes.repair(x)

    class NoTwins(DuplicateElimination):
        # pymoo's own compares distances of all pairs, which takes longer than all else together.
        def _do(self, pop: Any, other: Any, is_duplicate: BoolArray) -> BoolArray:
            seen = set() if other is None else {row.tobytes() for row in _short(other.get("X"))}
            for i, row in enumerate(_short(pop.get("X"))):
                key = row.tobytes()
                is_duplicate[i] |= key in seen
                if other is None:
                    seen.add(key)
            return is_duplicate

    algorithm = GA(
        pop_size=len(genes.first),
        sampling=genes.first,
        crossover=UniformCrossover(),
        mutation=genes.mutation,
        repair=ToFeasible(),
        eliminate_duplicates=NoTwins(),
    )
    kind = bool if genes.first.dtype == bool else None
    problem = Rows(n_var=genes.first.shape[1], n_obj=1, xl=0, xu=1, vtype=kind)
    algorithm.setup(problem, termination=NoTermination(), seed=seed, verbose=False)
    if genes.matings is not None:
        algorithm.mating.n_max_iterations = genes.matings
    return algorithm


def _short(rows: Any) -> Any:
    return np.packbits(rows, axis=1) if rows.dtype == bool else rows
