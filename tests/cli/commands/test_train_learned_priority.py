"""``transom train learned-priority``."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Ran
from transom.learned import checkpoints

TASKS = "submit_time,duration,cpu,memory,job_id,task_id,instances_num,disk\n" + "".join(
    f"{4 * job},{3 + (7 * job + 5 * task) % 40},{1 + task},0.{1 + (job + task) % 4},{job},{task},{5 + job},0\n"
    for job in range(8)
    for task in range(1, 4)
)
MACHINES = ("--machines", "count=2,cpu=8,memory=1")
SMALL = ("--generations", 2, "--population", 4, "--windows", 3, "--chunks", 2, "--jobs", 6)


def test_it_leaves_a_checkpoint_that_places(tmp_path: Path, transom: Callable[..., Ran]) -> None:
    trace, out = tmp_path / "tasks.csv", tmp_path / "out"
    trace.write_text(TASKS)
    done = transom("train", "learned-priority", trace, *MACHINES, *SMALL, "--out", out)
    assert done.status == 0, done.err
    path = out / "learned-priority.safetensors"
    card = checkpoints.load(path, "priority").card
    assert card.command == (
        "transom train learned-priority TASKS --machines count=2,cpu=8,memory=1 --jobs 6 --seed 0 --generations 2 "
        "--population 4 --windows 3 --chunks 2 --name learned-priority --out DIR"
    )
    assert (card.decisions, card.trained_on) == (24, "windows of 2 of 6 jobs on 2 machines")
    use = next(line for line in done.out.splitlines() if line.startswith("use it: transom "))
    words = [str(trace) if word == "TASKS" else word for word in shlex.split(use)[3:]]
    ran = transom(*words, "--json")
    assert ran.status == 0, ran.err
    assert ran.lines[0]["makespan"] >= ran.lines[0]["bound"]
    before = path.read_bytes()
    settings = tmp_path / "few.toml"
    settings.write_text("generations = 2\npopulation = 9\nwindows = 3\nchunks = 2\n")
    stated = ("--settings", settings, "--population", 4, "--jobs", 6)  # of both, the option counts
    again = transom("train", "learned-priority", trace, *MACHINES, *stated, "--out", out, "--json")
    assert "goes on after 2 generations" in again.err
    assert again.lines[0]["scores"] == card.scores
    assert path.read_bytes() == before
    other = transom("train", "learned-priority", trace, *MACHINES, *SMALL, "--seed", 1, "--out", out)
    assert (other.status, other.err.count("\n")) == (2, 1)
    assert "was begun with seed 0, not 1" in other.err


def test_what_is_missing_is_said_in_one_line(tmp_path: Path, transom: Callable[..., Ran]) -> None:
    trace = tmp_path / "tasks.csv"
    trace.write_text(TASKS)
    for words, message in (
        ((), "needs --machines"),
        ((*MACHINES, "--name", "a/b"), "--name a/b"),
        ((*MACHINES, "--step", "nan"), "step must be > 0"),
        ((*MACHINES, "--start", 99), "there are 8"),
        ((*MACHINES, "--settings", "steps=3"), "--settings: unknown setting 'steps'"),
        (("--machines", "count=1,cpu=1,memory=1"), "fits on no machine"),
    ):
        ran = transom("train", "learned-priority", trace, *words, "--out", tmp_path / "out")
        assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1), ran.err
        assert message in ran.err
        assert not (tmp_path / "out").exists()


def test_other_checkpoints_are_refused(tmp_path: Path, transom: Callable[..., Ran]) -> None:
    trace = tmp_path / "tasks.csv"
    trace.write_text(TASKS)
    ran = transom("simulate", trace, *MACHINES, "--policy", "learned-priority:model=nsa")
    assert (ran.status, ran.err.count("\n")) == (2, 1)
    assert "is part of 'repair', not of 'priority'" in ran.err
