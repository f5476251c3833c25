"""JSON documents: what is written is read back, and what breaks a condition is named."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.errors import DocumentError
from transom.io import decode, encode
from transom.models import Cluster, Job, JobTable, Knapsack, Window
from transom.result import Result

pytestmark = pytest.mark.fast

INT64 = st.integers(-(2**63), 2**63 - 1)


def small_window() -> Window:
    return Window(
        now=100,
        cluster=Cluster(4, ("burst_buffer",), (50,)),
        queue=JobTable.of([Job(3, 90, 2, 60, (10,), user=7, depends_on=(1,)), Job(2, 40, 4, 2**62, (0,), priority=5)]),
        running=JobTable.of([Job(9, 0, 1, 150, (40,))]),
        running_end=np.array([150]),
        available=np.array([3, 10]),
    )


def small_result(**changes: Any) -> Result:
    result = Result(
        instance="0123456789abcdef" * 2,
        problem="knapsack",
        solver="sa",
        parameters={"steps": 1000, "cooling": 0.5, "start": None, "inner": "dp"},
        status="feasible",
        reason="time",
        solution=np.array([True, False, True]),
        value=10,
        bound=12.5,
        seconds=0.25,
        seed=3,
        threads=2,
        curve=((0.1, None, 20.0), (0.2, 10, 12.5)),
        error=None,
    )
    return replace(result, **changes)


def fields_of(result: Result) -> dict[str, Any]:
    names = Result.__dataclass_fields__
    listed = {name: getattr(result, name) for name in names}
    listed["solution"] = None if result.solution is None else result.solution.tolist()
    return listed


def test_window_comes_back() -> None:
    window = small_window()
    assert decode(encode(window), "w") == window
    assert decode(encode(window), "w").digest() == window.digest()


def test_window_without_jobs_comes_back() -> None:
    empty = JobTable(np.empty((0, 6)))
    window = Window(0, Cluster(4), empty, empty, np.empty(0), np.array([4]))
    assert decode(encode(window), "w") == window


def test_window_document_is_readable() -> None:
    told = json.loads(encode(small_window()))
    assert told["format"] == "transom/window/1"
    assert told["cluster"] == {"num_nodes": 4, "resources": ["burst_buffer"], "capacities": [50]}
    assert [job["id"] for job in told["queue"]] == [3, 2]  # the site's order, not sorted
    assert told["queue"][0] == {
        "id": 3, "submit": 90, "nodes": 2, "walltime": 60, "demand": [10], "user": 7, "depends_on": [1],
    }  # fmt: skip
    assert told["running"][0]["expected_end"] == 150


@given(
    st.lists(st.tuples(st.integers(-(2**55), 2**55), st.integers(0, 2**55)), max_size=30),
    st.integers(0, 2**63 - 1),
    st.integers(1, 2**63 - 1),
)
def test_knapsack_comes_back_exactly(items: list[tuple[int, int]], capacity: int, scale: int) -> None:
    table = np.array(items, np.int64).reshape(-1, 2)
    knapsack = Knapsack(table[:, 0], table[:, 1], capacity, scale)
    assert decode(encode(knapsack), "k") == knapsack


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"solution": None, "value": None, "status": "unknown"},
        {"solution": None, "value": None, "bound": None, "status": "infeasible", "reason": "proof", "curve": ()},
        {"value": 2**62 + 1, "bound": 2**62 + 1, "status": "optimal", "reason": "proof"},
        {"error": "ValueError: no", "reason": "error"},
        {"solution": np.zeros(0, bool)},
    ],
)
def test_result_comes_back(changes: dict[str, Any]) -> None:
    result = small_result(**changes)
    back = decode(encode(result), "r")
    assert isinstance(back, Result)
    assert fields_of(back) == fields_of(result)
    assert back.gap == result.gap
    assert type(back.value) is type(result.value)


def test_result_states_positions_and_gap() -> None:
    told = json.loads(encode(small_result()))
    assert told["solution"] == [0, 2]
    assert told["items"] == 3
    assert told["gap"] == 0.25
    assert set(told) == {"format", "items", "gap", *Result.__dataclass_fields__}


def test_parameters_that_json_cannot_express_become_text() -> None:
    inner = Knapsack([1], [1], 1)
    result = small_result(parameters={"t": float("inf"), "n": np.int64(4), "big": 2**70, "x": (1, 2), "k": inner})
    told = json.loads(encode(result))["parameters"]
    assert told == {
        "t": "inf", "n": 4, "big": str(2**70), "x": [1, 2],
        "k": {"name": "Knapsack", "values": [1], "weights": [1], "capacity": 1, "scale": 1},
    }  # fmt: skip


@pytest.mark.parametrize("field", ["value", "bound", "seconds"])
def test_numbers_that_are_not_finite_are_not_written(field: str) -> None:
    with pytest.raises(DocumentError, match=f"{field} must be finite, got nan"):
        encode(small_result(**{field: float("nan")}))


def test_other_things_have_no_document() -> None:
    with pytest.raises(DocumentError, match="dict has no document; known: window, knapsack, selection, allocation"):
        encode({})


def with_change(thing: Window | Knapsack | Result, *path: Any, value: Any) -> bytes:
    told = json.loads(encode(thing))
    place = told
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(told).encode()


KNAPSACK = Knapsack([5, 4], [2, 3], 4)
DAMAGED = [
    (b"", "not JSON: input data was truncated"),
    (b"[1]", "expected `object`, got `array`"),
    (b"3", "expected `object`, got `int`"),
    (b'{"format": "transom/knapsack/1", ', "not JSON: input data was truncated"),
    (b'{"format": "transom/knapsack/1"} {}', "not JSON: trailing characters"),
    (b"{\n\n  'format': 1}", r"not JSON: .* \(line 3\)"),
    (b"PAR1\x00\x00\xff", "not a text file"),
    (b"\xff\xfe\xfa", "not"),
    (b"[" * 100_000, "nested too deeply|expected `object`"),
    (b'{"format": "transom/knapsack/1", "x": ' + b"[" * 100_000, "nested too deeply|truncated"),
    (b'{"format": "transom/result/1", "problem": "\xff"}', "not a text file"),
    (b'{"format": "transom/result/1", "problem": "\\ud800"}', "not JSON|missing"),
    (b"{}", '"format" is missing; known formats: transom/window/1, transom/knapsack/1, transom/selection/1'),
    (b'{"format": 3}', r"\$.format: expected `str`, got `int`|\$.format: expected `str`"),
    (
        b'{"format": "transom/knapsack/2"}',
        "version 2 of transom/knapsack is not known; known formats",
    ),
    (b'{"format": "swf"}', "format 'swf' is not known; known formats"),
    (b'{"format": "transom/knapsack/1", "values": []}', "missing required field `weights`"),
    (with_change(KNAPSACK, "colour", value=1), "unknown field `colour`"),
    (with_change(KNAPSACK, "col\nour", value=1), r"unknown field `col\\nour`$"),
    (with_change(KNAPSACK, "values", 1, value=1.5), r"\$.values\[1\]: expected `int`, got `float`"),
    (with_change(KNAPSACK, "values", 1, value=True), r"\$.values\[1\]: expected `int`, got `bool`"),
    (with_change(KNAPSACK, "values", 1, value="3"), r"\$.values\[1\]: expected `int`, got `str`"),
    (with_change(KNAPSACK, "values", 1, value=None), r"\$.values\[1\]: expected `int`, got `null`"),
    (with_change(KNAPSACK, "values", 1, value=2**63), r"\$.values\[1\]: expected `int` <= 9223372036854775807"),
    (with_change(KNAPSACK, "values", 1, value=float("nan")), "NaN is not a number"),
    (with_change(KNAPSACK, "values", 1, value=float("-inf")), "Infinity is not a number"),
    (with_change(KNAPSACK, "weights", 0, value=-1), r"\$.weights\[0\]: expected `int` >= 0, got -1"),
    (with_change(KNAPSACK, "weights", value=[1]), r"knapsack: weights: expected shape \(2,\)"),
    (with_change(KNAPSACK, "capacity", value=-4), r"\$.capacity: expected `int` >= 0, got -4"),
    (with_change(KNAPSACK, "values", value=[2**62, 2**62]), "sum of the values does not fit"),
    (with_change(small_window(), "queue", 1, "nodes", value=-4), r"\$.queue\[1\].nodes: expected `int` >= 1, got -4"),
    (with_change(small_window(), "queue", 1, "walltime", value=0), r"\$.queue\[1\].walltime: .* >= 1, got 0"),
    (with_change(small_window(), "queue", 1, "runtime", value=7), r"\$.queue\[1\]: object contains unknown field"),
    (with_change(small_window(), "queue", 1, "id", value=3), "job 3: this id stands 2 times"),
    (with_change(small_window(), "queue", 1, "id", value=9), "job 9 is both queued and running"),
    (with_change(small_window(), "queue", 1, "submit", value=101), "job 2 is submitted at 101, after now = 100"),
    (with_change(small_window(), "queue", 1, "demand", value=[]), "job 2: demand states 0 resources, the cluster 1"),
    (with_change(small_window(), "running", 0, "expected_end", value=99), "running_end must be > now = 100"),
    (with_change(small_window(), "available", 0, value=4), "exceed the cluster's"),
    (with_change(small_window(), "available", value=[4]), "available: expected shape"),
    (with_change(small_window(), "cluster", "num_nodes", value=0), r"\$.cluster.num_nodes: expected `int` >= 1, got 0"),
    (with_change(small_window(), "cluster", "capacities", value=[]), "1 resources but 0 capacities"),
    (with_change(small_result(), "status", value="best"), r"\$.status: invalid enum value 'best'"),
    (with_change(small_result(), "solution", value=[2, 0]), "positions must be ascending and distinct"),
    (with_change(small_result(), "solution", value=[0, 0]), "positions must be ascending and distinct"),
    (with_change(small_result(), "solution", value=[3]), "position 3 is not below items = 3"),
    (with_change(small_result(), "solution", value=[-1]), r"\$.solution\[0\]: expected `int` >= 0, got -1"),
    (with_change(small_result(), "items", value=None), "items must be stated with a solution"),
    (with_change(small_result(), "items", value=10**12), r"\$.items: expected `int` <= 100000000, got"),
    (with_change(small_result(), "gap", value=0.1), "gap 0.1 does not fit value 10 and bound 12.5"),
    (with_change(small_result(), "gap", value=None), "gap None does not fit"),
    (with_change(small_result(), "problem", value="tsp"), "problem 'tsp' is not known; known: knapsack"),
    (with_change(small_result(), "instance", value="x"), r"\$.instance: expected `str` matching regex"),
    (with_change(small_result(), "seconds", value=-1), r"\$.seconds: expected `float` >= 0.0, got -1"),
]


@pytest.mark.parametrize(("data", "condition"), DAMAGED, ids=range(len(DAMAGED)))
def test_damaged_documents_are_named(data: bytes, condition: str) -> None:
    with pytest.raises(DocumentError, match=condition) as caught:
        decode(data, "some.json:4")
    assert str(caught.value).startswith("some.json:4: ")
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=200))
def test_no_bytes_escape_the_error(data: bytes) -> None:
    with pytest.raises(DocumentError):
        decode(data, "x")


@given(
    st.recursive(
        st.none() | st.booleans() | INT64 | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    ),
    st.sampled_from(["now", "cluster", "queue", "running", "available"]),
)
def test_any_field_of_a_window_may_be_anything(value: Any, field: str) -> None:
    data = with_change(small_window(), field, value=value)
    with contextlib.suppress(DocumentError):
        assert isinstance(decode(data, "w"), Window)
