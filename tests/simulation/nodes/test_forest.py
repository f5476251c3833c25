"""Replays on topologies of several trees: every job keeps to one, and is sent to the one where it starts first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.simulation.nodes.test_sections import held
from transom.cli import run
from transom.errors import SpecError
from transom.models import Cluster, Job
from transom.simulation import simulate
from transom.simulation.nodes.allocator import Allocator
from transom.simulation.nodes.forest import kept_in_trees, tree_names
from transom.simulation.nodes.topology import names_of_trees, parse_tree
from transom.simulation.output.verification import check_nodes, check_schedule
from transom.traces import ReadingRules, TracedJob, Workload, read_swf

FOREST = """SwitchName=ib1 Nodes=n[1-4]
SwitchName=ib2 Nodes=n[5-8]
SwitchName=core Switches=ib[1-2]
SwitchName=opa Nodes=m[1-4]
"""


@pytest.fixture
def spec(tmp_path: Path) -> str:
    (tmp_path / "topology.conf").write_text(FOREST)
    return f"topology:{tmp_path / 'topology.conf'}"


def kept(workload: Workload, spec: str) -> Workload:
    return kept_in_trees(workload, parse_tree(spec, 12), names_of_trees(spec))


def workload(*jobs: tuple[int, int, int]) -> Workload:
    """Jobs of (submission, nodes, runtime) on 12 nodes."""
    made = [TracedJob(Job(i, submit, nodes, time), time) for i, (submit, nodes, time) in enumerate(jobs, 1)]
    return Workload.of(made, Cluster(12), "made")


def test_no_job_has_nodes_of_two_trees(spec: str) -> None:
    # 6 nodes are idle in all at 1 s, but no more than 4 on a tree: job 3 waits.
    found = kept(workload((0, 6, 100), (0, 2, 50), (1, 5, 10), (2, 4, 10)), spec)
    assert (found.cluster.resources, found.cluster.capacities) == (("tree_core", "tree_opa"), (8, 4))
    schedule = simulate(found, "fcfs-easy", allocator=Allocator("best-fit"))
    assert schedule.start.tolist() == [0, 0, 100, 2]
    assert found.repairs == {"sent to one of 2 trees of the topology at the submission": 4}
    assert check_schedule(found, schedule) == check_nodes(schedule, schedule.runs) == []


@pytest.mark.parametrize("policy", ["fcfs", "sjf-easy", "fcfs-conservative", "nwp:period=30"])
@pytest.mark.parametrize("order", ["tree", "name"])
@pytest.mark.parametrize("allocator", [None, Allocator("sequential")])
def test_every_policy_keeps_jobs_within_a_tree(policy: str, order: str, allocator: Allocator | None, spec: str) -> None:
    rng = np.random.default_rng(3)
    jobs = zip(np.cumsum(rng.integers(0, 20, 120)), rng.integers(1, 9, 120), rng.integers(5, 60, 120), strict=True)
    spec = f"{spec},order={order}"
    found = kept(workload(*((int(a), int(b), int(c)) for a, b, c in jobs)), spec)
    schedule = simulate(found, policy, allocator=allocator)
    assert check_schedule(found, schedule) == check_nodes(schedule, schedule.runs) == []
    first, last = (0, 4) if order == "name" else (8, 12)  # of opa
    for job in range(len(found)):
        on_opa = {first <= node < last for node in held(schedule.runs, job)}
        assert on_opa == {bool(found.jobs.demand[job, tree_names(found.cluster).index("opa")])}


def test_nodes_of_another_tree_are_found(spec: str) -> None:
    jobs = workload((0, 6, 100), (0, 2, 100))
    found = kept(jobs, f"{spec},order=name")
    anywhere = simulate(replace(jobs, cluster=Cluster(12, topology=found.cluster.topology)), "fcfs")
    schedule = simulate(found, "fcfs")
    assert anywhere.runs is not None
    assert "holds nodes of another partition or tree" in check_nodes(schedule, anywhere.runs)[0]


def test_jobs_larger_than_every_tree_are_left_out_and_named(spec: str) -> None:
    found = kept(workload((0, 4, 100), (1, 9, 100), (2, 12, 100)), spec)
    assert found.jobs.id.tolist() == [1]
    assert found.repairs["left out: larger than every tree of the topology (job 2 is the first)"] == 2
    with pytest.raises(SpecError, match="no job fits a tree; job 1 asks for more than 8 nodes"):
        kept(workload((0, 9, 100)), spec)


def test_partitions_may_lie_within_trees_but_not_across(spec: str, tmp_path: Path) -> None:
    lines = (f"{i} 0 -1 100 4 -1 -1 4 100 -1 1 1 1 1 1 {i} -1 -1\n" for i in (1, 2))
    (tmp_path / "log.swf").write_text("; MaxProcs: 12\n" + "".join(lines))
    apart = read_swf(tmp_path / "log.swf", ReadingRules(partition_nodes="1=8,2=4"))
    found = kept(apart, spec)
    assert (tree_names(found.cluster), found.cluster.resources) == ((), ("partition_1", "partition_2"))
    schedule = simulate(found, "fcfs", allocator=Allocator("best-fit"))
    assert held(schedule.runs, 1) == {8, 9, 10, 11}
    across = read_swf(tmp_path / "log.swf", ReadingRules(partition_nodes="1=4,2=8"))
    with pytest.raises(SpecError, match="partition 2 of --partition-nodes has nodes of the trees core and opa"):
        kept(across, spec)


def test_recordings_are_checked(spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (f"{i} {i} -1 100 {n} -1 -1 {n} 100 -1 1 1 1 1 1 1 -1 -1\n" for i, n in enumerate((5, 4, 3, 8, 10), 1))
    trace, out = tmp_path / "log.swf", tmp_path / "out"
    trace.write_text("; MaxProcs: 12\n" + "".join(lines))
    asked = ["simulate", str(trace), "--policy", "fcfs-easy", "--cluster", spec, "--allocate", "best-fit"]
    assert run([*asked, "--out", str(out), "--json"]) == 0
    assert "larger than every tree of the topology (job 5 is the first): 1" in capsys.readouterr().err
    assert run(["check", str(trace), str(out / "fcfs-easy")]) == 0
    assert "all sound" in capsys.readouterr().out
    (tmp_path / "outages.csv").write_text("kind,begin,end,nodes\nfailure,10,20,1\n")
    assert run([*asked, "--outages", str(tmp_path / "outages.csv")]) == 2
    assert "nodes are placed by partition or by tree" in capsys.readouterr().err


@pytest.mark.reference
def test_case_of_two_roots(shared: Path) -> None:
    folder = shared / "cases" / "records" / "topology_two_roots"
    spec = f"topology:{folder / 'topology.conf'}"
    found = kept(read_swf(folder / "t.swf"), spec)
    schedule = simulate(found, "fcfs-easy", allocator=Allocator("best-fit"))
    assert check_nodes(schedule, schedule.runs) == []
