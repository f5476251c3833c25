from __future__ import annotations

import numpy as np
import pytest

from transom import read_swf, simulate
from transom.errors import ModelError
from transom.plot import decision_times, gain_over_time, knob_sweep, utilisation_kiviat
from transom.simulation.output.metrics import utilisation

METHODS = {"fcfs": [0.5, 0.6, 0.7], "multisched": [0.8, 0.9, 1.0]}


def drawn(axes: object) -> dict[str, tuple[list[float], list[float]]]:
    return {
        line.get_label(): (list(line.get_xdata()), list(line.get_ydata()))
        for line in axes.lines
        if not line.get_label().startswith("_")
    }


def test_utilisation_lies_on_its_spoke() -> None:
    figure = utilisation_kiviat(["nodes", "bb", "gpu"], METHODS, "theta")
    lines = drawn(figure.axes[0])
    assert list(lines) == list(METHODS)
    for name, values in METHODS.items():
        x, y = (np.array(each) for each in lines[name])
        level = (np.array(values) - 0.45) / 0.55  # from the step below the least to the one above the most
        assert np.hypot(x, y)[:3] == pytest.approx(0.12 + 0.88 * level)
        assert (x[0], y[0]) == pytest.approx((0, 0.12 + 0.88 * level[0])), "the first spoke points up"
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert texts >= {"nodes", "bb", "gpu", "45 %", "72.5 %", "100 %"}


def test_the_knob_sweep_has_both_sides() -> None:
    figure = knob_sweep([0, 0.5, 1], {"nodes": [0.5, 0.6, 0.7]}, {"kept": [1, 0.9, 0.8]}, "theta")
    left, right = (drawn(axes) for axes in figure.axes)
    assert left["nodes"][1] == pytest.approx([50, 60, 70])
    assert right["kept"] == ([0, 0.5, 1], pytest.approx([100, 90, 80]))


def test_times_are_milliseconds_on_a_logarithmic_scale() -> None:
    figure = decision_times([2, 6, 10], {"bbsched": [0.001, 0.01, np.nan]}, 0.6, "windows of 20")
    assert drawn(figure.axes[0])["bbsched"][1][:2] == pytest.approx([1, 10])
    assert figure.axes[0].get_yscale() == "log"
    assert "0.6 s" in figure.axes[0].texts[0].get_text()


def test_the_gain_ends_at_the_difference_of_the_utilisations() -> None:
    workload = read_swf("instances/workloads/lublin_5000.swf.gz")
    schedules = [simulate(workload, policy) for policy in ("saf-easy", "fcfs-easy", "fcfs")]
    figure = gain_over_time(schedules)
    lines = drawn(figure.axes[0])
    assert list(lines) == ["fcfs-easy", "fcfs"]
    end = int(workload.jobs.submit.max())
    for schedule in schedules[1:]:
        begin = int(workload.jobs.submit.min())
        gained = 100 * (utilisation(schedules[0], begin, end) - utilisation(schedule, begin, end))
        assert lines[schedule.policy][1][-1] == pytest.approx(gained)


def test_what_does_not_fit_is_an_error() -> None:
    with pytest.raises(ModelError, match="three resources"):
        utilisation_kiviat(["nodes", "bb"], {"fcfs": [1, 1]}, "")
    with pytest.raises(ModelError, match="must have 3 numbers"):
        utilisation_kiviat(["nodes", "bb", "gpu"], {"fcfs": [1, 1]}, "")
    with pytest.raises(ModelError, match="must have 2 numbers"):
        knob_sweep([0, 1], {"nodes": [1, 1]}, {"kept": [1]}, "")
    with pytest.raises(ModelError, match="must have 0 numbers, one at least"):
        decision_times([], {}, None, "")
    workload = read_swf("instances/workloads/lublin_5000.swf.gz")
    with pytest.raises(ModelError, match="two schedules"):
        gain_over_time([simulate(workload, "fcfs")])
