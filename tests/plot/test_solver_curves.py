from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from transom.errors import ModelError
from transom.plot import (
    Line,
    encoded,
    gap_over_time,
    hypervolume_over_time,
    overshoots,
    performance_profile,
    proofs_over_time,
    targets_reached,
)

TIMES = [0.001, 0.01, 0.1]
LINES = {
    "auto": Line(TIMES, [1, 0.1, 0]),
    "sa": Line(TIMES, [1, 0.5, 0.25]),
}
DRAW: dict[str, Callable[..., object]] = {
    "gap": gap_over_time,
    "hypervolume": hypervolume_over_time,
    "targets": targets_reached,
    "proofs": proofs_over_time,
    "profile": lambda lines, title: performance_profile(lines, title, "gap of 1 %"),
}


def drawn(axes: object) -> dict[str, tuple[list[float], list[float]]]:
    return {
        line.get_label(): (list(line.get_xdata()), list(line.get_ydata()))
        for line in axes.lines
        if not line.get_label().startswith("_")
    }


@pytest.mark.parametrize("name", DRAW)
def test_lines_are_shares_in_per_cent_over_a_logarithmic_axis(name: str) -> None:
    axes = DRAW[name](LINES, "windows, 0.1 s").axes[0]
    assert drawn(axes)["auto"] == (TIMES, pytest.approx([100, 10, 0]))
    assert drawn(axes)["sa"] == (TIMES, pytest.approx([100, 50, 25]))
    assert axes.get_xscale() == "log"
    assert all(line.get_drawstyle() == "steps-post" for line in axes.lines)
    assert axes.get_title(loc="left") == "windows, 0.1 s"


def test_a_name_looks_the_same_whoever_is_left_out() -> None:
    alone = gap_over_time({"sa": LINES["sa"]}, "", ["auto", "sa"]).axes[0].lines[0]
    together = gap_over_time(LINES, "").axes[0].lines[1]
    assert (
        alone.get_color() == together.get_color() != gap_over_time({"sa": LINES["sa"]}, "").axes[0].lines[0].get_color()
    )


def test_long_lines_are_thinned_and_keep_their_ends() -> None:
    x = np.arange(1, 100_001)
    times, values = drawn(targets_reached({"auto": Line(x, x / 100_000)}, "").axes[0])["auto"]
    assert len(times) <= 400
    assert (times[0], times[-1]) == (1, 100_000)
    assert values[-1] == 100


def test_the_overshoot_has_its_quantiles_in_milliseconds() -> None:
    sample = np.arange(101) / 1000
    axes = overshoots({"auto": sample, "early": -sample}, "", limit=0.075).axes[0]
    marks = {(line.get_marker(), line.get_ydata()[0]): line.get_xdata()[0] for line in axes.lines}
    assert marks["o", 0] == pytest.approx(50)
    assert marks["|", 0] == pytest.approx(99)
    assert marks["x", 0] == pytest.approx(100)
    assert marks["x", 1] == 0, "whoever ends before the budget is not past it"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["auto", "early"]
    assert "limit, 75 ms" in [line.get_label() for line in axes.lines]


def test_labels_lie_inside_the_figure() -> None:
    lines = {f"a solver with a name that is rather too long {i}": Line(TIMES, [1, 1, 1]) for i in range(9)}
    for figure in (targets_reached(lines, ""), overshoots({name: [0.1] for name in lines}, "", 0.05)):
        figure.draw_without_rendering()
        width, height = figure.get_size_inches() * figure.dpi
        axes = figure.axes[0]
        names = [label for label in axes.get_yticklabels() if label.get_text().startswith("a solver")]
        for text in (*figure.legends[0].get_texts(), *names, axes.xaxis.label, axes.yaxis.label):
            if not text.get_text():
                continue
            box = text.get_window_extent()
            assert min(box.x0, box.y0) >= 0
            assert box.x1 <= width
            assert box.y1 <= height


def test_odd_names_stand_in_the_legend_as_they_are() -> None:
    names = ["a$x_{$b", "_hidden", "$"]
    figure = targets_reached(dict.fromkeys(names, LINES["sa"]), "")
    drawing = encoded(figure, "svg").decode()
    for name in names:
        assert f">{name}</text>" in drawing or f"> {name}</text>" in drawing
    encoded(overshoots({name: [0.1] for name in names}, ""), "pdf")


def test_what_does_not_fit_is_an_error() -> None:
    with pytest.raises(ModelError, match="no line"):
        targets_reached({}, "")
    with pytest.raises(ModelError, match="'auto' has arrays of different lengths"):
        gap_over_time({"auto": Line([1, 2], [1])}, "")
    with pytest.raises(ModelError, match="no run"):
        overshoots({"auto": []}, "")
