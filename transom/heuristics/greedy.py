"""Greedy by value per weight, with completion: the first answer of every other solver."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom.compiling import compiled
from transom.models.efficiency import by_efficiency, dantzig
from transom.models.knapsack import Knapsack
from transom.models.reduction import reduce
from transom.stop import Budget


@dataclass(frozen=True, slots=True)
class Greedy:
    """Take items by falling value per weight, each one that still fits; or the best single item.

    Ties are broken by position. The better of the two is worth at least half of the optimum, and
    Dantzig's bound is proved beside it. It takes O(n log n) time and counts no iterations.

    References
    ----------
    Kellerer, Pferschy, Pisinger, Knapsack Problems (2004), section 2.1 (Ext-Greedy).
    """

    name: ClassVar[str] = "greedy"
    solves: ClassVar[type] = Knapsack

    def supports(self, problem: Knapsack, /) -> str | None:
        """Every knapsack."""
        return None

    def warm_up(self) -> None:
        """Compile the kernels."""
        _warm_up()

    def __call__(self, problem: Knapsack, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        reduced = reduce(problem)
        if not len(reduced.items):
            budget.found(reduced.taken)
            budget.prove(reduced.value)
            return
        order = by_efficiency(reduced.values, reduced.weights)
        chosen = np.zeros(len(reduced.items), np.bool_)
        complete(chosen, reduced.weights, reduced.capacity, order)
        best = int(reduced.values.argmax())
        if reduced.values[best] > reduced.values[chosen].sum():
            chosen[:] = False
            chosen[best] = True
        budget.found(reduced.solution(chosen))
        budget.prove(reduced.worth(dantzig(reduced.values, reduced.weights, reduced.capacity, order)))


@compiled
def complete(chosen, weights, room, order):  # type: ignore[no-untyped-def]
    """Take each item in ``order`` that is not in ``chosen`` yet and still fits into ``room``.

    Parameters
    ----------
    chosen : bool, shape ``(m,)``, changed in place.
    weights : int64, shape ``(m,)``.
    room : what is left of the capacity.
    order : positions, int64.

    Returns
    -------
    What is left of ``room``.
    """
    for item in order:
        if not chosen[item] and weights[item] <= room:
            chosen[item] = True
            room -= weights[item]
    return room


@cache
def _warm_up() -> None:
    one = np.ones(1, np.int64)
    complete(np.zeros(1, np.bool_), one, 1, by_efficiency(one, one))
    by_efficiency(one * 2**40, one * 2**40)
