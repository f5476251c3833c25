"""pymoo's genetic algorithm on rows of genes: one loop for all problems with a single value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from transom.models.arrays import BoolArray, FloatArray
from transom.stop import Budget

_PATIENCE = 100  # generations without a better value, where the budget has no limit at all
_CROSSED = 0.9  # share of the pairs of parents that exchange genes, as in pymoo


class TimeOver(Exception):
    """Leaves a generation in the making."""


class Genes(NamedTuple):
    """What rows of genes mean, and how they change.

    Parameters
    ----------
    first : the first population, bool or random keys in [0, 1], shape ``(rows, genes)``.
    costs : what rows cost, shape ``(rows,)``; for selection only. It may raise :class:`TimeOver`.
    mutate : changes some genes of children.
    repair : makes children feasible; it may raise :class:`TimeOver`. None: every row is.
    matings : attempts to find children that are not in the population yet.
    """

    first: BoolArray | FloatArray
    costs: Callable[[Any], FloatArray]
    mutate: Callable[[Any, np.random.Generator], Any]
    repair: Callable[[Any], Any] | None = None
    matings: int = 100

    def feasible(self, rows: Any) -> Any:
        """The rows, repaired."""
        return rows if self.repair is None else self.repair(rows)


def evolve(genes: Genes, budget: Budget, seed: int, found: Callable[[Any], bool], long: float = math.inf) -> None:
    """Breed generations until the budget is done, no new children come about, or, without a limit, nothing improves.

    Tournaments, uniform crossover, and no twins of living rows. An iteration is a generation, the first population
    included; time only ever ends the search.

    Parameters
    ----------
    found : hands over what the best child of a generation stands for; whether it is better than all before.
    long : a generation that takes longer is not begun where it would not end in time [s].
    """
    try:
        first = np.array(list(_new(genes.feasible(genes.first), set())))
    except TimeOver:
        return
    algorithm = _algorithm(genes, first, seed)
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


def _algorithm(genes: Genes, first: Any, seed: int) -> Any:
    from pymoo.algorithms.soo.nonconvex.ga import GA
    from pymoo.core.duplicate import NoDuplicateElimination
    from pymoo.core.infill import InfillCriterion
    from pymoo.core.population import Population
    from pymoo.core.problem import Problem
    from pymoo.core.survival import Survival
    from pymoo.core.termination import NoTermination

    class Rows(Problem):
        def _evaluate(self, x: Any, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
            out["F"] = genes.costs(x)[:, None]

    class Mating(InfillCriterion):
        # pymoo's own operators visit parents and children one by one, which takes many times as long as all else.
        def do(self, problem: Any, pop: Any, n_offsprings: int, random_state: Any = None, **kwargs: Any) -> Any:
            rows = list(_children(genes, pop.get("X"), pop.get("F")[:, 0], n_offsprings, random_state))
            return Population.new("X", np.array(rows))

    class Fittest(Survival):
        def _do(self, problem: Any, pop: Any, *args: Any, n_survive: int | None = None, **kwargs: Any) -> Any:
            return pop[np.argsort(pop.get("F")[:, 0], kind="stable")[:n_survive]]

    class Genetic(GA):
        def _set_optimum(self, **kwargs: Any) -> None:
            self.opt = self.pop[:1]  # the best comes first

    algorithm = Genetic(
        pop_size=len(genes.first),
        sampling=first,
        mating=Mating(),
        survival=Fittest(filter_infeasible=False),
        eliminate_duplicates=NoDuplicateElimination(),
    )
    kind = bool if first.dtype == bool else None
    problem = Rows(n_var=first.shape[1], n_obj=1, xl=0, xu=1, vtype=kind)
    algorithm.setup(problem, termination=NoTermination(), seed=seed, verbose=False)
    return algorithm


def _children(
    genes: Genes, rows: Any, costs: FloatArray, count: int, rng: np.random.Generator
) -> Iterator[BoolArray | FloatArray]:
    """Rows that are not in the population: ``count``, or fewer where attempts do not find more."""
    known = set(_keys(rows))
    for _ in range(genes.matings):
        made = genes.mutate(_crossed(rows, costs, -(-count // 2), rng), rng)
        for child in _new(genes.feasible(made), known):
            yield child
            count -= 1
            if count == 0:
                return


def _crossed(rows: Any, costs: FloatArray, pairs: int, rng: np.random.Generator) -> Any:
    """Two children of each pair of parents, who win tournaments between two, by uniform crossover."""
    rounds = -(-4 * pairs // len(rows))
    drawn = np.concatenate([rng.permutation(len(rows)) for _ in range(rounds)])[: 4 * pairs]
    one, other = drawn[::2], drawn[1::2]
    wins = (costs[one] < costs[other]) | ((costs[one] == costs[other]) & (rng.random(len(one)) < 0.5))
    parents = rows[np.where(wins, one, other)].reshape(pairs, 2, -1)
    exchanged = (rng.random((pairs, rows.shape[1])) < 0.5) & (rng.random((pairs, 1)) < _CROSSED)
    return np.where(exchanged[:, None], parents[:, ::-1], parents).reshape(2 * pairs, -1)


def _new(rows: Any, known: set[bytes]) -> Iterator[BoolArray | FloatArray]:
    """Rows that are not known yet, which are then."""
    for row, key in zip(rows, _keys(rows), strict=True):
        if key not in known:
            known.add(key)
            yield row


def _keys(rows: Any) -> list[bytes]:
    return [short.tobytes() for short in (np.packbits(rows, axis=1) if rows.dtype == bool else rows)]
