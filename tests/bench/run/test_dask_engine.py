"""Runs on a real Dask cluster of several processes: the same rows, whoever dies."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import psutil
import pytest

from tests.bench.faulty import dearest, faulty_solvers, knapsack, task
from transom.bench.plan.plan import parse_plan
from transom.bench.plan.task import Row, Task
from transom.bench.run.dask_cluster import DEATHS, SETTINGS, Cluster
from transom.bench.run.dask_engine import DaskEngine
from transom.bench.run.local_engine import LocalEngine
from transom.bench.run.running import Summary, run_plan
from transom.bench.store.store import read_results
from transom.models import Allocation, FatTree, Knapsack, Selection
from transom.stop import Stop

pytestmark = pytest.mark.xdist_group("dask")  # one cluster serves all
pytest.importorskip("distributed")

__all__ = ["faulty_solvers"]

CLOCK_MEMORY_PLACE = {
    *("curve", "seconds", "wall", "cold", "overhead", "memory", "begun", "machine", "load", "workers", "attempt"),
}


@pytest.fixture(scope="module")
def running(faulty_solvers: Path) -> Iterator[Cluster]:
    """A scheduler with three worker processes that runs already, as somebody else would have started it."""
    import dask
    from distributed import LocalCluster

    with (
        dask.config.set(SETTINGS),
        LocalCluster(
            n_workers=3,
            threads_per_worker=1,
            host="127.0.0.1",
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            memory_limit=0,
            silence_logs="CRITICAL",
        ) as started,
    ):
        yield Cluster("dask", address=started.scheduler_address)


@pytest.fixture
def cluster(running: Cluster) -> Cluster:
    """The same, when the workers are back that an earlier test killed."""
    from distributed import Client

    with Client(str(running.address), set_as_default=False) as client:
        client.wait_for_workers(3, timeout=600)
    return running


def worker_pids(cluster: Cluster) -> dict[str, int]:
    """Address and process of each worker."""
    from distributed import Client

    with Client(str(cluster.address), set_as_default=False) as client:
        return {address: found["pid"] for address, found in client.run(_facts).items()}


def _facts() -> dict[str, int]:
    return {"pid": os.getpid()}


def allocation() -> Allocation:
    return Allocation(FatTree.k_ary(4), np.arange(12), np.array([3, 4, 2]))


def problems() -> list[Any]:
    rng = np.random.default_rng(1)
    selection = Selection(rng.integers(1, 9, (8, 2)), np.array([20, 20]))
    return [knapsack(12, 1), allocation(), selection]


def plain_tasks(seeds: int = 1) -> list[Task]:
    """Runs of three types of problems under budgets of iterations."""
    specs = {Knapsack: ("sa", "steady", "greedy"), Allocation: ("sa", "best-fit"), Selection: ("bbsched-ga", "fcfs")}
    return [
        task(spec, problem, stop=Stop(iterations=40), seed=seed, memory=2000)
        for problem in problems()
        for seed in range(seeds)
        for spec in specs[type(problem)]
    ]


def facts(row: Row) -> dict[str, Any]:
    """All of a row that has to be the same wherever it was carried out."""
    found = {name: value for name, value in msgspec.to_builtins(row).items() if name not in CLOCK_MEMORY_PLACE}
    return {**found, "curve": [point[1:] for point in row.curve]}


def by_key(rows: Iterator[Row]) -> dict[str, dict[str, Any]]:
    found = [(row.key, facts(row)) for row in rows]
    assert max(Counter(key for key, _ in found).values()) == 1
    return dict(found)


def test_rows_are_those_of_the_local_engine(cluster: Cluster) -> None:
    tasks = plain_tasks()
    there = by_key(DaskEngine(cluster).run(iter(tasks)))
    here = by_key(LocalEngine(2).run(iter(tasks)))
    assert set(here) == {task.key() for task in tasks}
    other = [(name, there[key][name], fact) for key, row in here.items() for name, fact in row.items()]
    assert [(name, a, b) for name, a, b in other if a != b] == []
    assert {row["outcome"] for row in here.values()} == {"ok"}


@pytest.mark.long
def test_a_store_half_filled_here_is_finished_there(cluster: Cluster, tmp_path: Path) -> None:
    plan = parse_plan(
        'format = "transom/plan/1"\nseeds = [0, 1]\nsolvers = ["sa", "greedy"]\nbudgets = [{iterations = 30}]\n'
        '[[instances]]\ngenerate = "knapsack"\ncount = 2\n',
        "plan.toml",
        tmp_path,
    )

    def interrupt(summary: Summary) -> None:
        if summary.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_plan(plan, tmp_path / "store", LocalEngine(1), progress=interrupt)
    summary = run_plan(plan, tmp_path / "store", DaskEngine(cluster))
    assert (summary.todo, summary.done) == (5, 5)
    run_plan(plan, tmp_path / "here", LocalEngine(2))
    mixed, here = (read_results(tmp_path / name).sort("key") for name in ("store", "here"))
    assert len(mixed) == 8
    same = [name for name in here.columns if name not in CLOCK_MEMORY_PLACE]
    assert mixed.select(same).equals(here.select(same))
    assert run_plan(plan, tmp_path / "store", DaskEngine(cluster)).todo == 0


def test_a_killed_worker_loses_no_row(cluster: Cluster) -> None:
    tasks = [task("faulty:how=nap", seed=seed) for seed in range(9)]
    victim = next(iter(worker_pids(cluster).values()))
    rows: list[Row] = []
    for row in DaskEngine(cluster).run(iter(tasks)):
        rows.append(row)
        if len(rows) == 2:
            os.kill(victim, signal.SIGKILL)
    assert sorted(row.key for row in rows) == sorted(task.key() for task in tasks)
    assert {row.outcome for row in rows} == {"ok"}
    assert victim not in worker_pids(cluster).values()


def test_faults_are_rows(cluster: Cluster) -> None:
    faults = {"segfault": "crash", "spin": "timeout", "memory": "memory", "raise": "error", "infeasible": "wrong"}
    late = {"seconds": 1.0, "grace": 4.0}
    tasks = [
        task(f"faulty:how={how},first=answers", **(late if how == "spin" else {"seconds": 300.0})) for how in faults
    ]
    tasks += [task("steady", seed=seed) for seed in range(2)]
    before = worker_pids(cluster)
    rows = {row.key: row for row in DaskEngine(cluster).run(iter(tasks))}
    assert len(rows) == len(tasks)
    for each, outcome in zip(tasks, faults.values(), strict=False):
        assert rows[each.key()].outcome == outcome, rows[each.key()]
        assert rows[each.key()].cause
        if outcome != "wrong":  # what was handed over came along
            assert rows[each.key()].value == dearest(knapsack())
            assert rows[each.key()].curve
    assert all(rows[each.key()].outcome == "ok" for each in tasks[len(faults) :])
    assert worker_pids(cluster) == before


@pytest.mark.long
def test_a_run_that_kills_its_worker_is_a_crash_and_takes_nobody_with_it(cluster: Cluster) -> None:
    innocent = [task("steady", seed=seed) for seed in range(8)]
    killer = task("faulty:how=kill-parent")
    tasks = [*innocent[:4], killer, *innocent[4:]]
    rows = {row.key: row for row in DaskEngine(cluster).run(iter(tasks))}
    assert len(rows) == len(tasks)
    row = rows.pop(killer.key())
    assert row.outcome == "crash"
    assert "its worker died" in str(row.cause)
    assert int(str(row.cause).split("died ")[1].split()[0]) >= DEATHS
    assert {row.outcome for row in rows.values()} == {"ok"}


@pytest.mark.long
def test_nothing_is_left_on_a_scheduler_that_is_not_ours(cluster: Cluster) -> None:
    from distributed import Client

    tasks = iter([task("steady"), *(task("faulty:how=spin", seconds=600.0, seed=seed) for seed in range(20))])
    rows = DaskEngine(cluster).run(tasks)
    assert next(rows).outcome == "ok"

    def interrupted() -> list[Row]:
        threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        return list(rows)

    with pytest.raises(KeyboardInterrupt):  # which would end the tests if it came before
        interrupted()
    assert len(list(tasks)) > 5  # no more was taken than the workers needed
    with Client(str(cluster.address), set_as_default=False) as client:
        assert len(client.nthreads()) == 3
        while any(client.run(_children).values()) or any(client.processing().values()):
            time.sleep(0.1)
    assert [row.outcome for row in DaskEngine(cluster).run(iter([task("steady")]))] == ["ok"]


def _children() -> list[str]:
    """What runs of the bench there are below a worker of Dask."""
    commands = [str(child.cmdline()) for child in psutil.Process().children()]
    return [command for command in commands if "transom.bench.run.worker" in command]
