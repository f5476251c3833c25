"""Plans carried out: what is done is kept and not done again."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import msgspec
import polars as pl
import pytest

from tests.bench.faulty import faulty_solvers, knapsack  # noqa: F401  (a fixture)
from tests.bench.in_process import InProcess
from tests.bench.store.test_store import A_ROW
from transom.bench.plan.plan import InstanceSet, Plan
from transom.bench.plan.task import Row, Task
from transom.bench.run import running
from transom.bench.run.local_engine import LocalEngine
from transom.bench.run.running import Summary, run_plan
from transom.bench.store.store import read_plans, read_results
from transom.errors import SpecError, StoreError
from transom.io import write_documents
from transom.stop import Stop

pytestmark = pytest.mark.usefixtures("faulty_solvers")


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Twelve runs, of which three fail."""
    write_documents(tmp_path / "three.jsonl", (knapsack(6, seed) for seed in range(3)))
    solvers = ("steady", "raises=faulty", "odd=steady:iterations=3", "greedy")
    files = (str(tmp_path / "three.jsonl"),)
    return Plan(instances=(InstanceSet(files=files),), solvers=solvers, budgets=(Stop(iterations=40),))


def table(folder: Path) -> pl.DataFrame:
    return read_results(folder).sort("label", "name", "seed")


def test_what_is_done_is_not_done_again(tmp_path: Path, plan: Plan) -> None:
    store, first, second = tmp_path / "r", InProcess(), InProcess()
    summary = run_plan(plan, store, first)
    assert len(first.given) == summary.todo == summary.done == 12
    assert summary.outcomes == {"ok": 9, "error": 3}
    assert summary.failures == {("raises", "error", "RuntimeError: deliberate"): 3}
    found = table(store)
    assert sorted(found["key"]) == sorted(task.key() for task in first.given)
    assert found["attempt"].unique().to_list() == [1]
    assert read_plans(store) == [plan]

    again = run_plan(plan, store, second)
    assert (second.given, again.todo, again.done) == ([], 0, 0)
    assert again.tallies == summary.tallies  # told of earlier runs as well
    tally = again.tallies["steady", Stop(iterations=40), 1]
    assert (tally.runs, tally.failed, tally.solved, tally.proved) == (3, 0, 3, 0)
    assert again.tallies["raises", Stop(iterations=40), 1].failed == 3
    assert table(store).equals(found)

    more = InProcess()
    run_plan(msgspec.structs.replace(plan, seeds=(0, 1)), store, more)
    assert {task.seed for task in more.given} == {1}
    assert len(more.given) == 12
    assert len(read_plans(store)) == 2


def test_runs_that_stand_under_another_name_are_reported(tmp_path: Path, plan: Plan) -> None:
    assert run_plan(plan, tmp_path / "r", InProcess()).renamed == {}
    solvers = ("greedy", "calm=steady", "odd=steady:iterations=3")
    again = run_plan(msgspec.structs.replace(plan, solvers=solvers), tmp_path / "r", InProcess())
    assert (again.done, again.renamed) == (0, {("steady", "calm"): 3})
    forced = run_plan(msgspec.structs.replace(plan, solvers=solvers), tmp_path / "r", InProcess(), force=True)
    assert forced.renamed == {}
    assert "calm" in table(tmp_path / "r")["name"].to_list()


def test_force_and_only_failed(tmp_path: Path, plan: Plan) -> None:
    store = tmp_path / "r"
    part = msgspec.structs.replace(plan, solvers=("steady", "raises=faulty"))
    run_plan(part, store, InProcess())
    failed = InProcess()
    summary = run_plan(plan, store, failed, only="failed")
    assert {task.name for task in failed.given} == {"raises"}  # neither what is well nor what was never done
    assert len(failed.given) == summary.todo == 3
    found = table(store)
    assert found.filter(pl.col("name") == "raises")["attempt"].to_list() == [2, 2, 2]
    assert found.filter(pl.col("name") == "steady")["attempt"].to_list() == [1, 1, 1]
    everything = InProcess()
    assert run_plan(plan, store, everything, force=True).todo == 12
    assert len(everything.given) == 12
    assert dict(table(store).group_by("name").agg(pl.col("attempt").first()).iter_rows()) == {
        "raises": 3,
        "steady": 2,
        "odd": 1,
        "greedy": 1,
    }


def test_rows_of_other_code_count_and_can_be_done_anew(
    tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = msgspec.structs.replace(plan, solvers=("steady", "raises=faulty"))
    with monkeypatch.context() as patch:
        patch.setattr("transom.bench.plan.provenance.source_digest", lambda: "older")
        run_plan(plan, tmp_path / "r", InProcess())
    usual, anew, then = InProcess(), InProcess(), InProcess()
    summary = run_plan(plan, tmp_path / "r", usual)
    assert usual.given == []
    assert (summary.dry_run.runs("outdated"), summary.dry_run.runs("failed"), summary.dry_run.runs("done")) == (3, 3, 0)
    run_plan(plan, tmp_path / "r", anew, only="outdated")
    assert {task.name for task in anew.given} == {"steady"}
    assert run_plan(plan, tmp_path / "r", then, only="outdated").todo == 0
    assert "older" not in table(tmp_path / "r").filter(pl.col("name") == "steady")["code"].to_list()


def test_iteration_budgets_give_the_same_values_twice(tmp_path: Path, plan: Plan) -> None:
    plan = msgspec.structs.replace(plan, solvers=("steady", "sa"), seeds=(0, 1, 2))
    for name in "ab":
        run_plan(plan, tmp_path / name, InProcess())
    same = ["key", "set", "label", "name", "seed", "outcome", "status", "reason", "value", "bound", "parameters"]
    first, second = (table(tmp_path / name) for name in "ab")
    assert first.select(same).equals(second.select(same))
    assert first["value"].n_unique() > 3  # not all of them the same for want of a search


class _Broken(InProcess):
    """Dies after some rows."""

    def __init__(self, after: int, error: BaseException) -> None:
        super().__init__()
        self._after, self._error = after, error

    def run(self, tasks: Iterator[Task]) -> Iterator[Row]:
        for number, row in enumerate(super().run(tasks)):
            if number == self._after:
                raise self._error
            yield row


@pytest.mark.parametrize("error", [KeyboardInterrupt(), StoreError("all workers are gone")])
def test_what_was_finished_before_the_end_is_kept(tmp_path: Path, plan: Plan, error: BaseException) -> None:
    with pytest.raises(type(error)):
        run_plan(plan, tmp_path / "r", _Broken(5, error))
    assert len(table(tmp_path / "r")) == 5
    rest = InProcess()
    run_plan(plan, tmp_path / "r", rest)
    assert len(rest.given) == 7  # the one that was broken off is done again
    assert len(table(tmp_path / "r")) == 12


def test_a_full_disk_ends_the_bench_and_its_engine(tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    real, writes = os.write, 0

    def filling(file: int, data: bytes) -> int:
        nonlocal writes
        writes += 1
        if writes == 4:  # takes a part of the row, then nothing more
            return real(file, bytes(data)[:10])
        if writes > 4:
            raise OSError(28, "No space left on device")
        return real(file, data)

    engine = InProcess()
    with monkeypatch.context() as patch:
        patch.setattr("transom._system.journal.os.write", filling)
        with pytest.raises(StoreError, match="r: cannot be written: No space left on device"):
            run_plan(plan, tmp_path / "r", engine)
    assert engine.closed
    assert len(table(tmp_path / "r")) == 3
    rest = InProcess()
    run_plan(plan, tmp_path / "r", rest)
    assert len(rest.given) == 9
    assert len(table(tmp_path / "r")) == 12


def test_a_second_row_of_a_run_is_left_out(tmp_path: Path, plan: Plan) -> None:
    class Twice(InProcess):
        def run(self, tasks: Iterator[Task]) -> Iterator[Row]:
            for row in super().run(tasks):
                yield row
                yield row

    assert run_plan(plan, tmp_path / "r", Twice()).done == 12
    assert table(tmp_path / "r")["attempt"].unique().to_list() == [1]


def test_a_plan_that_does_not_stand_leaves_nothing(tmp_path: Path, plan: Plan) -> None:
    engine = InProcess()
    with pytest.raises(SpecError):
        run_plan(msgspec.structs.replace(plan, solvers=("steady:no=1",)), tmp_path / "r", engine)
    assert engine.given == []
    assert not (tmp_path / "r").exists()


def test_progress_is_reported_before_and_after_each_run(tmp_path: Path, plan: Plan) -> None:
    told: list[tuple[int, int]] = []

    def tell(summary: Summary) -> None:
        told.append((summary.done, summary.todo))

    run_plan(plan, tmp_path / "r", InProcess(), progress=tell)
    assert told == [(done, 12) for done in range(13)]


def test_causes_of_failures_do_not_pile_up(tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_CAUSES", 2)

    class Failing(InProcess):
        def run(self, tasks: Iterator[Task]) -> Iterator[Row]:
            for number, row in enumerate(super().run(tasks)):
                yield msgspec.structs.replace(row, outcome="crash", cause=str(number), name="x")

    summary = run_plan(plan, tmp_path / "r", Failing())
    assert summary.failures == {("x", "crash", "0"): 1, ("x", "crash", "1"): 1, ("x", "crash", "other causes"): 10}


def test_memory_stays_flat(tmp_path: Path, plan: Plan) -> None:
    """Neither tasks nor rows pile up: what is held is what the keys take."""

    class Instant(InProcess):
        def run(self, tasks: Iterator[Task]) -> Iterator[Row]:
            for task in tasks:
                yield msgspec.structs.replace(A_ROW, key=task.key(), name=task.name, seed=task.seed)

    held: list[int] = []

    def measure(summary: Summary) -> None:
        if summary.done == 2000:
            tracemalloc.start()
        if summary.done in (3000, 6000):
            held.append(tracemalloc.get_traced_memory()[0])

    small = msgspec.structs.replace(plan, solvers=("steady",), seeds=tuple(range(2000)))
    try:
        assert run_plan(small, tmp_path / "r", Instant(), progress=measure).done == 6000
    finally:
        tracemalloc.stop()
    assert held[1] - held[0] < 3000 * 300 + 1_000_000


@pytest.mark.usefixtures("ends_spinning")
def test_worker_processes_that_die_fail_their_runs_alone(tmp_path: Path, plan: Plan) -> None:
    """The same with real workers: a second run does what failed, and nothing else, again."""
    solvers = ("steady", "dies=faulty:how=segfault", "lies=faulty:how=wrong-bound", "spins=faulty:how=spin")
    plan = msgspec.structs.replace(plan, solvers=solvers, budgets=(Stop(seconds=300),))
    summary = run_plan(plan, tmp_path / "r", LocalEngine(2))
    assert summary.outcomes == {"ok": 3, "crash": 3, "wrong": 3, "timeout": 3}
    assert "SIGSEGV" in "".join(cause for _, outcome, cause in summary.failures if outcome == "crash")
    assert run_plan(plan, tmp_path / "r", LocalEngine(2)).todo == 0
    again = run_plan(msgspec.structs.replace(plan, seeds=(0, 1)), tmp_path / "r", LocalEngine(2), only="failed")
    assert again.outcomes == {"crash": 3, "wrong": 3, "timeout": 3}
    attempts = dict(table(tmp_path / "r").group_by("name").agg(pl.col("attempt").max()).iter_rows())
    assert attempts == {"steady": 1, "dies": 2, "lies": 2, "spins": 2}
