"""Replays beside the log that are kept: what is read again, what is not, and where they are kept."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from transom.errors import ModelError
from transom.generate import generate_lublin
from transom.simulation import calibrated as module
from transom.simulation.calibrated import ENDING, calibrated, kept_calibration
from transom.simulation.output.metrics import Trim
from transom.simulation.runs import Run
from transom.traces import Workload, read_swf, write_swf
from transom.traces.cut import cut


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A trace of 40 jobs that states waits, and an empty cache of the user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "traces" / "log.swf"
    write_swf(generate_lublin(40, 16, np.random.default_rng(1), load=0.9), path)
    lines = path.read_text().splitlines()
    rows = [line.split() for line in lines if not line.startswith(";")]
    stated = [" ".join([*row[:2], str(10 * k), *row[3:]]) for k, row in enumerate(rows)]
    path.write_text("\n".join([*(line for line in lines if line.startswith(";")), *stated, ""]))
    return path


def never_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("replayed")

    monkeypatch.setattr(module, "replay", never)


def document(path: Path) -> Path:
    return path.with_name(path.name + ENDING)


def test_a_replay_is_made_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workload, run = read_swf(path), Run("today", "fcfs-easy")
    assert kept_calibration(workload, run) is None
    first = calibrated(workload, run)
    assert [each.name for each in path.parent.iterdir() if each != path] == ["log.swf.calibration.json"]
    never_again(monkeypatch)
    assert repr(calibrated(read_swf(path), Run("now", "fcfs-easy"))) == repr(first), "the label does not matter"
    error = first.error("now")
    assert (error.policy, error.all_jobs.jobs, error.all_jobs.logged_wait) == ("now", 40, 195)


def test_what_matters_makes_another_one(path: Path) -> None:
    workload, run = read_swf(path), Run("today", "fcfs-easy")
    calibrated(workload, run)
    for other in (
        Run("today", "sjf-easy"),
        Run("today", "fcfs-easy", seed=1),
        Run("today", "fcfs-easy", rules="cqsim"),
    ):
        assert kept_calibration(workload, other) is None
    assert kept_calibration(workload, run, Trim(head_seconds=1)) is None
    assert kept_calibration(cut(workload, 0, 30), run) is None
    text = path.read_text().replace(" 390 ", " 391 ", 1)
    assert text != path.read_text()
    path.write_text(text)
    assert kept_calibration(read_swf(path), run) is None, "a logged start differs"


def test_results_that_others_may_write_are_not_used(path: Path) -> None:
    workload, run = read_swf(path), Run("today", "fcfs-easy")
    calibrated(workload, run)
    document(path).chmod(0o666)
    assert kept_calibration(workload, run) is None
    document(path).unlink()
    path.parent.chmod(0o777)
    found = calibrated(workload, run)
    assert not document(path).exists(), "anybody may write the folder"
    assert repr(kept_calibration(workload, run)) == repr(found), "from the cache"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": "transom/calibration/1", "replays": 3}', "null"])
def test_a_damaged_document_is_made_anew(path: Path, text: str) -> None:
    workload, run = read_swf(path), Run("today", "fcfs-easy")
    document(path).write_text(text)
    found = calibrated(workload, run)
    assert repr(kept_calibration(workload, run)) == repr(found)


@pytest.mark.parametrize("value", [[], {}, "many", None, {"all": {"jobs": "x"}}, {"all": 3}, {"all": {"surprise": 1}}])
def test_an_entry_that_is_none_is_made_anew(path: Path, value: object) -> None:
    workload, run = read_swf(path), Run("today", "fcfs-easy")
    found = calibrated(workload, run)
    kept = json.loads(document(path).read_text())
    (key,) = kept["replays"]
    kept["replays"][key]["groups"] = value
    document(path).write_text(json.dumps(kept))
    assert repr(calibrated(workload, run)) == repr(found)


def test_a_document_holds_the_latest_replays(path: Path) -> None:
    workload = read_swf(path)
    for seed in range(23):
        calibrated(workload, Run("today", "fcfs", seed=seed))
    there = [kept_calibration(workload, Run("today", "fcfs", seed=seed)) is not None for seed in range(23)]
    assert there == [False] * 3 + [True] * 20


def test_jobs_that_count_need_a_logged_start(path: Path) -> None:
    workload = read_swf(path)
    alone = Workload(workload.name, workload.cluster, workload.jobs, workload.runtime)
    with pytest.raises(ModelError, match="does not say when jobs started"):
        calibrated(alone, Run("today", "fcfs"))
    assert [*path.parent.iterdir()] == [path], "and nothing is kept of a workload from no file"
