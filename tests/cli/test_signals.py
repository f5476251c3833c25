"""Every command that runs for long ends in order on SIGINT, SIGTERM and SIGHUP, whatever it has inherited."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from transom._system.signals import ends_in_order
from transom.generate import hard_knapsack
from transom.io import write_documents

ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
PLAN = """
format = "transom/dataset/1"
name = "windows"
licence = "CC0-1.0"
shard = 5

[[sets]]
recipe = "tjap"
count = 100000
parameters = { family = "fragmented" }
"""


def simulate(folder: Path, trace: Path) -> tuple[list[object], str]:
    slow = "window:solver=[sa:steps=100000000],seconds=0.2,size=20"
    policies = ["--policy", "fcfs-easy", "--policy", f"slow={slow}"]
    return ["simulate", trace, *policies, "--out", folder / "out"], "out/fcfs-easy/jobs.parquet"


def solve(folder: Path, _: Path) -> tuple[list[object], str]:
    return ["solve", hard(folder), *SLOW, "--out", folder / "out.jsonl"], "out.jsonl"


def bench(folder: Path, _: Path) -> tuple[list[object], str]:
    runs = ["--seed", "0-9", "--workers", 1]
    return ["bench", "run", "--instances", hard(folder), *SLOW, *runs, "--out", folder / "out"], "out/*"


def hard(folder: Path) -> Path:
    rng, path = np.random.default_rng(1), folder / "hard.jsonl"
    write_documents(path, [hard_knapsack("strongly-correlated", rng, 200) for _ in range(100)])
    return path


SLOW = ["--solver", "sa:steps=100000000", "--seconds", 0.3]


def generate(folder: Path, _: Path) -> tuple[list[object], str]:
    (folder / "plan.toml").write_text(PLAN)
    return ["generate", "dataset", folder / "plan.toml", "--out", folder / "out"], "out/.shards/[0-9]*.json"


def train(folder: Path, trace: Path) -> tuple[list[object], str]:
    few = "batch=50,hidden=[8,8],window=20,validate_every=1,against=fcfs-easy"
    return ["train", "dras", trace, "--decisions", 10**7, "--settings", few, "--out", folder / "out"], "out/*"


def ignoring_sigint() -> None:
    """As a shell starts what a script puts behind ``&``, whatever started the tests (``nohup`` ignores SIGHUP)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def ignoring_and_blocking() -> None:
    ignoring_sigint()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)


@pytest.mark.parametrize(
    ("command", "number", "inherits"),
    [
        *((command, ENDING[i % 3], ignoring_sigint) for i, command in enumerate((simulate, generate, bench, train))),
        (simulate, signal.SIGTERM, ignoring_and_blocking),
        *(
            pytest.param(command, number, ignoring_and_blocking, marks=pytest.mark.long)
            for command in (simulate, solve, generate, bench, train)
            for number in ENDING
        ),
    ],
)
def test_a_command_that_was_started_with_signals_ignored_can_be_stopped(
    trace: Path, tmp_path: Path, command: Callable[..., tuple[list[object], str]], number: int, inherits: object
) -> None:
    words, begun = command(tmp_path, trace)
    with subprocess.Popen(
        [sys.executable, "-m", "transom", *map(str, words)],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=inherits, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        while not list(tmp_path.glob(begun)) and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(number)
        try:
            assert process.wait(600) == 130, process.stderr.read()
        finally:
            process.kill()
        told = process.stderr.read()
    assert told.splitlines()[-1] == "interrupted: what was finished is kept"
    assert "Traceback" not in told


@pytest.mark.parametrize("behind", [signal.SIG_DFL, signal.SIG_IGN])
def test_handlers_come_back(behind: signal.Handlers) -> None:
    """A SIGHUP that is ignored ends a command where its SIGTERM was ignored as well."""
    before = {each: signal.getsignal(each) for each in ENDING}
    try:
        for each in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, behind)
        with ends_in_order():
            for each in ENDING:
                with pytest.raises(KeyboardInterrupt):
                    signal.raise_signal(each)
        assert [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)] == [behind] * 2
    finally:
        for each in ENDING:
            signal.signal(each, before[each] or signal.SIG_DFL)


@pytest.mark.skipif(shutil.which("nohup") is None, reason="needs nohup")
@pytest.mark.parametrize("script", ['nohup "$@" & wait', 'exec nohup env A=1 "$@"'])
def test_what_nohup_starts_outlives_its_terminal(script: str) -> None:
    """Typed and in a script, which has it ignore SIGINT, too; SIGTERM ends it."""
    command = [sys.executable, "-c", OUTLIVES]
    done = subprocess.run(
        ["sh", "-c", script, "sh", *command], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.stdout == "alive, and ended in order\n", done.stderr


OUTLIVES = """
import signal
from transom._system.signals import ends_in_order
try:
    with ends_in_order():
        signal.raise_signal(signal.SIGHUP)
        print("alive, ", end="")
        signal.raise_signal(signal.SIGTERM)
except KeyboardInterrupt:
    print("and ended in order")
"""
