"""No job later than in Slurm's own plan and some time: the plan, what it keeps back, and a real Slurm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.cli.conftest import Ran, transom
from tests.slurm.account import assert_accounted
from tests.slurm.cluster import EmulatedSlurm
from tests.slurm.driving import Drive, asked_nodes
from transom.models import Cluster, JobTable, Window
from transom.simulation.passes.window_pass import planned_starts
from transom.slurm.consistency import look
from transom.slurm.latest.latest_starts import LatestStarts
from transom.slurm.window import Seen, window_of

__all__ = ["transom"]

LONG = 120.0
"""Longest wait [s] on a machine that is busy."""
EXACT = {
    "SchedulerParameters": "batch_sched_delay=0,sched_interval=1,sched_min_interval=1000,bf_interval=1,bf_resolution=1"
}


def use(slurm: EmulatedSlurm, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, slurm.environment[name])


def random_window(rng: np.random.Generator) -> Window:
    """On six nodes: what runs, and seven jobs that wait."""
    held = int(rng.integers(0, 7))
    running = [[100 + i, 0, 1, 50, 0, 1] for i in range(held)]
    queue = [[1 + i, 0, int(rng.integers(1, 7)), int(rng.integers(1, 40)), 0, 1] for i in range(7)]
    return Window(
        now=10,
        cluster=Cluster(6),
        queue=JobTable(np.array(queue, np.int64)),
        running=JobTable(np.array(running, np.int64).reshape(held, 6)),
        running_end=np.sort(rng.integers(11, 60, held)),
        available=np.array([6 - held]),
    )


def by_hand(window: Window, order: list[int]) -> list[int]:
    """The earliest start of each job that delays none before it, second by second."""
    used = np.zeros(2000, np.int64)
    for end, nodes in zip(window.running_end.tolist(), window.running.nodes.tolist(), strict=True):
        used[:end] += nodes
    found = [-1] * len(window.queue)
    for job in order:
        nodes, walltime = int(window.queue.nodes[job]), int(window.queue.walltime[job])
        start = next(t for t in range(window.now, 2000) if (used[t : t + walltime] + nodes <= 6).all())
        used[start : start + walltime] += nodes
        found[job] = start
    return found


@pytest.mark.parametrize("seed", range(30))
def test_the_plan_gives_each_job_the_earliest_place_behind_those_before_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    window = random_window(rng)
    order = rng.permutation(7)[: rng.integers(1, 8)].tolist()
    assert planned_starts(window, order).tolist() == by_hand(window, order)


@pytest.mark.parametrize("seed", range(30))
def test_in_the_order_of_a_plan_no_job_is_later(seed: int) -> None:
    window = random_window(np.random.default_rng(seed))
    first = planned_starts(window, range(7))
    assert (planned_starts(window, np.argsort(first, kind="stable")) <= first).all()


def test_the_plan_is_slurms(emulated_slurm: Callable[..., EmulatedSlurm], monkeypatch: pytest.MonkeyPatch) -> None:
    slurm = emulated_slurm(nodes=8, leaf=0, settings=EXACT)
    use(slurm, monkeypatch)
    for nodes, minutes in ((2, 10), (3, 20), (3, 35)):
        slurm.submit("sleep 1000", "-N", str(nodes), "-t", str(minutes))
    slurm.wait(lambda: list(slurm.states().values()).count("RUNNING") == 3, "the machine is full", LONG)
    for nodes, minutes in ((4, 15), (8, 5), (2, 8), (1, 60), (5, 30), (3, 5), (2, 45)):
        slurm.submit("true", "-N", str(nodes), "-t", str(minutes))

    looks: list[Seen] = []

    def planned() -> bool:
        """Whether a look shows a place for each job: Slurm plans anew every second."""
        looks.append(window_of(look()))
        waiting = [job for job in looks[-1].jobs.values() if job.waits]
        return len(waiting) == 7 and all(job.start > 0 and job.planned for job in waiting)

    slurm.wait(planned, "Slurm has planned all jobs", LONG)
    seen, latest = looks[-1], LatestStarts(0)
    latest.note(seen, list(seen.jobs.values()))
    waiting = [job for job in seen.jobs.values() if job.waits]
    assert {job.name: abs((latest.of(job.name) or 0) - job.start) <= 5 for job in waiting} == {
        job.name: True for job in waiting
    }, {job.name: (latest.of(job.name), job.start) for job in waiting}


@pytest.mark.long
def test_small_jobs_do_not_starve_a_large_one(
    emulated_slurm: Callable[..., EmulatedSlurm], transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Smallest area first would start the small ones on the idle half; Slurm plans the large one before them."""
    slurm = emulated_slurm(nodes=4, leaf=0, settings=EXACT)
    use(slurm, monkeypatch)
    blocking = slurm.submit("sleep 1000", "-N", "2", "-t", "30")
    slurm.wait(lambda: slurm.states()[blocking] == "RUNNING", "half of the machine is full", LONG)
    large = slurm.submit("true", "-H", "-N", "4", "-t", "20")
    small = [slurm.submit("true", "-H", "-N", "1", "-t", "40") for _ in range(3)]
    advised = transom("slurm", "advise", "--held", "--policy", "saf", "--no-later", "60", "--json").lines[0]
    assert (advised["start"], advised["kept_back"]) == ([], [str(job) for job in small[:2]])
    options = ("--policy", "saf", "--select", "all")
    with Drive(slurm, *options, "--no-later", "60") as drive:
        slurm.wait(lambda: any(line["kept_back"] for line in drive.lines("decision")), "small ones are kept back", LONG)
        slurm.run("scancel", str(blocking))
        slurm.wait(lambda: all(slurm.states()[job] == "COMPLETED" for job in (large, *small)), "all have run", LONG)
    ended = [int(each["JobId"]) for each in slurm.completed()]
    assert ended.index(large) < min(ended.index(job) for job in small)
    assert [line["jobs"] for line in drive.lines("act") if line["action"] == "give-back"] == [[str(large)]]
    assert asked_nodes(drive.audit).keys() == {str(job) for job in small}
    assert_accounted(slurm, drive.audit)
    assert transom("slurm", "replay", drive.audit).status == 0


def test_a_nudge_has_no_latest_start(transom: Callable[..., Ran]) -> None:
    ran = transom("slurm", "run", "--mode", "nudge", "--select", "all", "--no-later", "60")
    assert (ran.status, "--no-later belongs to --mode place and drive" in ran.err) == (2, True)
