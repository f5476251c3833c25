"""``transom conform``: schedules of independent programs, dialects, and input that is none."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Ran
from tests.conform.faulty_replay import replay
from tests.conform.test_judging import FAULTS, made
from transom.conform.dialects import known_dialects
from transom.traces import write_swf


@pytest.mark.reference
@pytest.mark.parametrize("name", ["lublin_2000", "theta_2022"])
def test_independent_easy_passes_and_cqsim_is_named(shared: Path, name: str, transom: Callable[..., Ran]) -> None:
    trace = shared / "traces" / f"{name}.swf.gz"
    for program, status in (("easy", 0), ("cqsim", 1)):
        starts = shared / "reference" / f"{program}_{name}.csv.gz"
        ran = transom("conform", str(starts), "--trace", str(trace), "--walltime", "requested", "--json")
        told = json.loads(ran.out)
        assert (ran.status, told["differ"] > 0, told["dialect"]) == (status, status == 1, "cqsim" if status else None)


@pytest.mark.reference
def test_rlscheduler_is_named(shared: Path, tmp_path: Path, transom: Callable[..., Ran]) -> None:
    rows = pl.read_csv(shared / "reference" / "rlscheduler_jobs_SDSC-SP2.csv.gz")
    one = rows.filter((pl.col("policy") == "SJF") & (pl.col("backfill") == 1) & (pl.col("seq") == 0))
    one.write_csv(tmp_path / "sjf.csv")
    trace = shared / "traces" / "SDSC-SP2-1998-4.2-cln.swf.gz"
    at = ("--start", str(one["start_index"][0]), "--jobs", str(len(one)))
    ran = transom("conform", str(tmp_path / "sjf.csv"), "--trace", str(trace), "--policy", "sjf-easy", *at, "--json")
    assert (ran.status, json.loads(ran.out)["dialect"]) == (1, "rlscheduler")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    write_swf(made(), tmp_path / "trace.swf")
    return tmp_path / "trace.swf"


@pytest.mark.parametrize(
    ("policy", "rules", "dialect"),
    [
        ("fcfs-easy", "cqsim", "cqsim"),
        ("fcfs-easy", "accasim", "accasim"),
        ("slurm-backfill:interval=60,resolution=300", "textbook", "slurm-backfill"),
    ],
)
def test_a_recording_of_a_dialect_is_told(
    policy: str, rules: str, dialect: str, trace: Path, tmp_path: Path, transom: Callable[..., Ran]
) -> None:
    made_by = ("--policy", f"one={policy}", "--rules", rules, "--out", str(tmp_path / "out"), "--no-figures")
    assert transom("simulate", str(trace), *made_by).status == 0
    starts, figure = tmp_path / "out" / "one" / "jobs.parquet", tmp_path / "first.png"
    ran = transom("conform", str(starts), "--trace", str(trace), "--json", "--figure", str(figure))
    told = json.loads(ran.out)
    assert (ran.status, told["dialect"]) == (1, dialect)
    assert figure.stat().st_size > 10_000
    assert "explains all: " + dialect in transom("conform", str(starts), "--trace", str(trace)).out


def test_a_dialect_of_ones_own_is_a_file(trace: Path, tmp_path: Path, transom: Callable[..., Ran]) -> None:
    fault, _ = FAULTS["the smallest job first"]
    (tmp_path / "starts.csv").write_text(
        "job,start\n" + "".join(f"{j},{s}\n" for j, s in replay(made(), fault).items())
    )
    (tmp_path / "mine.toml").write_text(
        'about = "small ones"\npolicy = "{kind}-easy"\n[vary]\nkind = ["largest", "smallest"]\n'
    )
    words = ("conform", str(tmp_path / "starts.csv"), "--trace", str(trace), "--json")
    assert json.loads(transom(*words).out)["dialect"] is None
    told = json.loads(transom(*words, "--dialect", str(tmp_path / "mine.toml")).out)
    assert (told["dialect"], told["explained_by"][0]["policy"]) == ("mine", "smallest-easy")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("about = 1", "about must be a text"),
        ('colour = "red"', "colour must be one of about"),
        ('policy = "{x}-easy"', "no values for {x}"),
        ("[vary]\nx = []", "list of values"),
        ("not toml", "not TOML"),
    ],
)
def test_a_dialect_that_is_none_is_refused(
    text: str, says: str, trace: Path, tmp_path: Path, transom: Callable[..., Ran]
) -> None:
    (tmp_path / "starts.csv").write_text("job,start\n1,0\n")
    (tmp_path / "mine.toml").write_text(text)
    words = ("--trace", str(trace), "--dialect", str(tmp_path / "mine.toml"))
    ran = transom("conform", str(tmp_path / "starts.csv"), *words)
    assert ran.status == 2
    assert says in ran.err
    assert ran.err.count("\n") == 1


def test_every_dialect_is_about_something() -> None:
    assert {"accasim", "cqsim", "rlscheduler", "slurm-backfill"} <= {each.name for each in known_dialects()}
    assert all(each.about for each in known_dialects())


BAD = {
    "empty": ("", "is empty"),
    "no columns": ("a,b\n1,2\n", "expected the columns job and start"),
    "no rows": ("job,start\n", "holds no start times"),
    "a word": ("job,start\n1,101\n2,soon\n", "row 2: start must be a number, got 'soon'"),
    "no such job": ("job,start\nabc,101\n", "row 1: the trace has no job 'abc'"),
    "none in common": ("job,start\n777,101\n", "no job of the start times"),
    "far away": ("job,start\n1,1e300\n", "at most 2**53"),
    "ragged": ("job,start\n1,101,5,6,7\n", "no table"),
    "binary": ("\x00\x01\x02", "not a text file"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_holds_none_is_refused_in_one_line(
    name: str, trace: Path, tmp_path: Path, transom: Callable[..., Ran]
) -> None:
    text, says = BAD[name]
    (tmp_path / "starts").write_text(text)
    ran = transom("conform", str(tmp_path / "starts"), "--trace", str(trace))
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1), ran.err
    assert says in ran.err


def test_a_command_is_run_on_golden_schedules(root: Path, transom: Callable[..., Ran]) -> None:
    words = ("--golden", "bundled", "--", sys.executable, str(root / "examples" / "conform" / "easy.py"))
    ran = transom("conform", "--json", "--trace", str(root / "instances" / "workloads"), *words)
    told = json.loads(ran.out)
    assert (ran.status, told["differs"], told["failed"]) == (0, 0, 0)
    assert told["passed"] >= 18


def test_options_and_words_go_with_what_is_asked(trace: Path, tmp_path: Path, transom: Callable[..., Ran]) -> None:
    for words, says in (
        (("a", "b", "--trace", str(trace)), "one file of start times"),
        (("a",), "one file of start times"),
        (("true", "--golden", "bundled", "--policy", "fcfs"), "--policy does not go with --golden"),
        (("true", "--golden", str(tmp_path)), "no golden schedules"),
        (("true", "--golden", "bundled", "--trace", str(tmp_path / "x")), "a folder with real traces"),
    ):
        ran = transom("conform", *words)
        assert (ran.status, ran.err.count("\n")) == (2, 1), ran.err
        assert says in ran.err


def test_maintenance_counts_where_it_is_stated(trace: Path, tmp_path: Path, transom: Callable[..., Ran]) -> None:
    (tmp_path / "out.csv").write_text("kind,begin,end,nodes\nmaintenance,1000,4000,32\n")
    made_by = ("--policy", "one=fcfs-easy", "--out", str(tmp_path / "out"), "--no-figures")
    stated = ("--outages", str(tmp_path / "out.csv"))
    assert transom("simulate", str(trace), *made_by, *stated).status == 0
    starts = str(tmp_path / "out" / "one" / "jobs.parquet")
    assert transom("conform", starts, "--trace", str(trace), *stated).status == 0
    assert transom("conform", starts, "--trace", str(trace)).status == 1
