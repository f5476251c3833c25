from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran
from transom.io import schema

Transom = Callable[..., Ran]
NAMES = ["window", "knapsack", "selection", "allocation", "csp", "placement", "workflow", "joint", "result"]


def test_list(transom: Transom) -> None:
    ran = transom("schema")
    assert ran.status == 0
    for name in NAMES:
        assert f"transom/{name}/1" in ran.out
    (listed,) = transom("schema", "--json").lines
    assert [entry["name"] for entry in listed] == NAMES
    assert all(entry["about"] for entry in listed)


@pytest.mark.parametrize("name", NAMES)
def test_one(transom: Transom, name: str) -> None:
    ran = transom("schema", name)
    assert json.loads(ran.out) == schema(name)
    assert len(ran.out.splitlines()) > 10
    assert transom("schema", name, "--json").lines == [schema(name)]


def test_what_commands_write_fits_the_schema(transom: Transom, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    problem, trace, result, windows = (tmp_path / f for f in ("k.json", "t.swf", "r.jsonl", "w.jsonl"))
    transom("generate", "knapsack", "--class", "circle", "--out", problem)
    transom("solve", problem, "--solver", "dp", "--target", 2**60, "--gap", 0, "--out", result)
    transom("generate", "workload", "--jobs", 50, "--nodes", 32, "--out", trace)
    transom("snapshot", trace, "--every", 60, "--policy", "fcfs", "--out", windows)
    for name, path in (("knapsack", problem), ("result", result), ("window", windows)):
        validator = jsonschema.Draft202012Validator(schema(name))
        for line in path.read_text().splitlines():
            assert list(validator.iter_errors(json.loads(line))) == []
