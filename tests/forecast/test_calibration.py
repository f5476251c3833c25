"""Intervals cover what they say, and past forecasts are kept between runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from transom.forecast import calibration
from transom.forecast.conformal import calibrated, scores
from transom.forecast.questions import ask
from transom.simulation import simulate
from transom.traces import Workload


def test_intervals_that_are_too_narrow_are_widened_until_they_cover() -> None:
    rng = np.random.default_rng(3)
    sampled = np.exp(9 + rng.normal(0, 1, 1500)[:, None] + np.array([-0.2, 0.0, 0.2]))
    drift = np.linspace(0.3, 1.2, 1500)  # waits become less certain
    waits = np.exp(np.log(sampled[:, 1]) + rng.normal(0.1, 1, 1500) * drift)
    assert np.mean((sampled[:, 0] <= waits) & (waits <= sampled[:, 2])) < 0.35
    hits = []
    for k in range(300, 1500, 4):
        low, middle, high = calibrated(sampled[k][:, None], scores(sampled[:k], waits[:k]))[:, 0]
        assert low <= middle <= high
        hits.append((waits[k] < low, waits[k] > high))
    below, above = np.mean(hits, axis=0)
    assert 0.06 < below < 0.15
    assert 0.06 < above < 0.15


def test_with_a_short_past_an_interval_stays_as_sampled() -> None:
    sampled = np.array([[600.0, 900.0, 1500.0]] * 29)
    assert calibrated(sampled[:1].T, scores(sampled, np.full(29, 90_000.0)))[:, 0] == pytest.approx(sampled[0])


def test_short_and_long_waits_are_covered_alike() -> None:
    rng = np.random.default_rng(5)
    middle, hits = rng.normal(9, 1, 1500), []
    sampled = np.exp(middle[:, None] + np.array([-0.3, 0.0, 0.3]))
    waits = np.exp(9 + 0.7 * (middle - 9) + rng.normal(0, 0.5, 1500))  # extremes are sampled as too extreme
    for k in range(300, 1500, 3):
        low, _, high = calibrated(sampled[k][:, None], scores(sampled[:k], waits[:k]))[:, 0]
        hits.append((middle[k], waits[k] < low, waits[k] > high))
    asked, below, above = np.array(hits).T
    for some in (asked < 8.2, abs(asked - 9) < 0.8, asked > 9.8):
        assert 0.03 < below[some].mean() < 0.2
        assert 0.03 < above[some].mean() < 0.2


def test_no_interval_is_widened_more_than_any_past_one_needed() -> None:
    rng = np.random.default_rng(8)
    sampled = np.exp(9 + rng.normal(0, 1, 200)[:, None] + np.array([-0.2, 0.0, 0.2]))
    waits = sampled[:, 1] * 20.0  # all are missed by a factor of about 16
    wide = np.array([[500.0], [10_000.0], [400_000.0]])
    assert calibrated(wide, scores(sampled, waits))[2, 0] < 400_000.0 * 20


def test_past_forecasts_are_kept_and_used_again(
    workload: Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = "fcfs-easy"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    waited = simulate(workload, policy).start - workload.jobs.submit > calibration.WAITED
    jobs = workload.jobs.id[np.flatnonzero(waited)[-3:]].tolist()
    told = ask(workload, policy, jobs)
    assert not list(tmp_path.rglob("*.npy"))
    assert ask(workload, policy, jobs, keep=True) == told
    (kept,) = tmp_path.rglob("*.npy")
    assert len(np.load(kept)) > 5
    content = kept.read_bytes()
    with monkeypatch.context() as patch:  # nothing is asked again
        patch.setattr(calibration, "forecast", None)
        assert ask(workload, policy, jobs, keep=True) == told
    assert ask(workload, policy, jobs, seed=1, keep=True) != told
    for damage in (content[:-7], b"nothing"):
        kept.write_bytes(damage)
        assert ask(workload, policy, jobs, keep=True) == told
        assert kept.read_bytes() == content


def test_jobs_that_are_submitted_later_change_no_past_question(workload: Workload) -> None:
    jobs = workload.jobs.id[[250, 330, 340]].tolist()
    assert ask(workload.take(np.arange(350)), "fcfs-easy", jobs) == ask(workload, "fcfs-easy", jobs)
