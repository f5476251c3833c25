"""Ctrl-C at any moment of a search ends it: none gets lost, and none becomes another exception or a crash."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests import test_allocation_contract, test_knapsack_contract, test_selection_contract
from tests.interrupting import interrupted_often

TIMES = 150
CASES = [
    (test_knapsack_contract, "sa"),
    (test_knapsack_contract, "auto"),
    (test_selection_contract, "pareto-dp"),
    (test_selection_contract, "epsilon"),
    (test_selection_contract, "nsga2"),
    (test_selection_contract, "multisched"),
    (test_selection_contract, "auto"),
    (test_allocation_contract, "dense", "free-exact"),
    (test_allocation_contract, "dynamic", "dcas-exact"),
    (test_allocation_contract, "dynamic", "ga.allocation"),
    (test_allocation_contract, "dynamic", "sa.allocation:steps=100000000"),
    (test_allocation_contract, "dynamic", "auto"),
]


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__.split('_')[1]}-{case[-1]}")
def test_none_is_lost(case: tuple[Any, ...]) -> None:
    contract, *given = case
    assert interrupted_often(contract.busy, given, TIMES) == Counter({"interrupted": TIMES, "status 0": 1})
