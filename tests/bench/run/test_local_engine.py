"""Workers side by side: every task has one row, nothing is taken too early, nothing is left behind."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread, Timer

import psutil
import pytest

from tests.bench.faulty import knapsack, task
from transom._system.signals import sigint_masked_for_pools
from transom.bench.plan.task import Task
from transom.bench.run.engine import Engine, EngineError
from transom.bench.run.execution import run_task
from transom.bench.run.heartbeat import RUNNING, WorkerStatus
from transom.bench.run.isolation import Closed, run_isolated
from transom.bench.run.local_engine import LocalEngine
from transom.bench.run.worker import STATUS
from transom.errors import ModelError
from transom.stop import Stop

pytestmark = pytest.mark.usefixtures("faulty_solvers")

KINDS = {"steady": 30, "greedy": 0, "sa": 3000}


def plain_tasks() -> list[Task]:
    """Runs whose results depend on nothing but the task."""
    return [
        task(spec, knapsack(20, seed), stop=Stop(iterations=iterations), seed=seed)
        for seed in range(2)
        for spec, iterations in KINDS.items()
    ]


def test_rows_are_those_of_this_process() -> None:
    tasks = plain_tasks()
    engine: Engine = LocalEngine(2)
    rows = {row.key: row for row in engine.run(iter(tasks))}
    assert rows.keys() == {run.key() for run in tasks}
    for run in tasks:
        here, there = run_task(run), rows[run.key()]
        assert (there.outcome, there.value, there.bound, there.status, there.reason, there.parameters) == (
            here.outcome,
            here.value,
            here.bound,
            here.status,
            here.reason,
            here.parameters,
        )
        assert there.workers == 2
        assert there.overhead is not None
        assert there.overhead >= 0
        assert there.load is not None
        assert there.cold is not None


def test_tasks_are_taken_as_they_are_needed_and_closing_ends_the_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    taken = []

    def tasks() -> Iterator[Task]:
        for seed in range(1000):
            taken.append(seed)
            yield task("faulty:how=nap", seed=seed, seconds=5.0)

    before = set(psutil.Process().children(recursive=True))
    rows = LocalEngine(2).run(tasks())
    next(rows)
    next(rows)
    assert len(taken) <= 2 + 2 * 2
    rows.close()
    left = [child for child in psutil.Process().children(recursive=True) if child not in before]
    assert [child for child in left if "resource_tracker" not in " ".join(child.cmdline())] == []
    assert not list(tmp_path.glob("transom-bench-*"))


def test_what_the_plan_raises_reaches_the_caller() -> None:
    def tasks() -> Iterator[Task]:
        yield task("steady")
        raise ZeroDivisionError("in the plan")

    with pytest.raises(ZeroDivisionError, match="in the plan"):
        list(LocalEngine(1).run(tasks()))


def test_no_worker_is_an_error_and_no_task_is_no_row() -> None:
    with pytest.raises(ModelError, match="workers must be > 0, got 0"):
        LocalEngine(0)
    assert list(LocalEngine(2).run(iter([]))) == []


def interpreter(folder: Path, code: str) -> str:
    """A programme in place of Python."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{code}\n")
    path.chmod(0o700)
    return str(path)


def test_a_worker_that_cannot_start_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", interpreter(tmp_path, "echo out of order; exit 5"))
    with pytest.raises(EngineError, match="no worker process starts: out of order"):
        list(LocalEngine(1).run(iter([task("steady")])))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "absent"))
    with pytest.raises(EngineError, match="absent: No such file"):
        list(LocalEngine(1).run(iter([task("steady")])))


def test_stopping_does_not_wait_for_a_worker_that_never_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", interpreter(tmp_path, "exec sleep 1000"))
    stopped = Event()
    timer = Timer(0.2, stopped.set)
    timer.start()
    with pytest.raises(Closed):
        run_isolated(task("steady"), stopped=stopped.is_set)
    timer.join()


def test_what_a_thread_starts_gets_no_ctrl_c() -> None:
    masks = []
    with sigint_masked_for_pools():
        thread = Thread(target=lambda: masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
        thread.start()
        thread.join()
        code = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
        assert subprocess.check_output([sys.executable, "-c", code], text=True) == "True\n"
    assert signal.SIGINT in masks[0]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_a_run_has_the_threads_that_it_was_promised() -> None:
    row = run_isolated(task("faulty:how=tell-threads", threads=1))
    assert row.parameters["threads"] == ["1", "1"]
    assert run_isolated(task("faulty:how=tell-threads", threads=2)).parameters["threads"][0] == "2"


def test_no_place_for_temporary_files_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    with pytest.raises(EngineError, match="absent: no place for what workers need: No such file or directory"):
        list(LocalEngine(1).run(iter([task("steady")])))


def test_nothing_is_left_where_a_task_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(path: Path, new: bool = False) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("transom.bench.run.isolation.WorkerStatus", full)
    with pytest.raises(EngineError, match="no place for what workers need: No space left"):
        run_isolated(task("steady"))
    assert list(tmp_path.iterdir()) == []


SCRIPT = """
import sys
from tests.bench.faulty import task
from transom.bench.run.local_engine import LocalEngine

if __name__ == "__main__":
    spin = task("faulty:how=ignore-signals", seconds=float(sys.argv[1]), grace=0.1)
    try:
        for row in LocalEngine(1).run(iter([task("steady"), spin])):
            print(row.outcome, flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def started(folder: Path, seconds: float) -> tuple[subprocess.Popen[str], list[psutil.Process]]:
    """A bench in a process of its own, in the middle of a run that never ends by itself; and its processes."""
    script = folder / "bench.py"
    script.write_text(SCRIPT)
    root = str(Path(__file__).resolve().parents[3])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    bench = subprocess.Popen(
        [sys.executable, str(script), str(seconds)], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert bench.stdout is not None
    assert bench.stdout.readline() == "ok\n"
    processes: list[psutil.Process] = []
    while not any(map(runs, processes)):
        assert bench.poll() is None
        time.sleep(0.05)
        processes = psutil.Process(bench.pid).children(recursive=True)
    return bench, processes


def runs(process: psutil.Process) -> bool:
    """Whether the process of a run has come to the run itself."""
    with suppress(psutil.Error, OSError, ValueError):  # it has ended
        folder = Path(process.cmdline()[-2])
        return int(WorkerStatus(folder / STATUS).stage) == RUNNING
    return False


def test_ctrl_c_ends_a_run_that_hears_nothing(tmp_path: Path) -> None:
    bench, workers = started(tmp_path, 1000.0)
    assert len(workers) >= 1
    bench.send_signal(signal.SIGINT)
    out, _ = bench.communicate(timeout=600)
    assert out == "interrupted\n"
    _, alive = psutil.wait_procs(workers, timeout=600)
    assert alive == []


def test_a_spinning_worker_dies_with_the_bench(tmp_path: Path) -> None:
    bench, workers = started(tmp_path, 1000.0)
    bench.kill()
    bench.communicate()
    _, alive = psutil.wait_procs(workers, timeout=600)
    assert alive == []


def test_a_spinning_worker_is_ended_by_the_kernel_while_the_bench_is_stopped(tmp_path: Path) -> None:
    bench, workers = started(tmp_path, 5.0)
    spinning = next(worker for worker in workers if "transom.bench.run.worker" in " ".join(worker.cmdline()))
    bench.send_signal(signal.SIGSTOP)
    while spinning.is_running() and spinning.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.1)
    bench.send_signal(signal.SIGCONT)
    out, _ = bench.communicate(timeout=600)
    assert out == "timeout\n"
