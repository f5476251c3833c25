"""The log beside the policies of ``transom simulate``: a row of its own, and the error of a replay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran


@pytest.fixture
def logged(tmp_path: Path) -> Path:
    """Four jobs of half the machine or all of it, in two partitions; field 3 states waits, but not that of the last."""
    rows = [(1, 0, 0, 100, 2, 1), (2, 10, 95, 100, 4, 2), (3, 20, 190, 100, 2, 1), (4, 30, -1, 50, 2, 2)]
    lines = [
        f"{i} {submit} {wait} {runtime} {nodes} -1 -1 {nodes} {runtime} -1 1 1 1 1 1 {part} -1 -1"
        for i, submit, wait, runtime, nodes, part in rows
    ]
    path = tmp_path / "logged.swf"
    path.write_text("\n".join(["; MaxProcs: 4", "; Partition: 1 small", "; Partition: 2 wide", *lines, ""]))
    return path


def test_the_log_has_a_row_in_every_table_and_a_key_in_json(transom: Callable[..., Ran], logged: Path) -> None:
    options = ("--policy", "fcfs", "--policy", "sjf-easy", "--by", "partition", "--by", "mode")
    shown = transom("simulate", logged, *options).out
    tables = [part.splitlines() for part in shown.split("\n\n")]
    firsts = [[line.split("  ")[0].strip() for line in lines] for lines in tables]
    assert "as logged" in next(each for each in firsts if "fcfs" in each)
    assert shown.count("as logged") == 3, "in the table, and for each partition; modes are not logged"
    row = next(line for line in shown.splitlines() if line.startswith(" as logged"))
    assert row.split()[-3:] == ["-", "-", "-"]
    (found,) = transom("simulate", logged, *options, "--json").lines
    assert [each["policy"] for each in found["policies"]] == ["fcfs", "sjf-easy"]
    metrics = found["logged"]["metrics"]
    assert list(metrics) == list(found["policies"][0]["metrics"])
    assert (metrics["jobs"], metrics["mean_wait"], metrics["max_wait"]) == (3, 95, 190)
    assert (metrics["utilisation"], metrics["job_share_ready"]) == (None, None)
    assert {name: each["mean_wait"] for name, each in found["logged"]["by"]["partition"].items()} == {
        "wide": 95, "small": 95,
    }  # fmt: skip
    assert "mode" not in found["logged"]["by"]
    today = found["answer"]["today"]
    assert (today["policy"], today["jobs"], today["logged_wait"]) == ("fcfs", 3, 95)
    assert today["replayed_wait"] == (0 + 90 + 180) / 3
    assert today["error"] == pytest.approx(5 / 95)
    assert today["partitions"]["wide"]["error"] == pytest.approx(5 / 95)
    assert "The replay of fcfs misses the logged mean wait by 5 % (95 s logged, 90 s replayed)" in shown


def test_a_trace_without_starts_has_no_such_row(transom: Callable[..., Ran], trace: Path) -> None:
    assert "as logged" not in transom("simulate", trace, "--policy", "fcfs").out
    (found,) = transom("simulate", trace, "--policy", "fcfs", "--json").lines
    assert "logged" not in found
    assert found["answer"]["today"] is None


def test_the_log_stands_beside_means_of_repetitions(transom: Callable[..., Ran], logged: Path) -> None:
    shown = transom("simulate", logged, "--policy", "fcfs", "--jitter", "5", "--repeats", "2").out
    assert "over 2 repetitions" in shown
    (row,) = (line for line in shown.splitlines() if line.startswith(" as logged"))
    assert "±" not in row
