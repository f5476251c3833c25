"""Slurm starts jobs by itself, on exactly the nodes that a policy names; names end with the run, however it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Ran, transom
from tests.slurm.account import assert_accounted
from tests.slurm.cluster import EmulatedSlurm
from tests.slurm.driving import Drive, asked_nodes
from transom.traces.records.hostlist import hosts

__all__ = ["transom"]


def slowly(seconds: int) -> dict[str, str]:
    """Slurm starts jobs every so many seconds, and not when they are submitted."""
    terms = ["defer", f"batch_sched_delay={seconds}", f"sched_interval={seconds}", f"bf_interval={seconds}"]
    return {"SchedulerParameters": ",".join([*terms, "sched_min_interval=1000"])}


SLOWLY = slowly(2)
MORE_SLOWLY = slowly(6)
"""Between two starts a run names nodes on a machine that is busy, too."""
LONG = 300.0
"""Longest wait [s] on a machine that is busy."""


def use(slurm: EmulatedSlurm, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, slurm.environment[name])


def submit(slurm: EmulatedSlurm, count: int, seed: int, most: int) -> list[int]:
    sizes = np.random.default_rng(seed).integers(1, most + 1, count).tolist()
    return [slurm.submit("sleep 0.3", "-N", str(size), "-t", "2") for size in sizes]


def fill(slurm: EmulatedSlurm) -> int:
    """A job on all nodes that runs until it is cancelled."""
    job = slurm.submit("sleep 1000", "-N", str(slurm.nodes), "-t", "30")
    slurm.wait(lambda: slurm.states()[job] == "RUNNING", "the machine is full", LONG)
    return job


def completed(slurm: EmulatedSlurm, jobs: list[int]) -> bool:
    return {int(each["JobId"]) for each in slurm.completed() if each["JobState"] == "COMPLETED"} >= set(jobs)


def named(slurm: EmulatedSlurm) -> dict[str, str]:
    """The nodes that waiting jobs ask for."""
    lines = slurm.run("squeue", "-h", "-t", "PD", "-o", "%i %n").splitlines()
    return {line.split()[0]: line.split()[1] for line in lines if len(line.split()) == 2}


def mismatches(slurm: EmulatedSlurm, drive: Drive) -> list[str]:
    """Jobs that ran on other nodes than they were told to take."""
    asked = asked_nodes(drive.audit)
    assert asked
    ran = {each["JobId"]: set(hosts(each["NodeList"])) for each in slurm.completed()}
    return [job for job, nodes in asked.items() if job in ran and ran[job] != set(hosts(nodes))]


def test_jobs_run_on_exactly_the_named_nodes(
    emulated_slurm: Callable[..., EmulatedSlurm], transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = emulated_slurm(nodes=8, leaf=4, settings=SLOWLY)
    use(slurm, monkeypatch)
    blocking = fill(slurm)
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    command = (*nobody, "sbatch", "--parsable", "-o/dev/null", "-D/", "-N2", "-t1")
    other = int(slurm.run(*command, stdin="#!/bin/sh\ntrue\n"))
    own = slurm.submit("true", "-w", "n05", "-t", "1")
    jobs = submit(slurm, 6, 1, 5)
    dry = transom("slurm", "run", "--mode", "place", "--select", "user=root", "--json")
    assert (dry.status, named(slurm)) == (0, {str(own): "n05"})
    with Drive(slurm, "--mode", "place", "--allocate", "best-fit", "--select", "user=root") as drive:
        slurm.run("scancel", str(blocking))
        slurm.wait(lambda: completed(slurm, [*jobs, other, own]), "all jobs have ended", LONG)
        assert transom("slurm", "release", drive.audit).status == 2
    assert mismatches(slurm, drive) == []
    assert {job for line in drive.lines("act") for job in line["jobs"]} <= set(map(str, jobs))
    assert {line["action"] for line in drive.lines("act")} == {"place"}
    assert len(drive.lines("act")) == len(drive.lines("done"))
    assert all(line["same"] for line in drive.lines("followed"))
    assert drive.guardian is None
    again = transom("slurm", "replay", drive.audit, "--json")
    assert (again.status, again.lines[0]["differing"]) == (0, [])


@dataclass
class Stuck:
    """Small jobs that a policy would start now, and Slurm does not: a large one is first, and nothing is backfilled."""

    slurm: EmulatedSlurm
    blocking: int
    jobs: list[int]

    @classmethod
    def on(cls, start: Callable[..., EmulatedSlurm], seed: int) -> Stuck:
        slurm = start(nodes=4, leaf=0, settings={"SchedulerType": "sched/builtin"})
        blocking = slurm.submit("sleep 1000", "-N", "2", "-t", "30")
        slurm.wait(lambda: slurm.states()[blocking] == "RUNNING", "half of the machine is full", LONG)
        first = slurm.submit("true", "-N", "4", "-t", "30")
        sizes = np.random.default_rng(seed).integers(1, 3, 4).tolist()
        small = [slurm.submit("true", "-N", str(size), "-t", str(i + 1)) for i, size in enumerate(sizes)]
        return cls(slurm, blocking, [first, *small])

    def place(self, lease: int = 10) -> Drive:
        return Drive(self.slurm, "--mode", "place", "--policy", "sjf", "--select", "all", "--lease", str(lease))

    def go_on(self) -> None:
        self.slurm.run("scancel", str(self.blocking))
        self.slurm.wait(lambda: completed(self.slurm, self.jobs), "all jobs have ended", LONG)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(22))
def test_killed_at_any_moment_names_vanish_and_all_jobs_complete(
    emulated_slurm: Callable[..., EmulatedSlurm], seed: int
) -> None:
    stuck, lines = Stuck.on(emulated_slurm, seed), 1 + (seed + 3) % 6
    slurm = stuck.slurm
    with stuck.place() as drive:
        # Not by a clock: after so many lines of the log, which the next action has just begun.
        slurm.wait(lambda: drive.audit.read_bytes().count(b"\n") >= lines, "so much is done", LONG)
        drive.kill()
    if seed < 2:
        drive.let_the_lease_pass()
    if seed % 2:
        stuck.go_on()
    slurm.wait(lambda: not named(slurm), "nothing is named any more", LONG)
    if not seed % 2:  # it was the guardian, for nothing has started
        assert [slurm.states()[job] for job in stuck.jobs] == ["PENDING"] * len(stuck.jobs)
        stuck.go_on()
    if drive.lines("act"):
        assert_accounted(slurm, drive.audit, 1)
    drive.dismiss_guardian()


@pytest.mark.long
def test_release_takes_back_what_two_dead_processes_left(
    emulated_slurm: Callable[..., EmulatedSlurm], transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = Stuck.on(emulated_slurm, 3)
    use(stuck.slurm, monkeypatch)
    with stuck.place(3600) as drive:
        stuck.slurm.wait(lambda: len(drive.lines("done")) > 0, "a job is named", LONG)
        drive.kill()
        drive.kill_guardian()
    left = named(stuck.slurm)
    assert left
    assert set(left) <= set(map(str, stuck.jobs[1:]))
    told = transom("slurm", "release", drive.audit, "--json")
    assert (told.status, set(told.lines[0]["given_back"])) == (0, set(left))
    assert named(stuck.slurm) == {}
    stuck.go_on()


@pytest.mark.long
def test_a_hundred_jobs_run_on_exactly_the_named_nodes(emulated_slurm: Callable[..., EmulatedSlurm]) -> None:
    slurm = emulated_slurm(nodes=32, leaf=8, settings=MORE_SLOWLY)
    blocking = fill(slurm)
    jobs = submit(slurm, 100, 8, 12)
    options = ("--policy", "fcfs-easy", "--allocate", "dcas-exact", "--select", "all")
    with Drive(slurm, "--mode", "place", *options) as drive:
        slurm.run("scancel", str(blocking))
        slurm.wait(lambda: completed(slurm, jobs), "all jobs have ended", 2 * LONG)
    assert mismatches(slurm, drive) == []
    assert all(line["same"] for line in drive.lines("followed"))
    assert len(asked_nodes(drive.audit)) >= 50


@pytest.mark.long
def test_names_are_taken_back_from_a_job_that_is_later_than_slurm_planned(
    emulated_slurm: Callable[..., EmulatedSlurm], transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of its nodes is drained before Slurm starts it, and no other is idle: names would hold it for an hour."""
    seldom = "defer,batch_sched_delay=10,sched_interval=10,sched_min_interval=10000000,bf_interval=10"
    slurm = emulated_slurm(nodes=4, leaf=0, settings={"SchedulerParameters": seldom})
    use(slurm, monkeypatch)
    blocking = slurm.submit("sleep 1000", "-N", "2", "-t", "30", "-w", "n02,n03")
    slurm.wait(lambda: slurm.states()[blocking] == "RUNNING", "half of the machine is in use", LONG)
    options = ("--mode", "place", "--select", "user=root", "--lease", "3600", "--no-later", "5")
    with Drive(slurm, *options) as drive:
        job = _named_and_waiting(slurm)
        slurm.wait(lambda: [str(job)] in [line["jobs"] for line in _acts(drive, "clear")], "names are taken back", LONG)
        slurm.wait(lambda: named(slurm) == {}, "Slurm has done it", LONG)  # the log says so before
        assert [slurm.states()[each] for each in (blocking, job)] == ["RUNNING", "PENDING"]
        slurm.run("scancel", str(blocking))
        slurm.wait(lambda: completed(slurm, [job]), "Slurm starts it by itself", LONG)
    (told,) = (line for line in _acts(drive, "place") if line["jobs"] == [str(job)])
    (cleared,) = (line for line in _acts(drive, "clear") if line["jobs"] == [str(job)])
    seen = min(window["now"] for window in _windows(drive) if job in {each["id"] for each in window["queue"]})
    assert seen + 5 <= cleared["at"] < told["at"] + 3600
    (done,) = (each for each in slurm.completed() if each["JobId"] == str(job))
    assert "n00" not in hosts(done["NodeList"])
    assert transom("slurm", "replay", drive.audit).status == 0


def _acts(drive: Drive, action: str) -> list[dict[str, Any]]:
    return [line for line in drive.lines("act") if line["action"] == action]


def _windows(drive: Drive) -> list[dict[str, Any]]:
    return [json.loads(line["window"]) for line in drive.lines("decision")]


def _named_and_waiting(slurm: EmulatedSlurm) -> int:
    """A job of two nodes that waits and has n00 among its names, which is drained."""
    job = slurm.submit("true", "-N", "2", "-t", "10")
    slurm.wait(lambda: slurm.states()[job] != "PENDING" or str(job) in named(slurm), "the job is named", LONG)
    slurm.run("scontrol", "update", "NodeName=n00", "State=DRAIN", "Reason=test")
    if slurm.states()[job] == "PENDING" and str(job) in named(slurm):
        return job
    # Slurm was about to start it: another one.
    slurm.run("scontrol", "update", "NodeName=n00", "State=RESUME")
    slurm.wait(lambda: completed(slurm, [job]), "the job has ended", LONG)
    # While its nodes are not free again, the next job is planned half an hour later, and nothing is late before.
    slurm.wait(lambda: set(slurm.run("sinfo", "-h", "-n", "n00,n01", "-o", "%t").split()) == {"idle"}, "free", LONG)
    return _named_and_waiting(slurm)
