"""Runs that go wrong: each becomes a row that says what happened, and the next run is not touched."""

from __future__ import annotations

import os
from contextlib import suppress
from time import sleep

import psutil
import pytest

from tests.bench.faulty import task
from transom.bench.plan.task import Outcome
from transom.bench.run.isolation import run_isolated
from transom.bench.run.local_engine import LocalEngine

pytestmark = pytest.mark.usefixtures("faulty_solvers")

FAULTS: dict[str, tuple[Outcome, str]] = {
    "raise": ("error", "RuntimeError: deliberate"),
    "leave": ("error", "SystemExit: 3"),
    "interrupt": ("error", "KeyboardInterrupt"),
    "infeasible": ("wrong", "infeasible answer: weight"),
    "wrong-bound": ("wrong", "better than the proved bound"),
    "wrong-value": ("wrong", "the solution is worth 0, not 1000000000"),
    "change-problem": ("wrong", "the result is for instance"),
    "print": ("ok", ""),
    "curve": ("ok", ""),
    "segfault": ("crash", "its process was killed by SIGSEGV"),
    "child": ("crash", "its process was killed by SIGSEGV"),
    "exit": ("crash", "its process ended with status 9: last words"),
    "exit-well": ("crash", "its process ended with status 0"),
    "kill": ("crash", "its process was killed by SIGKILL"),
    "spin": ("timeout", "the run was ended after "),
    "ignore-signals": ("timeout", "the run was ended after "),
    "spin-compiled": ("timeout", "the run was ended after "),
    "memory": ("memory", "the limit is 300 MiB"),
    "child-memory": ("memory", "the limit is 300 MiB"),
    "raise-warm": ("error", "before the run: RuntimeError: cannot get warm"),
    "hang-warm": ("timeout", "warm-up was ended after "),
    "hang-warm-child": ("timeout", "warm-up was ended after "),
    "crash-warm": ("crash", "warm-up: its process ended with status 7"),
}


PREPARING = 4.0
"""CPU time that a warm-up may take; those of the other runs need less [s]."""


def test_every_fault_is_a_row_and_the_bench_goes_on() -> None:
    tasks = []
    for how in FAULTS:
        # Those alone are ended by the clock whose outcome it is; compiling the spinning loop is part of its run.
        late = {"seconds": 0.5, "grace": 0.3} if FAULTS[how][0] == "timeout" else {"seconds": 300.0}
        tasks.append(task(f"faulty:how={how}", memory=300, **late))
    tasks.append(task("steady"))
    rows = list(LocalEngine(2, preparing=PREPARING).run(iter(tasks)))
    assert sorted(row.key for row in rows) == sorted(run.key() for run in tasks)
    told = {row.spec.removeprefix("faulty:how="): row for row in rows}
    for how, (outcome, cause) in FAULTS.items():
        row = told[how]
        assert row.outcome == outcome, (how, row.cause)
        assert cause in (row.cause or ""), how
        assert row.size == 8
        assert row.sense == "max"
    assert told["steady"].outcome == "ok"
    for how in ("spin", "ignore-signals", "spin-compiled"):
        wall = told[how].wall
        assert wall is not None
        assert wall >= 0.8
    for how in ("hang-warm", "hang-warm-child"):
        assert told[how].wall is None
        assert float(str(told[how].cause).removesuffix(" s of CPU time").split()[-1]) >= PREPARING
    for how in ("memory", "child-memory"):
        assert 300 < (told[how].memory or 0) < 9000, "it wanted 10 GiB"
    assert told["segfault"].cause is not None
    assert "faulty_solvers.py" in told["segfault"].cause or "ctypes" in told["segfault"].cause  # where it was
    assert "line" in told["segfault"].cause


def napping() -> list[psutil.Process]:
    """Processes that runs of these tests started, and that still sleep."""
    command = ["sleep", f"1000.{os.getpid()}"]
    return [each for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"] == command]


@pytest.mark.parametrize("how", ["child", "cast-off"])
def test_what_a_crashed_run_had_started_dies_too(how: str) -> None:
    assert run_isolated(task(f"faulty:how={how}")).outcome == "crash"
    while napping():  # for ever, if nobody has killed it
        sleep(0.05)


def runs(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


@pytest.mark.parametrize(
    "how", ["leave-thread", "leave-idle-thread", "leave-child", "fork", "close-output", "take-alarm"]
)
def test_nothing_of_a_run_is_left_behind(how: str) -> None:
    before = set(psutil.Process().children(recursive=True))
    assert run_isolated(task(f"faulty:how={how}")).outcome == "ok"
    left = [each for each in psutil.Process().children(recursive=True) if each not in before]
    while any(map(runs, left)):  # for ever, if nobody has killed it
        sleep(0.05)
