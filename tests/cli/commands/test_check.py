from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.cli.conftest import Ran
from transom.generate import generate_knapsack, generate_lublin
from transom.io import write_documents
from transom.simulation import simulate
from transom.simulation.core.node_runs import NodeRuns
from transom.simulation.nodes.lowest_idle import assign_nodes
from transom.simulation.output.recording import write_schedule
from transom.traces import Workload, write_swf

Transom = Callable[..., Ran]


@pytest.fixture
def instances(tmp_path: Path) -> Path:
    path = tmp_path / "set.jsonl"
    rng = np.random.default_rng(0)
    write_documents(path, [generate_knapsack("uncorrelated", 20, 100, rng) for _ in range(4)])
    return path


@pytest.fixture
def solved(transom: Transom, instances: Path, tmp_path: Path) -> Path:
    path = tmp_path / "results.jsonl"
    assert transom("solve", instances, "--solver", "dp", "--seconds", 60, "--out", path).status == 0
    return path


@pytest.fixture(scope="module")
def workload() -> Workload:
    return generate_lublin(200, 64, np.random.default_rng(1), load=0.9)


@pytest.fixture(scope="module")
def trace(workload: Workload, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "small.swf"
    write_swf(workload, path)
    return path


def altered(path: Path, change: Callable[[dict[str, Any]], None], line: int = 1) -> None:
    rows = [json.loads(row) for row in path.read_text().splitlines()]
    change(rows[line])
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_sound_results(transom: Transom, instances: Path, solved: Path) -> None:
    ran = transom("check", instances, solved)
    assert (ran.status, ran.out, ran.err) == (0, f"{solved}: all sound: 4 x optimal knapsack\n", "")


def test_order_and_number_of_results_do_not_matter(transom: Transom, instances: Path, solved: Path) -> None:
    rows = solved.read_text().splitlines(keepends=True)
    solved.write_text("".join([rows[3], rows[1], rows[1]]))
    ran = transom("check", instances, solved)
    assert (ran.status, ran.out) == (0, f"{solved}: all sound: 3 x optimal knapsack\n")
    assert ran.err == f"{instances}: 2 of 4 instances without a result\n"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda row: row.update(value=row["value"] + 1, bound=row["bound"] + 1), "the solution is worth"),
        (lambda row: row.update(solution=list(range(20))), "exceeds the capacity"),
        (lambda row: row.update(status="infeasible"), "infeasible is claimed, but there is a solution"),
        (lambda row: row.update(bound=None, gap=None), "optimal is claimed, but the value is"),
    ],
)
def test_wrong_results_are_named(
    transom: Transom, instances: Path, solved: Path, change: Callable[[dict[str, Any]], None], says: str
) -> None:
    altered(solved, change)
    ran = transom("check", instances, solved)
    assert ran.status == 1
    assert ran.out.startswith(f"{solved}:2: ")
    assert says in ran.out
    assert ran.out.splitlines()[-1] == f"{solved}: 1 of 4 wrong"
    told = transom("check", instances, solved, "--json")
    assert told.status == 1
    assert told.lines[0]["sound"] is False
    assert [bool(each["wrong"]) for each in told.lines[0]["checked"]] == [False, True, False, False]
    assert told.lines[0]["checked"][1]["instance"] == f"{instances}:2"


def test_a_result_for_another_instance_is_bad_input(transom: Transom, instances: Path, solved: Path) -> None:
    altered(solved, lambda row: row.update(instance="0" * 32), 2)
    ran = transom("check", instances, solved)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == f"error: {solved}:3: is for instance {'0' * 32}, which {instances} does not hold\n"


def test_a_sound_replay(transom: Transom, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["simulate", trace, "--start", 20, "--jobs", 150, "--nodes", 80, "--out", out, "--no-figures"]
    assert transom(*arguments, "--policy", "fcfs-easy", "--policy", "sjf").status == 0
    ran = transom("check", trace, out)  # cut and read as when it was recorded
    assert (ran.status, ran.out) == (0, f"{out}: all sound: 2 x schedule of 150 jobs\n")
    assert transom("check", trace, out / "sjf", "--json").lines[0] == {
        "sound": True,
        "checked": [{"where": str(out / "sjf"), "instance": str(trace), "what": "schedule of 150 jobs", "wrong": []}],
    }
    other = transom("check", trace, out, "--jobs", 149)
    assert other.status == 2
    assert other.err.startswith(f"error: {out / 'fcfs-easy' / 'jobs.parquet'}: is a replay of another workload than")


def test_a_wrong_replay_is_named(transom: Transom, trace: Path, workload: Workload, tmp_path: Path) -> None:
    schedule = simulate(workload, "fcfs-easy")
    runs = assign_nodes(schedule)
    # Everything one node further up: nothing clashes, but there is no such node.
    write_schedule(schedule, tmp_path, NodeRuns(runs.offsets, runs.first + 1, runs.last + 1))
    ran = transom("check", trace, tmp_path)
    assert ran.status == 1
    assert "the machine has 0 to 63" in ran.out
    # All jobs on the lowest nodes, whoever is there.
    offsets, nodes = np.arange(len(workload) + 1), workload.jobs.nodes
    write_schedule(schedule, tmp_path, NodeRuns(offsets, np.zeros_like(nodes), nodes - 1))
    ran = transom("check", trace, tmp_path)
    assert ran.status == 1
    assert "node 0 is held by jobs" in ran.out
    write_schedule(schedule, tmp_path, runs)
    assert transom("check", trace, tmp_path).status == 0


def test_promises_of_a_replay_are_judged(transom: Transom, trace: Path, tmp_path: Path) -> None:
    arguments = ["simulate", trace, "--policy", "sjf-conservative", "--out", tmp_path, "--no-figures"]
    assert transom(*arguments).status == 0
    folder = tmp_path / "sjf-conservative"
    assert transom("check", trace, folder).err == ""
    path = folder / "decisions.parquet"
    table, card = pl.read_parquet(path), {"transom": pl.read_parquet_metadata(path)["transom"]}
    later = table.with_columns(promised_starts=pl.col("promised_starts").list.eval(pl.element().replace(-1, 10**9)))
    later.write_parquet(path, metadata=card)
    ran = transom("check", trace, folder)
    assert ran.status == 1
    assert "is promised a start, but does not wait" in ran.out
    table.drop("promised_jobs", "promised_starts").write_parquet(path, metadata=card)
    ran = transom("check", trace, folder)
    assert ran.status == 0
    assert "recorded with one promise a pass, not all of them; promises are not checked" in ran.err
