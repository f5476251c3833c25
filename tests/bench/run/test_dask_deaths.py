"""A scheduler or a worker of a cluster is killed in the middle of a bench: nothing that was finished is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import polars as pl
import psutil
import pytest

from tests.bench.dask_processes import scheduler, worker
from tests.bench.faulty import faulty_solvers
from transom._system.journal import read_lines
from transom.bench.plan.plan import read_plan
from transom.bench.run.local_engine import LocalEngine
from transom.bench.run.running import run_plan
from transom.bench.store.store import read_results

pytest.importorskip("distributed")

__all__ = ["faulty_solvers"]

pytestmark = pytest.mark.long

PLAN = """
format = "transom/plan/1"
solvers = ["sa", "greedy", "nap=faulty:how=nap"]
seeds = [0, 1]
budgets = [{ iterations = 300 }]
[[instances]]
generate = "knapsack"
parameters = { items = 40 }
count = 3
"""
RUNS = 3 * 2 * 3
OF_THE_MOMENT = {
    *("curve", "seconds", "wall", "cold", "overhead", "memory", "begun", "machine", "load", "workers", "attempt"),
}


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def bench(plan: Path, results: Path, address: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "import sys; from transom.cli import main; sys.exit(main())", "bench", "run"]
    return subprocess.Popen(
        [*command, str(plan), "--out", str(results), "--on", f"dask:{address}"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for_rows(results: Path, count: int, process: subprocess.Popen[str]) -> None:
    """Wait until so many runs are in the journal."""
    journal = results / "journal.jsonl"
    while not journal.exists() or sum(1 for _ in read_lines(journal)) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def rows_of(results: Path) -> pl.DataFrame:
    """What has to be the same wherever the runs were carried out."""
    rows = read_results(results).sort("key")
    return rows.select(name for name in rows.columns if name not in OF_THE_MOMENT)


def test_a_killed_scheduler_ends_the_bench_in_a_line_and_a_new_one_finishes_it(
    faulty_solvers: Path, plan: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    with scheduler("--host", "127.0.0.1") as (first, address), worker(address):
        begun = bench(plan, results, address)
        wait_for_rows(results, 3, begun)
        os.kill(first.pid, signal.SIGKILL)
        _, said = begun.communicate(timeout=600)
    assert begun.returncode == 2
    assert "Traceback" not in said
    assert said.splitlines()[-1:] == [
        "error: Dask: the connection to the scheduler was lost; what was finished is kept, and the same command goes "
        "on, with the address of a new scheduler if that is another one"
    ]
    kept = read_results(results)
    assert 3 <= len(kept) < RUNS
    with scheduler("--host", "127.0.0.1") as (_, address), worker(address):
        again = bench(plan, results, address)
        _, said = again.communicate(timeout=600)
    assert again.returncode == 0, said
    assert f"({len(kept)} done before), {RUNS - len(kept)} to do" in said
    run_plan(read_plan(plan), tmp_path / "here", LocalEngine(2))
    assert len(read_results(results)) == RUNS
    assert rows_of(results).equals(rows_of(tmp_path / "here"))
    assert set(read_results(results)["attempt"]) == {1}


@pytest.fixture
def two_workers(faulty_solvers: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    with ExitStack() as stack:
        _, address = stack.enter_context(scheduler("--host", "127.0.0.1"))
        yield address, [stack.enter_context(worker(address, "--no-nanny")) for _ in range(2)]


def test_a_killed_worker_process_costs_no_row(
    two_workers: tuple[str, list[subprocess.Popen[bytes]]], plan: Path, tmp_path: Path
) -> None:
    """Nobody starts this one again: what it had goes to the other."""
    address, workers = two_workers
    results = tmp_path / "results"
    process = bench(plan, results, address)
    wait_for_rows(results, 3, process)
    runs = psutil.Process(workers[0].pid).children(recursive=True)
    os.kill(workers[0].pid, signal.SIGKILL)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 0, said
    assert "Traceback" not in said
    run_plan(read_plan(plan), tmp_path / "here", LocalEngine(2))
    assert len(read_results(results)) == RUNS
    assert rows_of(results).equals(rows_of(tmp_path / "here"))
    _, alive = psutil.wait_procs(runs, timeout=600)
    assert [each for each in alive if each.status() != psutil.STATUS_ZOMBIE] == [], "what it ran went with it"
