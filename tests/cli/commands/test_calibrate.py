"""``transom calibrate``: a replay beside the log of a trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran
from transom.cli.commands.calibrate import sentence
from transom.simulation.output.calibration import Calibration

HEAD = "; MaxProcs: 10\n"
LINE = "{0} {1} {2} {3} {4} -1 -1 {4} {5} -1 1 -1 -1 -1 -1 -1 -1 -1\n"


def trace(folder: Path, *waits: int) -> Path:
    jobs = [(1, 0, 600, 8, 600), (2, 1, 600, 5, 600), (3, 5, 300, 2, 300)]
    lines = [LINE.format(i, s, wait, r, n, w) for (i, s, r, n, w), wait in zip(jobs, waits, strict=True)]
    (folder / "log.swf").write_text(HEAD + "".join(lines))
    return folder / "log.swf"


def test_the_policy_that_the_log_follows_has_no_error(transom: Callable[..., Ran], tmp_path: Path) -> None:
    path = trace(tmp_path, 0, 599, 25)
    told = json.loads(transom("calibrate", path, "--policy", "slurm-backfill", "--policy", "fcfs-easy", "--json").out)
    exact, easy = (each["groups"][0] for each in told["policies"])
    assert (exact["jobs"], exact["error_mean"], exact["wait_ratio"], exact["order_agreement"]) == (3, 0.0, 1.0, 1.0)
    assert easy["error_mean"] == pytest.approx(25 / 3)
    shown = transom("calibrate", path).out
    assert "slurm-backfill: half of the jobs start within 0 s of the log" in shown
    assert "the mean wait is that of the log: " in shown


def test_a_trace_without_waits_is_refused(transom: Callable[..., Ran], tmp_path: Path) -> None:
    done = transom("calibrate", trace(tmp_path, -1, -1, -1))
    assert done.status == 2
    assert done.err.splitlines()[-1].endswith("the trace does not say when jobs started, so nothing can be compared")


def test_nobody_waited() -> None:
    none = Calibration(2, 0.0, 0.0, 0.0, 1.0, float("nan"), 0.0, 5.0, (0.0,) * 3, (5.0,) * 3, 1.0, 5.0)
    assert sentence(none).endswith("Nobody waited by the log: the trace cannot tell policies apart.")


def test_limits_are_applied_and_named(transom: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "assoc.txt").write_text("Account|User|MaxJobs\n|7|1\n")
    path = trace(tmp_path, 0, 599, 1195)
    path.write_text(path.read_text().replace(" -1 1 -1 -1", " -1 1 7 -1"))
    policy = f"slurm-backfill:assoc={tmp_path / 'assoc.txt'}"
    told = transom("calibrate", path, "--policy", policy)
    assert told.status == 0
    assert "half of the jobs start within 0 s of the log, 90 % within 0 s" in told.out
    replayed = transom("simulate", path, "--policy", policy, "--out", tmp_path / "replay", "--no-figures")
    assert replayed.status == 0
    for each in (told, replayed):
        assert "slurm-backfill: limits hold back jobs in" in each.out + each.err
        assert "AssocMaxJobsLimit" in each.out + each.err
    again = transom("simulate", path, "--policy", policy, "--out", tmp_path / "replay", "--no-figures")
    assert "AssocMaxJobsLimit" in again.out + again.err
    for command in ("simulate", "calibrate"):
        (one,) = json.loads(transom(command, path, "--policy", policy, "--json").out)["policies"]
        assert one["limits"].keys() == {"AssocMaxJobsLimit"}
    (tmp_path / "assoc.txt").write_text("Account|User|MaxJobs\n|7|few\n")
    refused = transom("calibrate", path, "--policy", policy)
    assert refused.status == 2
    assert refused.err.splitlines()[-1].endswith("assoc.txt: line 2: maxjobs: 'few' is no number of jobs")


def test_reservations_keep_jobs_off_their_nodes(transom: Callable[..., Ran], tmp_path: Path) -> None:
    # All nodes are in maintenance: the first job would run into it, the third ends before.
    shown = "ReservationName=upgrade StartTime=500 EndTime=1000\n   NodeCnt=10 Flags=MAINT Users=root\n"
    (tmp_path / "resv.txt").write_text(shown)
    path, policy = trace(tmp_path, 1020, 1619, 25), f"slurm-backfill:reservations={tmp_path / 'resv.txt'}"
    told = json.loads(transom("calibrate", path, "--policy", policy, "--json").out)
    assert told["policies"][0]["groups"][0]["error_mean"] == 0.0
    replayed = json.loads(transom("simulate", path, "--policy", policy, "--no-figures", "--json").out)
    assert replayed["policies"][0]["metrics"]["max_wait"] == 1619
    (tmp_path / "resv.txt").write_text(shown.replace("MAINT", "MAINT,WEEKLY"))
    for command in ("calibrate", "simulate"):
        refused = transom(command, path, "--policy", policy)
        assert refused.status == 2
        told_by = refused.err.splitlines()[-1]
        assert told_by.endswith(
            "resv.txt: line 1: reservation 'upgrade': WEEKLY is not modelled: it comes again; "
            "state each time as one of its own"
        )
