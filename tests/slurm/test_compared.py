"""The same jobs with a run that is killed and without one: at the end no job waits that Slurm alone has started."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from tests.cli.conftest import Ran, transom
from tests.slurm.account import assert_accounted
from tests.slurm.cluster import EmulatedSlurm
from tests.slurm.driving import Drive
from tests.slurm.test_killed import LONG
from tests.slurm.test_ordinary_days import (
    SLOWLY,
    requeue_beside_a_restart,
    requeue_by_lost_node,
    requeue_by_user,
    told,
    use,
)

__all__ = ["transom"]

Requeue = Callable[[EmulatedSlurm, int, str], None]

FIRST = '[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || sleep 1000'
"""A job that runs until it is requeued, and ends well the second time."""


class Mode(NamedTuple):
    """How jobs are submitted, with a run and without, and further settings of both Slurms."""

    submitted: tuple[str, ...]
    settings: dict[str, str]


MODES = {
    "drive": Mode(("--begin=now+30", "--comment=transom"), {}),
    "place": Mode((), SLOWLY),
    "nudge": Mode((), {"PriorityType": "priority/multifactor"}),
}
REQUEUES = [requeue_by_user, requeue_by_lost_node, requeue_beside_a_restart]
NODES = 4
LARGE = 5
"""The place of the job that needs all nodes."""


class Played:
    """Jobs in a Slurm: one that is requeued, some that fit beside it, and one that needs the node that is lost."""

    def __init__(self, slurm: EmulatedSlurm, how: tuple[str, ...], seed: int) -> None:
        self.slurm, self._how = slurm, how
        sizes = np.random.default_rng(seed).integers(1, NODES, 10).tolist()
        self._later = sizes[8:]
        self.jobs = [slurm.submit(FIRST, *how, "-N2", "-t30", "--requeue")]
        self.submit([*sizes[: LARGE - 1], NODES, *sizes[LARGE - 1 : 8]])

    def submit(self, sizes: list[int]) -> None:
        self.jobs += [self.slurm.submit("sleep 0.2", *self._how, f"-N{size}", "-t2") for size in sizes]

    def wait_for_first(self) -> None:
        self.slurm.wait(lambda: self.slurm.states()[self.jobs[0]] == "RUNNING", "the first job runs", LONG)

    def requeue(self, requeue: Requeue) -> None:
        """The first job loses a node, and two more jobs arrive."""
        first = self.jobs[0]
        nodes = self.slurm.run("scontrol", "show", "hostnames", told(self.slurm, first, "NodeList")).split()
        requeue(self.slurm, first, nodes[0])
        self.submit(self._later)

    def waiting(self) -> set[int]:
        """Which jobs wait, by their place in the list."""
        states = self.slurm.states()
        return {i for i, job in enumerate(self.jobs) if states[job] == "PENDING"}


@pytest.mark.long
@pytest.mark.parametrize("requeue", REQUEUES)
@pytest.mark.parametrize("mode", MODES)
def test_no_job_waits_that_slurm_alone_has_started(
    emulated_slurm: Callable[..., EmulatedSlurm],
    transom: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    requeue: Requeue,
) -> None:
    """The run is killed before the requeue or after it; its guardian, too, before somebody gives all jobs back."""
    seed = 3 * [*MODES].index(mode) + [*REQUEUES].index(requeue)
    alone, beside = (emulated_slurm(nodes=NODES, leaf=0, settings=MODES[mode].settings) for _ in range(2))
    without, with_run = (Played(slurm, MODES[mode].submitted, seed) for slurm in (alone, beside))
    killed_first, both = seed % 2 == 0, seed % 3 == 0
    with Drive(beside, "--mode", mode, "--select", "all", "--lease", "10") as drive:
        with_run.wait_for_first()
        if not killed_first:
            with_run.requeue(requeue)
        drive.kill()
        if both:
            drive.kill_guardian()
    if killed_first:
        with_run.requeue(requeue)
    without.wait_for_first()
    without.requeue(requeue)
    if both:
        use(beside, monkeypatch)
        beside.wait(lambda: told(beside, with_run.jobs[0], "JobState") == "PENDING", "the first job waits again", LONG)
        assert transom("slurm", "release", drive.audit).status == 0

    def settled() -> bool:
        # Of a node that is gone 24.11 hears of no end.
        return {*alone.states().values()} <= {"COMPLETED", "COMPLETING", "PENDING"} and without.waiting() == {LARGE}

    alone.wait(settled, "without a run the job that needs all nodes waits alone", LONG)
    beside.wait(lambda: with_run.waiting() <= without.waiting(), "with a run no further job waits", LONG)
    for job in (with_run.jobs[i] for i in with_run.waiting()):
        assert (told(beside, job, "JobState"), told(beside, job, "ReqNodeList")) == ("PENDING", "(null)")
    assert_accounted(beside, drive.audit, 2)
    drive.dismiss_guardian()
