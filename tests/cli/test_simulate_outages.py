"""``transom simulate --outages``: recorded, kept, judged and refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Ran

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
