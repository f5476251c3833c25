"""A user who is no administrator: what works for own jobs, and that jobs of other users stay as they are."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.slurm.account import assert_accounted
from tests.slurm.cluster import EmulatedSlurm
from tests.slurm.driving import Drive, asked_nodes
from tests.slurm.release import Release
from tests.slurm.users import as_user, cannot, environment
from transom.slurm.audit import read_audit
from transom.traces.records.hostlist import hosts

USER, OTHER = "daemon", "games"
LONG = 300.0
"""Longest wait [s] on a machine that is busy."""
SCRIPT = "#!/bin/sh\nsleep 0.2\n"


class Own:
    """A user's part of a Slurm: commands run as the user, and a folder of the user's own."""

    def __init__(self, slurm: EmulatedSlurm, name: str) -> None:
        self.slurm, self.name, self.folder = slurm, name, slurm.folder / name
        self.folder.mkdir()
        os.chown(self.folder, pwd.getpwnam(name).pw_uid, pwd.getpwnam(name).pw_gid)
        if (why := cannot(name, slurm.folder)) is not None:
            pytest.skip(why)
        self.command = as_user(name, slurm.folder)
        self.environment = slurm.environment | environment(self.folder)

    def run(self, *command: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, *command], env=self.environment, input=stdin, text=True, capture_output=True, check=False,
            cwd="/",
        )  # fmt: skip

    def transom(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "transom", "slurm", *arguments)

    def submit(self, *options: str) -> int:
        done = self.run("sbatch", "--parsable", "-o/dev/null", "-D/", "-t2", *options, stdin=SCRIPT)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    def drive(self, *options: str) -> Drive:
        return Drive(self.slurm, *options, by=self.command, folder=self.folder, **environment(self.folder))


FIELDS = (
    "JobId", "JobState", "UserId", "Priority", "Nice", "TimeLimit", "SubmitTime", "EligibleTime", "Partition",
    "NumNodes", "ReqNodeList", "ExcNodeList", "Features", "Dependency", "Comment", "AdminComment",
)  # fmt: skip
"""What a user or an operator can change of a waiting job."""


def told(slurm: EmulatedSlurm, jobs: list[int]) -> list[dict[str, str]]:
    """What Slurm says of some jobs; of their priorities whether they are held."""
    said = []
    for job in jobs:
        words = (word.partition("=") for word in slurm.run("scontrol", "-o", "show", "job", str(job)).split())
        known = {name: value for name, _, value in words if name in FIELDS}
        said.append({**known, "Priority": "held" if known["Priority"] == "0" else "not held"})
    return said


def completed(slurm: EmulatedSlurm, jobs: list[int]) -> bool:
    return {int(each["JobId"]) for each in slurm.completed() if each["JobState"] == "COMPLETED"} >= set(jobs)


TwoUsers = Callable[..., tuple[EmulatedSlurm, Own, Own]]


@pytest.fixture
def two_users(emulated_slurm: Callable[..., EmulatedSlurm], release: Release) -> TwoUsers:
    def start(**settings: str) -> tuple[EmulatedSlurm, Own, Own]:
        if release != Release():
            pytest.skip("the commands of another release run in a root that root alone enters")
        slurm = emulated_slurm(nodes=8, leaf=4, settings=settings)
        return slurm, Own(slurm, USER), Own(slurm, OTHER)

    return start


def assert_as_asked(slurm: EmulatedSlurm, drive: Drive, jobs: list[int]) -> None:
    asked = {int(job): set(hosts(nodes)) for job, nodes in asked_nodes(drive.audit).items()}
    assert asked.keys() == set(jobs)
    ran = {int(each["JobId"]): set(hosts(each["NodeList"])) for each in slurm.completed()}
    assert {job: ran[job] for job in jobs} == asked


@pytest.mark.long
def test_a_user_drives_places_and_releases_own_jobs_alone(two_users: TwoUsers) -> None:
    slurm, user, other = two_users()
    blocking = slurm.submit("sleep 1000", "-N", "8", "-t", "30")
    slurm.wait(lambda: slurm.states()[blocking] == "RUNNING", "the machine is full", LONG)
    held = [user.submit("-H", f"-N{size}") for size in (3, 5, 2, 1)]
    others = [other.submit("-H", "-N2"), other.submit("-N2", "--begin=now+1hour"), other.submit("-H", "-N1", "-wn03")]
    before = told(slurm, others)

    advised = user.transom("advise", "--json", "--held", "--policy", "fcfs-easy", "--allocate", "best-fit")
    assert (advised.returncode, advised.stderr) == (0, "")
    (advice,) = map(json.loads, advised.stdout.splitlines())
    assert advice["start"] == []
    window = user.transom("window", "--json", "--held")
    assert set(map(str, held)) <= set(json.loads(window.stdout)["queue"])

    # Whoever selects everything reaches own jobs alone: Slurm refuses the others, and the run goes on.
    with user.drive("--select", f"user={USER}", "--allocate", "best-fit") as drive:
        slurm.run("scancel", str(blocking))
        slurm.wait(lambda: completed(slurm, held), "all jobs have ended", LONG)
        second = user.transom("run", "--mode", "place", "--select", "all", "--act", "--audit", str(user.folder / "2"))
        assert second.returncode == 2
        assert "acts on" in second.stderr
    assert_as_asked(slurm, drive, held)
    assert told(slurm, others) == before
    assert_accounted(slurm, drive.audit)
    drive.audit.rename(user.folder / "drive.jsonl")

    # Nodes are named for own jobs that wait; Slurm starts them.
    blocking = slurm.submit("sleep 1000", "-N", "8", "-t", "30")
    slurm.wait(lambda: slurm.states()[blocking] == "RUNNING", "the machine is full", LONG)
    waiting = [user.submit(f"-N{size}") for size in (3, 4)]
    with user.drive("--mode", "place", "--select", f"user={USER}", "--allocate", "best-fit") as drive:
        slurm.run("scancel", str(blocking))
        slurm.wait(lambda: completed(slurm, waiting), "all jobs have ended", LONG)
    assert told(slurm, others) == before
    drive.audit.rename(user.folder / "place.jsonl")

    # Killed, with the second process: what the run left is given back by the user.
    blocking = slurm.submit("sleep 1000", "-N", "8", "-t", "30")
    slurm.wait(lambda: slurm.states()[blocking] == "RUNNING", "the machine is full", LONG)
    kept = [user.submit("-H", "-N2"), user.submit("-H", "-N3")]
    with user.drive("--select", f"user={USER}", "--lease", "3600") as drive:
        slurm.wait(lambda: len(drive.lines("act")) >= 1, "the jobs are under lease", LONG)
        drive.kill()
        drive.kill_guardian()
    late = user.submit("-H", "-N1")
    given = user.transom("release", str(drive.audit), "--json")
    assert given.returncode == 0, given.stderr
    assert set(json.loads(given.stdout)["given_back"]) == {str(job) for job in (*kept, late)}
    slurm.run("scancel", str(blocking))
    slurm.wait(lambda: completed(slurm, [*kept, late]), "all jobs have ended", LONG)
    assert told(slurm, others) == before


def test_jobs_of_others_are_refused_and_order_is_an_operators(two_users: TwoUsers) -> None:
    slurm, user, other = two_users(PriorityType="priority/multifactor")
    others = [other.submit("-H", "-N2"), other.submit("-H", "-N3")]
    own = user.submit("-H", "-N4")
    before = told(slurm, others)
    # Selected by mistake: Slurm refuses each action, and the log says so; the user's own job runs.
    with user.drive("--select", "all", "--allocate", "best-fit") as drive:
        slurm.wait(lambda: completed(slurm, [own]), "the user's job has ended", LONG)
        own_acts = {line["number"] for line in drive.lines("act") if line["jobs"] == [str(own)]}
        assert own_acts
    assert told(slurm, others) == before
    refused = [line for line in drive.lines("done") if not line["well"]]
    assert all("denied" in str(line).lower() or "invalid user" in str(line).lower() for line in refused)
    # The order of jobs is an operator's affair: refused, written down, and without any effect.
    blocking = slurm.submit("sleep 1000", "-N", "8", "-t", "30")
    slurm.wait(lambda: slurm.states()[blocking] == "RUNNING", "the machine is full", LONG)
    waiting, log = [user.submit("-N2"), user.submit("-N3")], user.folder / "nudge.jsonl"
    options = ("--select", "all", "--act", "--audit", str(log), "--rounds", "2", "--every", "0.1")
    nudge = user.transom("run", "--mode", "nudge", *options)
    assert nudge.returncode == 0, nudge.stderr
    lines = list(read_audit(log))
    done = [line for line in lines if line["kind"] == "done"]
    assert done
    assert not any(line["well"] for line in done)
    assert "SiteFactor" not in slurm.run("grep", "-h", "site_factor", str(slurm.folder / "slurmctld.log"), check=False)
    slurm.run("scancel", str(blocking))
    slurm.wait(lambda: completed(slurm, waiting), "the jobs have ended", LONG)


@pytest.mark.long
def test_no_lock_stays_behind(two_users: TwoUsers) -> None:
    slurm, user, _ = two_users()
    with user.drive("--select", f"user={USER}"):
        assert [path.owner() for path in locks(user)] == [USER]
    assert locks(user) == []
    with user.drive("--select", f"user={USER}") as drive:
        drive.kill()
        drive.kill_guardian()
        assert [path.owner() for path in locks(user)] == [USER]  # of a process that is gone: it keeps nobody out
        with user.drive("--select", f"user={USER}") as following:
            slurm.wait(lambda: len(following.lines("begin")) == 3, "another run acts")
    assert locks(user) == [], following.said


def locks(user: Own) -> list[Path]:
    return list((user.folder / ".local/state/transom").glob(f"slurm-{user.slurm.name}-*.lock"))
