"""Placements and their solutions as documents."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.io.test_documents import small_result, small_window
from transom import check, read_placements
from transom.errors import DocumentError, SpecError
from transom.io import decode, encode, schema, write_documents
from transom.io.instances import ReadOptions, from_documents
from transom.models import Job, JobTable, Knapsack, Placement
from transom.models.placement import OBJECTIVES
from transom.result import Result

SMALL = Placement(
    free=[[4, 2**61], [2, 9]],
    demands=[[1, 2], [2, 1]],
    waiting=[5, 2],
    values=[3, 4],
    durations=[60, 0],
    maximal=True,
    scale=10,
    capacities=[[4, 2**61], [8, 9]],
    resources=("cpu", "memory"),
)


def changed(thing: Any, **fields: Any) -> bytes:
    return json.dumps({**json.loads(encode(thing)), **fields}).encode()


def result_of(solution: Any) -> Result:
    value = None if solution is None else SMALL.value(solution)
    return small_result(
        instance=SMALL.digest(), problem="placement", status="unknown" if solution is None else "feasible",
        solution=solution, value=value, bound=None, curve=(),
    )  # fmt: skip


AMOUNT = st.integers(0, 2**62 - 1)


@given(
    st.lists(st.tuples(AMOUNT, AMOUNT), min_size=1, max_size=3),
    st.lists(st.tuples(AMOUNT, AMOUNT, st.integers(0, 2**31 - 1), st.integers(0, 2**28), AMOUNT), max_size=4),
    st.booleans(),
)
def test_placements_come_back(free: list[Any], tasks: list[Any], maximal: bool) -> None:
    table = np.array(tasks, np.int64).reshape(-1, 5)
    problem = Placement(free, table[:, :2], table[:, 2], table[:, 3], table[:, 4], maximal)
    text = encode(problem)
    assert decode(text, "p") == problem
    assert encode(decode(text, "p")) == text


def test_amounts_by_name_and_what_is_left_out() -> None:
    told = {
        "format": "transom/placement/1", "resources": ["cpu", "memory"], "free": [{"cpu": 3}, [2, 1]],
        "demands": [{"memory": 1}], "waiting": [4],
    }  # fmt: skip
    assert decode(json.dumps(told).encode(), "p") == Placement(
        [[3, 0], [2, 1]], [[0, 1]], [4], resources=("cpu", "memory")
    )
    assert list(json.loads(encode(Placement([[3]], [[1]], [4])))) == [
        "format", "free", "demands", "waiting", "resources",
    ]  # fmt: skip


@pytest.mark.parametrize("solution", [[[2, 0], [1, 1]], [[0, 0], [0, 0]], None])
def test_solutions_come_back(solution: Any) -> None:
    result = result_of(None if solution is None else np.array(solution))
    assert json.loads(encode(result))["solution"] == solution
    back = decode(encode(result), "r")
    assert isinstance(back, Result)
    assert (back.solution is None) if solution is None else (back.solution.tolist() == solution)
    empty = Placement([[4]], [], [])
    held = small_result(
        instance=empty.digest(), problem="placement", solution=np.zeros((0, 1), np.int64), value=0, bound=None,
        curve=(), status="feasible",
    )  # fmt: skip
    again = decode(encode(held), "r")
    assert isinstance(again, Result)
    assert check(empty, again) == []


RESULT = result_of(np.array([[2, 0], [1, 1]]))
DAMAGED = [
    (changed(SMALL, free=[]), "there must be a machine and a resource"),
    (changed(SMALL, free=[[1]]), "machine 0: free states 1 resources, the instance 2"),
    (changed(SMALL, free=[[1, -1]]), r"expected `int` >= 0, got -1"),
    (changed(SMALL, free=[[1, 2], [2**62, 3]], capacities=None), r"machine 1: free must be < 2\*\*62"),
    (changed(SMALL, demands=[[1, 2], {"gpu": 1}]), "task 1: demands names 'gpu', which is no resource of the instance"),
    (changed(SMALL, demands=[[1, 2]]), r"waiting: expected shape \(1,\)"),
    (changed(SMALL, demands=[[1, 2.5], [1, 1]]), "expected `int`"),
    (changed(SMALL, waiting=[1, 2**31]), r"task 1: waiting must be < 2\*\*31"),
    (changed(SMALL, values=[1]), r"values: expected shape \(2,\)"),
    (changed(SMALL, durations=[1, -4]), r"\$.durations\[1\]: expected `int` >= 0, got -4"),
    (changed(SMALL, capacities=[[4, 2**61], [1, 9]]), "machine 1: 2 of resource 0 are free, but its capacity is 1"),
    (changed(SMALL, scale=0), r"\$.scale: expected `int` >= 1, got 0"),
    (changed(SMALL, maximal=1), r"\$.maximal: expected `bool`"),
    (changed(SMALL, resources=["cpu", "cpu"]), "resources must be 2 distinct names"),
    (changed(SMALL, colour=1), "unknown field `colour`"),
    (changed(RESULT, items=3), "2 rows, but items = 3"),
    (changed(RESULT, solution=[[2, 0], 1]), r"\$.solution\[1\]: expected `array`, got 1"),
    (changed(RESULT, solution=[[2, 0], [1]]), r"\$.solution\[1\]: 1 numbers, but 2 before"),
    (changed(RESULT, solution=[[2, 0], [1, 0.5]]), r"\$.solution"),
]


@pytest.mark.parametrize(("data", "condition"), DAMAGED, ids=range(len(DAMAGED)))
def test_damaged_documents_are_named(data: bytes, condition: str) -> None:
    with pytest.raises(DocumentError, match=condition) as caught:
        decode(data, "p.json:4")
    assert str(caught.value).startswith("p.json:4: ")
    assert "\n" not in str(caught.value)


LEAF = st.one_of(st.none(), st.booleans(), st.integers(-3, 2**63), st.floats(), st.text(max_size=3))
THINGS = st.recursive(
    LEAF, lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=3), part), max_leaves=6
)


def read_or_named(data: bytes) -> Any:
    """What a document holds, or what is said about it, which is one line."""
    try:
        return decode(data, "p")
    except DocumentError as error:
        said = str(error)
    assert said.startswith("p: ")
    assert "\n" not in said
    return said


@given(st.sampled_from(sorted(json.loads(encode(SMALL)))), THINGS)
def test_whatever_stands_in_a_field_is_read_or_named(field: str, thing: Any) -> None:
    read = read_or_named(changed(SMALL, **{field: thing}))
    assert isinstance(read, (Placement, str))


@given(THINGS)
def test_whatever_stands_as_a_solution_is_read_or_named(thing: Any) -> None:
    read = read_or_named(changed(RESULT, solution=thing))
    assert isinstance(read, str) or all("\n" not in wrong for wrong in check(SMALL, read))


def test_files_of_placements(tmp_path: Path) -> None:
    write_documents(tmp_path / "p.jsonl", [SMALL, SMALL.with_objective("count")])
    assert list(read_placements(tmp_path / "p.jsonl")) == [SMALL, SMALL.with_objective("count")]
    write_documents(tmp_path / "k.json", [Knapsack([1], [1], 1)])
    with pytest.raises(DocumentError, match="expected a placement, this is a knapsack"):
        list(read_placements(tmp_path / "k.json"))


def test_windows_and_knapsacks_are_read_as_placements() -> None:
    stated = [("w", small_window()), ("k", Knapsack([1, 2], [1, 1], 1))]
    window, knapsack = from_documents(stated, ReadOptions("placement"))
    assert window.jobs == small_window().queue.id.tolist()
    assert window.problem == Placement.from_window(small_window())
    assert knapsack.problem == Placement([[1]], [[1], [1]], [1, 1], [1, 2])


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_placements_take_an_objective_by_name(objective: str) -> None:
    window = replace(small_window(), queue=JobTable.of([Job(3, 90, 2, 60, (10,)), Job(2, 40, 4, 600, (0,))]))
    placement, of_window = from_documents([("p", SMALL), ("w", window)], ReadOptions("placement", objective))
    assert placement.problem == SMALL.with_objective(objective)
    assert of_window.problem == Placement.from_window(window).with_objective(objective)
    assert of_window.jobs == [3, 2]


def test_what_is_no_objective_of_a_placement_is_refused() -> None:
    with pytest.raises(SpecError, match=r"^p: --objective of a placement is count, area or area-duration, got 'wait'$"):
        list(from_documents([("p", SMALL)], ReadOptions(objective="wait")))
    with pytest.raises(SpecError, match="unknown objective 'area'"):
        list(from_documents([("w", small_window())], ReadOptions("knapsack", "area")))
    with pytest.raises(DocumentError, match=r"w: placement: an instance is worth 4.6\d*e\+18, which must be below"):
        list(from_documents([("w", small_window())], ReadOptions("placement", "area-duration")))


def test_the_schema_takes_what_is_written() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(json.loads(encode(SMALL)), schema("placement"))
    jsonschema.validate(json.loads(encode(RESULT)), schema("result"))
