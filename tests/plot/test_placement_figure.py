"""The figure of placements: bars of what is in use."""

from __future__ import annotations

import numpy as np
import pytest

from transom import Placement
from transom.errors import ModelError
from transom.plot.placement import placement_figure

PROBLEM = Placement(
    [[4, 5], [10, 0]], [[2, 1], [5, 0]], [2, 2], capacities=[[8, 10], [10, 10]], resources=("cpu", "memory")
)
SOLUTION = [[2, 0], [0, 1]]


def test_bars_are_shares_of_the_capacity() -> None:
    figure = placement_figure(PROBLEM, {"first": SOLUTION, "none": [[0, 0], [0, 0]]}, "a window")
    cpu, memory, empty, _ = figure.axes
    tops = {round(patch.get_x() + patch.get_width() / 2): 0.0 for patch in cpu.patches}
    for axes, expected in ((cpu, [1.0, 0.5]), (memory, [0.7, 1.0]), (empty, [0.5, 0.0])):
        for machine in tops:
            bars = [patch for patch in axes.patches if round(patch.get_x() + patch.get_width() / 2) == machine]
            assert max(bar.get_y() + bar.get_height() for bar in bars) == pytest.approx(expected[machine])
    assert [axes.get_title("left") for axes in figure.axes] == ["first: 3", "", "none: 0", ""]
    assert figure.get_suptitle() == "a window"


def test_many_machines_and_what_cannot_be_drawn() -> None:
    many = Placement(np.full((90, 1), 3), [[1]], [5])
    figure = placement_figure(many, {"none": np.zeros((1, 90), int)})
    assert figure.get_suptitle() == "the first 40 of 90 machines"
    with pytest.raises(ModelError, match="there is no solution to draw"):
        placement_figure(PROBLEM, {})
    with pytest.raises(ModelError, match="figure: wrong: machine 0: 7 of cpu are taken, 4 are free"):
        placement_figure(PROBLEM, {"wrong": [[0, 0], [0, 0]], "x": SOLUTION} | {"wrong": [[1, 0], [1, 0]]})
