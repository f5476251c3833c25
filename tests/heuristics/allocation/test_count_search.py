"""Search on counts: its books, a job's own optimum, and what it reaches."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.allocation_cases import optimum, random_allocation
from transom import Stop, registry, solve
from transom.errors import SpecError, UnsupportedError
from transom.heuristics.allocation import count_search
from transom.heuristics.allocation.best_fit import best_fit
from transom.heuristics.allocation.count_search import Search
from transom.heuristics.allocation.counts import Books, open_books
from transom.heuristics.allocation.recreation import recreate
from transom.models import AUTHORS, PAPER, Allocation, FatTree


def dense(seed: int = 1, cost: Any = AUTHORS) -> Allocation:
    """160 of 400 nodes idle at random, demand near all of them."""
    rng = np.random.default_rng(seed)
    idle = np.sort(rng.choice(400, 160, replace=False))
    return Allocation(FatTree.uniform(400, 10, 40), idle, [40, 12, 25, 8, 30, 19, 21], "free", cost=cost)


def deep(cost: Any) -> Allocation:
    """The same nodes with their pods below five switches, these below two, leaves in any order."""
    problem = dense(cost=cost)
    leaf = np.random.default_rng(4).permutation(np.arange(400) // 10)
    pods = leaf // 4
    return replace(problem, tree=FatTree(leaf, pods, [pods // 2, pods // 6]), idle=np.arange(0, 400, 2))


@pytest.mark.parametrize("made", [dense, deep])
@pytest.mark.parametrize("cost", [PAPER, AUTHORS])
def test_the_search_keeps_its_books(made: Callable[..., Allocation], cost: Any) -> None:
    problem = made(cost=cost)
    start = best_fit(problem, count_search.allocation_arrays(problem), False, Stop().start(problem))
    assert start is not None
    search = Search(problem, start)
    search.restart()
    rng = np.random.default_rng(3)
    jobs = len(problem)
    for first in range(0, 3000, 100):
        search.run(rng, np.array([2000.0, 1.0]), 3, first, 100, 3000)
        books = search.books
        fresh = Books(*(np.zeros_like(each) for each in books))
        open_books(books.owner, search.layout, fresh)
        assert np.array_equal(books.counts, fresh.counts)
        for job in range(jobs + 1):
            mine = np.sort(books.held[search.layout.begin[job] : search.layout.begin[job + 1]])
            assert np.array_equal(mine, np.flatnonzero(books.owner == job))
        assert np.array_equal(books.held[books.slot], np.arange(len(books.owner)))
        best = search.solution()
        assert problem.violations(best) == []
        assert problem.value(best) == pytest.approx(search._state[0])


def test_a_job_placed_anew_gets_its_own_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    class Never:
        @staticmethod
        def random() -> float:
            return 1.0  # no switch is overlooked

    rng = np.random.default_rng(2)
    for _ in range(20):
        problem = random_allocation(rng, "free", max_idle=9, max_jobs=1)
        search = Search(problem, np.where(np.arange(len(problem.idle)) < problem.sizes[0], 0, -1))
        search.restart()
        owner = np.full(len(problem.idle), 1)
        found = recreate.py_func(Never, owner, search.layout.places, search.layout.sizes, search.layout.weights, 0)
        assert found == pytest.approx(optimum(problem))
        assert (owner == 0).sum() == problem.sizes[0]


def test_it_finds_small_optima() -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        problem = random_allocation(rng, "free", max_idle=9)
        result = solve(problem, "count-search:begin=best-fit", Stop())
        assert result.value == pytest.approx(optimum(problem))


def test_it_beats_best_fit_on_dense_windows() -> None:
    for seed in range(3):
        problem = dense(seed)
        found = solve(problem, "count-search:begin=best-fit", Stop(iterations=20_000)).value
        fit = solve(problem, "best-fit").value
        assert found is not None
        assert fit is not None
        assert found < fit


@pytest.mark.parametrize("spec", ["count-search:steps=700,begin=best-fit", "count-search:steps=700,ruin=0"])
def test_the_answer_does_not_depend_on_the_chunks(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = dense()
    expected = solve(problem, spec, Stop(iterations=1500), seed=5)
    assert expected.reason == "iterations"
    for chunk, work in itertools.product((1, 64, 10**6), (10**5, 10**9)):
        monkeypatch.setattr(count_search, "_CHUNK", chunk)
        monkeypatch.setattr(count_search, "_WORK", work)
        assert np.array_equal(solve(problem, spec, Stop(iterations=1500), seed=5).solution, expected.solution)


def test_other_rules_and_wrong_parameters_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="free rule"):
        solve(dense().with_rule("dynamic"), "count-search")
    for settings in ("steps=0", "initial=0.001", "final=0", "ruin=-1", "begin=nothing"):
        with pytest.raises(SpecError):
            registry.make(registry.SOLVERS, f"count-search:{settings}")
