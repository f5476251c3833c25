from __future__ import annotations

import gc
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from transom import Stop, check, solve
from transom.errors import ModelError, SpecError, UnsupportedError
from transom.models import Knapsack
from transom.rng import stream

PROBLEM = Knapsack([5, 4, 3], [3, 2, 2], 4)  # the optimum is 7


@dataclass(frozen=True)
class Scripted:
    """A solver that does what the test says."""

    script: Any
    name: ClassVar[str] = "scripted"
    solves: ClassVar[type] = Knapsack

    def supports(self, problem: Knapsack, /) -> str | None:
        return "it is too large" if len(problem) > 5 else None

    def __call__(self, problem, budget, rng, /, start=None):
        return self.script(problem, budget, rng, start)


def run(script: Any, **settings: Any) -> Any:
    return solve(PROBLEM, Scripted(script), **settings)


def test_solve_scores_and_decides_the_status() -> None:
    def prove(problem, budget, rng, start):
        budget.found([1, 0, 0])
        budget.prove(7)
        return [0, 1, 1]

    result = run(prove)
    assert (result.status, result.reason, result.value, result.bound, result.gap) == ("optimal", "proof", 7, 7, 0)
    assert result.instance == PROBLEM.digest()
    assert [point[1:] for point in result.curve] == [(5, None), (5, 7), (7, 7)]
    assert check(PROBLEM, result) == []
    assert result.versions["transom"]


@pytest.mark.parametrize("ended", [0.93, 0.943, 0.945, 0.947, 0.95, 0.99, 1.0])
def test_the_reason_goes_with_the_seconds_that_are_stated(ended: float) -> None:
    # The clock goes on while the result is written down.
    now = [0.0]

    def clock() -> float:
        now[0] += 0.002 if now[0] else 0.0
        return now[0]

    def search(*_: Any) -> list[int]:
        now[0] = ended
        return [1, 0, 0]

    result = run(search, stop=Stop(seconds=1), clock=clock)
    assert (result.reason == "time") == (result.seconds >= 0.95)


def test_what_is_known_is_distinguished() -> None:
    feasible = run(lambda *_: [1, 0, 0])
    assert (feasible.status, feasible.reason, feasible.bound, feasible.gap) == ("feasible", "finished", None, None)
    unknown = run(lambda *_: None)
    assert (unknown.status, unknown.value, unknown.solution) == ("unknown", None, None)
    infeasible = run(lambda p, budget, *_: budget.prove_infeasible())
    assert (infeasible.status, infeasible.reason) == ("infeasible", "proof")

    def bounded(problem, budget, rng, start):
        budget.prove(9)
        while not budget.done():
            budget.spend()

    late = run(bounded, stop=Stop(iterations=5))
    assert (late.status, late.reason, late.bound) == ("unknown", "iterations", 9)


def test_a_solver_that_fails_is_a_result() -> None:
    def crash(problem, budget, rng, start):
        budget.found([1, 0, 0])
        raise RuntimeError("out of luck\nsecond line")

    result = run(crash)
    assert (result.status, result.reason, result.value) == ("feasible", "error", 5)
    assert result.error == "RuntimeError: out of luck"
    wrong = run(lambda *_: [1, 1, 1])
    assert (wrong.status, wrong.reason) == ("unknown", "error")
    assert wrong.error == "infeasible answer: weight 7 exceeds the capacity 4"


@pytest.mark.parametrize(("seconds", "passes"), [(0.01, False), (1.0, False), (60.0, True), (None, True)])
def test_no_pass_over_all_objects_falls_into_a_short_budget(seconds: float | None, passes: bool) -> None:
    seen: list[str] = []

    def watch(phase: str, facts: dict[str, int]) -> None:
        seen.append(phase)

    def allocate(problem, budget, rng, start):
        gc.callbacks.append(watch)
        kept = [[number] for number in range(200_000)]  # more than the collector lets pass here
        gc.callbacks.remove(watch)
        return [0, 1, 1] if kept else None

    assert run(allocate, stop=Stop(seconds=seconds)).value == 7
    assert bool(seen) == passes
    assert gc.isenabled()


def test_ctrl_c_is_not_swallowed() -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    def turned(*_: Any) -> None:
        """What a library in C makes of it."""
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as pressed:
            raise SystemError("returned a result with an exception set") from pressed

    for solver in (interrupted, turned):
        with pytest.raises(KeyboardInterrupt):
            run(solver)


def test_a_solver_that_fails_while_ctrl_c_is_handled_is_a_result() -> None:
    def fails(*_: Any) -> None:
        raise ValueError("no luck")

    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        assert run(fails).error == "ValueError: no luck"


def test_the_start_is_never_made_worse_and_must_be_feasible() -> None:
    result = run(lambda *_: [1, 0, 0], start=[0, 1, 1])
    assert result.value == 7
    with pytest.raises(ModelError, match="start is not feasible: weight 7 exceeds"):
        run(lambda *_: None, start=[1, 1, 1])


def test_what_cannot_be_solved_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="solver 'scripted' cannot take this knapsack: it is too large"):
        solve(Knapsack([1] * 6, [1] * 6, 2), Scripted(None))
    with pytest.raises(SpecError, match="unknown solver 'nobody'"):
        solve(PROBLEM, "nobody")
    with pytest.raises(ModelError, match="seed must be >= 0"):
        run(lambda *_: None, seed=-1)
    with pytest.raises(ModelError, match="threads must be > 0"):
        run(lambda *_: None, threads=0)


def test_the_random_stream_depends_on_seed_and_name_alone() -> None:
    drawn = []
    for seed in (1, 1, 2):
        run(lambda p, b, rng, s: drawn.append(rng.integers(2**60)), seed=seed)
    assert drawn[0] == drawn[1] != drawn[2]
    assert stream(1, "a", 2).integers(2**60) != stream(1, "a", 3).integers(2**60)


def test_check_finds_every_false_claim() -> None:
    good = run(lambda p, budget, *_: budget.prove(7) or [0, 1, 1])
    assert check(PROBLEM, good) == []
    claims = {
        "the solution is worth 7, not 8": {"value": 8, "bound": 8},
        "the value 7 is better than the proved bound 6": {"bound": 6, "status": "feasible"},
        "optimal is claimed, but": {"bound": 8},
        "weight 5 exceeds the capacity 4": {"solution": np.array([1, 1, 0], bool)},
        "infeasible is claimed, but there is a solution": {"status": "infeasible"},
        "a solution and its value are stated together": {"value": None, "status": "feasible"},
        "feasible is claimed without a solution": {"solution": None, "value": None, "status": "feasible"},
        "the result is for instance": {"instance": "0" * 32},
    }
    for says, change in claims.items():
        assert any(says in line for line in check(PROBLEM, replace(good, **change))), says


def test_what_the_collector_makes_up_for_does_not_count() -> None:
    passes: list[str] = []
    kept: list[list[int]] = []

    def prove(problem, budget, rng, start):
        gc.callbacks.append(watch)
        kept.extend([number] for number in range(100_000))  # as much as compilation leaves behind
        budget.prove(7)
        return [0, 1, 1]

    def watch(phase: str, info: Any) -> None:
        passes.append(phase)

    try:
        result = run(prove, stop=Stop(seconds=0.1), clock=lambda: 60.0 if passes else 0.0)
    finally:
        gc.callbacks.remove(watch)
    assert (result.status, result.seconds, bool(passes)) == ("optimal", 0.0, True)
