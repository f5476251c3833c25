"""Workers side by side: every task has one row, nothing is taken too early, nothing is left behind."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread, Timer

import psutil
import pytest

from tests.bench.faulty import knapsack, task
from transom._system.signals import sigint_masked_for_pools
from transom.bench.plan.task import Task
from transom.bench.run.engine import Engine, EngineError
from transom.bench.run.execution import run_task
from transom.bench.run.heartbeat import WorkerStatus
from transom.bench.run.isolation import Closed, Isolation
from transom.bench.run.local_engine import LocalEngine
from transom.errors import ModelError
from transom.stop import Stop

pytestmark = pytest.mark.usefixtures("faulty_solvers")

KINDS = {"steady": 30, "greedy": 0, "sa": 3000}


def plain_tasks() -> list[Task]:
    """Runs whose results depend on nothing but the task."""
    return [
        task(spec, knapsack(20, seed), stop=Stop(iterations=iterations), seed=seed)
        for seed in range(3)
        for spec, iterations in KINDS.items()
    ]


def test_rows_are_those_of_this_process_and_workers_are_warm_and_bounded() -> None:
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
    assert 0 < sum(row.cold is not None for row in rows.values()) <= 2 * len(KINDS)


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
    assert len(list(tmp_path.glob("transom-bench-*"))) == 2
    assert len(taken) <= 2 + 2 * 2
    begun = time.monotonic()
    rows.close()
    assert time.monotonic() - begun < 60
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


def test_a_worker_that_cannot_start_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transom.bench.run.isolation.begin", _cannot_begin)
    with pytest.raises(EngineError, match="no worker process starts"):
        list(LocalEngine(1).run(iter([task("steady")])))


def _cannot_begin(*_: object) -> None:
    os._exit(5)


def test_stopping_does_not_wait_for_a_worker_that_never_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transom.bench.run.isolation.begin", _never_begins)
    isolation = Isolation()
    timer = Timer(0.5, isolation.stop)
    timer.start()
    begun = time.monotonic()
    with pytest.raises(Closed):
        isolation.run_one(task("steady"))
    isolation.close()
    assert time.monotonic() - begun < 60  # a start may take two minutes
    timer.join()


def _never_begins(*_: object) -> None:
    time.sleep(1000)


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


def test_a_worker_can_tell_its_own_children_to_stop() -> None:
    isolation = Isolation()
    try:
        assert isolation.run_one(task("steady")).outcome == "ok"
        lines = Path(f"/proc/{isolation._process.pid}/status").read_text().splitlines()
    finally:
        isolation.close()
    blocked = next(int(line.split()[1], 16) for line in lines if line.startswith("SigBlk"))
    assert not blocked & 1 << (signal.SIGINT - 1)


def test_no_place_for_temporary_files_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    with pytest.raises(EngineError, match="absent: no place for what workers need: No such file or directory"):
        list(LocalEngine(1).run(iter([task("steady")])))


def test_nothing_is_left_where_there_is_no_place_for_all_workers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = []

    def full(path: Path, new: bool) -> WorkerStatus:
        made.append(path)
        if len(made) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return WorkerStatus(path, new)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("transom.bench.run.isolation.WorkerStatus", full)
    with pytest.raises(EngineError, match="no place for what workers need: No space left"):
        list(LocalEngine(2).run(iter([task("steady")])))
    assert list(tmp_path.iterdir()) == []


def test_one_run_in_a_daemonic_process(faulty_solvers: Path) -> None:
    """Workers of other engines are daemonic, which may not have children of their own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run_one, args=(theirs,), daemon=True)
    process.start()
    assert ours.poll(300)
    assert ours.recv() == ["ok", "crash", "ok"]
    process.join(120)
    assert process.exitcode == 0


def _run_one(answers: object) -> None:
    isolation = Isolation()
    outcomes = [isolation.run_one(task(spec)).outcome for spec in ("steady", "faulty:how=segfault", "steady")]
    isolation.close()
    answers.send(outcomes)


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
    processes = psutil.Process(bench.pid).children(recursive=True)
    begun = cpu_time(processes)
    while cpu_time(processes) - begun < 0.1:  # until the second run is at it
        time.sleep(0.05)
    return bench, processes


def cpu_time(processes: list[psutil.Process]) -> float:
    """What processes have used of processors so far [s]."""
    return sum(process.cpu_times().user for process in processes)


def test_ctrl_c_ends_a_run_that_hears_nothing(tmp_path: Path) -> None:
    bench, workers = started(tmp_path, 1000.0)
    assert len(workers) >= 1
    bench.send_signal(signal.SIGINT)
    out, _ = bench.communicate(timeout=120)
    assert out == "interrupted\n"
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert alive == []


def test_a_spinning_worker_dies_with_the_bench(tmp_path: Path) -> None:
    bench, workers = started(tmp_path, 1000.0)
    bench.kill()
    bench.communicate()
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert alive == []


def test_a_spinning_worker_is_ended_by_the_kernel_while_the_bench_is_stopped(tmp_path: Path) -> None:
    bench, workers = started(tmp_path, 5.0)
    spinning = next(worker for worker in workers if "spawn_main" in " ".join(worker.cmdline()))
    bench.send_signal(signal.SIGSTOP)
    deadline = time.monotonic() + 120
    while spinning.is_running() and spinning.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
        time.sleep(0.1)
    assert time.monotonic() < deadline
    bench.send_signal(signal.SIGCONT)
    out, _ = bench.communicate(timeout=120)
    assert out == "timeout\n"
