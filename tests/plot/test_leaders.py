from __future__ import annotations

import pytest

from transom.errors import ModelError
from transom.plot import Leader, leaders

SHOWN = {
    "knapsack": [Leader("auto", 0.0, 0.0, 0.02, best=True), Leader("sa", 0.1)],
    "scas": [Leader("auto", 0.005, best=True)],
}


def test_each_solver_has_a_row_below_its_problem() -> None:
    axes = leaders(SHOWN).axes[0]
    labels = axes.get_yticklabels()
    assert [label.get_text() for label in labels] == ["knapsack", "auto", "sa", "scas", "auto"]
    assert [label.get_fontweight() == "bold" for label in labels] == [True, False, False, True, False]
    marks = {float(line.get_ydata()[0]): line for line in axes.lines if line.get_marker() == "o"}
    assert {row: line.get_xdata()[0] for row, line in marks.items()} == pytest.approx({1: 0, 2: 10, 4: 0.5})
    assert marks[1].get_markerfacecolor() == marks[4].get_markerfacecolor() != marks[2].get_markerfacecolor()
    (limits,) = (line for line in axes.lines if line.get_marker() != "o")
    assert list(limits.get_xdata()) == [0, 2]


@pytest.mark.parametrize("nothing", [{}, {"scas": []}])
def test_no_solver_is_an_error(nothing: dict[str, list[Leader]]) -> None:
    with pytest.raises(ModelError, match="no solver"):
        leaders(nothing)
