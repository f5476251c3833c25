"""Local times around a change of clocks, and elapsed times below zero."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from transom.traces.records.importing import Imported, ImportRules
from transom.traces.records.slurm import read_slurm

BERLIN = ZoneInfo("Europe/Berlin")
FOLD = 1_761_440_400  # the second 02:00 of the night in which Berlin's clocks go back, 2025-10-26
SETTLED = "a time that a change of clocks repeats: settled by the elapsed time and the other times"
UNSETTLED = "a time that a change of clocks repeats: not settled, the shortest wait counts, then the first reading"
SKIPPED = "a time that a change of clocks skips: is --timezone right?"
BELOW = "elapsed time below zero, taken as not known"


def local(seconds: int) -> str:
    """A time as clocks in Berlin show it."""
    return datetime.fromtimestamp(seconds, BERLIN).strftime("%Y-%m-%dT%H:%M:%S")


def imported(rows: Sequence[Sequence[object]], folder: Path, zone: str | None = "Europe/Berlin") -> Imported:
    """The trace of jobs: submission, start, end, elapsed time, state."""
    lines = [f"{number}|{'|'.join(map(str, row))}|1|10:00:00" for number, row in enumerate(rows, 1)]
    head = "JobID|Submit|Start|End|Elapsed|State|NNodes|Timelimit"
    (folder / "s.txt").write_text("\n".join([head, *lines, ""]))
    return read_slurm([str(folder / "s.txt")], ImportRules(timezone=zone))


@pytest.mark.parametrize(
    ("row", "start", "end"),
    [
        (("2025-10-26T01:00:00", "2025-10-26T02:50:00", "2025-10-26T02:10:00", "00:20:00"), -600, 600),
        (("2025-10-26T01:00:00", "2025-10-26T02:10:00", "2025-10-26T02:50:00", "00:40:00"), None, None),
        (("2025-10-26T01:00:00", "2025-10-26T02:10:00", "2025-10-26T02:50:00", "01:40:00"), -3000, 3000),
        (("2025-10-26T01:00:00", "2025-10-26T01:30:00", "2025-10-26T02:30:00", "02:00:00"), -5400, 1800),
        (("2025-10-26T02:40:00", "2025-10-26T02:20:00", "2025-10-26T03:20:00", "01:00:00"), 1200, 4800),
        # Without an elapsed time the order decides.
        (("2025-10-26T02:40:00", "2025-10-26T02:20:00", "2025-10-26T02:30:00", ""), 1200, 1800),
        # Another spelling of times, and one with an offset of its own.
        (("2025-10-26 01:00:00", "2025-10-26 02:50:00", "2025-10-26 02:10:00", "1200"), -600, 600),
        (("2025-10-26 01:00:00", "2025-10-26 02:50:00", "2025-10-26T02:10:00+01:00", "1200"), -600, 600),
    ],
)
def test_other_times_settle_a_repeated_one(
    row: Sequence[str], start: int | None, end: int | None, tmp_path: Path
) -> None:
    found = imported([(*row, "COMPLETED")], tmp_path)
    job = found.jobs.row(0, named=True)
    if start is None:  # both readings of start and end agree
        assert found.card.repairs == {UNSETTLED: 1}
        assert job["end"] - job["start"] == 2400
    else:
        assert found.card.repairs == {SETTLED: 1}
        assert (job["start"] - FOLD, job["end"] - FOLD) == (start, end)


def test_what_is_settled_is_right(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    times = FOLD - 5400 + np.cumsum(rng.integers(0, 3000, (400, 3)), axis=1)
    rows = [(*map(local, each), int(each[2] - each[1]), "COMPLETED") for each in times.tolist()]
    found = imported(rows, tmp_path)
    jobs = found.jobs.sort("id")
    right = (jobs.select("submit", "start", "end").to_numpy() == times).all(axis=1)
    assert (jobs["runtime"].to_numpy() == times[:, 2] - times[:, 1]).all()
    assert set(found.card.repairs) == {SETTLED, UNSETTLED}
    assert (~right).sum() <= found.card.repairs[UNSETTLED]


def test_a_guess_is_the_shortest_wait_and_counted(tmp_path: Path) -> None:
    rows = [
        ("2025-10-26T02:10:00", "2025-10-26T03:10:00", "2025-10-26T03:40:00", "00:30:00", "COMPLETED"),
        ("2025-10-26T02:10:00", "Unknown", "Unknown", "00:00:00", "PENDING"),
    ]
    found = imported(rows, tmp_path)
    assert found.card.repairs[UNSETTLED] == 2
    assert (found.jobs.sort("id")["submit"] - FOLD).to_list() == [600, -3000]


def test_a_job_without_a_start_or_end_is_no_exception(tmp_path: Path) -> None:
    rows = [
        ("2025-10-26T01:10:00", "2025-10-26T02:10:00", "Unknown", "00:30:00", "RUNNING"),
        ("2025-10-26T02:40:00", "None", "2025-10-26T02:20:00", "00:00:00", "CANCELLED"),
    ]
    found = imported(rows, tmp_path)
    assert found.card.repairs[UNSETTLED] == found.card.repairs[SETTLED] == 1
    assert (found.jobs.sort("id")["submit"] - FOLD).to_list() == [-6600, -1200]


def test_a_skipped_time_is_counted(tmp_path: Path) -> None:
    # Clocks go from 2:00 to 3:00 in the night of 2025-03-30.
    row = ("2025-03-30T01:50:00", "2025-03-30T02:10:00", "2025-03-30T03:40:00", "00:30:00", "COMPLETED")
    found = imported([row], tmp_path)
    job = found.jobs.row(0, named=True)
    assert found.card.repairs == {SKIPPED: 1}
    assert (job["start"] - job["submit"], job["end"] - job["start"]) == (1200, 1800)


def test_clocks_that_never_change_have_no_such_times(tmp_path: Path) -> None:
    row = ("2025-10-26T01:00:00", "2025-10-26T02:10:00", "2025-10-26T02:50:00", "00:40:00", "COMPLETED")
    assert imported([row], tmp_path, "Asia/Tokyo").card.repairs == {}


@pytest.mark.parametrize("elapsed", ["4294967236", "49710-06:27:16", "-00:01:00", "-1-00:00:00", "-60", "4294967295"])
def test_an_elapsed_time_below_zero_is_not_known(elapsed: str, tmp_path: Path) -> None:
    backwards = ("2026-03-02T08:00:00", "2026-03-02T08:15:00", "2026-03-02T08:14:00", elapsed, "COMPLETED")
    plain = ("2026-03-02T08:00:00", "2026-03-02T08:15:00", "2026-03-02T08:35:00", elapsed, "COMPLETED")
    found = imported([backwards, plain], tmp_path)
    assert found.jobs.sort("id")["runtime"].to_list() == [-1, 1200]
    assert found.card.repairs == {BELOW: 2, "end before the start: the runtime is not known": 1}
