"""What nobody may overlook about a trace stands in every output, and options choose what is made of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran
from tests.traces.test_swf import line
from transom.simulation.output.recording import read_details, read_schedule
from transom.traces import ReadingRules, read_swf

Transom = Callable[..., Ran]
TOLD = "PERFECT ESTIMATES: 60 of 60 jobs (100.0 %) request no time, and their runtime is taken for it"
POOLED = "2 partitions replayed as one machine: 1 batch (66.7 % of the jobs"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Jobs that request no time, in two partitions, with a further column for GPUs, one of runtime 0."""
    path = tmp_path / "bare.swf"
    header = "; MaxProcs: 8\n; Partition: 1 batch\n; Columns: gpus\n"
    jobs = [
        line(f1=i, f2=20 * i, f4=10 * (i % 7) or 5, f9=-1, f16=1 + (i % 3 == 0)).rstrip() + f" {i % 4}\n"
        for i in range(1, 61)
    ]
    path.write_text(header + "".join(jobs) + line(f1=61, f2=0, f4=0, f9=-1, f16=1).rstrip() + " 0\n")
    return path


def test_every_output_of_simulate_says_that_estimates_are_perfect(
    transom: Transom, trace: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    arguments = ["simulate", trace, "--policy", "fcfs-easy", "--policy", "sjf", "--out", out, "--format", "svg"]
    ran = transom(*arguments, "--jitter", 5, "--repeats", 1, "--by", "mode")
    assert ran.status == 0
    assert f"  ! {TOLD}" in ran.err
    assert f"  ! {POOLED}" in ran.err
    short = "PERFECT ESTIMATES (100.0 % of the jobs); 2 partitions as one machine"
    shown = " ".join(ran.out.split())  # titles of narrow tables are wrapped
    assert f"bare under textbook events; {short}; mean" in shown
    assert f"by mode, textbook events; {short}" in shown
    details = read_details(out / "sjf")
    assert details["details"]["estimates"] == {"model": "exact", "jobs": 60, "share": 1.0, "perfect": True}
    assert [each["name"] for each in details["details"]["partitions"]] == ["batch", ""]
    assert [each.short for each in read_schedule(out / "sjf").diagnostics] == short.split("; ")
    assert TOLD in json.loads((out / "sjf" / "repeats.json").read_text())["remarks"][0]["text"]
    pictures = list((out / "figures").glob("*.svg"))
    assert len(pictures) >= 6
    assert all(short in path.read_text() for path in pictures)
    found = transom(*arguments[:6], "--json", "--no-figures").lines[0]
    assert found["estimates"] == details["details"]["estimates"]
    assert found["partitions"][0]["jobs"] == pytest.approx(2 / 3)
    again = transom(*arguments)  # what is kept says it as well
    assert all(short in path.read_text() for path in pictures)
    assert TOLD in again.err


def test_snapshots_and_sequences_say_it_too(transom: Transom, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "windows.jsonl"
    ran = transom("snapshot", trace, "--every", 60, "--out", out)
    assert TOLD in ran.err
    assert "windows; PERFECT ESTIMATES (100.0 % of the jobs); 2 partitions as one machine" in ran.out
    assert transom("snapshot", trace, "--every", 60, "--out", out, "--json").lines[0]["estimates"]["perfect"] is True
    rules = ["--rules", "rlscheduler:sequences=2,length=8,first=40"]
    ran = transom("simulate", trace, "--policy", "fcfs", *rules)
    assert "PERFECT ESTIMATES" in ran.out
    assert TOLD in ran.err
    assert transom("simulate", trace, "--policy", "fcfs", *rules, "--json").lines[0]["estimates"]["perfect"] is True


def test_a_model_of_estimates_is_named_seeded_and_checked(transom: Transom, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    base = ["simulate", trace, "--policy", "fcfs-easy", "--no-figures", "--estimates", "tsafrir"]
    ran = transom(*base, "--seed", 3, "--out", out)
    assert ran.status == 0
    assert "walltimes modelled: tsafrir, seed 3" in ran.out
    assert "walltimes of 60 of 60 jobs (100.0 %) are not requested, but modelled: tsafrir, seed 3" in ran.err
    expected = read_swf(trace, ReadingRules(estimates="tsafrir", seed=3))
    assert read_schedule(out / "fcfs-easy").jobs == expected.jobs
    assert transom("check", trace, out).status == 0
    other = transom("check", trace, out, "--seed", 4)
    assert (other.status, "is a replay of another workload" in other.err) == (2, True)
    seeds = [transom(*base, "--seed", seed, "--json").lines[0]["workload"] for seed in (3, 4)]
    assert seeds == [expected.digest(), read_swf(trace, ReadingRules(estimates="tsafrir", seed=4)).digest()]
    under = transom("simulate", trace, "--policy", "fcfs", "--rules", "cqsim", "--estimates", "factor:2", "--json")
    assert under.lines[0]["estimates"]["model"] == "factor:2"


def test_options_of_reading_are_recorded_and_checked(transom: Transom, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    base = ["simulate", trace, "--policy", "fcfs-easy", "--no-figures", "--out", out, "--json"]
    options = ["--partition", "batch", "--nodes", 8, "--size-field", "gpus", "--zero-runtimes", "second"]
    found = transom(*base, *options, "--estimates", "factor:3", "--estimates-for", "all").lines[0]
    assert found["repairs"]["left out: in another partition"] == 20
    assert found["partitions"] == []
    rules = ReadingRules(
        partitions=("batch",), size_field="gpus", zero_runtimes="second", estimates="factor:3", estimates_for="all"
    )
    assert found["workload"] == read_swf(trace, rules, 8).digest()
    assert transom("check", trace, out).status == 0
    assert transom("check", trace, out, "--size-field", "8").status == 2
    second = transom(*base[:5], "--json", "--zero-runtimes", "second").lines[0]
    assert second["repairs"]["runtime 0 of a completed job, counted as 1 s"] == 1
    assert second["jobs"] == 61
    resources = transom("simulate", trace, "--policy", "fcfs-easy", "--resources", "gpu=[column:gpus]", "--json")
    assert resources.lines[0]["resources"][0]["capacity"] >= 3


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--estimates", "best"], "unknown estimate model 'best'"),
        (["--estimates", "factor:2", "--walltime", "requested"], "which walltime 'requested' leaves out"),
        (["--estimates", "trace:none.swf"], "none.swf: cannot be read: No such file"),
        (["--size", "max", "--size-field", "gpus"], "'max' does not go with size_field 'gpus'"),
        (["--size-field", "watts"], "its lines have no field 'watts'"),
        (["--partition", "1"], "size of the whole machine (8), not that of partition 1: state it (--nodes)"),
        (["--partition", "9", "--nodes", "8"], "no job is in partition '9'. Known: 1 batch, 2"),
        (["--rules", "rlscheduler", "--estimates", "factor:2"], "--estimates does not go with --rules rlscheduler"),
    ],
)
def test_what_does_not_fit_is_one_line(transom: Transom, trace: Path, options: list[str], says: str) -> None:
    ran = transom("simulate", trace, "--policy", "fcfs", *options)
    assert (ran.status, ran.out) == (2, "")
    assert says in ran.err.splitlines()[-1]


def test_workloads_are_generated_with_a_model(transom: Transom, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "made.swf"
    assert transom("generate", "workload", "--jobs", 50, "--walltimes", "factor:2", "--out", out).status == 0
    assert "--walltimes factor:2" in out.read_text()
    made = read_swf(out)
    assert (made.jobs.walltime == 2 * made.runtime).all()
    weekly = ["generate", "workload", "--model", "weekly", "--like", trace, "--jobs", 40, "--out", out]
    ran = transom(*weekly)
    assert TOLD in ran.err
    assert "; Note: PERFECT ESTIMATES" in out.read_text()
    assert transom(*weekly, "--walltimes", "tsafrir", "--seed", 2).status == 0
    assert "; Note: walltimes of 40 of 40 jobs (100.0 %) are not requested, but modelled: tsafrir" in out.read_text()
    ran = transom("generate", "workload", "--jobs", 50, "--walltimes", "no", "--out", out)
    assert (ran.status, "unknown estimate model 'no'" in ran.err) == (2, True)
