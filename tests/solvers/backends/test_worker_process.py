"""What worker processes use is taken from budgets of CPU time, and nothing else is."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from itertools import count
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pytest

from tests.allocation_cases import figure_2
from transom import Stop, solve
from transom._system.cpu_clock import clock_of, cpu_time
from transom.solvers.backends import highs_process, worker_process
from transom.solvers.backends.native import run_deferred
from transom.solvers.backends.worker_process import WorkerProcess
from transom.stop import Budget

WORKER = """
import sys, time
out = sys.stdout.buffer
out.write(b"r")
out.flush()
while question := sys.stdin.buffer.read(1):
    while question == b"b":
        pass
    while question == b"s":
        time.sleep(1000)
    out.write(question)
    out.flush()
"""


START_SLOWLY = """
os.kill(os.getppid(), signal.SIGINT)
while True:
    signal.pause()
"""


@pytest.fixture
def worker(tmp_path: Path) -> WorkerProcess:
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    return WorkerProcess(script, ())


class Looking(Budget):
    """A budget that does something when it is looked at for the so manieth time."""

    def __init__(self, seconds: float, looks: int, then: Callable[[], None]) -> None:
        super().__init__(Stop(seconds=seconds), figure_2(), clock=process_time)
        self.looks, self._at, self._then = 0, looks, then

    def seconds_left(self) -> float:
        self.looks += 1
        if self.looks == self._at:
            self._then()
        return super().seconds_left()


def test_a_worker_that_stands_still_loses_nothing(worker: WorkerProcess) -> None:
    pid = worker._process.pid
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
    # Between two looks, the whole budget passes by the wall clock.
    budget = Looking(0.1, 6, lambda: os.kill(pid, signal.SIGCONT))
    assert worker.ask(b"a", 1, budget) == b"a"
    assert budget.looks >= 6
    assert worker.alive
    assert not budget.done()
    worker.kill()


def test_a_worker_that_works_is_stopped_when_it_has_used_the_budget(worker: WorkerProcess) -> None:
    budget, own, whole = Stop(seconds=0.2).start(figure_2(), clock=process_time), process_time(), cpu_time()
    used = clock_of(worker._process.pid)
    before = used()
    assert worker.ask(b"b", 1, budget) == b""
    assert not worker.alive
    assert used() - before + process_time() - own >= 0.2
    assert used() - before > process_time() - own  # it was the worker
    assert cpu_time() - whole >= 0.2
    assert budget.done()
    assert budget.reason == "time"


@pytest.mark.parametrize("clock", [perf_counter, process_time])
def test_a_grace_ends(worker: WorkerProcess, clock: Callable[[], float]) -> None:
    # It never answers, so that this hangs where a grace begins anew once the budget is over.
    budget = Stop(seconds=0.05).start(figure_2(), clock=clock)
    assert worker.ask(b"b", 1, budget, grace=0.02) == b""
    assert not worker.alive
    assert budget.seconds() >= 0.07


def test_what_a_worker_used_is_charged_to_other_budgets_too(worker: WorkerProcess) -> None:
    other, asking = (Stop(seconds=seconds).start(figure_2(), clock=process_time) for seconds in (60, 0.1))
    assert worker.ask(b"b", 1, asking) == b""
    assert other.seconds() >= 0.1  # it started first


def test_a_worker_that_hangs_is_given_up(worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "_AT_LEAST", 0.0)
    budget = Stop(seconds=0.02).start(figure_2(), clock=process_time)
    assert worker.ask(b"s", 1, budget) == b""
    assert not worker.alive


def test_a_worker_that_works_does_not_hang_however_busy_the_machine_is(
    worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if it took many times as long by the wall clock.
    monkeypatch.setattr(worker_process, "_AT_LEAST", 0.0)
    monkeypatch.setattr(worker_process, "_PATIENCE", 0.7)
    budget = Stop(seconds=0.5).start(figure_2(), clock=process_time)
    assert worker.ask(b"b", 1, budget) == b""
    assert budget.done()
    assert budget.reason == "time"


def hard(items: int) -> highs_process.Programme:
    """Equal parts of each of several kinds of numbers, which takes a search."""
    rng = np.random.default_rng(items)
    weights = rng.integers(1, 100, (5, items)).astype(float)
    weights[:, -5:] = 0
    row, column = np.nonzero(np.ones((5, items)))
    whole = np.arange(items) < items - 5
    weights[np.arange(5), np.arange(items - 5, items)] = 60.0  # slack
    half = np.floor(weights.sum(axis=1) / 2)
    return highs_process.Programme(
        rng.normal(size=items) * whole, half, row, column, weights.ravel(), whole, None, -1, 0, 0.0, -np.inf
    )


def test_highs_is_interrupted_by_any_clock() -> None:
    solve_programme = highs_process.solver()
    if solve_programme is highs_process.by_mathopt:
        pytest.skip("the library of HiGHS is not there")
    looks = count()
    status, bound, _, _ = solve_programme(hard(60), highs_process.Limit(lambda: float(next(looks)), 20.0))
    assert next(looks) >= 20
    assert status in (highs_process.NOTHING, highs_process.FEASIBLE)
    assert bound < np.inf


def test_the_library_of_highs_and_mathopt_agree() -> None:
    endless = highs_process.Limit(lambda: 0.0, np.inf)
    for items in (12, 16, 20):
        found = [each(hard(items), endless) for each in (highs_process.solver(), highs_process.by_mathopt)]
        assert found[0][0] == found[1][0]
        assert found[0][0] in (highs_process.OPTIMAL, highs_process.INFEASIBLE)
        assert found[0][1] == pytest.approx(found[1][1], abs=1e-6)


def test_the_worker_of_a_flow_is_charged() -> None:
    result = solve(figure_2(), "scas-flow", Stop(seconds=20), clock=process_time)
    assert result.status == "optimal"
    before, own = cpu_time(), process_time()
    solve(figure_2(), "scas-flow", Stop(seconds=20), clock=process_time)
    assert cpu_time() - before > process_time() - own


def test_a_limit_of_nodes_beyond_what_highs_can_count_is_none() -> None:
    programme = hard(16)
    endless = highs_process.Limit(lambda: 0.0, np.inf)
    without, beyond = (highs_process.solver()(programme._replace(nodes=nodes), endless) for nodes in (-1, 2**32))
    assert beyond[:3] == without[:3]
    assert without[2] > 0


def test_a_programme_that_highs_refuses_is_an_error() -> None:
    solve_programme = highs_process.solver()
    if solve_programme is highs_process.by_mathopt:
        pytest.skip("the library of HiGHS is not there")
    column = np.zeros(1, np.int64)
    wrong = highs_process.Programme(
        np.ones(1), np.ones(1), column, column + 5, np.ones(1), np.ones(1, np.bool_), None, -1, 0, 0.0, -np.inf
    )
    with pytest.raises(RuntimeError, match="does not take"):
        solve_programme(wrong, highs_process.Limit(lambda: 0.0, np.inf))


def test_an_interrupt_while_a_worker_starts_ends_it(tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text(
        f"import os, signal\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n" + START_SLOWLY
    )
    with pytest.raises(KeyboardInterrupt):
        WorkerProcess(script, ())
    run_deferred()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_worker_is_asked_where_many_files_are_open(tmp_path: Path) -> None:
    soft, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard_limit != resource.RLIM_INFINITY and hard_limit < 1200:
        pytest.skip("no more than 1024 files may be open")
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard_limit))
    many = [os.open(os.devnull, os.O_RDONLY) for _ in range(1050)]
    try:
        worker = WorkerProcess(script, ())
        budget = Stop(seconds=20).start(figure_2(), clock=process_time)
        assert worker.ask(b"a", 1, budget) == b"a"
        worker.kill()
        run_deferred()
    finally:
        for each in many:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard_limit))


def test_a_worker_that_dies_leaves_an_error_and_no_zombie(worker: WorkerProcess) -> None:
    pid = worker._process.pid
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    budget = Stop(seconds=20).start(figure_2(), clock=process_time)
    with pytest.raises(RuntimeError, match="worker process"):
        worker.ask(b"a", 1, budget)
    worker.kill()
    run_deferred()
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
