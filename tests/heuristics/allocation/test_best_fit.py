"""Best fit: the lowest switch that holds a job, with the least left over."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.heuristics.windows import windows
from transom import Stop, solve
from transom.models import Allocation, FatTree

pytestmark = pytest.mark.fast

TREE = FatTree.uniform(24, 4, 12)  # two pods of three leaf switches


def given(idle: list[int], sizes: list[int], rule: str, order: str = "window") -> list[list[int]]:
    problem = Allocation(TREE, idle, sizes, rule)
    return problem.nodes(solve(problem, f"best-fit:order={order}", Stop()).solution)


def test_a_leaf_switch_with_the_least_left_over() -> None:
    # Switches with 3, 2, 4 and 2 idle nodes: the first one with exactly two.
    assert given([0, 1, 2, 4, 5, 8, 9, 10, 11, 12, 13], [2], "free") == [[4, 5]]


def test_a_pod_before_the_core_and_the_fullest_switches_first() -> None:
    # The first pod has 3 + 3 + 2 idle nodes, the second one 3 + 2: it holds five with none left over.
    idle = [0, 1, 2, 4, 5, 6, 8, 9, 12, 13, 14, 16, 17]
    assert given(idle, [5], "free") == [[12, 13, 14, 16, 17]]
    # Seven only fit into the first pod: 3 from one switch, then the smallest switches that hold what is left.
    assert given(idle, [7], "free") == [[0, 1, 2, 4, 5, 6, 8]]
    # Ten fit into no pod: the fullest pod, then two from one switch of the other, with none left over.
    assert given(idle, [10], "free") == [[0, 1, 2, 4, 5, 6, 8, 9, 16, 17]]


def test_the_order_of_the_jobs() -> None:
    idle = [0, 1, 2, 4, 5]
    assert given(idle, [2, 3], "free") == [[4, 5], [0, 1, 2]]
    idle = [0, 1, 2, 4, 5, 6]
    assert given(idle, [2, 4], "free") == [[0, 1], [2, 4, 5, 6]]
    assert given(idle, [2, 4], "free", "size") == [[5, 6], [0, 1, 2, 4]]


def test_blocks_with_the_fewest_switches() -> None:
    idle = [2, 3, 4, 5, 6, 12, 13, 14]
    assert given(idle, [3], "static") == [[4, 5, 6]]
    assert given(idle, [3, 3], "static") == [[4, 5, 6], [12, 13, 14]]
    # What is left after the first job is closed up under the dynamic rule only.
    assert given([2, 4, 5, 6, 8], [3, 2], "dynamic") == [[4, 5, 6], [2, 8]]


def test_a_static_job_without_room_makes_it_the_first_fit() -> None:
    assert given([0, 4, 5, 8, 12, 16], [2, 2, 2], "static") == [[0, 4], [5, 8], [12, 16]]


@pytest.mark.reference
def test_it_beats_the_first_fit_by_far(shared: Path) -> None:
    problems = windows(shared, "nsa_table_epoch_1", "free", every=3)
    ratios = [
        (solve(problem, "best-fit", Stop()).value or 0) / (solve(problem, "sequential", Stop()).value or 1)
        for problem in problems
    ]
    assert np.mean(ratios) < 0.9
