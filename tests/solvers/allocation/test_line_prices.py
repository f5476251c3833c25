"""Priced distances and blocks against plain loops, the quadratic programme of the bundle against another program."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from transom.models.arrays import FloatArray, IntArray
from transom.solvers.allocation.cut_weights import weigh
from transom.solvers.allocation.line_prices import distances, distances_back, tight_arcs

STEP = 0.3
"""Of the bundle."""


def a_line(rng: np.random.Generator) -> tuple[FloatArray, IntArray, FloatArray]:
    """Costs with gaps, sizes below and above the entries that are looked at side by side, prices."""
    length = int(rng.integers(1, 250))
    sizes = np.sort(rng.integers(1, min(length, int(rng.integers(2, 120))) + 1, int(rng.integers(1, 10))))
    costs = rng.random((len(sizes), length)) * sizes[:, None]
    costs[rng.random(costs.shape) < 0.1] = math.inf
    for row, size in enumerate(sizes.tolist()):
        costs[row, length - size + 1 :] = math.inf
    return costs, sizes, rng.random(len(sizes)) * sizes


def by_hand(costs: FloatArray, sizes: IntArray, prices: FloatArray, head: int) -> list[float]:
    dist = [math.inf] * costs.shape[1] + [math.inf]
    dist[head] = 0.0
    for i in range(head + 1, len(dist)):
        blocks = [(r, i - size) for r, size in enumerate(sizes.tolist()) if i - size >= head]
        dist[i] = min(dist[i - 1], *(dist[start] + costs[r, start] - prices[r] for r, start in blocks), math.inf)
    return dist


def test_distances_are_those_of_a_plain_loop() -> None:
    rng = np.random.default_rng(7)
    for _ in range(60):
        costs, sizes, prices = a_line(rng)
        length = costs.shape[1]
        head = int(rng.integers(length))
        assert distances(costs, sizes, prices, head).tolist() == by_hand(costs, sizes, prices, head)
        mirror = np.full(costs.shape, math.inf)
        for row, size in enumerate(sizes.tolist()):
            mirror[row, : length - size + 1] = costs[row, : length - size + 1][::-1]
        assert distances_back(costs, sizes, prices).tolist() == by_hand(mirror, sizes, prices, 0)[::-1]


def test_blocks_near_the_shortest_path_come_by_end_and_size() -> None:
    rng = np.random.default_rng(8)
    for _ in range(40):
        costs, sizes, prices = a_line(rng)
        ahead, back = distances(costs, sizes, prices, 0), distances_back(costs, sizes, prices)
        for most in (0.01, 1.0, 30.0, math.inf):
            wanted: list[tuple[int, int, float]] = []
            for end in range(costs.shape[1] + 1):
                for row, start in enumerate((end - sizes).tolist()):
                    slack = costs[row, start] - prices[row] + back[end] - back[start] if start >= 0 else math.inf
                    if slack < math.inf and ahead[start] + back[start] - back[0] + slack <= most:
                        wanted.append((end, row, max(0.0, slack)))
            arcs = tight_arcs(costs, sizes, prices, ahead, back, most)
            ends = np.repeat(np.arange(costs.shape[1] + 1), np.diff(arcs.first))
            assert list(zip(ends.tolist(), arcs.rows.tolist(), arcs.slacks.tolist(), strict=True)) == wanted


@pytest.mark.parametrize("cuts", [1, 5, 40])
def test_weights_of_cuts_minimise_over_the_simplex(cuts: int) -> None:
    # More cuts than sizes: many weights are as good, so values are compared.
    for seed in range(4):
        rng = np.random.default_rng([cuts, seed])
        missed, errors = rng.integers(-3, 4, (cuts, 8)).astype(float), 5 * rng.random(cuts)
        inner, weights = missed @ missed.T, np.zeros(cuts)
        weights[0] = 1.0

        def value(of: FloatArray, inner: FloatArray = inner, errors: FloatArray = errors) -> float:
            return float(0.5 * STEP * of @ inner @ of + errors @ of)

        weigh(inner, errors, weights, cuts, STEP, 0.0, 1.0)
        assert weights.min() >= 0
        assert weights.sum() == pytest.approx(1)
        another = minimize(
            value, np.full(cuts, 1 / cuts), method="SLSQP", bounds=[(0, 1)] * cuts,
            constraints={"type": "eq", "fun": lambda of: of.sum() - 1}, options={"ftol": 1e-12, "maxiter": 500},
        )  # fmt: skip
        assert value(weights) <= another.fun + 1e-6
        slope = STEP * inner @ weights + errors
        assert slope @ weights - slope.min() <= 1e-6
