"""The JSON Schema of each document; the files ship in the package."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import msgspec

from transom.errors import DocumentError
from transom.io.formats import DOCUMENTS


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the documents of a name.

    Parameters
    ----------
    name : ``window``, ``knapsack``, ``allocation``, ``csp``, ``result`` or ``selection``.

    Raises
    ------
    DocumentError : there is no document of that name.
    """
    if name not in DOCUMENTS:
        raise DocumentError(f"unknown document {name!r}. Known: {', '.join(DOCUMENTS)}")
    text = files("transom.io").joinpath(f"schemas/{name}.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def generate(name: str) -> str:
    """The text of the schema file of a document, made from its struct."""
    kind = DOCUMENTS[name]
    (root,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    title = kind.__struct_config__.tag
    made = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{str(title).replace('/', ':')}",
        **root,
        "$defs": parts,
    }
    return json.dumps(made, indent=1) + "\n"
