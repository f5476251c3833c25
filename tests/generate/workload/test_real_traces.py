"""Generators against real traces, which take long to read without compiled code."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.generate.workload.test_lublin import load
from transom.generate import by_months, fit_arrivals, generate_lublin, real_weeks
from transom.generate.workload.arrivals import HOURS
from transom.traces import read_swf

pytestmark = pytest.mark.reference


@pytest.mark.parametrize("name", ["theta_2022", "SDSC-SP2-1998-4.2-cln"])
def test_fitted_to_a_real_trace(shared: Path, name: str) -> None:
    real = read_swf(shared / "traces" / f"{name}.swf.gz")
    start = int(real.jobs.submit[0])
    made = fit_arrivals(real).sample(len(real), np.random.default_rng(8), start=start)
    assert made.jobs.submit[-1] - start == pytest.approx(real.jobs.submit[-1] - start, rel=0.03)
    week = [np.bincount(w.jobs.submit // 3600 % HOURS, minlength=HOURS) for w in (real, made)]
    assert np.corrcoef(*week)[0, 1] > 0.95
    assert stats.ks_2samp(made.runtime, real.runtime).statistic < 0.02
    assert stats.ks_2samp(made.jobs.nodes * made.runtime, real.jobs.nodes * real.runtime).statistic < 0.02


def test_the_training_months_of_theta(shared: Path) -> None:
    theta = read_swf(shared / "traces" / "theta_2022.swf.gz")
    train, test = by_months(theta, 1, 2), by_months(theta, 4, 12)
    assert len(by_months(theta, 1, 3)) + len(test) == len(theta)
    assert len(real_weeks(train)) == 9  # as the paper has it
    assert datetime.fromtimestamp(int(test.jobs.submit[0]), UTC).strftime("%Y-%m") == "2022-04"


def test_against_the_workload_of_the_authors(shared: Path) -> None:
    """10,000 jobs of their program against 10,000 and 100,000 of ours.

    Kolmogorov-Smirnov distances of two samples of one distribution stay below 0.023 in 99 of 100
    cases at these sizes; arrivals within the day are not independent and get more room. The mean
    gap has a standard error of 8 % in 10,000 jobs, for few long gaps make much of it.
    """
    theirs = read_swf(shared / "traces" / "lublin_256.swf.gz")
    for jobs, seed in ((10_000, 1), (100_000, 2)):
        ours = generate_lublin(jobs, 256, np.random.default_rng(seed))
        for pair, most in (
            ((ours.jobs.nodes, theirs.jobs.nodes), 0.03),
            ((ours.runtime, theirs.runtime), 0.025),
            ((np.diff(ours.jobs.submit), np.diff(theirs.jobs.submit)), 0.025),
            ((ours.jobs.submit % 86_400, theirs.jobs.submit % 86_400), 0.09),
        ):
            assert stats.ks_2samp(*pair).statistic < most
        assert ours.runtime.mean() == pytest.approx(theirs.runtime.mean(), rel=0.05)
        assert ours.jobs.nodes.mean() == pytest.approx(theirs.jobs.nodes.mean(), rel=0.05)
        assert ours.jobs.submit[-1] / jobs == pytest.approx(theirs.jobs.submit[-1] / 10_000, rel=0.3)
        large = ours.jobs.nodes > 128
        assert np.log(ours.runtime[large]).mean() == pytest.approx(
            np.log(theirs.runtime[theirs.jobs.nodes > 128]).mean(), abs=0.1
        )
    assert load(theirs) == pytest.approx(1.06, abs=0.01)
    again = generate_lublin(10_000, 256, np.random.default_rng(0), load=load(theirs))
    assert load(again) == pytest.approx(load(theirs), rel=1e-4)
