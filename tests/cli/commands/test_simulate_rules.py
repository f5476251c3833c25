"""``transom simulate --rules``: other event rules are named in every output and refuse what does not go with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.conftest import Ran
from transom.adapters.rules.locked_reading import read_locked
from transom.adapters.rules.rlscheduler import RLScheduler
from transom.simulation import simulate
from transom.simulation.output.metrics import bounded_slowdown
from transom.simulation.output.recording import read_details, read_schedule
from transom.traces import ReadingRules, read_swf

Transom = Callable[..., Ran]

DRAWN = "rlscheduler:sequences=3,length=20,first=300,seed=4"


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace with a job without a request, one with neither request nor runtime, and a preceding job."""
    path = tmp_path_factory.mktemp("trace") / "odd.swf"
    rows = [
        (1, 0, 50, 3, 60, -1), (2, 5, 9, 3, -1, 1), (3, 6, -1, 1, -1, -1), (4, 7, 30, 4, 20, -1), (5, 8, 9, 1, 9, -1),
    ]  # fmt: skip
    lines = [f"{i} {s} -1 {r} {n} -1 -1 {n} {w} -1 1 1 1 1 1 1 {p} -1" for i, s, r, n, w, p in rows]
    path.write_text("\n".join(["; MaxProcs: 4", *lines]) + "\n")
    return path


def test_the_rules_stand_in_every_output(trace: Path, tmp_path: Path, transom: Transom) -> None:
    arguments = ("simulate", trace, "--rules", "cqsim", "--policy", "fcfs-easy", "--policy", "sjf")
    shown = transom(*arguments, "--by", "mode", "--out", tmp_path, "--jitter", 60, "--repeats", 2)
    assert shown.status == 0
    assert "small under cqsim events" in shown.out
    assert "by mode, cqsim events" in shown.out
    assert (tmp_path / "figures" / "timeline.png").exists()
    for file in ("jobs.parquet", "decisions.parquet"):
        card = json.loads(pl.read_parquet_metadata(tmp_path / "sjf" / file)["transom"])
        assert card["rules"] == card["details"]["events"] == "cqsim"
    assert json.loads((tmp_path / "sjf" / "repeats.json").read_text())["rules"] == "cqsim"
    found = transom(*arguments, "--json").lines[0]
    assert found["rules"] == "cqsim"
    assert [each["rules"] for each in found["policies"]] == ["cqsim", "cqsim"]
    workload = read_swf(trace)
    expected = simulate(workload, "fcfs-easy", rules="cqsim")
    assert found["policies"][0]["metrics"]["mean_wait"] == expected.wait.mean()
    assert read_schedule(tmp_path / "fcfs-easy").start.tolist() == expected.start.tolist()
    assert expected.start.tolist() != simulate(workload, "fcfs-easy").start.tolist()
    assert transom("check", trace, tmp_path).status == 0
    textbook = transom("simulate", trace, "--policy", "fcfs", "--rules", "textbook", "--json").lines[0]
    assert textbook["rules"] == textbook["policies"][0]["rules"] == "textbook"


def test_a_recording_under_other_rules_is_not_taken(trace: Path, tmp_path: Path, transom: Transom) -> None:
    common = ("simulate", trace, "--policy", "wfp3-easy", "--out", tmp_path, "--no-figures")
    one = ("--start", 0, "--jobs", 300)
    waits = {}
    for rules in ("textbook", "cqsim", "textbook", "rlscheduler", "rlscheduler:sign=published", "cqsim"):
        stretch = one if rules.startswith("rlscheduler") else ()
        repeats = () if stretch else ("--jitter", 9, "--repeats", 1)
        assert transom(*common, "--rules", rules, *stretch, *repeats).status == 0
        assert read_details(tmp_path / "wfp3-easy")["rules"] == rules
        mean = float(read_schedule(tmp_path / "wfp3-easy").wait.mean())
        assert waits.setdefault(rules, mean) == mean
        if repeats:
            kept = json.loads((tmp_path / "wfp3-easy" / "repeats.json").read_text())
            assert kept["rules"] == rules
            assert kept.get("events", "textbook") == rules
        # What was just recorded is taken; the exact same command writes nothing.
        written = (tmp_path / "wfp3-easy" / "jobs.parquet").stat().st_mtime_ns
        assert transom(*common, "--rules", rules, *stretch, *repeats).status == 0
        assert (tmp_path / "wfp3-easy" / "jobs.parquet").stat().st_mtime_ns == written
    assert len(set(waits.values())) == 4


def test_the_protocol_prints_means_over_its_sequences(trace: Path, tmp_path: Path, transom: Transom) -> None:
    policies = ("--policy", "sjf", "--policy", "mine=wfp3-easy", "--out", tmp_path)
    arguments = ("simulate", trace, "--rules", DRAWN, *policies)
    shown = transom(*arguments)
    assert shown.status == 0
    title = "small under rlscheduler events, sequences of 20 jobs (seed 4); mean ± deviation over 3 sequences"
    assert title in shown.out
    found = transom(*arguments, "--json").lines[0]
    workload, rules = read_locked(trace).workload, RLScheduler(sequences=3, length=20, first=300, seed=4)
    starts = rules.starts(300)
    assert found["protocol"] == {"sequences": 3, "length": 20, "first": 300, "after": 0, "seed": 4, "starts": starts}
    assert found["rules"] == "rlscheduler"
    for row, policy in zip(found["policies"], ("sjf", "wfp3-easy"), strict=True):
        schedules = [simulate(workload.take(np.arange(s, s + 20)), policy, rules=rules) for s in starts]
        means = [float(bounded_slowdown(each).mean()) for each in schedules]
        assert [each["start"] for each in row["sequences"]] == starts
        assert [each["metrics"]["mean_bounded_slowdown"] for each in row["sequences"]] == means
        assert row["over_sequences"]["mean_bounded_slowdown"]["mean"] == pytest.approx(np.mean(means))
        for start, schedule, each in zip(starts, schedules, row["sequences"], strict=True):
            assert each["folder"] == str(tmp_path / f"{row['policy']}.{start}")
            assert read_schedule(tmp_path / f"{row['policy']}.{start}").start.tolist() == schedule.start.tolist()
    assert transom("check", trace, tmp_path).status == 0
    # Sequences are kept one by one: more of them compute what is new alone.
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/jobs.parquet")}
    assert transom("simulate", trace, "--rules", DRAWN.replace("=3", "=5"), *policies).status == 0
    assert kept.items() <= {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/jobs.parquet")}.items()


def test_start_and_jobs_state_one_sequence(trace: Path, tmp_path: Path, transom: Transom) -> None:
    arguments = ("simulate", trace, "--rules", "rlscheduler:sign=published", "--policy", "unicep-easy")
    found = transom(*arguments, "--start", 40, "--jobs", 100, "--json", "--out", tmp_path).lines[0]
    assert found["jobs"] == 100
    assert found["rules"] == "rlscheduler:sign=published"
    stretch = read_locked(trace).workload.take(np.arange(40, 140))
    expected = simulate(stretch, "unicep-easy", rules=RLScheduler(sign="published"))
    assert read_schedule(tmp_path / "unicep-easy").start.tolist() == expected.start.tolist()
    assert found["figures"]


def test_each_program_reads_traces_in_its_way(odd: Path, tmp_path: Path, transom: Transom) -> None:
    run = transom("simulate", odd, "--rules", "cqsim", "--policy", "fcfs", "--out", tmp_path / "a", "--no-figures")
    assert "odd: 3 jobs on 4 nodes" in run.err
    assert "left out: no requested time: 1" in run.err
    assert read_schedule(tmp_path / "a" / "fcfs").jobs.id.tolist() == [1, 4, 5]
    more = ("--walltime", "requested-else-runtime", "--out", tmp_path / "b", "--no-figures")
    run = transom("simulate", odd, "--rules", "cqsim", "--policy", "fcfs", *more)
    assert "dependency dropped: cqsim knows none: 1" in run.err
    schedule = read_schedule(tmp_path / "b" / "fcfs")
    assert schedule.jobs.id.tolist() == [1, 2, 4, 5]
    assert schedule.jobs.walltime.tolist() == [60, 9, 20, 9]
    expected = read_swf(odd, ReadingRules()).jobs.id.tolist()
    assert schedule.jobs.id.tolist() == expected
    stretch = ("--start", 0, "--out", tmp_path / "c", "--no-figures")
    run = transom("simulate", odd, "--rules", "rlscheduler", "--policy", "fcfs", *stretch)
    assert "neither requested time nor runtime: 1" in run.err
    assert read_details(tmp_path / "c" / "fcfs")["details"]["events"] == "rlscheduler:unasked=3"
    assert read_schedule(tmp_path / "c" / "fcfs").end.tolist() == [50, 59, 60, 90, 99]
    for folder in ("a", "b", "c"):
        assert transom("check", odd, tmp_path / folder).status == 0
    refused = transom("check", odd, tmp_path / "c", "--walltime", "requested")
    assert refused.status == 2
    assert "--walltime does not go with" in refused.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("cqsym", "--policy", "fcfs"), "unknown event rules 'cqsym'; did you mean 'cqsim'?"),
        (("cqsim:sign=real", "--policy", "fcfs"), "'cqsim' has no parameter 'sign'"),
        (("cqsim", "--policy", "window"), "cqsim rules take priority rules without or with -easy, not 'window'"),
        (("cqsim", "--policy", "sjf-conservative"), "without or with -easy, not 'sjf-conservative'"),
        (("cqsim", "--period", 30), "--period does not go with --rules cqsim"),
        (("cqsim", "--policy", "fcfs", "--cluster", "fat-tree:k=20"), "--cluster does not go with --rules cqsim"),
        (("cqsim", "--policy", "fcfs", "--resources", "bb=5"), "--resources does not go with --rules cqsim"),
        (("rlscheduler", "--policy", "fcfs"), "sequences of 1024 need > 2049 jobs, got 300"),
        (("rlscheduler", "--policy", "fcfs", "--size", "max"), "--size does not go with --rules rlscheduler"),
        (("rlscheduler", "--policy", "fcfs", "--long-runs", "cut"), "--long-runs does not go with --rules rlscheduler"),
        (("rlscheduler", "--policy", "fcfs", "--jitter", 5, "--repeats", 2), "--jitter does not go with"),
        (("rlscheduler", "--policy", "fcfs", "--seed", 4), "which sequences are drawn says rlscheduler:seed=NUMBER"),
        ((DRAWN, "--policy", "fcfs", "--figures"), f"--figures does not go with --rules {DRAWN}"),
        ((DRAWN, "--policy", "fcfs", "--format", "pdf"), f"--format does not go with --rules {DRAWN}"),
        ((DRAWN, "--policy", "fcfs", "--by", "week"), f"--by does not go with --rules {DRAWN}"),
        ((DRAWN, "--policy", "fcfs", "--warm-up", 9), f"--warm-up does not go with --rules {DRAWN}"),
        ((DRAWN, "--policy", "fcfs", "--start", 9), "sequences does not go with --start and --jobs"),
        (("rlscheduler", "--policy", "fcfs", "--start", 300), "start must be from 0 to 299, got 300"),
        (("rlscheduler:unasked=4", "--policy", "fcfs"), "which jobs ask for no time is found in the trace"),
    ],
)
def test_what_does_not_go_together_is_one_line(
    trace: Path, arguments: tuple[object, ...], says: str, transom: Transom
) -> None:
    shown = transom("simulate", trace, "--rules", *arguments)
    assert shown.status == 2
    assert shown.out == ""
    assert len(shown.err.strip().splitlines()) == 1
    assert says in shown.err


@pytest.mark.parametrize("rules", [(), ("--rules", "cqsim"), ("--rules", DRAWN)])
def test_tables_say_where_the_clock_of_f1_to_f4_begins(trace: Path, rules: tuple[str, ...], transom: Transom) -> None:
    policies = ("--policy", "f4-easy", "--policy", "own=f4-easy:clock=sequence", "--policy", "sjf")
    shown = transom("simulate", trace, *rules, *policies)
    assert shown.status == 0
    assert shown.out.splitlines()[-2:] == [
        "f4-easy: submission times on the trace's clock (clock=trace)",
        "own: submission times on a clock that starts with the jobs that are replayed (clock=sequence)",
    ]
    found = transom("simulate", trace, *rules, *policies, "--json").lines[0]["policies"]
    assert [each.get("clock") for each in found] == ["trace", "sequence", None]
    if DRAWN not in rules:
        assert found[0]["metrics"] == found[1]["metrics"]  # of a whole trace both clocks are one


def test_long_names_are_cut_in_tables_and_stated_below(trace: Path, transom: Transom) -> None:
    specs = [f"formula-easy:score=[walltime**0.4{k}*nodes**0.7{k}+0.0008{k}*submit]" for k in (1, 2)]
    policies = [word for spec in ("fcfs-easy", *specs) for word in ("--policy", spec)]
    out = transom("simulate", trace, *policies).out
    table = out[out.index("textbook events") :]
    names = [f"formula-easy-score-walltime-0.4{k}-… ({k + 1})" for k in (1, 2)]
    assert all(
        f"\n {name} " in table and f"\n{name}: {spec}\n" in table for name, spec in zip(names, specs, strict=True)
    )
    assert f"{', '.join(names)}: submission times on the trace's clock" in table
    labels = [each["policy"] for each in transom("simulate", trace, *policies, "--json").lines[0]["policies"]]
    wide = transom("simulate", trace, *policies, "--wide").out
    assert all(len(label) > 40 and f"\n {label} " in wide for label in labels[1:])


@pytest.mark.reference
def test_one_command_prints_the_published_means(shared: Path, transom: Transom) -> None:
    trace = shared / "traces" / "SDSC-SP2-1998-4.2-cln.swf.gz"
    rules = ("fcfs", "wfp3", "unicep", "sjf", "f1")
    policies = [argument for rule in rules for argument in ("--policy", rule, "--policy", f"{rule}-easy")]
    found = transom("simulate", trace, "--rules", "rlscheduler:sign=published", *policies, "--json").lines[0]
    means = [round(each["over_sequences"]["mean_bounded_slowdown"]["mean"], 2) for each in found["policies"]]
    assert means[::2] == [1727.54, 3000.88, 1848.45, 2680.55, 1232.06]
    assert means[1::2] == [1595.12, 1083.12, 548.01, 2167.84, 1098.22]
    assert found["protocol"]["starts"] == [1981, 2756, 4299, 8850, 3316, 2714, 5228, 7762, 4022, 7085]
