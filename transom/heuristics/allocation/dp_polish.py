"""The static optimum improved by moves of the dynamic rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Any, ClassVar, Literal

import numpy as np

from transom import registry
from transom.errors import SpecError
from transom.heuristics.allocation.arrays import allocation_arrays, best_known, fines, first_fit, offer
from transom.heuristics.allocation.best_fit import BestFit, best_fit
from transom.heuristics.allocation.reinsertion import least_costs, reinsert_one, reinsert_two
from transom.models.allocation import Allocation
from transom.models.arrays import IntArray
from transom.models.fat_tree import FatTree
from transom.models.hop_cost import AUTHORS
from transom.solving import presolve, refusal, warm_up
from transom.stop import Budget, Stop

_WORK = 200_000  # entries looked at between two looks at the clock: a few milliseconds
_STATIC = ("scas-dp", "scas-lagrangian")
_SHARE = 0.5  # of the time left, for each of these


@dataclass(frozen=True, slots=True)
class DpPolish:
    """The SCAS optimum, improved by taking out one or two jobs and placing them where the dynamic rule is cheapest.

    ``scas-dp`` solves the static problem; where it refuses (too many jobs), or has not closed its search in
    half of the time, ``scas-lagrangian`` gets half of what is left. Every static solution is a dynamic one;
    where the static optimum was not found, the best fit may be better. Then each job is taken out and put
    where it costs least on what is left of Q, and each ordered pair of jobs: the first one at every start
    that can still pay, the second where it then costs least. A job in the gap of another is taken out only
    together with that one. It ends when no such move pays. Under the static rule the answer of the static
    solver stands.

    With ``begin=start`` the solution that the search is given to start with takes the place of the static optimum.

    With limits on leaf switches or node types the moves may begin at a first fit that breaks them: places that a job
    does not take cost more than all jobs do elsewhere, so that moves lead out of them, if they can.

    An iteration is a job or an ordered pair that was tried. The answer is never above the static optimum
    where that was found.

    Parameters
    ----------
    begin : what is polished.

    References
    ----------
    Lan et al. (2023), section V (static solutions are dynamic ones) and algorithm 1 (the moves).
    """

    name: ClassVar[str] = "dp-polish"
    solves: ClassVar[type] = Allocation

    begin: Literal["static", "start"] = "static"

    def __post_init__(self) -> None:
        if self.begin not in ("static", "start"):
            raise SpecError(f"dp-polish: begin must be static or start, got {self.begin!r}")

    def supports(self, problem: Allocation, /) -> str | None:
        """Static and dynamic rule."""
        if problem.rule == "free":
            return "it moves blocks of the static and the dynamic rule; for the free rule there is count-search"
        return None

    @staticmethod
    @cache
    def warm_up() -> None:
        """Compile the kernels, and those of the solvers of the static problem."""
        BestFit().warm_up()
        for name in _STATIC:
            warm_up(registry.make(registry.SOLVERS, name))
        # Nodes on which a job finds a better place.
        idle = np.sort(np.random.default_rng(12).choice(24, 18, replace=False))
        problem = Allocation(FatTree.uniform(24, 4, 12), idle, np.array([7, 5, 4]), "dynamic", True, AUTHORS)
        budget = Stop().start(problem)
        best_known(problem, budget, None)
        _polish(problem, budget)
        # Where a job that costs the least it can is passed over, nothing was compiled to move it.
        owner = np.array(budget.solution)
        reinsert_one(owner, problem.job_costs(owner), allocation_arrays(problem), problem.wrap, 0)

    def __call__(self, problem: Allocation, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget):
            return
        best_known(problem, budget, start)
        if self.begin == "start" and start is not None:
            _improve(problem, budget)
            return
        if not budget.done() and (owner := best_fit(problem, allocation_arrays(problem), False, budget)) is not None:
            offer(problem, budget, owner)
        _solve_static(problem, budget, rng)
        _improve(problem, budget)


def _solve_static(problem: Allocation, budget: Budget, rng: np.random.Generator) -> None:
    static = problem.with_rule("static")
    for name in _STATIC:
        solver = registry.make(registry.SOLVERS, name)
        left = budget.seconds_left()
        if refusal(solver, static) or budget.done():
            continue
        stop = Stop(seconds=None if left == math.inf else max(left * _SHARE, 1e-9), target=budget.stop.target)
        search = budget.nested(stop, static)
        solver(static, search, rng)
        budget.found(search.solution)
        if problem.rule == "static" and search.infeasible:
            budget.prove_infeasible()
        if problem.rule == "static" and search.bound is not None:
            budget.prove(search.bound)
        budget.notes["static"] = name
        if search.optimal:
            return


def _improve(problem: Allocation, budget: Budget) -> None:
    if problem.rule == "dynamic" and not budget.done():
        _polish(problem, budget)


def _polish(problem: Allocation, budget: Budget) -> None:
    data = allocation_arrays(problem)
    owner: IntArray = first_fit(problem) if budget.solution is None else np.array(budget.solution)
    costs = problem.job_costs(owner) + fines(problem, owner, data)
    least = least_costs(data)
    chunk = max(1, _WORK // (8 * len(owner)))
    jobs = range(len(problem))
    moves = [*((job, -1) for job in jobs), *permutations(jobs, 2)]
    at, idle = 0, 0  # the move that comes next, and how many in a row did not pay
    while idle < len(moves) and not budget.done():
        one, other = moves[at]
        at, idle = (at + 1) % len(moves), idle + 1
        paid, first = False, 0
        if other < 0:
            paid = costs[one] > least[one] and reinsert_one(owner, costs, data, problem.wrap, one)
        # What pays changes the ranks of the starts; the next round comes back to this pair.
        while other >= 0 and first >= 0 and not paid and not budget.done():
            first, paid = reinsert_two(owner, costs, data, problem.wrap, (one, other), least[other], first, chunk)
        budget.spend()
        if paid:
            offer(problem, budget, owner)
            idle = 0
