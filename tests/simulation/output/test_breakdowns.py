"""Metrics by mode, size, week and time."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulation.output.test_metrics import by_hand, schedules
from transom.errors import ModelError
from transom.models import Cluster, JobTable
from transom.simulation.core.schedule import Schedule
from transom.simulation.output import breakdowns
from transom.simulation.output.metrics import WEEK, Trim, node_seconds, utilisation

pytestmark = pytest.mark.fast


def test_groups_by_mode() -> None:
    groups = breakdowns.by_mode(by_hand())
    assert tuple(groups) == ("ready", "reserved", "backfilled")
    assert groups["ready"] == (2, 0.5, 210 / 3600, 210 / 1020, 0.0, 0.0)
    assert groups["reserved"] == (1, 0.25, 800 / 3600, 800 / 1020, 90.0, 90.0)
    trimmed = breakdowns.by_mode(by_hand(), Trim(head_seconds=100))
    assert trimmed["ready"].job_share == 1
    assert trimmed["reserved"].jobs == 0
    assert math.isnan(trimmed["reserved"].mean_wait)


@pytest.mark.parametrize(
    ("nodes", "edges"),
    [
        (1, (1,)),
        (4, (1, 2, 4)),
        (100, (1, 2, 4, 8, 16, 32, 64)),
        (128, (1, 2, 4, 8, 16, 32, 64, 128)),
        (4360, (1, 64, 128, 256, 512, 1024, 2048, 4096)),
    ],
)
def test_default_edges_follow_the_machine(nodes: int, edges: tuple[int, ...]) -> None:
    assert breakdowns.size_edges(Cluster(nodes)) == edges


def test_groups_by_size() -> None:
    assert {name: group.jobs for name, group in breakdowns.by_size(by_hand()).items()} == {"1": 1, "2-3": 2, "4": 1}
    own = breakdowns.by_size(by_hand(), edges=(1, 3))
    assert {name: group.jobs for name, group in own.items()} == {"1-2": 3, "3-4": 1}
    assert own["3-4"].mean_wait == 90


@pytest.mark.parametrize("edges", [(), (2, 4), (1, 4, 4), (1, 4, 2)])
def test_edges_that_do_not_ascend_are_named(edges: tuple[int, ...]) -> None:
    with pytest.raises(ModelError, match="edges must ascend from 1"):
        breakdowns.by_size(by_hand(), edges)


def test_weeks() -> None:
    unknown = np.full(3, -1)
    submit = np.array([1000, 1000 + WEEK - 1, 1000 + 2 * WEEK])
    table = np.column_stack(([1, 2, 3], submit, [2, 2, 4], [WEEK, WEEK, 10], unknown, unknown))
    start = submit + np.array([0, 1, 0])
    end = start + np.array([WEEK, WEEK, 10])
    weeks = breakdowns.by_week(Schedule("p", "w", Cluster(4), JobTable(table), start, end, [0, 0, 0], [0, 1, 2]))
    assert [(week.number, week.start) for week in weeks] == [(1, 1000), (3, 1000 + 2 * WEEK)]
    assert [week.group.jobs for week in weeks] == [2, 1]
    assert [week.utilisation for week in weeks] == [0.5, 10 / WEEK]
    assert weeks[0].group.node_hours == 2 * 2 * WEEK / 3600


@given(schedules(), st.floats(0, 0.4))
def test_weeks_are_those_of_their_jobs(schedule: Schedule, head: float) -> None:
    trim = Trim(head_fraction=head)
    kept, submit = trim.kept(schedule), schedule.jobs.submit
    week = (submit - submit[0]) // WEEK if len(submit) else submit
    listed = breakdowns.by_week(schedule, trim)
    assert [each.number - 1 for each in listed] == sorted({*week.tolist()})
    for each in listed:
        inside = kept & (week == each.number - 1)
        assert each.group.jobs == inside.sum()
        assert each.group.node_hours == node_seconds(schedule)[inside].sum() / 3600
        if inside.any():
            assert each.group.mean_wait == schedule.wait[inside].mean()
            assert each.group.max_wait == schedule.wait[inside].max()
            assert each.group.job_share == inside.sum() / kept.sum()
        assert each.utilisation == pytest.approx(utilisation(schedule, each.start, each.start + WEEK), abs=1e-12)


def test_means_over_time_by_hand() -> None:
    edges = np.array([-10, 0, 10, 20, 25, 100, 300, 310, 400])
    waiting = breakdowns.means_over_time(breakdowns.queue_length(by_hand()), edges)
    assert waiting.tolist() == [0, 0, 1, 1, 1, 0, 0, 0]
    used = breakdowns.used_nodes(by_hand())
    assert breakdowns.means_over_time(used, edges).tolist() == [0, 2, 2, 4, 2, 4, 1, 0]
    edges = np.array([-10, 0, 50, 100, 400])
    assert breakdowns.means_over_time(used, edges).tolist() == pytest.approx([0, 110 / 50, 2, 810 / 300])


def test_nothing_has_no_weeks_and_no_means() -> None:
    empty = Schedule("p", "w", Cluster(4), JobTable(np.empty((0, 6))), [], [], [], [])
    assert breakdowns.by_week(empty) == []
    assert breakdowns.means_over_time(breakdowns.used_nodes(empty), np.array([0, 5])).tolist() == [0]
    assert breakdowns.by_mode(empty)["ready"].jobs == 0


@given(schedules(), st.integers(1, 10))
def test_groups_add_up(schedule: Schedule, bins: int) -> None:
    for groups in (
        breakdowns.by_mode(schedule),
        breakdowns.by_size(schedule),
        {week.start: week.group for week in breakdowns.by_week(schedule)},
    ):
        assert sum(group.jobs for group in groups.values()) == len(schedule)
        assert sum(group.node_hours for group in groups.values()) == pytest.approx(node_seconds(schedule).sum() / 3600)
        assert sum(group.jobs * group.mean_wait for group in groups.values() if group.jobs) == pytest.approx(
            schedule.wait.sum()
        )
    edges = np.unique(np.linspace(0, 3 * 10**6, bins + 1).astype(np.int64))
    means = breakdowns.means_over_time(breakdowns.used_nodes(schedule), edges)
    expected = [utilisation(schedule, a, b) * 64 for a, b in pairwise(edges)]
    assert means.tolist() == pytest.approx(expected)
    waited = breakdowns.means_over_time(breakdowns.queue_length(schedule), np.array([0, 4 * 10**6]))
    assert waited[0] * 4 * 10**6 == pytest.approx(schedule.wait.sum())


@given(schedules(), st.integers(0, 2**32 - 1), st.floats(0, 50))
def test_groups_are_those_of_their_jobs(schedule: Schedule, seed: int, head: float) -> None:
    of = np.random.default_rng(seed).integers(-1, 3, len(schedule))
    trim = Trim(head_seconds=head)
    kept, work = trim.kept(schedule), node_seconds(schedule)
    found = breakdowns.by_group(schedule, ("a", "b", "c"), of, trim)
    assert set(found) == {"abc"[k] for k in of[kept].tolist() if k >= 0}
    assert sorted(-each.node_hours for each in found.values()) == [-each.node_hours for each in found.values()]
    for label, group in found.items():
        mine = kept & (of == "abc".index(label))
        assert group.jobs == mine.sum()
        assert group.node_hours == pytest.approx(work[mine].sum() / 3600)
        assert group.mean_wait == pytest.approx(schedule.wait[mine].mean())
        assert group.max_wait == schedule.wait[mine].max()
        assert group.job_share == pytest.approx(mine.sum() / kept.sum())
