"""The JSON Schema of each document; those of Transom's own ship as files in the package, too."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from transom.io.conversion import codec


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the documents of a name.

    Parameters
    ----------
    name : ``window``, ``result``, or that of the documents of a type of problem, such as ``knapsack``.

    Raises
    ------
    DocumentError : there is no document of that name.
    """
    found: dict[str, Any] = json.loads(generate(name))
    return found


def generate(name: str) -> str:
    """The text of the schema file of a document, made from its struct."""
    kind = codec(name).form
    (root,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    title = kind.__struct_config__.tag
    made = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{str(title).replace('/', ':')}",
        **root,
        "$defs": parts,
    }
    return json.dumps(made, indent=1) + "\n"
