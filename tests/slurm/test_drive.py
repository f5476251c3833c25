"""A policy drives a real Slurm: on exactly its nodes, with a lease that outlives it, and an account of everything."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Ran, transom
from tests.slurm.account import assert_accounted
from tests.slurm.cluster import EmulatedSlurm
from tests.slurm.driving import Drive, asked_nodes
from transom.slurm import guardian
from transom.slurm.audit import read_audit
from transom.slurm.state import ask_jobs
from transom.traces.records.hostlist import hosts

__all__ = ["transom"]


def use(slurm: EmulatedSlurm, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, slurm.environment[name])


def time_of(at: int) -> str:
    """A time [s since 1970] as Slurm's commands take it."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}"


def submit_held(slurm: EmulatedSlurm, count: int, seed: int, most: int) -> list[int]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, most + 1, count).tolist()
    return [slurm.submit("sleep 0.3", "-H", "-N", str(size), "-t", "2") for size in sizes]


def completed(slurm: EmulatedSlurm, jobs: list[int]) -> bool:
    return {int(each["JobId"]) for each in slurm.completed() if each["JobState"] == "COMPLETED"} >= set(jobs)


def assert_on_the_stated_nodes(
    slurm: EmulatedSlurm, drive: Drive, jobs: list[int], beside: frozenset[int] | set[int] = frozenset()
) -> None:
    asked = asked_nodes(drive.audit)
    assert asked.keys() == {str(job) for job in jobs}
    for each in slurm.completed():
        if int(each["JobId"]) in beside:
            continue
        assert set(hosts(each["NodeList"])) == set(hosts(asked[each["JobId"]]))


def test_jobs_run_on_exactly_the_nodes_of_the_policy(
    emulated_slurm: Callable[..., EmulatedSlurm], transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = emulated_slurm(nodes=8, leaf=4)
    use(slurm, monkeypatch)
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    script = "#!/bin/sh\ntrue\n"
    other = slurm.run(*nobody, "sbatch", "--parsable", "-o/dev/null", "-H", "-D/", "-J", "UserId=root(0)", stdin=script)
    jobs = submit_held(slurm, 10, 1, 5)
    with Drive(slurm, "--policy", "fcfs-easy", "--allocate", "best-fit", "--select", "user=root") as drive:
        slurm.wait(lambda: completed(slurm, jobs), "all jobs have ended")
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(slurm.folder))  # as in a service
        refused = transom("slurm", "release", drive.audit)
        assert refused.status == 2
        second = transom("slurm", "run", "--mode", "place", "--select", "all", "--act", "--audit", slurm.folder / "2")
        assert (second.status, "acts on" in second.err) == (2, True)
    assert_on_the_stated_nodes(slurm, drive, jobs)
    assert slurm.run("squeue", "-h", "-j", other.strip(), "-o", "%u %r").split() == ["nobody", "JobHeldUser"]
    assert all(other.strip() not in line["jobs"] for line in drive.lines("act"))
    assert drive.guardian is None
    assert_accounted(slurm, drive.audit)
    assert all(line["same"] for line in drive.lines("followed"))
    again = transom("slurm", "replay", drive.audit, "--json")
    assert again.status == 0
    assert again.lines[0]["decisions"] == len(drive.lines("decision")) > 1
    assert again.lines[0]["differing"] == []


@pytest.mark.long
@pytest.mark.parametrize("which", [1, 2])
def test_a_run_that_is_ended_while_a_guardian_starts_leaves_none(
    emulated_slurm: Callable[..., EmulatedSlurm],
    transom: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
    which: int,
) -> None:
    """The first guardian, or the second one, which takes the place of the first."""
    slurm, started = emulated_slurm(nodes=2, leaf=0), list[subprocess.Popen[bytes]]()
    use(slurm, monkeypatch)
    stand_guard, before = guardian.stand_guard, signal.getsignal(signal.SIGTERM)

    def start(*told: Any) -> subprocess.Popen[bytes]:
        started.append(stand_guard(*told))
        if len(started) == which:
            os.kill(os.getpid(), signal.SIGTERM)
        else:
            started[-1].kill()
            started[-1].wait()
        return started[-1]

    monkeypatch.setattr(guardian, "stand_guard", start)
    audit = slurm.folder / "audit.jsonl"
    try:
        ran = transom("slurm", "run", "--mode", "drive", "--act", "--select", "all", "--audit", audit, "--every", "0.1")
        assert [each.poll() is not None for each in started] == [True] * which
    finally:
        signal.signal(signal.SIGTERM, before)
        for each in started:
            each.kill()
            each.wait()
    assert ran.status == 130
    assert [line["kind"] for line in read_audit(audit)] == ["begin", "end"]


def test_a_dry_run_changes_nothing(
    emulated_slurm: Callable[..., EmulatedSlurm], transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = emulated_slurm(nodes=4, leaf=0)
    use(slurm, monkeypatch)
    job = slurm.submit("sleep 0.3", "-H", "-N", "2", "-t", "2")
    ran = transom("slurm", "run", "--mode", "drive", "--select", "all", "--json")
    assert (ran.status, ran.lines[0]["leased"]) == (0, [str(job)])
    assert ran.lines[0]["start"] == [{"job": str(job), "nodes": ["n00", "n01"]}]
    assert "dry run" in ran.err
    assert slurm.run("squeue", "-h", "-o", "%i %r %n %S").split() == [str(job), "JobHeldUser", "N/A"]
    assert transom("slurm", "run", "--mode", "drive").status == 2
    assert "expected all" in transom("slurm", "run", "--mode", "drive", "--select", "usr=x").err


@pytest.mark.long
def test_what_arrives_held_after_a_kill_is_released_by_the_guardian(
    emulated_slurm: Callable[..., EmulatedSlurm], transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = emulated_slurm(nodes=4, leaf=0)
    use(slurm, monkeypatch)
    with Drive(slurm, "--select", "partition=main") as drive:
        first = submit_held(slurm, 3, 3, 4)
        slurm.wait(lambda: len(asked_nodes(drive.audit)) > 0, "the first job is started")
        drive.kill()
        drive.let_the_lease_pass()
        jobs = first + submit_held(slurm, 2, 4, 4)
    try:
        slurm.wait(lambda: completed(slurm, jobs), "all jobs have ended")
        # A new run takes over where the killed one stopped, and has a guardian of its own.
        old = drive.guardian
        with Drive(slurm, "--select", "partition=main") as next_one:
            slurm.wait(lambda: next_one.guardian != old, "the new guardian stands")
            more = submit_held(slurm, 2, 5, 2)
            slurm.wait(lambda: completed(slurm, more), "the later jobs have ended")
    finally:
        assert transom("slurm", "release", drive.audit).status == 0
    assert drive.guardian is None
    assert transom("slurm", "replay", drive.audit).status == 0


@pytest.mark.long
def test_it_survives_the_controller_and_offers_no_drained_node(emulated_slurm: Callable[..., EmulatedSlurm]) -> None:
    slurm = emulated_slurm(nodes=4, leaf=0)
    slurm.run("scontrol", "update", "nodename=n01", "state=drain", "reason=x")
    with Drive(slurm, "--select", "all") as drive:
        jobs = submit_held(slurm, 2, 6, 3)
        odd = slurm.submit("true", "-H", "-N", "1-2", "-t", "1")
        slurm.wait(lambda: completed(slurm, [*jobs, odd]), "the first jobs have ended")
        slurm.run("scontrol", "shutdown", "slurmctld")  # which saves its state; one that is killed forgets jobs
        slurm.wait(lambda: not slurm.answers(), "the controller is gone")
        slurm.restart_controller()
        slurm.wait(slurm.answers, "the controller is back")
        later = submit_held(slurm, 3, 7, 3)
        slurm.wait(lambda: completed(slurm, later), "the later jobs have ended")
    assert_on_the_stated_nodes(slurm, drive, [*jobs, *later], beside={odd})
    assert all("n01" not in hosts(nodes) for nodes in asked_nodes(drive.audit).values())
    assert [line["jobs"] for line in drive.lines("act") if line["action"] == "release"] == [[str(odd)]]
    assert len({each["JobId"] for each in slurm.completed()}) == len(slurm.completed()) == 6


@pytest.mark.long
def test_each_task_of_an_array_is_driven(
    emulated_slurm: Callable[..., EmulatedSlurm], monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = emulated_slurm(nodes=4, leaf=0)
    use(slurm, monkeypatch)
    now = slurm.now()
    early, late = time_of(now + 1800), time_of(now + 3600)
    later = slurm.submit("true", "-N1", "-t1", "--array=1-9:2", f"--begin={late}")
    slurm.run("scontrol", "update", f"JobId={later}_3", f"StartTime={early}", f"ReqNodeList={slurm.names[1]}")
    tasks = {job.name: job for job in ask_jobs()}  # which squeue joins in one line
    assert tasks.keys() == {f"{later}_{task}" for task in range(1, 10, 2)}
    assert [time_of(tasks[f"{later}_{task}"].eligible) for task in (1, 3)] == [late, early]
    assert [name for name, job in tasks.items() if job.asks] == [f"{later}_3"]
    slurm.run("scancel", str(later))
    array = slurm.submit("true", "-H", "-N2", "-t1", "--array=1-9:2")
    with Drive(slurm, "--select", "all") as drive:
        slurm.wait(lambda: [*slurm.states().values()].count("COMPLETED") == 5, "all tasks have ended")
    assert asked_nodes(drive.audit).keys() == {f"{array}_{task}" for task in range(1, 10, 2)}
    assert all(line["same"] for line in drive.lines("followed"))


@pytest.mark.long
def test_a_node_that_dies_is_not_offered_any_more(emulated_slurm: Callable[..., EmulatedSlurm]) -> None:
    slurm = emulated_slurm(nodes=4, leaf=0)
    with Drive(slurm, "--select", "all") as drive:
        lost = slurm.submit("sleep 1000", "-H", "-N4", "-t30", "--no-requeue")
        slurm.wait(lambda: slurm.states()[lost] == "RUNNING", "the job runs on all nodes")
        slurm.kill("n01")
        slurm.run("scontrol", "update", "NodeName=n01", "State=down", "Reason=dead")  # as after SlurmdTimeout
        slurm.wait(lambda: slurm.states()[lost] == "NODE_FAIL", "Slurm has found it out")
        jobs = submit_held(slurm, 3, 9, 3)
        slurm.wait(lambda: completed(slurm, jobs), "the later jobs have ended")
    asked = asked_nodes(drive.audit)
    assert [name for name, nodes in asked.items() if "n01" in hosts(nodes)] == [str(lost)]
    assert asked.keys() == {str(job) for job in (lost, *jobs)}
    assert_accounted(slurm, drive.audit)


@pytest.mark.long
def test_a_job_that_its_user_holds_again_is_left_alone(emulated_slurm: Callable[..., EmulatedSlurm]) -> None:
    slurm = emulated_slurm(nodes=2, leaf=0)
    blocking = slurm.submit("sleep 1000", "-N", "2", "-t", "30")
    slurm.wait(lambda: slurm.states()[blocking] == "RUNNING", "the machine is full")
    job = slurm.submit("true", "-H", "-N", "2", "-t", "1")
    with Drive(slurm, "--select", "all") as drive:
        slurm.wait(lambda: len(drive.lines("done")) > 0, "the job is under lease")
        slurm.run("scontrol", "uhold", str(job))
        slurm.wait(lambda: [line["action"] for line in drive.lines("act")] == ["adopt", "leave"], "it is left alone")
    assert slurm.run("squeue", "-h", "-j", str(job), "-o", "%r").strip() == "JobHeldUser"


@pytest.mark.long
def test_a_hundred_jobs_run_on_exactly_the_nodes_of_the_policy(emulated_slurm: Callable[..., EmulatedSlurm]) -> None:
    slurm = emulated_slurm(nodes=32, leaf=8)
    jobs = submit_held(slurm, 100, 8, 12)
    with Drive(slurm, "--policy", "saf-easy", "--allocate", "dcas-exact", "--select", "all") as drive:
        slurm.wait(lambda: completed(slurm, jobs), "all jobs have ended", 400)
    assert_on_the_stated_nodes(slurm, drive, jobs)
    assert all(line["same"] for line in drive.lines("followed"))


def test_a_nudge_changes_the_order_and_holds_nobody(
    emulated_slurm: Callable[..., EmulatedSlurm], transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = emulated_slurm(nodes=2, leaf=0, settings={"PriorityType": "priority/multifactor"})
    use(slurm, monkeypatch)
    blocking = slurm.submit("sleep 1000", "-N", "2", "-t", "30")
    slurm.wait(lambda: slurm.states()[blocking] == "RUNNING", "the machine is full")
    jobs = [slurm.submit("true", "-N", "2", "-t", limit) for limit in ("30", "20", "10")]
    beside = slurm.submit("true", "-N", "2", "-t", "1")
    select = [option for job in jobs for option in ("--select", f"job={job}")]
    with Drive(slurm, "--mode", "nudge", "--policy", "sjf", *select) as drive:
        slurm.wait(lambda: len(drive.lines("done")) == 3, "all factors are set")
        drive.kill()
        drive.kill_guardian()
    told = {job: line["factor"] for line in drive.lines("act") for job in line["jobs"]}
    assert told == {str(jobs[2]): 1000, str(jobs[1]): 980, str(jobs[0]): 960}
    slurm.run("scancel", str(blocking))
    slurm.wait(lambda: completed(slurm, [*jobs, beside]), "all jobs have ended")
    ended = [int(each["JobId"]) for each in slurm.completed()]
    assert [job for job in ended if job in jobs] == jobs[::-1]
    assert transom("slurm", "release", drive.audit).status == 0
    plain = transom("slurm", "run", "--mode", "drive", "--limit", "70", "--select", "all")
    assert "--mode nudge" in plain.err
