"""Figures of allocations: the cluster cell by cell, curves of solvers, methods side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from benchmarks import allocation_figures, periods
from tests.allocation_cases import figure_2
from transom import Stop, solve
from transom.errors import ModelError
from transom.io import write_documents
from transom.models import AUTHORS, Allocation, FatTree
from transom.plot import allocation_figure, anytime, hops_and_waits
from transom.plot.cluster import _BUSY, _IDLE, _colour
from transom.result import Result


def cells(figure: Figure, panel: int) -> tuple[np.ndarray, np.ndarray]:
    """Corners and colours of the cells of a panel."""
    (found,) = [each for each in figure.axes[panel].collections if isinstance(each, PolyCollection)]
    corners = np.array([path.vertices[0] for path in found.get_paths()])
    return corners, np.asarray(found.get_facecolor())[:, :3]


def coloured(colours: np.ndarray, shade: object) -> int:
    return int(np.isclose(colours, shade).all(axis=1).sum())


@pytest.mark.parametrize(
    "tree",
    [
        FatTree.uniform(60, 5, 20),
        FatTree.uniform(57, 25, 50),  # leaf switches that take two rows, an uneven end
        FatTree(np.arange(60) // 7 % 5, np.arange(60) // 7 % 5 // 2),  # nothing is consecutive
    ],
)
def test_every_node_has_a_cell_of_its_own_in_the_colour_of_its_job(tree: FatTree) -> None:
    idle = np.arange(3, tree.num_nodes, 2)
    problem = Allocation(tree, idle, np.array([4, 6]))
    result = solve(problem, "sequential")
    figure = allocation_figure(problem, {"Seq.": result.solution}, "a window")
    assert [axes.get_title().split(":")[0] for axes in figure.axes] == ["before", "Seq."]
    assert f"{result.value:,.0f}" in figure.axes[1].get_title()
    for panel, held in ((0, 0), (1, 10)):
        corners, colours = cells(figure, panel)
        assert len(np.unique(corners.round(3), axis=0)) == tree.num_nodes
        # No two cells overlap: all are one wide and high, and none begins inside another.
        apart = np.abs(corners[:, None, :] - corners[None, :, :]).max(axis=2) + np.eye(len(corners)) * 9
        assert apart.min() > 0.99
        assert coloured(colours, to_rgb(_BUSY)) == tree.num_nodes - len(idle)
        assert coloured(colours, to_rgb(_IDLE)) == len(idle) - held
        assert [coloured(colours, _colour(job)) for job in (0, 1)] == [4 * bool(held), 6 * bool(held)]


def test_large_clusters_show_the_pods_in_which_jobs_get_nodes() -> None:
    tree = FatTree.uniform(5000, 20, 400)
    problem = Allocation(tree, np.arange(900, 5000, 3), np.array([30, 20]))
    owner = problem.from_starts([0, 900])
    figure = allocation_figure(problem, {"a": owner})
    assert figure.get_suptitle() == "2 of 13 pods: those in which jobs get nodes"
    assert len(cells(figure, 1)[0]) == 800
    assert len(cells(allocation_figure(problem, {"a": owner}, every_pod=True), 1)[0]) == 5000
    assert len(cells(allocation_figure(problem, {}), 0)[0]) == 5000, "without a job all are shown"


def test_many_jobs_and_panels() -> None:
    problem = Allocation(FatTree.k_ary(12), np.arange(400), np.full(40, 5))
    owner = problem.from_starts(np.arange(0, 200, 5))
    figure = allocation_figure(problem, dict.fromkeys("abcdef", owner), before=False)
    assert len(figure.axes) == 6
    assert len(np.unique([_colour(job) for job in range(40)], axis=0)) == 40
    assert len(figure.legends[0].get_texts()) == 2, "so many jobs are not named"


def test_cells_of_small_trees_stay_small() -> None:
    problem = Allocation(FatTree.k_ary(4), np.arange(6), np.array([4]))
    figure = allocation_figure(problem, {"one": problem.owners([[0, 1, 2, 3]])})
    assert figure.get_size_inches()[1] < 4


def test_what_cannot_be_drawn() -> None:
    problem = figure_2()
    with pytest.raises(ModelError, match="there is no solution"):
        allocation_figure(problem, {}, before=False)
    with pytest.raises(ModelError, match="wrong: job 1 asks for 4 nodes and gets 0"):
        allocation_figure(problem, {"wrong": problem.owners([[0, 1, 2, 3]])})


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    problem = Allocation(FatTree.k_ary(8), np.arange(0, 120, 2), np.array([9, 7, 5, 5]))
    return {name: solve(problem, name, Stop(seconds=600)) for name in ("sequential", "sa:steps=200", "scas-dp")}


def test_curves_end_at_the_value_and_fall(results: dict[str, Result]) -> None:
    figure = anytime(results, "a window")
    above, below = figure.axes
    labels = above.get_legend_handles_labels()[1]
    assert [label.split(" ")[0] for label in labels] == [*results, "proved"]
    for line, (name, result) in zip(above.get_lines()[::3], results.items(), strict=False):
        times, values = line.get_data()
        assert values[-1] == result.value, name
        assert (np.diff(times) >= 0).all()
        assert (np.diff(values[~np.isnan(values)]) <= 0).all()
    assert results["scas-dp"].status == "optimal"
    best = min(float(result.value or 0) for result in results.values())
    gaps = below.get_lines()[0].get_ydata()
    assert gaps[-1] == pytest.approx(100 * (float(results["sequential"].value or 0) / best - 1))


def test_last_digits_do_not_fill_the_axis(results: dict[str, Result]) -> None:
    one = results["scas-dp"]
    near = replace(one, value=float(one.value or 0) * (1 + 1e-13))
    figure = anytime({"a": replace(one, curve=()), "b": replace(near, curve=())}, "title")
    low, high = figure.axes[0].get_ylim()
    assert high - low >= 1e-3 * float(one.value or 0)
    assert low < float(one.value or 0) < high


def test_curves_of_a_maximum_and_of_runs_without_a_value(results: dict[str, Result]) -> None:
    one = results["scas-dp"]
    empty = replace(one, status="unknown", reason="time", solution=None, value=None, bound=3.0, curve=((0.1, None, 3),))
    anytime({"found": one, "nothing": empty}, "title")
    late = replace(one, value=5.0, bound=5.0, curve=((0.0, 2.0, None), (0.2, 5.0, 5.0)))
    figure = anytime({"late": late}, "title", "max")
    assert figure.axes[1].get_lines()[0].get_ydata()[:2].tolist() == [60.0, 0.0]
    with pytest.raises(ModelError, match="no result has a value"):
        anytime({"nothing": empty}, "title")
    with pytest.raises(ModelError, match="different instances"):
        anytime({"a": one, "b": replace(one, instance="other")}, "title")
    with pytest.raises(ModelError, match="sense must be min or max"):
        anytime(results, "title", "lowest")


def test_hop_costs_and_waits_side_by_side() -> None:
    figure = hops_and_waits(["FCFS", "BF", "10 s"], {"a": [9e4, 8e4, 7e4], "b": [9e4, 9e4, 9e4]}, [5, 3, 8], "t", 2)
    costs, waits = figure.axes
    assert [bar.get_height() for bar in waits.patches] == [5, 3, 8]
    assert [line.get_ydata().tolist() for line in costs.get_lines()[:2]] == [[90, 80], [70]]
    for broken in ({}, {"a": [1.0]}):
        with pytest.raises(ModelError, match="one number per method"):
            hops_and_waits(["FCFS", "BF"], broken, [1, 2], "t")


def test_the_command_that_draws_a_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = Allocation(FatTree.k_ary(4), np.arange(12), np.array([5, 4]), cost=AUTHORS)
    write_documents(tmp_path / "windows.jsonl", [figure_2(), problem])
    file, out = str(tmp_path / "windows.jsonl"), str(tmp_path / "out")
    arguments = ["x", file, "--busiest", "--solvers", "sequential", "scas-dp", "--out", out]
    monkeypatch.setattr("sys.argv", arguments)
    allocation_figures.main()
    assert "DCAS" in capsys.readouterr().out
    assert {path.name for path in Path(out).iterdir()} == {"cluster_1.png", "anytime_1.png"}
    monkeypatch.setattr("sys.argv", [*arguments[:2], "--line", "3"])
    with pytest.raises(SystemExit):
        allocation_figures.main()
    assert "--line must be from 1 to 2, got 3" in capsys.readouterr().err


def test_the_command_of_the_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        "x",
        "--epochs",
        "2",
        "--jobs",
        "40",
        "--periods",
        "10",
        "60",
        "--solvers",
        "sequential",
        "scas-dp",
        "--out",
    ]
    monkeypatch.setattr("sys.argv", [*arguments, str(tmp_path / "six.png")])
    periods.main()
    shown = capsys.readouterr().out
    assert "2 epochs of 40 jobs on 1000 nodes, pods of 100, cost model paper" in shown
    assert (tmp_path / "six.png").stat().st_size > 5000
    rows = [line.split() for line in shown.splitlines() if line.strip().startswith(("sequential", "scas-dp"))]
    assert len(rows) == 8
    waits = [[row[-4] for row in rows if row[0] == solver] for solver in ("sequential", "scas-dp")]
    assert waits[0] == waits[1], "nodes do not change when jobs run"
    monkeypatch.setattr("sys.argv", ["x", "--epochs", "0"])
    with pytest.raises(SystemExit):
        periods.main()
    assert "--epochs and --jobs must be > 0, got 0 and 300" in capsys.readouterr().err
