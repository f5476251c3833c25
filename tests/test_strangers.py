"""What a second user planted is neither run, nor resumed, nor does it block; one line says why."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.bench.store.test_store import a_row
from tests.strangers import STRANGER, give, needs_root
from transom._system import prebuilt
from transom.bench.best_known.library import INDEX, locked
from transom.bench.store.store import Store
from transom.cli import run
from transom.errors import DocumentError, StoreError
from transom.forecast import calibration
from transom.generate.dataset.dataset import make_dataset
from transom.generate.dataset.plan import read_dataset_plan
from transom.learned.training.state import read_state, write_state
from transom.models import Cluster, Job
from transom.simulation.placement.finished import NAME, finished_chunks
from transom.simulation.runs import Run, repetitions, replay
from transom.traces import TracedJob, Workload

Spoil = Callable[[Path], str]


def open_to_all(path: Path) -> str:
    path.chmod(0o777)
    return f"anybody may write {path}"


def open_to_all_above(path: Path) -> str:
    path.parent.chmod(0o777)
    return f"anybody may write {path.parent}"


def file_open_to_all(path: Path) -> str:
    file = next(each for each in sorted(path.rglob("*")) if each.is_file() and each.name != "lock")
    file.chmod(0o666)
    return f"anybody may write {file}"


def folder_of_a_stranger(path: Path) -> str:
    give(path)
    return f"{path} belongs to user {STRANGER}"


def file_of_a_stranger(path: Path) -> str:
    file = give(next(each for each in sorted(path.rglob("*")) if each.is_file() and each.name != "lock"))
    return f"{file} belongs to user {STRANGER}"


def link_to_a_stranger(path: Path) -> str:
    moved = path.rename(path.with_name("moved"))
    path.symlink_to(moved)
    return folder_of_a_stranger(moved)


spoilt = pytest.mark.parametrize(
    "spoil",
    [
        open_to_all,
        open_to_all_above,
        file_open_to_all,
        *(pytest.param(each, marks=needs_root) for each in (folder_of_a_stranger, file_of_a_stranger)),
        pytest.param(link_to_a_stranger, marks=needs_root),
    ],
    ids=lambda spoil: spoil.__name__,
)


@pytest.fixture
def workload() -> Workload:
    jobs = [TracedJob(Job(id=i, nodes=1, walltime=10, submit=i), runtime=5) for i in range(1, 5)]
    return Workload.of(jobs, Cluster(2))


@spoilt
def test_a_recording_is_not_resumed(
    workload: Workload, tmp_path: Path, spoil: Spoil, caplog: pytest.LogCaptureFixture
) -> None:
    one, out = Run("fcfs", "fcfs"), tmp_path / "out"
    assert not replay(workload, one, out)[1]
    assert replay(workload, one, out)[1]
    assert caplog.messages == []
    why = spoil(out / "fcfs")
    assert not replay(workload, one, out)[1]
    (line,) = caplog.messages
    assert line.endswith(f": not used, because {why}; its policy is replayed again")


@spoilt
def test_figures_of_repetitions_are_not_resumed(
    workload: Workload, tmp_path: Path, spoil: Spoil, caplog: pytest.LogCaptureFixture
) -> None:
    one, path = Run("fcfs", "fcfs"), tmp_path / "out" / "fcfs" / "repeats.json"

    def waits() -> list[float]:
        return [each.figures["mean_wait"] for each in repetitions(workload, one, 2, 1, tmp_path / "out")]

    wanted = waits()
    planted = json.loads(path.read_text())
    planted["summaries"][0]["mean_wait"] = 12345.0
    path.write_text(json.dumps(planted))
    assert waits() == [12345.0]
    why = spoil(path.parent)
    assert waits() == wanted
    assert [why in line for line in caplog.messages] == [True]


def test_no_journal_of_chunks_is_followed_to_what_it_links_to(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "out"
    victim.write_text("no line break")
    folder.mkdir()
    (folder / NAME).symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"), finished_chunks(folder, {}, []):
        pass
    folder.chmod(0o777)
    with finished_chunks(folder, {}, []) as (kept, keep):
        keep("a schedule")  # type: ignore[arg-type]
        assert kept == ["a schedule"]
    assert victim.read_text() == "no line break"
    assert len(caplog.messages) == 1


@spoilt
def test_a_store_of_the_bench_is_not_used(tmp_path: Path, spoil: Spoil) -> None:
    with Store(tmp_path / "store") as store:
        store.append(a_row(1))
    with Store(tmp_path / "store") as store:
        assert list(store.outcomes()) == ["1"]
    why = spoil(tmp_path / "store")
    with pytest.raises(StoreError, match="take another folder") as caught, Store(tmp_path / "store"):
        pass
    assert why in str(caught.value)


def test_a_lock_that_a_reader_holds_does_not_block_a_store(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "lock").touch(0o644)  # as earlier versions made it
    with (tmp_path / "lock").open() as stranger:
        fcntl.flock(stranger, fcntl.LOCK_EX)
        with Store(tmp_path) as store:
            store.append(a_row(1))


def test_a_reader_of_the_index_does_not_block_a_library(tmp_path: Path) -> None:
    (tmp_path / INDEX).touch()
    with (tmp_path / INDEX).open() as stranger:
        fcntl.flock(stranger, fcntl.LOCK_EX)
        with locked(tmp_path):
            pass
    assert [path.name for path in tmp_path.iterdir()] == [INDEX]


PLAN = """
format = "transom/dataset/1"
name = "small"
licence = "MIT"
seed = 3
splits = { train = 1.0 }

[[sets]]
recipe = "knapsack"
count = 2
parameters = { items = 4 }
"""


@spoilt
def test_no_data_set_is_made_among_what_others_can_change(tmp_path: Path, spoil: Spoil) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    source, out = read_dataset_plan(tmp_path / "plan.toml"), tmp_path / "out"
    make_dataset(source, out)
    records = next(path for path in out.iterdir() if path.is_dir() and (path / "lock").exists())
    why = spoil(records)
    with pytest.raises(DocumentError, match="take another folder") as caught:
        make_dataset(source, out)
    assert why in str(caught.value)


@spoilt
def test_no_training_resumes(tmp_path: Path, spoil: Spoil) -> None:
    path = tmp_path / "run" / "training.safetensors"
    path.parent.mkdir()
    write_state(path, {"a": np.zeros(1)}, {})
    assert read_state(path)[0]["a"] == 0
    why = spoil(path.parent)
    with pytest.raises(DocumentError, match="no training resumes from it") as caught:
        read_state(path)
    assert why in str(caught.value)


@spoilt
def test_functions_built_ahead_of_time_are_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Spoil, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for name in prebuilt._DEBUGGING:
        monkeypatch.delenv(name, raising=False)
    folder = prebuilt.native_folder()
    folder.mkdir(parents=True)
    index = {"python": prebuilt.sys.implementation.cache_tag, "functions": {"planted": {}}}
    (folder / prebuilt.INDEX).write_text(json.dumps(index))
    assert prebuilt._found.__wrapped__() == (folder, {"planted": {}})
    why = spoil(folder)
    assert "planted" not in prebuilt._found.__wrapped__()[1]
    assert [why in line for line in caplog.messages] == [True]


@pytest.mark.parametrize("spoil", [open_to_all, pytest.param(folder_of_a_stranger, marks=needs_root)])
def test_forecasts_that_others_can_change_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Spoil, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "transom" / "when"
    folder.mkdir(parents=True)
    np.save(folder / "key.npy", np.array([[0.0, 1.0, 2.0, 3.0]]))
    assert calibration.Calibration(None, "key")._made.keys() == {0}  # type: ignore[arg-type]
    why = spoil(folder)
    assert calibration.Calibration(None, "key")._made == {}  # type: ignore[arg-type]
    assert [why in line for line in caplog.messages] == [True]


def test_nothing_that_is_written_can_be_changed_by_others(workload: Workload, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        replay(workload, Run("fcfs", "fcfs"), tmp_path / "out")
        list(repetitions(workload, Run("fcfs", "fcfs"), 2, 1, tmp_path / "out"))
        with Store(tmp_path / "store") as store:
            store.append(a_row(1))
        write_state(tmp_path / "state" / "training.safetensors", {"a": np.zeros(1)}, {})
    finally:
        os.umask(before)
    made = list(tmp_path.rglob("*"))
    assert len(made) > 10
    assert {str(path): path.stat().st_mode & 0o022 for path in made if path.stat().st_mode & 0o022} == {}


def test_nothing_is_built_where_it_would_not_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o777)
    assert run(["compile"]) == 2
    assert f"would not be used, because anybody may write {tmp_path}" in capsys.readouterr().err


def test_the_command_line_says_what_is_not_used_and_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "simulate",
        str(Path(__file__).resolve().parents[1] / "examples" / "slurm_60.swf"),
        "--policy",
        "fcfs",
        "--no-figures",
        "--out",
        str(tmp_path),
    ]
    assert run(command) == 0
    assert "not used" not in capsys.readouterr().err
    (tmp_path / "fcfs").chmod(0o777)
    assert run(command) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "not used" in line]
    assert said == [
        f"{tmp_path}/fcfs: not used, because anybody may write {tmp_path}/fcfs; its policy is replayed again"
    ]
    assert run(["-q", *command]) == 0
    assert capsys.readouterr().err == ""
