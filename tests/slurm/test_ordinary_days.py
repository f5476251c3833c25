"""What ordinary days bring: background jobs of a shell, jobs of other users, requeues, full disks, foreign locks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, transom
from tests.slurm.account import assert_accounted
from tests.slurm.cluster import EmulatedSlurm
from tests.slurm.driving import Drive
from tests.slurm.test_users import OTHER, USER, TwoUsers, two_users
from transom.slurm import guardian
from transom.slurm.audit import Audit
from transom.slurm.log.chain import check_chain

__all__ = ["transom", "two_users"]

LONG = 120.0
"""Longest wait [s] on a machine that is busy."""
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


def use(slurm: EmulatedSlurm, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, slurm.environment[name])


def fill(slurm: EmulatedSlurm, nodes: int | None = None) -> int:
    """A job on the first nodes, or all, that runs until it is cancelled."""
    job = slurm.submit("sleep 1000", "-N", str(nodes or slurm.nodes), "-t", "30")
    slurm.wait(lambda: slurm.states()[job] == "RUNNING", "nodes are in use", LONG)
    return job


def told(slurm: EmulatedSlurm, job: int, field: str) -> str:
    words = (word.partition("=") for word in slurm.run("scontrol", "-o", "show", "job", str(job)).split())
    return next(value for name, _, value in words if name == field)


def leased(drive: Drive, *jobs: int) -> bool:
    acts = {line["number"]: set(line["jobs"]) for line in drive.lines("act") if "until" in line}
    well = [acts.get(line["number"], set()) for line in drive.lines("done") if line["well"]]
    return set(map(str, jobs)) <= set().union(*well)


def in_the_background(slurm: EmulatedSlurm, *options: str, ignored: str = "INT") -> Drive:
    """A run as a script's shell starts it with ``&``."""
    return Drive(slurm, *options, by=("sh", "-c", f'trap "" {ignored}; exec "$@"', "sh"))


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("ignored", ["INT", "INT QUIT TERM HUP", "QUIT"])
def test_a_run_in_the_background_can_be_stopped(
    emulated_slurm: Callable[..., EmulatedSlurm], number: int, ignored: str
) -> None:
    slurm = emulated_slurm(nodes=2, leaf=0)
    blocking, job = fill(slurm), slurm.submit("true", "-H", "-N2", "-t1")
    with in_the_background(slurm, "--select", "all", ignored=ignored) as drive:
        slurm.wait(lambda: leased(drive, job), "the job is under lease", LONG)
        drive.process.send_signal(number)
        assert drive.process.wait(LONG) == 130
    assert drive.lines("end")[0]["given_back"] == [str(job)]
    assert drive.guardian is None
    assert "given back to Slurm: 1 job" in drive.said
    assert check_chain(drive.audit, drive.said.split("head ")[-1].split()[0]).at == check_chain(drive.audit).lines
    slurm.run("scancel", str(blocking))
    slurm.wait(lambda: slurm.states()[job] == "COMPLETED", "Slurm starts it", LONG)


@pytest.mark.long
@pytest.mark.parametrize("runs", [USER, OTHER])
def test_a_job_of_somebody_else_strands_nobody(two_users: TwoUsers, runs: str) -> None:
    """Both hand jobs over, and one of them drives the partition without being an operator."""
    slurm, *both = two_users()
    user, other = sorted(both, key=lambda each: each.name != runs)
    hand = ("--comment=transom", "-N2")
    foreign = other.submit("--begin=now+1hour", *hand)
    blocking = fill(slurm)
    own = [user.submit("--begin=now+1hour", *hand) for _ in range(2)]
    begin = told(slurm, foreign, "EligibleTime")
    with user.drive("--select", "partition=main", "--lease", "10") as drive:
        slurm.wait(lambda: leased(drive, *own), "own jobs are under lease", LONG)

        def renewed() -> bool:
            renews = {line["number"] for line in drive.lines("act") if line["action"] == "renew"}
            return sum(line["number"] in renews and line["well"] for line in drive.lines("done")) >= 2

        slurm.wait(renewed, "leases are moved on", LONG)
        slurm.run("scancel", str(blocking))
        slurm.wait(lambda: [slurm.states()[job] for job in own] == ["COMPLETED"] * 2, "own jobs are started", LONG)
    assert told(slurm, foreign, "EligibleTime") == begin
    asked = [line["number"] for line in drive.lines("act") if str(foreign) in line["jobs"]]
    leases = [line for line in drive.lines("act") if line["number"] in asked and line["action"] == "take"]
    assert len(leases) == 3
    assert not any(line["well"] for line in drive.lines("done") if line["number"] in asked)
    started = [line["jobs"] for line in drive.lines("act") if line["action"] == "start"]
    assert sorted(started) == [[str(job)] for job in own]
    assert_accounted(slurm, drive.audit)


def requeue_by_user(slurm: EmulatedSlurm, job: int, node: str) -> None:
    drain(slurm, node)
    slurm.run("scontrol", "requeue", str(job))


def requeue_by_lost_node(slurm: EmulatedSlurm, job: int, node: str) -> None:
    slurm.kill(node)
    slurm.run("scontrol", "update", f"NodeName={node}", "State=down", "Reason=test")


def requeue_beside_a_restart(slurm: EmulatedSlurm, job: int, node: str) -> None:
    slurm.run("scontrol", "shutdown", "slurmctld")  # which saves its jobs
    slurm.wait(lambda: not slurm.answers(), "the controller is gone", LONG)
    slurm.restart_controller()
    slurm.wait(slurm.answers, "the controller is back", LONG)
    requeue_by_user(slurm, job, node)


def drain(slurm: EmulatedSlurm, node: str) -> None:
    slurm.run("scontrol", "update", f"NodeName={node}", "State=drain", "Reason=test")


SLOWLY = {"SchedulerParameters": "defer,batch_sched_delay=4,sched_interval=4,sched_min_interval=1000,bf_interval=4"}


@pytest.mark.long
@pytest.mark.parametrize("mode", ["drive", "place"])
@pytest.mark.parametrize("requeue", [requeue_by_user, requeue_by_lost_node, requeue_beside_a_restart])
def test_a_requeued_job_is_no_prisoner_of_its_nodes(
    emulated_slurm: Callable[..., EmulatedSlurm], mode: str, requeue: Callable[[EmulatedSlurm, int, str], None]
) -> None:
    slurm = emulated_slurm(nodes=4, leaf=0, settings=SLOWLY if mode == "place" else {})
    options = ("--mode", mode, "--select", "all", "--lease", "3600")
    held = ("-H",) if mode == "drive" else ()
    with Drive(slurm, *options) as drive:
        job = started_on_names(slurm, drive, held)
        node = told(slurm, job, "NodeList").removeprefix("n[").partition("-")[0].partition(",")[0]
        requeue(slurm, job, f"n{node}")
        slurm.wait(lambda: told(slurm, job, "JobState") == "PENDING", "it waits again", LONG)
        slurm.wait(lambda: told(slurm, job, "ReqNodeList") == "(null)", "it names no nodes", LONG)
        assert told(slurm, job, "JobState") == "PENDING"
        # Slurm puts it off for a minute, and fails it if anybody has it begin before.
        if requeue is not requeue_by_user:
            slurm.wait(lambda: told(slurm, job, "JobState") == "RUNNING", "it runs on other nodes", LONG)
            acts = [line["action"] for line in drive.lines("act") if str(job) in line["jobs"]]
            assert acts[-1] in ("clear", "place")
    assert check_chain(drive.audit).broken == []


def started_on_names(slurm: EmulatedSlurm, drive: Drive, held: Sequence[str]) -> int:
    """A job that runs on nodes that a run has named for it."""
    for _ in range(5):
        job = slurm.submit("sleep 1000", *held, "-N2", "-t30", "--requeue")
        slurm.wait(lambda job=job: slurm.states()[job] == "RUNNING", "it runs", LONG)
        slurm.wait(lambda job=job: followed(drive, job) or not named(drive, job), "the run has seen it", LONG)
        if named(drive, job):
            return job
        slurm.run("scancel", str(job))  # Slurm was faster
        slurm.wait(lambda job=job: slurm.states()[job] == "CANCELLED", "it has ended", LONG)
    raise AssertionError("Slurm is always faster")


def named(drive: Drive, job: int) -> bool:
    return any(str(job) in line["jobs"] for line in drive.lines("act") if line["action"] in ("start", "place"))


def followed(drive: Drive, job: int) -> bool:
    return any(line["job"] == str(job) for line in drive.lines("followed"))


@pytest.mark.long
def test_a_run_that_begins_frees_what_was_requeued_meanwhile(emulated_slurm: Callable[..., EmulatedSlurm]) -> None:
    slurm = emulated_slurm(nodes=4, leaf=0)
    with Drive(slurm, "--select", "all") as drive:
        job = started_on_names(slurm, drive, ("-H",))
        drive.kill()
        drive.kill_guardian()
    requeue_by_user(slurm, job, "n00")
    slurm.wait(lambda: told(slurm, job, "JobState") == "PENDING", "it waits again", LONG)
    assert told(slurm, job, "ReqNodeList") != "(null)"
    with Drive(slurm, "--select", "all"):
        slurm.wait(lambda: told(slurm, job, "ReqNodeList") == "(null)", "it names no nodes", LONG)


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A disk of 64 KiB."""
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=755", "tmpfs", folder], check=False)
    if mounted.returncode:
        pytest.skip("a file system cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill_up(disk: Path, audit: Path) -> None:
    """And the last page of the log with it, by lines as they are."""
    with (disk / "ballast").open("ab", buffering=0) as file:
        for size in (4096, 1):
            with suppress(OSError):
                while file.write(b"x" * size):
                    pass
    log = Audit(audit)
    with suppress(OSError):
        while True:
            log.write("end")
    log.close()


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 10))])
def test_on_a_full_disk_everything_is_given_back(
    emulated_slurm: Callable[..., EmulatedSlurm],
    transom: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    """By the run itself, or by release after both of its processes were killed."""
    slurm = emulated_slurm(nodes=2, leaf=0)
    use(slurm, monkeypatch)
    blocking = fill(slurm)
    jobs = [slurm.submit("true", "-H", "-N1", "-t1") for _ in range(2 + seed // 2)]
    with small_disk(slurm.folder / "disk") as disk, Drive(slurm, "--select", "all", folder=disk) as drive:
        slurm.wait(lambda: leased(drive, *jobs), "the jobs are under lease", LONG)
        if seed % 2:
            drive.kill()
            drive.kill_guardian()
            fill_up(disk, drive.audit)
            given = transom("slurm", "release", drive.audit, "--json")
            assert (given.status, set(given.lines[0]["given_back"])) == (0, set(map(str, jobs)))
            assert "lines are missing: No space left on device" in given.err
        else:
            fill_up(disk, drive.audit)
            late = slurm.submit("true", "-H", "-N1", "-t1")
            jobs.append(late)  # which cannot be adopted: nothing is done that is not written down
            assert drive.process.wait(LONG) == 2
            assert f"error: {drive.audit}: No space left on device" in drive.said
            assert f"given back to Slurm: {len(jobs)} jobs" in drive.said
            assert drive.guardian is None
        assert drive.audit.read_bytes()[-1:] == b"\n"
        assert check_chain(drive.audit).broken == []
        assert [line for line in drive.lines("act") if line["action"] == "start"] == []
        slurm.run("scancel", str(blocking))
        slurm.wait(lambda: [slurm.states()[job] for job in jobs] == ["COMPLETED"] * len(jobs), "they have run", LONG)


@pytest.mark.long
def test_release_works_without_a_log_and_with_a_lock_that_is_held(
    emulated_slurm: Callable[..., EmulatedSlurm], transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = emulated_slurm(nodes=2, leaf=0)
    use(slurm, monkeypatch)
    blocking = fill(slurm)
    jobs = [slurm.submit("true", "-H", "-N1", "-t1") for _ in range(2)]
    with Drive(slurm, "--select", "all", "--lease", "3600") as drive:
        slurm.wait(lambda: leased(drive, *jobs), "the jobs are under lease", LONG)
        drive.hang()
        drive.kill_guardian()
        refused = transom("slurm", "release", drive.audit)
        assert (refused.status, "acts on" in refused.err) == (2, True)
        given = transom("slurm", "release", drive.audit, "--force", "--json")
        assert (given.status, set(given.lines[0]["given_back"])) == (0, set(map(str, jobs)))
        assert "without the lock" in given.err
        assert {told(slurm, job, "Reason") for job in jobs} <= {"Resources", "Priority", "None"}
        drive.wake()
    drive.audit.rename(slurm.folder / "kept.jsonl")

    with Drive(slurm, "--select", "all", "--lease", "3600") as drive:
        later = slurm.submit("true", "-H", "-N1", "-t1")
        slurm.wait(lambda: leased(drive, later), "the job is under lease", LONG)
        drive.kill()
        drive.kill_guardian()
    drive.audit.write_bytes(b"\0" * 100 + b"\n")
    late = slurm.submit("true", "-H", "-N1", "-t1")
    without = transom("slurm", "release", drive.audit)
    assert (without.status, "is no audit log" in without.err, "--select" in without.err) == (2, True, True)
    options = [word for job in (later, late) for word in ("--select", f"job={job}")]
    given = transom("slurm", "release", drive.audit, *options, "--json")
    assert (given.status, set(given.lines[0]["given_back"])) == (0, {str(later), str(late)})
    slurm.run("scancel", str(blocking))
    every = [*jobs, later, late]
    slurm.wait(lambda: [slurm.states()[job] for job in every] == ["COMPLETED"] * 4, "all have run", LONG)


@pytest.mark.long
def test_a_run_whose_log_is_destroyed_gives_everything_back(emulated_slurm: Callable[..., EmulatedSlurm]) -> None:
    slurm = emulated_slurm(nodes=2, leaf=0)
    blocking, job = fill(slurm), slurm.submit("true", "-H", "-N1", "-t1")
    with Drive(slurm, "--select", "all", "--lease", "3600") as drive:
        slurm.wait(lambda: leased(drive, job), "the job is under lease", LONG)
        drive.audit.write_bytes(b"rubbish\n" * 2000)
        assert drive.process.wait(LONG) == 2
    assert "given back to Slurm: 1 job" in drive.said
    slurm.run("scancel", str(blocking))
    slurm.wait(lambda: slurm.states()[job] == "COMPLETED", "Slurm starts it", LONG)


@pytest.mark.long
def test_what_another_user_holds_stays_held(
    emulated_slurm: Callable[..., EmulatedSlurm], transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator selects all jobs: those that a user handed over and then held, too, are left alone."""
    slurm = emulated_slurm(nodes=2, leaf=0)
    use(slurm, monkeypatch)
    blocking = fill(slurm)
    submit = (*NOBODY, "sbatch", "--parsable", "-o/dev/null", "-D/", "-N1", "-t1")
    script = "#!/bin/sh\ntrue\n"
    held = [int(slurm.run(*submit, *more, stdin=script)) for more in (["-H"], ["-H", "--comment=transom"])]
    handed = int(slurm.run(*submit, "--begin=now+1hour", "--comment=transom", stdin=script))
    own = slurm.submit("true", "-H", "-N1", "-t1")
    with Drive(slurm, "--select", "all") as drive:
        slurm.wait(lambda: leased(drive, own, handed), "the others are under lease", LONG)
        slurm.run(*NOBODY, "scontrol", "uhold", str(handed))
        left = ("leave", [str(handed)])
        slurm.wait(lambda: left in [(each["action"], each["jobs"]) for each in drive.lines("act")], "it is left", LONG)
    assert transom("slurm", "release", drive.audit).status == 0
    assert [told(slurm, job, "Reason") for job in (*held, handed)] == ["JobHeldUser"] * 3
    assert not {str(job) for line in drive.lines("act") for job in line["jobs"]} & set(map(str, held))
    slurm.run("scancel", str(blocking))
    slurm.wait(lambda: slurm.states()[own] == "COMPLETED", "the operator's own job has run", LONG)


def test_a_clock_that_is_set_back_keeps_no_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signs of life are told by their changes: that of a dead run may lie in the future."""
    audit, given = tmp_path / "audit.jsonl", list[float]()
    audit.touch()
    guardian.heartbeat_of(audit).touch()
    os.utime(guardian.heartbeat_of(audit), (4e9, 4e9))

    def give_all_back(*_: object) -> None:
        given.append(time.monotonic())
        guardian.dismiss(audit)

    monkeypatch.setattr(guardian, "give_all_back", give_all_back)
    began = time.monotonic()
    guardian.watch(audit, 0.1, "main", ())
    assert given[0] - began >= 0.1
    given.clear()
    guardian.heartbeat_of(audit).unlink()
    guardian.watch(audit, 0.1, "main", ())
    assert len(given) == 1


def test_an_unset_user_is_said() -> None:
    command = [sys.executable, "-m", "transom", "slurm", "run", "--mode", "place", "--select", "user="]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "$(id -un)" in done.stderr) == (2, True)
    assert json.dumps(done.stdout) == '""'
