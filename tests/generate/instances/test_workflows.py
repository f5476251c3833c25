"""Random workflows: the shapes of their families, their runtimes, streams, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Ran, transom  # noqa: F401  (a fixture)
from transom import read_workflows
from transom.errors import SpecError
from transom.generate.instances.workflows import LAWS, WORKFLOW_FAMILIES, Runtimes, drawn_runtimes, random_workflow
from transom.generate.recipes import recipe
from transom.models import Workflow


def made(family: str, tasks: int = 40, seed: int = 1, **given: Any) -> Workflow:
    return random_workflow(np.random.default_rng(seed), family, tasks, **given)


@pytest.mark.fast
@pytest.mark.parametrize("family", WORKFLOW_FAMILIES)
@pytest.mark.parametrize("tasks", [1, 2, 3, 40])
def test_families(family: str, tasks: int) -> None:
    for seed in range(10):
        flow = made(family, tasks, seed, largest=8, memory=True)
        assert len(flow) == tasks
        parents, children = np.diff(flow.parents.first), np.diff(flow.children.first)
        if family == "chain":
            assert flow.edges.tolist() == [[i, i + 1] for i in range(tasks - 1)]
        elif family == "out-tree":
            assert parents.tolist() == [0] + [1] * (tasks - 1)
            assert children.max() <= 3
        elif family == "in-tree":
            assert children.tolist() == [1] * (tasks - 1) + [0]
            assert parents.max() <= 3
        elif family == "fork-join":
            assert parents[0] == 0
            assert children[-1] == 0
            assert (parents[1:] > 0).all()
            assert (children[:-1] > 0).all()
        else:
            assert parents.max() <= 3
        assert {*flow.nodes.tolist()} <= {1, 2, 4, 8}
        assert (flow.walltimes >= flow.runtimes).all()
        alike = {*zip(flow.programs, flow.nodes.tolist(), flow.demands[:, 0].tolist(), strict=True)}
        assert len(alike) == len({*flow.programs})


@pytest.mark.fast
def test_layers_are_as_wide_as_asked() -> None:
    wide = made("layered", 200, width=5)
    levels = np.bincount([int(program[1:]) for program in wide.programs])
    assert levels.max() == 5
    assert made("fork-join", 200, width=5).programs.count("p1") == 5


@pytest.mark.fast
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("spread", [0.4, 1.0, 2.0])
def test_runtimes_have_the_stated_median(law: str, spread: float) -> None:
    runtimes = drawn_runtimes(np.random.default_rng(0), np.arange(20_000), Runtimes(law, 60.0, spread))
    assert np.median(runtimes) == pytest.approx(60, rel=0.05)
    alike = drawn_runtimes(np.random.default_rng(0), np.zeros(2000, np.int64), Runtimes(law, 60.0, spread))
    assert alike.std() / alike.mean() == pytest.approx(0.2, rel=0.1)


def test_a_stream_goes_on_and_depends_on_no_count() -> None:
    given = {"family": "all", "tasks": 6, "fewest": 2, "gap": 50.0, "nodes": 4}
    ten = list(recipe("workflow", given).make(3, 10))
    assert list(recipe("workflow", given).make(3, 4)) == ten[:4]
    assert list(recipe("workflow", given).make_from(3, 7, 3)) == ten[7:]
    submits = [each.submit for each in ten]
    assert submits == sorted(submits)
    assert submits[0] == 0
    assert 100 < submits[-1] < 1500
    assert {each.name.rpartition("-")[0] for each in ten} == {*WORKFLOW_FAMILIES}
    assert {len(each) for each in ten} <= {2, 3, 4, 5, 6}
    assert all(each.machine is not None and each.machine.tolist() == [4] for each in ten)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"family": "tree"}, "unknown workflow family 'tree'; did you mean 'in-tree'"),
        ({"law": "normal"}, "unknown law of runtimes 'normal'"),
        ({"fewest": 40}, "fewest must be <= tasks = 30"),
        ({"gap": -1.0}, "gap"),
        ({"median": 0.0}, "median"),
        ({"bytes": 5}, "with memory and nodes"),
        ({"nodes": 2, "largest": 4}, "largest = 4 nodes of a task, the machine has 2"),
        ({"tasks": 0}, "tasks"),
    ],
)
def test_what_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError, match=says):
        recipe("workflow", given)


def test_the_command(transom: Callable[..., Ran], tmp_path: Path) -> None:  # noqa: F811
    out = tmp_path / "w.jsonl"
    ran = transom("generate", "workflow", "--family", "all", "--tasks", 5, "--count", 3, "--gap", 60, "--out", out)
    assert (ran.status, ran.out) == (0, f"{out}: 3 workflows\n")
    assert [len(each) for each in read_workflows(out)] == [5, 5, 5]
    ran = transom("generate", "workflow", "--memory", "--nodes", 4, "--bytes", 2**37, "--out", out, "--json")
    assert json.loads(ran.out) == {"out": str(out), "workflows": 1}
    assert next(read_workflows(out)).machine.tolist() == [4, 2**37]
    ran = transom("generate", "workflow", "--memory", "--nodes", 4, "--bytes", 9, "--out", out)
    assert ran.status == 2
    assert "needs" in ran.err
    assert ran.err.count("\n") == 1
