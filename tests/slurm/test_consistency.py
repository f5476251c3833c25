"""Jobs and nodes of different moments: a contradiction is noticed, Slurm is asked again, and nothing is decided on it.

Recorded of a Slurm 22.05.8 with four nodes: two jobs wait (3 and 4 nodes), the first runs on n[00-02], is completing on
n01 where an epilog takes its time, and has ended.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from transom.slurm import state as asked
from transom.slurm.advice import Adviser
from transom.slurm.consistency import contradictions, look
from transom.slurm.state import SlurmState, ask_slurm
from transom.slurm.window import window_of

INSTANTS = json.loads(gzip.decompress((Path(__file__).parent / "recorded" / "instants.json.gz").read_bytes()))
"""Answers of Slurm 22.05; the column of resources, which was not asked for then, is empty."""


class Torn:
    """Slurm's commands as they answered, jobs at one instant and nodes at another, for each look."""

    def __init__(self, *looks: tuple[str, str]) -> None:
        self.looks, self.asked = list(looks), 0

    def __call__(self, *command: str, **_: object) -> str:
        jobs, nodes = self.looks[min(self.asked, len(self.looks)) - 1]
        if command[0] == "squeue":
            return str(INSTANTS[jobs][f"squeue {command[-2]}"])
        told = INSTANTS[nodes][" ".join(command[:5])]
        if command[-1] == "config":
            self.asked += 1  # each look begins with the clock
        return str(told)


def looked(monkeypatch: pytest.MonkeyPatch, *looks: tuple[str, str]) -> tuple[SlurmState, int]:
    torn = Torn(*looks)
    monkeypatch.setattr(asked, "run_slurm", torn)
    return look(ask_slurm, lambda _: None), torn.asked


@pytest.mark.parametrize("instant", INSTANTS)
def test_what_was_asked_at_one_moment_is_taken_at_once(monkeypatch: pytest.MonkeyPatch, instant: str) -> None:
    state, count = looked(monkeypatch, (instant, instant))
    assert (count, state.doubtful) == (1, ())


@pytest.mark.parametrize(
    ("jobs", "nodes", "found"),
    [
        ("waits", "runs", {f"n0{i}": "in use by no job" for i in range(3)}),
        ("runs", "waits", {f"n0{i}": "idle under job 1" for i in range(3)}),
        ("runs", "completing", {"n00": "idle under job 1", "n02": "idle under job 1"}),
        ("completing", "ended", {"n01": "idle under job 1"}),
        ("ended", "completing", {"n01": "in use by no job"}),
    ],
)
def test_a_torn_look_is_noticed_and_asked_again(
    monkeypatch: pytest.MonkeyPatch, jobs: str, nodes: str, found: dict[str, str]
) -> None:
    monkeypatch.setattr(asked, "run_slurm", Torn((jobs, nodes)))
    assert contradictions(ask_slurm()) == found
    state, count = looked(monkeypatch, (jobs, nodes), (nodes, nodes))
    assert (count, state.doubtful) == (2, ())
    assert [job.state for job in state.jobs] == [job.state for job in looked(monkeypatch, (nodes, nodes))[0].jobs]


def test_it_ends_where_slurm_does_not_hold_still(monkeypatch: pytest.MonkeyPatch) -> None:
    changing: Sequence[tuple[str, str]] = [("waits", "runs"), ("runs", "completing")] * 9
    state, count = looked(monkeypatch, *changing)
    assert (count, state.doubtful) == (6, ("n00", "n02"))
    seen = window_of(state)
    assert [seen.names[i] for i in seen.idle] == ["n03"]
    assert seen.remarks[-1].endswith("contradict each other: n[00,02]")


def test_what_is_reported_twice_alike_is_a_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    # As where the jobs of other users are hidden: the nodes are in use, and no job says so.
    state, count = looked(monkeypatch, ("ended", "runs"))
    assert (count, state.doubtful) == (2, ("n00", "n01", "n02"))
    assert window_of(state).idle.tolist() == [3]


def test_a_completing_job_runs_until_its_last_node_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    state, _ = looked(monkeypatch, ("completing", "completing"))
    seen = window_of(state)
    assert [(seen.jobs[job].name, seen.jobs[job].state) for job in seen.window.running.id.tolist()] == [
        ("1", "COMPLETING")
    ]
    assert seen.window.running.nodes.tolist() == [1]
    assert [seen.names[i] for i in seen.idle] == ["n00", "n02", "n03"]
    # All four nodes are in service: the second job waits, and is not given back as too large.
    assert [seen.jobs[job].name for job in seen.window.queue.id.tolist()] == ["2"]
    assert Adviser("fcfs-easy").advise(seen).starts == []
    later, _ = looked(monkeypatch, ("completing", "ended"))  # told so twice: the node stays the job's
    assert [seen.names[i] for i in window_of(later).idle] == ["n00", "n02", "n03"]
