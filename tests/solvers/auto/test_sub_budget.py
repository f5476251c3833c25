"""A part of a budget, for one of several methods."""

from __future__ import annotations

import numpy as np

from transom import Stop
from transom.models import Selection
from transom.solvers.auto.sub_budget import SubBudget


def test_a_part_of_a_budget_hands_all_on() -> None:
    demands = np.arange(1, 25).reshape(12, 2)
    problem = Selection(demands, demands.sum(axis=0) // 2)
    whole = Stop(seconds=100, iterations=11).start(problem)
    part = SubBudget(problem, whole, 0.5)
    assert 49 < part.seconds_left() <= 50
    assert part.iterations_left() == 6
    part.notes["front"] = "not complete"
    part.spend(5)
    assert part.found(problem.front(np.zeros((1, 12), bool)))
    assert (whole.iterations, whole.notes["front"], whole.solution) == (5, "not complete", part.solution)
    part.spend(1)
    assert part.done()
    assert part.reason == "iterations"
    assert not whole.done()
    part.prove(1.0)
    assert whole.bound == 1.0
    part.prove_infeasible()
    assert whole.infeasible
    assert SubBudget(problem, Stop().start(problem), 0.5).iterations_left() is None
