"""The schedules of ``auto``: what they call, carried out within the budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import process_time
from typing import Any

import numpy as np
import pytest

from tests.timing import used
from transom import Stop, check, registry, solve
from transom.generate.instances.fragmented import Fragments, fragmented_allocation
from transom.generate.instances.knapsacks import generate_knapsack
from transom.generate.instances.paths import random_path
from transom.generate.instances.selections import family_selection
from transom.models import Allocation, ConstrainedPath, Knapsack, Selection
from transom.models.allocation import RULES
from transom.solvers.auto import auto as module
from transom.solvers.auto.schedules import ANNEALING, LAST_RESORT, Step, schedule, solvers_for
from transom.solving import TakesAll, refusal, warm_up
from transom.stop import Budget

TYPES: dict[str, type] = {
    "knapsack": Knapsack,
    **dict.fromkeys(RULES, Allocation),
    "csp": ConstrainedPath,
    "selection": Selection,
}
STOPS = (Stop(), Stop(iterations=40), Stop(seconds=0.01), Stop(seconds=0.1), Stop(seconds=1))


def hard(kind: str) -> Any:
    """An instance that takes longer than a fifth of a second, and no solver gives up on."""
    rng = np.random.default_rng(7)
    if kind == "knapsack":
        return generate_knapsack("strongly-correlated", 5000, 10**7, rng)
    if kind == "csp":
        return random_path(rng, 8000, 30, 120, 120, density=0.3)
    if kind == "selection":
        return family_selection("inverse", rng, 60, 5)
    return clusters(kind, 1500, 30)


def clusters(kind: str, idle: int, jobs: int) -> Allocation:
    rng = np.random.default_rng(7)
    system = Fragments(4 * idle, idle, jobs, 0.9 * idle / jobs)
    return fragmented_allocation(rng, system, rule=RULES[kind], wrap=True)


def crowded() -> Selection:
    demands = np.random.default_rng(5).integers(1, 2000, (40, 5))
    return Selection(demands, (demands.sum(axis=0) * 0.4).astype(int))


@pytest.fixture(autouse=True, scope="module")
def warm() -> None:
    for kind in TYPES:
        warm_up(registry.make(registry.SOLVERS, "auto"), TYPES[kind])


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the schedule."""

    def choose(*chosen: Step) -> None:
        monkeypatch.setattr(module, "schedule", lambda problem, budget: list(chosen))

    return choose


@pytest.mark.parametrize("stop", STOPS, ids=str)
@pytest.mark.parametrize("kind", sorted(TYPES))
def test_a_schedule_ends_with_a_solver_for_everything(kind: str, stop: Stop) -> None:
    problem = hard(kind)
    found = schedule(problem, stop.start(problem))
    assert {step.solver for step in found} <= set(solvers_for(kind))
    assert all(0 < step.share <= 1 for step in found)
    taken = [step for step in found if not refusal(registry.make(registry.SOLVERS, step.solver, TYPES[kind]), problem)]
    assert taken[-1].share == 1
    limited = stop != Stop()
    assert limited or not any(step.endless for step in found)


@pytest.mark.parametrize(
    ("kind", "idle", "jobs", "seconds", "expected"),
    [
        ("scas", 200, 4, 0.01, ["scas-dp 0.8", "scas-lagrangian 1", f"{ANNEALING} 1"]),
        ("scas", 2000, 40, 0.01, ["scas-lagrangian 1", f"{ANNEALING} 1"]),
        ("dcas", 600, 20, 0.01, ["dcas-exact 1", f"{ANNEALING},remove=4 1"]),
        ("dcas", 601, 20, 0.01, ["dcas-exact 0.7", f"{ANNEALING},remove=4 1"]),
        ("dcas", 200, 21, 0.01, ["dp-polish 0.6", f"{ANNEALING},remove=4 1"]),
        ("dcas", 2000, 41, 0.1, ["dp-polish 1", f"{ANNEALING},remove=4 1"]),
        ("dcas", 2000, 41, 1.0, ["dcas-exact 1", f"{ANNEALING},remove=4 1"]),
        ("dcas", 2000, 40, 0.1, ["dcas-exact 1", f"{ANNEALING},remove=4 1"]),
        ("free", 500, 20, 0.01, ["free-exact 1", "count-search 1"]),
        ("free", 501, 20, 0.01, ["free-exact 0.7", "count-search 1"]),
        ("free", 1400, 20, 0.1, ["free-exact 1", "count-search 1"]),
        ("free", 1401, 20, 0.1, ["free-exact 0.5", "count-search 1"]),
        ("free", 1401, 20, 1.0, ["free-exact 1", "count-search 1"]),
    ],
)
def test_allocations_by_size_and_budget(kind: str, idle: int, jobs: int, seconds: float, expected: list[str]) -> None:
    problem = clusters(kind, idle, jobs)
    found = schedule(problem, Stop(seconds=seconds).start(problem))
    assert [f"{step.solver} {step.share:g}" for step in found] == expected


@pytest.mark.parametrize(
    ("jobs", "objectives", "stop", "expected"),
    [
        (28, 2, Stop(seconds=0.01), ["exhaustive", "nsga2"]),
        (29, 2, Stop(seconds=0.01), ["epsilon", "nsga2"]),
        (29, 3, Stop(seconds=0.01), ["nsga2"]),
        (48, 3, Stop(seconds=0.1), ["pareto-dp", "nsga2"]),
        (49, 3, Stop(seconds=0.1), ["epsilon", "nsga2", "pareto-dp"]),
        (49, 3, Stop(), ["epsilon", "pareto-dp"]),
    ],
)
def test_selections_by_size_and_budget(jobs: int, objectives: int, stop: Stop, expected: list[str]) -> None:
    problem = family_selection("uniform", np.random.default_rng(1), jobs, objectives)
    assert [step.solver for step in schedule(problem, stop.start(problem))] == expected


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_the_budget_is_kept_and_the_choice_is_noted(kind: str) -> None:
    problem = hard(kind)
    result = solve(problem, "auto", Stop(seconds=0.2))
    assert result.error is None
    assert check(problem, result) == []
    assert result.solution is not None
    known = [registry.parse(spec)[0] for spec in solvers_for(kind)]
    assert set(result.parameters["chose"].split("+")) <= set(known)
    assert result.reason in ("time", "proof", "finished")
    # The suites measure how well it is kept.
    assert result.seconds < 5 or used(lambda: solve(problem, "auto", Stop(seconds=0.2)), 5) < 5


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_the_same_seed_and_iterations_give_the_same_answer(kind: str) -> None:
    problem = hard(kind)
    one, two = (solve(problem, "auto", Stop(iterations=40), seed=3) for _ in range(2))
    assert one.parameters["chose"] == two.parameters["chose"]
    assert one.value == two.value


def test_time_is_shared_as_the_schedule_says(steps: Any) -> None:
    steps(Step("pareto-dp", 0.25), Step("nsga2"))
    result = solve(crowded(), "auto", Stop(seconds=1.2), clock=process_time)  # others may hold the processor
    assert result.parameters["chose"] == "pareto-dp+nsga2"
    assert result.reason == "time"
    # No time before the share is over, and a good deal of it left afterwards.
    times = [seconds for seconds, _, _ in result.curve]
    assert any(seconds > 0.3 for seconds in times)


def test_iterations_are_shared_as_the_schedule_says(steps: Any) -> None:
    steps(Step("nsga2", 0.25), Step("nsga2"))
    shared = solve(crowded(), "auto", Stop(iterations=12), seed=1)
    assert (shared.parameters["chose"], shared.reason) == ("nsga2+nsga2", "iterations")


def test_a_solver_that_refuses_is_passed_over(steps: Any) -> None:
    steps(Step("exhaustive", 0.5), Step("epsilon", 0.5), Step("nsga2"))  # too many jobs for one, objectives for two
    assert solve(crowded(), "auto", Stop(iterations=3)).parameters["chose"] == "nsga2"


@pytest.mark.parametrize("kind", sorted(LAST_RESORT))
def test_what_every_solver_refuses_goes_to_the_last_resort(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = clusters(kind, 24, 4)
    real = module._made

    class Refusing(TakesAll):
        name, solves = "refusing", Allocation

        def supports(self, problem: Allocation, /) -> str:
            return "never"

    monkeypatch.setattr(module, "_made", lambda spec, of: real(spec, of) if spec == LAST_RESORT[kind] else Refusing())
    assert solve(problem, "auto", Stop(seconds=5)).parameters["chose"] == LAST_RESORT[kind]


@dataclass(frozen=True)
class Watching(TakesAll):
    """Notes its start, and that it was called."""

    name = "watching"
    solves = Selection
    starts: list[Any] = field(default_factory=list)

    def __call__(self, problem: Selection, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        self.starts.append(start)


@pytest.mark.parametrize("anew", [False, True])
def test_what_was_found_is_the_start_of_the_next(anew: bool, steps: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    steps(Step("fcfs", 0.5), Step("watching", anew=anew))
    problem, watching, made = crowded(), Watching(), module._made
    monkeypatch.setattr(module, "_made", lambda spec, kind: watching if spec == "watching" else made(spec, kind))
    result = solve(problem, "auto", Stop(seconds=5))
    assert result.solution == solve(problem, "fcfs", Stop(seconds=5)).solution
    assert watching.starts == [None if anew else result.solution]


def test_a_proof_ends_the_schedule(steps: Any) -> None:
    steps(Step("exhaustive", 0.5), Step("nsga2"))
    demands = np.random.default_rng(5).integers(1, 2000, (12, 3))
    result = solve(Selection(demands, demands.sum(axis=0) // 2), "auto", Stop(seconds=20))
    assert (result.status, result.parameters["chose"]) == ("optimal", "exhaustive")


def test_the_time_that_is_left_is_used_before_it_is_said_to_be_up(steps: Any) -> None:
    problem = crowded()
    steps(Step("nsga2", 0.2), Step("fcfs"), Step("nsga2"))
    timed = solve(problem, "auto", Stop(seconds=2), clock=process_time)
    assert (timed.parameters["chose"], timed.reason) == ("nsga2+fcfs+nsga2", "time")
    assert timed.seconds >= 0.95 * 2
    steps(Step("nsga2", 0.2), Step("fcfs"), Step("dot-product"))
    ended = solve(problem, "auto", Stop(seconds=2), clock=process_time)
    assert (ended.parameters["chose"], ended.reason) == ("nsga2+fcfs+dot-product", "finished")
