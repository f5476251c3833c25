"""Further resources of a workload: laws, loads, cuts, seeds."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from scipy.stats import spearmanr, truncnorm

from transom.errors import SpecError
from transom.generate import generate_lublin
from transom.generate.demands.laws import Column, Correlated, Lognormal, Normal, Pareto, PerNode
from transom.generate.demands.resources import Resource, offered_load, parse_resources, provide, with_resources
from transom.models import Job
from transom.traces import TracedJob, Workload, cut

pytestmark = pytest.mark.fast

NODES = 64


@pytest.fixture(scope="module")
def workload() -> Workload:
    return generate_lublin(4000, NODES, np.random.default_rng(3), load=0.8)


def demand(workload: Workload, spec: str, seed: int = 0) -> np.ndarray:
    return with_resources(workload, f"x=[{spec}]", seed).jobs.demand[:, 0]


def test_normal_amounts_are_those_of_the_truncated_distribution(workload: Workload) -> None:
    found = demand(workload, "normal:mean=40,deviation=40,capacity=100000")
    law = truncnorm(-1, np.inf, loc=40, scale=40)
    assert found.min() >= 0
    assert found.mean() == pytest.approx(law.mean(), rel=0.03)
    assert found.std() == pytest.approx(law.std(), rel=0.03)
    assert np.quantile(found, 0.9) == pytest.approx(law.ppf(0.9), rel=0.05)
    assert (demand(workload, "normal:mean=7,deviation=0,capacity=9") == 7).all()


def test_heavy_tails(workload: Workload) -> None:
    lognormal = demand(workload, "lognormal:mean=1000,deviation=1000,capacity=1000000000")
    assert lognormal.mean() == pytest.approx(1000, rel=0.1)
    assert np.median(lognormal) == pytest.approx(1000 / np.sqrt(2), rel=0.1)
    pareto = demand(workload, "pareto:mean=3000,shape=1.5,capacity=1000000000")
    assert pareto.min() == 1000
    assert (pareto > 8000).mean() == pytest.approx(8**-1.5, rel=0.25)
    assert pareto.max() > 50 * np.median(pareto)


@pytest.mark.parametrize("rho", [-0.9, 0.0, 0.8])
def test_correlated_amounts_go_with_the_nodes(workload: Workload, rho: float) -> None:
    found = demand(workload, f"correlated:correlation={rho},law=[lognormal:mean=500,deviation=300],capacity=1000000")
    # Of a Gaussian copula: 6/pi arcsin(rho/2); equal nodes, ordered by lot, take something away.
    scores = spearmanr(workload.jobs.nodes, found).statistic
    assert scores == pytest.approx(6 / np.pi * np.arcsin(rho / 2), abs=0.1)
    assert found.mean() == pytest.approx(500, rel=0.1)


def test_amounts_for_each_node(workload: Workload) -> None:
    found = demand(workload, "per-node:mean=50,deviation=5,capacity=1000000")
    assert (found / workload.jobs.nodes).mean() == pytest.approx(50, rel=0.01)
    assert (found / workload.jobs.nodes).std() == pytest.approx(5, rel=0.05)


def test_a_column_of_the_trace(workload: Workload) -> None:
    memory = np.where(np.arange(len(workload)) % 3 == 0, -1.0, 1500.0)
    columns = {10: memory, 7: np.full(len(workload), -1.0), 5: np.arange(len(workload)) * 1.0}
    each = with_resources(workload, "m=[column:unit=1000,capacity=1000]", 0, columns).jobs.demand[:, 0]
    expected = np.where(memory > 0, np.ceil(1.5 * workload.jobs.nodes), 0)
    assert np.array_equal(each, expected)
    whole = with_resources(workload, "m=[column:field=5,load=0.5]", 0, columns)
    assert np.array_equal(whole.jobs.demand[:, 0], np.arange(len(workload)))
    assert offered_load(whole)[1] == pytest.approx(0.5, rel=1e-3)
    with pytest.raises(SpecError, match=r"field 7 \(used memory\) is not stated for any of the 4000 jobs"):
        with_resources(workload, "m=[column:field=7]", 0, columns)
    with pytest.raises(SpecError, match="is needed and not given"):
        with_resources(workload, "m=[column:field=9]", 0, columns)


@pytest.mark.parametrize("law", ["normal", "lognormal", "pareto", "correlated", "per-node", "normal:share=0.6"])
@pytest.mark.parametrize("load", [None, 0.3, 1.2])
def test_capacity_follows_from_the_load(workload: Workload, law: str, load: float | None) -> None:
    stated = law if load is None else f"{law}{',' if ':' in law else ':'}load={load}"
    larger, (made,) = provide(workload, f"x=[{stated}]", 5)
    loads = offered_load(larger)
    assert loads[1] == pytest.approx(loads[0] if load is None else load, rel=0.02)
    assert made.load == pytest.approx(loads[1])
    assert larger.cluster.capacities == (made.capacity,)
    held = larger.jobs.demand[:, 0]
    assert held.max() <= made.capacity
    assert made.asking == (held > 0).sum()
    assert made.mean == pytest.approx(held[held > 0].mean())


@pytest.mark.parametrize("law", ["4000", "lognormal:capacity=300", "correlated:capacity=900,load=0.4"])
def test_the_mean_follows_from_capacity_and_load(workload: Workload, law: str) -> None:
    larger, (made,) = provide(workload, f"x=[{law}]", 5)
    loads = offered_load(larger)
    assert loads[1] == pytest.approx(0.4 if "load" in law else loads[0], rel=0.02)
    assert made.capacity == int(re.search(r"\d+", law)[0])
    # What is told is a specification that makes the same again, but for the digits that it shows.
    again = with_resources(workload, f"x=[{made.law},capacity={made.capacity}]", 5).jobs.demand[:, 0]
    assert np.abs(again - larger.jobs.demand[:, 0]).max() <= 1


def test_demands_are_cut_at_the_capacity_and_counted(workload: Workload) -> None:
    larger, (made,) = provide(workload, "x=[normal:mean=40,deviation=20,capacity=50]", 1)
    plain = demand(workload, "normal:mean=40,deviation=20,capacity=1000000", 1)
    assert np.array_equal(larger.jobs.demand[:, 0], np.minimum(plain, 50))
    assert made.cut == (plain > 50).sum() > 0
    assert larger.repairs["x: demand cut at the capacity of 50"] == made.cut


def test_some_jobs_ask_for_nothing(workload: Workload) -> None:
    every = demand(workload, "normal:mean=400,deviation=20,capacity=1000")
    some = demand(workload, "normal:mean=400,deviation=20,capacity=1000,share=0.3")
    assert (some == 0).mean() == pytest.approx(0.3, abs=0.03)
    assert np.array_equal(some[some > 0], every[some > 0])


def test_every_resource_has_a_stream_of_its_own(workload: Workload) -> None:
    one = with_resources(workload, "a=normal,b=pareto", 7)
    for text in ("b=pareto,a=normal", "c=normal,a=normal,b=pareto"):
        other = with_resources(workload, text, 7)
        for name in "ab":
            assert np.array_equal(
                one.jobs.demand[:, one.cluster.resources.index(name)],
                other.jobs.demand[:, other.cluster.resources.index(name)],
            )
    assert one == with_resources(workload, "a=normal,b=pareto", 7)
    assert one.digest() != with_resources(workload, "a=normal,b=pareto", 8).digest() != workload.digest()
    names = [demand(workload, "normal:mean=99,deviation=9,capacity=1000", seed) for seed in range(3)]
    assert all((a != b).any() for a, b in itertools.combinations(names, 2))
    # What comes later in the trace does not change what earlier jobs ask for.
    spec = "normal:mean=99,deviation=9,capacity=1000,share=0.5"
    assert np.array_equal(demand(cut(workload, 0, 500), spec), demand(workload, spec)[:500])


def test_resources_beside_those_that_are_there(workload: Workload) -> None:
    first = with_resources(workload, "a=100")
    both = with_resources(first, "b=200")
    assert both.cluster.resources == ("a", "b")
    assert np.array_equal(both.jobs.demand[:, 0], first.jobs.demand[:, 0])
    assert both.runtime is not None
    with pytest.raises(SpecError, match="'a' stands twice"):
        with_resources(first, "a=5")


def test_objects_and_laws_of_others(workload: Workload) -> None:
    class Constant:
        mean = 3.0

        def amounts(self, workload, columns, rng):
            return np.full(len(workload), 3.0)

        def sized(self, mean):
            return self

    larger, made = provide(workload, [Resource("x", Constant(), load=0.5), Resource("y", Normal(), capacity=60)])
    assert (larger.jobs.demand[:, 0] == 3).all()
    assert made[0].law == "Constant"
    assert made[0].load == pytest.approx(0.5, rel=0.05)


def test_what_is_parsed() -> None:
    text = "bb=[normal:mean=40,deviation=20,load=0.8],gpu=4000,p=per-node,m=[correlated:law=[pareto:shape=3],share=0.5]"
    assert parse_resources(text) == (
        Resource("bb", Normal(40.0, 20.0), load=0.8),
        Resource("gpu", capacity=4000),
        Resource("p", PerNode()),
        Resource("m", Correlated(law="pareto:shape=3"), share=0.5),
    )
    assert parse_resources("m=column,l=lognormal")[0].law == Column(10, 1.0, "node")
    assert parse_resources("q=[pareto:mean=2]") == (Resource("q", Pareto(2.0)),)
    assert parse_resources("q=[lognormal:mean=2]") == (Resource("q", Lognormal(2.0)),)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected NAME"),
        ("bb", "resources 'bb': expected NAME=LAW, got 'bb'"),
        ("bb=", "resources 'bb=': expected NAME=LAW, got 'bb='"),
        (",", "resources ',': expected NAME=LAW, got ''"),
        ("bb=[normal", "brackets do not match"),
        ("bb=gauss", "unknown demand law of resource 'bb': 'gauss'"),
        ("bb=normall", "did you mean 'normal'"),
        ("bb=[normal:mean=-3]", "mean must be > 0, got -3"),
        ("bb=[normal:mean=nan]", "mean must be > 0"),
        ("bb=[normal:mean=3,deviation=-1]", "deviation must be >= 0"),
        ("bb=[normal:deviation=1]", "needs a mean"),
        ("bb=[normal:sigma=1]", "no parameter 'sigma'"),
        ("bb=[normal:load=0]", "load must be > 0, got 0"),
        ("bb=[normal:load=inf]", "load must be > 0, got inf"),
        ("bb=[normal:share=1]", "share must be >= 0 and < 1"),
        ("bb=[normal:capacity=0]", "capacity must be from 1"),
        ("bb=0", "capacity must be from 1"),
        ("bb=-4", "capacity must be from 1"),
        ("bb=4.5", "capacity must be a whole number, got 4.5"),
        ("bb=[normal:capacity=2.5]", "expected int"),
        ("bb=[normal:mean=3,capacity=10,load=0.5]", "two determine the third"),
        ("bb=[column:capacity=10,load=0.5]", "two determine the third"),
        ("nodes=[normal:mean=3]", "other than 'nodes'"),
        ("b/b=normal", "expected a name of letters"),
        ("bb=normal,bb=normal", "set twice"),
        ("bb=normal:mean=3,deviation=4", "put a law with several into brackets"),
        ("bb=[pareto:shape=1]", "shape must be > 1"),
        ("bb=[correlated:correlation=2]", "correlation must be from -1 to 1"),
        ("bb=[correlated:law=column]", "unknown law of correlated amounts"),
        ("bb=[column:field=0]", "field must be >= 1 or a name, got 0"),
        ("bb=[column:unit=0]", "unit must be > 0"),
        ("bb=[column:per=core]", "per must be node or job"),
        ("bb=[normal:means=3]", "'normal' has no parameter 'means'. Known: mean, deviation, capacity, load, share"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(text: str, says: str) -> None:
    with pytest.raises(SpecError, match=re.escape(says)) as caught:
        parse_resources(text)
    assert "\n" not in str(caught.value)


def one_job() -> Workload:
    from transom.models import Cluster

    return Workload.of([TracedJob(Job(1, 0, 2, 60), 60)], Cluster(4))


def test_a_load_that_cannot_be_had_is_refused(workload: Workload) -> None:
    with pytest.raises(SpecError, match=r"a load of 1000 is out of reach: if every job .* it would be \d"):
        with_resources(workload, "x=[normal:load=1000]")
    with pytest.raises(SpecError, match="out of reach"):
        with_resources(workload, "x=[normal:load=1000,capacity=10]")
    with pytest.raises(SpecError, match="submitted at once"):
        with_resources(one_job(), "x=normal")
    with pytest.raises(SpecError, match="below 2"):
        with_resources(workload, "x=[normal:mean=1e30,capacity=10]")
    stated = with_resources(one_job(), "x=[normal:mean=5,deviation=0,capacity=10]")
    assert stated.jobs.demand.tolist() == [[5]]
    assert np.isnan(offered_load(stated)).all()
