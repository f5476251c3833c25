"""``transom simulate`` on a fat tree: who gets which nodes, and what that costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.conftest import Ran
from transom.generate import generate_lublin
from transom.simulation.output.recording import read_details, read_node_runs, read_schedule, write_schedule
from transom.simulation.output.verification import check_nodes
from transom.traces import write_swf

Command = Callable[..., Ran]

TREE = ("--cluster", "fat-tree:leaf=4,pod=16")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "small.swf.gz"
    write_swf(generate_lublin(120, 64, np.random.default_rng(1), load=0.9), path)
    return path


def test_the_tree_of_a_file(transom: Command, trace: Path, tmp_path: Path) -> None:
    file = tmp_path / "topology.conf"
    leaves = "".join(f"SwitchName=l{i} Nodes=n[{i * 8}-{i * 8 + 7}]\n" for i in range(8))
    upper = "SwitchName=a0 Switches=l[0-3]\nSwitchName=a1 Switches=l[4-5]\nSwitchName=b Switches=a[0-1]\n"
    file.write_text(f"{leaves}{upper}SwitchName=c Switches=b,l[6-7]\n")
    arguments = ("--cluster", f"topology:{file},order=name", "--allocate", "dcas-exact", "--out", tmp_path / "out")
    done = transom("simulate", trace, "--policy", "fcfs-easy", *arguments, "--no-figures", "--jobs", 60)
    assert done.status == 0, done.err
    assert "mean hop cost" in done.out
    schedule = read_schedule(tmp_path / "out" / "fcfs-easy")
    assert schedule.cluster.topology is not None
    assert schedule.cluster.topology.num_levels == 4
    checked = transom("check", trace, tmp_path / "out" / "fcfs-easy", "--jobs", 60)
    assert checked.status == 0, checked.err
    windows = tmp_path / "windows.jsonl"
    cut = transom("snapshot", trace, "--cluster", f"topology:{file}", "--every", 20_000, "--out", windows, "--jobs", 60)
    assert cut.status == 0, cut.err
    solved = transom("solve", windows, "--problem", "dcas", "--solver", "dcas-exact")
    assert solved.status == 0, solved.err
    file.write_text("SwitchName=a Nodes=n[0-63]\nSwitchName=b Nodes=n1\n")
    broken = transom("simulate", trace, "--policy", "fcfs-easy", "--cluster", f"topology:{file}")
    assert broken.status == 2
    assert broken.err.strip() == f"error: {file} line 2: node n1 hangs on a already (line 1)"


def test_windows_by_period_with_chosen_nodes(transom: Command, trace: Path, tmp_path: Path) -> None:
    arguments = ("simulate", trace, "--cluster", "fat-tree:k=8,nodes=64", "--period", 600, "--allocate", "scas-dp")
    done = transom(*arguments, "--cost-model", "authors", "--out", tmp_path, "--by", "size", "--jobs", 80)
    assert done.status == 0, done.err
    for shown in ("mean hop cost", "switches per job", "pods per job", "by size"):
        assert shown in done.out
    assert "allocations are proved to be of least cost" in done.err
    assert {"gantt_nwp.png", "timeline.png"} <= {path.name for path in (tmp_path / "figures").iterdir()}
    folder = tmp_path / "nwp"
    schedule, runs = read_schedule(folder), read_node_runs(folder)
    assert check_nodes(schedule, runs) == []
    assert schedule.cluster.topology is not None
    table = pl.read_parquet(folder / "jobs.parquet")
    assert (table["start"] % 600 == 0).all()
    for nodes, leaves, pods in table.select("node_ids", "leaves", "pods").iter_rows():
        assert schedule.cluster.topology.spread(nodes) == (leaves, pods)
    details = read_details(folder)["details"]
    assert details["cluster"] == "fat-tree:k=8,nodes=64"
    assert details["allocator"]["solver"] == "scas-dp"
    assert details["allocator"]["cost"]["floored"] is True
    written = (folder / "jobs.parquet").stat().st_mtime_ns
    again = transom(*arguments, "--cost-model", "authors", "--out", tmp_path, "--jobs", 80, "--json", "--no-figures")
    (line,) = again.lines
    assert (folder / "jobs.parquet").stat().st_mtime_ns == written, "what is finished is not computed again"
    (policy,) = line["policies"]
    assert line["cluster"] == "fat-tree:k=8,nodes=64"
    assert policy["allocator"]["solver"] == "scas-dp"
    assert policy["allocations"]["proved"] == policy["allocations"]["solved"] > 0
    assert policy["metrics"]["mean_hop_cost"] == pytest.approx(table["hop_cost"].mean())
    assert policy["by"]["size"]["1"]["hop_cost"] in (0, None)
    transom(*arguments, "--out", tmp_path, "--jobs", 80, "--no-figures")
    assert (folder / "jobs.parquet").stat().st_mtime_ns != written, "other costs are another replay"


def test_allocators_side_by_side(transom: Command, trace: Path) -> None:
    given = ("--policy", "fcfs-easy", "--policy", "windows=nwp:period=300")
    solvers = ("--allocate", "sequential", "--allocate", "scas-dp", "--allocate-by", "job")
    (line,) = transom("simulate", trace, *TREE, *given, *solvers, "--json").lines
    found = {each["policy"]: each["metrics"] for each in line["policies"]}
    assert list(found) == [f"{a}.{b}" for a in ("fcfs-easy", "windows") for b in ("sequential", "scas-dp")]
    for policy in ("fcfs-easy", "windows"):
        plain, best = found[f"{policy}.sequential"], found[f"{policy}.scas-dp"]
        assert plain["mean_wait"] == best["mean_wait"]
        assert plain["mean_hop_cost"] > best["mean_hop_cost"]
    twice = ("--allocate", "sa:steps=10", "--allocate", "sa:steps=20", "--rule", "static", "--repeats", 1)
    (line,) = transom("simulate", trace, *TREE, "--policy", "fcfs", *twice, "--json").lines
    assert [each["policy"] for each in line["policies"]] == ["fcfs.sa-1", "fcfs.sa-2"]
    assert all(each["jittered"]["mean_hop_cost"]["mean"] > 0 for each in line["policies"])


def test_without_an_allocator_jobs_get_the_lowest_idle_nodes(transom: Command, trace: Path, tmp_path: Path) -> None:
    plain, tree = tmp_path / "plain", tmp_path / "tree"
    assert transom("simulate", trace, "--policy", "fcfs-easy", "--out", plain, "--no-figures").status == 0
    assert transom("simulate", trace, "--policy", "fcfs-easy", "--out", tree, "--no-figures", *TREE).status == 0
    assert read_node_runs(tree / "fcfs-easy") == read_node_runs(plain / "fcfs-easy")
    assert "hop_cost" not in pl.read_parquet_schema(plain / "fcfs-easy" / "jobs.parquet")
    done = transom("simulate", trace, "--policy", "fcfs-easy")
    assert "hop" not in done.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--period", "60", "--policy", "fcfs"], "--period 60 stands for --policy nwp:period=60"),
        (["--period", "60", "--allocate", "scas-dp"], "--allocate needs --cluster"),
        (["--period", "60", "--cost-model", "authors"], "--cost-model needs --cluster"),
        (["--period", "60", *TREE, "--rule", "free"], "--rule needs --allocate"),
        (["--period", "60", *TREE, "--allocate-by", "job"], "--allocate-by needs --allocate"),
        (["--period", "60", *TREE, "--allocate-seconds", "2"], "--allocate-seconds needs --allocate"),
        (["--period", "60", *TREE, "--allocate", "scas-dp", "--allocate-seconds", "0"], "seconds must be > 0"),
        (["--period", "60", *TREE, "--allocate", "dp"], "it solves Knapsack problems"),
        (["--period", "60", *TREE, "--allocate", "scas-pd"], "did you mean 'scas-dp'"),
        (["--period", "60", *TREE, "--allocate", "scas-dp", "--rule", "free"], "under the free rule"),
        (["--period", "60", *TREE, "--cost-model", "dear"], "unknown cost model 'dear'"),
        (["--period", "60", "--cluster", "fat-tree:k=8,nodes=65", "--nodes", "64"], "has 65 nodes, the machine 64"),
        (["--period", "60", "--cluster", "fat-tree:k=8,nodes=many"], "nodes must be a whole number > 0, got 'many'"),
        (["--period", "60", "--cluster", "fat-tree:k=8,nodes=129"], "up to 128 nodes, got nodes=129"),
        (["--period", "60", "--cluster", "fat-tree:k=4"], "up to 16 nodes"),
        (["--period", "60", "--cluster", "torus"], "unknown cluster 'torus'"),
        (["--period", "0"], "error: --period: "),
        (["--period", "10000000000"], "period must be from 1"),
    ],
)
def test_bad_options_are_one_line(transom: Command, trace: Path, arguments: list[str], says: str) -> None:
    done = transom("simulate", trace, *arguments)
    assert (done.status, done.out) == (2, "")
    assert says in done.err.strip().splitlines()[-1]
    assert len(done.err.strip().splitlines()) == 1


def test_a_tree_may_state_the_size_of_the_machine(transom: Command, trace: Path, tmp_path: Path) -> None:
    arguments = ("simulate", trace, "--cluster", "fat-tree:k=8,nodes=128", "--period", 60, "--no-figures", "--json")
    (line,) = transom(*arguments, "--out", tmp_path).lines
    assert line["nodes"] == 128
    assert transom("check", trace, tmp_path / line["policies"][0]["policy"]).status == 0


def test_check_takes_recordings_with_nodes(transom: Command, trace: Path, tmp_path: Path) -> None:
    arguments = ("simulate", trace, *TREE, "--policy", "fcfs-easy", "--no-figures", "--jobs", 60)
    assert transom(*arguments, "--out", tmp_path / "plain").status == 0
    solver = ("--allocate", "scas-dp", "--cost-model", "authors")
    assert transom(*arguments, *solver, "--out", tmp_path / "dear").status == 0
    for name in ("plain", "dear"):
        ran = transom("check", trace, tmp_path / name)
        assert (ran.status, ran.err) == (0, ""), name
        assert ran.out == f"{tmp_path / name}: all sound: 1 x schedule of 60 jobs\n"


def test_check_computes_hops_again(transom: Command, trace: Path, tmp_path: Path) -> None:
    arguments = ("simulate", trace, *TREE, "--policy", "fcfs-easy", "--no-figures", "--out", tmp_path)
    assert transom(*arguments).status == 0
    folder = tmp_path / "fcfs-easy"
    schedule, details = read_schedule(folder), read_details(folder)["details"]
    assert schedule.spread is not None
    job = int(schedule.spread.leaves.argmax())
    for name, says in (("hop_cost", "says hop_cost"), ("leaves", "says leaves"), ("pods", "says pods")):
        wrong = getattr(schedule.spread, name).copy()
        wrong[job] += 1
        spread = replace(schedule.spread, **{name: wrong})
        write_schedule(replace(schedule, spread=spread), folder, read_node_runs(folder), details)
        ran = transom("check", trace, folder)
        assert ran.status == 1
        assert f"job {schedule.jobs.id[job]}: {says}" in ran.out
    broken = {**details, "allocator": {"cost": {"hops": 3}}}
    write_schedule(schedule, folder, read_node_runs(folder), broken)
    ran = transom("check", trace, folder)
    assert (ran.status, ran.out) == (2, "")
    assert "the cost model in its metadata is not known" in ran.err
