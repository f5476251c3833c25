"""One selection that is best by one measure: weighted, lexicographic or constrained, each to a proof."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from transom.errors import SpecError
from transom.models.arrays import BoolArray
from transom.models.decision_rules import lexicographic_order, parse_weights, weights_for
from transom.models.selection import Selection
from transom.models.selection_reduction import ReducedSelection, reduce_selection
from transom.solvers.backends.native import import_back_end, run_deferred
from transom.solvers.selection.cpsat import maximise_cpsat
from transom.solvers.selection.judging_time import too_short
from transom.solvers.selection.program import Best, Program, maximise, relations
from transom.solvers.selection.scip import maximise_scip
from transom.solving import presolve
from transom.stop import Budget, Stop

By = Literal["core", "cpsat", "scip"]
"""What solves: a compiled branch and bound, CP-SAT or SCIP."""

_EXACT = 2**62
_RESERVE = 0.002  # for handing over [s]


@dataclass(frozen=True, slots=True)
class _SingleObjective:
    """What the solvers below have in common: who maximises, and what is loaded for that."""

    solves: ClassVar[type] = Selection
    needs: ClassVar[tuple[str, ...]] = ("ortools", "pyscipopt", "moocore")
    skip_presolve: ClassVar[bool] = True

    by: By = field(default="core", kw_only=True)

    def warm_up(self) -> None:
        """Import the back end or compile the kernels."""
        _warm_up(self.by)
        run_deferred()


@dataclass(frozen=True, slots=True)
class Weighted(_SingleObjective):
    r"""The selection with the largest weighted sum of utilisations.

    .. math:: \max \sum_k w_k \frac{f_k(x)}{T_k}

    with :math:`T_k` the total of a resource; of an objective that is none, its ceiling. Weights are exact. The sum is
    scaled to integers; where those would exceed 62 bits its coefficients are rounded, and every selection that
    the rounding leaves in doubt is compared exactly before the best one is called proved. The answer is a front with a
    single point; notes: ``objective``, its value; ``bound``; whether that is ``proved``.

    Parameters
    ----------
    weights : :math:`w`, >= 0 and not all 0, one for each objective with a slash between; equal by default.
    by : ``core``, a compiled branch and bound over relaxations with few rows; ``cpsat``; ``scip``.

    Raises
    ------
    SpecError : the weights are not such numbers.

    References
    ----------
    Fan, Lan, MultiSched, section 3: Weighted.
    """

    name: ClassVar[str] = "weighted"

    weights: str = ""

    def __post_init__(self) -> None:
        parse_weights("weighted", self.weights)

    def supports(self, problem: Selection, /) -> str | None:
        """None if there is a weight for each objective."""
        return _reason(lambda: weights_for(problem, "weighted", self.weights))

    def __call__(self, problem: Selection, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        task = _task(problem, budget, self.by, rng)
        if task is None:
            return
        wanted = [Fraction(part) for part in self.weights.split("/")] if self.weights else [Fraction(1)] * _p(problem)
        factors = [weight / total for weight, total in zip(wanted, _totals(problem), strict=True)]
        chosen, bound, proved = task.best_sum(factors)
        budget.notes["objective"] = float(task.sum(factors, chosen))
        budget.notes["bound"] = float(bound)
        task.hand_over(chosen, proved)


@dataclass(frozen=True, slots=True)
class Lexicographic(_SingleObjective):
    """The selection that is best in one objective, among those the best in the next, and so on.

    The answer is a front with a single point; notes: ``objective``, its values in that order with slashes between;
    ``bound``, likewise; whether all of it is ``proved``.

    Parameters
    ----------
    order : names of objectives with slashes between, most important first; those left out follow in their own order.
    by : ``core``, a compiled branch and bound over relaxations with few rows; ``cpsat``; ``scip``.
    """

    name: ClassVar[str] = "lexicographic"

    order: str = ""

    def supports(self, problem: Selection, /) -> str | None:
        """None if it has all objectives of the order."""
        return _reason(lambda: lexicographic_order(problem, self.order))

    def __call__(self, problem: Selection, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        task = _task(problem, budget, self.by, rng)
        if task is None:
            return
        order = lexicographic_order(problem, self.order)
        bounds = problem.ceiling.tolist()
        floors: list[tuple[int, int]] = []
        chosen: BoolArray | None = None
        proved = True
        for k in order:
            chosen, bounds[k], proved = task.best([int(j == k) for j in range(_p(problem))], floors, chosen)
            if not proved:
                break
            floors.append((k, bounds[k]))
        budget.notes["objective"] = "/".join(str(task.evaluate(chosen)[k]) for k in order)
        budget.notes["bound"] = "/".join(str(bounds[k]) for k in order)
        task.hand_over(chosen, proved)


@dataclass(frozen=True, slots=True)
class Constrained(_SingleObjective):
    r"""The selection that is best in one objective, with the capacities and floors on the others as constraints.

    The answer is a front with a single point; notes: ``objective``, its share of that objective, utilisation as a
    rule; ``bound``; whether that is ``proved``; ``floors``, whether they are ``met`` or ``cannot be met``. Where they
    cannot, or where no selection was found that meets them, there is no answer.

    Parameters
    ----------
    objective : name of the objective; the first one by default.
    floors : least shares of the other objectives in their order, with slashes between, from 0 to 1: of the total of
        a resource; of an objective that is none, of its ceiling. None by default.
    by : ``core``, a compiled branch and bound over relaxations with few rows; ``cpsat``; ``scip``.

    Raises
    ------
    SpecError : a floor is not a number from 0 to 1.

    References
    ----------
    Fan, Lan, MultiSched, section 3: Constrained.
    """

    name: ClassVar[str] = "constrained"

    objective: str = ""
    floors: str = ""

    def __post_init__(self) -> None:
        try:
            shares = [Fraction(part) for part in self.floors.split("/")] if self.floors else []
        except (ValueError, ZeroDivisionError):
            shares = [Fraction(-1)]
        if not all(0 <= share <= 1 for share in shares):
            raise SpecError(f"constrained: floors must be from 0 to 1 with slashes between, got {self.floors!r}")

    def supports(self, problem: Selection, /) -> str | None:
        """None if it has the objective, and a floor for each other one or none at all."""
        if self.objective and self.objective not in problem.terms:
            return f"no objective {self.objective!r}. Known: {', '.join(problem.terms)}"
        if self.floors and (stated := self.floors.count("/") + 1) != _p(problem) - 1:
            return f"{stated} floors for {_p(problem) - 1} other objectives"
        return None

    def __call__(self, problem: Selection, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        first = problem.terms.index(self.objective) if self.objective else 0
        totals = _totals(problem)
        shares = [Fraction(part) for part in self.floors.split("/")] if self.floors else []
        others = [k for k in range(_p(problem)) if k != first]
        floors = [(k, math.ceil(share * totals[k])) for k, share in zip(others, shares, strict=False)]
        task = _task(problem, budget, self.by, rng, floors)
        if task is None:
            return
        chosen, bound, proved = task.best([int(k == first) for k in range(_p(problem))], floors)
        if chosen is not None:
            budget.notes["objective"] = float(task.evaluate(chosen)[first] / totals[first])
            budget.notes["bound"] = float(bound / totals[first])
        if floors:
            missed = "cannot be met" if proved else "not met so far"
            budget.notes["floors"] = "met" if chosen is not None else missed
        task.hand_over(chosen, proved)


class _Task:
    """One selection and what is asked of it, whatever solves it."""

    def __init__(self, problem: Selection, reduced: ReducedSelection, budget: Budget, by: By, seed: int) -> None:
        self._problem, self._reduced, self._budget, self._by, self._seed = problem, reduced, budget, by, seed
        self._rows = np.ascontiguousarray(reduced.demands.T)
        self._relations = relations(reduced.parents, reduced.demands, reduced.objectives)

    def best_sum(self, factors: Sequence[Fraction]) -> tuple[BoolArray | None, Fraction, bool]:
        """The selection with the largest sum of objectives times exact factors, a bound, and whether that is proved.

        A selection that is better than a known one is above it in one objective at least. So where coefficients are
        rounded, each selection found splits what is left: above it in the first objective, in the second, and so on.
        A part is closed where the rounded sum says that nothing in it can be better.
        """
        reduced = self._reduced
        total = (reduced.base + reduced.objectives.sum(axis=0)).tolist()
        weights, scale, error = _whole(factors, total)
        best, bound, proved = self.best(weights, [])
        limit = Fraction(bound) / scale + error
        parts = self._above(best, [], factors) if error and proved else []
        while parts:
            floors = parts.pop()
            better = math.ceil((self.sum(factors, best) - error) * scale)
            found, _, proved = self.best(weights, floors, above=better - 1)
            if not proved:
                break
            if found is not None:
                best = max(best, found, key=lambda chosen: self.sum(factors, chosen))
                parts += self._above(found, floors, factors)
        return best, self.sum(factors, best) if proved else limit, proved

    def _above(
        self, chosen: BoolArray | None, floors: list[tuple[int, int]], factors: Sequence[Fraction]
    ) -> list[list[tuple[int, int]]]:
        """Floors of all that is above a selection in one of the objectives that count."""
        values = self.evaluate(chosen)
        return [[*floors, (k, value + 1)] for k, value in enumerate(values) if factors[k]]

    def sum(self, factors: Sequence[Fraction], chosen: BoolArray | None) -> Fraction:
        """The sum of the objectives of a selection times exact factors, 0 for none."""
        return sum((f * v for f, v in zip(factors, self.evaluate(chosen), strict=False)), Fraction(0))

    def best(
        self,
        weights: Sequence[int],
        floors: list[tuple[int, int]],
        known: BoolArray | None = None,
        above: int | None = None,
    ) -> tuple[BoolArray | None, int, bool]:
        """The selection with the largest sum of objectives times ``weights``, a bound, and whether that is proved.

        Parameters
        ----------
        floors : objectives and their least values.
        known : a selection that meets the floors.
        above : look only for sums above this, instead of for those above a first selection.
        """
        reduced, problem = self._reduced, self._problem
        factors = np.array(weights, np.int64)
        if known is None:
            known = problem.greedy_complete(reduced.taken[None, :])[0]
        value = self.evaluate(known)
        met: BoolArray | None = known if all(value[k] >= floor for k, floor in floors) else None
        base = int(factors @ reduced.base)
        if above is None:
            above = -1 if met is None else int(sum(f * v for f, v in zip(weights, value, strict=True))) - base
        else:
            met, above = None, max(-1, above - base)
        columns = [k for k, _ in floors]
        program = Program(
            weights=np.ascontiguousarray(reduced.objectives @ factors),
            rows=np.ascontiguousarray(np.vstack((self._rows, -reduced.objectives[:, columns].T))),
            limits=np.append(reduced.room, [int(reduced.base[k]) - floor for k, floor in floors]).astype(np.int64),
            relations=self._relations,
        )
        stop = Stop(
            seconds=None
            if self._budget.seconds_left() == math.inf
            else max(1e-6, self._budget.seconds_left() - _RESERVE),
            iterations=self._budget.iterations_left(),
        )
        part = self._budget.nested(stop, problem)
        if not len(reduced.jobs):
            return met, above + base, True
        best = self._solve(program, part, above)
        self._budget.spend(part.iterations)
        if best.found:
            met = problem.greedy_complete(reduced.selections(best.found[-1][None, :]))[0]
        return met, best.bound + base, best.proved

    def _solve(self, program: Program, budget: Budget, above: int) -> Best:
        if self._by == "core":
            return maximise(program, budget, above)
        return (maximise_cpsat if self._by == "cpsat" else maximise_scip)(program, budget, above, seed=self._seed)

    def evaluate(self, chosen: BoolArray | None) -> list[int]:
        """The values of a selection."""
        values: list[int] = [] if chosen is None else self._problem.evaluate(chosen[None, :])[0].tolist()
        return values

    def hand_over(self, chosen: BoolArray | None, proved: bool) -> None:
        """Give the selection to the budget, as a front of one point, and say whether it is proved to be best."""
        if chosen is not None:
            self._budget.found(self._problem.front(chosen[None, :]))
            if proved and _p(self._problem) == 1 and self._budget.value is not None:
                self._budget.prove(self._budget.value)  # the front of one objective is its best point
            presolve(self._problem, self._budget)  # the only point that there is may be the whole front
        self._budget.notes["proved"] = "yes" if proved else "no"
        if not proved:
            self._budget.short(_RESERVE)


def _task(
    problem: Selection, budget: Budget, by: By, rng: np.random.Generator, floors: Sequence[tuple[int, int]] = ()
) -> _Task | None:
    if not floors and too_short(problem, budget):  # with floors not every selection is an answer
        return None
    reduced = reduce_selection(problem)
    if reduced is None:
        budget.prove_infeasible()
        return None
    return _Task(problem, reduced, budget, by, int(rng.integers(2**31)))


def _p(problem: Selection) -> int:
    return len(problem.terms)


def _totals(problem: Selection) -> list[int]:
    """What the shares of objectives are relative to, > 0, as in :func:`transom.models.decision_rules.shares`."""
    totals = [
        problem.totals[problem.resources.index(term)] if term in problem.resources else problem.ceiling[k]
        for k, term in enumerate(problem.terms)
    ]
    return [max(1, int(total)) for total in totals]


def _whole(factors: Sequence[Fraction], total: list[int]) -> tuple[list[int], Fraction, Fraction]:
    """Whole factors, what they were multiplied by, and the largest error of the sum that follows from rounding.

    ``total`` is what all jobs together are worth: back ends add up their weights, whether or not the jobs fit.
    """
    # What is never worth anything must not make the others coarse.
    factors = [factor if most else Fraction(0) for factor, most in zip(factors, total, strict=True)]
    scale = Fraction(math.lcm(*(factor.denominator for factor in factors)))
    exact = [int(factor * scale) for factor in factors]
    common = math.gcd(*exact) or 1
    exact, scale = [factor // common for factor in exact], scale / common
    if sum(factor * most for factor, most in zip(exact, total, strict=True)) < _EXACT:
        return exact, scale, Fraction(0)
    largest = sum(factor * most for factor, most in zip(factors, total, strict=True))
    scale = Fraction(_EXACT // 2) / largest
    return [round(factor * scale) for factor in factors], scale, sum(total) / (2 * scale)


def _reason(check: Callable[[], object]) -> str | None:
    try:
        check()
    except SpecError as refused:
        return str(refused)
    return None


@cache
def _warm_up(by: By) -> None:
    if by != "core":
        import_back_end({"cpsat": "ortools.sat.python.cp_model", "scip": "pyscipopt"}[by])
    demands = np.array([[5, 3, 1], [4, 4, 2], [3, 6, 3], [2, 1, 5], [3, 6, 3]])
    # Fronts of few and of many objectives are measured in two ways, which both take time when they are first used.
    for times in (1, 2):
        problem = Selection(np.tile(demands, times), np.full(3 * times, 9))
        Weighted(by=by)(problem, Stop().start(problem), np.random.default_rng(0))
