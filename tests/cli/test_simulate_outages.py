"""``--outages`` of ``transom simulate`` and ``calibrate``: recorded, kept, judged and refused."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Ran
from transom.traces.records.swf import read_swf_records
from transom.traces.trace_file import write_trace

TRACE = "instances/workloads/lublin_5000.swf.gz"


DRAINS = "drain,20000,80000,400,\ndrain,150000,190000,0-255,\n"
"""Of which jobs go on."""

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(transom: Callable[..., Ran]) -> Run:
    """Run a command; its status and all that it says."""

    def command(*arguments: str) -> tuple[int, str]:
        ran = transom(*arguments)
        return ran.status, ran.out + ran.err

    return command


def test_a_replay_with_outages_is_recorded_and_judged(run: Run, tmp_path: Path) -> None:
    stated = tmp_path / "outages.csv"
    stated.write_text(
        "kind,begin,end,nodes,announced\nfailure,100000,140000,0-511,\nmaintenance,200000,210000,300,\n" + DRAINS
    )
    out = tmp_path / "out"
    command = ("simulate", TRACE, "--jobs", "300", "--policy", "fcfs-easy", "--out", str(out), "--no-figures", "--json")
    status, text = run(*command, "--outages", str(stated), "--outages", "mtbf=5y,mttr=4h")
    assert status == 0
    told = json.loads(next(line for line in text.splitlines() if line.startswith("{")))
    figures = told["policies"][0]["metrics"]
    attempts = pl.read_parquet(out / "fcfs-easy" / "attempts.parquet")
    assert figures["failures"] >= 512
    assert figures["requeued"] == len(attempts) > 0
    assert figures["lost_node_seconds"] > 0
    drained = pl.read_parquet(out / "fcfs-easy" / "outages.parquet").filter(pl.col("kind") == "drain")
    assert set(drained["row"]) == {2, 3}
    assert (drained["begin"] > pl.Series([20_000, 150_000]).gather(drained["row"] - 2)).any()
    assert run("check", TRACE, str(out))[0] == 0
    before = (out / "fcfs-easy" / "jobs.parquet").stat().st_mtime_ns
    run(*command, "--outages", str(stated), "--outages", "mtbf=5y,mttr=4h")
    assert (out / "fcfs-easy" / "jobs.parquet").stat().st_mtime_ns == before
    run(*command, "--outages", str(stated))
    assert (out / "fcfs-easy" / "jobs.parquet").stat().st_mtime_ns != before
    altered = out / "fcfs-easy" / "attempts.parquet"
    pl.read_parquet(altered)[:-1].write_parquet(altered, metadata=pl.read_parquet_metadata(altered))
    status, text = run("check", TRACE, str(out))
    assert (status, "does not fit the digest" in text or "do not fit the digest" in text) == (2, True)
    run(*command)
    assert not (out / "fcfs-easy" / "attempts.parquet").exists()


def test_what_does_not_go_with_outages_is_refused(run: Run) -> None:
    law = ("--outages", "mtbf=5y,mttr=4h")
    status, text = run("simulate", TRACE, "--policy", "fcfs", "--rules", "cqsim", *law)
    assert (status, "--outages does not go with --rules cqsim" in text) == (2, True)
    status, text = run("simulate", TRACE, "--policy", "fcfs", "--jobs", "10", "--on-failure", "lose")
    assert (status, "--on-failure needs --outages" in text) == (2, True)
    status, text = run("simulate", TRACE, "--policy", "fcfs", "--jobs", "10", "--outages", "nowhere.csv")
    assert (status, "nowhere.csv: cannot be read" in text) == (2, True)


@pytest.fixture
def stood_still(tmp_path: Path) -> Path:
    """A log of jobs that start every ten minutes, and of six hours from 20 h on during which none does."""
    path, stop, wait = tmp_path / "log.swf", 72_000, 21_600
    line = "{} {} {} 300 1 -1 -1 1 300 -1 1 1 1 1 1 1 -1 -1\n"
    waits = ((t, 60 if t + 60 <= stop else max(60, stop + wait - t)) for t in range(0, 144_000, 600))
    path.write_text("; MaxProcs: 4\n; UnixStartTime: 1767225600\n" + "".join(
        line.format(i, *job) for i, job in enumerate(waits, 1)
    ))  # fmt: skip
    return path


def test_what_the_log_says_of_maintenance_is_offered_and_taken_if_asked_for(run: Run, stood_still: Path) -> None:
    while_waiting = "the log started nothing between 2026-01-01 20:00 and 2026-01-02 02:00 while 36 jobs waited"
    for command in ("simulate", "calibrate"):
        offered = run(command, str(stood_still))[1]
        assert f"{while_waiting}: --outages logged replays this as maintenance" in offered
        taken = run(command, str(stood_still), "--outages", "logged")[1]
        assert f"--outages logged: {while_waiting}: replayed as maintenance" in taken
    out = stood_still.with_name("out")
    rows = [{"kind": "maintenance", "begin": 72_000, "end": 93_600, "number": 4, "ranges": [], "announced": None}]
    command = ("simulate", str(stood_still), "--policy", "fcfs-easy", "--outages", "logged", "--out", str(out))
    text = run(*command, "--no-figures", "--json")[1]
    told = json.loads(next(line for line in text.splitlines() if line.startswith("{")))
    assert told["outages"]["rows"] == rows
    starts = pl.read_parquet(out / "fcfs-easy" / "jobs.parquet")["start"]
    assert not starts.is_between(71_701, 93_599).any()
    assert run("check", str(stood_still), str(out))[0] == 0


@pytest.fixture
def stated(stood_still: Path) -> Callable[..., Path]:
    """Write the log as a trace of 4 nodes that states maintenance of some, by default during the six hours."""
    records = read_swf_records(str(stood_still))
    epoch = 1767225600  # such traces count from 1970

    def write(nodes: int, begin: int = 72_000, end: int = 93_600) -> Path:
        row = {"begin": begin + epoch, "end": end + epoch, "nodes": nodes, "cores": nodes}
        card = replace(records.card, machine={"nodes": 4, "cores": 4}, maintenance=[row], told_by="")
        path = stood_still.with_name("stated.parquet")
        times = [pl.col(name) + epoch for name in ("submit", "start", "end")]
        write_trace(path, records.jobs.with_columns(times), card)
        return path

    return write


AS_STATED = (
    "Maintenance as the trace states it: 2026-01-01 20:00 to 2026-01-02 02:00, 4 nodes; --outages none leaves it"
)


def test_maintenance_that_the_trace_states_is_replayed_unless_asked_otherwise(
    transom: Callable[..., Ran], stated: Callable[..., Path]
) -> None:
    trace, policy = stated(4), ("--policy", "slurm-backfill")
    for command in ("simulate", "calibrate"):
        told = transom(command, trace, *policy)
        assert told.out.startswith(f"{AS_STATED} out.\n")
        assert "--outages logged" not in told.err  # which is within it
        read, asked = (
            transom(command, trace, *policy, "--json", *more).lines[0] for more in ((), ("--outages", "trace"))
        )
        assert read.pop("maintenance").startswith(AS_STATED)
        assert (read["outages"], read["policies"]) == (asked["outages"], asked["policies"])
        without = transom(command, trace, *policy, "--outages", "none", "--json")
        assert not {"outages", "maintenance"} & without.lines[0].keys()
        assert "the log started nothing" not in without.err
    lost = transom("simulate", trace, "--on-failure", "lose", "--json").lines[0]
    assert lost["outages"]["on_failure"] == "lose"
    refused = transom("simulate", trace, "--outages", "none", "--outages", "trace")
    assert (refused.status, "none goes with no other" in refused.err) == (2, True)
    law = transom("simulate", trace, "--outages", "mtbf=5y,mttr=4h", "--policy", "fcfs").err
    assert "2026-01-01 20:00 to 2026-01-02 02:00, 4 nodes: --outages trace adds it" in law
    assert "adds it" not in transom("simulate", trace, "--outages", "logged", "--policy", "fcfs").err


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--policy", "slurm-backfill:completing=1"), "slurm-backfill has completing, which does not go with outages"),
        (("--today", "slurm-backfill:leaf=2"), "slurm-backfill has leaf, which does not go with outages"),
        (("--policy", "fcfs", "--rules", "cqsim"), "the event rules cqsim know no outages"),
        (("--nodes", "3"), "not how many of the 3 here"),
    ],
)
def test_where_it_cannot_be_replayed_a_line_says_so(
    transom: Callable[..., Ran], stated: Callable[..., Path], options: tuple[str, ...], why: str
) -> None:
    told = transom("simulate", stated(2 if "--nodes" in options else 4), *options)
    assert told.status == 0
    assert [
        why in line for line in told.err.splitlines() if "maintenance that the trace states is left out" in line
    ] == [True]
    assert "Maintenance as" not in told.out


def test_maintenance_beside_the_jobs_changes_nothing(run: Run, stated: Callable[..., Path]) -> None:
    assert "aintenance" not in run("simulate", str(stated(4, 900_000, 950_000)), "--jobs", "50", "--policy", "fcfs")[1]
    told = run("simulate", str(stated(4, 10_000, 20_000)), "--policy", "fcfs")[1]
    assert "Maintenance as the trace states it: 2026-01-01 02:46 to 2026-01-01 05:33, 4 nodes" in told
    assert "36 jobs waited: --outages trace --outages logged replays this as maintenance" in told


def test_maintenance_of_a_part_is_not_assumed_of_partitions(run: Run, stated: Callable[..., Path]) -> None:
    told = run("simulate", str(stated(2)), "--policy", "fcfs", "--partition-nodes", "1=3")[1]
    assert (
        "maintenance of a part of the machine, 2026-01-01 20:00 to 2026-01-02 02:00, 2 nodes: --outages trace" in told
    )
    assert "Maintenance as" not in told
    assert "Maintenance as" in run("simulate", str(stated(2)), "--policy", "fcfs")[1]


def test_a_partition_that_stood_still_is_offered_by_itself(run: Run, stood_still: Path) -> None:
    # Jobs of a second partition start throughout.
    others = (
        f"{1000 + i} {t} 0 500 1 -1 -1 1 500 -1 1 1 1 1 1 2 -1 -1\n" for i, t in enumerate(range(0, 144_000, 700))
    )
    names = "; MaxProcs: 8\n; Partition: 1 debug\n; Partition: 2 batch\n"
    stood_still.write_text(names + stood_still.read_text().replace("; MaxProcs: 4\n", "") + "".join(others))
    told = run("simulate", str(stood_still), "--policy", "fcfs", "--partition-nodes", "debug=4,batch=4")[1]
    assert "the log started nothing in debug between 2026-01-01 20:00 and 2026-01-02 02:00 while 36 jobs waited" in told
    assert ": --partition debug --outages logged replays that partition with it" in told
    alone = ("simulate", str(stood_still), "--policy", "fcfs", "--partition", "debug", "--nodes", "4")
    assert "while 36 jobs waited: replayed as maintenance" in run(*alone, "--outages", "logged")[1]


def test_only_what_stated_maintenance_does_not_explain_is_offered(run: Run, stood_still: Path, tmp_path: Path) -> None:
    stated = tmp_path / "stated.csv"

    def told(row: str, *more: str) -> str:
        stated.write_text(f"kind,begin,end,nodes,announced\n{row},\n")
        status, text = run("simulate", str(stood_still), "--policy", "fcfs", "--outages", str(stated), *more)
        assert status == 0
        return text

    assert "--outages logged replays this" in told("maintenance,10000,20000,4")
    assert "--outages logged replays" not in told("maintenance,72000,93600,4")
    # Jobs ask for 300 s and wait before maintenance into which they would run.
    assert "--outages logged replays" not in told("maintenance,93700,95000,4")
    assert "--outages logged replays this" in told("maintenance,94000,95000,4")
    assert "of fewer than" not in told("maintenance,72000,93600,3")
    text = stood_still.read_text().replace("MaxProcs: 4\n", "MaxProcs: 8\n; Partition: 1 debug\n; Partition: 2 batch\n")
    stood_still.write_text(
        text + "".join(f"{1000 + i} {i} 0 500 1 -1 -1 1 500 -1 1 1 1 1 1 2 -1 -1\n" for i in range(9))
    )
    sizes = ("--partition-nodes", "debug=4,batch=4")
    left = "1 maintenance period of fewer than 8 nodes: taken from the whole machine, not from a partition"
    assert left in told("maintenance,72000,93600,4", *sizes)
    table = told("maintenance,72000,93600,8", *sizes)
    assert "of fewer than" not in table
    assert {"debug used [%]", "batch used [%]"} <= set(map(str.strip, table.split("   "))), "no prefix before names"
    assert "out of service [%]" in table
    assert "requeued  " not in table, "a column of nothing but zeros"
    assert "requeued  " in told("failure,9700,20000,8", *sizes)


def test_maintenance_brings_a_replay_closer_to_the_log(transom: Callable[..., Ran], stood_still: Path) -> None:
    def ratio(*asked: str) -> float:
        told = transom("calibrate", stood_still, "--json", *asked).lines[0]
        assert ("outages" in told) == bool(asked)
        return float(told["policies"][0]["groups"][0]["wait_ratio"])

    assert ratio() < 0.1
    assert 0.9 < ratio("--outages", "logged") < 1.1
    assert transom("calibrate", stood_still, "--on-failure", "lose").status == 2
    nothing = transom("simulate", "instances/workloads/lublin_5000.swf.gz", "--jobs", 10, "--outages", "logged")
    assert (nothing.status, "does not say when jobs started" in nothing.err) == (2, True)


def test_the_bundled_site_is_replayed_with_its_partitions_and_its_maintenance(
    transom: Callable[..., Ran], root: Path, tmp_path: Path
) -> None:
    site, trace = root / "instances" / "site", tmp_path / "site.parquet"
    truth = tomllib.loads((site / "truth.toml").read_text())["waits"]
    conf = ("--conf", site / "slurm.conf", "--conf", site / "reservations.txt")
    transom("import", "slurm", site / "sacct.txt.gz", *conf, "-o", trace)

    def waits(*asked: str) -> dict[str, float]:
        told = transom("simulate", trace, "--policy", "fcfs-easy", "--policy", "saf-easy", "--json", *asked).lines[0]
        return {each["policy"]: each["metrics"]["mean_wait"] for each in told["policies"]}

    for asked, error in ((), 0.05), (("--outages", "logged"), 0.07):
        for policy, wait in waits(*asked).items():
            assert wait == pytest.approx(truth[policy]["all"]["mean_wait"], rel=error), (asked, policy)
    # Without the maintenance the answer is about a time, and merged about a machine, that nobody had.
    assert waits("--outages", "none")["fcfs-easy"] < 0.6 * truth["fcfs-easy"]["all"]["mean_wait"]
    merged = waits("--merge-partitions", "--outages", "none")
    assert merged["fcfs-easy"] < 0.4 * truth["fcfs-easy"]["all"]["mean_wait"]
    alone = transom("when", trace, "--job", 43489, "--partition", "gpu").out
    left_out = "Left out of the forecast is maintenance that the trace states: 2026-03-16 06:00 to 2026-03-18 06:00"
    assert f"{left_out}, 12 nodes." in alone  # the whole machine was out
    assert left_out not in transom("when", trace, "--job", 40100).out
