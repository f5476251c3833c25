"""Allocations, constrained paths and windows on a tree as documents; results of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.allocation_cases import allocations, figure_2
from tests.io.test_documents import small_result
from transom.errors import DocumentError
from transom.io import decode, encode, schema
from transom.models import AUTHORS, Allocation, Cluster, ConstrainedPath, FatTree, Job, JobTable, Window
from transom.result import Result

UNEVEN = FatTree([0, 0, 1, 2, 2, 2, 0], [0, 0, 0, 1, 1, 1, 0])
PATH = ConstrainedPath(5, [2, 3], [1, 1], [[1, 2.5, 0.1, 1e300, np.inf], [4, np.inf, 6, np.inf, np.inf]])


def tree_window() -> Window:
    queue = JobTable.of([Job(3, 90, 2, 60), Job(2, 40, 3, 60)])
    running = JobTable.of([Job(9, 0, 2, 150)])
    return Window(100, Cluster(7, topology=UNEVEN), queue, running, [150], [4], [0, 2, 5, 6])


def changed(thing: Any, *path: Any, value: Any) -> bytes:
    told = json.loads(encode(thing))
    inner = told
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(told).encode()


@given(st.sampled_from(["static", "dynamic", "free"]).flatmap(allocations))
def test_allocations_come_back(problem: Allocation) -> None:
    back = decode(encode(problem), "a")
    assert back == problem
    assert back.digest() == problem.digest()
    if problem.rule == "static" and not problem.wrap:
        path = ConstrainedPath.from_allocation(problem)
        assert decode(encode(path), "p") == path


@pytest.mark.parametrize(
    "thing",
    [
        Allocation(UNEVEN, [0, 2, 3, 6], [2, 2], "dynamic", False, AUTHORS),
        Allocation(FatTree.k_ary(4, 10), [], [], "free"),
        Allocation(FatTree.uniform(3, 5, 10), [0, 1], [2**40]),
        PATH,
        ConstrainedPath(0, [], [], np.empty((0, 0))),
        ConstrainedPath(7, [], [], np.empty((0, 7))),
        tree_window(),
        replace(tree_window(), idle=None, cluster=Cluster(7)),
    ],
)
def test_others_come_back_and_fit_their_schema(thing: Any) -> None:
    assert decode(encode(thing), "t") == thing
    jsonschema = pytest.importorskip("jsonschema")
    told = json.loads(encode(thing))
    name = told["format"].split("/")[1]
    validator = jsonschema.Draft202012Validator(schema(name))
    assert list(validator.iter_errors(told)) == []
    assert not validator.is_valid({**told, "colour": 1})
    for field in schema(name)["$defs"][f"{name.title()}Document"]["required"]:
        assert not validator.is_valid({key: value for key, value in told.items() if key != field})


def test_documents_are_readable() -> None:
    told = json.loads(encode(figure_2()))
    assert told == {
        "format": "transom/allocation/1",
        "tree": {"nodes": 16, "leaf_nodes": 2, "pod_nodes": 4},
        "idle": list(range(10)),
        "sizes": [4, 4],
        "rule": "static",
        "wrap": True,
        "cost": {"same_leaf": 2, "same_pod": 4, "other": 6, "ordered": True, "floored": False, "unit": 1000},
    }
    told = json.loads(encode(PATH))
    assert told["costs"] == [[1, 2.5, 0.1, 1e300, None], [4, None, 6, None, None]]
    told = json.loads(encode(tree_window()))
    assert told["cluster"]["topology"] == {"leaf": UNEVEN.leaf.tolist(), "pod": UNEVEN.pod.tolist()}
    assert told["idle"] == [0, 2, 5, 6]


FIGURE = figure_2()
DAMAGED = [
    (changed(FIGURE, "idle", 3, value=2), "idle nodes must be ascending and distinct; node 2 is named twice"),
    (changed(FIGURE, "idle", 0, value=5), "node 5 stands before 1"),
    (changed(FIGURE, "idle", 9, value=16), "idle node 16 is outside the tree of 16 nodes, 0 to 15"),
    (changed(FIGURE, "idle", 0, value=-1), r"\$.idle\[0\]: expected `int` >= 0, got -1"),
    (changed(FIGURE, "sizes", 1, value=1), "job 1 asks for 1 node, less than 2"),
    (changed(FIGURE, "sizes", 1, value=0), r"\$.sizes\[1\]: expected `int` >= 1, got 0"),
    (changed(FIGURE, "sizes", 1, value=2**50), "more than any system has"),
    (changed(FIGURE, "rule", value="scas"), r"\$.rule: invalid enum value 'scas'$"),
    (changed(FIGURE, "wrap", value=1), r"\$.wrap: expected `bool`, got `int`"),
    (changed(FIGURE, "tree", "pod_nodes", value=5), "pod_nodes must be a multiple of leaf_nodes, got 5 and 2"),
    (changed(FIGURE, "tree", "nodes", value=10**12), r"\$.tree.nodes: expected `int` <= 10000000"),
    (changed(FIGURE, "tree", "leaf", value=[0]), "expected either nodes, leaf_nodes and pod_nodes, or leaf and pod"),
    (changed(FIGURE, "tree", value={"nodes": 16}), "expected either nodes, leaf_nodes and pod_nodes, or leaf and pod"),
    (changed(FIGURE, "tree", value={"leaf": [0, 0], "pod": [0, 1]}), "nodes 0 and 1 share a leaf switch but not"),
    (changed(FIGURE, "tree", value={"leaf": [0, 0], "pod": [0]}), "fat tree: pod: expected shape"),
    (changed(FIGURE, "tree", value={"leaf": [], "pod": []}), "it must have at least one node"),
    (changed(FIGURE, "cost", "same_leaf", value=9), "same_leaf <= same_pod <= other"),
    (changed(FIGURE, "cost", "unit", value=0), r"\$.cost.unit: expected `int` >= 1, got 0"),
    (changed(FIGURE, "cost", value={"same_leaf": 1}), "missing required field `same_pod`"),
    (changed(PATH, "costs", 0, value=[1]), r"\$.costs\[0\]: expected length = 5 costs, got 1"),
    (changed(PATH, "costs", 0, 4, value=1), "an arc of size 2 would end beyond the last node 5"),
    (changed(PATH, "costs", 0, 1, value="x"), r"\$.costs\[0\]\[1\]: expected `float \| null`"),
    (changed(PATH, "costs", value=[]), "path: costs"),
    (changed(PATH, "counts", value=[1]), "path: counts: expected shape"),
    (changed(PATH, "counts", 0, value=0), r"\$.counts\[0\]: expected `int` >= 1, got 0"),
    (changed(PATH, "sizes", value=[3, 3]), "sizes must be at least 2, distinct and ascending"),
    (changed(PATH, "length", value=10**12), r"\$.length: expected `int` <= 100000000"),
    (changed(tree_window(), "idle", value=[0, 2, 5]), "window: idle: expected shape"),
    (changed(tree_window(), "idle", value=None), "the ids of the idle nodes must be stated"),
    (changed(tree_window(), "idle", value=[0, 2, 5, 7]), "ascending and distinct ids of nodes, 0 to 6"),
    (changed(tree_window(), "cluster", "topology", value=None), "but the cluster has no topology"),
    (changed(tree_window(), "cluster", "num_nodes", value=8), "8 nodes, but a topology of 7"),
]


@pytest.mark.parametrize(("data", "condition"), DAMAGED, ids=range(len(DAMAGED)))
def test_damaged_documents_are_named(data: bytes, condition: str) -> None:
    with pytest.raises(DocumentError, match=condition) as caught:
        decode(data, "some.json:4")
    assert str(caught.value).startswith("some.json:4: ")
    assert "\n" not in str(caught.value)


def result_of(problem: str, solution: Any) -> Result:
    return small_result(problem=problem, solution=None if solution is None else np.array(solution, np.int64))


@pytest.mark.parametrize("problem", ["scas", "dcas", "free"])
@pytest.mark.parametrize("owner", [[0, -1, 1, 1, 0, -1], [-1], [], None])
def test_owners_come_back(problem: str, owner: list[int] | None) -> None:
    told = json.loads(encode(result_of(problem, owner)))
    assert told["solution"] == owner
    assert told["items"] == (None if owner is None else len(owner))
    back = decode(encode(result_of(problem, owner)), "r")
    assert isinstance(back, Result)
    assert back.problem == problem
    assert (back.solution is None) if owner is None else (back.solution.tolist() == owner)
    if owner is not None:
        assert back.solution.dtype == np.int64
        assert not back.solution.flags.writeable


@pytest.mark.parametrize("arcs", [[[0, 3], [4, 2]], [], None])
def test_arcs_come_back(arcs: list[list[int]] | None) -> None:
    told = json.loads(encode(result_of("csp", arcs)))
    assert told["solution"] == arcs
    back = decode(encode(result_of("csp", arcs)), "r")
    assert isinstance(back, Result)
    assert (back.solution is None) if arcs is None else (back.solution.shape == (len(arcs), 2))
    if arcs:
        assert back.solution.tolist() == arcs


OWNED, PATHED = result_of("scas", [0, -1, 1]), result_of("csp", [[0, 3], [4, 2]])
WRONG = [
    (changed(OWNED, "solution", value=[0, -1]), "2 owners, but items = 3 idle nodes"),
    (changed(OWNED, "solution", 1, value=-2), r"\$.solution\[1\]: expected `int` >= -1, got -2"),
    (changed(OWNED, "solution", 1, value=[0, 1]), r"\$.solution\[1\]: expected `int`, got `array`"),
    (changed(OWNED, "items", value=None), "items must be stated with a solution"),
    (changed(OWNED, "problem", value="knapsack"), r"\$.solution\[1\]: expected `int` >= 0, got -1"),
    (changed(PATHED, "solution", 1, value=3), r"\$.solution\[1\]: expected `array` \[start, size\], got 3"),
    (changed(PATHED, "solution", 1, value=[3]), r"\$.solution\[1\]: expected `array` of length >= 2"),
    (changed(PATHED, "solution", 1, value=[-3, 2]), r"\$.solution\[1\]\[0\]: expected `int` >= 0, got -3"),
    (changed(PATHED, "items", value=3), "2 arcs, but items = 3"),
    (changed(PATHED, "problem", value="tsp"), "'tsp' is not known; known: knapsack, selection, scas"),
]


@pytest.mark.parametrize(("data", "condition"), WRONG, ids=range(len(WRONG)))
def test_wrong_solutions_are_named(data: bytes, condition: str) -> None:
    with pytest.raises(DocumentError, match=condition):
        decode(data, "r.jsonl:1")


def test_results_fit_the_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(schema("result"))
    for result in (OWNED, PATHED, result_of("csp", [])):
        assert list(validator.iter_errors(json.loads(encode(result)))) == []
