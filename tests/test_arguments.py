"""What is no argument of a public function is refused by an error of ours that says what was expected."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transom import (
    Allocation,
    Cluster,
    ConstrainedPath,
    FatTree,
    HopCost,
    Job,
    Knapsack,
    ParetoFront,
    Selection,
    Stop,
    Window,
    Workload,
    check,
    read_swf,
    simulate,
    solve,
)
from transom.errors import DocumentError, ModelError, SpecError, StopError, TransomError
from transom.io.documents import decode
from transom.models import JobTable
from transom.traces import ReadingRules

pytestmark = pytest.mark.fast

TREE = FatTree.uniform(8, 2, 4)
KNAPSACK = Knapsack([3, 2, 1], [1, 2, 3], 4)
PATH = ConstrainedPath.from_allocation(Allocation(TREE, [0, 1, 2, 5], [2, 2], "static", False))
JOBS = JobTable.of([Job(1, 0, 2, 10), Job(2, 0, 2, 10)])
CLUSTER = Cluster(4)
WINDOW = Window(0, CLUSTER, JOBS, JobTable([]), [], [4])
TRACE = Path(__file__).parents[1] / "instances" / "workloads" / "lublin_5000.swf.gz"
SELECTION = {
    "demands": [[3, 1], [1, 3]],
    "capacity": [4, 4],
    "objectives": [[1], [2]],
    "resources": ("a", "b"),
    "terms": ("x",),
    "scales": (1,),
    "totals": [9, 9],
    "forced": [False, False],
    "excluded": [False, True],
    "requires": [(0, 1)],
}

GOOD: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Knapsack": (Knapsack, {"values": [3, 2], "weights": [1, 2], "capacity": 2, "scale": 1}),
    "Allocation": (
        Allocation,
        {"tree": TREE, "idle": [0, 1, 2], "sizes": [2], "rule": "static", "wrap": True, "cost": HopCost()},
    ),
    "FatTree": (FatTree, {"leaf": [0, 0, 1, 1], "pod": [0, 0, 0, 0]}),
    "FatTree.uniform": (FatTree.uniform, {"nodes": 8, "leaf_nodes": 2, "pod_nodes": 4}),
    "FatTree.k_ary": (FatTree.k_ary, {"k": 4, "nodes": 3}),
    "HopCost": (HopCost, {"same_leaf": 1, "same_pod": 2, "other": 3, "unit": 1}),
    "ConstrainedPath": (
        ConstrainedPath,
        {"length": PATH.length, "sizes": PATH.sizes, "counts": PATH.counts, "costs": PATH.costs},
    ),
    "Selection": (Selection, SELECTION),
    "ParetoFront": (ParetoFront, {"values": [[1, 2]], "selections": [[True, False]]}),
    "Stop": (Stop, {"seconds": 1.0, "iterations": 3, "target": 4.0, "gap": 0.1, "stall": 3}),
    "solve": (
        solve,
        {"problem": KNAPSACK, "solver": "greedy", "stop": Stop(), "seed": 0, "start": [1, 0, 0], "threads": 1},
    ),
    "check": (check, {"problem": KNAPSACK, "result": solve(KNAPSACK, "greedy")}),
    "Job": (Job, {"id": 1, "submit": 0, "nodes": 1, "walltime": 3, "demand": (), "user": 1, "depends_on": ()}),
    "JobTable": (JobTable, {"data": [[1, 0, 2, 10, -1, -1]], "depends_on": {}}),
    "Cluster": (Cluster, {"num_nodes": 4, "resources": ("a",), "capacities": (3,), "topology": None}),
    "Window": (
        Window,
        {
            "now": 0,
            "cluster": CLUSTER,
            "queue": JOBS,
            "running": JobTable([]),
            "running_end": [],
            "available": [4],
            "idle": None,
        },
    ),
    "Workload": (Workload, {"name": "x", "cluster": CLUSTER, "jobs": JOBS, "runtime": [5, 5], "repairs": {}}),
    "simulate": (
        simulate,
        {"workload": Workload("w", CLUSTER, JOBS, [5, 5]), "policy": "fcfs", "seed": 0, "rules": "textbook"},
    ),
    "read_swf": (read_swf, {"path": TRACE, "rules": ReadingRules(), "nodes": 384}),
    "Workload.take": (Workload("w", CLUSTER, JOBS, [5, 5]).take, {"index": [0, 1]}),
    "Knapsack.from_window": (Knapsack.from_window, {"window": WINDOW, "objective": None, "jobs": [0]}),
    "Selection.from_window": (
        Selection.from_window,
        {"window": WINDOW, "objectives": None, "jobs": [0, 1], "forced": [1]},
    ),
}

STRANGE = [
    None, "x", b"x", 3.7, float("nan"), float("inf"), -1, 2**70, True, [], {}, ["a"], [None], [[1, 2], [3]],
    object(), np.array(["a"]), np.array([1.5]), [1, 2, 3, 4, 5], KNAPSACK, TREE, WINDOW,
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "parameter"), [(name, parameter) for name, (_, given) in GOOD.items() for parameter in given]
)
def test_what_is_no_argument_is_an_error_of_ours(name: str, parameter: str) -> None:
    function, given = GOOD[name]
    function(**given)
    messages = []
    for strange in STRANGE:
        try:
            function(**{**given, parameter: strange})
        except TransomError as error:
            messages.append(str(error))
    assert messages or (name, parameter) in {("Allocation", "wrap"), ("Workload", "name")}
    assert all("\n" not in message and len(message) < 2000 for message in messages)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: Knapsack([1], [1], 3.7), ModelError, "knapsack: capacity: expected integers, got 3.7"),
        (lambda: Knapsack([1], [1], None), ModelError, "knapsack: capacity: expected integers of 64 bits, got None"),
        (lambda: solve("x", "dp"), ModelError, "expected a problem such as a Knapsack or an Allocation, got str 'x'"),
        (lambda: solve(KNAPSACK, None), SpecError, "expected the name of a solver or a solver, got None"),
        (lambda: solve(KNAPSACK, "dp", 1.0), ModelError, "expected a Stop such as Stop(seconds=1), got 1.0"),
        (lambda: simulate("path", "fcfs"), ModelError, "expected a Workload such as read_swf gives, got str 'path'"),
        (lambda: Allocation(None, [], []), ModelError, "allocation: tree: expected a FatTree, got None"),
        (lambda: Stop(seconds="1"), StopError, "stop: seconds must be a number, got str '1'"),
        (lambda: check(KNAPSACK, None), ModelError, "check: expected a Result, got None"),
    ],
)
def test_the_message_says_what_was_expected(call: Callable[[], Any], kind: type, words: str) -> None:
    with pytest.raises(kind) as error:
        call()
    assert words in str(error.value)


def test_whole_floats_are_whole_numbers() -> None:
    assert Knapsack([1.0], [1], np.float64(3)) == Knapsack([1], [1], 3)


def test_a_result_equals_its_copy() -> None:
    selection = Selection([[3, 1], [1, 3], [2, 2]], [4, 4])
    for problem, solver in (
        (KNAPSACK, "dp"),
        (KNAPSACK, "auto"),
        (selection, "exhaustive"),
        (selection, "auto"),
        (PATH, "csp-dp"),
    ):
        result = solve(problem, solver)
        for other in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):  # noqa: S301
            assert other == result
            assert hash(other) == hash(result)
        assert result != solve(problem, solver, seed=1)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"format": "transom/knapsack/1", "values": [1], "weights": [1], "capacity": 1, "capacity": 2}', "capacity"),
        ('{"format": "transom/knapsack/1", "format": "transom/knapsack/1", "values": [], "weights": [], "capacity": 1}',
         "format"),
    ],
)  # fmt: skip
def test_a_key_that_stands_twice_is_refused(text: str, key: str) -> None:
    with pytest.raises(DocumentError, match=f"here: the key '{key}' stands twice"):
        decode(text.encode(), "here")
