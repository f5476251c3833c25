"""Every figure is written as PNG, PDF and SVG, and drawn again it gives the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from tests.plot import test_placement_figure, test_resources
from tests.plot.test_fronts import front_of, window
from tests.plot.test_leaders import SHOWN
from tests.plot.test_solver_curves import LINES
from tests.simulation.output.test_metrics import by_hand
from transom import plot, solve
from transom.generate.instances.workflows import random_workflow
from transom.models import Allocation, FatTree
from transom.plot.placement import placement_figure
from transom.plot.workflow import workflow_figure
from transom.simulation.core.schedule import Schedule

MAGIC = {"png": b"\x89PNG\r\n", "pdf": b"%PDF-", "svg": b"<?xml"}

METRICS = ("mean_wait", "max_wait", "utilisation")

SEARCH = plot.Search([0.001, 0.01], [0.1, 0.0])


def pair() -> list[Schedule]:
    return [by_hand(), replace(by_hand(), policy="other")]


def cluster() -> Figure:
    problem = Allocation(FatTree.k_ary(4), np.arange(12), np.array([5, 4]))
    return plot.allocation_figure(problem, {"sequential": solve(problem, "sequential").solution})


def curves() -> Figure:
    problem = Allocation(FatTree.k_ary(4), np.arange(12), np.array([5, 4]))
    result = solve(problem, "scas-dp")
    drawn = replace(result, seconds=0.5, curve=((0.1, result.value, None), (0.2, result.value, result.bound)))
    return plot.anytime({"scas-dp": drawn}, "a window")


def front(objectives: int) -> Figure:
    problem = window(objectives)
    return plot.front_figure(problem, {"exhaustive": front_of(problem)}, {"knee": ("exhaustive", 0)})


def workflow() -> Figure:
    flow = random_workflow(np.random.default_rng(1), "layered", 8, largest=4).on(6)
    return workflow_figure(flow, {"heft": solve(flow, "heft").solution})


FIGURES: dict[str, Callable[[], Figure]] = {
    "allocation_figure": cluster,
    "anytime": curves,
    "bands": lambda: plot.bands(by_hand()),
    "costs_by_steps": lambda: plot.costs_by_steps([1, 10], {"a": [3.0, 2.0]}, [3.0, 2.5], "annealing", "windows"),
    "decision_times": lambda: plot.decision_times([2, 6], {"bbsched": [0.001, 0.01]}, 0.6, "windows of 20"),
    "front_figure": lambda: front(2),
    "front_figure of one objective": lambda: front(1),
    "front_figure of three objectives": lambda: front(3),
    "gain_over_time": lambda: plot.gain_over_time(pair()),
    "gantt": lambda: plot.gantt(by_hand()),
    "gap_by_seconds": lambda: plot.gap_by_seconds({"a": SEARCH}, {"dp": (0.1, 0.0)}, "windows"),
    "gap_over_time": lambda: plot.gap_over_time(LINES, "windows"),
    "hops_and_waits": lambda: plot.hops_and_waits(["FCFS", "BF"], {"a": [9e4, 8e4]}, [5, 3], "t"),
    "hypervolume_over_time": lambda: plot.hypervolume_over_time(LINES, "windows"),
    "kiviat": lambda: plot.kiviat(pair()),
    "kiviat_of": lambda: plot.kiviat_of({"a": dict.fromkeys(METRICS, 1.0), "b": dict.fromkeys(METRICS, 2.0)}, METRICS),
    "knob_sweep": lambda: plot.knob_sweep([0, 1], {"nodes": [0.5, 0.6]}, {"kept": [1, 0.9]}, "theta"),
    "leaders": lambda: plot.leaders(SHOWN),
    "learning": lambda: plot.learning({"a": [[3.0, 2.0], [5.0, 2.0]]}, {"rule": 2.5}, "made"),
    "overshoots": lambda: plot.overshoots({"auto": np.arange(101) / 1000}, "windows", limit=0.075),
    "parallel": lambda: front(4),
    "performance_profile": lambda: plot.performance_profile(LINES, "windows", "gap of 1 %"),
    "placement_figure": lambda: placement_figure(test_placement_figure.PROBLEM, {"a": test_placement_figure.SOLUTION}),
    "proofs_over_time": lambda: plot.proofs_over_time(LINES, "windows"),
    "targets_reached": lambda: plot.targets_reached(LINES, "windows"),
    "timeline": lambda: plot.timeline(pair()),
    "utilisation_kiviat": lambda: plot.utilisation_kiviat(["nodes", "bb", "gpu"], test_resources.METHODS, "theta"),
    "wait_by_mode": lambda: plot.wait_by_mode(pair()),
    "wait_by_size": lambda: plot.wait_by_size(pair()),
    "weekly": lambda: plot.weekly(pair()),
    "workflow_figure": workflow,
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_same_figure_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    one, other = FIGURES[name](), FIGURES[name]()
    for kind, magic in MAGIC.items():
        written = plot.save(one, tmp_path / f"a.{kind}").read_bytes()
        assert written.startswith(magic)
        assert len(written) > 2000
        assert plot.encoded(other, kind) == written


def test_every_figure_is_here() -> None:
    others = {"Leader", "Line", "Search", "encoded", "figures", "save", "save_figures"}
    assert set(plot.__all__) - others <= set(FIGURES)
