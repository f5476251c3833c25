"""What ``auto`` does on problems without a tree: an exact solver first, then a search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transom import Placement, Stop, solve
from transom.generate.instances.placements import uniform_placement
from transom.heuristics.placement.local_search import LocalSearch


def large() -> Placement:
    return uniform_placement(np.random.default_rng(1), 30, 10, 3, 100, 0.5, kinds=4).with_objective("area")


def test_a_proof_ends_it() -> None:
    problem = uniform_placement(np.random.default_rng(1), 6, 2, 2, 20, 0.5).with_objective("area")
    for stop in (Stop(), Stop(seconds=60), Stop(iterations=10**6)):
        result = solve(problem, "auto", stop)
        assert (result.status, result.parameters["chose"]) == ("optimal", "placement-exact")


def test_the_search_has_what_is_left_of_the_budget() -> None:
    result, again = (solve(large(), "auto", Stop(iterations=500), seed=2) for _ in range(2))
    assert (result.parameters["chose"], result.reason) == ("placement-exact+local-search", "iterations")
    first = solve(large(), "placement-exact", Stop(iterations=100), seed=2)
    assert result.value > first.value
    assert result.bound == first.bound
    assert again.solution.tolist() == result.solution.tolist()


def test_the_search_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    starts: list[Any] = []
    monkeypatch.setattr(LocalSearch, "__call__", lambda *_, start: starts.append(start))
    assert solve(large(), "auto", Stop(iterations=500)).solution is not None
    assert starts == [None]


@pytest.mark.parametrize("seconds", [0.01, 0.3])
def test_time_is_used_up(seconds: float) -> None:
    result = solve(large(), "auto", Stop(seconds=seconds))
    assert result.reason == "time"
    assert result.parameters["chose"].startswith("placement-exact")
