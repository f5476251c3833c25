"""Jobs that take some nodes alone, by features, cores or memory: in the window, in advice, and on a real Slurm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Ran, transom
from tests.slurm.cluster import EmulatedSlurm
from tests.slurm.driving import Drive, asked_nodes
from transom.io import read_windows
from transom.simulation.nodes.allocator import Allocator, takes_types
from transom.simulation.nodes.typed import Wants, shared_out
from transom.slurm.advice import Adviser
from transom.slurm.audit import Audit
from transom.slurm.decisions import decide_again, note_decision
from transom.slurm.node_types import feature_test
from transom.slurm.state import SlurmState, read_answers
from transom.slurm.window import Seen, window_of
from transom.traces.records.hostlist import hosts
from transom.traces.records.slurm_text.documents import json_records
from transom.traces.records.slurm_text.jobs import jobs_of_records
from transom.traces.records.slurm_text.nodes import gres_counts, nodes_of

__all__ = ["transom"]

JOB = "JobId={} UserId=a(1) GroupId=a(1) JobState=PENDING Priority={} TimeLimit=00:10:00 Partition=p OverSubscribe=NO "
NOW = 1767262200


def state(folder: Path, jobs: list[str], states: str = "IIIIIIII") -> SlurmState:
    """Jobs, the first one first, on eight nodes below two leaf switches: n2, n3, n6 and n7 have the feature ``big`` and
    eight cores, n6 and n7 ``ib``, too, and more memory. States are idle, allocated or drained."""
    words = {"I": "IDLE", "A": "ALLOCATED", "D": "IDLE+DRAIN"}
    text = ""
    for number, asks in enumerate(jobs, 1):
        text += f"{JOB.format(number, 100 - number)}SubmitTime=2026-01-01T10:00:0{number} {asks}\n"
    for i, word in enumerate(states):
        big, ib = i % 4 > 1, i > 5
        features = ",".join(["any", *(["big"] if big else []), *(["ib"] if ib else [])])
        cores = 8 if big else 4
        text += f"NodeName=n{i} State={words[word]} CPUTot={cores} CPUAlloc={cores * (word == 'A')} Partitions=p "
        text += f"RealMemory={64000 if ib else 8000} ActiveFeatures={features}\n"
    text += "SwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\nSwitchName=top Switches=s[0-1]\n"
    (folder / "answers.txt").write_text(text)
    return read_answers([folder / "answers.txt"], NOW)


def seen_by(adviser: Adviser, seen_state: SlurmState) -> Seen:
    return window_of(
        seen_state, order=adviser.order, limits=adviser.keeps_limits, types=adviser.keeps_types
    )  # fmt: skip


def starts(adviser: Adviser, seen_state: SlurmState) -> dict[int, str]:
    return {start.job.id: start.where for start in adviser.advise(seen_by(adviser, seen_state)).starts}


SOLVERS = [None, "free-cpsat", "dcas-exact", "scas-dp", "sa"]


@pytest.mark.parametrize("spec", SOLVERS)
def test_jobs_get_nodes_that_they_take(tmp_path: Path, spec: str | None) -> None:
    adviser = Adviser("fcfs", None if spec is None else Allocator(spec, seconds=5))
    assert adviser.keeps_types
    # The first job would take the nodes of the others if it did not look ahead; all eight are used.
    jobs = ["NumNodes=3 Features=any", "NumNodes=1", "NumNodes=2 Features=big&ib", "NumNodes=2 NumCPUs=16"]
    found = starts(adviser, state(tmp_path, jobs))
    if spec in (None, "free-cpsat", "sa"):
        assert found.keys() == {1, 2, 3, 4}
    where = {job: set(hosts(nodes)) for job, nodes in found.items()}
    assert sum(map(len, where.values())) == len(set().union(*where.values()))
    assert where.get(3, {"n6", "n7"}) == {"n6", "n7"}
    assert where.get(4, set()) <= {"n2", "n3"}
    # Where nodes are drained or in use, nothing is given there.
    assert starts(adviser, state(tmp_path, ["NumNodes=2 Features=big"], "IIDIIIAI")) in ({1: "n[3,7]"}, {})
    assert starts(adviser, state(tmp_path, ["NumNodes=2 Features=ib"], "IIIIIIDI")) == {}


def test_the_window_counts_them(tmp_path: Path, transom: Callable[..., Ran]) -> None:
    jobs = ["NumNodes=2 Features=big", "NumNodes=2 MinMemoryNode=32000M", "NumNodes=1", "NumNodes=9 Features=ib"]
    seen = window_of(state(tmp_path, jobs, "IIAIIIII"), types=True)
    window = seen.window
    assert seen.left == {"more nodes than are in service": 1}
    assert window.cluster.resources == ("nodes_of_big", "nodes_of_size")
    assert (window.cluster.capacities, window.available.tolist()) == ((4, 2), [7, 3, 2])
    # A job of n6 and n7 counts among those of big, too.
    assert window.queue.demand.tolist() == [[2, 0], [2, 2], [0, 0]]
    assert window.accepts is not None
    assert window.cluster.node_types is not None
    taken = window.accepts[:, window.cluster.node_types]
    assert ["".join(map(str, np.flatnonzero(row))) for row in taken] == ["2367", "67", "01234567"]
    out = tmp_path / "window.json"
    assert transom("slurm", "window", tmp_path / "answers.txt", "-o", out).status == 0
    (written,) = read_windows(out)
    assert written.accepts is not None
    assert written.accepts.tolist() == window.accepts.tolist()
    solved = transom("solve", out, "--problem", "free", "--solver", "free-cpsat", "--seconds", "60", "--json").lines[0]
    assert solved["status"] == "infeasible"  # two of big and two of ib, of which one node of four is in use
    # The policy starts no more than there are nodes for.
    assert starts(Adviser("fcfs"), state(tmp_path, jobs, "IIAIIIII")).keys() == {1}
    assert starts(Adviser("sjf"), state(tmp_path, jobs, "IIIIIIII")).keys() == {1, 2, 3}


def test_overlapping_sets_have_unions(tmp_path: Path) -> None:
    jobs = ["NumNodes=2 Features=big", "NumNodes=4 Features=ib|any", "NumNodes=1 Features=ib"]
    window = window_of(state(tmp_path, jobs), types=True).window
    assert window.cluster.resources == ("nodes_of_big", "nodes_of_ib")  # the one holds the other
    answers = tmp_path / "answers.txt"
    state(tmp_path, ["NumNodes=1 Features=ib", "NumNodes=1 NumCPUs=8"])
    answers.write_text(answers.read_text().replace("n7 State=IDLE CPUTot=8", "n7 State=IDLE CPUTot=4"))
    window = window_of(read_answers([answers], NOW), types=True).window
    assert window.cluster.resources == ("nodes_of_ib", "nodes_of_size", "nodes_of_ib_or_size")
    assert window.cluster.capacities == (2, 3, 4)
    assert window.queue.demand.tolist() == [[1, 0, 1], [0, 1, 1]]


def test_features_that_are_slurms_affair() -> None:
    has = frozenset(("a", "b"))
    told = {text: feature_test(text) for text in ("", "a", "c", "a&b", "a&c", "a|c", "c|d", "a-1.x")}
    assert {text: None if test is None else test(has) for text, test in told.items()} == {
        "": True, "a": True, "c": False, "a&b": True, "a&c": False, "a|c": True, "c|d": False, "a-1.x": False,
    }  # fmt: skip
    for text in ("[a|b]", "a*2", "a&b|c", "(a|b)&c", "a&", "a,b", "[a*2&b*1]"):
        assert feature_test(text) is None


def test_what_is_not_expressed_is_left_to_slurm(tmp_path: Path) -> None:
    jobs = [
        "NumNodes=2 Features=[big|ib]",
        "NumNodes=1 Features=other",
        "NumNodes=2 NumCPUs=64",
        "NumNodes=2 Features=ib",
    ]
    there = state(tmp_path, jobs)
    assert window_of(there, types=True).left == {"features": 1, "more of a node than enough nodes have": 2}
    assert window_of(there).left == {"features": 3, "more of a node than every node has": 1}
    refusing = Adviser("fcfs", Allocator("sequential"))
    assert not refusing.keeps_types
    assert starts(refusing, there) == {}
    assert takes_types(Allocator())


def test_generic_resources_of_each_node(tmp_path: Path) -> None:
    answers = tmp_path / "answers.txt"
    jobs = [
        "NumNodes=1 TresPerNode=gres/gpu:a100:2", "NumNodes=2 TresPerNode=gres:gpu:4",
        "NumNodes=1 TresPerNode=gres:gpu", "NumNodes=1 TresPerNode=gres/gpu:8",
        "NumNodes=1 TresPerJob=gres/gpu:2", "NumNodes=1",
    ]  # fmt: skip
    state(tmp_path, jobs)
    text = answers.read_text()
    for names, gres in (("23", "gpu:a100:4(S:0-1)"), ("45", "gpu:v100:2,gpu:a100:2"), ("67", "gpu:1")):
        for name in names:
            text = text.replace(f"NodeName=n{name} ", f"NodeName=n{name} Gres={gres} ")
    answers.write_text(text)
    there = read_answers([answers], NOW)
    seen = window_of(there, types=True)
    assert seen.left == {"more of a node than enough nodes have": 1, "generic resources": 1}
    assert window_of(there).left == {"generic resources": 5}
    window = seen.window
    assert window.accepts is not None
    assert window.cluster.node_types is not None
    taken = window.accepts[:, window.cluster.node_types]
    nodes = ["".join(map(str, np.flatnonzero(row))) for row in taken]
    assert nodes == ["2345", "2345", "234567", "01234567"]  # of the first job, two of a100; of the second, any four
    found = starts(Adviser("fcfs"), there)
    assert found.keys() == {1, 2, 3, 6}
    assert set(hosts(found[2])) < {"n2", "n3", "n4", "n5"}
    assert gres_counts("gpu:a100:4(S:0),nvme") == {"gpu": 4, "gpu:a100": 4, "nvme": 1}
    assert gres_counts("") == {}
    assert gres_counts("gpu:1080:2") == {"gpu": 2, "gpu:1080": 2}
    assert gres_counts("gpu:2:3:4") is None


def test_too_many_overlaps_are_left_to_slurm(tmp_path: Path) -> None:
    folder = tmp_path / "answers.txt"
    state(tmp_path, [f"NumNodes=1 Features=f{i}" for i in range(8)])
    text = folder.read_text()
    lines = []  # a ring: each feature is that of two nodes
    for line in text.splitlines():
        if line.startswith("NodeName=n"):
            i = int(line.split()[0][-1])
            line = line.partition("ActiveFeatures=")[0] + f"ActiveFeatures=f{i},f{(i + 1) % 8}"
        lines.append(line)
    folder.write_text("\n".join(lines) + "\n")
    seen = window_of(read_answers([folder], NOW), types=True)
    assert seen.left == {"features": 8}
    assert len(seen.window.queue) == 0


def test_a_log_decides_by_types_again(tmp_path: Path) -> None:
    audit, adviser = Audit(tmp_path / "audit.jsonl"), Adviser("fcfs", Allocator("free-cpsat"))
    audit.write("begin", policy="fcfs", allocate="free-cpsat", seed=0)
    seen = seen_by(adviser, state(tmp_path, ["NumNodes=3", "NumNodes=2 Features=ib"]))
    advice = adviser.advise(seen)
    assert {start.job.id: set(start.nodes) for start in advice.starts}[2] == {"n6", "n7"}
    note_decision(audit, seen, advice.starts)
    assert decide_again(audit.path) == (1, [])


def test_jobs_change_types_for_later_ones() -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        kinds, jobs = int(rng.integers(1, 5)), int(rng.integers(1, 6))
        types = rng.integers(0, kinds, int(rng.integers(1, 12)))
        idle = np.flatnonzero(rng.random(len(types)) < 0.8)
        accepts = rng.random((jobs, kinds)) < 0.6
        sizes = rng.integers(1, 4, jobs).tolist()
        found = shared_out(idle, Wants(sizes, [None] * jobs, types, accepts), range(jobs))
        given = np.concatenate(found)
        assert len(set(given.tolist())) == len(given)
        assert set(given.tolist()) <= set(idle.tolist())
        started: list[int] = []
        for job in range(jobs):
            assert accepts[job, types[found[job]]].all()
            fits = _room(idle, types, accepts, sizes, [*started, job])
            assert (len(found[job]) == sizes[job]) == fits
            assert len(found[job]) in (0, sizes[job])
            started += [job] * fits


def _room(idle: np.ndarray, types: np.ndarray, accepts: np.ndarray, sizes: list[int], jobs: list[int]) -> bool:
    """Hall's condition, by all sets of jobs."""
    for some in range(1, 1 << len(jobs)):
        chosen = [job for k, job in enumerate(jobs) if some >> k & 1]
        there = accepts[chosen].any(axis=0)[types[idle]].sum()
        if sum(sizes[job] for job in chosen) > there:
            return False
    return True


def test_cores_of_tasks_are_no_generic_resources() -> None:
    """24.11 lists them among those of tasks."""
    asked = ("cpu=8", "cpu:8,gres/gpu:2", "(null)")
    jobs = (jobs_of_records([{"jobid": "7", "jobstate": "PENDING", "trespertask": each}]) for each in asked)
    assert [dict(job.asks) for several in jobs for job in several] == [{}, {"generic resources": "gres/gpu:2"}, {}]


def test_features_in_json() -> None:
    old, new, group = (
        next(nodes_of(record for *_, record in json_records(each)))
        for each in (
            {"nodes": [{"name": "a", "active_features": "big,ib", "features": "big"}]},
            {"nodes": [{"name": "a", "active_features": ["big", "ib"]}]},
            {"sinfo": [{"nodes": {"nodes": ["a"]}, "features": {"active": "big,ib"}}]},
        )
    )
    assert (old.features, new.features) == (frozenset(("big", "ib")),) * 2
    assert group.features is None  # of a group's nodes some may have others


@pytest.mark.long
def test_jobs_with_constraints_are_driven_to_their_nodes(
    emulated_slurm: Callable[..., EmulatedSlurm], transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    big = {name: {"Feature": "big", "CPUs": "8"} for name in ("n01", "n03", "n05", "n06")}
    slurm = emulated_slurm(nodes=8, leaf=4, unlike=big)
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, slurm.environment[name])
    slurm.run("scontrol", "update", "NodeName=n05", "State=DRAIN", "Reason=test")
    ids = [
        slurm.submit("true", "-t", "5", "-H", *options)
        for options in (
            ["-N", "4"],
            ["-N", "2", "-C", "big"],
            ["-N", "1", "-n", "1", "-c", "8"],
            ["-N", "2", "-C", "big"],
        )
    ]
    told = transom("slurm", "advise", "--json", "--held", "--allocate", "free-cpsat").lines[0]
    where = {int(start["job"]): set(start["nodes"]) for start in told["start"]}
    assert where[ids[0]] == {"n00", "n02", "n04", "n07"}
    assert where[ids[1]] | where[ids[2]] == {"n01", "n03", "n06"}
    assert ids[3] not in where
    with Drive(slurm, "--select", "all", "--allocate", "free-cpsat") as drive:
        slurm.wait(lambda: len(slurm.completed()) == len(ids), "all jobs have ended")
    done = {int(each["JobId"]): set(hosts(each["NodeList"])) for each in slurm.completed()}
    assert done[ids[0]] == where[ids[0]]
    assert done[ids[3]] < {"n01", "n03", "n06"}
    assert all("n05" not in nodes for nodes in done.values())
    asked = {int(job): set(hosts(nodes)) for job, nodes in asked_nodes(drive.audit).items()}
    assert asked == done
