"""Schedules on disk: what is written is read back, in little memory, and damage is named."""

from __future__ import annotations

import json
import resource
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.simulation.output.test_metrics import by_hand
from tests.simulation.passes.test_conservative_backfill import random_workload
from transom.errors import DocumentError, ModelError
from transom.models import Cluster, Job, JobTable
from transom.simulation import simulate
from transom.simulation.core import promise_log
from transom.simulation.core.node_runs import NodeRuns
from transom.simulation.core.promise_log import PromiseLog, promises_in_force
from transom.simulation.core.schedule import Schedule
from transom.simulation.nodes.lowest_idle import assign_nodes
from transom.simulation.output import recording
from transom.simulation.output.recording import (
    holds_promises,
    read_details,
    read_node_runs,
    read_promises,
    read_schedule,
    write_schedule,
)

pytestmark = pytest.mark.fast

RUNS = NodeRuns(np.array([0, 1, 2, 4, 5]), np.array([0, 0, 1, 3, 2]), np.array([1, 3, 1, 3, 2]))


def recorded(folder: Path, schedule: Schedule | None = None) -> Schedule:
    schedule = schedule or replace(
        by_hand(),
        decisions={
            "time": np.array([0, 10, 20]),
            "gap": np.array([0.5, np.inf, 0.0]),
            "solver": np.array(["a", "dp", ""]),
        },
    )
    write_schedule(schedule, folder, RUNS, {"seed": 3})
    return schedule


def test_schedules_come_back(tmp_path: Path) -> None:
    schedule = recorded(tmp_path / "new" / "fcfs-easy")
    folder = tmp_path / "new" / "fcfs-easy"
    assert sorted(path.name for path in folder.iterdir()) == ["decisions.parquet", "jobs.parquet"]
    back = read_schedule(folder)
    assert back == schedule
    assert back.digest() == schedule.digest()
    assert read_node_runs(folder) == RUNS


def test_columns_of_the_jobs(tmp_path: Path) -> None:
    recorded(tmp_path)
    table = pl.read_parquet(tmp_path / "jobs.parquet")
    assert table.columns == [
        "job_id", "submit", "start", "end", "nodes", "node_ids", "walltime", "mode", "user", "priority", "order",
    ]  # fmt: skip
    assert table["node_ids"].to_list() == [[0, 1], [0, 1, 2, 3], [1, 3], [2]]
    assert table["node_ids"].dtype == pl.List(pl.Int32)
    assert table["mode"].to_list() == ["ready", "reserved", "backfilled", "ready"]
    assert table["walltime"].to_list() == [100, 200, 80, 10]
    details = read_details(tmp_path)
    assert details["format"] == "transom/schedule/1"
    assert (details["policy"], details["workload"], details["rules"]) == ("fcfs-easy", "by hand", "textbook")
    assert details["details"] == {"seed": 3, "epoch": None}
    assert "transom" in details["versions"]


def test_resources_and_dependencies_come_back(tmp_path: Path) -> None:
    jobs = JobTable.of([Job(4, 0, 1, 5, (7, 0)), Job(5, 0, 1, 5, (0, 1), depends_on=(4,)), Job(6, 0, 1, 5, (0, 1))])
    cluster = Cluster(3, ("burst buffer", "gpu"), (10, 1))
    schedule = Schedule("p", "w", cluster, jobs, [0, 5, 10], [5, 10, 15], [0, 0, 0], [0, 1, 2])
    write_schedule(schedule, tmp_path, assign_nodes(schedule))
    assert read_schedule(tmp_path) == schedule
    assert "demand_burst buffer" in pl.read_parquet_schema(tmp_path / "jobs.parquet")


def test_a_schedule_without_jobs_comes_back(tmp_path: Path) -> None:
    empty = Schedule("p", "w", Cluster(4), JobTable(np.empty((0, 6))), [], [], [], [])
    write_schedule(empty, tmp_path, NodeRuns(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)))
    assert read_schedule(tmp_path) == empty
    assert read_node_runs(tmp_path).first.size == 0


def test_many_pieces_and_row_groups_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_PIECE", 100)
    monkeypatch.setattr(recording, "_GROUP", 1000)
    rng = np.random.default_rng(1)
    count = 2000
    nodes = rng.integers(1, 60, count)
    nodes[17] = 512  # more than a piece
    submit = np.sort(rng.integers(0, 10**6, count))
    unknown = np.full(count, -1)
    jobs = JobTable(np.column_stack((np.arange(1, count + 1), submit, nodes, unknown + 2, unknown, unknown)))
    start = np.arange(count) * 10 + submit
    schedule = Schedule("p", "w", Cluster(512), jobs, start, start + 5, np.arange(count) % 3, np.arange(count))
    runs = assign_nodes(schedule)
    write_schedule(schedule, tmp_path, runs)
    assert read_schedule(tmp_path) == schedule
    assert read_node_runs(tmp_path) == runs
    lists = pl.read_parquet(tmp_path / "jobs.parquet")["node_ids"].to_list()
    expected = [
        [n for k in range(a, b) for n in range(runs.first[k], runs.last[k] + 1)]
        for a, b in zip(runs.offsets[:-1], runs.offsets[1:], strict=True)
    ]
    assert lists == expected


def test_runs_of_another_schedule_are_refused(tmp_path: Path) -> None:
    other = NodeRuns(RUNS.offsets, RUNS.first, RUNS.last + 1)
    with pytest.raises(ModelError, match="job 1: asks for 2 nodes, has other runs"):
        write_schedule(by_hand(), tmp_path, other)
    assert list(tmp_path.iterdir()) == []


def test_columns_that_parquet_cannot_hold_are_refused(tmp_path: Path) -> None:
    for column in (np.array([object()]), np.zeros((1, 2))):
        with pytest.raises(DocumentError, match="column 'x' must hold numbers"):
            write_schedule(replace(by_hand(), decisions={"x": column}), tmp_path, RUNS)


def test_an_interrupt_leaves_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object) -> pl.DataFrame:
        raise KeyboardInterrupt

    schedule = recorded(tmp_path)
    monkeypatch.setattr(Schedule, "to_frame", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_schedule(schedule, tmp_path, RUNS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["decisions.parquet", "jobs.parquet"]
    assert read_schedule(tmp_path) == schedule


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises((DocumentError, OSError)) as caught:
            recorded(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    named = getattr(caught.value, "filename", None) or str(caught.value)
    assert str(tmp_path / "decisions.parquet") in named
    assert list(tmp_path.iterdir()) == []


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"jobs.parquet: no such file"):
        read_schedule(tmp_path / "nowhere")
    recorded(tmp_path)
    (tmp_path / "decisions.parquet").unlink()
    with pytest.raises(DocumentError, match=r"decisions.parquet: no such file"):
        read_schedule(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PAR1", bytes(range(256)) * 40, b"job_id,submit\n1,2\n"])
def test_files_that_are_not_parquet_are_named(tmp_path: Path, content: bytes) -> None:
    recorded(tmp_path)
    (tmp_path / "jobs.parquet").write_bytes(content)
    for read in (read_schedule, read_node_runs, read_details):
        with pytest.raises(DocumentError, match=r"jobs.parquet: not a Parquet file, or damaged") as caught:
            read(tmp_path)
        assert "\n" not in str(caught.value)


def test_truncated_files_are_named(tmp_path: Path) -> None:
    recorded(tmp_path)
    path = tmp_path / "jobs.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DocumentError, match=r"jobs.parquet: not a Parquet file, or damaged"):
        read_schedule(tmp_path)


def rewritten(folder: Path, table: pl.DataFrame, **changes: object) -> None:
    path = folder / "jobs.parquet"
    card = {**json.loads(pl.read_parquet_metadata(path)["transom"]), **changes}
    table.write_parquet(path, metadata={"transom": json.dumps(card)})


def test_altered_files_are_named(tmp_path: Path) -> None:
    recorded(tmp_path)
    path = tmp_path / "jobs.parquet"
    table = pl.read_parquet(path)
    for change, condition in [
        (table.with_columns(pl.col("start") + 1), "do not fit the digest"),
        (table.head(3), "do not fit the digest"),
        (table.drop("order"), "'order' is missing"),
        (table.drop("job_id"), "'job_id' is missing"),
        (table.with_columns(mode=pl.lit("soon")), "mode 'soon' is not known; known: ready, reserved, backfilled"),
        (table.with_columns(start=pl.lit(None, pl.Int64)), "4 values of column 'start' are missing"),
        (table.with_columns(nodes=pl.lit(-1)), "job 1: nodes must be > 0, got -1"),
        (table.with_columns(start=pl.lit("x")), r"jobs.parquet: schedule: start: expected integers"),
    ]:
        rewritten(tmp_path, change)
        with pytest.raises(DocumentError, match=condition) as caught:
            read_schedule(tmp_path)
        assert str(caught.value).startswith(str(path))


def test_other_formats_and_replays_are_named(tmp_path: Path) -> None:
    recorded(tmp_path)
    table = pl.read_parquet(tmp_path / "jobs.parquet")
    rewritten(tmp_path, table, digest="0" * 32)
    with pytest.raises(DocumentError, match="are of different replays"):
        read_schedule(tmp_path)
    rewritten(tmp_path, table, format="transom/schedule/2")
    with pytest.raises(DocumentError, match="format 'transom/schedule/2' is not known; known: transom/schedule/1"):
        read_schedule(tmp_path)
    table.write_parquet(tmp_path / "jobs.parquet")
    with pytest.raises(DocumentError, match="was not written by Transom"):
        read_schedule(tmp_path)


def test_node_ids_that_do_not_fit_are_named(tmp_path: Path) -> None:
    recorded(tmp_path)
    table = pl.read_parquet(tmp_path / "jobs.parquet")
    for lists in ([[1, 0], [0, 1, 2, 3], [1, 3], [2]], [[0], [0, 1, 2, 3], [1, 3], [2]]):
        rewritten(tmp_path, table.with_columns(node_ids=pl.Series(lists, dtype=pl.List(pl.Int32))))
        with pytest.raises(DocumentError, match="node_ids of rows 1 to 4: not ascending or not as many as nodes"):
            read_node_runs(tmp_path)
    rewritten(tmp_path, table.drop("node_ids"))
    with pytest.raises(DocumentError, match=r"node_ids.* is missing"):
        read_node_runs(tmp_path)


def with_promises(folder: Path) -> tuple[Schedule, PromiseLog]:
    workload = random_workload(np.random.default_rng(4), 60)
    log = PromiseLog()
    schedule = simulate(workload, "sjf-conservative", promises=log)
    write_schedule(schedule, folder, assign_nodes(schedule), {}, log)
    return schedule, log


def test_promises_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for piece in (1 << 20, 7):  # at once, and in pieces
        monkeypatch.setattr(promise_log, "PIECE", piece)
        monkeypatch.setattr(recording, "PIECE", piece)
        schedule, log = with_promises(tmp_path)
        assert read_schedule(tmp_path) == schedule
        assert holds_promises(tmp_path)
        for said, read in zip(log.pieces(), read_promises(tmp_path), strict=True):
            assert said.first == read.first
            for a, b in zip(said[1:], read[1:], strict=True):
                assert np.array_equal(a, b)
        last = len(schedule.decisions["time"]) // 2
        assert promises_in_force(read_promises(tmp_path), last) == promises_in_force(log.pieces(), last)


def test_promises_are_lists_of_the_decisions(tmp_path: Path) -> None:
    schedule, log = with_promises(tmp_path)
    table = pl.read_parquet(tmp_path / "decisions.parquet")
    assert table.columns[-2:] == ["promised_jobs", "promised_starts"]
    assert table["promised_jobs"].list.len().to_list() == log.per_pass.tolist()
    assert table["promised_starts"].dtype == pl.List(pl.Int64)
    assert table["time"].to_list() == schedule.decisions["time"].tolist()
    # What stands after the last pass, without this package.
    said = table.select("time", "promised_jobs", "promised_starts").explode("promised_jobs", "promised_starts")
    last = said.drop_nulls().group_by("promised_jobs").agg(pl.col("promised_starts").last())
    assert set(last["promised_starts"]) == {-1}


def test_recordings_of_one_promise_a_pass_are_read_and_their_promises_refused(tmp_path: Path) -> None:
    schedule = recorded(tmp_path)
    assert read_schedule(tmp_path) == schedule
    assert not holds_promises(tmp_path)
    with pytest.raises(DocumentError, match=r"decisions.parquet: holds one promise a pass, not all of them"):
        next(read_promises(tmp_path))


def test_promises_without_starts_are_named(tmp_path: Path) -> None:
    with_promises(tmp_path)
    path = tmp_path / "decisions.parquet"
    table, card = pl.read_parquet(path), {"transom": pl.read_parquet_metadata(path)["transom"]}
    table.with_columns(promised_starts=pl.col("promised_starts").list.slice(1)).write_parquet(path, metadata=card)
    with pytest.raises(DocumentError, match="not as many promised_starts as promised_jobs"):
        list(read_promises(tmp_path))
    table.drop("promised_starts").write_parquet(path, metadata=card)
    with pytest.raises(DocumentError, match=r"promised_starts.* is missing"):
        list(read_promises(tmp_path))
    table.with_columns(promised_jobs=pl.lit(3)).write_parquet(path, metadata=card)
    with pytest.raises(DocumentError, match=r"decisions.parquet: not a Parquet file, or damaged"):
        list(read_promises(tmp_path))
