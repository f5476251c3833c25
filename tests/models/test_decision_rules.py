from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from transom import registry
from transom.errors import SpecError
from transom.models import ParetoFront, Selection
from transom.models.decision_rules import shares

pytestmark = pytest.mark.fast

# One job for each point, so that any values can be a front; utilisation is in hundredths.
POINTS = [[90, 20, 30], [85, 40, 40], [81, 60, 50], [70, 90, 90], [85, 10, 75]]


def case(points: list[list[int]]) -> tuple[ParetoFront, Selection]:
    problem = Selection(points, np.full(len(points[0]), 100), resources=("nodes", "bb", "gpu")[: len(points[0])])
    return ParetoFront(points, np.eye(len(points), dtype=bool)), problem


def pick(rule: str, points: list[list[int]] = POINTS) -> int:
    return int(registry.make(registry.DECISION_RULES, rule)(*case(points)))


@pytest.mark.parametrize(
    ("rule", "point"),
    [
        ("trade-off", 2),  # gives 0.09 of the nodes for 0.6 more of the others; point 3 would cost 0.20
        ("trade-off:give=0.06", 4),  # 0.85 against 0.5 and 0.8 of point 1
        ("trade-off:give=0.05", 0),  # strictly less
        ("trade-off:give=0.25", 3),
        ("trade-off:gain=1.19", 2),  # from 0.5 to 1.1 is 120 % more
        ("trade-off:gain=1.21", 0),
        ("trade-off:gain=0.5,relative=no", 2),
        ("trade-off:gain=0.61,relative=no", 0),
        ("2x", 3),  # 1.3 more for 0.2
        ("2x:factor=6.9", 4),  # 0.35 for 0.05; the others gain less than that for what they give
        ("2x:factor=7.1", 0),
        ("lexicographic", 0),
        ("lexicographic:order=gpu", 3),
        ("lexicographic:order=bb/nodes", 3),
        ("weighted", 3),
        ("weighted:weights=1/0/0", 0),
        ("weighted:weights=20/1/1", 0),
        ("knee", 3),  # 0 + 1 + 1 of the ranges
        ("hypervolume", 3),
    ],
)
def test_rules_by_hand(rule: str, point: int) -> None:
    assert pick(rule) == point


def test_ties_go_to_the_first_objective_then_to_the_earlier_point() -> None:
    assert pick("trade-off", [[50, 20, 20], [50, 30, 10]]) == 0
    assert pick("weighted", [[10, 30], [20, 20], [30, 10]]) == 2
    assert pick("trade-off", [[50, 10, 20], [45, 30, 30], [48, 20, 40]]) == 2


@pytest.mark.parametrize("rule", ["trade-off", "2x", "weighted", "knee"])
def test_bounds_and_ties_are_those_of_exact_fractions(rule: str) -> None:
    rng, chosen = np.random.default_rng(3), registry.make(registry.DECISION_RULES, rule)
    for _ in range(600):
        values = rng.integers(0, 11, (int(rng.integers(2, 7)), int(rng.integers(2, 4))))
        totals = rng.integers(10, 13, values.shape[1])
        problem = Selection(values, totals)
        u = [[Fraction(int(v), int(c)) for v, c in zip(row, totals, strict=True)] for row in values]
        index, rest = range(len(u)), [sum(row[1:]) for row in u]
        best = max(index, key=lambda i: (u[i][0], rest[i], -i))
        up, down = [each - rest[best] for each in rest], [u[best][0] - row[0] for row in u]
        sums, among = rest, list(index)
        if rule == "trade-off":
            among = [i for i in index if down[i] < Fraction(1, 10) and up[i] > Fraction(3, 10) * rest[best]] or [best]
        elif rule == "2x":
            among = [i for i in index if up[i] > 2 * down[i]] or [best]
        elif rule == "weighted":
            sums = [sum(row) for row in u]
        else:
            low, high = values.min(axis=0).tolist(), values.max(axis=0).tolist()
            sums = [
                sum(Fraction(int(v) - b, t - b) if t > b else 1 for v, b, t in zip(row, low, high, strict=True))
                for row in values
            ]
        wanted = max(among, key=lambda i: (sums[i], u[i][0], -i))
        assert chosen(ParetoFront(values, np.eye(len(values), dtype=bool)), problem) == wanted


@pytest.mark.parametrize("rule", registry.names(registry.DECISION_RULES))
def test_every_rule_takes_a_point_of_any_front(rule: str) -> None:
    rng = np.random.default_rng(1)
    assert type(registry.make(registry.DECISION_RULES, rule)).__doc__
    for objectives in (1, 2, 3, 5, 6, 11):
        for points in (1, 2, 12):
            values = rng.integers(0, 30, (points, objectives))
            problem = Selection(values, np.full(objectives, 40))
            chosen = registry.make(registry.DECISION_RULES, rule)(
                ParetoFront(values, np.eye(points, dtype=bool)), problem
            )
            assert 0 <= chosen < points
            assert isinstance(chosen, int)


def test_contributions_along_directions_are_near_the_exact_ones() -> None:
    from transom.models.decision_rules import _lost_along_directions
    from transom.models.pareto_front import hypervolume_share

    points = np.random.default_rng(3).integers(0, 30, (8, 4))
    ceiling = np.full(4, 40)
    every = np.arange(8)
    lost = [hypervolume_share(points, ceiling) - hypervolume_share(points[every != i], ceiling) for i in every]
    found = _lost_along_directions((points + 1) / 41)
    assert np.allclose(found / found.sum(), np.array(lost) / np.sum(lost), atol=0.03)


def test_terms_that_are_no_resources_count_by_their_ceiling() -> None:
    problem = Selection([[2], [3]], [4], [[2, 30], [3, 10]], ("nodes",), ("nodes", "waited"), totals=[8])
    front = ParetoFront([[3, 10], [2, 30]], [[False, True], [True, False]])
    assert shares(front, problem).tolist() == [[3 / 8, 10 / 40], [2 / 8, 30 / 40]]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("trade-off:give=-1", "give must be finite and >= 0"),
        ("trade-off:gain=nan", "gain must be finite"),
        ("2x:factor=inf", "factor must be finite"),
        ("weighted:weights=1/x", "numbers with slashes"),
        ("weighted:weights=0/0", "not all 0"),
        ("weighted:weights=-1/1", ">= 0"),
        ("kneel", "did you mean 'knee'"),
    ],
)
def test_wrong_parameters_are_errors(spec: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        registry.make(registry.DECISION_RULES, spec)


def test_parameters_that_do_not_fit_the_problem_are_errors() -> None:
    for rule, says in (("weighted:weights=1/2", "2 weights for 3 objectives"), ("lexicographic:order=tape", "'tape'")):
        with pytest.raises(SpecError, match=says):
            pick(rule)
