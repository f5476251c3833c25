"""One slow policy does not flatten the others: their axis is logarithmic then, and says so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from tests.plot.test_figures import long_schedule
from transom.plot import timeline, wait_by_mode, wait_by_size, weekly
from transom.plot.shared_scale import FACTOR, one_dominates, share_scale
from transom.simulation.core.schedule import Schedule


def delayed(factor: float) -> list[Schedule]:
    """Three policies whose jobs wait an hour or so, one of them `factor` times as long."""
    base = long_schedule()
    wait = np.linspace(1800, 5400, len(base)).astype(int)

    def after(name: str, wait: np.ndarray) -> Schedule:
        start = base.jobs.submit + wait
        return replace(base, policy=name, start=start, end=start + 600)

    return [after("a", wait), after("b", wait), after("slow", (wait * factor).astype(int))]


@pytest.mark.parametrize("draw", [timeline, weekly, wait_by_size, wait_by_mode])
def test_an_axis_is_logarithmic_where_one_policy_dominates(draw: object) -> None:
    def shared(figure: Figure) -> tuple[str, str]:
        """The scale and the label of the axis that shows waits or waiting jobs."""
        found = {}
        for axes in figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                if "wait" in axis.get_label_text():
                    found[axis.get_label_text()] = axis.get_scale()
        ((label, scale),) = found.items()
        return scale, label

    scale, label = shared(draw(delayed(FACTOR - 1)))
    assert scale == "linear"
    assert "logarithmic" not in label
    scale, label = shared(draw(delayed(100)))
    assert scale == "symlog"
    assert "\nlogarithmic above" in label


def test_all_panels_of_the_timeline_share_the_scale() -> None:
    queues = [axes for axes in timeline(delayed(100)).axes if axes.yaxis.get_ticks_position() == "right"]
    assert {axes.get_yscale() for axes in queues} == {"symlog"}
    assert len({axes.get_ylim() for axes in queues}) == 1
    assert len(queues) == 3


@pytest.mark.parametrize(
    ("sizes", "dominated"),
    [
        ([1, 1, 5], False),
        ([1, 1, 5.1], True),
        ([1, 5.1], True),
        ([5.1, 5.1, 1], False),
        ([0, 0, 1], True),
        ([0, 0], False),
        ([7], False),
        ([1, 9, np.nan], True),
        ([np.nan], False),
    ],
)
def test_one_dominates_beyond_the_factor_of_the_median(sizes: list[float], dominated: bool) -> None:
    assert one_dominates(sizes) == dominated


def test_the_logarithmic_part_begins_below_the_median_policy() -> None:
    axes = Figure().add_subplot()
    label = share_scale(axes.yaxis, [np.array([7.0, np.nan]), np.array([9.0]), np.array([200.0, 400.0])], "wait [h]")
    assert label == "wait [h]\nlogarithmic above 0.1"
    assert axes.get_yticks().tolist() == pytest.approx([0, 0.1, 1, 10, 100])
    assert axes.get_ylim()[0] == 0
    assert axes.get_ylim()[1] > 400


def test_values_that_are_all_zero_or_unknown_have_a_linear_axis() -> None:
    for values in (np.zeros(3), np.full(3, np.nan), np.empty(0)):
        axes = Figure().add_subplot()
        assert share_scale(axes.yaxis, [values, values], "wait [h]") == "wait [h]"
        assert axes.get_ylim() == (0, 1)
