"""Figures of fronts: what is drawn where, for one objective and for eleven."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from transom import Stop, registry, solve
from transom.errors import ModelError
from transom.models import ParetoFront, Selection
from transom.plot import front_figure, parallel
from transom.plot.front import _edge
from transom.plot.front_marks import Chosen, drawn, marks

LONG = "a resource of a name that is rather too long for an axis"


def window(objectives: int, waiting: bool = False, jobs: int = 11) -> Selection:
    rng = np.random.default_rng(objectives)
    demands = rng.integers(100, 999, (jobs, objectives - waiting))
    names = ("nodes", LONG, *(f"r{k}" for k in range(2, objectives)))[: objectives - waiting]
    capacity = np.full(len(names), 2500)
    if not waiting:
        return Selection(demands, capacity, resources=names, totals=2 * capacity)
    worth = np.column_stack((demands, rng.integers(1, 10**6, jobs)))
    scales = (1,) * len(names) + (1000,)
    return Selection(demands, capacity, worth, names, (*names, "waited"), scales, 2 * capacity)


def front_of(problem: Selection, solver: str = "exhaustive") -> ParetoFront:
    front = solve(problem, solver, Stop(seconds=600)).solution
    assert isinstance(front, ParetoFront)
    return front


def inside(figure: Figure) -> None:
    """Everything written lies inside the figure, and the legend below the axes."""
    FigureCanvasAgg(figure).draw()
    width, height = figure.get_size_inches() * figure.dpi
    for axes in figure.axes:
        for text in (*axes.texts, axes.xaxis.label, axes.yaxis.label):
            box = text.get_window_extent()
            if text.get_text() and axes.name != "3d" and box.width:
                assert box.x0 >= -1
                assert box.x1 <= width + 1
                assert box.y0 >= -1
                assert box.y1 <= height + 1
    for legend in figure.legends:
        box = legend.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= width
        assert box.y1 <= min(axes.get_window_extent().y0 for axes in figure.axes) + 1


def test_a_plane_shows_every_point_in_percent_and_the_edge_of_what_is_dominated() -> None:
    problem = window(2)
    front = front_of(problem)
    figure = front_figure(problem, {"exhaustive": front}, {"trade-off": ("exhaustive", 0), "2x": ("exhaustive", 0)})
    (axes,) = figure.axes
    edge, points, mark = axes.lines
    percent = 100 * front.values / problem.totals
    assert np.allclose(np.column_stack(points.get_data()), percent)
    assert np.allclose(np.column_stack(mark.get_data()), percent[:1])
    assert axes.get_xlabel() == "nodes [% of total]"
    x, y = edge.get_data()
    assert (np.diff(x) >= 0).all()
    assert (np.diff(y) <= 0).all()
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[0] == f"exhaustive ({len(front)} points)"
    assert labels[1].startswith("trade-off, 2x: ")
    assert labels[1].count("%") == 2
    inside(figure)


def test_the_edge_is_that_of_the_best_points() -> None:
    x, y = _edge(np.array([[3.0, 1.0], [1.0, 3.0], [1.0, 2.0], [2.0, 2.0]]), np.array([0.0, 0.0]))
    corners = list(zip(x.tolist(), y.tolist(), strict=True))
    assert corners[0] == (0, 3)
    assert corners[-1] == (3, 0)
    for corner in ((1, 3), (1, 2), (2, 2), (2, 1), (3, 1)):
        assert corner in corners


def test_several_fronts_share_a_picture_and_differ_without_colour() -> None:
    problem = window(2)
    fronts = {name: front_of(problem, name) for name in ("exhaustive", "dot-product", "fcfs", "weighted")}
    figure = front_figure(problem, fronts, {"knee": ("exhaustive", 0), "weighted": ("fcfs", 0)})
    lines = figure.axes[0].lines
    shapes = [line.get_marker() for line in lines[1:8:2]]
    assert len(set(shapes)) == 4
    assert len({line.get_linestyle() for line in lines[0:8:2]}) == 4
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert any(label.startswith("knee of exhaustive: ") for label in labels)
    inside(figure)


def test_space_and_its_planes() -> None:
    problem = window(3)
    front = front_of(problem)
    figure = front_figure(problem, {"exhaustive": front}, {"knee": ("exhaustive", len(front) - 1)})
    assert [axes.name for axes in figure.axes] == ["3d", *["rectilinear"] * 3]
    assert [axes.get_ylabel()[:5] for axes in figure.axes[1:]] == [LONG[:5], "r2 [%", "r2 [%"]
    values = drawn(problem, front)
    for axes, (x, y) in zip(figure.axes[1:], ((0, 1), (0, 2), (1, 2)), strict=True):
        assert np.allclose(np.column_stack(axes.lines[0].get_data()), values[:, [x, y]])
        assert np.allclose(np.column_stack(axes.lines[1].get_data()), values[-1:, [x, y]])
    inside(figure)


@pytest.mark.parametrize("objectives", [4, 11])
def test_parallel_coordinates(objectives: int) -> None:
    problem = window(objectives, waiting=True)
    front = front_of(problem)
    figure = front_figure(problem, {"exhaustive": front}, {"trade-off": ("exhaustive", 1), "knee": ("exhaustive", 0)})
    (axes,) = figure.axes
    (lines,) = [each for each in axes.collections if isinstance(each, LineCollection)]
    assert len(lines.get_segments()) == len(front)
    values = drawn(problem, front)
    low, high = values.min(axis=0), values.max(axis=0)
    expected = np.where(high > low, (values - low) / np.where(high > low, high - low, 1), 0.5)
    assert np.allclose([segment[:, 1] for segment in lines.get_segments()], expected)
    chosen = [line for line in axes.lines if line.get_label() in ("trade-off", "knee")]
    assert np.allclose([line.get_ydata() for line in chosen], expected[[1, 0]])
    assert len({line.get_marker() for line in chosen}) == 2
    assert len({str(line.get_linestyle()) for line in chosen}) == 2
    assert len(axes.get_xticklabels()) == objectives
    inside(figure)


def test_many_lines_are_thinned_out() -> None:
    problem = window(4)
    rng = np.random.default_rng(0)
    front = ParetoFront(rng.integers(1, 80, (5000, 4)), np.zeros((5000, 11), bool))
    figure = parallel(problem, {"a": front})
    assert len(figure.axes[0].collections[0].get_segments()) == 3000
    assert figure.legends[0].get_texts()[0].get_text() == "a (5,000 points)"


def test_one_objective_is_bars_and_one_point_is_a_front() -> None:
    problem = window(1)
    figure = front_figure(problem, {"exhaustive": front_of(problem), "fcfs": front_of(problem, "fcfs")})
    assert figure.axes[0].patches[0].get_width() == pytest.approx(drawn(problem, front_of(problem)).item())
    for objectives in (1, 2, 3, 5):
        problem = Selection(np.full((1, objectives), 2), np.full(objectives, 4))
        figure = front_figure(problem, {"a": front_of(problem, "fcfs")}, {"knee": ("a", 0)})
        inside(figure)


def test_marks_of_rules_that_agree_are_one() -> None:
    problem = window(2)
    front = front_of(problem)
    rules = registry.names(registry.DECISION_RULES)
    chosen: Chosen = {
        rule: ("exhaustive", registry.make(registry.DECISION_RULES, rule)(front, problem)) for rule in rules
    }
    found = marks(problem, {"exhaustive": front}, chosen, values=False)
    assert len(found) == len({point for _, point in chosen.values()})
    assert sorted(", ".join(mark.label for mark in found).split(", ")) == sorted(rules)
    assert len({mark.shape for mark in found}) == len(found)


def test_what_cannot_be_drawn_is_refused() -> None:
    problem = window(2)
    front = front_of(problem)
    with pytest.raises(ModelError, match="no front"):
        front_figure(problem, {})
    with pytest.raises(ModelError, match="'a' has 2 objectives, the problem 3"):
        front_figure(window(3), {"a": front})
    for chosen in ({"knee": ("b", 0)}, {"knee": ("a", len(front))}, {"knee": ("a", -1)}):
        with pytest.raises(ModelError, match="'knee' takes point"):
            front_figure(problem, {"a": front}, chosen)
