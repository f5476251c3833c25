"""When a log started nothing although jobs waited that fitted."""

from __future__ import annotations

from pathlib import Path

import pytest

from transom.traces import ReadingRules, Workload, read_swf
from transom.traces.standstills import Standstill, of_partitions, standstills

HOUR = 3600


def logged(path: Path, *jobs: tuple[int, int, int, int, int]) -> Workload:
    """A log on 10 nodes of jobs (submission, start, runtime, nodes, partition)."""
    line = "{} {} {} {} {} -1 -1 {} {} -1 1 1 1 1 1 {} -1 -1\n"
    rows = [line.format(i, s, b - s if b >= 0 else -1, r, n, n, r, p) for i, (s, b, r, n, p) in enumerate(jobs, 1)]
    path.write_text("; MaxProcs: 10\n; Partition: 1 debug\n; Partition: 2 batch\n" + "".join(rows))
    return read_swf(path)


def days(stop: int, wait: int, *, idle: int = 10) -> list[tuple[int, int, int, int, int]]:
    """Jobs that start every ten minutes after a minute, nothing from ``stop`` for ``wait`` seconds, then all at once;
    a job holds the nodes that are not idle throughout."""
    times = range(0, 40 * HOUR, 600)
    running = [(0, 60, 60 * HOUR, 10 - idle, 2)] if idle < 10 else []
    return running + [(t, max(t + 60, stop + wait if t + 60 > stop else 0), 300, 1, 1) for t in times]


def test_a_spell_without_starts_or_ends_while_jobs_waited_is_found(tmp_path: Path) -> None:
    workload = logged(tmp_path / "log.swf", *days(20 * HOUR, 6 * HOUR))
    # The last job before it ends at 20 h - 240 s; the next one is submitted at 20 h.
    assert standstills(workload) == [Standstill(20 * HOUR, 26 * HOUR, 10, 36)]


@pytest.mark.parametrize(
    ("jobs", "why"),
    [
        (days(20 * HOUR, 3 * HOUR), "too short"),
        (days(20 * HOUR, 6 * HOUR, idle=8), "too many nodes run"),
        ([job for job in days(20 * HOUR, 6 * HOUR) if not 20 * HOUR <= job[0] < 25 * HOUR], "nobody waits for long"),
        ([(t, s, r, 10, p) if s == 26 * HOUR else (t, s, r, n, p)
          for t, s, r, n, p in days(20 * HOUR, 6 * HOUR, idle=9)], "nothing fits"),
        ([(0, 60, HOUR, 1, 1), (0, 9 * HOUR, 60, 1, 1), (0, 9 * HOUR, 60, 1, 1)], "few jobs wait"),
        ([(s, -1, r, n, p) for s, _, r, n, p in days(20 * HOUR, 6 * HOUR)], "no starts"),
    ],
)  # fmt: skip
def test_other_spells_are_none(tmp_path: Path, jobs: list[tuple[int, int, int, int, int]], why: str) -> None:
    assert standstills(logged(tmp_path / "log.swf", *jobs)) == [], why


def test_jobs_that_wait_for_a_partition_that_is_full_fit_nowhere_else(tmp_path: Path) -> None:
    # One node of debug is busy, which is all that debug has; merged, jobs of debug fit on those of batch.
    jobs = [(0, 60, 60 * HOUR, 1, 1), *days(20 * HOUR, 6 * HOUR)]
    merged = logged(tmp_path / "log.swf", *jobs)
    assert len(standstills(merged)) == 1
    assert standstills(read_swf(tmp_path / "log.swf", ReadingRules(partition_nodes="debug=1,batch=9"))) == []


def test_a_partition_may_stand_still_by_itself(tmp_path: Path) -> None:
    others = [(t, t, 500, 3, 2) for t in range(0, 40 * HOUR, 700)]
    logged(tmp_path / "log.swf", *sorted([*days(20 * HOUR, 6 * HOUR), *others]))
    apart = read_swf(tmp_path / "log.swf", ReadingRules(partition_nodes="debug=4,batch=6"))
    assert standstills(apart) == []
    assert of_partitions(apart) == {"debug": [Standstill(20 * HOUR, 26 * HOUR, 4, 36)]}
    alone = read_swf(tmp_path / "log.swf", ReadingRules(partitions=("debug",)), nodes=4)
    assert standstills(alone) == of_partitions(apart)["debug"]


def test_of_a_part_of_a_log_its_beginning_and_end_say_nothing(tmp_path: Path) -> None:
    workload = logged(tmp_path / "log.swf", *days(20 * HOUR, 6 * HOUR))
    assert len(standstills(workload.take(slice(60, None)))) == 1
    assert standstills(workload.take(slice(121, None))) == []  # who held nodes then is not there
    assert standstills(workload.take(slice(0, 130))) == []  # who came later is not there


@pytest.mark.reference
def test_archived_logs_stood_still_now_and_then(shared: Path) -> None:
    workload = read_swf(shared / "traces" / "KTH-SP2-1996-2.1-cln.swf.gz")
    found = standstills(workload)
    assert 0 < len(found) < 10
    assert workload.origin.started is not None
    for each in found:
        assert each.end - each.begin >= 4 * HOUR
        assert not ((workload.origin.started > each.begin) & (workload.origin.started < each.end)).any()
