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
    assert [each["utilisation"] for each in found["logged"]["by"]["week"].values()] == [None]
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


@pytest.fixture
def imported(tmp_path: Path, transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A trace of accounting of Slurm: nine jobs of one machine."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rows = ["JobID|Submit|Start|End|State|NNodes|Timelimit|User|Partition|Elapsed"]
    for k in range(9):
        times = [1_700_000_000 + each for each in (60 * k, 60 * k + 50 * k, 60 * k + 50 * k + 300)]
        rows.append(f"{k + 1}|{times[0]}|{times[1]}|{times[2]}|COMPLETED|{1 + k % 3}|00:10:00|u{k % 2}|batch|00:05:00")
    (tmp_path / "sacct.txt").write_text("\n".join([*rows, ""]))
    assert (
        transom("import", "slurm", tmp_path / "sacct.txt", "--nodes", "4", "-o", tmp_path / "site.parquet").status == 0
    )
    return tmp_path / "site.parquet"


def test_accounting_of_slurm_is_compared_with_slurms_backfill(transom: Callable[..., Ran], imported: Path) -> None:
    kept = imported.with_name("site.parquet.calibration.json")
    ran = transom("simulate", imported, "--policy", "fcfs", "--policy", "sjf-easy")
    assert "The replay of slurm-backfill misses the logged mean wait by " in ran.out
    assert kept.exists()
    (calibrated,) = transom("calibrate", imported, "--json").lines
    (of_all,) = calibrated["policies"][0]["groups"]
    (found,) = transom("simulate", imported, "--policy", "fcfs", "--json").lines
    today = found["answer"]["today"]
    assert [today[name] for name in ("jobs", "logged_wait", "replayed_wait")] == [
        of_all[name] for name in ("jobs", "logged_wait", "replayed_wait")
    ]
    assert [each["policy"] for each in found["policies"]] == ["fcfs"], "it is no policy of the comparison"
    before = kept.read_bytes()
    (again,) = transom("simulate", imported, "--policy", "slurm-backfill", "--json").lines
    assert again["answer"]["today"] == today
    assert kept.read_bytes() == before


def test_todays_policy_can_be_named(transom: Callable[..., Ran], logged: Path, imported: Path) -> None:
    for path, stated in ((logged, "fcfs-easy"), (imported, "now=fcfs-easy")):
        out = transom("simulate", path, "--policy", "sjf", "--today", stated).out
        name = "now" if "=" in stated else stated
        assert f"The replay of {name} misses the logged mean wait by " in out
    out = transom("simulate", logged, "--policy", "sjf", "--policy", "best=fcfs-easy", "--today", "fcfs-easy").out
    assert "The replay of best misses" in out, "it is replayed already"
    refused = transom("simulate", logged, "--policy", "sjf", "--today", "nonsense")
    assert refused.status == 2
    assert "nonsense" in refused.err


def test_a_trace_without_starts_has_no_today(transom: Callable[..., Ran], trace: Path) -> None:
    ran = transom("simulate", trace, "--policy", "sjf", "--today", "fcfs")
    assert ran.status == 2
    assert "--today fcfs: small does not say when jobs started" in ran.err


def test_a_long_trace_is_compared_only_if_asked(
    transom: Callable[..., Ran], imported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transom.cli.output.today.LONG", 5)
    ran = transom("simulate", imported, "--policy", "fcfs")
    assert "misses the logged" not in ran.out
    assert "as logged" in ran.out
    (line,) = (line for line in ran.err.splitlines() if "not compared with the log" in line)
    assert "a further replay of 9 jobs: --today slurm-backfill does so, and transom calibrate" in line
    assert "misses the logged" in transom("simulate", imported, "--policy", "fcfs", "--today", "slurm-backfill").out
    ran = transom("simulate", imported, "--policy", "fcfs")
    assert "misses the logged" in ran.out, "what is kept is used"
    assert "not compared" not in ran.err


def test_the_page_of_a_recording_states_the_same_error(
    transom: Callable[..., Ran], imported: Path, tmp_path: Path
) -> None:
    options = ("--policy", "fcfs", "--policy", "sjf-easy", "--out", tmp_path / "out", "--no-figures", "--json")
    (found,) = transom("simulate", imported, *options).lines
    (page,) = transom("report", tmp_path / "out", "-o", tmp_path / "page.html", "--json").lines
    assert page["answer"]["today"] == found["answer"]["today"]
    assert "The replay of slurm-backfill misses" in (tmp_path / "page.html").read_text()
