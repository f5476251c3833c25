"""The Lublin-Feitelson model: its distributions, its load, and the workload that its authors made."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from transom.errors import SpecError
from transom.generate import LublinModel, generate_lublin
from transom.generate.workload.lublin import daily_cycle, sample_runtimes, sample_sizes
from transom.traces import Workload

pytestmark = pytest.mark.fast


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def load(workload: Workload) -> float:
    area = float((workload.jobs.nodes * workload.runtime).sum())
    return area / (workload.cluster.num_nodes * int(workload.jobs.submit[-1]))


def test_same_seed_same_workload() -> None:
    assert generate_lublin(200, 64, rng(3)) == generate_lublin(200, 64, rng(3))
    assert generate_lublin(200, 64, rng(3)) != generate_lublin(200, 64, rng(4))


@pytest.mark.parametrize("nodes", [1, 2, 3, 5, 100, 128, 4360, 90_000, 100_000])
def test_sizes_lie_on_the_machine(nodes: int) -> None:
    size = sample_sizes(5000, nodes, rng(), LublinModel())
    assert size.min() == 1
    assert size.max() <= nodes
    if nodes >= 100:
        share = np.mean(np.log2(size) % 1 == 0)  # powers of two, 1 among them
        assert 0.244 + 0.576 - 0.02 < share < 0.9
        assert np.mean(size == 1) == pytest.approx(0.244, abs=0.02)
        bend = nodes / 2**2.5
        assert np.mean(size[size > 1] <= bend) == pytest.approx(0.86, abs=0.06)


def test_runtimes_are_hyper_gamma_with_a_mixture_that_depends_on_the_size() -> None:
    model, number = LublinModel(), 20_000
    short, long = (stats.gamma(a, scale=b) for a, b in (model.runtime_short, model.runtime_long))
    for nodes, share in ((1, 0.7746), (100, 0.24), (200, 0.0)):
        runtime = sample_runtimes(np.full(number, nodes), rng(nodes), model)
        assert 1 <= runtime.min() <= runtime.max() <= np.exp(12)
        below = share * short.cdf(12) + (1 - share) * long.cdf(12)
        for at in (60.0, 1000.0, 20_000.0):
            expected = (share * short.cdf(np.log(at)) + (1 - share) * long.cdf(np.log(at))) / below
            assert np.mean(runtime < at) == pytest.approx(expected, abs=4 * 0.5 / np.sqrt(number))


def test_the_day_has_its_peak_after_noon_and_its_low_before_six() -> None:
    cycle = daily_cycle(LublinModel())
    assert cycle.mean() == pytest.approx(1)
    assert int(cycle.argmax()) in range(24, 30)
    assert int(cycle.argmin()) in range(8, 12)
    submit = generate_lublin(50_000, 256, rng()).jobs.submit
    seen = np.bincount(submit // 1800 % 48, minlength=48) / len(submit) * 48
    assert np.corrcoef(seen, cycle)[0, 1] > 0.95


@pytest.mark.parametrize("wanted", [0.05, 0.7, 1.3])
@pytest.mark.parametrize("nodes", [64, 90_000])
def test_load_is_what_was_asked_for(wanted: float, nodes: int) -> None:
    workload = generate_lublin(3000, nodes, rng(), load=wanted)
    assert load(workload) == pytest.approx(wanted, rel=1e-4)
    plain = generate_lublin(3000, nodes, rng())
    assert np.array_equal(plain.runtime, workload.runtime)  # only the gaps are scaled
    assert np.array_equal(np.sort(plain.jobs.nodes), np.sort(workload.jobs.nodes))


def test_walltimes() -> None:
    exact = generate_lublin(500, 64, rng(), walltimes="exact")
    assert np.array_equal(exact.jobs.walltime, exact.runtime)
    usual = generate_lublin(500, 64, rng())
    assert (usual.jobs.walltime >= usual.runtime).all()
    assert (usual.jobs.walltime % 300 == 0).all()


def test_a_large_workload_is_whole() -> None:
    workload = generate_lublin(300_000, 90_000, rng(), load=0.8)
    assert len(workload) == 300_000
    assert workload.jobs.id[-1] == 300_000
    assert (np.diff(workload.jobs.submit) >= 0).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"jobs": 0}, "jobs and nodes must be > 0, got 0 and 8"),
        ({"nodes": -1}, "jobs and nodes must be > 0, got 5 and -1"),
        ({"load": 0.0}, "load must be finite and > 0, got 0.0"),
        ({"load": float("nan")}, "load must be finite and > 0, got nan"),
        ({"load": 1e-20}, "take more than 2"),
        (
            {"walltimes": "wrong"},
            "unknown estimate model 'wrong'. Known: exact, factor:F, overestimated, trace:FILE, tsafrir",
        ),
    ],
)
def test_out_of_range(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        generate_lublin(**{"jobs": 5, "nodes": 8, "rng": rng(), **arguments})


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"serial": 1.2}, "serial must be from 0 to 1, got 1.2"),
        ({"serial": 0.6}, "serial [+] power2 must be <= 1"),
        ({"gap": (1.0, 0.0)}, r"gap must be finite and > 0, got \(1.0, 0.0\)"),
    ],
)
def test_parameters_out_of_range(parameter: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        LublinModel(**parameter)
