"""Runs that go wrong: each becomes a row that says what happened, and the next run is not touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from threading import Event, Thread
from time import sleep

import psutil
import pytest

from tests.bench.faulty import task
from transom.bench.plan.task import Outcome
from transom.bench.run import side_effects
from transom.bench.run.heartbeat import RUNNING
from transom.bench.run.isolation import Isolation
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
    for number, how in enumerate(FAULTS):
        # Those alone are ended by the clock whose outcome it is; compiling the spinning loop is part of its run.
        late = {"seconds": 0.5, "grace": 0.3} if FAULTS[how][0] == "timeout" else {"seconds": 300.0}
        tasks += [
            task(f"faulty:how={how}", memory=300, **late),
            task("steady", seed=number),
        ]
    rows = list(LocalEngine(2, preparing=PREPARING).run(iter(tasks)))
    assert sorted(row.key for row in rows) == sorted(run.key() for run in tasks)
    told = {row.spec.removeprefix("faulty:how="): row for row in rows}
    for how, (outcome, cause) in FAULTS.items():
        row = told[how]
        assert row.outcome == outcome, (how, row.cause)
        assert cause in (row.cause or ""), how
        assert row.size == 8
        assert row.sense == "max"
    steady = [row for row in rows if row.name == "steady"]
    assert len(steady) == len(FAULTS)
    assert {row.outcome for row in steady} == {"ok"}
    for how in ("spin", "ignore-signals", "spin-compiled"):
        wall = told[how].wall
        assert wall is not None
        assert 0.8 <= wall < 30
    for how in ("hang-warm", "hang-warm-child"):
        assert told[how].wall is None
        assert float(str(told[how].cause).removesuffix(" s of CPU time").split()[-1]) >= PREPARING
    assert 300 < (told["memory"].memory or 0) < 3000
    assert 300 < (told["child-memory"].memory or 0) < 3000
    assert told["segfault"].cause is not None
    assert "faulty_solvers.py" in told["segfault"].cause or "ctypes" in told["segfault"].cause  # where it was
    assert "line" in told["segfault"].cause


@pytest.fixture
def isolation() -> Iterator[Isolation]:
    made = Isolation(preparing=60.0)
    yield made
    made.close()


def worker(isolation: Isolation) -> psutil.Process:
    """The worker process."""
    assert isolation._process is not None
    process: psutil.Process = isolation._process
    return process


def test_a_worker_killed_while_it_is_idle_costs_no_row(isolation: Isolation) -> None:
    assert isolation.run_one(task("steady")).outcome == "ok"
    for _ in range(2):
        before = worker(isolation)
        os.kill(before.pid, signal.SIGKILL)
        row = isolation.run_one(task("steady"))
        assert (row.outcome, row.cause) == ("ok", None)
        assert worker(isolation).pid != before.pid


def test_a_worker_killed_in_the_middle_of_a_run_costs_that_run_alone(isolation: Isolation) -> None:
    assert isolation.run_one(task("steady")).outcome == "ok"
    pid = worker(isolation).pid

    def kill() -> None:
        while int(isolation._status.stage) != RUNNING:
            sleep(0.001)
        os.kill(pid, signal.SIGKILL)

    # What the first run left in the status is that it is done.
    killer = Thread(target=kill)
    killer.start()
    row = isolation.run_one(task("faulty:how=spin", seconds=60.0))
    killer.join()
    assert row.outcome == "crash"
    assert row.cause == "its process was killed by SIGKILL (by hand, or by the system for want of memory)"
    assert row.wall is not None
    assert isolation.run_one(task("steady")).outcome == "ok"


def napping() -> list[psutil.Process]:
    """Processes that runs of these tests started, and that still sleep."""
    command = ["sleep", f"1000.{os.getpid()}"]
    return [each for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"] == command]


def test_children_of_a_worker_die_with_it(isolation: Isolation) -> None:
    row = isolation.run_one(task("faulty:how=child"))
    assert row.outcome == "crash"
    assert napping() == []


def test_what_a_crashed_worker_had_cast_off_dies_too(isolation: Isolation) -> None:
    assert isolation.run_one(task("faulty:how=cast-off")).outcome == "crash"
    assert napping() == []


@pytest.mark.parametrize(
    "how",
    [
        *("close-output", "leave-folder", "take-alarm", "raise-floats", "lower-limit", "be-nice", "trace"),
        *("leave-thread", "leave-child"),
    ],
)
def test_a_worker_that_a_run_left_otherwise_is_replaced(isolation: Isolation, how: str) -> None:
    assert isolation.run_one(task(f"faulty:how={how}")).outcome == "ok"
    assert isolation._process is None
    assert isolation.run_one(task("faulty:how=print")).outcome == "ok"


def test_a_thread_at_work_is_found_on_a_busy_machine() -> None:
    cores, ended = os.sched_getaffinity(0), Event()

    def spin() -> None:
        while not ended.is_set():
            pass

    os.sched_setaffinity(0, {min(cores)})  # of this thread, and all that it starts
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    thread = Thread(target=spin)
    try:
        before = side_effects.condition()._replace(threads=0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(side_effects, "_children", list)  # those are the others
            assert not side_effects.was_modified(before)
            thread.start()
            assert side_effects.was_modified(before)
    finally:
        ended.set()
        os.sched_setaffinity(0, cores)
        for each in others:
            each.kill()
            each.wait()
    thread.join()


def test_a_worker_with_a_thread_that_waits_is_kept(isolation: Isolation) -> None:
    assert isolation.run_one(task("steady")).outcome == "ok"
    before = worker(isolation)
    assert isolation.run_one(task("faulty:how=leave-idle-thread")).outcome == "ok"
    assert isolation.run_one(task("steady")).outcome == "ok"
    assert worker(isolation) == before


def test_a_copy_of_the_worker_takes_no_runs(isolation: Isolation) -> None:
    rows = [isolation.run_one(task("faulty:how=fork", seed=seed)) for seed in range(3)]
    assert {row.outcome for row in rows} == {"ok"}
    alive = [each for each in worker(isolation).children(recursive=True) if each.status() != psutil.STATUS_ZOMBIE]
    _, alive = psutil.wait_procs(alive, timeout=60)
    assert [each for each in alive if each.status() != psutil.STATUS_ZOMBIE] == []


def test_a_worker_that_grew_is_replaced_before_a_run_that_needs_the_room(isolation: Isolation) -> None:
    assert isolation.run_one(task("steady")).outcome == "ok"
    lean = worker(isolation)
    assert isolation.run_one(task("faulty:how=leak", memory=4096)).outcome == "ok"
    assert isolation.run_one(task("steady", memory=4096)).outcome == "ok"
    assert worker(isolation) == lean
    row = isolation.run_one(task("steady", memory=300))
    assert row.outcome == "ok"
    assert (row.memory or 0) < 200
    assert worker(isolation) != lean
