"""Costs and switches of blocks from every start are the same whether or not numbers of switches rise along Q."""

from __future__ import annotations

import numpy as np
import pytest

from transom.heuristics.allocation.arrays import AllocationArrays, Demands, block_cost, counting, slide
from transom.heuristics.allocation.best_fit import count_switches
from transom.models import AUTHORS, PAPER

NOTHING = Demands(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, 0), np.bool_), 0.0)


@pytest.mark.parametrize("rising", [True, False])
def test_blocks_from_every_start_have_the_costs_and_the_switches_of_their_entries(rising: bool) -> None:
    rng = np.random.default_rng(5)
    met = 0
    for _ in range(300):
        n = int(rng.integers(2, 40))
        leaf = np.sort(rng.integers(0, int(rng.integers(1, 10)), n))
        pod = leaf // int(rng.integers(1, 5))
        if not rising:
            order = rng.permutation(n)
            leaf, pod = leaf[order], pod[order]
        weights = (AUTHORS, PAPER)[int(rng.integers(2))].weights
        switches = counting(AllocationArrays(leaf, pod, np.array([1]), weights, np.empty((0, n), np.int64), NOTHING))
        assert rising <= (switches.sums.size > 0)
        met += switches.sums.size > 0
        left = np.sort(rng.choice(n, int(rng.integers(1, n + 1)), replace=False))
        m = len(left)
        size = int(rng.integers(1, m + 1))
        slid, counted = np.empty(m), np.empty(m, np.int64)
        slide(left, m, m, size, switches, slid)
        count_switches(left, m, m, size, switches, counted)
        for start in range(m):
            block = left[(start + np.arange(size)) % m]
            assert slid[start] == block_cost(left, m, start, size, switches)
            found = len(np.unique(pod[block])) * (len(switches.in_leaf) + 1) + len(np.unique(leaf[block]))
            assert counted[start] == found
    assert met == 300 if rising else met < 100
