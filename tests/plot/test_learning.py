"""Learning curves show means, bands and levels."""

from __future__ import annotations

import numpy as np
import pytest

from transom.errors import ModelError
from transom.plot.learning import learning


def test_lines_are_means_and_bands_reach_from_best_to_worst() -> None:
    figure = learning({"a": [[3.0, 2.0, 1.0], [5.0, 2.0, 2.0]], "b": [4.0, 4.0, 4.0]}, {"rule": 2.5}, "made")
    axes = figure.axes[0]
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert list(lines) == ["a", "b", "rule"]
    assert lines["a"].get_xdata().tolist() == [0, 1, 2]
    assert lines["a"].get_ydata().tolist() == [4.0, 2.0, 1.5]
    assert set(np.asarray(lines["rule"].get_ydata()).tolist()) == {2.5}
    (band,) = axes.collections  # none for a single training
    reached = {tuple(point) for path in band.get_paths() for point in path.vertices.tolist()}
    assert {(0.0, 3.0), (0.0, 5.0), (2.0, 1.0), (2.0, 2.0)} <= reached
    assert axes.get_ylim()[0] == 0


@pytest.mark.parametrize("curves", [{}, {"a": []}, {"a": [[[1.0]]]}])
def test_nothing_to_draw(curves: dict[str, list[float]]) -> None:
    with pytest.raises(ModelError, match=r"expected a table \(trainings, episodes\)"):
        learning(curves)
