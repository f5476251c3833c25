"""The Gantt chart: exact coverage, however many rectangles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plot.test_figures import long_schedule
from tests.simulation.output.test_metrics import by_hand
from transom.errors import ModelError
from transom.models import JobTable
from transom.plot import bands, gantt
from transom.plot.gantt import busiest, coverage_image
from transom.plot.style import MODE_COLOURS
from transom.simulation.core.node_runs import NodeRuns
from transom.simulation.core.outage_log import OutageLog
from transom.simulation.nodes.lowest_idle import assign_nodes
from transom.simulation.output.metrics import WEEK

LIMITS = (0.0, 5.0, 0.0, 4.0)


def painted(boxes: list[tuple[float, float, float, float]]) -> np.ndarray:
    table = np.array(boxes, float).reshape(-1, 4)
    return coverage_image(table, np.zeros(len(boxes), np.int64), ("#000000",), LIMITS)


def test_a_box_covers_exactly_its_area() -> None:
    image = painted([(1.0, 3.0, 1.0, 2.5)])
    height, width, _ = image.shape
    assert (1 - image[:, :, 0]).sum() / (height * width) == pytest.approx(2 * 1.5 / 20)
    assert image[int(1.5 / 4 * height), int(2 / 5 * width), 0] == 0
    assert image[0, 0, 0] == 1


@settings(max_examples=30)
@given(st.lists(st.floats(0, 5), min_size=2, max_size=8, unique=True), st.integers(0, 3), st.integers(1, 4))
def test_coverage_adds_up(cuts: list[float], low: int, high: int) -> None:
    cuts.sort()
    top = min(low + high, 4)
    boxes = [(a, b, low, top) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    image = painted(boxes)
    share = sum((b - a) * (top - low) for a, b, *_ in boxes) / 20
    assert (1 - image[:, :, 0]).mean() == pytest.approx(share, abs=1e-9)
    assert image.min() >= 0
    assert image.max() <= 1


def test_boxes_beyond_the_limits_are_cut() -> None:
    assert painted([(-10, 10, -10, 10)]).max() == pytest.approx(0)
    assert painted([(6, 10, 0, 4)]).min() == pytest.approx(1)


def test_few_rectangles_are_drawn_as_such() -> None:
    schedule = by_hand()
    figure = gantt(schedule, assign_nodes(schedule))
    (boxes,) = figure.axes[0].collections
    corners = np.array([path.vertices[:4] for path in boxes.get_paths()])
    area = np.ptp(corners[:, :, 0], axis=1) * 60 * np.ptp(corners[:, :, 1], axis=1)  # minutes times nodes
    assert area.sum() == pytest.approx(1020)
    assert np.round(boxes.get_facecolors()[0, :3] * 255).tolist() == [0x88, 0xCC, 0xEE]
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == list(MODE_COLOURS)


def test_many_rectangles_are_drawn_as_an_image() -> None:
    schedule = long_schedule(jobs=6000)
    figure = gantt(schedule, assign_nodes(schedule), colour="job")
    (image,) = figure.axes[0].get_images()
    covered = (image.get_array() < 1).any(axis=2).mean()
    assert covered > 0.3
    assert figure.axes[0].get_xlim() == (0, image.get_extent()[1])


def test_a_part_of_the_time_can_be_shown() -> None:
    schedule = by_hand()
    figure = gantt(schedule, assign_nodes(schedule), start=20, end=25)
    (boxes,) = figure.axes[0].collections
    assert len(boxes.get_paths()) == 2
    assert figure.axes[0].get_xlim() == (20, 25)
    with pytest.raises(ModelError, match="end must be > start = 25 s, got 25"):
        gantt(schedule, assign_nodes(schedule), start=25, end=25)


def test_the_busiest_week_has_most_nodes_in_use() -> None:
    schedule = long_schedule()
    start, end = busiest(schedule)
    day, first = WEEK // 7, int(schedule.jobs.submit[0])
    assert (start - first) % day == 0
    assert end - start == WEEK
    used = [
        (
            np.clip(np.minimum(schedule.end, s + WEEK) - np.maximum(schedule.start, s), 0, None) * schedule.jobs.nodes
        ).sum()
        for s in range(first, int(schedule.end.max()) - WEEK + day, day)
    ]
    assert (start - first) // day == int(np.argmax(used))
    assert busiest(by_hand()) == (0, 310)


def test_the_busiest_week_of_jobs_that_never_wait_is_the_fullest() -> None:
    schedule = long_schedule()
    day = WEEK // 7
    submit = np.array([0, day, 9 * day, 10 * day, 20 * day])
    jobs = JobTable(np.column_stack((np.arange(1, 6), submit, [2, 2, 8, 8, 1], np.full(5, day), *np.full((2, 5), -1))))
    light = replace(
        schedule, jobs=jobs, start=submit, end=submit + day, mode=np.zeros(5, np.int64), order=np.arange(5),
        decisions={}, runs=None,
    )  # fmt: skip
    start, end = busiest(light)
    assert start <= 9 * day
    assert end >= 11 * day


def test_what_nodes_are_out_for_is_named() -> None:
    schedule, runs = by_hand(), NodeRuns(np.array([0]), *np.empty((2, 0), np.int64))
    none = np.empty(0, np.int64)
    log = OutageLog(
        "requeue", np.array([1, 0]), np.arange(2), np.array([30, 40]), np.array([40, 50]), np.zeros(2), np.zeros(2),
        none, none, none, runs, none,
    )  # fmt: skip
    for drawing in (gantt, bands):
        (axes,) = drawing(replace(schedule, outages=log)).axes
        assert "failure, maintenance" in [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_few_workflows_are_named_beside_their_colours() -> None:
    names = [f"flow{i}" for i in range(9)]
    (legend,) = gantt(by_hand(), colour="user", names=names[:2]).legends
    assert [each.get_text() for each in legend.get_texts()] == names[:2]
    assert len(gantt(by_hand(), colour="user", names=names).legends) == 1
    assert gantt(by_hand(), colour="user", names=[*names, "tenth"]).legends == [], "colours recur"
    assert gantt(by_hand(), colour="user").legends == []
