"""Recordings and resumed runs of replays on a tree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from transom.errors import DocumentError, ModelError
from transom.generate import generate_lublin
from transom.models import AUTHORS, Cluster, FatTree
from transom.simulation import simulate
from transom.simulation.core.schedule import Schedule, Spread
from transom.simulation.nodes.allocator import Allocator
from transom.simulation.nodes.lowest_idle import assign_nodes
from transom.simulation.output.breakdowns import by_size, hops_by_size
from transom.simulation.output.metrics import HOP_METRICS, METRICS, Trim, summary
from transom.simulation.output.recording import read_details, read_node_runs, read_schedule, write_schedule
from transom.simulation.runs import Run, repetitions, replay
from transom.traces import Workload

REGULAR = FatTree.uniform(32, 4, 16)
MIXED = FatTree(np.arange(32) // 4 % 4, np.arange(32) // 4 % 4 // 2)
RUN = Run("nwp", "nwp:period=300", 0, Allocator("scas-dp", cost=AUTHORS))


@pytest.fixture(scope="module")
def workload() -> Workload:
    return generate_lublin(80, 32, np.random.default_rng(2), load=0.9)


def on(tree: FatTree | None, workload: Workload) -> Workload:
    return replace(workload, cluster=Cluster(32, topology=tree))


@pytest.mark.parametrize("tree", [REGULAR, MIXED, FatTree.uniform(32, 5, 100)])
def test_tree_nodes_and_costs_come_back(tree: FatTree, workload: Workload, tmp_path: Path) -> None:
    schedule = simulate(on(tree, workload), "nwp:period=600", allocator=Allocator("sequential"))
    assert schedule.runs is not None
    write_schedule(schedule, tmp_path, schedule.runs)
    back = read_schedule(tmp_path)
    assert back == schedule
    assert back.cluster.topology == tree
    assert back.runs is None
    assert read_node_runs(tmp_path) == schedule.runs
    assert summary(back) == pytest.approx(summary(schedule), nan_ok=True)
    table = pl.read_parquet(tmp_path / "jobs.parquet")
    assert table.columns[11:] == ["hop_cost", "leaves", "pods"]
    decisions = pl.read_parquet(tmp_path / "decisions.parquet")
    assert decisions["allocation_cost"].sum() == pytest.approx(table["hop_cost"].sum())


def test_a_recording_without_the_columns_of_its_tree_is_refused(workload: Workload, tmp_path: Path) -> None:
    schedule = simulate(on(REGULAR, workload), "fcfs")
    write_schedule(replace(schedule, spread=None), tmp_path, assign_nodes(schedule))
    with pytest.raises(DocumentError, match="'hop_cost' is missing"):
        read_schedule(tmp_path)


def test_what_is_finished_is_read_with_its_nodes(workload: Workload, tmp_path: Path) -> None:
    there = on(REGULAR, workload)
    first, read = replay(there, RUN, tmp_path, {"trace": "lublin"})
    assert not read
    again, read = replay(there, RUN, tmp_path)
    assert read
    assert again == first
    assert again.runs == first.runs
    details = read_details(tmp_path / "nwp")
    assert details["topology"] == {"leaf_nodes": 4, "pod_nodes": 16}
    assert details["details"]["allocator"]["solver"] == "scas-dp"
    assert details["details"]["allocator"]["cost"]["same_leaf"] == 1


@pytest.mark.parametrize(
    "change",
    [
        {"allocator": None},
        {"allocator": Allocator("scas-dp")},
        {"allocator": Allocator("sequential", cost=AUTHORS)},
        {"allocator": Allocator("scas-dp", cost=AUTHORS, per_job=True)},
        {"spec": "nwp:period=301"},
    ],
)
def test_another_allocation_is_another_replay(workload: Workload, tmp_path: Path, change: dict[str, object]) -> None:
    there = on(REGULAR, workload)
    replay(there, RUN, tmp_path)
    other = replace(RUN, **change)
    assert not replay(there, other, tmp_path)[1]
    assert not replay(there, RUN, tmp_path)[1], "and back again"
    assert not replay(on(FatTree.uniform(32, 4, 8), workload), RUN, tmp_path)[1], "on another tree too"


def test_repetitions_are_placed_and_kept(workload: Workload, tmp_path: Path) -> None:
    there = on(REGULAR, workload)
    told = [each.figures for each in repetitions(there, RUN, 60, 2, tmp_path)]
    assert all(each["mean_hop_cost"] > 0 for each in told)
    for kept, one in zip(repetitions(there, RUN, 60, 2, tmp_path), told, strict=True):
        assert kept.figures == pytest.approx(one, nan_ok=True)
    plain = next(repetitions(there, replace(RUN, allocator=Allocator(cost=AUTHORS)), 60, 1, tmp_path)).figures
    assert plain["mean_wait"] == told[0]["mean_wait"]
    assert plain["mean_hop_cost"] > told[0]["mean_hop_cost"]


def test_figures_of_hops(workload: Workload) -> None:
    schedule = simulate(on(REGULAR, workload), "fcfs-easy", allocator=Allocator("best-fit"))
    assert schedule.spread is not None
    trim = Trim(head_fraction=0.25)
    told, kept = summary(schedule, trim=trim), trim.kept(schedule)
    assert tuple(told) == (*METRICS, *HOP_METRICS)
    assert told["mean_hop_cost"] == pytest.approx(schedule.spread.hop_cost[kept].mean())
    assert told["total_hop_cost"] == pytest.approx(schedule.spread.hop_cost[kept].sum())
    assert told["mean_leaves"] == pytest.approx(schedule.spread.leaves[kept].mean())
    assert told["mean_pods"] == pytest.approx(schedule.spread.pods[kept].mean())
    hops, groups = hops_by_size(schedule, trim=trim), by_size(schedule, trim=trim)
    assert hops.keys() == groups.keys()
    total = sum(hops[label].hop_cost * groups[label].jobs for label in hops if groups[label].jobs)
    assert total == pytest.approx(told["total_hop_cost"])
    assert hops["1"].hop_cost == 0
    assert hops_by_size(simulate(on(None, workload), "fcfs")) == {}


def test_a_spread_is_of_the_jobs_of_its_schedule(workload: Workload) -> None:
    schedule = simulate(on(REGULAR, workload), "fcfs")
    with pytest.raises(ModelError, match="the spread of 1 jobs, it has 80"):
        replace(schedule, spread=Spread([1.0], [1], [1]))
    with pytest.raises(ModelError, match="spread: leaves"):
        Spread([1.0], [1, 2], [1])
    assert isinstance(schedule, Schedule)
    assert schedule.digest() == replace(schedule, runs=None).digest()
