"""A store keeps every finished run, once, whatever happens to its writer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import msgspec
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transom.bench.plan.plan import InstanceSet, Plan
from transom.bench.plan.task import Row
from transom.bench.store import store as stores
from transom.bench.store.frame import schema, to_frame
from transom.bench.store.parquet import write_part
from transom.bench.store.store import Store, encode_row, read_plans, read_results
from transom.errors import DocumentError, StoreError
from transom.stop import Stop

A_ROW = Row(
    key="",
    set="s",
    label="l",
    instance="i",
    problem="knapsack",
    name="greedy",
    spec="greedy",
    stop=Stop(seconds=0.5),
    seed=0,
    threads=1,
    sense="max",
    size=3,
    outcome="ok",
    value=7.0,
    curve=((0.1, 5.0, None), (0.2, 7.0, 9.0)),
    machine={"host": "here"},
    versions={"transom": "1"},
)


def a_row(key: object, **changes: object) -> Row:
    return msgspec.structs.replace(A_ROW, key=str(key), **changes)


def keys(folder: Path) -> list[str]:
    return read_results(folder)["key"].to_list()


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "PART_ROWS", 3)


def test_rows_come_back_as_they_went_in(tmp_path: Path) -> None:
    rows = [a_row(i, cause="it's\nbroken" if i % 2 else None, metrics={"wait": 0.1 * i}) for i in range(5)]
    with Store(tmp_path) as store:
        for row in rows:
            store.append(row)
        assert read_results(tmp_path).equals(to_frame(rows))  # out of the journal
    assert (tmp_path / "journal.jsonl").stat().st_size == 0
    assert read_results(tmp_path).equals(to_frame(rows))  # out of a part
    assert dict(read_results(tmp_path).schema) == schema()


def test_metrics_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append(a_row(0, metrics={"mean_wait": 3.0, "mean_wait_backfilled": float("nan"), "x": float("inf")}))
    assert json.loads(read_results(tmp_path)["metrics"][0]) == {"mean_wait": 3.0}


def test_the_last_attempt_counts(tmp_path: Path, small_parts: None) -> None:
    with Store(tmp_path) as store:
        for i in range(4):
            store.append(a_row(i, outcome="crash"))
        store.append(a_row(1, outcome="ok", attempt=2))
        assert store.outcomes() == {"0": "crash", "1": "ok", "2": "crash", "3": "crash"}
    found = read_results(tmp_path).sort("key")
    assert found["outcome"].to_list() == ["crash", "ok", "crash", "crash"]
    assert found["attempt"].to_list() == [1, 2, 1, 1]
    with Store(tmp_path) as store:
        known = store.find("1")
        assert known is not None
        assert (known.outcome, known.attempt) == ("ok", 2)
        assert store.find("4") is None


def test_parts_stay_few(tmp_path: Path, small_parts: None) -> None:
    for i in range(60):
        with Store(tmp_path) as store:
            store.append(a_row(i))
    assert len(list((tmp_path / "rows").iterdir())) == 20
    assert sorted(keys(tmp_path), key=int) == [str(i) for i in range(60)]


def test_a_death_between_part_and_journal_counts_nothing_twice(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append(a_row(0))
    with Store(tmp_path) as store:
        store.append(a_row(1))
        journal = (tmp_path / "journal.jsonl").read_bytes()
    # As if the process had died before it emptied the journal.
    (tmp_path / "journal.jsonl").write_bytes(journal)
    (tmp_path / "rows" / ".00001.parquet.x.part").write_bytes(b"half")
    assert sorted(keys(tmp_path)) == ["0", "1"]
    with Store(tmp_path) as store:
        assert store.outcomes() == {"0": "ok", "1": "ok"}
        assert [path.name for path in (tmp_path / "rows").iterdir()] == ["00001.parquet"]
        store.append(a_row(2))
    assert sorted(keys(tmp_path)) == ["0", "1", "2"]


LINES = [encode_row(a_row(i, cause="x" * i)) + b"\n" for i in range(4)]


@given(at=st.integers(0, sum(map(len, LINES))))
@settings(max_examples=60)
def test_a_journal_torn_anywhere_keeps_its_whole_lines(tmp_path_factory: pytest.TempPathFactory, at: int) -> None:
    folder = tmp_path_factory.mktemp("torn")
    (folder / "rows").mkdir()
    (folder / "journal.jsonl").write_bytes(b"".join(LINES)[:at])
    whole = [str(i) for i in range(4) if sum(map(len, LINES[: i + 1])) <= at]
    assert keys(folder) == whole  # nobody has opened it yet
    with Store(folder) as store:
        assert list(store.outcomes()) == whole
        store.append(a_row("next"))
        assert keys(folder) == [*whole, "next"]
    assert keys(folder) == [*whole, "next"]
    shutil.rmtree(folder)


def test_long_torn_lines_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transom._system import journal

    monkeypatch.setattr(journal, "_BLOCK", 7)
    for text, whole in ((b"", 0), (b"abc", 0), (b"\n", 1), (b"ab\n" + b"c" * 30, 3), (b"a\n\nb\n", 5)):
        path = tmp_path / "lines"
        path.write_bytes(text)
        assert journal.whole_length(path) == whole


def test_damage_is_reported_with_its_place(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append(a_row(0))
    (tmp_path / "journal.jsonl").write_bytes(LINES[0] + b'{"key": 3}\n' + LINES[1])
    for opened in (lambda: read_results(tmp_path), lambda: Store(tmp_path).__enter__()):
        with pytest.raises(DocumentError, match=r"journal\.jsonl:2: is damaged"):
            opened()
    (tmp_path / "journal.jsonl").write_bytes(b"")
    part = tmp_path / "rows" / "00001.parquet"
    part.write_bytes(part.read_bytes()[:-9])
    with pytest.raises(DocumentError, match=r"00001\.parquet: not a Parquet file, or damaged"):
        read_results(tmp_path)


def test_what_holds_no_results_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such file or folder"):
        read_results(tmp_path / "absent")
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(StoreError, match="holds no results"):
        read_results(tmp_path)
    with pytest.raises(StoreError, match="is not empty"), Store(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(StoreError, match="cannot be written"), Store(tmp_path / "thesis.tex"):
        pass
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(DocumentError, match="was not written by Transom"):
        read_results(tmp_path / "other.parquet")


def test_one_file_of_results(tmp_path: Path) -> None:
    frame = to_frame([a_row(0), a_row(1)])
    write_part(tmp_path / "kept.parquet", frame)
    assert read_results(tmp_path / "kept.parquet").equals(frame)
    older = frame.drop("load")
    write_part(tmp_path / "older.parquet", older)
    assert read_results(tmp_path / "older.parquet")["load"].to_list() == [None, None]
    write_part(tmp_path / "bad.parquet", frame.drop("outcome"))
    with pytest.raises(DocumentError, match="column outcome is missing"):
        read_results(tmp_path / "bad.parquet")


def test_plans_are_kept_side_by_side(tmp_path: Path) -> None:
    plans = [Plan(name=name, instances=(InstanceSet(files=("a.json",)),), budgets=(Stop(gap=0.1),)) for name in "ab"]
    for plan in [*plans, plans[0]]:
        with Store(tmp_path) as store:
            store.add_plan(plan)
    assert read_plans(tmp_path) == plans
    newer = '{"plans": [{"digest": "x", "plan": {"format": "transom/plan/2", "instances": [], "colour": "red"}}]}'
    (tmp_path / "plan.json").write_text(newer)
    with pytest.raises(DocumentError, match=r"plan\.json: holds a plan that this version does not know: .*colour"):
        read_plans(tmp_path)
    with Store(tmp_path) as store:
        store.add_plan(plans[0])  # which stands beside it
    assert [each["digest"] for each in json.loads((tmp_path / "plan.json").read_text())["plans"]] == [
        "x",
        plans[0].digest(),
    ]
    (tmp_path / "plan.json").write_text("[]")
    with pytest.raises(DocumentError, match=r"plan\.json: is damaged"):
        read_plans(tmp_path)


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append(a_row(0))
        with pytest.raises(StoreError, match=f"in use: process {os.getpid()} on "), Store(tmp_path):
            pass
        assert keys(tmp_path) == ["0"]  # but anybody reads
        store.append(a_row(1))
    with Store(tmp_path) as store:
        assert list(store.outcomes()) == ["0", "1"]


FULL = """
import resource, sys
sys.path.insert(0, {root!r})
from tests.bench.store.test_store import a_row
from transom.bench.store.store import Store
from transom.errors import StoreError
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    with Store({folder!r}) as store:
        for i in range(len(store.outcomes()), 10_000):
            store.append(a_row(i))
            print(i, flush=True)
except StoreError as error:
    print(error)
"""


def test_a_full_disk_loses_nothing_that_was_there(tmp_path: Path, root: Path) -> None:
    command = [sys.executable, "-c", FULL.format(root=str(root), folder=str(tmp_path))]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout.splitlines()
    assert "cannot be written" in told[-1]
    assert len(told) > 5
    assert keys(tmp_path) == told[:-1]
    assert (tmp_path / "journal.jsonl").read_bytes().endswith(b"\n")  # the part of a line was taken back
    with Store(tmp_path) as store:  # the disk has space again
        store.append(a_row("more"))
    assert keys(tmp_path) == [*told[:-1], "more"]


@pytest.mark.parametrize("where", ["atomic_path", "clear"])
def test_an_error_while_a_part_is_made_keeps_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with Store(tmp_path) as store:
        store.append(a_row("old"))
    owner = {
        "atomic_path": "transom.bench.store.parquet.atomic_path",
        "clear": "transom._system.journal.Journal.clear",
    }

    def die() -> None:
        with Store(tmp_path) as store, monkeypatch.context() as patch:
            store.append(a_row(0))
            store.append(a_row(1))
            patch.setattr(owner[where], full)
            store.compact()

    with pytest.raises(StoreError, match="No space left on device"):
        die()
    assert sorted(keys(tmp_path)) == ["0", "1", "old"]
    with Store(tmp_path) as store:
        store.append(a_row(2))
    assert sorted(keys(tmp_path)) == ["0", "1", "2", "old"]
    assert len(list((tmp_path / "rows").glob("*.parquet"))) == 1


def test_memory_grows_by_the_keys_alone(tmp_path: Path) -> None:
    row = a_row(0)
    with Store(tmp_path) as store:
        for i in range(1_000):
            store.append(msgspec.structs.replace(row, key=f"{i:032x}"))
        store.compact()  # what is imported and allocated once
        tracemalloc.start()
        try:
            for i in range(1_000, 11_000):
                store.append(msgspec.structs.replace(row, key=f"{i:032x}"))
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert held < 10_000 * 250  # a quarter of what a row takes as JSON
    assert len(keys(tmp_path)) == 11_000


OPERATIONS = st.one_of(
    st.tuples(st.just("append"), st.integers(0, 5)),
    st.tuples(st.sampled_from(["compact", "close", "die", "die while writing"]), st.just(0)),
)


@given(operations=st.lists(OPERATIONS, max_size=30))
@settings(max_examples=40)
def test_any_life_of_a_store(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever happens in whatever order, the store holds the last attempt of every key."""
    monkeypatch.setattr(stores, "PART_ROWS", 3)
    folder = tmp_path_factory.mktemp("life")
    truth: dict[str, int] = {}
    store = Store(folder).__enter__()
    for what, number in operations:
        if what == "append":
            known = store.find(str(number))
            assert (known.attempt if known else 0) == truth.get(str(number), 0)
            truth[str(number)] = truth.get(str(number), 0) + 1
            store.append(a_row(number, attempt=truth[str(number)]))
        elif what == "compact":
            store.compact()
        else:
            if what == "close":
                store.__exit__(None, None, None)
            else:
                store._close()
            if what == "die while writing":
                with (folder / "journal.jsonl").open("ab") as journal:
                    journal.write(b'{"key":"torn')
            store = Store(folder).__enter__()
        found = read_results(folder)
        assert dict(found.select("key", "attempt").iter_rows()) == truth
        assert len(found) == len(truth)
    store._close()
    shutil.rmtree(folder)
