"""Models of walltimes that nobody requested, and what workloads say about them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.traces.test_swf import line, write
from transom.adapters.rules.locked_reading import read_locked
from transom.errors import ModelError, SpecError, TraceError
from transom.generate import fit_arrivals, generate_lublin
from transom.generate.workload.workload_recipe import WorkloadRecipe
from transom.traces import ReadingRules, Workload, cut, read_swf, with_estimates, write_swf
from transom.traces.estimates import parse_estimates

MODELS = ("exact", "factor:1.5", "overestimated", "tsafrir", "tsafrir:longest=7200,share=0.4")


def some(jobs: int = 3000, walltimes: str = "overestimated") -> Workload:
    return generate_lublin(jobs, 64, np.random.default_rng(3), load=0.8, walltimes=walltimes)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace to learn from: who runs up to an hour asks for one, the others for ten."""
    runtime = np.random.default_rng(1).integers(1, 20_000, 4000)
    text = "".join(line(f1=i, f2=i, f4=r, f9=3600 if r <= 3600 else 36_000) for i, r in enumerate(runtime.tolist(), 1))
    return write(tmp_path_factory.mktemp("other"), "; MaxProcs: 9\n" + text, "other.swf")


@pytest.mark.parametrize("spec", MODELS)
def test_no_walltime_is_below_its_runtime_and_seeds_decide(spec: str) -> None:
    workload = some()
    modelled = with_estimates(workload, spec, 7, "all")
    assert (modelled.jobs.walltime >= workload.runtime).all()
    assert np.array_equal(modelled.runtime, workload.runtime)
    assert np.array_equal(np.delete(modelled.jobs.data, 3, axis=1), np.delete(workload.jobs.data, 3, axis=1))
    assert with_estimates(workload, spec, 7, "all") == modelled
    drawn = spec.partition(":")[0] not in ("exact", "factor")
    assert (with_estimates(workload, spec, 8, "all") != modelled) == drawn
    assert ("seed 7" in modelled.origin.estimates) == drawn


def test_exact_and_factor() -> None:
    runtime = np.array([1, 3, 10, 2**40 + 1])
    rng = np.random.default_rng(0)
    assert parse_estimates("exact").walltimes(runtime, rng).tolist() == runtime.tolist()
    assert parse_estimates("factor:1").walltimes(runtime, rng).tolist() == runtime.tolist()
    assert parse_estimates("factor:1.5").walltimes(runtime[:3], rng).tolist() == [2, 5, 15]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("uniform", "unknown estimate model 'uniform'. Known: exact, factor:F, overestimated, trace:FILE, tsafrir"),
        ("factor", "expected factor:F with a number F, got 'factor'"),
        ("factor:two", "expected factor:F with a number F, got 'factor:two'"),
        ("factor:0.5", "the factor must be from 1 to 1e6, got 0.5"),
        ("factor:nan", "the factor must be from 1 to 1e6, got nan"),
        ("trace:", "expected trace:FILE, got no file"),
        ("exact:a=1", "'exact' has no parameter 'a'"),
        ("tsafrir:longest=60", "longest must be from 3600 s"),
        ("tsafrir:share=0.9", "share must be above 0 and at most 0.89, got 0.9"),
        ("tsafrir:longest=x", "tsafrir:longest: expected whole seconds, .* got 'x'"),
    ],
)
def test_models_that_are_none(spec: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        ReadingRules(estimates=spec)


def test_rules_that_contradict_each_other() -> None:
    with pytest.raises(SpecError, match="'tsafrir' is for jobs without a requested time, which walltime 'requested'"):
        ReadingRules(walltime="requested", estimates="tsafrir")
    assert ReadingRules(walltime="requested", estimates="tsafrir", estimates_for="all")
    with pytest.raises(SpecError, match="reading rule seed: expected a number >= 0, got -1"):
        ReadingRules(seed=-1)
    with pytest.raises(SpecError, match="expected them for missing or all, got 'some'"):
        with_estimates(some(10), "exact", 0, "some")


def test_only_jobs_that_request_nothing_are_modelled(tmp_path: Path) -> None:
    text = "".join(line(f1=i, f2=100 - i, f4=10 * i, f9=-1 if i % 2 else 5000) for i in range(1, 9))
    path = write(tmp_path, "; MaxProcs: 9\n" + text)
    plain = read_swf(path)
    assert plain.origin.modelled is not None
    assert plain.origin.modelled.tolist() == [False, True] * 4  # jobs stand by submission
    assert plain.repairs == {"walltime taken from the runtime": 4}
    [remark] = plain.diagnostics
    assert remark.short == "PERFECT ESTIMATES (50.0 % of the jobs)"
    assert "4 of 8 jobs (50.0 %) request no time" in remark.text
    assert plain.facts["estimates"] == {"model": "exact", "jobs": 4, "share": 0.5, "perfect": True}
    doubled = read_swf(path, ReadingRules(estimates="factor:2"))
    assert doubled.jobs.walltime.tolist() == [5000, 140, 5000, 100, 5000, 60, 5000, 20]
    assert doubled.repairs == {"walltime modelled: factor:2": 4}
    assert doubled.facts["estimates"] == {"model": "factor:2", "jobs": 4, "share": 0.5, "perfect": False}
    [remark] = doubled.diagnostics
    assert remark.short == "walltimes modelled: factor:2"
    assert "walltimes of 4 of 8 jobs (50.0 %) are not requested, but modelled" in remark.text
    everybody = read_swf(path, ReadingRules(estimates="factor:2", estimates_for="all"))
    assert everybody.jobs.walltime.tolist() == (2 * everybody.runtime).tolist()
    assert (
        read_swf(path, ReadingRules(estimates="exact", estimates_for="all")).diagnostics[0].short.startswith("PERFECT")
    )


def test_facts_stay_with_their_jobs(tmp_path: Path) -> None:
    text = "".join(line(f1=i, f2=i, f9=-1 if i % 3 else 99, f16=1 + (i > 6)) for i in range(1, 10))
    workload = read_swf(write(tmp_path, "; MaxProcs: 9\n" + text))
    for part in (cut(workload, 3, 3), workload.take([4, 3, 5]), workload.take(workload.jobs.id // 4 == 1)):
        assert part.origin.modelled is not None
        assert part.origin.modelled.tolist() == (part.jobs.id % 3 != 0).tolist()
    assert workload.facts["estimates"]["jobs"] == 6
    assert cut(workload, 0, 6).facts["partitions"] == []
    assert [each.number for each in cut(workload, 4, 4).partitions] == [1, 2]
    moved = workload.jittered(60, np.random.default_rng(1))
    assert moved.origin.modelled is not None
    assert moved.origin.modelled.tolist() == (moved.jobs.id % 3 != 0).tolist()
    drawn = fit_arrivals(workload).sample(50, np.random.default_rng(1))
    assert drawn.origin.modelled is not None
    assert drawn.origin.modelled.tolist() == (drawn.jobs.walltime == 10).tolist()
    assert "PERFECT ESTIMATES" in drawn.diagnostics[0].short
    with pytest.raises(ModelError, match=r"modelled has shape \(2,\), there are 9 jobs"):
        replace(workload, origin=replace(workload.origin, modelled=np.ones(2, bool)))


def test_origin_is_no_part_of_the_digest(tmp_path: Path) -> None:
    workload = some(50)
    known = replace(workload, origin=replace(workload.origin, modelled=np.ones(50, bool)))
    assert known == workload
    assert known.digest() == workload.digest()
    assert known.diagnostics != workload.diagnostics == ()


def test_requests_that_are_the_runtimes_are_perfect_too(tmp_path: Path) -> None:
    workload = some(50, "exact")
    assert [remark.short for remark in workload.diagnostics] == ["PERFECT ESTIMATES"]
    assert workload.facts["estimates"]["perfect"] is True
    write_swf(workload, tmp_path / "exact.swf")
    assert "; Note: PERFECT ESTIMATES: each of the 50 jobs requests" in (tmp_path / "exact.swf").read_text()
    assert read_swf(tmp_path / "exact.swf").diagnostics == workload.diagnostics


def test_jobs_that_rlscheduler_reads_without_a_request_are_known(tmp_path: Path) -> None:
    text = line(f1=1, f9=-1) + line(f1=2) + line(f1=3, f4=-1, f9=-1)
    locked = read_locked(write(tmp_path, "; MaxProcs: 9\n" + text)).workload
    assert locked.origin.modelled is not None
    assert locked.origin.modelled.tolist() == [True, False, True]


def test_walltimes_are_learnt_from_another_trace(other: Path) -> None:
    workload = some()
    learnt = with_estimates(workload, f"trace:{other}", 2, "all")
    short, long = workload.runtime < 3400, (workload.runtime > 3800) & (workload.runtime <= 36_000)
    assert set(learnt.jobs.walltime[short].tolist()) == {3600}
    assert set(learnt.jobs.walltime[long].tolist()) == {36_000}
    beyond = workload.runtime > 36_000
    assert beyond.any()
    assert (learnt.jobs.walltime[beyond] >= workload.runtime[beyond]).all()
    assert (learnt.jobs.walltime[beyond] % 3600 == 0).all()
    assert learnt.origin.estimates == "trace:other.swf, seed 2"


def test_ties_of_runtimes_keep_their_mix_of_requests(tmp_path: Path) -> None:
    text = "".join(line(f1=i, f2=i, f4=100, f9=100 if i % 4 else 900) for i in range(1, 2001))
    path = write(tmp_path, "; MaxProcs: 9\n" + text, "ties.swf")
    walltime = parse_estimates(f"trace:{path}").walltimes(np.full(4000, 100), np.random.default_rng(0))
    assert set(walltime.tolist()) == {100, 900}
    assert 0.22 < (walltime == 900).mean() < 0.28


def test_a_trace_without_requests_teaches_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, line(f9=-1), "none.swf")
    with pytest.raises(SpecError, match=r"none\.swf: no job states a requested time"):
        with_estimates(some(10), f"trace:{path}", 0, "all")
    with pytest.raises(TraceError, match=r"missing\.swf: cannot be read"):
        with_estimates(some(10), f"trace:{tmp_path}/missing.swf", 0, "all")


def test_walltimes_that_cannot_be_scheduled(tmp_path: Path) -> None:
    path = write(tmp_path, "; MaxProcs: 9\n" + line(f4=2**58, f9=-1))
    with pytest.raises(TraceError, match=r"t\.swf: estimates 'factor:100': job 1: times .* too large"):
        read_swf(path, ReadingRules(estimates="factor:100"))


def test_workloads_are_generated_with_any_model(other: Path, tmp_path: Path) -> None:
    lublin = WorkloadRecipe(jobs=200, walltimes=f"trace:{other}").workload(1, 1)
    assert set(lublin.jobs.walltime.tolist()) >= {3600, 36_000}
    bare = tmp_path / "bare.swf"
    bare.write_text("; MaxProcs: 9\n" + "".join(line(f1=i, f2=999 * i, f9=-1) for i in range(1, 99)))
    weekly = WorkloadRecipe(model="weekly", like=str(bare), jobs=50, walltimes="factor:3").workload(1, 1)
    assert set(weekly.jobs.walltime.tolist()) == {30}
    assert weekly.diagnostics[0].short == "walltimes modelled: factor:3"
    whole = WorkloadRecipe(model="trace", like=str(bare), walltimes="tsafrir")
    assert whole.workload(1, 1) != whole.workload(2, 1)
    assert WorkloadRecipe(model="trace", like=str(bare)).workload(1, 1).diagnostics[0].short.startswith("PERFECT")
    with pytest.raises(SpecError, match="unknown estimate model 'what'"):
        WorkloadRecipe(walltimes="what").check()


@pytest.mark.reference
@pytest.mark.parametrize("name", ["SDSC-SP2-1998-4.2-cln", "HPC2N-2002-2.2-cln", "theta_2022"])
def test_accuracy_of_a_real_trace_is_learnt(shared: Path, name: str) -> None:
    path = shared / "traces" / f"{name}.swf.gz"
    real = read_swf(path, ReadingRules(walltime="requested"))
    learnt = with_estimates(real, f"trace:{path}", 1, "all")
    edges = np.linspace(0, 1, 11)
    shares = [np.histogram(each.runtime / each.jobs.walltime, edges)[0] / len(real) for each in (real, learnt)]
    assert np.abs(shares[0] - shares[1]).sum() < 0.05
