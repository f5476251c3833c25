"""All figures: what they show, that they are written whole, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from tests.simulation.output.test_metrics import by_hand
from transom.errors import ModelError
from transom.models import Cluster, FatTree, JobTable
from transom.plot import figures, gantt, kiviat, save, save_figures, timeline, wait_by_mode, wait_by_size, weekly
from transom.plot.all_figures import file_names
from transom.plot.kiviat import SPOKES
from transom.plot.style import comparable, policy_styles, time_unit
from transom.simulation.core.schedule import Schedule, Spread
from transom.simulation.nodes.lowest_idle import assign_nodes
from transom.simulation.output.metrics import WEEK, Trim


def long_schedule(policy: str = "fcfs-easy", seed: int = 0, jobs: int = 300) -> Schedule:
    """Three weeks on 16 nodes, jobs one after the other; modes at random."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, 2 * WEEK, jobs))
    start = np.maximum(submit, 3 * WEEK * np.arange(jobs) // jobs)
    unknown = np.full(jobs, -1)
    nodes = rng.integers(1, 17, jobs)
    table = JobTable(np.column_stack((np.arange(1, jobs + 1), submit, nodes, unknown + 8000, unknown, unknown)))
    end = np.minimum(start + 6000, np.append(start[1:], start[-1] + 6000))
    end = np.maximum(end, start + 1)
    keep = np.append(np.diff(start) > 0, True)
    return Schedule(
        policy, "random", Cluster(16), table.take(keep), start[keep], end[keep],
        rng.integers(0, 3, keep.sum()), np.arange(keep.sum()),
    )  # fmt: skip


def test_everything_is_drawn_and_written(tmp_path: Path) -> None:
    seen: list[Path] = []
    schedules = [long_schedule("fcfs-easy"), long_schedule("window:size=3", seed=1)]
    schedules[1] = replace(schedules[0], policy="window:size=3", mode=np.zeros(len(schedules[0])))
    paths = save_figures(schedules, tmp_path / "new", progress=seen.append)
    names = (
        "timeline", "wait_by_size", "wait_by_mode", "kiviat", "weekly",
        "gantt_fcfs-easy", "gantt_week_fcfs-easy", "gantt_window-size-3", "gantt_week_window-size-3",
    )  # fmt: skip
    assert paths == seen == [tmp_path / "new" / f"{name}.png" for name in names]
    assert sorted(paths) == sorted((tmp_path / "new").iterdir())
    for path in paths:
        assert path.read_bytes().startswith(b"\x89PNG\r\n")
        assert path.stat().st_size > 3000


@pytest.mark.parametrize("known", [True, False])
def test_timeline_and_weeks_show_the_log_where_it_states_all_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, known: bool
) -> None:
    plain = long_schedule(jobs=60)
    logged = np.where(known | (plain.start > plain.start[0]), plain.start + 50, -1)
    drawn: dict[str, list[str]] = {}

    def note(name: str, drawing: Callable[..., Figure]) -> Callable[..., Figure]:
        def noted(schedules: Sequence[Schedule], *more: Trim | None) -> Figure:
            drawn[name] = [schedule.policy for schedule in schedules]
            return drawing(schedules, *more)

        return noted

    for name, drawing in (("timeline", timeline), ("weekly", weekly), ("wait_by_mode", wait_by_mode)):
        monkeypatch.setattr(f"transom.plot.all_figures.{name}", note(name, drawing))
    for _ in figures([replace(plain, logged=logged)]):
        pass
    both = ["fcfs-easy", *(["as logged"] if known else [])]
    assert drawn == {"timeline": both, "weekly": both, "wait_by_mode": ["fcfs-easy"]}


def test_the_kiviat_graph_tells_hops_on_a_tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plain = by_hand()
    tree = FatTree.uniform(plain.cluster.num_nodes, 1, 2)
    jobs = len(plain)
    spread = Spread(np.arange(jobs), np.ones(jobs), np.ones(jobs))
    placed = replace(plain, cluster=replace(plain.cluster, topology=tree), spread=spread)
    schedules = [placed, replace(placed, policy="other")]
    drawn: list[Sequence[str]] = []

    def drawing(schedules: Sequence[Schedule], metrics: Sequence[str], trim: Trim | None) -> Figure:
        drawn.append(metrics)
        return kiviat(schedules, metrics, trim=trim)

    monkeypatch.setattr("transom.plot.all_figures.kiviat", drawing)
    save_figures(schedules, tmp_path)
    save_figures([plain, replace(plain, policy="other")], tmp_path)
    assert drawn == [(*SPOKES, "mean_hop_cost"), SPOKES]


def test_a_short_schedule_of_one_policy_has_fewer_figures(tmp_path: Path) -> None:
    paths = save_figures([by_hand()], tmp_path)
    assert [path.name for path in paths] == [
        "timeline.png", "wait_by_size.png", "wait_by_mode.png", "gantt_fcfs-easy.png",
    ]  # fmt: skip


def test_figures_are_returned_and_shown_in_a_notebook_as_they_are_saved(tmp_path: Path) -> None:
    schedule = by_hand()
    drawn = dict(figures([schedule]))
    paths = save_figures([schedule], tmp_path)
    assert [path.stem for path in paths] == list(drawn)
    for path, figure in zip(paths, drawn.values(), strict=True):
        assert isinstance(figure, Figure)
        assert figure._repr_png_() == path.read_bytes()
    placed = gantt(schedule, assign_nodes(schedule))
    assert gantt(schedule)._repr_png_() == placed._repr_png_() == drawn["gantt_fcfs-easy"]._repr_png_()


def test_axes_carry_units() -> None:
    schedule = long_schedule()
    runs = assign_nodes(schedule)
    drawn = [
        (gantt(schedule, runs), ["time since the first submission [days]"], ["node [number]"]),
        (
            timeline([schedule]),
            ["time since the first submission [days]"],
            ["utilisation [%] (grey)", "waiting [jobs] (line)"],
        ),
        (wait_by_size([schedule]), ["job size [nodes]"], ["wait [h]"]),
        (wait_by_mode([schedule]), ["mean wait [h]"], []),
        (weekly([schedule]), ["week of the submission"], ["submitted\n[1,000 node-hours]", "mean wait [h]"]),
    ]
    for figure, x, y in drawn:
        assert [axes.get_xlabel() for axes in figure.axes if axes.get_xlabel()] == x
        assert [axes.get_ylabel() for axes in figure.axes if axes.get_ylabel()] == y


def test_text_is_readable_at_print_size() -> None:
    schedules = [long_schedule(), replace(long_schedule(), policy="other")]
    drawn = [
        timeline(schedules),
        wait_by_size(schedules),
        wait_by_mode(schedules),
        kiviat(schedules),
        weekly(schedules),
    ]
    for figure in drawn:
        assert figure.get_figwidth() <= 7
        for axes in figure.axes:
            for text in [axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels(), *axes.get_yticklabels()]:
                assert text.get_fontsize() >= 8


def test_scatter_shows_every_job_that_counts() -> None:
    figure = wait_by_size([by_hand()])
    points = figure.axes[0].collections[0].get_offsets()
    assert sorted(np.round(points[:, 1] * 3600).tolist()) == [0, 0, 0, 90]
    assert (figure.axes[0].get_ylim()[1] * 3600) > 90


def test_every_panel_shows_the_longest_wait() -> None:
    short, long = by_hand(), replace(by_hand(), policy="slow", start=by_hand().start + 9000, end=by_hand().end + 9000)
    for axes in wait_by_size([short, long]).axes:
        assert axes.get_ylim()[1] > 9000 / 3600
        assert axes.get_ylim()[0] == 0


def test_bars_are_the_means_by_mode() -> None:
    bars = wait_by_mode([by_hand()]).axes[0].patches
    assert [round(bar.get_width() * 3600) for bar in bars] == [0, 90, 0]


def test_drawing_leaves_no_trace_in_the_settings_of_the_user(tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    matplotlib.rcParams["font.size"] = 30
    try:
        figure = timeline([by_hand()])
        save(figure, tmp_path / "a.png")
        assert matplotlib.rcParams["font.size"] == 30
        assert figure.axes[0].xaxis.label.get_fontsize() == 8
    finally:
        matplotlib.rcParams.update(before)


def test_nothing_heavy_is_loaded_before_a_figure_is_drawn() -> None:
    code = "import sys, transom.plot; print(sorted({'matplotlib', 'polars', 'numba'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_unknown_kinds_of_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="figures are written as png, pdf, svg"):
        save(timeline([by_hand()]), tmp_path / "a.bmp")
    assert list(tmp_path.iterdir()) == []


def test_schedules_that_do_not_compare_are_refused() -> None:
    one = by_hand()
    empty = Schedule("p", "w", Cluster(4), JobTable(np.empty((0, 6))), [], [], [], [])
    for schedules, condition in [
        (one, "schedules: expected a list of schedules, got Schedule"),
        (["fcfs-easy"], "schedule: expected what simulate returns, got str 'fcfs-easy'"),
        ([], "no schedule"),
        ([empty], "the schedule of 'p' has no jobs"),
        ([one, one], "two schedules have one name: fcfs-easy, fcfs-easy"),
        ([one, replace(one, policy="b", rules="cqsim")], "differ in rules: 'textbook' and 'cqsim'"),
        ([one, replace(one, policy="b", workload="c")], "differ in workload"),
        ([one, replace(one, policy="b", cluster=Cluster(5))], "differ in cluster"),
    ]:
        with pytest.raises(ModelError, match=condition):
            comparable(schedules)
        with pytest.raises(ModelError, match=condition):
            timeline(schedules)


def test_styles_differ_and_units_fit() -> None:
    styles = policy_styles([str(i) for i in range(28)])
    assert len({tuple(style.values()) for style in styles.values()}) == 28
    assert [time_unit(s)[1] for s in (60, 3600, 86_400, 5 * 86_400, 30 * 86_400)] == ["s", "min", "h", "days", "weeks"]


def test_a_dollar_in_a_name_begins_no_formula(tmp_path: Path) -> None:
    odd = replace(long_schedule(r"$\frac{$"), workload=r"a$\frac{$b" + 60 * "$")
    schedules = [odd, replace(odd, policy=28 * "$^"), replace(odd, policy="fcfs")]
    for name, figure in [*figures(schedules), *figures(schedules[:1])]:
        save(figure, tmp_path / f"{name}.svg")
    assert r"$\frac{$ on a$\frac{$b" in (tmp_path / "timeline.svg").read_text()


def test_file_names_are_plain_and_distinct() -> None:
    assert file_names(["fcfs-easy", "a/b", "a:b", "../..", "x" * 99]) == [
        "fcfs-easy",
        "a-b",
        "a-b-2",
        "policy",
        "x" * 60,
    ]
