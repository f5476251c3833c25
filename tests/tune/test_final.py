"""The final parts, on which only the best policies are compared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.tune.test_tuning import trace
from transom.models import JobTable
from transom.simulation import simulate
from transom.simulation.output.metrics import WEEK
from transom.tune import Keep
from transom.tune.figures import Figures
from transom.tune.objectives import DEFAULT
from transom.tune.search import Race
from transom.tune.split import FINAL, GAUGE, WHOLE, parts, rungs


def months(weeks: int = 6) -> Any:
    """The drawn trace, stretched over some weeks."""
    workload = trace()
    data = workload.jobs.data.copy()
    data[:, 1] = data[:, 1] * (weeks * WEEK - 1) // data[-1, 1]
    return replace(workload, jobs=JobTable(data))


def test_final_parts_hold_the_same_jobs_in_other_weeks() -> None:
    tuning = months()
    found = parts(tuning)
    final = [part for part in found if part.startswith(FINAL)]
    assert len(final) == 10
    runtime = dict(zip(tuning.jobs.id.tolist(), tuning.runtime.tolist(), strict=True))
    for part in final:
        jobs = found[part].jobs
        assert sorted(jobs.id.tolist()) == sorted(runtime)
        assert found[part].runtime.tolist() == [runtime[each] for each in jobs.id.tolist()]
        assert (np.diff(jobs.submit) >= 0).all()
    as_fast = found[final[2]].jobs  # at the load of the tuning part itself
    week = as_fast.submit // WEEK
    before = dict(zip(tuning.jobs.id.tolist(), (tuning.jobs.submit // WEEK).tolist(), strict=True))
    assert any(week[k] != before[each] for k, each in enumerate(as_fast.id.tolist()))
    assert found[final[2]].digest() != parts(tuning, seed=1)[final[2]].digest()
    assert not any(part.startswith(FINAL) for rung in rungs(list(found)) for part in rung)


def test_final_parts_are_of_several_loads() -> None:
    found = parts(trace())  # of half a day, whose weeks stay as they are
    waits = [simulate(found[f"{FINAL} {k}"], GAUGE).wait.mean() for k in (1, 2, 3, 4, 5)]
    assert waits == sorted(waits)
    assert waits[0] < 0.6 * waits[2] < 0.6 * waits[4]


def test_weeks_of_jobs_that_wait_for_others_stay() -> None:
    tuning = months()
    first, *_, last = tuning.jobs.id.tolist()
    chained = replace(tuning, jobs=JobTable(tuning.jobs.data, {last: (first,)}))
    moved = parts(chained)[f"{FINAL} 3"].jobs
    assert np.abs(np.sort(moved.submit) - np.sort(tuning.jobs.submit)).max() <= 3600
    assert moved.depends_on == {last: (first,)}


SLOWDOWNS = {"today": (10, 10, 10), "ahead": (5, 9, 9), "steady": (6, 6, 6), "third": (7, 1, 1), "greedy": (1, 1, 1)}
"""On the whole tuning part and on two final parts."""


def race() -> Race:
    def evaluate(asked: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Figures]:
        columns = {"slice 1": 0, WHOLE: 0, "final 1": 1, "final 2": 2}
        return {
            (policy, part): Figures(SLOWDOWNS[policy][columns[part]], 1.0, 9.0 if policy == "greedy" else 1.0)
            for policy, part in asked
        }

    today = dict.fromkeys(["slice 1", WHOLE], Figures(10.0, 1.0, 1.0))
    found = Race(evaluate, [["slice 1"], [WHOLE]], today, [Keep("max_wait", 1.5)], DEFAULT, lambda: False)  # type: ignore[arg-type]
    found.enter([*SLOWDOWNS], all_parts=True)
    return found


@pytest.mark.parametrize(("replayed", "best"), [(0, "ahead"), (1, "steady"), (2, "steady")])
def test_the_best_few_go_on_until_the_time_is_over(replayed: int, best: str) -> None:
    started, left = race(), [False] * replayed + [True]
    assert started.best() == started.scores["ahead"]
    started.final(2, ["final 1", "final 2"], "today", lambda: left.pop(0))
    found = started.best()
    assert found is not None
    assert (found.policy, found.parts) == (best, 2 + replayed)
