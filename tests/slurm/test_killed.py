"""A run that is killed, hangs or loses the controller: Slurm has all jobs back, and the log accounts for everything."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tests.slurm.account import assert_accounted
from tests.slurm.cluster import EmulatedSlurm
from tests.slurm.driving import Drive, asked_nodes

LONG = 600.0
"""Longest wait [s] on a machine that is busy."""
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 22))]
"""Moments at which a run is killed."""
DRIVE = ("--select", "all", "--lease", "10")
HELD = ("-H",)
HANDED = ("--begin=now+10", "--comment=for transom")
AHEAD = ("--begin=now+60", "--comment=for transom")
"""Handed over for so long that a run begins in time on a machine that is busy."""


def submit(slurm: EmulatedSlurm, how: Sequence[str], sizes: Sequence[int]) -> list[int]:
    return [slurm.submit("sleep 0.2", *how, "-N", str(size), "-t", "2") for size in sizes]


def fill(slurm: EmulatedSlurm) -> int:
    """A job on all nodes that runs until it is cancelled."""
    job = slurm.submit("sleep 1000", "-N", str(slurm.nodes), "-t", "30")
    slurm.wait(lambda: slurm.states()[job] == "RUNNING", "the machine is full", LONG)
    return job


def wait_for_all(slurm: EmulatedSlurm, jobs: Sequence[int]) -> None:
    """Wait until all jobs have ended; each ran once, and well."""

    def ended() -> list[tuple[int, str]]:
        # Slurm records a resizing to the same nodes where it started a job the moment before a command named its nodes.
        records = ((int(each["JobId"]), each["JobState"]) for each in slurm.completed())
        return [each for each in records if each[1] != "RESIZING"]

    slurm.wait(lambda: {job for job, _ in ended()} >= set(jobs), "all jobs have ended", LONG)
    assert sorted(each for each in ended() if each[0] in set(jobs)) == [(job, "COMPLETED") for job in sorted(jobs)]


def wait_for_lines(slurm: EmulatedSlurm, drive: Drive, jobs: Sequence[int], lines: int) -> None:
    """Not by a clock: after so many lines of the log, which the next action has just begun; or the end of all jobs."""

    def done() -> bool:
        ended = {int(each["JobId"]) for each in slurm.completed()}
        return drive.audit.read_bytes().count(b"\n") >= lines or ended >= set(jobs)

    slurm.wait(done, "so much is done", LONG)


def submit_until_taken(slurm: EmulatedSlurm, drive: Drive) -> list[int]:
    """Submit jobs until the run has the last one under lease: its second process may be about to release the first."""
    jobs = []
    for _ in range(5):
        jobs += submit(slurm, HELD, [4])
        name = str(jobs[-1])
        slurm.wait(lambda name=name: any(name in each["jobs"] for each in drive.lines("act")), "it is seen", LONG)
        if any(each["action"] == "adopt" and name in each["jobs"] for each in drive.lines("act")):
            return jobs
    raise AssertionError("the run takes no job any more")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_driver_is_killed_at_any_moment(emulated_slurm: Callable[..., EmulatedSlurm], seed: int) -> None:
    """And with it its guardian, where jobs have a begin time instead of a hold."""
    rng = np.random.default_rng(seed)
    slurm, both = emulated_slurm(nodes=4, leaf=0), seed % 2 == 1
    sizes = rng.integers(1, 4, 6 if seed < 2 else 12).tolist()
    jobs = submit(slurm, AHEAD if both else HELD, sizes[2:])
    with Drive(slurm, *DRIVE) as drive:
        wait_for_lines(slurm, drive, jobs, int(rng.integers(3, 3 * len(jobs))))
        drive.kill()
        if both:
            drive.kill_guardian()
        elif seed == 0:
            drive.let_the_lease_pass()
        jobs += submit(slurm, HANDED if both else HELD, sizes[:2])  # arrive afterwards
    wait_for_all(slurm, jobs)
    assert drive.lines("act")
    assert_accounted(slurm, drive.audit, 2)
    drive.dismiss_guardian()


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_a_nudger_is_killed_at_any_moment(emulated_slurm: Callable[..., EmulatedSlurm], seed: int) -> None:
    rng = np.random.default_rng(seed)
    slurm = emulated_slurm(nodes=2, leaf=0, settings={"PriorityType": "priority/multifactor"})
    blocking = fill(slurm)
    jobs = submit(slurm, (), rng.integers(1, 3, 6).tolist())
    select = [option for job in jobs for option in ("--select", f"job={job}")]
    with Drive(slurm, "--mode", "nudge", "--policy", "sjf", "--lease", "10", *select) as drive:
        wait_for_lines(slurm, drive, jobs, int(rng.integers(2, 12)))
        drive.kill()
    if seed % 2:
        drive.kill_guardian()
    else:
        if seed == 0:
            drive.let_the_lease_pass()

        def given_back() -> bool:
            factors = {job: line["factor"] for line in drive.lines("act") for job in line["jobs"]}
            return not any(factors.values()) and len(drive.lines("done")) >= len(drive.lines("act")) - 1

        slurm.wait(given_back, "the second process has taken the factors back", LONG)
    slurm.run("scancel", str(blocking))
    wait_for_all(slurm, jobs)
    if drive.lines("act"):
        assert_accounted(slurm, drive.audit, 1)
    drive.dismiss_guardian()


@pytest.mark.long
def test_a_run_that_hangs_has_no_job_any_more(emulated_slurm: Callable[..., EmulatedSlurm]) -> None:
    slurm = emulated_slurm(nodes=4, leaf=0)
    blocking = fill(slurm)
    jobs = submit(slurm, HELD, [1, 2, 4])
    with Drive(slurm, *DRIVE) as drive:
        slurm.wait(lambda: len(drive.lines("done")) > 0, "the jobs are under lease", LONG)
        drive.hang()
        drive.let_the_lease_pass()
        slurm.run("scancel", str(blocking))
        jobs += submit(slurm, HELD, [3, 1])
        wait_for_all(slurm, jobs)
        assert asked_nodes(drive.audit) == {}
        begun = fill(slurm)
        back = submit(slurm, HELD, [2])[0]
        slurm.wait(lambda: str(back) in drive.lines("act")[-1]["jobs"], "the second process gives it back", LONG)
        drive.wake()
        later = submit_until_taken(slurm, drive)
        slurm.run("scancel", str(begun))
        wait_for_all(slurm, [*jobs, back, *later])
    driven = asked_nodes(drive.audit).keys()
    assert {str(later[-1])} <= driven <= set(map(str, later)), "what was given back is Slurm's"
    assert_accounted(slurm, drive.audit)


@pytest.mark.long
def test_a_run_that_loses_the_controller_has_no_job_any_more(emulated_slurm: Callable[..., EmulatedSlurm]) -> None:
    slurm = emulated_slurm(nodes=4, leaf=0)
    conf = slurm.folder / "seen.conf"
    conf.write_text(slurm.conf.read_text())
    blocking = fill(slurm)
    jobs = submit(slurm, HELD, [1, 4])
    with Drive(slurm, *DRIVE, SLURM_CONF=str(conf)) as drive:
        slurm.wait(lambda: len(drive.lines("done")) > 0, "the jobs are under lease", LONG)
        told = conf.read_text()
        elsewhere = re.sub(r"(?m)^SlurmctldPort=.*$", "SlurmctldPort=9", told)  # where nobody answers
        conf.write_text(re.sub(r"(?m)^MessageTimeout=.*$", "MessageTimeout=2", elsewhere))
        slurm.wait(lambda: "nable to contact" in drive.said, "the run has lost the controller", LONG)
        lines = len(drive.lines("act"))
        jobs += submit(slurm, HANDED, [2, 2])
        slurm.run("scancel", str(blocking))
        wait_for_all(slurm, jobs)
        assert len(drive.lines("act")) == lines
        conf.write_text(told)
        later = submit(slurm, HELD, [3])
        wait_for_all(slurm, later)
    assert asked_nodes(drive.audit).keys() <= {str(later[0])}
    assert_accounted(slurm, drive.audit)


@pytest.mark.long
def test_a_controller_that_does_not_answer_is_left_in_peace(emulated_slurm: Callable[..., EmulatedSlurm]) -> None:
    slurm = emulated_slurm(nodes=4, leaf=0)
    conf = slurm.folder / "patient.conf"
    conf.write_text(re.sub(r"(?m)^MessageTimeout=.*$", "MessageTimeout=1", slurm.conf.read_text()))
    jobs = submit(slurm, HELD, [1, 2, 1, 3, 4, 1])
    with Drive(slurm, *DRIVE, SLURM_CONF=str(conf)) as drive:
        slurm.wait(lambda: len(asked_nodes(drive.audit)) > 0, "the first job is started", LONG)
        slurm.pause_controller()
        slurm.wait(lambda: drive.said.count("timed out") >= 2, "it does not answer", LONG)
        paused = len(drive.lines("act"))
        slurm.wait(lambda: drive.said.count("timed out") >= 4, "it still does not answer", LONG)
        assert len(drive.lines("act")) == paused
        slurm.continue_controller()
        wait_for_all(slurm, jobs)
    assert_accounted(slurm, drive.audit)
