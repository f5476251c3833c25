"""``--resources`` of simulate, snapshot and check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Ran
from transom.generate.demands.resources import offered_load, with_resources
from transom.io import read_documents
from transom.models import Cluster, JobTable, Window
from transom.simulation.output.recording import read_details, read_node_runs, read_schedule, write_schedule
from transom.simulation.output.verification import check_schedule
from transom.traces import read_swf

Transom = Callable[..., Ran]
TEXT = "bb=[normal:mean=40,deviation=20,load=0.8],gpu=[correlated:correlation=0.9,share=0.5],power=500"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("memory") / "memory.swf"
    rows = []
    for job in range(1, 61):
        known = -1 if job % 4 == 0 else 1000 * job
        rows.append(f"{job} {job * 60} -1 600 2 -1 -1 2 900 {known} 1 1 1 -1 1 -1 -1 -1")
    path.write_text("; MaxNodes: 8\n" + "\n".join(rows) + "\n")
    return path


def test_jobs_ask_for_what_the_library_makes(transom: Transom, trace: Path, tmp_path: Path) -> None:
    ran = transom(
        "simulate", trace, "--policy", "fcfs-easy", "--policy", "fcfs", "--resources", TEXT, "--seed", 3, "--out",
        tmp_path, "--no-figures", "--json",
    )  # fmt: skip
    assert ran.status == 0
    workload = with_resources(read_swf(trace), TEXT, 3)
    (told,) = ran.lines
    assert told["workload"] == workload.digest()
    assert [each["name"] for each in told["resources"]] == ["bb", "gpu", "power"]
    assert tuple(each["capacity"] for each in told["resources"]) == workload.cluster.capacities
    assert [each["load"] for each in told["resources"]] == pytest.approx(offered_load(workload)[1:].tolist())
    for policy in ("fcfs-easy", "fcfs"):
        schedule = read_schedule(tmp_path / policy)
        assert np.array_equal(schedule.jobs.demand, workload.jobs.demand)
        assert schedule.cluster == workload.cluster
        assert not check_schedule(workload, schedule)
        recorded = read_details(tmp_path / policy)["details"]["resources"]
        assert (recorded["spec"], recorded["seed"], recorded["made"]) == (TEXT, 3, told["resources"])
    assert "bb: " in ran.err
    assert " asking for " in ran.err


def test_the_table_says_what_was_made(transom: Transom, trace: Path) -> None:
    ran = transom("simulate", trace, "--policy", "fcfs", "--resources", "bb=800", "--seed", 4)
    (title,) = (line for line in ran.out.splitlines() if line.startswith("small under textbook events"))
    assert "further resources bb 800 (seed 4)" in title
    assert "bb: 800 in all by normal:mean=" in ran.err


def test_what_is_recorded_is_kept_only_for_the_same_resources(transom: Transom, trace: Path, tmp_path: Path) -> None:
    def run(*more: object) -> str:
        return str(transom("simulate", trace, "--policy", "fcfs", "--out", tmp_path, "--no-figures", *more).err)

    stamp = tmp_path / "fcfs" / "jobs.parquet"
    run("--resources", "bb=800")
    written = stamp.stat().st_mtime_ns
    run("--resources", "bb=800")
    assert stamp.stat().st_mtime_ns == written
    for more in (("--resources", "bb=801"), ("--resources", "bb=801", "--seed", 2), ()):
        run(*more)
        assert stamp.stat().st_mtime_ns > written
        written = stamp.stat().st_mtime_ns


def test_check_makes_the_resources_again(transom: Transom, trace: Path, tmp_path: Path) -> None:
    arguments = ("--policy", "fcfs-easy", "--start", 20, "--jobs", 200, "--out", tmp_path, "--no-figures")
    transom("simulate", trace, *arguments, "--resources", TEXT, "--seed", 5)
    ran = transom("check", trace, tmp_path)
    assert ran.status == 0
    assert "all sound" in ran.out
    assert transom("check", trace, tmp_path, "--seed", 6).status == 2
    assert transom("check", trace, tmp_path, "--resources", "bb=800").status == 2
    assert transom("check", trace, tmp_path, "--resources", TEXT, "--seed", 5).status == 0
    transom("simulate", trace, *arguments)
    ran = transom("check", trace, tmp_path, "--seed", 5)
    assert ran.status == 2
    assert "--seed is for those" in ran.err


def test_check_names_forged_demands_and_capacities(transom: Transom, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    transom("simulate", trace, "--policy", "fcfs", "--jobs", 50, "--resources", "bb=800", "--out", out, "--no-figures")
    kept = read_schedule(out / "fcfs")
    details, runs = read_details(out / "fcfs")["details"], read_node_runs(out / "fcfs")
    data = kept.jobs.data.copy()
    data[7, -1] -= 1
    forged = {
        f"job {kept.jobs.id[7]}: holds another demand than it asked for": replace(kept, jobs=JobTable(data)),
        "the machine has 64 nodes, 900 of bb, not 64 nodes, 800 of bb": replace(
            kept, cluster=Cluster(64, ("bb",), (900,))
        ),
    }
    for says, schedule in forged.items():
        write_schedule(schedule, out / "fcfs", runs, details)
        ran = transom("check", trace, out)
        assert ran.status == 1
        assert says in ran.out


def test_windows_tell_demands(transom: Transom, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "windows.jsonl"
    ran = transom("snapshot", trace, "--every", 3600, "--minimum", 3, "--resources", TEXT, "--out", out, "--json")
    assert ran.status == 0
    workload = with_resources(read_swf(trace), TEXT, 0)
    assert ran.lines[0]["workload"] == workload.digest()
    windows = [window for _, window in read_documents(out) if isinstance(window, Window)]
    asked = dict(zip(workload.jobs.id.tolist(), workload.jobs.demand.tolist(), strict=True))
    assert len(windows) > 5
    for window in windows:
        assert window.cluster == workload.cluster
        assert window.queue.demand.tolist() == [asked[job] for job in window.queue.id.tolist()]


def test_columns_of_the_trace(transom: Transom, memory: Path, tmp_path: Path) -> None:
    text = "mem=[column:field=10,unit=1000,load=0.7]"
    ran = transom(
        "simulate", memory, "--policy", "fcfs", "--resources", text, "--out", tmp_path, "--no-figures", "--json"
    )
    assert ran.status == 0
    schedule = read_schedule(tmp_path / "fcfs")
    demand = schedule.jobs.demand[:, 0]
    expected = [0 if job % 4 == 0 else 2 * job for job in schedule.jobs.id.tolist()]
    assert demand.tolist() == np.minimum(expected, schedule.cluster.capacities[0]).tolist()
    assert ran.lines[0]["resources"][0]["asking"] == 45
    assert transom("check", memory, tmp_path).status == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("bb=gauss", "unknown demand law of resource 'bb'"),
        ("bb=[normal:mean=-1]", "mean must be > 0"),
        ("bb=[normal:load=0]", "load must be > 0"),
        ("bb=0", "capacity must be from 1"),
        ("nodes=50", "other than 'nodes'"),
        ("bb=5,bb=6", "set twice"),
        ("bb=column", "field 10 (requested memory) is not stated"),
    ],
)
@pytest.mark.parametrize("command", ["simulate", "snapshot"])
def test_bad_resources(transom: Transom, trace: Path, tmp_path: Path, command: str, text: str, says: str) -> None:
    more = ("--policy", "fcfs") if command == "simulate" else ("--every", 60, "--out", tmp_path / "w.jsonl")
    ran = transom(command, trace, *more, "--resources", text)
    assert ran.status == 2
    assert says in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not ran.out
