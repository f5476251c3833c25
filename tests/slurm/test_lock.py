"""The lock of a Slurm: nobody else can make or hold it, and giving back never waits for one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.strangers import STRANGER, give, needs_root
from transom.errors import SlurmError
from transom.slurm import lock as module
from transom.slurm.lock import alone


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "run_slurm", lambda *_: "SlurmctldHost[0] = h\nClusterName             = c1\n")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    return tmp_path / "state"


def locks(folder: Path) -> list[Path]:
    return list((folder / "transom").glob("slurm-c1-*.lock"))


@pytest.mark.parametrize("giving_back", [False, True])
def test_a_lock_of_ones_own_holds_and_goes(state: Path, giving_back: bool) -> None:
    with alone():
        (path,) = locks(state)
        assert path.read_text() == f"{os.getpid()}\n"
        assert path.parent.stat().st_mode & 0o777 == 0o700
        with pytest.raises(SlurmError, match=f"acts on c1 already \\(process {os.getpid()}\\)"), alone(giving_back):
            pass
    assert locks(state) == []
    with alone(giving_back):
        assert len(locks(state)) == 1


def test_where_the_state_cannot_be_used_the_folder_of_the_session_is(state: Path) -> None:
    state.mkdir()
    state.chmod(0o777)
    with alone():
        assert locks(state) == []
        assert len(locks(state.parent / "run")) == 1


def test_giving_back_needs_no_lock(state: Path) -> None:
    state.parent.chmod(0o777)
    why = f"not locked, because anybody may write {state.parent}"
    with pytest.raises(SlurmError, match=f"no lock can be had.*{why}"), alone():
        pass
    with alone(giving_back=True) as said:
        assert why in said


def test_a_lock_that_a_run_of_the_user_holds_takes_force(state: Path) -> None:
    with alone(), alone(force=True) as said:
        assert f"acts on c1 already (process {os.getpid()})" in said
    assert locks(state) == []


@needs_root
def test_what_a_stranger_planted_stops_nobody(state: Path) -> None:
    with alone():
        (path,) = locks(state)
    path.symlink_to("/etc/passwd")
    with alone():
        assert path.is_file()
        assert not path.is_symlink()
    give(state)
    with alone() as said:
        assert said == ""
        assert locks(state) == []
        assert len(locks(state.parent / "run")) == 1
    (state.parent / "run").mkdir(exist_ok=True)
    give(state.parent / "run")
    with alone(giving_back=True) as said:
        assert f"belongs to user {STRANGER}" in said
