"""OR-Tools' knapsack solvers in their worker process."""

from __future__ import annotations

import os
import signal
import threading
import time
from time import process_time

import numpy as np
import psutil
import pytest

from tests.timing import used
from transom import Stop, solve
from transom.generate.instances.knapsacks import generate_knapsack
from transom.models import Knapsack
from transom.result import Result
from transom.solvers.backends import worker_process
from transom.solvers.knapsack.ortools_knapsack import OrToolsKnapsack

HARD = generate_knapsack("subset-sum", 60, 10**8, np.random.default_rng(1))
EASY = generate_knapsack("uncorrelated", 30, 100, np.random.default_rng(1))


def workers() -> list[int]:
    return [process._process.pid for _, process in worker_process._idle]


def kill_at_work(pids: list[int]) -> None:
    """Kill processes once one of them is at work."""
    processes = [psutil.Process(pid) for pid in pids]

    def worked() -> float:
        return sum(sum(process.cpu_times()[:2]) for process in processes)

    before = worked()
    while worked() - before < 0.1:
        time.sleep(0.01)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def test_the_worker_is_used_again() -> None:
    solve(EASY, "ortools-knapsack")
    before = workers()
    for algorithm in ("dp", "64items", "branch-and-bound", "divide-and-conquer"):
        assert solve(EASY, OrToolsKnapsack(algorithm=algorithm)).status == "optimal"
    assert workers() == before


@pytest.mark.parametrize("algorithm", ["64items", "branch-and-bound"])
def test_a_search_beyond_the_budget_is_ended(algorithm: str) -> None:
    def run() -> Result:
        result = solve(HARD, f"ortools-knapsack:algorithm={algorithm}", Stop(seconds=0.3))
        assert (result.status, result.error) == ("feasible", None)
        assert result.reason == "time" or result.parameters["ended"] == "by its own time limit"
        return result

    # By the clock: the search runs in another process. Tried again where others hold the processor.
    assert any(run().seconds <= 0.6 for _ in range(10))
    assert solve(EASY, "ortools-knapsack").status == "optimal"


def test_on_cpu_time_an_early_answer_is_kept_and_the_search_goes_on_to_the_end() -> None:
    for _ in range(2):  # no answer of the search that was ended is left
        result = solve(HARD, "ortools-knapsack", Stop(seconds=0.3), clock=process_time)
        assert (result.status, result.reason, result.error) == ("feasible", "time", None)
    assert solve(EASY, "ortools-knapsack", Stop(seconds=5), clock=process_time).status == "optimal"


def test_memory_is_bounded() -> None:
    result = solve(HARD, OrToolsKnapsack(memory=40), Stop(seconds=200))
    assert (result.status, result.reason) == ("feasible", "finished")
    assert result.parameters["ended"] == "out of memory"
    assert result.seconds < 100
    assert solve(EASY, OrToolsKnapsack(memory=40)).status == "optimal"


def test_a_dead_worker_is_an_error_of_that_run_only() -> None:
    solve(EASY, "ortools-knapsack")
    killer = threading.Thread(target=kill_at_work, args=(workers(),))
    killer.start()
    result = solve(HARD, "ortools-knapsack", Stop(seconds=60))
    killer.join()
    assert result.reason == "error"
    assert "worker process" in (result.error or "")
    assert result.value is not None
    assert solve(EASY, "ortools-knapsack").status == "optimal"


def test_a_worker_that_died_in_between_is_replaced() -> None:
    solve(EASY, "ortools-knapsack")
    for pid in workers():
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert solve(EASY, "ortools-knapsack").status == "optimal"


def test_the_worker_is_ready_before_the_clock_starts() -> None:
    small = Knapsack([60, 100, 120], [1, 2, 3], 5)
    assert used(lambda: solve(small, OrToolsKnapsack(memory=300)), 0.1) < 0.1
