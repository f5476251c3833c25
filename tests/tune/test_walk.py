"""Walk-forward: each step is tuned on what came before it, and only on that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.tune.test_tuning import KEEP, SPACE, trace
from transom.errors import SpecError
from transom.models import JobTable
from transom.simulation import simulate
from transom.traces import Workload
from transom.tune import Step, Terms, choose, over_all, read_space, split, walk
from transom.tune.figures import figures
from transom.tune.walk import AGAIN, BEST, ONCE, summed_up

DAYS = 12_000.0


@pytest.fixture
def terms(tmp_path: Path) -> Terms:
    (tmp_path / "space.toml").write_text(SPACE)
    return Terms("fcfs-easy", KEEP, read_space(tmp_path / "space.toml"), None, 60)


def walked(workload: Workload, terms: Terms, journal: Path) -> list[Step]:
    return walk(workload, 0.5, DAYS, terms, journal)


def test_each_step_is_tuned_on_what_came_before(tmp_path: Path, terms: Terms) -> None:
    workload = trace()
    steps = walked(workload, terms, tmp_path / "journal")
    assert len(steps) > 1
    at = len(workload) - sum(step.jobs for step in steps)
    assert at == len(split(workload, 0.5).tuning)
    for step in steps:
        before, here = workload.take(slice(0, at)), workload.take(slice(at, at + step.jobs))
        assert (step.before, step.begin) == (at, here.jobs.submit[0])
        chosen = choose(before, terms, tmp_path / "again")
        assert step.policy == chosen.policy
        found = [figures(here, policy) for policy in (chosen.policy, steps[0].policy, chosen.rule, "saf-easy")]
        assert [step.figures[name] for name in (AGAIN, ONCE, BEST, "saf-easy")] == found
        at += step.jobs


def test_a_step_reads_nothing_of_its_own_jobs_before(tmp_path: Path, terms: Terms) -> None:
    workload = trace()
    steps = walked(workload, terms, tmp_path / "journal")
    last = np.arange(len(workload)) >= len(workload) - steps[-1].jobs
    data = workload.jobs.data.copy()
    data[last, 3] *= 2  # walltimes
    altered = walked(replace(workload, jobs=JobTable(data)), terms, tmp_path / "altered")
    assert altered[:-1] == steps[:-1]
    assert altered[-1].policy == steps[-1].policy
    assert altered[-1].figures != steps[-1].figures


def test_all_steps_are_the_mean_over_their_jobs(tmp_path: Path, terms: Terms) -> None:
    workload = trace()
    steps = walked(workload, terms, tmp_path / "journal")
    waited, at = list[int](), len(workload) - sum(step.jobs for step in steps)
    for step in steps:
        waited += simulate(workload.take(slice(at, at + step.jobs)), "saf-easy").wait.tolist()
        at += step.jobs
    found = over_all(steps)["saf-easy"]
    assert found is not None
    assert found.wait == pytest.approx(np.mean(waited))
    assert found.max_wait == max(waited)


def test_long_steps_are_one(tmp_path: Path, terms: Terms) -> None:
    (step,) = walk(trace(), 0.5, 1e9, terms, tmp_path / "journal")
    assert step.policy == choose(split(trace(), 0.5).tuning, terms, tmp_path / "journal").policy
    said = summed_up([step], terms)
    assert said.startswith("Tuned before a single step: mean bounded slowdown ")
    assert "better in" not in said
    assert "first of them" not in said
    with pytest.raises(SpecError, match="--walk-forward must be above 0"):
        walk(trace(), 0.5, 0.0, terms, tmp_path / "journal")
