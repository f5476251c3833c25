"""AccaSim's event rules: starts of the program itself, and what its reservation lets happen."""

from __future__ import annotations

import pytest

from tests.conform.test_judging import made
from transom.errors import SpecError
from transom.models import Cluster, Job
from transom.simulation import simulate
from transom.simulation.core.schedule import BACKFILLED, READY, RESERVED
from transom.simulation.output.verification import check_schedule
from transom.traces import TracedJob, Workload

# What AccaSim 1.1.3 made of these 40 jobs: EASYBackfilling(FirstFit()), one node of 32 cores.
STARTS = [
    30, 60, 2550, 360, 180, 210, 480, 510, 240, 546, 546, 546, 330, 4950, 390, 540, 1536, 630, 546, 540, 636, 5520, 900,
    5040, 750, 930, 5190, 930, 936, 870, 936, 1020, 1038, 1146, 1746, 1218, 1338, 5220, 1140, 1350,
]  # fmt: skip


def test_starts_are_those_of_the_program() -> None:
    workload = made(2, 40)
    schedule = simulate(workload, "fcfs-easy", rules="accasim")
    assert schedule.start.tolist() == STARTS
    assert check_schedule(workload, schedule) == []
    assert schedule.rules == "accasim"


def test_a_reserved_job_is_delayed_and_not_tried_before_its_time() -> None:
    # Job 2 is reserved for 20 s. Job 1 ends at 10 s, but job 2 is not tried then, and job 3 goes on until 52 s.
    jobs = [
        TracedJob(Job(1, 0, 3, 20), 10),
        TracedJob(Job(2, 1, 4, 10), 10),
        TracedJob(Job(3, 2, 1, 50), 50),
        TracedJob(Job(4, 10, 3, 5), 5),
    ]
    schedule = simulate(Workload.of(jobs, Cluster(4)), "fcfs-easy", rules="accasim")
    assert schedule.start.tolist() == [0, 52, 2, 10]
    assert schedule.mode.tolist() == [READY, RESERVED, BACKFILLED, BACKFILLED]
    assert set(schedule.decisions["reserved_start"].tolist()) == {-1, 20}


def test_without_backfilling_it_is_the_textbook() -> None:
    workload = made(3)
    theirs, ours = (simulate(workload, "sjf", rules=rules) for rules in ("accasim", "textbook"))
    assert theirs.start.tolist() == ours.start.tolist()


def test_conservative_backfilling_is_refused() -> None:
    with pytest.raises(SpecError, match="accasim rules take"):
        simulate(made(), "fcfs-conservative", rules="accasim")
