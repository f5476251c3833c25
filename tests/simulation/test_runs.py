from __future__ import annotations

import json
from pathlib import Path

import pytest

from transom.models import Cluster, Job, Window
from transom.simulation import Decision, runs
from transom.simulation.passes.window_pass import pass_over
from transom.simulation.policies import by_name
from transom.simulation.runs import Run, repetitions, replay
from transom.traces import TracedJob, Workload

pytestmark = pytest.mark.fast


@pytest.fixture
def workload() -> Workload:
    return Workload.of([TracedJob(Job(i, 10 * i, 1 + i % 3, 50), 20 + i) for i in range(1, 30)], Cluster(4))


def test_a_record_of_other_code_is_not_taken(
    workload: Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run("fcfs", "fcfs")
    assert replay(workload, run, tmp_path)[1] is False
    assert replay(workload, run, tmp_path)[1] is True
    monkeypatch.setattr(runs, "source_digest", lambda: "changed")
    assert replay(workload, run, tmp_path)[1] is False


class _Weights:
    def __init__(self, digest: str) -> None:
        self.digest = digest


class _Solver:
    def __init__(self, weights: _Weights) -> None:
        self.net = weights


class _Asking:
    """A policy that keeps what it asks as it likes."""

    def __init__(self, digest: str, kept: str) -> None:
        solver = _Solver(_Weights(digest))
        self.chooser: object = {"attribute": solver, "list": [solver], "mapping": {"first": (solver,)}}[kept]

    def decide(self, window: Window) -> Decision:
        return pass_over(window, "none")


@pytest.mark.parametrize("kept", ["attribute", "list", "mapping"])
def test_a_record_of_other_weights_is_not_taken_wherever_a_policy_keeps_them(
    workload: Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    for weights, stands in (("one", False), ("one", True), ("two", False), ("two", True)):
        monkeypatch.setattr(runs, "make_policy", lambda spec, weights=weights: _Asking(weights, kept))
        monkeypatch.setattr(by_name, "make_policy", lambda spec, weights=weights: _Asking(weights, kept))
        assert replay(workload, Run("asking", "asking"), tmp_path)[1] is stands


@pytest.mark.parametrize("broken", ["jobs.parquet", "decisions.parquet"])
def test_half_a_record_is_none(workload: Workload, tmp_path: Path, broken: str) -> None:
    run = Run("fcfs", "fcfs")
    schedule, _ = replay(workload, run, tmp_path)
    (tmp_path / "fcfs" / broken).unlink()
    again, read = replay(workload, run, tmp_path)
    assert (again, read) == (schedule, False)
    # The other half may also be of another policy, after an interrupt.
    replay(workload, Run("sjf", "sjf"), tmp_path)
    (tmp_path / "sjf" / broken).replace(tmp_path / "fcfs" / broken)
    assert replay(workload, run, tmp_path) == (schedule, False)


def test_a_schedule_that_does_not_stand_is_never_kept(
    workload: Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "check_schedule", lambda *_: ["job 1: broken"])
    with pytest.raises(RuntimeError, match="job 1: broken"):
        replay(workload, Run("fcfs", "fcfs"), tmp_path)
    with pytest.raises(RuntimeError, match="job 1: broken"):
        next(repetitions(workload, Run("fcfs", "fcfs"), 5, 1))
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"summaries": 3}', "nonsense"])
def test_odd_summaries_are_computed_again(workload: Workload, tmp_path: Path, content: str) -> None:
    run = Run("fcfs", "fcfs")
    first = list(repetitions(workload, run, 5, 2, tmp_path))
    path = tmp_path / "fcfs" / "repeats.json"
    written = path.read_text()
    assert "NaN" not in written
    path.write_text(content)
    again = list(repetitions(workload, run, 5, 2, tmp_path))
    assert json.dumps(again) == json.dumps(first)
    assert path.read_text() == written


def test_labels_do_not_change_what_is_drawn(workload: Workload) -> None:
    one, _ = replay(workload, Run("random", "random"))
    other, _ = replay(workload, Run("x", "random"))
    assert one.start.tolist() == other.start.tolist()
