"""What native solvers share: large things are freed outside the budget, models are built under the clock."""

from __future__ import annotations

import contextlib
import gc
import weakref
from itertools import count
from typing import Any

import numpy as np
import pyscipopt
import pytest
from ortools.sat.python import cp_model

from transom import Stop, registry
from transom._system.collector import collector_paused
from transom.generate.instances.knapsacks import generate_knapsack
from transom.models import Allocation, FatTree, Knapsack
from transom.solvers.backends.native import defer_destructors, run_deferred
from transom.solving import warm_up
from transom.stop import Budget


class Model:
    """Stands for a large one."""


def kept() -> weakref.ref[Model]:
    model = Model()
    defer_destructors(model, [model])
    return weakref.ref(model)


def test_what_takes_long_to_be_freed_stays_until_nothing_is_timed() -> None:
    run_deferred()
    model = kept()
    assert model() is not None
    run_deferred()
    assert model() is None


def test_memory_does_not_grow_where_nobody_settles() -> None:
    run_deferred()
    models = [kept() for _ in range(50)]
    assert sum(model() is not None for model in models) < 10
    run_deferred()


def test_the_collector_of_garbage_comes_back_after_a_model_even_after_an_error() -> None:
    assert gc.isenabled()
    with contextlib.suppress(KeyboardInterrupt), collector_paused():
        assert not gc.isenabled()
        raise KeyboardInterrupt
    assert gc.isenabled()


@pytest.mark.parametrize("solver", ["cpsat", "scip", "free-cpsat"])
def test_a_model_that_is_not_ready_in_time_is_given_up(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    problem: Knapsack | Allocation = generate_knapsack("strongly-correlated", 20_000, 10**8, rng)
    if solver == "free-cpsat":
        idle = np.sort(rng.choice(1000, 400, replace=False))
        problem = Allocation(FatTree.uniform(1000, 10, 100), idle, np.arange(5, 25), "free")
    chosen = registry.make(registry.SOLVERS, solver, type(problem))
    warm_up(chosen, type(problem))
    made = []

    class Counting(pyscipopt.Model):
        def addVar(self, *args: Any, **kwargs: Any) -> Any:
            made.append(1)
            return super().addVar(*args, **kwargs)

    def new_bool_var(self: Any, name: str) -> Any:
        made.append(1)
        return self.new_int_var(0, 1, name)

    monkeypatch.setattr(pyscipopt, "Model", Counting)
    monkeypatch.setattr(cp_model.CpModel, "new_bool_var", new_bool_var)
    # A clock on which every look takes a second: the time is over after ten of them.
    looks = count()
    budget = Budget(Stop(seconds=10), problem, clock=lambda: float(next(looks)))
    chosen(problem, budget, rng)
    assert 0 < len(made) < 15_000
    run_deferred()


@pytest.mark.parametrize("solver", ["cpsat", "scip"])
@pytest.mark.parametrize("wall", [True, False])
def test_solvers_that_look_at_the_wall_clock_have_no_limit_of_other_time(
    solver: str, wall: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = []

    class Watched(pyscipopt.Model):
        def setParam(self, name: str, value: Any) -> None:
            if name == "limits/time":
                limits.append(value)
            super().setParam(name, value)

    class Solver(cp_model.CpSolver):
        def solve(self, *args: Any, **kwargs: Any) -> Any:
            if self.parameters.max_time_in_seconds < np.inf:
                limits.append(self.parameters.max_time_in_seconds)
            return super().solve(*args, **kwargs)

    monkeypatch.setattr(pyscipopt, "Model", Watched)
    monkeypatch.setattr(cp_model, "CpSolver", Solver)
    problem = generate_knapsack("strongly-correlated", 60, 1000, np.random.default_rng(2))
    chosen = registry.make(registry.SOLVERS, solver, Knapsack)
    warm_up(chosen, Knapsack)
    limits.clear()
    # A clock that stands still: by its time, SCIP and CP-SAT take none.
    budget = Stop(seconds=60).start(problem) if wall else Stop(seconds=0.5).start(problem, clock=lambda: 0.0)
    chosen(problem, budget, np.random.default_rng(0))
    run_deferred()
    assert budget.optimal
    assert bool(limits) == wall
