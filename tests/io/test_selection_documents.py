"""Selections and their fronts as documents; windows whose jobs ask for several resources."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.io.test_documents import small_result, small_window
from tests.selection_cases import random_selection, true_front, values_of
from transom.errors import DocumentError
from transom.io import decode, encode, name_of, read_documents, schema, write_documents
from transom.models import ParetoFront, Selection, Window
from transom.result import Result
from transom.solving import check

SMALL = Selection(
    demands=[[3, 0], [2, 5], [1, 1]],
    capacity=[4, 5],
    objectives=[[3, 40], [2, 0], [1, 7]],
    resources=("nodes", "gpu"),
    terms=("nodes", "wait"),
    scales=(1, 1_000_000),
    totals=[10, 8],
    excluded=[0, 0, 1],
    requires=((0, 2), (1, 2)),
)
PLAIN = Selection([[3, 1], [2, 2]], [4, 3])


def changed(thing: Any, **fields: Any) -> bytes:
    return json.dumps({**json.loads(encode(thing)), **fields}).encode()


def window(demand: Any) -> bytes:
    told = json.loads(encode(small_window()))
    told["queue"][0]["demand"] = demand
    return json.dumps(told).encode()


def result_of(problem: Selection, front: ParetoFront | None, **fields: Any) -> Result:
    value = None if front is None else problem.value(front)
    stated = {
        "instance": problem.digest(),
        "problem": "selection",
        "status": "feasible",
        "solution": front,
        "value": value,
        "bound": None,
        "curve": (),
    }
    return small_result(**{**stated, **fields})


def whole_front(problem: Selection) -> ParetoFront:
    jobs = len(problem)
    every = (np.arange(2**jobs)[:, None] >> np.arange(jobs)) & 1
    front = problem.front(every[problem.feasible(every)])
    assert values_of(front) == true_front(problem)
    return front


def test_selections_come_back() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        problem = random_selection(rng)
        back = decode(encode(problem), "s")
        assert back == problem
        assert isinstance(back, Selection)
        assert back.digest() == problem.digest()


@pytest.mark.parametrize(
    "problem",
    [
        SMALL,
        Selection(np.zeros((0, 2)), [3, 4]),
        Selection([[5]], [4]),
        Selection([[0, 3], [0, 2]], [0, 9]),
        Selection(np.full((500, 3), 7), [100, 100, 100]),
        Selection([[2**52]], [2**52], [[1, 2, 3]], terms=("a", "b", "c")),
        replace(PLAIN, terms=("a", "b")),
        Selection([[1, 2]], [1, 2], [[2]], ("a", "b"), ("b",)),
    ],
    ids=range(8),
)
def test_edges_come_back_and_fit_the_schema(problem: Selection) -> None:
    assert decode(encode(problem), "s") == problem
    jsonschema = pytest.importorskip("jsonschema")
    told = json.loads(encode(problem))
    validator = jsonschema.Draft202012Validator(schema("selection"))
    assert list(validator.iter_errors(told)) == []
    assert not validator.is_valid({**told, "colour": 1})
    for field in ("format", "capacity", "demands"):
        assert not validator.is_valid({key: value for key, value in told.items() if key != field})


def test_the_document_is_readable(tmp_path: Path) -> None:
    assert json.loads(encode(SMALL)) == {
        "format": "transom/selection/1",
        "capacity": [4, 5],
        "demands": [[3, 0], [2, 5], [1, 1]],
        "objectives": [[3, 40], [2, 0], [1, 7]],
        "resources": ["nodes", "gpu"],
        "terms": ["nodes", "wait"],
        "scales": [1, 1000000],
        "totals": [10, 8],
        "excluded": [2],
        "requires": [[0, 2], [1, 2]],
    }
    assert "objectives" not in json.loads(encode(PLAIN))
    path = tmp_path / "set.jsonl.gz"
    write_documents(path, [SMALL, PLAIN])
    assert [thing for _, thing in read_documents(path)] == [SMALL, PLAIN]
    assert name_of(SMALL) == "a selection"


def test_what_is_left_out_and_what_is_named() -> None:
    told = {"format": "transom/selection/1", "capacity": [4, 3], "demands": [[3, 1], [2, 2]]}
    assert decode(json.dumps(told).encode(), "s") == PLAIN
    told["resources"] = ["nodes", "gpu"]
    told["demands"] = [{"gpu": 1, "nodes": 3}, [2, 2], {}, {"gpu": 1}]
    named = Selection([[3, 1], [2, 2], [0, 0], [0, 1]], [4, 3], resources=("nodes", "gpu"))
    assert decode(json.dumps(told).encode(), "s") == named


DAMAGED = [
    (changed(PLAIN, demands=[[3, 1], [2, -2]]), r"\$.demands\[1\]\[1\]: expected `int` >= 0, got -2"),
    (changed(PLAIN, demands=[[3, 1], [2, 0.5]]), r"\$.demands\[1\]\[1\]: expected `int`, got `float`: 0.5"),
    (changed(PLAIN, demands=[[3, 1], {"r1": -2}]), r"\$.demands\[1\]\[...\]: expected `int` >= 0: {'r1': -2}"),
    (changed(PLAIN, demands=[[3, 1], {"r1": 0.5}]), r"\$.demands\[1\]\[...\]: .*, got `float`: {'r1': 0.5}"),
    (changed(PLAIN, demands=[[3, 1], {"gpu": 1}]), "job 1: demand names 'gpu', which is no resource of the instance"),
    (changed(PLAIN, demands=[[3, 1], [2]]), "job 1: demand states 1 resources, the instance 2"),
    (changed(PLAIN, demands=[[3, 1], [2, 2, 1]]), "job 1: demand states 3 resources, the instance 2"),
    (changed(PLAIN, demands=[[3, 1], 7]), r"\$.demands\[1\]: expected `object \| array`, got `int`"),
    (changed(PLAIN, demands=[[3, 2**53], [2, 2]]), "the sum of the demands does not stay below"),
    (changed(PLAIN, capacity=[4, -3]), r"\$.capacity\[1\]: expected `int` >= 0, got -3"),
    (changed(PLAIN, capacity=[4, 3.5]), r"\$.capacity\[1\]: expected `int`, got `float`: 3.5"),
    (changed(PLAIN, capacity=[4]), "capacity states 1 resources, resources 2"),
    (changed(PLAIN, resources=["a", "a"]), "resources must be 2 distinct names"),
    (changed(PLAIN, totals=[3, 3]), r"totals \[3, 3\] are less than the capacity \[4, 3\]"),
    (changed(PLAIN, scales=[1]), "expected a scale > 0 for each of 2 objectives"),
    (changed(PLAIN, scales=[1, 0]), r"\$.scales\[1\]: expected `int` >= 1, got 0"),
    (changed(PLAIN, objectives=[[1, 2]]), "objectives are stated for 1 job, demands for 2"),
    (changed(PLAIN, objectives=[[1, 2], [1]]), "job 1: 1 objectives, but 2 of job 0"),
    (changed(PLAIN, objectives=[[1, 2], [1, -2]]), r"\$.objectives\[1\]\[1\]: expected `int` >= 0, got -2"),
    (changed(PLAIN, objectives=[[3, 2], [2, 2]]), "the objective 'r1' is not the demand on that resource"),
    (changed(PLAIN, terms=["a"]), "terms must be 2 distinct names"),
    (changed(PLAIN, forced=[2]), "forced: job 2, but there are 2, counted from 0"),
    (changed(PLAIN, excluded=[1, 1]), "excluded: job 1 stands there twice"),
    (changed(PLAIN, requires=[[0, 2]]), "job 0 requires job 2, but there are 2"),
    (changed(PLAIN, requires=[[0, 1], [1, 0]]), "requires itself, in a circle"),
    (changed(PLAIN, requires=[[0]]), r"\$.requires\[0\]: expected `array` of length >= 2"),
    (changed(PLAIN, colour=1), "unknown field `colour`"),
    (b'{"format": "transom/selection/1", "capacity": [1]}', "missing required field `demands`"),
    (b'{"format": "transom/selection/1", "capacity": [], "demands": []}', "it needs a resource and an objective"),
    (b'{"format": "transom/selection/2"}', "version 2 of transom/selection is not known"),
    (window([-1]), r"\$.queue\[0\].demand\[0\]: expected `int` >= 0, got -1 \(job 3\)"),
    (window([1.5]), r"\$.queue\[0\].demand\[0\]: expected `int`, got `float`: 1.5 \(job 3\)"),
    (window({"burst_buffer": 1.5}), r"\$.queue\[0\].demand\[...\]: .* got `float`: {'burst_buffer': 1.5} \(job 3\)"),
    (window([1, 1]), "job 3: demand states 2 resources, the cluster 1"),
    (window({"gpu": 1}), "job 3: demand names 'gpu', which is no resource of the cluster; there are: burst_buffer"),
]


@pytest.mark.parametrize(("data", "condition"), DAMAGED, ids=range(len(DAMAGED)))
def test_damage_is_named(data: bytes, condition: str) -> None:
    with pytest.raises(DocumentError, match=condition) as caught:
        decode(data, "some.jsonl:4")
    assert str(caught.value).startswith("some.jsonl:4: ")
    assert "\n" not in str(caught.value)


def test_windows_may_name_what_jobs_ask_for() -> None:
    assert decode(window({"burst_buffer": 10}), "w") == small_window()
    none = decode(window({}), "w")
    assert isinstance(none, Window)
    assert none.queue.demand.tolist() == [[0], [0]]


def test_fronts_come_back() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        problem = random_selection(rng)
        if problem.trivial() == "infeasible":
            continue
        front = whole_front(problem)
        result = result_of(problem, front, status="optimal", bound=problem.value(front))
        back = decode(encode(result), "r")
        assert isinstance(back, Result)
        assert isinstance(back.solution, ParetoFront)
        assert back.solution == front
        assert not back.solution.selections.flags.writeable
        assert check(problem, back) == []
        assert encode(back) == encode(result)


def test_results_without_a_front() -> None:
    back = decode(encode(result_of(PLAIN, None, status="infeasible")), "r")
    assert isinstance(back, Result)
    assert (back.solution, back.value) == (None, None)


def test_a_front_is_readable() -> None:
    front = whole_front(PLAIN)
    told = json.loads(encode(result_of(PLAIN, front)))
    assert told["solution"] == {"values": [[3, 1], [2, 2]], "jobs": [[0], [1]]}
    assert told["items"] == 2
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(schema("result"))
    assert list(validator.iter_errors(told)) == []
    assert not validator.is_valid({**told, "solution": {"values": []}})


FRONT = {"values": [[3, 1], [2, 2]], "jobs": [[0], [1]]}


@pytest.mark.parametrize(
    ("fields", "condition"),
    [
        ({"solution": {**FRONT, "jobs": [[0], [2]]}}, r"\$.solution.jobs\[1\]: position 2 is not below items = 2"),
        ({"solution": {**FRONT, "jobs": [[1, 0], [1]]}}, r"\$.solution.jobs\[0\]: the positions must be ascending"),
        ({"solution": {**FRONT, "jobs": [[0]]}}, r"\$.solution: 2 values, but 1 points"),
        ({"solution": {**FRONT, "jobs": [[0], [-1]]}}, r"\$.solution.jobs\[1\]\[0\]: expected `int` >= 0, got -1"),
        ({"solution": {**FRONT, "values": [[3, 1], [2]]}}, r"\$.solution.values\[1\]: 1 objectives, but 2 before"),
        ({"solution": {**FRONT, "values": [[3, 1], [2, 0.5]]}}, r"\$.solution.values\[1\]\[1\]: expected `int`"),
        ({"solution": {"values": [], "jobs": []}}, "it needs a point at least"),
        ({"solution": [0, 1]}, "not how solutions of selection are written, got array"),
        ({"problem": "knapsack"}, "not how solutions of knapsack are written, got front"),
        ({"items": None}, "items must be stated with a solution"),
        ({"items": 10**8, "solution": {"values": [[1]] * 20, "jobs": [[]] * 20}}, "more than can be read"),
    ],
)
def test_damaged_fronts_are_named(fields: dict[str, Any], condition: str) -> None:
    with pytest.raises(DocumentError, match=condition):
        decode(changed(result_of(PLAIN, whole_front(PLAIN)), **fields), "r")
