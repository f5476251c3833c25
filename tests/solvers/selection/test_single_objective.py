"""Weighted, lexicographic and constrained selections, with all back ends."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from tests.selection_cases import random_selection, true_front
from tests.timing import used
from transom import Stop, check, solve
from transom.errors import SpecError, UnsupportedError
from transom.models import Selection
from transom.result import Result
from transom.solvers.selection.single_objective import Constrained, Lexicographic, Weighted

BACK_ENDS = ("core", "cpsat", "scip")


def totals(problem: Selection) -> list[int]:
    names = problem.resources
    return [
        max(1, int(problem.totals[names.index(term)] if term in names else problem.ceiling[k]))
        for k, term in enumerate(problem.terms)
    ]


def weighted(problem: Selection, weights: list[int], value: tuple[int, ...]) -> Fraction:
    terms = zip(weights, value, totals(problem), strict=True)
    return sum((Fraction(weight * amount, total) for weight, amount, total in terms), Fraction(0))


def sound(problem: Selection, result: Result) -> tuple[int, ...]:
    assert result.error is None
    assert check(problem, result) == []
    # The best point is the whole front where there is one objective, and one point of several where there are more.
    assert result.status == ("optimal" if len(problem.terms) == 1 else "feasible")
    assert result.parameters["proved"] == "yes"
    assert len(result.solution) == 1
    return tuple(result.solution.values[0].tolist())


def cases(seed: int, count: int) -> list[tuple[Selection, set[tuple[int, ...]]]]:
    """Selections in which there is something to choose, and their fronts."""
    rng = np.random.default_rng(seed)
    found: list[tuple[Selection, set[tuple[int, ...]]]] = []
    while len(found) < count:
        problem = random_selection(rng, int(rng.integers(4, 10)), largest=int(rng.choice([3, 10, 1000])))
        if problem.trivial() is None:
            found.append((problem, true_front(problem)))
    return found


@pytest.mark.parametrize(("by", "count"), [("core", 80), ("cpsat", 12), ("scip", 12)])
def test_the_weighted_sum_is_the_largest_there_is(by: str, count: int) -> None:
    rng = np.random.default_rng(1)
    for problem, front in cases(1, count):
        weights = [int(weight) for weight in rng.integers(0, 4, len(problem.terms))]
        weights[0] += not any(weights)

        result = solve(problem, Weighted("/".join(map(str, weights)), by=by), Stop(seconds=20))
        if by == "scip" and result.parameters["proved"] == "no":
            value = tuple(result.solution.values[0].tolist())
            assert weighted(problem, weights, value) <= max(weighted(problem, weights, v) for v in front)
            continue
        value = sound(problem, result)
        worth = weighted(problem, weights, value)
        assert worth == max(weighted(problem, weights, v) for v in front)
        assert result.parameters["objective"] == pytest.approx(float(worth), rel=1e-12)
        assert result.parameters["bound"] == pytest.approx(float(worth), rel=1e-12)


@pytest.mark.parametrize(("by", "count"), [("core", 80), ("cpsat", 12), ("scip", 12)])
def test_one_objective_after_the_other(by: str, count: int) -> None:
    rng = np.random.default_rng(2)
    for problem, front in cases(2, count):
        order = rng.permutation(len(problem.terms)).tolist()
        named = "/".join(problem.terms[k] for k in order[: int(rng.integers(1, len(order) + 1))])
        result = solve(problem, Lexicographic(named, by=by), Stop(seconds=20))
        value = sound(problem, result)
        rest = [k for k in range(len(order)) if problem.terms[k] not in named.split("/")]
        order = [problem.terms.index(name) for name in named.split("/")] + rest
        best = max(tuple(v[k] for k in order) for v in front)
        assert tuple(value[k] for k in order) == best
        assert result.parameters["objective"] == result.parameters["bound"] == "/".join(map(str, best))


@pytest.mark.parametrize(("by", "count"), [("core", 80), ("cpsat", 12), ("scip", 12)])
def test_one_objective_with_floors_on_the_others(by: str, count: int) -> None:
    rng = np.random.default_rng(3)
    missed = 0
    for problem, front in cases(3, count):
        first = int(rng.integers(len(problem.terms)))
        others = [k for k in range(len(problem.terms)) if k != first]
        shares = [round(float(share), 2) for share in rng.random(len(others)) * rng.random()]
        solver = Constrained(problem.terms[first], "/".join(map(str, shares)), by=by)
        result = solve(problem, solver, Stop(seconds=20))
        floors = [(k, Fraction(str(share)) * totals(problem)[k]) for k, share in zip(others, shares, strict=True)]
        fine = [value for value in front if all(value[k] >= floor for k, floor in floors)]
        if fine:
            value = sound(problem, result)
            assert value[first] == max(v[first] for v in fine)
            assert all(value[k] >= floor for k, floor in floors)
            assert result.parameters["objective"] == result.parameters["bound"]
            assert not floors or result.parameters["floors"] == "met"
        else:
            missed += 1
            assert (result.status, result.solution) == ("unknown", None)
            assert (result.parameters["proved"], result.parameters["floors"]) == ("yes", "cannot be met")
    assert missed or count < 20


def test_back_ends_agree_on_sixty_jobs_and_six_resources() -> None:
    rng = np.random.default_rng(4)
    demands = rng.integers(0, 40, (60, 6))
    problem = Selection(demands, demands.sum(axis=0) // 3, rng.integers(1, 50, (60, 2)))
    solvers = (Weighted, Lexicographic, Constrained)
    for solver in solvers:
        results = [solve(problem, solver(by=by), Stop(seconds=30)) for by in BACK_ENDS]
        assert len({sound(problem, result)[0] for result in results}) == 1
        assert len({str(result.parameters["objective"]) for result in results}) == 1


def test_fractions_of_weights_are_exact() -> None:
    problem = Selection(np.array([[3, 1], [1, 3], [2, 2]]), np.array([4, 4]), totals=np.array([7, 9]))
    result = solve(problem, "weighted:weights=0.1/0.7", Stop(seconds=5))
    (x, y) = sound(problem, result)
    assert result.parameters["objective"] == pytest.approx(0.1 * x / 7 + 0.7 * y / 9, rel=1e-15)
    assert "resolution" not in result.parameters


@pytest.mark.parametrize("by", ["core", "cpsat"])
def test_a_sum_that_fits_into_no_integers_is_proved_exactly(by: str) -> None:
    rng = np.random.default_rng(6)
    for _ in range(10):
        demands = rng.integers(1, 300_000, (9, 4))
        problem = Selection(demands, [999983, 999979, 999961, 999959])
        value = sound(problem, solve(problem, f"weighted:by={by}", Stop(seconds=20)))
        assert weighted(problem, [1] * 4, value) == max(weighted(problem, [1] * 4, v) for v in true_front(problem))


@pytest.mark.parametrize("by", ["core", "cpsat"])
@pytest.mark.parametrize(
    ("weight", "best"), [("1.000000000000000000000000000001", 0), ("0.999999999999999999999999999999", 1)]
)
@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_a_difference_that_rounding_of_the_weights_hides_is_found(
    by: str, weight: str, best: int, order: list[int]
) -> None:
    worth = np.array([[3, 0], [0, 1]])  # shares of 1 of either objective
    problem = Selection([[1], [1]], [1], worth[order])
    result = solve(problem, f"weighted:weights={weight}/1,by={by}", Stop(seconds=5))
    assert sound(problem, result) == tuple(worth[best])


def test_a_start_and_seconds_too_few_are_no_trouble() -> None:
    rng = np.random.default_rng(7)
    demands = rng.integers(0, 2**30, (300, 5))
    problem = Selection(demands, demands.sum(axis=0) // 4)
    for solver in ("weighted", "lexicographic", "constrained", "weighted:by=cpsat", "lexicographic:by=scip"):
        result = solve(problem, solver, Stop(seconds=0.2))
        assert result.error is None
        assert check(problem, result) == []
        assert result.status == "feasible"
        assert used(partial(solve, problem, solver, Stop(seconds=0.2)), 2) < 2
        if result.parameters["proved"] == "no" and solver.startswith("weighted"):
            assert result.parameters["bound"] >= result.parameters["objective"]


def test_wrong_parameters_are_refused() -> None:
    problem = Selection(np.array([[3, 1], [1, 3], [2, 2]]), np.array([4, 4]), resources=("nodes", "bb"))
    for wrong in ("x", "-0.1", "1.5", "0.1//0.2", "1/0/", "nan"):
        with pytest.raises(SpecError, match="floors"):
            Constrained(floors=wrong)
    with pytest.raises(SpecError):
        Weighted("0/0")
    for spec, reason in (
        ("weighted:weights=1/2/3", "3 weights for 2 objectives"),
        ("lexicographic:order=gpu", "no objective 'gpu'"),
        ("lexicographic:order=bb/bb", "twice"),
        ("constrained:objective=gpu", "no objective 'gpu'"),
        ("constrained:floors=0.1/0.2", "2 floors for 1 other"),
    ):
        with pytest.raises(UnsupportedError, match=reason):
            solve(problem, spec)


@pytest.mark.parametrize("by", BACK_ENDS)
def test_the_only_point_there_is_has_notes_and_has_to_meet_the_floors(by: str) -> None:
    problem = Selection([[1], [3]], [2], [[306, 562], [260, 150]])
    assert problem.trivial() is not None
    best = solve(problem, f"weighted:by={by}", Stop(seconds=5))
    assert (best.status, best.parameters["proved"]) == ("optimal", "yes")
    assert best.parameters["objective"] == float(Fraction(306, 566) + Fraction(562, 712))
    assert solve(problem, f"lexicographic:by={by}", Stop(seconds=5)).parameters["objective"] == "306/562"
    met = solve(problem, f"constrained:by={by},floors=0.7", Stop(seconds=5))
    assert (met.status, met.parameters["floors"]) == ("optimal", "met")
    missed = solve(problem, f"constrained:by={by},floors=1", Stop(seconds=5))
    assert (missed.solution, missed.status, missed.parameters["floors"]) == (None, "unknown", "cannot be met")


def test_an_objective_of_nothing_does_not_make_the_others_coarse() -> None:
    worth = np.array([[409748963454061, 253070313986432, 0], [472307807533834, 402772322710697, 0], [7, 5, 0]])
    problem = Selection([[3], [3], [3]], [6], worth)
    result = solve(problem, "weighted:weights=0/1/7", Stop(seconds=5))
    assert sound(problem, result)[1] == 402772322710697 + 253070313986432
    assert "resolution" not in result.parameters
    assert sound(problem, solve(problem, "weighted:weights=0/0/1", Stop(seconds=5)))


@pytest.mark.parametrize("by", ["core", "cpsat"])
@pytest.mark.parametrize("fits", [3, 12])
def test_jobs_that_do_not_fit_together_add_up_to_no_more_than_64_bits(by: str, fits: int) -> None:
    """Amounts near 1e14 of which a third or a twelfth fits: all weights together are what back ends add up."""
    rng = np.random.default_rng(7)
    for jobs in (8, 9):
        demands = rng.integers(10**14 // 2, 10**14, (jobs, 3))
        problem = Selection(demands, np.maximum(demands.sum(axis=0) // fits, demands.max(axis=0)))
        value = sound(problem, solve(problem, f"weighted:by={by}", Stop(seconds=20)))
        assert weighted(problem, [1] * 3, value) == max(weighted(problem, [1] * 3, v) for v in true_front(problem))


def test_a_proof_for_the_only_objective_is_an_optimum() -> None:
    problem = Selection(np.array([[4, 3], [5, 2], [3, 6]]), [9, 8], [[7], [6], [5]])
    for spec in ("weighted", "lexicographic", "constrained", "weighted:by=cpsat"):
        result = solve(problem, spec, Stop(seconds=20))
        assert (result.status, result.value == result.bound) == ("optimal", True)
        assert check(problem, result) == []
        assert result.solution.values.tolist() == [[13]]
