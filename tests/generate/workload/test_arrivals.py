"""Fitted arrivals: exact in expectation, smooth where data are thin, true to the jobs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from transom.errors import ModelError, SpecError
from transom.generate import ArrivalModel, fit_arrivals, generate_lublin
from transom.generate.workload.arrivals import HOURS
from transom.models import Cluster, JobTable
from transom.traces import Workload

pytestmark = pytest.mark.fast

WEEK = HOURS * 3600


def workload(submit: np.ndarray, name: str = "w") -> Workload:
    n = len(submit)
    i = np.arange(1, n + 1)
    data = np.column_stack((i, np.sort(submit), i % 7 + 1, 100 * i, i, np.full(n, -1)))
    return Workload(name, Cluster(8), JobTable(data), 10 * i)


@pytest.fixture(scope="module")
def rates() -> np.ndarray:
    hour = np.arange(HOURS)
    rates = 5 + 4 * np.sin(2 * np.pi * hour / 24) + (hour < 120)
    rates[30] = 0.0
    return rates


def test_sampling_is_a_poisson_process_of_the_given_rates(rates: np.ndarray) -> None:
    model = ArrivalModel(rates, workload(np.arange(50)))
    submit = model.sample(80_000, np.random.default_rng(0)).jobs.submit
    weeks = submit[-1] / WEEK
    count = np.bincount(submit // 3600 % HOURS, minlength=HOURS)
    assert count[30] == 0
    deviation = (count - rates * weeks) / np.sqrt(np.maximum(rates * weeks, 1))
    assert np.abs(deviation).max() < 4.5
    assert deviation.std() == pytest.approx(1, abs=0.2)
    # Rescaled to the cumulative rate, gaps are exponential with mean 1.
    cumulative = np.append(0, np.cumsum(rates))
    whole, rest = np.divmod(submit + 0.5, WEEK)
    gaps = np.diff(whole * rates.sum() + np.interp(rest / 3600, np.arange(HOURS + 1), cumulative))
    assert gaps.mean() == pytest.approx(1, abs=0.02)
    assert stats.kstest(gaps, "expon").statistic < 0.01


@pytest.mark.parametrize("start", [0, 1, 30 * 3600 + 7, 5 * WEEK + 99_999])
@pytest.mark.parametrize("rate", [0.5, 3.0])
def test_start_and_rate(rates: np.ndarray, start: int, rate: float) -> None:
    model = ArrivalModel(rates, workload(np.arange(50)))
    submit = model.sample(20_000, np.random.default_rng(1), rate=rate, start=start).jobs.submit
    assert submit[0] >= start
    assert (submit[-1] - start) / 3600 * rates.mean() * rate == pytest.approx(20_000, rel=0.03)
    count = np.bincount(submit // 3600 % HOURS, minlength=HOURS)
    assert count[30] == 0
    assert np.corrcoef(count, rates)[0, 1] > 0.9


def test_jobs_are_drawn_whole_and_renumbered(rates: np.ndarray) -> None:
    given = workload(np.arange(50))
    drawn = ArrivalModel(rates, given).sample(500, np.random.default_rng(2))
    known = {(j.job.nodes, j.job.walltime, j.job.user, j.runtime) for j in given}
    assert {(j.job.nodes, j.job.walltime, j.job.user, j.runtime) for j in drawn} <= known
    assert drawn.jobs.id.tolist() == list(range(1, 501))
    assert (np.diff(drawn.jobs.submit) >= 0).all()
    assert drawn.cluster == given.cluster
    assert len(np.unique(drawn.jobs.user)) == 50
    again = ArrivalModel(rates, given).sample(500, np.random.default_rng(2))
    assert again == drawn


def test_fit_recovers_the_rates_it_was_made_from(rates: np.ndarray) -> None:
    made = ArrivalModel(rates, workload(np.arange(50))).sample(200_000, np.random.default_rng(3))
    fitted = fit_arrivals(made).rates
    busy = rates > 2
    assert np.abs(fitted[busy] / rates[busy] - 1).max() < 0.25
    assert np.corrcoef(fitted, rates)[0, 1] > 0.98


def test_fit_expects_as_many_jobs_as_there_are() -> None:
    first, last = 40 * 3600 + 17, 2 * WEEK + 999
    submit = np.random.default_rng(4).integers(first, last, 400)
    submit[:2] = first, last
    model = fit_arrivals(workload(submit))
    seconds = np.arange(first, last)
    assert model.rates[seconds // 3600 % HOURS].sum() / 3600 == pytest.approx(400)


def test_thin_cells_take_the_rate_of_their_hour() -> None:
    # One day of arrivals, all of them from 8 to 12: the other days were never seen.
    submit = np.concatenate((np.random.default_rng(5).integers(8 * 3600, 12 * 3600, 4000), [0, 86_399]))
    rates = fit_arrivals(workload(submit)).rates.reshape(7, 24)
    assert rates.min() > 0
    assert rates[1:, 8:12].min() > 20 * rates[1:, 13:].max()
    strong = fit_arrivals(workload(submit), prior=1e9).rates
    assert strong.max() / strong.min() < 1.01


def test_out_of_range(rates: np.ndarray) -> None:
    model = ArrivalModel(rates, workload(np.arange(5)))
    for arguments in ({"jobs": 0}, {"rate": 0.0}, {"rate": float("inf")}, {"start": -1}):
        with pytest.raises(SpecError, match="arrivals: expected jobs > 0, rate > 0, start >= 0"):
            model.sample(**{"jobs": 1, "rng": np.random.default_rng(0), **arguments})
    with pytest.raises(SpecError, match="take more than"):
        model.sample(1, np.random.default_rng(0), rate=1e-30)
    with pytest.raises(SpecError, match="prior must be finite and > 0, got 0"):
        fit_arrivals(workload(np.arange(5)), prior=0)
    with pytest.raises(ModelError, match="workload still has no two submission times"):
        fit_arrivals(workload(np.full(5, 7), "still"))
    with pytest.raises(ModelError, match="168 finite rates"):
        ArrivalModel(np.zeros(HOURS), model.workload)
    with pytest.raises(ModelError, match="workload none holds no job"):
        ArrivalModel(rates, Workload("none", Cluster(1), JobTable([]), np.empty(0)))


def test_the_model_is_frozen(rates: np.ndarray) -> None:
    model = ArrivalModel(rates, workload(np.arange(5)))
    with pytest.raises(ValueError, match="read-only"):
        model.rates[0] = 1
    assert model == ArrivalModel(rates, workload(np.arange(5)))


def test_fitted_to_a_generated_workload() -> None:
    made = generate_lublin(20_000, 128, np.random.default_rng(6))
    again = fit_arrivals(made).sample(20_000, np.random.default_rng(7))
    assert again.jobs.submit[-1] == pytest.approx(made.jobs.submit[-1], rel=0.05)
    assert stats.ks_2samp(again.jobs.submit % 86_400, made.jobs.submit % 86_400).statistic < 0.03
