"""Random selections and those of a replay."""

from __future__ import annotations

import numpy as np
import pytest

from transom import solve
from transom.errors import SpecError
from transom.generate import FAMILIES, Marked, family_selection, generate_lublin, replayed_selections, with_resources
from transom.models import Selection
from transom.models.selection_reduction import reduce_selection
from transom.rng import stream
from transom.simulation import Schedule, simulate
from transom.simulation.snapshots import window_at

pytestmark = pytest.mark.fast


def made(family: str, number: int = 1, **settings: object) -> Selection:
    return family_selection(family, stream(1, "test", family, number), **settings)


@pytest.mark.parametrize("family", FAMILIES)
def test_families_have_the_size_that_is_asked_for(family: str) -> None:
    for jobs, resources, largest in ((20, 3, 100), (1, 1, 1), (0, 2, 5), (500, 6, 1000)):
        problem = made(family, jobs=jobs, resources=resources, largest=largest, tightness=0.4)
        assert problem.demands.shape == (jobs, resources)
        assert problem.demands.max(initial=0) <= largest
        assert (problem.demands[:, 0] > 0).all()
        assert np.abs(problem.capacity - np.maximum(1, 0.4 * problem.demands.sum(axis=0))).max() <= 0.5
        assert problem.terms == problem.resources == ("nodes", *(f"r{r}" for r in range(1, resources)))
    assert made(family) == made(family) != made(family, 2)


def test_families_are_what_they_are_called() -> None:
    def correlation(family: str) -> float:
        return float(np.corrcoef(made(family, jobs=2000, resources=2, largest=1000).demands.T)[0, 1])

    assert correlation("correlated") > 0.9
    assert abs(correlation("uniform")) < 0.1
    assert correlation("inverse") < -0.5
    assert made("ties", jobs=200).demands.max() == 3
    heavy = made("heavy", jobs=2000, largest=10_000).demands
    assert np.median(heavy) < 500
    assert heavy.max() == 10_000
    sparse = made("sparse", jobs=2000).demands
    assert (sparse[:, 1:] == 0).mean() == pytest.approx(0.6, abs=0.05)


def test_marks_can_be_kept() -> None:
    forced = requires = excluded = 0
    for number in range(40):
        problem = made("uniform", number, jobs=12, marked=Marked(0.3, 0.2, 0.4), tightness=0.3)
        assert problem.trivial() != "infeasible"
        assert not (problem.forced & problem.excluded).any()
        assert all(job > other for job, other in problem.requires)
        forced, excluded = forced + int(problem.forced.sum()), excluded + int(problem.excluded.sum())
        requires += len(problem.requires)
    assert excluded == pytest.approx(40 * 12 * 0.2, rel=0.3)
    assert requires == pytest.approx(40 * 11 * 0.4, rel=0.3)
    assert forced > 40


def test_objectives_by_name() -> None:
    problem = made("uniform", objectives="nodes/r2/waited/priority")
    assert problem.terms == ("nodes", "r2", "waited", "priority")
    assert np.array_equal(problem.objectives[:, 1], problem.demands[:, 2])
    assert (np.diff(problem.objectives[:, 2]) <= 0).all()
    assert problem.objectives[:, 3].max() <= 10
    assert problem.resources == ("nodes", "r1", "r2")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"family": "foo"}, "family 'foo' is unknown"),
        ({"jobs": -1}, "jobs >= 0"),
        ({"resources": 0}, "resources > 0"),
        ({"largest": 0}, "largest from 1"),
        ({"tightness": 0.0}, "tightness must be > 0"),
        ({"marked": Marked(1.5)}, "shares must be from 0 to 1"),
        ({"objectives": "gpu"}, "unknown objective or resource 'gpu'"),
    ],
)
def test_bad_settings(settings: dict[str, object], says: str) -> None:
    with pytest.raises(SpecError, match=says):
        made(str(settings.pop("family", "uniform")), **settings)


@pytest.fixture(scope="module")
def schedule() -> Schedule:
    workload = generate_lublin(400, 64, np.random.default_rng(1), load=0.9)
    return simulate(with_resources(workload, "bb=normal,gpu=[normal:share=0.5]"), "fcfs-easy")


def test_selections_of_a_replay_are_what_it_met(schedule: Schedule) -> None:
    found = list(replayed_selections(schedule, 600, 8, 3))
    assert len(found) > 20
    windows = [window_at(schedule, time) for time in schedule.decisions["time"].tolist()]
    for problem in found:
        assert len(problem) <= 8
        assert problem.resources == ("nodes", "bb", "gpu")
        assert problem.totals.tolist() == [64, *schedule.cluster.capacities]
        assert len(reduce_selection(problem).jobs) >= 3
        # Some window of the replay has this head of the queue, with this free.
        assert any(
            np.array_equal(window.available, problem.capacity)
            and np.array_equal(window.requests()[: len(problem)], problem.demands)
            for window in windows
        )
    worth = list(replayed_selections(schedule, 600, 8, 3, "gpu/wait"))
    assert len(worth) == len(found)
    assert worth[0].terms == ("gpu", "wait")
    assert solve(worth[0], "exhaustive").status == "optimal"
    with pytest.raises(SpecError, match="size must be > 0"):
        replayed_selections(schedule, size=0)
