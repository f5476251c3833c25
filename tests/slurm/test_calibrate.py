"""The replay of Slurm's backfill beside the record of a real Slurm."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from tests.slurm.cluster import EmulatedSlurm
from tests.slurm.playing import PLAYED, play, sixty_jobs, write_record
from transom.simulation import simulate
from transom.simulation.output.calibration import ALL, Calibration, calibration, start_after_end
from transom.traces import read_swf

RECORD = Path(__file__).parents[2] / "examples" / "slurm_60.swf"


def compared(path: Path, more: str = "") -> Calibration:
    workload = read_swf(path)
    return calibration(workload, simulate(workload, f"slurm-backfill:interval=1{more}"))[ALL]


def test_the_bundled_record_is_followed() -> None:
    one = compared(RECORD)
    assert one.jobs == 60
    assert one.error_median <= 5
    assert one.order_agreement >= 0.95


def test_a_few_jobs_start_in_the_order_of_the_replay(
    emulated_slurm: Callable[..., EmulatedSlurm], tmp_path: Path
) -> None:
    # The second job waits for the first; the third fits beside it, the fourth would delay the second. The first one
    # ends when the third has, and limits are minutes of our clock: a slow machine starts them in this order, too.
    slurm = emulated_slurm(nodes=4, leaf=0, speed=20)
    end = slurm.folder / "end"
    before = slurm.now()
    first = slurm.submit(f"until [ -e {end} ]; do sleep 0.05; done", "-N", "3", "-t", "600")
    slurm.wait(lambda: slurm.states()[first] == "RUNNING", "the first job runs")
    late = slurm.now() - before
    _, third, _ = (
        slurm.submit("sleep 2", "-N", nodes, "-t", limit) for nodes, limit in (("4", "60"), ("1", "30"), ("1", "6000"))
    )
    slurm.wait(lambda: slurm.states()[third] == "COMPLETED", "the third job has ended")
    # The replay starts the first job earlier, and so ends it earlier: after the third one was submitted, all the same.
    until = slurm.now() + late + 20
    slurm.wait(lambda: slurm.now() > until, "the first job may end")
    end.touch()
    slurm.wait(lambda: len(slurm.completed()) == 4, "all jobs have ended", PLAYED)
    write_record(slurm, tmp_path / "record.parquet")
    workload = read_swf(tmp_path / "record.parquet")
    started = workload.origin.started
    assert started is not None
    order = workload.jobs.id[np.argsort(started, kind="stable")].tolist()
    assert order == [1, 3, 2, 4]
    assert compared(tmp_path / "record.parquet").order_agreement == 1.0


@pytest.mark.long
def test_jobs_keep_off_reserved_nodes_as_in_the_replay(
    emulated_slurm: Callable[..., EmulatedSlurm], tmp_path: Path
) -> None:
    # Two of four nodes are reserved from the second to the fourth minute. The second job would run into that, the
    # third asks for it, the fourth fits beside it.
    slurm = emulated_slurm(nodes=4, leaf=0, speed=20)
    begin, end = (f"{datetime.fromtimestamp(slurm.now() + after, UTC):%Y-%m-%dT%H:%M:%S}" for after in (120, 240))
    slurm.run(
        "scontrol", "create", "reservation", "ReservationName=course", f"StartTime={begin}", f"EndTime={end}",
        "Nodes=n[00-01]", "Users=root",
    )  # fmt: skip
    (tmp_path / "resv.txt").write_text(slurm.run("scontrol", "show", "reservation"))
    for nodes, minutes, seconds, more in ((4, 1, 20, ""), (4, 4, 20, ""), (2, 1, 20, "course"), (2, 2, 20, "")):
        options = ("-N", str(nodes), "-t", str(minutes), *((f"--reservation={more}",) if more else ()))
        slurm.submit(f"sleep {seconds / slurm.speed}", *options)
    slurm.wait(lambda: len(slurm.completed()) == 4, "all jobs have ended", PLAYED)
    write_record(slurm, tmp_path / "record.parquet")
    workload = read_swf(tmp_path / "record.parquet")
    replayed = simulate(workload, f"slurm-backfill:interval=1,reservations={tmp_path / 'resv.txt'}")
    started = workload.origin.started
    assert started is not None
    for starts in (started, replayed.start):
        assert workload.jobs.id[np.argsort(starts, kind="stable")].tolist() == [1, 4, 3, 2]


@pytest.mark.long
@pytest.mark.parametrize("seed", [2, 3, 4, 5, 6])
def test_sixty_jobs_start_when_the_replay_says(
    emulated_slurm: Callable[..., EmulatedSlurm], tmp_path: Path, seed: int
) -> None:
    slurm = emulated_slurm(nodes=32, speed=20)
    play(slurm, sixty_jobs(seed))
    write_record(slurm, tmp_path / "record.parquet")
    after = start_after_end(read_swf(tmp_path / "record.parquet"))
    one = compared(tmp_path / "record.parquet", f",leaf=8,completing={after}")
    assert one.jobs == 60
    assert one.error_median <= 5
    assert one.order_agreement >= 0.95
