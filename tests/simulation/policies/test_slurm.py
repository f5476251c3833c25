"""Slurm's backfill: the main scheduler at events, backfilling in cycles, reservations rounded to the resolution."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from transom.errors import SpecError
from transom.models import Cluster, Job, Window
from transom.simulation import make_policy, simulate
from transom.simulation.core.decision import Decision
from transom.simulation.output.verification import check_schedule
from transom.simulation.policies.slurm import SlurmBackfill
from transom.simulation.snapshots import snapshots
from transom.traces import TracedJob, Workload, read_swf
from transom.traces.outages import Outages

THETA = Path(__file__).parents[4] / "shared" / "traces" / "theta_2022.swf.gz"


def made(*jobs: tuple[int, int, int, int], nodes: int = 10) -> Workload:
    """Jobs of (submission, nodes, walltime, runtime), numbered from 1."""
    listed = [TracedJob(Job(i, s, n, w), r) for i, (s, n, w, r) in enumerate(jobs, 1)]
    return Workload.of(listed, Cluster(nodes))


def starts(workload: Workload, spec: str = "slurm-backfill") -> dict[int, int]:
    schedule = simulate(workload, spec)
    assert check_schedule(workload, schedule) == []
    return dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))


def test_jobs_are_backfilled_at_cycles_and_no_sooner() -> None:
    # Job 3 fits beside the reservation of job 2, and waits for the next multiple of the interval.
    workload = made((0, 8, 600, 600), (1, 5, 600, 600), (5, 2, 300, 300))
    assert starts(workload) == {1: 0, 2: 600, 3: 30}
    assert starts(workload, "slurm-backfill:interval=100") == {1: 0, 2: 600, 3: 100}
    assert starts(workload, "fcfs-easy") == {1: 0, 2: 600, 3: 5}


def test_the_main_scheduler_stops_at_the_first_job_that_does_not_fit() -> None:
    # At 700 s job 2 starts by the event; job 4 would, too, but stands behind job 3, and waits for the cycle of 800 s.
    workload = made((0, 10, 700, 700), (1, 5, 700, 700), (2, 6, 700, 700), (3, 5, 600, 600))
    assert starts(workload, "slurm-backfill:interval=400,resolution=1") == {1: 0, 2: 700, 3: 1400, 4: 800}


def test_reservations_are_rounded_to_the_resolution() -> None:
    # Job 2 can start at 630 s; with a resolution of 60 s its reservation begins at 600 s, and job 3, which may end
    # at 620 s, waits for it.
    workload = made((0, 8, 630, 630), (1, 10, 600, 600), (2, 2, 610, 1))
    assert starts(workload, "slurm-backfill:resolution=1,interval=10") == {1: 0, 2: 630, 3: 10}
    assert starts(workload, "slurm-backfill:resolution=60,interval=10") == {1: 0, 2: 630, 3: 1230}


def test_a_job_beyond_the_window_or_the_depth_holds_back_nobody() -> None:
    # Within a window of 1,000 s job 2, which has to wait for 5,000 s, has no reservation: job 3 starts and delays it.
    workload = made((0, 8, 5000, 5000), (1, 10, 600, 600), (2, 2, 9000, 9000))
    assert starts(workload) == {1: 0, 2: 5000, 3: 5600}
    assert starts(workload, "slurm-backfill:window=1000") == {1: 0, 2: 9030, 3: 30}
    # A depth of one looks at the head alone.
    short = made((0, 8, 600, 600), (1, 10, 600, 600), (2, 2, 100, 100))
    assert starts(short) == {1: 0, 2: 600, 3: 30}
    assert starts(short, "slurm-backfill:depth=1") == {1: 0, 2: 600, 3: 1200}


def test_nodes_stay_busy_for_a_while_after_an_end() -> None:
    # Job 2 waits for the nodes of job 1, which are idle 7 s after its end, and job 3 for the end of job 2 itself.
    workload = made((0, 10, 600, 600), (1, 10, 600, 300), (2, 10, 600, 60))
    assert starts(workload, "slurm-backfill:completing=7") == {1: 0, 2: 607, 3: 914}
    told = simulate(workload, "slurm-backfill:completing=7")
    assert told.end.tolist() == [600, 907, 974]
    # What is promised counts it, so that nobody is late: by limits alone, jobs 2 and 3 would start at 600 and 1,207 s.
    assert {607, 1214} <= set(told.decisions["reserved_start"].tolist())
    assert check_schedule(workload, told) == []
    # With a fraction, half of the ends take a second longer.
    chain = made(*((i, 10, 600, 100) for i in range(40)))
    told = simulate(chain, "slurm-backfill:completing=7.5")
    assert np.bincount(np.diff(told.start)).nonzero()[0].tolist() == [107, 108]
    assert told.start[-1] == 39 * 107 + 19
    assert (told.runtime == 100).all()
    with pytest.raises(SpecError, match="completing must be from 0 to"):
        simulate(workload, "slurm-backfill:completing=-1")
    with pytest.raises(SpecError, match="completing does not go with --outages"):
        simulate(workload, "slurm-backfill:completing=7", outages=Outages())


def test_the_queue_has_the_order_of_a_rule() -> None:
    workload = made((0, 10, 600, 600), (1, 10, 600, 600), (2, 10, 300, 300))
    assert starts(workload, "slurm-backfill:order=sjf") == {1: 0, 2: 900, 3: 600}
    # A rule whose scores change with time.
    assert starts(workload, "slurm-backfill:order=wfp3") == starts(workload, "wfp3-easy")


def test_a_window_by_itself_is_taken_as_by_a_cycle() -> None:
    workload = made((0, 8, 600, 600), (1, 5, 600, 600), (5, 2, 300, 300))
    schedule = simulate(workload, "fcfs")
    window = next(each for each in snapshots(schedule, 10, "fcfs", 2, workload) if each.now >= 5)
    decision = SlurmBackfill().decide(window)
    assert decision.start == ()
    assert decision.backfill == (3,)
    assert [(each.job, each.start) for each in decision.reserve] == [(2, 600)]


@pytest.mark.parametrize("wrong", ["depth=0", "queue=0", "interval=0", "resolution=-1", "window=0", "order=none"])
def test_wrong_settings_are_refused(wrong: str) -> None:
    with pytest.raises(SpecError):
        make_policy(f"slurm-backfill:{wrong}")


class Afresh:
    """Conservative backfilling that makes all reservations anew in every pass."""

    order = "fcfs"

    def decide(self, window: Window) -> Decision:
        return make_policy("fcfs-conservative").decide(window)


@pytest.mark.reference
@pytest.mark.skipif(not THETA.exists(), reason="needs ../shared")
def test_cycles_of_all_jobs_at_every_second_are_conservative_backfilling_without_promises() -> None:
    workload = read_swf(THETA).take(slice(0, 800))
    often = simulate(workload, "slurm-backfill:interval=1,resolution=1,depth=1000000,window=1000000000")
    assert np.array_equal(often.start, simulate(workload, Afresh()).start)
    assert check_schedule(workload, simulate(workload, "slurm-backfill")) == []


def test_limits_of_a_user_hold_back_nobody_else() -> None:
    # Jobs of (submission, nodes, user), each of 100 s, on 10 nodes; the limits are of user 1.
    table = ((0, 2, 1), (1, 2, 1), (2, 2, 2), (3, 6, 1), (4, 1, -1), (5, 1, -1))
    listed = [TracedJob(Job(i, s, n, 100, user=u), 100) for i, (s, n, u) in enumerate(table, 1)]
    workload = Workload.of(listed, Cluster(10))
    assert list(starts(workload).values()) == [0, 1, 2, 100, 101, 101]
    one = "slurm-backfill:user_jobs=1"
    assert list(starts(workload, one).values()) == [0, 100, 2, 200, 4, 5]
    # A job of more nodes than are allowed runs when no other one of its user does.
    assert list(starts(workload, "slurm-backfill:user_nodes=4").values()) == [0, 1, 2, 101, 4, 5]
    assert list(starts(workload, "slurm-backfill:user_nodes=3").values()) == [0, 100, 2, 200, 4, 5]
    window = next(each for each in snapshots(simulate(workload, one), 10, "fcfs", 2, workload) if each.now == 2)
    assert SlurmBackfill(user_jobs=1).decide(window).start == (3,)
    with pytest.raises(SpecError, match="user_jobs must be from 1"):
        SlurmBackfill(user_jobs=0)
