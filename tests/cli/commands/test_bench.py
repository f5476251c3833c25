"""``transom bench run`` and ``plan``: from flags to rows, and through every kind of sudden end."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.bench.faulty import faulty_solvers, knapsack  # noqa: F401  (a fixture)
from tests.bench.in_process import InProcess
from tests.cli.conftest import Ran
from transom.bench.store.parquet import parts_of
from transom.bench.store.store import read_results
from transom.io import write_documents

pytestmark = pytest.mark.usefixtures("faulty_solvers")

Command = Callable[..., Ran]


@pytest.fixture
def three(tmp_path: Path) -> Path:
    write_documents(tmp_path / "three.jsonl", (knapsack(6, seed) for seed in range(3)))
    return tmp_path / "three.jsonl"


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> InProcess:
    """No worker processes where they are not what is tested."""
    engine = InProcess()
    monkeypatch.setattr("transom.cli.commands.bench_run.chosen_engine", lambda *_: engine)
    return engine


def test_flags_make_a_plan(transom: Command, three: Path, tmp_path: Path, in_process: InProcess) -> None:
    flags = ["--instances", three, "--solver", "steady", "--solver", "bad=faulty", "--seed", "0-2", "--seed", "7"]
    flags += ["--iterations", 20, "--seconds", 0.5, "--take", 2, "--memory", 300, "--grace", 2]
    ran = transom("bench", "run", *flags, "--out", tmp_path / "r")
    assert ran.status == 0, ran.err
    rows = read_results(tmp_path / "r")
    assert len(rows) == 2 * 2 * 4 * 2
    assert set(rows["seed"]) == {0, 1, 2, 7}
    assert {(run.memory, run.grace) for run in in_process.given} == {(300, 2.0)}
    assert set(rows["label"]) == {"three.jsonl:1", "three.jsonl:2"}
    lines = [line.split() for line in ran.out.splitlines()]
    assert ["bad", "0.5", "s", "8", "0", "0", "8", "0", "0"] in lines
    assert ["steady", "20", "iterations", "8", "8", "0", "0", "8", "0"] in lines
    assert "error: bad, 16 x: RuntimeError: deliberate" in ran.out
    assert f"next: transom report {tmp_path / 'r'}" in ran.err
    assert "16 runs failed; --only failed repeats what failed" in ran.err

    again = transom("bench", "run", *flags, "--out", tmp_path / "r", "--json")
    told = json.loads(again.out)
    assert (told["runs"], told["to_do"], told["done"]) == (32, 0, 0)
    assert {(each["name"], each["runs"], each["solved"]) for each in told["solvers"]} == {
        ("bad", 8, 0),
        ("steady", 8, 8),
    }
    only = transom("bench", "run", *flags, "--out", tmp_path / "r", "--json", "--only", "failed")
    assert json.loads(only.out)["failures"] == [
        {"name": "bad", "outcome": "error", "cause": "RuntimeError: deliberate", "runs": 16}
    ]
    plan = transom("bench", "plan", *flags, "--out", tmp_path / "r", "--json")
    assert json.loads(plan.out)["states"] == {"open": 0, "done": 16, "failed": 16, "outdated": 0}


PLAN = """
name = "two sets"
solvers = ["steady", "greedy"]
seconds = [0.2, 1]
threads = [1, 2]
grace = 1.5
limit = 100
[[instances]]
files = ["three.jsonl"]
[[instances]]
name = "own"
files = ["three.jsonl"]
take = 1
solvers = ["dp"]
"""


def test_flags_stand_instead_of_what_a_plan_says(
    transom: Command, three: Path, tmp_path: Path, in_process: InProcess
) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)

    def shares(*flags: object) -> set[tuple[str, str, float | None, int, int]]:
        ran = transom("bench", "plan", path, "--json", *flags)
        assert ran.status == 0, ran.err
        return {
            (each["set"], each["name"], each["stop"]["seconds"], each["threads"], each["runs"])
            for each in json.loads(ran.out)["shares"]
        }

    both = {(seconds, threads) for seconds in (0.2, 1.0) for threads in (1, 2)}
    own = {("own", "dp", *each, 1) for each in both}
    assert shares() == own | {("three", name, *each, 3) for name in ("steady", "greedy") for each in both}
    assert shares("--seconds", 3, "--threads", 1, "--solver", "dp", "--seed", 5, "--seed", 6) == {
        ("three", "dp", 3.0, 1, 6)
    }
    assert {each[2] for each in shares("--iterations", 4)} == {None}
    assert {each[0] for each in shares("--instances", three, "--problem", "knapsack")} == {"three"}
    assert {each[4] for each in shares("--take", 2)} == {1, 2}  # at most
    told = json.loads(transom("bench", "plan", path, "--json", "--workers", 2).out)
    assert told["seconds"] == pytest.approx((6 * 2 * (0.2 + 1) + 2 * (0.2 + 1)) / 2)
    assert told["seconds_with_grace"] == pytest.approx(told["seconds"] + told["runs"] * 1.5 / 2)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ([], "a plan, the name of a suite or --instances FILE is needed"),
        (["smok"], "did you mean 'smoke'"),
        (["smoke", "--problem", "knapsack"], "--problem does not go with a plan"),
        (["smoke", "--seed", "4-2"], "the range is empty"),
        (["smoke", "--seed", "0-9999999999999"], "more than 1,000,000 seeds"),
        (["smoke", "--seed", "x"], "expected a number >= 0 or a range"),
        (["smoke", "--seconds", "0"], "seconds must be > 0"),
        (["smoke", "--grace", "-1"], "--grace must be > 0"),
        (["smoke", "--solver", "absent"], "unknown solver 'absent'"),
        (["smoke", "--force", "--only", "failed"], "do not go together"),
        (["smoke", "--on", "moon"], "unknown engine 'moon'"),
        (["--instances", "absent.json"], "absent.json: no such file"),
        (["--instances", "{three}", "--solver", "scas-dp"], "takes nothing in this plan"),
        (["--instances", "{three}", "--solver", "a=dp", "--solver", "a=greedy"], "two are called 'a'"),
    ],
)
def test_what_is_wrong_is_one_line(transom: Command, three: Path, tmp_path: Path, flags: list[str], words: str) -> None:
    ran = transom("bench", "run", *(flag.format(three=three) for flag in flags), "--out", tmp_path / "r")
    assert ran.status == 2
    assert words in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not (tmp_path / "r").exists()


def test_a_solver_that_takes_nothing_is_a_line(
    transom: Command, three: Path, tmp_path: Path, in_process: InProcess
) -> None:
    flags = ["--instances", three, "--solver", "scas-dp", "--solver", "greedy", "--seconds", 0.5]
    ran = transom("bench", "run", *flags, "--out", tmp_path / "r")
    assert ran.status == 0, ran.err
    assert "scas-dp takes no instance of this plan: it solves Allocation problems" in ran.err.splitlines()
    assert set(read_results(tmp_path / "r")["name"]) == {"greedy"}
    planned = transom("bench", "plan", *flags)
    assert "scas-dp takes no instance of this plan: it solves Allocation problems" in planned.out.splitlines()
    told = json.loads(transom("bench", "run", *flags, "--out", tmp_path / "r", "--json").out)
    assert [(each["name"], each["instances"]) for each in told["unsuited"]] == [("scas-dp", 3)]


def test_a_full_disk_is_one_line(
    transom: Command, three: Path, tmp_path: Path, in_process: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = ["bench", "run", "--instances", three, "--solver", "steady", "--iterations", 9, "--out", tmp_path / "r"]

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("transom._system.journal.os.write", full)
        ran = transom(*flags)
    assert ran.status == 2
    assert (
        ran.err.splitlines()[-1]
        == f"error: {tmp_path}/r: cannot be written: No space left on device; what is there is kept"
    )
    assert transom(*flags).status == 0
    assert len(read_results(tmp_path / "r")) == 3


# Real processes from here on.

COUNTING = '''
import os
import time
from dataclasses import dataclass
from transom.models import Knapsack

@dataclass(frozen=True)
class Counting:
    """Works for a while, then leaves a line in a file; it does not come to an end where there are too many of them."""
    solves = Knapsack
    name = "counting"
    seconds: float = 0.04
    def supports(self, problem):
        return None
    def __call__(self, problem, budget, rng, start=None):
        time.sleep(self.seconds)
        with open(os.environ["COUNTED"], "a") as file:
            file.write("run\\n")
        while len(open(os.environ["COUNTED"]).readlines()) >= int(os.environ["COUNTED_UP_TO"]):
            time.sleep(0.01)
        return [False] * len(problem)
'''


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A solver of the name ``counting``, known to processes that are started; its file has a line for every run."""
    folder = tmp_path / "site"
    info = folder / "transom_counting-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "counting_solver.py").write_text(COUNTING)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: transom-counting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[transom.solvers]\ncounting = counting_solver:Counting\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("COUNTED", str(tmp_path / "counted"))
    (tmp_path / "counted").touch()
    return tmp_path / "counted"


def start(*arguments: object, up_to: int = 10**9) -> subprocess.Popen[str]:
    """A command of which no run ends any more when the file has so many lines."""
    command = [sys.executable, "-c", "from transom.cli import main; main()", *map(str, arguments)]
    environment = {**os.environ, "COUNTED_UP_TO": str(up_to)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def wait_for(path: Path, count: int, process: subprocess.Popen[str]) -> None:
    """Until a file has so many lines."""
    while not path.exists() or lines(path) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


@pytest.mark.parametrize(("kills", "seeds"), [(1, 3), pytest.param(3, 7, marks=pytest.mark.long)])
def test_killed_again_and_again_until_it_is_done(
    three: Path, tmp_path: Path, counted: Path, kills: int, seeds: int
) -> None:
    """Every run ends up in the store once; none that was stored is done a second time."""
    store, runs, workers = tmp_path / "r", 3 * seeds, 2
    flags = ["bench", "run", "--instances", three, "--solver", "counting", "--seed", f"1-{seeds}", "--iterations", 1]
    flags += ["--workers", workers, "--out", store]
    dice = random.Random(5)
    for _ in range(kills):
        soon = lines(counted) + dice.randint(1, 3)
        process = start(*flags, up_to=soon + 2)
        wait_for(counted, soon, process)
        time.sleep(dice.random() * 0.05)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        read_results(store)  # readable after every death
    process = start(*flags)
    ended, err = process.communicate()
    assert process.returncode == 0, err
    rows = read_results(store)
    assert len(rows) == rows["key"].n_unique() == runs
    assert set(rows["outcome"]) == {"ok"}
    stored = pl.concat([pl.read_parquet(path) for path in parts_of(store)])
    assert stored["key"].n_unique() == len(stored)
    assert stored["attempt"].to_list() == [1] * runs
    # What was at work when the bench died is lost, and what had just ended; nothing else is done again.
    assert runs <= lines(counted) <= runs + kills * 4 * workers
    assert f"counting 1 iterations {runs} {runs}" in " ".join(ended.split())


def test_interrupted_and_used_by_another(transom: Command, three: Path, tmp_path: Path, counted: Path) -> None:
    """One store has one writer; Ctrl-C keeps what is finished."""
    store = tmp_path / "r"
    flags = ["bench", "run", "--instances", three, "--solver", "counting:seconds=0.2", "--seed", "0-3"]
    flags += ["--iterations", 1, "--workers", 2, "--out", store]
    process = start(*flags, up_to=8)
    wait_for(store / "journal.jsonl", 4, process)
    second = transom("bench", "run", "--instances", three, "--solver", "steady", "--out", store)
    assert second.status == 2
    assert f"in use: process {process.pid} on " in second.err
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert re.search(r"\d+ runs? finished; the same command goes on with the others", err)
    kept = len(read_results(store))
    assert 4 <= kept < 12
    done = lines(counted)
    process = start(*flags, "--json")
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert json.loads(out)["done"] == 12 - kept
    assert lines(counted) <= done + 12 - kept
    rows = read_results(store)
    assert len(rows) == 12
    assert rows["attempt"].unique().to_list() == [1]
