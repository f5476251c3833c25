"""Jobs with ``--switches=N``: left to Slurm, or placed within their limits where the allocation solver keeps them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Ran, transom
from tests.slurm.cluster import EmulatedSlurm
from tests.slurm.driving import Drive
from transom import Stop, solve
from transom.errors import ModelError
from transom.io import encode, read_windows
from transom.models import Allocation, Cluster, FatTree, Joint
from transom.simulation.nodes.allocator import Allocator, Placer, takes_limits
from transom.simulation.nodes.typed import Wants
from transom.slurm.advice import Adviser
from transom.slurm.audit import Audit
from transom.slurm.decisions import decide_again, note_decision
from transom.slurm.state import SlurmState, read_answers
from transom.slurm.window import window_of
from transom.traces.records.hostlist import hosts
from transom.traces.records.slurm_text.jobs import POLLED, SEPARATOR, jobs_of_json, jobs_of_squeue

__all__ = ["transom"]

JOB = "JobId={} UserId=a(1) GroupId=a(1) JobState=PENDING Priority=9 NumNodes={} TimeLimit=00:10:00 Partition=p "
EXAMPLES = Path(__file__).parents[2] / "examples" / "slurm"
PATIENT = ("--seconds", "60")
"""A proof takes longer where the machine is busy."""
TREE = FatTree.uniform(8, 4, 8)


def state(folder: Path, jobs: list[tuple[int, int, str]], busy: str = "") -> SlurmState:
    """Jobs of so many nodes with ``Switches=``, on eight nodes below two leaf switches."""
    text = ""
    for number, nodes, switches in jobs:
        text += f"{JOB.format(number, nodes)}SubmitTime=2026-01-01T10:00:0{number} Switches={switches}\n"
    for i in range(8):
        told = "State=ALLOCATED CPUTot=4 CPUAlloc=4" if str(i) in busy else "State=IDLE CPUTot=4 CPUAlloc=0"
        text += f"NodeName=n{i} {told} Partitions=p\n"
    text += "SwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\nSwitchName=top Switches=s[0-1]\n"
    (folder / "answers.txt").write_text(text)
    return read_answers([folder / "answers.txt"], 1767262200)


def starts(adviser: Adviser, seen_state: SlurmState) -> dict[int, str]:
    seen = window_of(seen_state, order=adviser.order, limits=adviser.keeps_limits)
    return {start.job.id: start.where for start in adviser.advise(seen).starts}


def test_only_some_solvers_keep_limits() -> None:
    keep, refuse = ("scas-dp", "free-cpsat", "free-exact", "dcas-exact", "best-fit"), ("sequential",)
    kept = {spec: takes_limits(Allocator(spec)) for spec in keep + refuse}
    assert kept == dict.fromkeys(keep, True) | dict.fromkeys(refuse, False)
    assert not takes_limits(Allocator())


@pytest.mark.parametrize("spec", ["scas-dp", "free-cpsat"])
def test_jobs_keep_their_limits_or_wait(tmp_path: Path, spec: str) -> None:
    adviser = Adviser("fcfs", Allocator(spec))
    # n1 and n2 are below the one switch, n4 to n6 below the other: three nodes are below one switch there alone.
    found = starts(adviser, state(tmp_path, [(1, 2, "0"), (2, 3, "1@00:05:00")], "037"))
    assert found == {1: "n[1-2]", 2: "n[4-6]"}
    # Three nodes are below none now: the job waits, and what starts beside it does not.
    assert starts(adviser, state(tmp_path, [(1, 3, "1"), (2, 1, "1")], "0347")) == {2: "n1"}
    # Only one pair is below one switch: the first job has it, and the second one waits.
    found = starts(adviser, state(tmp_path, [(1, 2, "1"), (2, 2, "1")], "0567"))
    assert found.keys() == {1}
    assert set(hosts(found[1])) < {"n1", "n2", "n3"}


def test_other_allocators_and_windows_leave_them_to_slurm(tmp_path: Path) -> None:
    for adviser in (Adviser("fcfs"), Adviser("fcfs", Allocator("sequential"))):
        assert starts(adviser, state(tmp_path, [(1, 2, "0"), (2, 3, "1")])) == {1: "n[0-1]"}
    jobs = [(1, 5, "1"), (2, 5, "2"), (3, 4, "many")]
    for limits, left in ((True, 2), (False, 3)):
        seen = window_of(state(tmp_path, jobs), limits=limits)
        # Five nodes are below no switch, and never will be.
        assert seen.left == {"limits on switches": left}
    assert window_of(state(tmp_path, jobs), limits=True).leaf_limits == {2: 2}


def test_documents_of_windows_take_them_along(tmp_path: Path, transom: Callable[..., Ran]) -> None:
    state(tmp_path, [(1, 3, "1"), (2, 2, "0"), (3, 3, "1"), (4, 1, "1")], "03")
    asked = ("slurm", "window", tmp_path / "answers.txt", "--now", "1767262200", "--order", "fcfs")
    out = tmp_path / "window.json"
    (told,) = transom(*asked, "--json").lines
    assert told["left"] == {"limits on switches": 3}
    transom(*asked, "--limits", "-o", out)
    (window,) = read_windows(out)
    assert window.leaf_limits is not None
    assert window.leaf_limits.tolist() == [1, 0, 1, 1]
    assert encode(window) == out.read_bytes().strip()
    choice = Joint.from_window(window)
    assert choice.leaf_limits is not None
    assert choice.leaf_limits.tolist() == [1, 2, 1, 1]
    placed = Allocation.from_window(window, "free", jobs=[2, 3, 1])
    assert placed.leaf_limits is not None
    assert (placed.sizes.tolist(), placed.leaf_limits.tolist()) == ([3, 2], [1, 2])
    assert Allocation.from_window(window, "free", jobs=[1]).leaf_limits is None
    # n1, n2 are idle below the one switch, n4 to n7 below the other: one job of three nodes has to wait.
    (line,) = transom("solve", out, "--problem", "joint", "--solver", "joint-cpsat", *PATIENT, "--json").lines
    assert line["status"] == "optimal"
    loose = replace(window, leaf_limits=None)
    for seen, status in ((window, "infeasible"), (loose, "optimal")):
        both = replace(Joint.from_window(seen), mandatory=np.array([0, 2]))
        assert solve(both, "joint-cpsat", Stop()).status == status
    assert loose.digest() != window.digest()
    for limits, says in (([1, 0, 1], "leaf_limits"), ([1, 0, -1, 1], "job 3 may span -1 leaf switches")):
        with pytest.raises(ModelError, match=says):
            replace(window, leaf_limits=np.array(limits))
    with pytest.raises(ModelError, match="the cluster has no topology"):
        replace(loose, cluster=Cluster(8), idle=None, leaf_limits=np.array([1, 0, 1, 1]))


def test_the_recorded_answers_tell_of_them() -> None:
    files = [EXAMPLES / name for name in ("jobs.txt", "nodes.txt", "topology.txt")]
    one, other = (window_of(read_answers(files), held=True, limits=limits) for limits in (False, True))
    assert one.left["limits on switches"] == 1
    assert "limits on switches" not in other.left
    ((job, limit),) = other.leaf_limits.items()
    assert (other.jobs[job].name, limit) == ("11", 1)
    assert one.leaf_limits == {}
    for told in ({"set": True, "infinite": False, "number": 2}, 2, "2"):
        (read,) = jobs_of_json([{"job_id": 5, "job_state": ["PENDING"], "minimum_switches": told}])
        assert read.most_leaves == 2
    for value, most in (("1", 1), ("N/A", None), ("0", None)):
        values = {**dict.fromkeys(POLLED, ""), "raw": "5", "state": "PENDING", "switches": value}
        (read,) = jobs_of_squeue([SEPARATOR.join([*values.values(), ""])])
        assert read.most_leaves == most


def test_a_log_decides_within_the_same_limits_again(tmp_path: Path) -> None:
    audit, adviser = Audit(tmp_path / "audit.jsonl"), Adviser("fcfs", Allocator("scas-dp"))
    audit.write("begin", policy="fcfs", allocate="scas-dp", seed=0)
    seen = window_of(state(tmp_path, [(1, 2, "1"), (2, 3, "1")], "03"), order="fcfs", limits=True)
    advice = adviser.advise(seen)
    assert len(advice.starts) == 2
    note_decision(audit, seen, advice.starts)
    assert decide_again(audit.path) == (1, [])


def test_limits_that_do_not_bind_are_none() -> None:
    placer = Placer(TREE, Allocator("scas-dp"))
    found = placer.place_within(np.arange(8), Wants([3, 3, 1], [5, None, None]))
    assert [len(ids) for ids in found] == [3, 3, 1]
    assert len(set(np.concatenate(found).tolist())) == 7
    alone = Placer(TREE, Allocator("scas-dp", per_job=True)).place_within(np.arange(2, 8), Wants([4, 2], [1, 2]))
    assert [ids.tolist() for ids in alone] == [[4, 5, 6, 7], [2, 3]]


@pytest.mark.long
def test_a_driven_job_starts_below_so_many_switches(
    emulated_slurm: Callable[..., EmulatedSlurm], transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = emulated_slurm(nodes=8, leaf=4)
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, slurm.environment[name])
    first = slurm.submit("sleep 1000", "-N", "2", "-t", "30", "-w", "n00,n03")
    slurm.wait(lambda: slurm.states()[first] == "RUNNING", "the job runs")
    held = slurm.submit("true", "-N", "3", "-t", "5", "--switches=1", "-H")
    (told,) = transom("slurm", "advise", "--json", "--held", "--allocate", "scas-dp").lines
    (start,) = told["start"]
    assert start["job"] == str(held)
    assert set(start["nodes"]) < {"n04", "n05", "n06", "n07"}
    (told,) = transom("slurm", "advise", "--json", "--held", "--allocate", "sequential").lines
    assert told["left"] == {"limits on switches": 1}
    with Drive(slurm, "--select", "all", "--allocate", "scas-dp") as drive:
        slurm.wait(lambda: any(each["JobId"] == str(held) for each in slurm.completed()), "the job has ended")
    (done,) = (each for each in slurm.completed() if each["JobId"] == str(held))
    assert set(hosts(done["NodeList"])) == set(start["nodes"])
    assert [line["action"] for line in drive.lines("act")] == ["adopt", "start"]
