"""Normalisation of the Kiviat graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.simulation.output.test_metrics import by_hand
from transom.errors import ModelError
from transom.plot import encoded, kiviat, kiviat_of
from transom.plot.kiviat import SPOKES, normalised
from transom.simulation.output.metrics import summary

METRICS = ("mean_wait", "max_wait", "utilisation")


def test_best_is_one_and_worst_is_zero() -> None:
    waits = [{"mean_wait": w, "max_wait": 10.0 * w, "utilisation": u} for w, u in ((1.0, 0.5), (2.0, 0.9), (4.0, 0.6))]
    table = normalised(waits, METRICS)
    # Reciprocals of 1, 2 and 4 are 1, 1/2 and 1/4.
    assert table[:, 0].tolist() == pytest.approx([1, 1 / 3, 0])
    assert table[:, 1].tolist() == pytest.approx([1, 1 / 3, 0])
    assert table[:, 2].tolist() == pytest.approx([0, 1, 0.25])


def test_equal_policies_are_all_best() -> None:
    same = [{"mean_wait": 3.0, "max_wait": 0.0, "utilisation": 0.5}] * 2
    assert normalised(same, METRICS).tolist() == [[1, 1, 1], [1, 1, 1]]


def test_a_wait_of_zero_is_best_and_an_unknown_one_worst() -> None:
    table = normalised(
        [
            {"mean_wait": 0.0, "max_wait": np.nan, "utilisation": 0.5},
            {"mean_wait": 1.0, "max_wait": 2.0, "utilisation": 0.5},
            {"mean_wait": 2.0, "max_wait": 1.0, "utilisation": 0.5},
        ],
        METRICS,
    )
    assert table[:, 0].tolist() == [1, 0, 0]
    assert table[:, 1].tolist() == [0, 0, 1]


@pytest.mark.parametrize("metrics", [("mean_wait", "max_wait", "jobs"), ("mean_wait", "max_wait", "fun")])
def test_metrics_without_a_better_direction_are_refused(metrics: tuple[str, ...]) -> None:
    with pytest.raises(ModelError, match=f"metric '{metrics[2]}' is not one of mean_wait, "):
        kiviat([by_hand()], metrics)


def test_two_metrics_are_too_few() -> None:
    with pytest.raises(ModelError, match="at least three metrics, got 2"):
        kiviat([by_hand()], METRICS[:2])


def test_labels_lie_inside_the_figure() -> None:
    slow = replace(
        by_hand(), policy="a policy of a name that is rather too long for a legend", start=by_hand().start + 50
    )
    figure = kiviat([by_hand(), slow])
    figure.draw_without_rendering()
    width, height = figure.get_size_inches() * figure.dpi
    texts = [*figure.axes[0].texts, *figure.legends[0].get_texts()]
    assert len(texts) == len(SPOKES) + 2 + 2  # with two marks on the spokes and two policies
    for text in texts:
        box = text.get_window_extent()
        assert box.width > 0
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height


def test_the_figure_of_schedules_is_that_of_their_figures() -> None:
    slow = replace(by_hand(), policy="slow", start=by_hand().start + 50, end=by_hand().end + 50)
    drawn = kiviat([by_hand(), slow], METRICS)
    again = kiviat_of({each.policy: summary(each) for each in (by_hand(), slow)}, METRICS)
    assert encoded(drawn, "svg") == encoded(again, "svg")
