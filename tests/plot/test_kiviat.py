"""Scales of the Kiviat graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulation.output.test_metrics import by_hand
from transom.errors import ModelError
from transom.plot import encoded, kiviat, kiviat_of
from transom.plot.kiviat import SPOKES, Scale, scales
from transom.simulation.output.metrics import summary

METRICS = ("mean_wait", "max_wait", "utilisation")


def scale_of(name: str, *values: float) -> Scale:
    """The scale of a metric with these values, next to two others."""
    others = {"utilisation": 0.5, "throughput": 3.0}
    return scales([{**others, name: value} for value in values], [name, *others])[0]


def test_less_waiting_lies_further_out() -> None:
    scale = scale_of("mean_wait", 3600.0, 7200.0, 4.5 * 3600)
    assert scale.label == "mean wait [h]\n5 to 0"
    assert scale.places([5 * 3600, 4.5 * 3600, 3600, 0]).tolist() == pytest.approx([0, 0.1, 0.8, 1])


def test_more_throughput_lies_further_out() -> None:
    scale = scale_of("throughput", 7.0, 12.0)
    assert scale.label == "throughput [1/h]\n0 to 20"
    assert scale.places([0, 5, 20]).tolist() == pytest.approx([0, 0.25, 1])


def test_utilisation_runs_from_nothing_to_all() -> None:
    for name in ("utilisation", "utilisation_submitting"):
        scale = scale_of(name, 0.681, 0.683)
        assert scale.label == f"{name.replace('_', ' ')} [%]\n0 to 100"
        assert scale.places([0, 0.681, 1]).tolist() == pytest.approx([0, 0.681, 1])


def test_a_scale_is_logarithmic_where_one_policy_dominates() -> None:
    scale = scale_of("mean_slowdown", 30_125.9, 487.7, 38.1, 318.8)
    assert scale.label == "mean slowdown\n50,000 to 30, logarithmic"
    assert scale.places([50_000, np.sqrt(50_000 * 30), 30]).tolist() == pytest.approx([0, 0.5, 1])
    assert scale_of("throughput", 1.0, 1.5, 100.0).label == "throughput [1/h]\n1 to 100, logarithmic"


def test_a_wait_of_zero_lies_on_the_rim_of_a_logarithmic_scale_that_says_so() -> None:
    scale = scale_of("max_wait", 0.0, 0.0, 3600.0, 36_000.0)
    assert scale.label == "max wait [h]\n10 to 1 or less, logarithmic"
    assert scale.places([0.0]).tolist() == [1]


def test_the_unknown_lies_in_the_centre() -> None:
    scale = scale_of("mean_wait", np.nan, 3600.0, np.inf)
    assert scale.label == "mean wait [h]\n1 to 0"
    assert scale.places([np.nan, np.inf, 1800]).tolist() == pytest.approx([0, 0, 0.5])


def test_nothing_but_zeros_lies_on_the_rim() -> None:
    scale = scale_of("mean_wait", 0.0, 0.0)
    assert scale.label == "mean wait [h]\n1 to 0"
    assert scale.places([0.0]).tolist() == [1]


@given(st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=5), st.sampled_from(["mean_slowdown", "throughput"]))
def test_a_scale_holds_all_values_in_order(values: list[float], name: str) -> None:
    scale = scale_of(name, *values)
    ends = sorted((scale.centre, scale.rim))
    assert max(values) <= ends[1]
    assert scale.cut or ends[0] <= min(values) or name == "throughput"
    places = scale.places(sorted(values, reverse=name == "mean_slowdown"))
    assert (np.diff(places) >= 0).all()


def test_each_spoke_of_the_figure_has_its_label_and_its_places() -> None:
    slow = replace(by_hand(), policy="slow", start=by_hand().start + 50, end=by_hand().end + 50)
    figure = kiviat([by_hand(), slow], METRICS)
    axes = figure.axes[0]
    expected = scales([summary(by_hand()), summary(slow)], METRICS)
    assert [text.get_text() for text in axes.texts] == [scale.label for scale in expected]
    (line,) = (line for line in axes.lines if line.get_label() == "slow")
    radius = np.hypot(*line.get_data())[:-1]
    places = [float(scale.places(summary(slow)[name])) for scale, name in zip(expected, METRICS, strict=True)]
    assert radius.tolist() == pytest.approx([0.12 + 0.88 * place for place in places])


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
    assert len(texts) == len(SPOKES) + 2  # and two policies
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
