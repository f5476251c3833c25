"""The schema files that ship are those of the structs, and documents fit them."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from tests.io.test_documents import KNAPSACK, small_result, small_window
from transom.errors import DocumentError
from transom.io import encode, schema
from transom.io.conversion import names
from transom.io.schema import generate


@pytest.mark.parametrize("name", names())
def test_shipped_schema_is_the_generated_one(name: str) -> None:
    shipped = files("transom.io").joinpath(f"schemas/{name}.json").read_text("utf-8")
    assert shipped == generate(name), f"write transom.io.schema.generate({name!r}) to transom/io/schemas/{name}.json"
    assert schema(name) == json.loads(shipped)


def test_unknown_schema_is_named() -> None:
    with pytest.raises(
        DocumentError,
        match=r"unknown document 'windows'. Known: window, knapsack, selection, .*, placement, workflow, joint, result",
    ):
        schema("windows")


def test_documents_fit_their_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    for name, thing in (("window", small_window()), ("knapsack", KNAPSACK), ("result", small_result())):
        validator = jsonschema.Draft202012Validator(schema(name))
        validator.check_schema(schema(name))
        document = json.loads(encode(thing))
        assert list(validator.iter_errors(document)) == []
        assert not validator.is_valid({**document, "colour": 1})
        assert not validator.is_valid({**document, "format": f"transom/{name}/2"})
        for field in schema(name)["$defs"][f"{name.title()}Document"]["required"]:
            assert not validator.is_valid({key: value for key, value in document.items() if key != field})
