"""The complete front of a selection: lists of choices for two halves of the jobs, and the best pairs of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom.errors import SpecError
from transom.models import Selection
from transom.models.selection_reduction import ReducedSelection, reduce_selection
from transom.solvers.selection.judging_time import too_short
from transom.solvers.selection.pareto_search import Halt, Search
from transom.solving import TakesAll, presolve
from transom.stop import Budget, Stop


@dataclass(frozen=True, slots=True)
class ParetoDp(TakesAll):
    r"""Job by job with dominance and bounds in two halves, and a search for their best pairs.

    Two lists of choices grow by one job after the other, the shorter list first. A choice leaves its list where

    - another one of the list is worth at least as much in every objective and leaves at least as much of every
      resource, of which no more counts than all undecided jobs ask for together;
    - a known point is at least as good as the bound of the choice, which is for objective :math:`k` and with the
      undecided jobs :math:`U`

      .. math:: o_k(x) + \min_r \max\{o_k \cdot y : d_r \cdot y \le C_r - d_r(x),\ y \in [0, 1]^U\}

      or what is free, where the objective is the demand on a resource.

    Once every job is in one of the lists, the pairs of both that fit are searched for those that no known point is
    at least as good as. Both lists stand in k-d trees for that, and two nodes are left together where their least
    demands exceed the room or their largest worths are no better than a known point. The front is complete at the
    end of it. Jobs that require each other go into the same half.

    What bounds are compared with comes from greedy selections, from exchanges of jobs in them, and, where there are
    more than some twenty jobs, from neighbourhoods: all choices among a few jobs, the others as in a selection that
    is known, by the same two lists. A point that reaches what no point exceeds ends the search: of a demand that is
    the largest sum of jobs that there is room for.

    An iteration is a portion of about 20,000 steps. Where a list outgrows ``memory``, neighbourhoods are searched as
    long as there is time, or until 200 of them gave nothing new; the front is not complete then.

    Parameters
    ----------
    memory : most memory for the lists [MiB], > 0.
    starts : how many greedy selections to begin with, > 0.
    exchanges : most portions of exchanges of jobs in them before anything else, >= 0.
    neighbourhoods : how many of them are searched before the whole, >= 0.

    Raises
    ------
    SpecError : a parameter is out of range.

    References
    ----------
    Bazgan, Hugot, Vanderpooten, Solving efficiently the 0-1 multi-objective knapsack problem, Computers & Operations
    Research 36 (2009), section 3 (dominance and bounds). Horowitz, Sahni, Computing partitions with applications to
    the knapsack problem, Journal of the ACM 21 (1974) (two halves).
    """

    name: ClassVar[str] = "pareto-dp"
    solves: ClassVar[type] = Selection

    memory: int = 512
    starts: int = 200
    exchanges: int = 5
    neighbourhoods: int = 5

    def __post_init__(self) -> None:
        if self.memory <= 0:
            raise SpecError(f"pareto-dp: memory must be > 0 MiB, got {self.memory}")
        if self.starts <= 0:
            raise SpecError(f"pareto-dp: starts must be > 0, got {self.starts}")
        for name in ("exchanges", "neighbourhoods"):
            if getattr(self, name) < 0:
                raise SpecError(f"pareto-dp: {name} must be >= 0, got {getattr(self, name)}")

    @staticmethod
    @cache
    def warm_up() -> None:
        """Compile the kernels."""
        rng = np.random.default_rng(0)
        demands = rng.integers(1, 50, (12, 2))
        for objectives in (demands, rng.integers(1, 50, (12, 3))):
            problem = Selection(demands, demands.sum(axis=0) // 2, objectives, requires=((4, 3),))
            # Few enough greedy selections to leave pairs to look for.
            ParetoDp(starts=1, exchanges=1)(problem, Stop().start(problem), rng)

    def __call__(self, problem: Selection, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget) or too_short(problem, budget):
            return
        reduced = reduce_selection(problem)
        if reduced is None:
            budget.prove_infeasible()
            return
        if not len(reduced.jobs):
            budget.found(problem.front(reduced.taken[None]))
            _complete(budget)
            return
        self._search(problem, reduced, budget, rng)

    def _search(self, problem: Selection, reduced: ReducedSelection, budget: Budget, rng: np.random.Generator) -> None:
        search = Search(problem, reduced, budget, rng)
        budget.notes["front"] = "not complete"
        if budget.solution is not None and search.late():
            return
        try:
            search.begin(self.starts, self.exchanges)
            if search.wide:
                search.neighbourhoods(self.neighbourhoods)
            complete = search.settled() or search.complete(self.memory * 2**20)
            if not complete:
                budget.notes["limit"] = "memory"
                search.neighbourhoods()
                complete = search.settled()
        except Halt:
            complete = False
        search.hand_over()
        if complete:
            _complete(budget)


def _complete(budget: Budget) -> None:
    if budget.value is not None:
        budget.prove(budget.value)
    budget.notes["front"] = "complete"
