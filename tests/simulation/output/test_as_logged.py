"""What a log states beside what a replay computes: figures of the same jobs, and how far means of waits are apart."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from transom.models import Cluster, Job
from transom.simulation import simulate
from transom.simulation.nodes.lowest_idle import assign_nodes
from transom.simulation.output.as_logged import as_logged, replay_error
from transom.simulation.output.job_groups import groupings
from transom.simulation.output.metrics import Trim, summary
from transom.simulation.output.recording import read_schedule, write_schedule
from transom.traces import TracedJob, Workload
from transom.traces.origin import Origin
from transom.traces.outages import parse_outages

pytestmark = pytest.mark.fast


def workload(started: list[int]) -> Workload:
    """Jobs of the whole machine, submitted each 10 s, that run for 100 s."""
    made = Workload.of([TracedJob(Job(i, 10 * i, 4, 100), 100) for i in range(1, len(started) + 1)], Cluster(4), "made")
    origin = Origin(started=np.array(started), partition=np.arange(len(started)) % 2, names={0: "all"})
    return Workload(made.name, made.cluster, made.jobs, made.runtime, origin=origin)


def test_figures_by_the_log_are_those_of_its_starts() -> None:
    replayed = simulate(workload([10, 120, 230]), "fcfs")
    like = summary(replayed)
    logged = as_logged(replayed)
    assert logged is not None
    found = logged.figures(like)
    assert list(found) == list(like)
    assert [found[name] for name in ("jobs", "mean_wait", "max_wait", "makespan")] == [3, 100, 200, 320]
    assert found["utilisation"] == pytest.approx(300 / 320)
    assert all(math.isnan(found[name]) for name in found if name.endswith(("_ready", "_reserved", "_backfilled")))
    exact = as_logged(simulate(workload(replayed.start.tolist()), "fcfs"))
    assert exact is not None
    told = exact.figures(like)
    assert {name: told[name] for name in told if not math.isnan(told[name])} == {
        name: like[name] for name in told if not math.isnan(told[name])
    }


def test_only_jobs_whose_start_is_known_count() -> None:
    replayed = simulate(workload([10, -1, 230]), "fcfs")
    logged = as_logged(replayed, Trim(head_seconds=1))
    assert logged is not None
    found = logged.figures(summary(replayed))
    assert [found["jobs"], found["mean_wait"]] == [1, 200]
    assert math.isnan(found["utilisation"])
    assert math.isnan(found["makespan"])
    assert as_logged(simulate(workload([-1, -1]), "fcfs")) is None


def test_errors_are_of_the_same_jobs_and_by_partition() -> None:
    made = workload([10, 120, 230])
    replayed = simulate(made, "fcfs")  # which starts them at 10, 110 and 210 s
    error = replay_error("fcfs", replayed, groupings(made.jobs, made.runtime, made.cluster, made.origin))
    assert error is not None
    assert error.all_jobs == (3, 100, 90, 10)
    assert error.all_jobs.error == pytest.approx(0.1)
    assert error.partitions == {"all": (2, 100, 90, 10), "partition 1": (1, 100, 90, 10)}
    assert error.document()["partitions"]["all"]["error"] == pytest.approx(0.1)
    assert replay_error("fcfs", replayed, {}, Trim(head_seconds=20)) == ("fcfs", (1, 200, 180, 20), {})
    assert replay_error("fcfs", replace(replayed, logged=None), {}) is None


def test_jobs_that_the_replay_lost_ran_to_their_end_by_the_log(tmp_path: Path) -> None:
    path = tmp_path / "outages.csv"
    path.write_text("kind,begin,end,nodes\nfailure,50,60,1\n")
    replayed = simulate(workload([10, 120, 230]), "fcfs", outages=parse_outages([str(path)], 4, "lose"))
    logged = as_logged(replayed)
    assert logged is not None
    found = logged.figures(summary(replayed))
    assert found["mean_wait"] == 100
    unknown = ("utilisation", "makespan", "failures", "lost_jobs", "mean_slowdown", "mean_response")
    assert all(math.isnan(found[name]) for name in unknown)


def test_utilisation_by_the_log_is_of_the_nodes_in_service(tmp_path: Path) -> None:
    path = tmp_path / "outages.csv"
    path.write_text("kind,begin,end,nodes\nmaintenance,150,250,4\nfailure,50,60,1\n")
    replayed = simulate(workload([10, 300, 400]), "fcfs", outages=parse_outages([str(path)], 4, "requeue"))
    logged = as_logged(replayed)
    assert logged is not None
    found = logged.figures(summary(replayed))
    assert found["makespan"] == 490
    assert found["utilisation"] == pytest.approx(4 * 300 / (4 * 390 - 10)), "the attempt that failed is none by the log"
    assert math.isnan(found["requeued"])


def test_a_recording_keeps_logged_starts(tmp_path: Path) -> None:
    replayed = simulate(workload([10, -1, 230]), "fcfs")
    write_schedule(replayed, tmp_path, assign_nodes(replayed))
    kept = read_schedule(tmp_path)
    assert kept.logged is not None
    assert kept.logged.tolist() == [10, -1, 230]
    assert kept == replayed
