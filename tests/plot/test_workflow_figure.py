"""The picture of workflows: a graph and bars."""

from __future__ import annotations

import numpy as np
import pytest

from transom import Stop, solve
from transom.errors import ModelError
from transom.generate.instances.workflows import random_workflow
from transom.models import Workflow
from transom.plot.workflow import workflow_figure


def test_graph_and_bars() -> None:
    flow = random_workflow(np.random.default_rng(1), "layered", 20, largest=4).on(6)
    found = {rule: solve(flow, rule, Stop(seconds=5)).solution for rule in ("heft", "lpt")}
    figure = workflow_figure(flow, found, "all $of$ it")
    graph, heft, lpt = figure.axes
    assert len(graph.lines) == len(flow.edges)
    assert graph.get_title(loc="left").endswith(f"20 tasks, {len(flow.edges)} edges")
    for axes, name in ((heft, "heft"), (lpt, "lpt")):
        assert axes.get_title(loc="left") == f"{name}: {flow.value(found[name]):,.6g} s"
        assert len(axes.collections[0].get_paths()) == flow.nodes.sum()
        assert axes.get_ylim() == (0, 6)


def test_no_two_tasks_share_a_node() -> None:
    from transom.plot.workflow import _lanes

    flow = random_workflow(np.random.default_rng(2), "fork-join", 40, largest=4).on(9)
    starts = solve(flow, "longest-path", Stop(seconds=5)).solution
    lanes = _lanes(flow, starts)
    assert max(node for _, node in lanes) < 9
    ends = starts + flow.durations
    for task, node in lanes:
        for other, same in lanes:
            assert task == other or node != same or ends[task] <= starts[other] or ends[other] <= starts[task]


def test_what_is_refused() -> None:
    flow = Workflow("w", ["a", "b"], [1, 1]).on(1)
    with pytest.raises(ModelError, match="no solution to draw"):
        workflow_figure(flow, {})
    with pytest.raises(ModelError, match="figure: x: at 0 s 2 of nodes are in use"):
        workflow_figure(flow, {"x": [0, 0]})
    many = Workflow("w", [f"t{i}" for i in range(2001)], [1] * 2001)
    with pytest.raises(ModelError, match="2001 tasks, at most 2000"):
        workflow_figure(many, {"x": [0] * 2001})
