"""Workloads and platforms of Batsim."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from transom.cli import run
from transom.errors import TraceError
from transom.traces import read_swf
from transom.traces.batsim import Platform, is_workload, read_platform, workload_as_swf

PROFILES: dict[str, dict[str, Any]] = {
    "delay": {"type": "delay", "delay": 20.2},
    "delay5": {"type": "DelayProfile", "delay": 7},
    "work": {"type": "parallel_homogeneous", "cpu": 10e9, "com": 0},
    "total": {
        "type": "ParallelTaskHomogeneousProfile",
        "cpu": 10e9,
        "generation_strategy": "DefinedAmountsSpreadUniformly",
    },
    "sequence": {"type": "composed", "repeat": 2, "seq": ["delay5", "work"]},
    "network": {"type": "parallel_homogeneous", "cpu": 1, "com": 5},
}
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "http://simgrid.gforge.inria.fr/simgrid/simgrid.dtd">
<platform version="4.1"><zone id="AS0" routing="Full">
  <host id="master_host" speed="9Gf"/><host id="a" speed="2Gf,1Gf"/><host id="b" speed="1e9f"/>
  <host id="pfs" speed="0f"><prop id="role" value="storage"/></host>
  <cluster id="C" prefix="c" suffix="" radical="0-3,7" speed="1.5Gf" bw="1GBps" lat="5us"/>
  <cluster id="M" prefix="m" suffix="" radical="0-0" speed="1Gf"><prop id="role" value="master"/></cluster>
</zone></platform>"""


def written(path: Path, *jobs: dict[str, Any], **others: Any) -> Path:
    text = json.dumps({"nb_res": 4, "jobs": jobs, "profiles": PROFILES} | others)
    path.write_bytes(gzip.compress(text.encode()) if path.name.endswith(".gz") else text.encode())
    return path


def job(name: str | int, profile: str = "delay", **others: Any) -> dict[str, Any]:
    return {"id": name, "subtime": 3.6, "walltime": 30.5, "res": 2, "profile": profile} | others


@pytest.mark.parametrize("name", ["w.json", "w.json.gz"])
def test_a_workload_is_a_trace(tmp_path: Path, name: str) -> None:
    path = written(
        tmp_path / name, job("w0!7"), job("w0!3", "delay5", walltime=None, subtime=0), job("w0!4", "network")
    )
    assert is_workload(str(path))
    workload = read_swf(path)
    assert workload.cluster.num_nodes == 4
    assert workload.jobs.id.tolist() == [3, 7], "the one that communicates has no runtime"
    assert workload.jobs.submit.tolist() == [0, 4]
    assert workload.jobs.walltime.tolist() == [7, 31]
    assert workload.runtime.tolist() == [7, 20]
    assert sum(workload.repairs.values()) >= 1


def test_names_are_numbered_and_computation_takes_the_slowest_host(tmp_path: Path) -> None:
    path = str(written(tmp_path / "w.json", job("x", "work"), job("y", "total"), job("z", "sequence", walltime=99)))
    rows = [line.split() for line in workload_as_swf(path, Platform(7, 1e9)).decode().splitlines()]
    assert rows[:2] == [[";", "MaxNodes:", "7"], [";", "MaxProcs:", "7"]]
    assert [(row[0], row[3]) for row in rows[2:]] == [("1", "10"), ("2", "5"), ("3", "34")]


def test_hosts_of_a_platform_that_compute(tmp_path: Path) -> None:
    (path := tmp_path / "p.xml").write_text(PLATFORM)
    assert read_platform(str(path)) == Platform(7, 1e9)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('<!DOCTYPE p [<!ENTITY a "aaaa">]><platform>&a;</platform>', "an entity is declared"),
        ("<adag/>", "expected <platform>"),
        ("<platform><host", "not XML"),
        ("<platform><host id='a' speed='fast'/></platform>", "speed str 'fast' is none"),
        ("<platform><cluster radical='a-b' speed='1f'/></platform>", "no list of numbers"),
        ("<platform><cluster radical='0-999999999' speed='1f'/></platform>", "1000000000 hosts"),
        ("<platform/>", "0 hosts that compute"),
    ],
)
def test_what_is_no_platform_is_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    (path := tmp_path / "p.xml").write_text(text)
    with pytest.raises(TraceError, match=complaint):
        read_platform(str(path))


@pytest.mark.parametrize(
    ("jobs", "others", "complaint"),
    [
        ([job("1", "gone")], {}, "job str '1': there is no profile str 'gone'"),
        ([job("1", subtime="soon")], {}, "Expected `float`"),
        ([job("1", subtime=-4)], {}, "subtime and walltime must be seconds"),
        ([job("1")], {"profiles": {"delay": {"type": "delay"}}}, "expected a number >= 0"),
        ([job("1")], {"profiles": {"delay": {"type": "composed", "seq": ["delay"]}}}, "inside each other"),
        ([{"id": 1, "profiles": 3}], {}, "missing required field"),
    ],
)
def test_a_bad_workload_is_one_line(
    tmp_path: Path, jobs: list[dict[str, Any]], others: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(TraceError, match=complaint):
        read_swf(written(tmp_path / "w.json", *jobs, **others))


def test_commands_read_workloads_and_platforms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "w.json", *(job(name, subtime=name) for name in range(1, 9)), job(9, "work"))
    assert run(["simulate", str(path), "--policy", "fcfs-easy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["jobs"] == 8
    (platform := tmp_path / "p.xml").write_text(PLATFORM)
    out = tmp_path / "made.parquet"
    assert run(["import", "batsim", str(path), "--platform", str(platform), "-o", str(out), "--json"]) == 0
    workload = read_swf(out)
    assert (workload.cluster.num_nodes, len(workload)) == (7, 9)
    assert workload.runtime.tolist()[-1] == 20


def test_what_unpacks_to_too_much_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "large.json.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"nb_res": 4, "jobs": [')
        for _ in range(400):
            file.write(b" " * 2**20)
    tracemalloc.start()
    try:
        with pytest.raises(TraceError, match="a workload of more than 128 MiB"):
            workload_as_swf(str(path))
        assert tracemalloc.get_traced_memory()[1] < 300 * 2**20
    finally:
        tracemalloc.stop()
