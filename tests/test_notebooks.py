"""What a notebook shows, and data frames of what Transom returns."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from typing import Any

import numpy as np
import polars as pl
import pytest

from transom import (
    Allocation,
    Cluster,
    FatTree,
    Job,
    JobTable,
    Knapsack,
    Schedule,
    Selection,
    Workload,
    simulate,
    solve,
    table,
)
from transom.simulation.output.metrics import Trim, summary
from transom.simulation.output.recording import write_schedule
from transom.traces import TracedJob

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def workload() -> Workload:
    jobs = [Job(1, 0, 2, 60, (3,)), Job(2, 5, 4, 30, (0,), user=7, depends_on=(1,)), Job(3, 9, 1, 90, (1,))]
    return Workload.of([TracedJob(job, 20) for job in jobs], Cluster(4, ("gpu",), (4,)), EVIL)


@pytest.fixture(scope="module")
def schedule(workload: Workload) -> Schedule:
    return simulate(workload, "fcfs-easy")


class Cells(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_frames_of_jobs(workload: Workload) -> None:
    frame = workload.to_frame()
    columns = ["job_id", "submit", "nodes", "walltime", "user", "priority", "demand_gpu", "depends_on", "runtime"]
    assert frame.columns == columns
    assert frame.row(1) == (2, 5, 4, 30, 7, -1, 0, [1], 20)
    assert workload.jobs.to_frame().columns[6] == "demand_0"
    assert JobTable([]).to_frame().height == 0


def test_the_frame_of_a_schedule_is_what_is_recorded(schedule: Schedule, tmp_path: Any) -> None:
    frame = schedule.to_frame()
    write_schedule(schedule, tmp_path, assigned(schedule))
    recorded = pl.read_parquet(tmp_path / "jobs.parquet")
    assert recorded.columns[5] == "node_ids"
    assert recorded.drop("node_ids").equals(frame)
    assert (frame["start"] - frame["submit"]).to_list() == schedule.wait.tolist()


def assigned(schedule: Schedule) -> Any:
    from transom.simulation.nodes.lowest_idle import assign_nodes

    return assign_nodes(schedule)


def test_frames_of_results_and_fronts() -> None:
    problem = Selection([[2, 8], [3, 5], [1, 2]], [4, 10], resources=("nodes", "bb"))
    result = solve(problem, "pareto-dp")
    front = result.solution
    assert front is not None
    frame = front.to_frame(problem.terms)
    assert frame.columns == ["nodes", "bb", "jobs"]
    assert frame.select("nodes", "bb").rows() == [tuple(row) for row in front.values.tolist()]
    assert frame["jobs"].to_list() == [np.flatnonzero(row).tolist() for row in front.selections]
    assert front.to_frame().columns[:2] == ["o0", "o1"]
    curve = result.to_frame()
    assert dict(curve.schema) == dict.fromkeys(("seconds", "value", "bound"), pl.Float64)
    assert curve.rows() == list(result.curve)
    assert solve(Knapsack([], [], 0), "greedy").to_frame().columns == ["seconds", "value", "bound"]


def test_summaries(schedule: Schedule) -> None:
    result = solve(Knapsack([6, 10, 12], [1, 2, 3], 5), "dp")
    told = result.summary()
    assert list(told) == ["problem", "solver", "status", "reason", "value", "bound", "gap", "seconds"]
    assert told["value"] == 22
    np.testing.assert_equal(schedule.summary(), summary(schedule))
    trim = Trim(head_fraction=0.4)
    np.testing.assert_equal(schedule.summary(tau=60, trim=trim), summary(schedule, 60, trim))


def test_a_notebook_shows_tables_that_are_escaped(schedule: Schedule, workload: Workload) -> None:
    selection = Selection([[2, 8], [3, 5]], [4, 10], resources=(EVIL, "bb"))
    knapsack = Knapsack(np.arange(500), np.ones(500), 7)
    shown = {
        "fcfs-easy on": schedule,
        "Workload of 3 jobs": workload,
        "Cluster": workload.cluster,
        "Knapsack of 500": knapsack,
        "Selection of 2": selection,
        "Allocation of 1": Allocation(FatTree.k_ary(4), [0, 1, 2], [2]),
        "Result": solve(knapsack, "dp"),
    }
    for title, thing in shown.items():
        html = thing._repr_html_()
        read = Cells(html)
        assert read.tags == {"table", "caption", "tr", "th", "td"}
        assert read.texts[0].startswith(title)
        assert len(html) < 5000
    assert EVIL in Cells(schedule._repr_html_()).texts[0]
    assert "[  0,   1,   2, ..., 497, 498, 499]  shape (500,)" in Cells(knapsack._repr_html_()).texts
    cells = Cells(schedule._repr_html_()).texts
    assert cells[cells.index("utilisation") + 1] == f"{100 * schedule.summary()['utilisation']:.1f} %"
    front = solve(selection, "pareto-dp").solution
    assert front is not None
    for frame in (front, workload.jobs):
        assert "table" in Cells(frame._repr_html_()).tags


def test_the_tables_of_a_workload_and_its_cluster(workload: Workload) -> None:
    told = Cells(workload._repr_html_()).texts
    assert told[0] == f"Workload of 3 jobs: {EVIL}"
    facts = dict(zip(told[1::2], told[2::2], strict=True))
    assert facts == {
        "nodes": "4",
        "gpu": "4",
        "submitted within": "0.0 days",
        "runtime, median": "0.01 h of 0.02 h requested",
        "nodes of a job": "2 (median) to 4",
        "load": "389 %",
    }
    typed = Cluster(16, topology=FatTree.k_ary(4), node_types=[0] * 12 + [1] * 4)
    assert typed.rows() == [("nodes", "16"), ("leaf switches, pods", "8, 4"), ("nodes by type", "0: 12, 1: 4")]
    assert Cells(Workload.of([], Cluster(4))._repr_html_()).texts == ["Workload of 0 jobs: workload", "nodes", "4"]


def test_a_list_is_one_table(schedule: Schedule, workload: Workload) -> None:
    other = simulate(workload, "sjf-easy")
    frame = table([schedule, other])
    assert frame["policy"].to_list() == ["fcfs-easy", "sjf-easy"]
    assert frame["mean_wait"].to_list() == [each.summary()["mean_wait"] for each in (schedule, other)]
    problem = Knapsack([6, 10, 12], [1, 2, 3], 5)
    results = [solve(problem, solver) for solver in ("greedy", "dp")]
    assert table(results).rows() == [tuple(each.summary().values()) for each in results]
    assert table([]).height == 0


def test_tables_import_neither_polars_nor_the_compiler() -> None:
    program = (
        "import sys; from transom import FatTree, Knapsack; "
        "print(len(Knapsack([1], [1], 1)._repr_html_()) > 9, {'numba', 'scipy', 'polars'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "True set()\n"
