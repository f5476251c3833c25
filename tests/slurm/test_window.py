"""The window of a Slurm: from answers of both generations and in all forms, and from a real one."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Ran, transom
from tests.slurm.cluster import EmulatedSlurm
from tests.slurm.newer import newer_groups, newer_jobs, newer_nodes
from transom.errors import SlurmError
from transom.io import read_windows
from transom.slurm.state import ask_jobs, read_answers
from transom.slurm.window import window_of
from transom.traces.records.slurm_conf import read_site
from transom.traces.records.slurm_text.jobs import SEPARATOR, handed_over, jobs_of_json, jobs_of_records
from transom.traces.records.slurm_text.site import switches_of, tree_of
from transom.traces.records.slurm_text.switches import Switch
from transom.traces.records.slurm_text.tokens import Record, numbered_lines, records_of

__all__ = ["transom"]

RECORDED = Path(__file__).parent / "recorded"
EXAMPLES = Path(__file__).parents[2] / "examples" / "slurm"
"""Slurm 22.05.8 with 8 nodes on two leaf switches. Jobs run, wait, are held, belong to an array or to a heterogeneous
job, depend, name nodes and switches; n04 is reserved, n06 down, n07 drained, and two reservations are to come."""

HELD = ["19", "22", *(f"4_{i}" for i in range(3, 10)), "9", "10"]


def answer(name: str) -> Any:
    return json.loads(gzip.decompress((RECORDED / name).read_bytes()))


@pytest.fixture(params=["22.05 text", "22.05 JSON", "24.11 JSON", "24.11 groups"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    """Files with the answers, in each form."""
    beside = [EXAMPLES / "topology.txt", RECORDED / "reservations.txt", RECORDED / "partitions.txt"]
    if request.param == "22.05 text":
        return [EXAMPLES / "jobs.txt", EXAMPLES / "nodes.txt", *beside]
    if request.param == "22.05 JSON":
        return [RECORDED / "squeue.json.gz", RECORDED / "sinfo.json.gz", *beside]
    nodes = newer_groups if request.param.endswith("groups") else newer_nodes
    (tmp_path / "jobs.json").write_text(json.dumps(newer_jobs(answer("squeue.json.gz"))))
    (tmp_path / "nodes.json").write_text(json.dumps(nodes(answer("sinfo.json.gz"))))
    return [tmp_path / "jobs.json", tmp_path / "nodes.json", *beside]


def test_where_no_default_is_stated_the_choice_is_said(tmp_path: Path) -> None:
    text = "".join(f"NodeName=n{i} State=IDLE CPUTot=4 CPUAlloc=0 Partitions=a,b,small\n" for i in range(2))
    text += "JobId=1 UserId=a(1) JobState=PENDING Priority=9 NumNodes=1-1 TimeLimit=5 Partition=b\n"
    equal = "".join(f"PartitionName={name} Nodes=n[0-1]\n" for name in ("a", "b")) + "PartitionName=small Nodes=n0\n"
    (tmp_path / "equal").write_text(text + equal)
    seen = window_of(read_answers([tmp_path / "equal"], 1767262200))
    assert (seen.partition, seen.remarks[0].split(": ")[1]) == ("b", "b is taken, not a, small")
    (tmp_path / "stated").write_text(text + equal.replace("small", "small Default=YES"))
    seen = window_of(read_answers([tmp_path / "stated"], 1767262200))
    assert (seen.partition, any("default" in line for line in seen.remarks)) == ("small", False)


def test_all_forms_tell_the_same(files: list[Path]) -> None:
    state = read_answers(files)
    seen = window_of(state)
    window, names = seen.window, seen.names
    assert names == [f"n0{i}" for i in range(8)]
    assert [names[i] for i in seen.idle] == ["n02", "n03"]
    assert [seen.jobs[job].name for job in window.queue.id.tolist()] == ["19", "22"]
    assert [seen.jobs[job].name for job in window.running.id.tolist()] == ["4_2", "2"]
    assert window.running.nodes.tolist() == [1, 2]
    assert window.running_end.tolist() == [seen.jobs[job].end for job in window.running.id.tolist()]
    assert seen.left == {"held": 15, "more nodes than are in service": 1, "dependencies": 1}
    assert window.cluster.topology is not None
    assert window.cluster.topology.leaf.tolist() == [0] * 4 + [1] * 4
    assert window.cluster.topology.num_pods == 1
    # n02 is reserved in 20 minutes, n06 in about 50: both jobs would still run then, the second one only 90 minutes.
    assert [name.partition("_1")[0] for name in window.cluster.resources] == ["nodes_beyond"] * 2
    assert window.available.tolist() == [2, 1, 2]
    assert window.queue.demand.tolist() == [[3, 0], [1, 1]]
    assert window.running.demand.tolist() == [[1, 1], [2, 2]]


def test_held_jobs_are_offered_where_asked_for(files: list[Path]) -> None:
    seen = window_of(read_answers(files), held=True)
    found = [seen.jobs[job].name for job in seen.window.queue.id.tolist()]
    # JSON of 22.05 does not tell of limits on switches.
    assert found in (HELD, [*HELD, "11"])
    assert seen.left["heterogeneous jobs"] == 2
    for what in ("no fixed number of nodes", "named nodes", "excluded nodes", "dependencies"):
        assert seen.left[what] == 1


def told(text: str) -> list[Record]:
    return [record for *_, record in records_of(numbered_lines(text))]


def test_a_jobs_name_tells_nothing() -> None:
    records = told((EXAMPLES / "jobs.txt").read_text())
    assert all("jobname" not in each for each in records)
    line = "JobId=7 JobName=x UserId=root(0) GroupId=a b NumNodes=9 UserId=eve(7) GroupId=eve(7) MCS_label=N/A "
    (job,) = jobs_of_records(told(line + "JobState=PENDING TimeLimit=01:00:00 NumNodes=2-2"))
    assert (job.user, job.uid, job.nodes, job.limit) == ("eve", 7, 2, 3600)


@pytest.mark.parametrize(
    ("text", "word", "shares", "asks"),
    [
        ("NO", ["none"], False, []), ("USER", ["user"], True, []), ("MCS", ["mcs"], True, []), ("OK", [], True, []),
        ("TOPO", ["topo"], False, ["whole leaf switches"]), ("YES", ["oversubscribe"], True, []),
    ],
)  # fmt: skip
def test_who_may_share_nodes_is_reported_in_both_forms(
    text: str, word: list[str], shares: bool, asks: list[str]
) -> None:
    (shown,) = jobs_of_records([{"jobid": "7", "jobstate": "PENDING", "oversubscribe": text}])
    (told,) = jobs_of_json([{"job_id": 7, "job_state": ["PENDING"], "shared": word}])
    assert [(each.shares, [*each.asks]) for each in (shown, told)] == [(shares, asks)] * 2


def test_unknown_forms_of_a_field_do_no_harm() -> None:
    odd = [{"job_id": 5, "job_state": {"a": 1}, "time_limit": "soon", "nodes": None, "array_task_string": 4.5}, 7, {}]
    (job,) = jobs_of_json(odd)
    assert (job.id, job.limit, job.nodes, job.waits) == (5, -1, 1, False)


def test_trees_of_any_depth_and_order() -> None:
    text = """
SwitchName=top Switches=a,b
SwitchName=b Switches=l[2-3]
SwitchName=a Switches=l1
SwitchName=l1 Nodes=x[1-2]
SwitchName=l2 Nodes=y1
SwitchName=l3 Nodes=y[2-3]
"""
    switches = list(switches_of(told(text)))
    tree, names, remarks = tree_of(switches, ["y3", "y1", "x1", "x2", "y2", "z"])
    assert tree is not None
    assert names == ["x1", "x2", "y1", "y2", "y3", "z"]
    assert tree.leaf.tolist() == [0, 0, 1, 2, 2, 3]
    assert tree.pod.tolist() == [0, 0, 1, 1, 1, 2]
    assert remarks == ["1 node below no switch: each counts as one of its own"]
    assert tree.num_levels == 3
    deeper = [*switches, Switch("core", (), ("top", "c")), Switch("c", (), ("d",)), Switch("d", ("z",), ())]
    tree, names, remarks = tree_of(deeper, ["y3", "y1", "x1", "x2", "y2", "z"])
    assert tree is not None
    assert (names, remarks) == (["x1", "x2", "y1", "y2", "y3", "z"], [])
    assert tree.num_levels == 4
    assert [tree.level(0, node) for node in range(1, 6)] == [0, 2, 2, 2, 3]
    assert tree_of([], ["x1"])[0] is None


def test_nodes_that_several_jobs_share_come_back_with_the_last(tmp_path: Path) -> None:
    job = "JobId={} UserId=a(1) GroupId=a(1) JobState={} Priority=9 NumNodes=1-1 TimeLimit=00:{}:00 Partition=p "
    running = "NodeList={} SubmitTime=2026-01-01T10:00:00 StartTime=2026-01-01T10:00:00 EndTime=2026-01-01T10:{}:00\n"
    text = job.format(1, "RUNNING", 30) + running.format("a1", 30) + job.format(2, "RUNNING", 20)
    text += running.format("a1", 20) + job.format(3, "PENDING", 10) + "SubmitTime=2026-01-01T10:00:00 Licenses=lic:2\n"
    text += "NodeName=a1 State=MIXED CPUTot=8 CPUAlloc=2 Partitions=p\nNodeName=a2 State=IDLE* CPUTot=8 Partitions=p\n"
    text += "NodeName=a3 State=IDLE+PLANNED CPUTot=8 Partitions=p\nLicenseName=lic Total=5 Used=4 Free=1 Reserved=0\n"
    (tmp_path / "all.txt").write_text(text)
    seen = window_of(read_answers([tmp_path / "all.txt"]))
    assert seen.window.running.id.tolist() == [1]
    assert [seen.names[i] for i in seen.idle] == ["a3"]
    assert (seen.window.cluster.resources, seen.window.cluster.capacities) == (("lic",), (5,))
    assert (seen.window.available.tolist(), seen.window.queue.demand.tolist()) == ([1, 1], [[2]])


def test_what_is_no_answer_is_one_line(transom: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "odd.txt").write_text("nothing of the kind\n")
    (tmp_path / "odd.json").write_text('{"errors": [{"error": "Unable to contact slurm controller"}], "jobs": 3}')
    (tmp_path / "cut.json").write_text('{"jobs": [{')
    for name, why in (("odd.txt", "none of Slurm's answers"), ("odd.json", "Unable to contact"), ("cut.json", "JSON")):
        ran = transom("slurm", "window", str(tmp_path / name))
        assert ran.status == 2
        assert ran.err.startswith(f"error: {tmp_path / name}: ")
        assert why in ran.err
    ran = transom("slurm", "window", str(EXAMPLES / "jobs.txt"))
    assert "no file names nodes" in ran.err
    with pytest.raises(SlurmError, match="no partition 'gpu'; Slurm has main"):
        window_of(read_answers([EXAMPLES / "jobs.txt", EXAMPLES / "nodes.txt"]), "gpu")


def test_the_document_is_what_solve_takes(transom: Callable[..., Ran], tmp_path: Path) -> None:
    out = tmp_path / "window.json"
    paths = [RECORDED / "squeue.json.gz", EXAMPLES / "nodes.txt", EXAMPLES / "topology.txt"]
    ran = transom("slurm", "window", *paths, "-o", str(out), "--order", "sjf", "--held")
    assert (ran.status, ran.err) == (0, "")
    assert "left to Slurm: 7 waiting jobs" in ran.out
    (window,) = read_windows(out)
    assert (np.diff(window.queue.walltime) >= 0).all()
    assert transom("solve", str(out), "--solver", "greedy", "-q").status == 0


def test_without_slurm_there_is_one_line(transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    ran = transom("slurm", "window")
    assert (ran.status, ran.err.count("\n")) == (2, 1)
    assert "not installed here" in ran.err


def test_a_real_slurm_is_seen(
    emulated_slurm: Callable[..., EmulatedSlurm],
    transom: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slurm = emulated_slurm(nodes=8, leaf=4, settings={"Licenses": "matlab:4"})
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, slurm.environment[name])
    running = slurm.submit("sleep 1000", "-N", "2", "-t", "30", "-L", "matlab:3", "-w", "n00,n01")
    slurm.wait(lambda: slurm.states()[running] == "RUNNING", "the job runs")
    array = slurm.submit("sleep 1000", "-N", "8", "-t", "10", "--array=1-3")
    held = slurm.submit("sleep 1000", "-N", "2", "-t", "20", "-H", "-L", "matlab:2", "-J", "a b\tNumNodes=9")
    slurm.submit("sleep 1000", "-N", "1", "-H", "--exclude=n03")
    slurm.run("scontrol", "update", "nodename=n07", "state=drain", "reason=x")
    told = json.loads(transom("slurm", "window", "--json", "--held").out)
    assert told["idle"] == ["n02", "n03", "n04", "n05", "n06"]
    assert (told["running"], told["queue"]) == ([str(running)], [str(held)])
    assert told["left"] == {"more nodes than are in service": 3, "excluded nodes": 1}
    slurm.run("scontrol", "update", "nodename=n07", "state=resume")
    back = (["idle"], ["plnd"])  # planned is what Slurm means to start the array on
    slurm.wait(lambda: slurm.run("sinfo", "-h", "-n", "n07", "-o", "%t").split() in back, "the node is back")
    before = slurm.now()
    seen = json.loads(transom("slurm", "window", "--json").out)
    assert seen["queue"] == [f"{array}_{i}" for i in (1, 2, 3)]
    assert before <= seen["now"] <= slurm.now()
    # squeue -r leaves out the last task of such an array as soon as others have started.
    steps = slurm.submit("sleep 1000", "-N", "1", "-t", "5", "--array=1-30:2%3")
    started = ("squeue", "-h", "-t", "R", "-j", str(steps), "-o", "%i")
    slurm.wait(lambda: len(slurm.run(*started).split()) == 3, "three tasks run")
    tasks = [job.name for job in ask_jobs() if job.name.startswith(f"{steps}_")]
    assert sorted(tasks) == sorted(f"{steps}_{task}" for task in range(1, 30, 2))


def test_partitions_of_all_nodes_and_hosts_in_lists(tmp_path: Path) -> None:
    groups = {
        "sinfo": [{"node": {"state": ["IDLE"]}, "nodes": {"nodes": ["n[1-2]", "n4"]}, "partition": {"name": "p"}}]
    }
    (tmp_path / "sinfo.json").write_text(json.dumps(groups))
    (tmp_path / "jobs.json").write_text('{"jobs": [{"job_id": 1, "job_state": "RUNNING", "submit_time": 5}]}')
    (tmp_path / "slurm.conf").write_text("PartitionName=p Nodes=ALL Default=YES\n")
    seen = window_of(read_answers([tmp_path / name for name in ("sinfo.json", "jobs.json", "slurm.conf")]))
    assert (seen.partition, sorted(seen.names)) == ("p", ["n1", "n2", "n4"])


def test_a_running_job_whose_end_is_not_reported_has_its_limit_before_it(tmp_path: Path) -> None:
    job = "JobId=1 JobState=RUNNING Priority=2 TimeLimit=00:30:00 NumNodes=1 Partition=p NodeList=n1 "
    text = job + "SubmitTime=2026-01-01T10:00:00\nNodeName=n1 State=ALLOCATED CPUTot=4 CPUAlloc=4 Partitions=p\n"
    (tmp_path / "answers.txt").write_text(text)
    window = window_of(read_answers([tmp_path / "answers.txt"])).window
    assert window.running_end.tolist() == [window.now + 1800]


def test_a_comment_cannot_hand_over_the_job_of_somebody_else() -> None:
    lines = [f"1{SEPARATOR}for transom", f"2{SEPARATOR}my words", f"3{SEPARATOR}x", f"2{SEPARATOR}transom"]
    assert handed_over(lines) == {"1"}


def test_what_follows_a_sign_of_comments_is_read_where_it_is_none(tmp_path: Path) -> None:
    """A kernel's version and names may have one; those of a configuration begin comments, in any case."""
    node = "NodeName=n{} CPUTot=4 OS=Linux 6.1.0 #1 SMP Debian RealMemory=8000 State=IDLE Partitions=p "
    (tmp_path / "nodes.txt").write_text("\n".join(node.format(i) for i in range(4)))
    (tmp_path / "topology.conf").write_text("switchname=s0 nodes=n[0-1] # old\nSwitchName=s1 \\\n  Nodes=n[2-3]#new\n")
    (tmp_path / "job.txt").write_text("JobId=7 JobName=run #5 UserId=a(1) GroupId=a(1) JobState=PENDING Partition=p\n")
    times = "StartTime=2026-01-01T00:00:00 EndTime=2026-01-02T00:00:00"
    (tmp_path / "reservation.txt").write_text(f"ReservationName=r#1 {times} Nodes=n3\n")
    state = read_answers(sorted(tmp_path.iterdir()), 1)
    assert [(node.memory, node.idle) for node in state.nodes] == [(8000, True)] * 4
    assert [(switch.name, switch.nodes) for switch in state.switches] == [("s0", ("n0", "n1")), ("s1", ("n2", "n3"))]
    assert [job.partition for job in state.jobs] == ["p"]
    assert [(each.name, each.nodes) for each in state.reservations] == [("r#1", frozenset(("n3",)))]
    assert read_site([str(tmp_path / "nodes.txt")]).machine == {"nodes": 4, "cores": 16, "memory": 32_000}
