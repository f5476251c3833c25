from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.simulation.workloads import workloads
from transom.errors import SpecError
from transom.models import Window
from transom.simulation import Decision, RulePolicy, simulate
from transom.simulation.snapshots import snapshots, window_at
from transom.traces import Workload

pytestmark = pytest.mark.fast


@settings(max_examples=60)
@given(workloads(max_jobs=12, dependencies=True))
def test_windows_cut_from_a_schedule_are_those_the_policy_saw(workload: Workload) -> None:
    seen: list[Window] = []
    inner = RulePolicy("sjf", "easy")

    class Spy:
        order = "sjf"

        def decide(self, window: Window, /) -> Decision:
            seen.append(window)
            return inner.decide(window)

    schedule = simulate(workload, Spy())
    assert list(snapshots(schedule, 1, "sjf")) == seen
    assert [window_at(schedule, w.now).running for w in seen] == [w.running for w in seen]


@settings(max_examples=30)
@given(workloads(max_jobs=15))
def test_a_grid_takes_one_window_from_each_cell(workload: Workload) -> None:
    schedule = simulate(workload, "fcfs-easy")
    times = schedule.decisions["time"]
    found = [w.now for w in snapshots(schedule, 7)]
    cells: dict[int, int] = {}
    for time in times.tolist():
        cells.setdefault((time - int(times[0])) // 7, time)
    assert found == list(cells.values())
    assert all(len(w.queue) >= 2 for w in snapshots(schedule, 7, minimum=2))


def test_bad_distances_are_refused() -> None:
    with pytest.raises(SpecError, match="every and minimum must be > 0"):
        next(snapshots(None, 0))
